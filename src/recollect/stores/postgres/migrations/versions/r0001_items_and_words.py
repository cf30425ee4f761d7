"""Items with all that is derived from them, words that are ranked by the database, and row security by scope."""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None

TABLES = """
CREATE TABLE meta (name text COLLATE "C" PRIMARY KEY, value text COLLATE "C" NOT NULL);

CREATE TABLE spaces (
  id text COLLATE "C" PRIMARY KEY, model text COLLATE "C" NOT NULL, dim integer NOT NULL, chunker text COLLATE "C" NOT NULL,
  active boolean NOT NULL
);

CREATE TABLE scopes (
  scope text COLLATE "C" PRIMARY KEY, change bigint NOT NULL,
  cache_hits bigint NOT NULL DEFAULT 0, cache_misses bigint NOT NULL DEFAULT 0
);

CREATE TABLE items (
  scope text COLLATE "C", id text COLLATE "C", seq bigint NOT NULL, revision text COLLATE "C" NOT NULL,
  content_hash text COLLATE "C" NOT NULL, fingerprint bytea NOT NULL, stamp text COLLATE "C", kind text COLLATE "C" NOT NULL,
  format text COLLATE "C" NOT NULL, source text COLLATE "C" NOT NULL, source_ref text COLLATE "C", title text COLLATE "C",
  summary text COLLATE "C", status text COLLATE "C" NOT NULL, version text COLLATE "C", created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL, importance float NOT NULL, use_count integer NOT NULL, last_used_at timestamptz,
  entities jsonb NOT NULL, metadata json NOT NULL, blank boolean NOT NULL, text text COLLATE "C" NOT NULL,
  PRIMARY KEY (scope, id)
);
CREATE UNIQUE INDEX items_by_seq ON items (scope, seq, id);
CREATE INDEX items_by_content ON items (scope, content_hash);
CREATE INDEX items_by_source ON items (scope, source, source_ref);
CREATE INDEX items_by_kind ON items (scope, kind);
CREATE INDEX items_by_time ON items (scope, created_at);
CREATE INDEX items_by_importance ON items (scope, importance) WHERE importance > 0.7;
CREATE INDEX items_by_entity ON items USING gin (scope, entities jsonb_path_ops);

CREATE TABLE fields (
  scope text COLLATE "C", item_id text COLLATE "C", position integer, name text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL, text text COLLATE "C", number float, PRIMARY KEY (scope, item_id, position)
);
CREATE INDEX fields_by_value ON fields (scope, name, type, left(text, 200), number, item_id);

CREATE TABLE chunks (
  scope text COLLATE "C", space text COLLATE "C", item_id text COLLATE "C", ordinal integer,
  start_idx integer NOT NULL, end_idx integer NOT NULL, token_count integer NOT NULL, line_start integer NOT NULL,
  line_end integer NOT NULL, heading_path json, symbol text COLLATE "C", parent text COLLATE "C",
  vector halfvec NOT NULL, words bytea, PRIMARY KEY (scope, space, item_id, ordinal)
);

CREATE TABLE chunk_cache (
  scope text COLLATE "C", item_id text COLLATE "C", recipe text COLLATE "C", content_hash text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL, used bigint NOT NULL, bytes integer NOT NULL, data bytea NOT NULL,
  PRIMARY KEY (scope, item_id, recipe)
);
CREATE INDEX chunk_cache_by_use ON chunk_cache (used, bytes);

CREATE TABLE edges (
  scope text COLLATE "C", source text COLLATE "C", type text COLLATE "C", target text COLLATE "C", weight float NOT NULL,
  PRIMARY KEY (scope, source, type, target)
);
CREATE INDEX edges_by_target ON edges (scope, target);

CREATE TABLE words (
  scope text COLLATE "C" PRIMARY KEY, number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  windows bigint NOT NULL DEFAULT 0, length bigint NOT NULL DEFAULT 0, chunks bigint NOT NULL DEFAULT 0
);

CREATE TABLE windows (
  scope text COLLATE "C", seq bigint, ordinal integer, kind integer NOT NULL, length real NOT NULL, words tsvector NOT NULL,
  PRIMARY KEY (scope, seq, ordinal)
);
ALTER TABLE windows ALTER words SET STORAGE EXTERNAL;
CREATE INDEX windows_by_words ON windows USING gin (words) WITH (gin_pending_list_limit = 256);
CREATE INDEX windows_too_large ON windows (scope, seq) WHERE kind = 3;

CREATE TABLE terms (
  scope text COLLATE "C", term text COLLATE "C", windows bigint NOT NULL, PRIMARY KEY (scope, term)
) WITH (fillfactor = 70);

CREATE TABLE access (role name NOT NULL, scope text COLLATE "C", UNIQUE NULLS NOT DISTINCT (role, scope))
"""

