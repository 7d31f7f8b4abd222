"""Exports: write a label graph and its annotations in a file format; one module for each format.

Each module imports only modules after it in this list::

    exporting                                              the formats, and the function that writes in them
    branch                                                 the part of a graph below one label
    edgetable  graphmlfile  indented  jsondocument         one format each
    labeltable  oboterms  turtle
    holding                                                what a format can hold, and what is left out
    subjects                                               what there is to write

`ontology.readers` reads most of these formats back. `ontology.versions.export` exports stored versions.
"""
