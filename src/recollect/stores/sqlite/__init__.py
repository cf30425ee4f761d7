"""The embedded store: SQLite as the truth, Tantivy and FAISS derived from it."""
