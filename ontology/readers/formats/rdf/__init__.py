"""Read hierarchies written in RDF: SKOS concepts, RDFS and OWL classes, in five syntaxes.

`syntax` tells the syntaxes apart, `triples` parses a file safely, `guards` refuses what harms the parser.
`terms` names the vocabularies, `vocabularies` finds labels and edges, `identity` gives labels their keys, and
`texts` their names and notes.
"""
