// Creates the node of a result unless it exists; a label cannot be a parameter if an index is to be used.
FOREACH (matching IN CASE WHEN $label = 'Locus' THEN [1] ELSE [] END |
  MERGE (r:Locus {id: $id}) ON CREATE SET r += $properties)
FOREACH (matching IN CASE WHEN $label = 'Cover' THEN [1] ELSE [] END |
  MERGE (r:Cover {id: $id}) ON CREATE SET r += $properties)
FOREACH (matching IN CASE WHEN $label = 'Selection' THEN [1] ELSE [] END |
  MERGE (r:Selection {id: $id}) ON CREATE SET r += $properties)
FOREACH (matching IN CASE WHEN $label = 'Summary' THEN [1] ELSE [] END |
  MERGE (r:Summary {id: $id}) ON CREATE SET r += $properties)
FOREACH (matching IN CASE WHEN $label = 'Distances' THEN [1] ELSE [] END |
  MERGE (r:Distances {id: $id}) ON CREATE SET r += $properties)
FOREACH (matching IN CASE WHEN $label = 'Bundle' THEN [1] ELSE [] END |
  MERGE (r:Bundle {id: $id}) ON CREATE SET r += $properties)
FOREACH (matching IN CASE WHEN $label = 'Evaluation' THEN [1] ELSE [] END |
  MERGE (r:Evaluation {id: $id}) ON CREATE SET r += $properties)
