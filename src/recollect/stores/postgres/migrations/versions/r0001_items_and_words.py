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
CREATE INDEX items_by_source ON items (scope, source_ref, source);
CREATE INDEX items_by_kind ON items (scope, kind);
CREATE INDEX items_by_time ON items (scope, created_at);
CREATE INDEX items_by_importance ON items (scope, importance) WHERE importance > 0.7;
CREATE INDEX items_by_entity ON items USING gin (scope, entities jsonb_path_ops);

CREATE TABLE fields (
  scope text COLLATE "C", item_id text COLLATE "C", position integer, name text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL, text text COLLATE "C", number float,
  head text COLLATE "C" GENERATED ALWAYS AS (left(text, 200)) STORED, PRIMARY KEY (scope, item_id, position)
);
CREATE INDEX fields_by_value ON fields (scope, name, type, head, number, item_id);

CREATE TABLE chunks (
  scope text COLLATE "C", space text COLLATE "C", item_id text COLLATE "C", ordinal integer,
  start_idx integer NOT NULL, end_idx integer NOT NULL, token_count integer NOT NULL, line_start integer NOT NULL,
  line_end integer NOT NULL, heading_path json, symbol text COLLATE "C", parent text COLLATE "C",
  vector halfvec NOT NULL, words bytea, PRIMARY KEY (scope, item_id, space, ordinal)
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
CREATE INDEX edges_from ON edges (scope, source, weight DESC, type, target);
CREATE INDEX edges_to ON edges (scope, target, weight DESC, type, source);

CREATE TABLE words (
  scope text COLLATE "C" PRIMARY KEY, number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  windows bigint NOT NULL DEFAULT 0, length bigint NOT NULL DEFAULT 0, chunks bigint NOT NULL DEFAULT 0
);

CREATE TABLE windows (
  scope text COLLATE "C", seq bigint, ordinal integer, kind integer NOT NULL, length integer NOT NULL, norm real NOT NULL,
  impacts sparsevec NOT NULL, words tsvector NOT NULL, PRIMARY KEY (scope, seq, ordinal)
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
-- Whether whoever asks may see a scope, or with NULL every one: the owner, a role that may be the owner, and one that was granted it.
-- It is the role that the session has set, or else came as: in a function that runs as its owner, current_user says nothing.
CREATE FUNCTION may_see(wanted text) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = %PATH% AS $$
  SELECT pg_has_role(asking, current_user, 'USAGE') OR EXISTS (
    SELECT 1 FROM access JOIN pg_roles ON rolname = role
    WHERE pg_has_role(asking, pg_roles.oid, 'USAGE') AND (access.scope IS NULL OR access.scope = wanted)
  ) FROM (SELECT coalesce(nullif(current_setting('role'), 'none'), session_user)::name AS asking) AS session
$$;

CREATE FUNCTION visible_scope() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE SET search_path = %PATH% AS $$
  SELECT scope FROM current_setting('recollect.scope', true) AS scope WHERE scope <> '' AND may_see(scope)
$$;

CREATE FUNCTION sees_every_scope() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE SET search_path = %PATH% AS $$
  SELECT coalesce(current_setting('recollect.every_scope', true) = 'on' AND may_see(NULL), false)
$$;

-- The scopes that hold an item and may be seen, whatever the session is bound to.
CREATE FUNCTION seen_scopes() RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER SET search_path = %PATH% AS $$
  SELECT s.scope FROM scopes s WHERE EXISTS (SELECT 1 FROM items i WHERE i.scope = s.scope) AND ((SELECT may_see(NULL)) OR may_see(s.scope))
  ORDER BY s.scope
$$;

CREATE FUNCTION index_space(wanted text, m integer, ef_construction integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = %PATH% AS $$
DECLARE
  width integer := (SELECT dim FROM spaces WHERE id = wanted);
  index_name text := 'chunks_near_' || wanted;
BEGIN
  -- Looked for first: CREATE INDEX IF NOT EXISTS would keep every writer out.
  IF width <= 4000 AND NOT EXISTS (SELECT 1 FROM pg_class WHERE oid = to_regclass(quote_ident(index_name))) THEN
    EXECUTE format(
      'CREATE INDEX %I ON chunks USING hnsw ((vector::halfvec(%s)) halfvec_ip_ops) WITH (m = %s, ef_construction = %s) WHERE space = %L',
      index_name, width, m, ef_construction, wanted
    );
  END IF;
END
$$;

-- Keeps a space with its index. Whoever may write may do so where there is none yet; a further one is for who moves the whole store.
CREATE FUNCTION keep_space(wanted text, its_model text, its_dim integer, its_chunker text, searched boolean, m integer, ef integer)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = %PATH% AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM spaces WHERE id = wanted AND (active OR NOT searched)) THEN
    LOCK TABLE spaces IN SHARE ROW EXCLUSIVE MODE;
    IF searched AND EXISTS (SELECT 1 FROM spaces WHERE active AND id <> wanted) THEN
      RAISE EXCEPTION 'another space came first' USING ERRCODE = 'serialization_failure';
    ELSIF wanted !~ '^[0-9a-f]+$' OR NOT may_see(NULL) AND (NOT searched OR EXISTS (SELECT 1 FROM spaces WHERE id <> wanted)) THEN
      RAISE EXCEPTION 'permission denied to add a space' USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO spaces VALUES (wanted, its_model, its_dim, its_chunker, searched)
    ON CONFLICT (id) DO UPDATE SET active = spaces.active OR excluded.active;
  END IF;
  PERFORM index_space(wanted, m, ef);
END
$$;

CREATE FUNCTION require_space(wanted text) RETURNS void LANGUAGE plpgsql STABLE SET search_path = %PATH% AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM spaces WHERE id = wanted) THEN
    RAISE EXCEPTION 'the space is gone since' USING ERRCODE = 'serialization_failure';
  END IF;
END
$$;

-- Lets go of the indexes of spaces that are gone, and of every space once there is no chunk of any.
CREATE FUNCTION forget_spaces() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = %PATH% AS $$
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
    SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = 'chunks'::regclass AND c.relname LIKE 'chunks\\_near\\_%'
      AND NOT EXISTS (SELECT 1 FROM spaces WHERE 'chunks_near_' || id = c.relname)
  LOOP
    EXECUTE format('DROP INDEX %I', gone);
  END LOOP;
END
$$;

-- How well windows answer a question, the best first: BM25 over the words of those that hold `wanted`. The product of two sparse
-- vectors tells roughly which items have the best, and which windows of theirs come near to that: these are ranked exactly.
--
-- That is in a function because an index on words serves no role that row security holds for: Postgres does not trust `@@` to keep
-- what it reads to itself. So it sees the scope of the connection, and no other.
--
-- ts_rank of one word is the sum of 1/j^2 up to the number of its places, over pi^2/6, from which that number is had back. The weight D
-- counts nothing: it has the words that only follow a window.
CREATE FUNCTION best_words(
  wanted tsquery, otherwise tsquery, rough sparsevec, singles tsquery[], weights float[], phrases tsquery[], bonuses float[],
  mean float, candidates integer, kept integer, n integer, among bigint[]
) RETURNS TABLE (seq bigint, score float, looked_at bigint) LANGUAGE plpgsql STABLE SECURITY DEFINER
ROWS 100 SET search_path = %PATH% SET enable_seqscan = off AS $$
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
    'WITH found AS MATERIALIZED (
       SELECT * FROM (
         SELECT w.seq, w.ordinal, w.impacts <#> $8 AS distance FROM windows w
         WHERE w.scope = $1 AND w.kind <= 1 AND w.words @@ $2 AND ($7 IS NULL OR w.seq = ANY ($7)) LIMIT $5
       ) AS first'
    || CASE WHEN otherwise IS NULL THEN '' ELSE '
       UNION ALL SELECT * FROM (
         SELECT w.seq, w.ordinal, w.impacts <#> $8 AS distance FROM windows w
         WHERE w.scope = $1 AND w.kind <= 1 AND w.words @@ $3 AND NOT w.words @@ $2 AND ($7 IS NULL OR w.seq = ANY ($7)) LIMIT $5
       ) AS second' END
    || ' LIMIT $5
     )
     SELECT f.seq, max(' || score || ') AS score, (SELECT count(*) FROM found) FROM (
       SELECT w.seq, w.words, 1.2 * (0.25 + 0.75 * w.norm / $4) AS k
       FROM (SELECT found.seq, min(distance) AS least FROM found GROUP BY found.seq ORDER BY 2, 1 LIMIT $9) AS best
       JOIN found ON found.seq = best.seq AND found.distance <= 0.9 * best.least
       JOIN windows w ON w.scope = $1 AND w.seq = found.seq AND w.ordinal = found.ordinal
     ) AS f GROUP BY f.seq ORDER BY 2 DESC, 1 LIMIT $6'
  USING own, wanted, otherwise, mean, candidates, n, among, rough, kept;
