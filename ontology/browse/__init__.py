"""Browse a version: walk its labels, search them by name, and cut it into pages and levels of detail.

Everything here reads the label graph of a snapshot and one file of arrays made from it, so both graph stores
give the same answers. Labels are indices in canonical order. `structure` knows no names; `names` searches
them and uses `structure`; the modules beside the folders put both together. A module imports only modules on
lines below its own, `suggestions` also `search`::

    answers                         questions about labels, answered by plain documents
    indexcache                      files of indexes, built again when needed
         labelindex                 everything about a version as the arrays of one file
    names       search suggestions  labels by name, ranked, under a branch, with counts; misspelled words
                nametable           names, sorted
                namerows            all names of all labels
                replaced            labels for retired keys
                texttables          whole tables of texts
    structure   outline levels      what a tree draws; parts of a map
                walk marks          ways through the graph; shares of branches
                shortest            shortest paths
                order adjacency     the primary preorder; parents and children of each label
                ranges              rows of different lengths in one array
    folding  pages                  equal spellings; pages of a list
"""
