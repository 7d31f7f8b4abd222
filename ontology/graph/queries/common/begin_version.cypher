// Announces a version that is about to be loaded.
MERGE (v:Version {digest: $version})
ON CREATE SET v.ontology = $ontology, v.n_labels = $n_labels, v.n_edges = $n_edges,
              v.state = 'loading', v.layout = $layout, v.directed = $directed,
              v.annotations = ''
