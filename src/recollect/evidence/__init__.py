"""From candidates to what proves them: chunks and snippets."""
