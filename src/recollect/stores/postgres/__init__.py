"""The store on Postgres with pgvector."""
