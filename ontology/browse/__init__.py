"""Browse a version: walk its labels, search them by name, and cut it into pages and levels of detail.

Labels are indices in canonical order. A module imports only modules on lines below its own::

    walk  levels  marks        ways through the graph; parts of a map; shares of branches
    shortest  order  pages     shortest paths; the preorder over primary parents; pages of a list
          adjacency            parents and children of each label
"""
