"""Compiled inner loops, one file for each subject; importing any of them needs numba.

The rest of `ontology.geometry` imports these modules inside the functions that call them, so that loading and
scoring stay possible with numpy alone.
"""
