"""What the SQL stores share: tables, rows, filters, facets and walks."""
