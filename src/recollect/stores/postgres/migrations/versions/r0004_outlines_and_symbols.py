"""Outlines and the symbols in them, and which item says that there is an edge."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"

TABLES = (
    """
    CREATE TABLE outlines (
      scope text COLLATE "C", item_id text COLLATE "C", linked boolean NOT NULL, data bytea NOT NULL, PRIMARY KEY (scope, item_id)
    )
    """,
    "CREATE INDEX outlines_unlinked ON outlines (scope, item_id) WHERE NOT linked",
    """
    CREATE TABLE symbols (
      scope text COLLATE "C", item_id text COLLATE "C", ordinal integer, key text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
      qualified text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, start_idx integer NOT NULL, end_idx integer NOT NULL,
      line_start integer NOT NULL, line_end integer NOT NULL, parent text COLLATE "C", node text COLLATE "C" NOT NULL,
      PRIMARY KEY (scope, item_id, ordinal)
    )
    """,
    "CREATE INDEX symbols_by_key ON symbols (scope, key, item_id, start_idx, ordinal)",
    "CREATE INDEX symbols_by_node ON symbols (scope, node)",
    "ALTER TABLE edges ADD COLUMN origin text COLLATE \"C\" NOT NULL DEFAULT ''",
    "CREATE INDEX edges_by_origin ON edges (scope, origin)",
)


def upgrade() -> None:
    for statement in TABLES:
        op.execute(statement)
    for table in ("outlines", "symbols"):
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        seen = "scope = (SELECT visible_scope()) OR (SELECT sees_every_scope())"
        op.execute(f"CREATE POLICY of_scope ON {table} USING ({seen}) WITH CHECK ({seen})")
