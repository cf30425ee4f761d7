"""Entities, the keys by which they are found, and a name for the state of each scope."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"

TABLES = (
    """
    CREATE TABLE entities (
      scope text COLLATE "C", id text COLLATE "C", type text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
      aliases jsonb NOT NULL, PRIMARY KEY (scope, id)
    )
    """,
    """
    CREATE TABLE entity_names (
      scope text COLLATE "C", key text COLLATE "C", entity_id text COLLATE "C", PRIMARY KEY (scope, key, entity_id)
    )
    """,
    "CREATE INDEX entity_names_by_entity ON entity_names (scope, entity_id)",
    "CREATE INDEX edges_to_superseded ON edges (scope, target, source) WHERE type = 'SUPERSEDES'",
    "ALTER TABLE scopes ADD COLUMN state text COLLATE \"C\" NOT NULL DEFAULT ''",
)

# The scopes that hold an item or an entity and may be seen, whatever the session is bound to.
SEEN_SCOPES = """
CREATE OR REPLACE FUNCTION seen_scopes() RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER SET search_path = %PATH% AS $$
  SELECT s.scope FROM scopes s WHERE (
    EXISTS (SELECT 1 FROM items i WHERE i.scope = s.scope) OR EXISTS (SELECT 1 FROM entities e WHERE e.scope = s.scope)
  ) AND ((SELECT may_see(NULL)) OR may_see(s.scope))
  ORDER BY s.scope
$$
"""


def upgrade() -> None:
    namespace = op.get_bind().dialect.identifier_preparer.quote_identifier(str(op.get_context().version_table_schema))
    for statement in TABLES:
        op.execute(statement)
    op.execute(SEEN_SCOPES.replace("%PATH%", f"{namespace}, pg_temp"))
    for table in ("entities", "entity_names"):
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        seen = "scope = (SELECT visible_scope()) OR (SELECT sees_every_scope())"
        op.execute(f"CREATE POLICY of_scope ON {table} USING ({seen}) WITH CHECK ({seen})")
