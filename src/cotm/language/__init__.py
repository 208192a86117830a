"""Words and texts: embeddings, and models of what comes next, on one pool of clauses."""
