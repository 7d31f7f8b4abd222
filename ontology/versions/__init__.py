"""Make a new version the current one, safely across crashes: ingest, loading, snapshots, export.

Imports go down, and modules below the workspace take the stores that they need::

    ingest  rebuilding  export  sources    what is asked of a workspace
                  workspace                the parts of one deployment, opened on first use
                   repair                  graph and index files back in line with the catalog
                   loading                 a version into the graph, and made current
         lease  snapshots  indexfile       a name held; graphs and definitions; the file for model servers
                   stores                  catalog, artifacts and graph, open
"""
