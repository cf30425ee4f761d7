"""The retrieval log."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

TABLES = (
    """
    CREATE TABLE retrievals (
      scope text COLLATE "C", id text COLLATE "C", at timestamptz NOT NULL, query text COLLATE "C" NOT NULL,
      profile text COLLATE "C" NOT NULL, took_ms float NOT NULL, details json NOT NULL, PRIMARY KEY (scope, id)
    )
    """,
    "CREATE INDEX retrievals_by_time ON retrievals (scope, at, id)",
    """
    CREATE TABLE retrieved (
      scope text COLLATE "C", retrieval text COLLATE "C", rank integer, item_id text COLLATE "C" NOT NULL, score float NOT NULL,
      parts json NOT NULL, PRIMARY KEY (scope, retrieval, rank)
    )
    """,
    "CREATE INDEX retrieved_by_item ON retrieved (scope, item_id)",
)


def upgrade() -> None:
    for statement in TABLES:
        op.execute(statement)
    for table in ("retrievals", "retrieved"):
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        seen = "scope = (SELECT visible_scope()) OR (SELECT sees_every_scope())"
        op.execute(f"CREATE POLICY of_scope ON {table} USING ({seen}) WITH CHECK ({seen})")
