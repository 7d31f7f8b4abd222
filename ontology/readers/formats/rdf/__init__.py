"""Read hierarchies written in RDF: SKOS concepts, RDFS and OWL classes, in five syntaxes.

`triples` parses a file safely, `guards` refuses what would harm the parser, `terms` names the vocabularies,
`vocabularies` finds labels and edges, `identity` gives labels their keys, and `texts` their names and notes.
"""
