// One version by its digest.
MATCH (v:Version {digest: $version})
RETURN v.digest AS digest, v.ontology AS ontology, v.n_labels AS n_labels, v.n_edges AS n_edges,
       v.state AS state, v.layout AS layout, v.directed AS directed,
       coalesce(v.annotations, '') AS annotations
