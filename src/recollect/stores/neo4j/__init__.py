"""The store on Neo4j: nodes, their links, and the server's own vector and full-text indexes."""
