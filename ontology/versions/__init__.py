"""Ingest, load, store and export versions; a crash never makes an incomplete version the current one.

A module imports only modules on lines below its own. Modules below `workspace` take the stores as arguments::

    ingest  rebuilding  export  sources    the operations on a workspace
                  workspace                the parts of one deployment, opened on first use
                   repair                  make graph and index files match the catalog
                graphloading               load a version into the graph and make it current
         lease  snapshots  indexfile       the lease of a name; stored versions; a file for model servers
                   stores                  the open catalog, artifacts and graph
"""
