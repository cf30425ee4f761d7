"""The vectors of whole items: of each the mean of its chunks, at length one, with an index for each space as chunks have it."""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"

TABLE = """
CREATE TABLE item_vectors (
  scope text COLLATE "C", item_id text COLLATE "C", space text COLLATE "C", vector halfvec NOT NULL, PRIMARY KEY (scope, item_id, space)
)
"""

FILL = """
INSERT INTO item_vectors (scope, item_id, space, vector)
SELECT scope, item_id, space, l2_normalize(avg(vector::vector ORDER BY ordinal))::halfvec FROM chunks GROUP BY scope, item_id, space
"""

FUNCTIONS = """
CREATE OR REPLACE FUNCTION index_space(wanted text, m integer, ef_construction integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = %PATH% AS $$
DECLARE
  width integer := (SELECT dim FROM spaces WHERE id = wanted);
  of name;
BEGIN
  FOREACH of IN ARRAY ARRAY['chunks', 'item_vectors'] LOOP
    -- Looked for first: CREATE INDEX IF NOT EXISTS would keep every writer out.
    IF width <= 4000 AND NOT EXISTS (SELECT 1 FROM pg_class WHERE oid = to_regclass(quote_ident(of || '_near_' || wanted))) THEN
      EXECUTE format(
        'CREATE INDEX %I ON %I USING hnsw ((vector::halfvec(%s)) halfvec_ip_ops) WITH (m = %s, ef_construction = %s) WHERE space = %L',
        of || '_near_' || wanted, of, width, m, ef_construction, wanted
      );
    END IF;
  END LOOP;
END
$$;

-- Lets go of the indexes of spaces that are gone, and of every space once there is no chunk of any.
CREATE OR REPLACE FUNCTION forget_spaces() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = %PATH% AS $$
DECLARE gone name;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM chunks) THEN
    -- Who is just writing a chunk is waited for, and who has not begun to finds the space gone by require_space.
    LOCK TABLE chunks IN SHARE ROW EXCLUSIVE MODE;
    IF NOT EXISTS (SELECT 1 FROM chunks) THEN
      DELETE FROM spaces;
    END IF;
  END IF;
  FOR gone IN
    SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
    WHERE i.indrelid IN ('chunks'::regclass, 'item_vectors'::regclass) AND c.relname LIKE '%\\_near\\_%'
      AND NOT EXISTS (SELECT 1 FROM spaces WHERE t.relname || '_near_' || id = c.relname)
  LOOP
    EXECUTE format('DROP INDEX %I', gone);
  END LOOP;
END
$$;
"""

# As the chunks of each space are indexed.
INDEX = """
SELECT index_space(
  s.id,
  coalesce(max(o.option_value) FILTER (WHERE o.option_name = 'm'), '16')::integer,
  coalesce(max(o.option_value) FILTER (WHERE o.option_name = 'ef_construction'), '64')::integer
) FROM spaces s
LEFT JOIN pg_class c ON c.oid = to_regclass(quote_ident('chunks_near_' || s.id))
LEFT JOIN LATERAL pg_options_to_table(c.reloptions) AS o ON true
GROUP BY s.id
"""


def upgrade() -> None:
    quoted = op.get_bind().dialect.identifier_preparer.quote_identifier
    home = op.get_bind().exec_driver_sql(
        "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
    )
    path = f"{quoted(str(op.get_context().version_table_schema))}, {quoted(home.scalar_one())}, pg_temp"
    op.execute(TABLE)
    op.execute(FILL)
    for function in FUNCTIONS.replace("%PATH%", path).split("\n$$;\n"):
        if function.strip():
            op.execute(function + "\n$$")
    op.execute(INDEX)
    op.execute("ALTER TABLE item_vectors ENABLE ROW LEVEL SECURITY")
    seen = "scope = (SELECT visible_scope()) OR (SELECT sees_every_scope())"
    op.execute(f"CREATE POLICY of_scope ON item_vectors USING ({seen}) WITH CHECK ({seen})")
