"""What Alembic runs: the revisions that are missing, on the connection it is given, all in one transaction."""

from __future__ import annotations

from alembic import context

connection = context.config.attributes["connection"]
namespace = context.config.attributes["namespace"]
context.configure(connection=connection, version_table="revision", version_table_schema=namespace)
context.run_migrations()