FUNCTIONS = """
CREATE FUNCTION may_see(wanted text) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER SET search_path = %PATH% AS $$
  SELECT session_user = current_user OR EXISTS (
    SELECT 1 FROM access WHERE pg_has_role(session_user, role, 'MEMBER') AND (access.scope IS NULL OR access.scope = wanted)
  )
$$;

CREATE FUNCTION visible_scope() RETURNS text LANGUAGE sql STABLE SET search_path = %PATH% AS $$
  SELECT scope FROM current_setting('recollect.scope', true) AS scope WHERE scope <> '' AND may_see(scope)
$$;

CREATE FUNCTION sees_every_scope() RETURNS boolean LANGUAGE sql STABLE SET search_path = %PATH% AS $$
  SELECT coalesce(current_setting('recollect.every_scope', true) = 'on' AND may_see(NULL), false)
$$;

CREATE FUNCTION index_space(wanted text, m integer, ef_construction integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = %PATH% AS $$
DECLARE width integer := (SELECT dim FROM spaces WHERE id = wanted);
BEGIN
  IF width <= 4000 THEN
    EXECUTE format(
      'CREATE INDEX IF NOT EXISTS %I ON chunks USING hnsw ((vector::halfvec(%s)) halfvec_ip_ops)
         WITH (m = %s, ef_construction = %s) WHERE space = %L',
      'chunks_near_' || wanted, width, m, ef_construction, wanted
    );
  END IF;
END
$$;

-- Lets go of the indexes of spaces that are gone, and of every space once there is no chunk of any.
CREATE FUNCTION forget_spaces() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = %PATH% AS $$
DECLARE gone name;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM chunks) THEN
    DELETE FROM spaces;
  END IF;
  FOR gone IN
    SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = 'chunks'::regclass AND c.relname LIKE 'chunks\\_near\\_%'
      AND NOT EXISTS (SELECT 1 FROM spaces WHERE 'chunks_near_' || id = c.relname)
  LOOP
    EXECUTE format('DROP INDEX %I', gone);
  END LOOP;
END
$$;

-- How well windows answer a question, the best first: BM25 over the words of those that hold `wanted`.
--
-- That is in a function because an index on words serves no role that row security holds for: Postgres does not trust `@@` to keep
-- what it reads to itself. So it sees the scope of the connection, and no other.
--
-- ts_rank of one word is the sum of 1/j^2 up to the number of its places, over pi^2/6, from which that number is had back. The weight D
-- counts nothing: it has the words that only follow a window.
CREATE FUNCTION best_words(
  wanted tsquery, otherwise tsquery, singles tsquery[], weights float[], phrases tsquery[], bonuses float[],
  mean float, candidates integer, n integer, among bigint[]
) RETURNS TABLE (seq bigint, score float, looked_at bigint) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = %PATH% AS $$
DECLARE
  own text := visible_scope();
  score text := '0.0::float';
BEGIN
  FOR at IN 1 .. cardinality(singles) LOOP
    score := score || format(
      ' + %s * 2.2 * (1 - k / (k + round(0.6079271018540267 / (1 - ts_rank(''{0,1,1,1}'', words, %L)::float) - 0.5)))',
      weights[at], singles[at]
    );
  END LOOP;
  FOR at IN 1 .. cardinality(phrases) LOOP
    score := score || format(' + CASE WHEN words @@ %L THEN %s * 2.2 / (1 + k) ELSE 0 END', phrases[at], bonuses[at]);
  END LOOP;
  RETURN QUERY EXECUTE
    'WITH found AS MATERIALIZED (SELECT * FROM (SELECT w.seq, w.length, w.words FROM windows w
       WHERE w.scope = $1 AND w.kind <= 1 AND w.words @@ $2 AND ($7 IS NULL OR w.seq = ANY ($7)) LIMIT $5) AS first'
    || CASE WHEN otherwise IS NULL THEN '' ELSE
       ' UNION ALL SELECT * FROM (SELECT w.seq, w.length, w.words FROM windows w
       WHERE w.scope = $1 AND w.kind <= 1 AND w.words @@ $3 AND NOT w.words @@ $2 AND ($7 IS NULL OR w.seq = ANY ($7)) LIMIT $5) AS second' END
    || ' LIMIT $5)
     SELECT f.seq, max(' || score || ') AS score, (SELECT count(*) FROM found)
     FROM (SELECT found.seq, found.words, 1.2 * (0.25 + 0.75 * found.length / $4) AS k FROM found) f
     GROUP BY f.seq ORDER BY 2 DESC, 1 LIMIT $6'
  USING own, wanted, otherwise, mean, candidates, n, among;
END
$$;

-- The items for which an expression holds: of those with one window it is asked at once. Of one with several, `loose` is asked of all its
-- words, and then each leaf of its windows: what they say is put together as `structure` has it, by their numbers.
CREATE FUNCTION items_with(
  exact tsquery, loose tsquery, leaves tsquery[], structure tsquery, candidates integer, among bigint[]
) RETURNS TABLE (seq bigint) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = %PATH% AS $$
  SELECT w.seq FROM windows w, LATERAL (
    SELECT array_to_tsvector(coalesce(array_agg(leaf.number::text), '{}')) AS numbers
    FROM unnest(leaves) WITH ORDINALITY AS leaf (query, number)
    WHERE w.kind > 0 AND EXISTS (
      SELECT 1 FROM windows x WHERE x.scope = w.scope AND x.seq = w.seq AND x.kind = 1 AND x.words @@ leaf.query
    )
  ) AS held
  WHERE w.scope = visible_scope() AND (among IS NULL OR w.seq = ANY (among)) AND (
    w.words @@ loose AND (w.kind = 0 AND w.words @@ exact OR w.kind = 2 AND held.numbers @@ structure)
    OR w.kind = 3 AND held.numbers @@ structure
  )
  LIMIT candidates
$$;
"""

SCOPED = ("scopes", "items", "fields", "chunks", "chunk_cache", "edges", "words", "windows", "terms")


def upgrade() -> None:
    for statement in TABLES.split(";\n"):
        if statement.strip():
            op.execute(statement)
    namespace = op.get_context().version_table_schema
    path = f'"{namespace}", public, pg_temp'
    for function in FUNCTIONS.replace("%PATH%", path).split("\n$$;\n"):
        if function.strip():
            op.execute(function + "\n$$")
    op.execute(f'REVOKE ALL ON ALL FUNCTIONS IN SCHEMA "{namespace}" FROM PUBLIC')
    for table in SCOPED:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        seen = "scope = (SELECT visible_scope()) OR (SELECT sees_every_scope())"
        op.execute(f"CREATE POLICY of_scope ON {table} USING ({seen}) WITH CHECK ({seen})")
