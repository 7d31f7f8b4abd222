"""Browse a version: walk its labels, search them by name, and cut it into pages and levels of detail.

Everything here reads the label graph of a snapshot and one file of arrays made from it, so both graph stores
give the same answers. Labels are indices in canonical order. A module imports only modules on lines below its
own::

    answers                         questions about labels, answered by plain documents
    indexcache  suggestions         files of indexes, built again when needed; what a misspelled word may mean
         labelindex                 everything about a version as the arrays of one file
      search  outline               labels by name, ranked, under a branch, with counts; what a tree draws
    walk  nametable  levels  marks  ways through the graph; names; parts of a map; shares of branches
    shortest  namerows              shortest paths; all names of all labels
          replaced  order  pages    labels for retired keys; the primary preorder; pages of a list
          adjacency                 parents and children of each label
      ranges  texttables            rows of different lengths in one array; whole tables of texts
            folding                 equal spellings
"""
