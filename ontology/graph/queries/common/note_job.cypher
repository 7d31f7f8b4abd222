// Creates the node of a job unless it exists.
MERGE (j:Job {id: $job})
ON CREATE SET j.kind = $kind, j.state = 'done', j.created = $created
