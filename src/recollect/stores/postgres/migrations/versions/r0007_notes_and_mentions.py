"""Notes of scopes, the entities that items are about, and indexes from which the newest items are read."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"

STATEMENTS = (
    'CREATE TABLE notes (scope text COLLATE "C", name text COLLATE "C", value json NOT NULL, PRIMARY KEY (scope, name))',
    """
    CREATE TABLE mentions (
      scope text COLLATE "C", item_id text COLLATE "C", entity text COLLATE "C", created_at timestamptz NOT NULL,
      PRIMARY KEY (scope, item_id, entity)
    )
    """,
    "CREATE INDEX mentions_by_time ON mentions (scope, entity, created_at DESC, item_id)",
    "DROP INDEX items_by_kind",
    "CREATE INDEX items_by_kind ON items (scope, kind, created_at DESC, id)",
    "DROP INDEX items_by_time",
    "CREATE INDEX items_by_time ON items (scope, created_at DESC, id)",
    "CREATE INDEX retrievals_by_profile ON retrievals (scope, profile, at, id)",
    # What these did is done by the mentions, also for a role that row security holds for.
    "DROP FUNCTION items_about(jsonb)",
    "DROP INDEX items_by_entity",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
    for table in ("notes", "mentions"):
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        seen = "scope = (SELECT visible_scope()) OR (SELECT sees_every_scope())"
        op.execute(f"CREATE POLICY of_scope ON {table} USING ({seen}) WITH CHECK ({seen})")