END
$$;

-- The items for which an expression holds: of those with one window it is asked at once. Of one with several, `loose` is asked of all its
-- words, and then each leaf of its windows: what they say is put together as `structure` has it, by their numbers.
CREATE FUNCTION items_with(
  exact tsquery, loose tsquery, leaves tsquery[], structure tsquery, candidates integer, among bigint[]
) RETURNS TABLE (seq bigint) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = %PATH% AS $$
  SELECT found.seq FROM (
    SELECT w.seq, w.kind FROM windows w WHERE w.scope = (SELECT visible_scope()) AND (among IS NULL OR w.seq = ANY (among))
      AND w.words @@ loose AND (w.kind = 0 AND w.words @@ exact OR w.kind = 2)
    UNION ALL
    SELECT w.seq, w.kind FROM windows w WHERE w.scope = (SELECT visible_scope()) AND (among IS NULL OR w.seq = ANY (among)) AND w.kind = 3
  ) AS found WHERE found.kind = 0 OR structure @@ (
    SELECT array_to_tsvector(coalesce(array_agg(leaf.number::text), '{}')) FROM unnest(leaves) WITH ORDINALITY AS leaf (query, number)
    WHERE EXISTS (
      SELECT 1 FROM windows x WHERE x.scope = (SELECT visible_scope()) AND x.seq = found.seq AND x.kind = 1 AND x.words @@ leaf.query
    )
  )
  LIMIT candidates
