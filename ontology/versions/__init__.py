"""Make a new version the current one, safely across crashes: ingest, loading, snapshots, export.

Imports go down, and modules below the workspace take the stores that they need::

    ingest  rebuilding  export  sources    the operations on a workspace
                  workspace                the parts of one deployment, opened on first use
                   repair                  make graph and index files match the catalog
                graphloading               load a version into the graph and make it current
         lease  snapshots  indexfile       hold a name; graphs and definitions; the file for model servers
                   stores                  the open catalog, artifacts and graph
"""