$$;

-- The items that have one of some entities, in a function because `@>` is not trusted either.
CREATE FUNCTION items_about(asked jsonb) RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER ROWS 100 SET search_path = %PATH% AS $$
  SELECT i.id FROM items i WHERE i.scope = visible_scope() AND i.entities @> ANY (
    ARRAY(SELECT jsonb_build_array(value) FROM jsonb_array_elements(asked))
  )
$$;
"""

SCOPED = ("scopes", "items", "fields", "chunks", "chunk_cache", "edges", "words", "windows", "terms")


def upgrade() -> None:
    quoted = op.get_bind().dialect.identifier_preparer.quote_identifier
    namespace = quoted(str(op.get_context().version_table_schema))
    home = op.get_bind().exec_driver_sql(
        "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
    )
    path = f"{namespace}, {quoted(home.scalar_one())}, pg_temp"
    for statement in TABLES.split(";\n"):
        if statement.strip():
            op.execute(statement)
    for function in FUNCTIONS.replace("%PATH%", path).split("\n$$;\n"):
        if function.strip():
            op.execute(function + "\n$$")
    op.execute(f"REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {namespace} FROM PUBLIC")
    for table in SCOPED:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        seen = "scope = (SELECT visible_scope()) OR (SELECT sees_every_scope())"
        op.execute(f"CREATE POLICY of_scope ON {table} USING ({seen}) WITH CHECK ({seen})")
