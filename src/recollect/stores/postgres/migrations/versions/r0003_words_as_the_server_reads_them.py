"""Words as the server itself reads them: a column for each text search configuration that is named, and ranking by it."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"

# A tsvector has at most a megabyte of words and places. The worst text found takes 7.5 bytes of it for each character: different letters
# of four bytes, two and two joined by hyphens. So what is read of a text fits, whatever it is, and no text makes a write fail.
READ_OF_TITLE = 1_000
READ_OF_TEXT = 100_000

# Whoever writes runs this, so that it is everybody's.
WORDS_AS = f"""
CREATE FUNCTION words_as(config regconfig, title text, body text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN setweight(to_tsvector(config, coalesce(left(title, {READ_OF_TITLE}), '')), 'A')
  || setweight(to_tsvector(config, left(body, {READ_OF_TEXT})), 'D')
"""

FUNCTIONS = """
-- The column that has the words of items as a configuration reads them; NULL where there is none.
CREATE FUNCTION words_column(config regconfig) RETURNS name LANGUAGE sql STABLE SET search_path = %PATH% AS $$
  SELECT attname FROM pg_attribute
  WHERE attrelid = 'items'::regclass AND attname = 'words_' || config::text AND attgenerated = 's' AND NOT attisdropped
$$;

CREATE FUNCTION add_words(config regconfig) RETURNS void LANGUAGE plpgsql SET search_path = %PATH% AS $$
DECLARE name text := 'words_' || config::text;
BEGIN
  IF words_column(config) IS NULL THEN
    EXECUTE format(
      'ALTER TABLE items ADD COLUMN %I tsvector GENERATED ALWAYS AS (words_as(%L::regconfig, title, text)) STORED', name, config
    );
    EXECUTE format('CREATE INDEX %I ON items USING gin (scope, %I) WITH (gin_pending_list_limit = 256)', 'items_by_' || name, name);
  END IF;
END
$$;

-- How a configuration's words of items `i` are had: from their column, or by reading each text.
CREATE FUNCTION words_expression(config regconfig) RETURNS text LANGUAGE sql STABLE SET search_path = %PATH% AS $$
  SELECT coalesce('i.' || quote_ident(words_column(config)), format('words_as(%L::regconfig, i.title, i.text)', config))
$$;

-- How well items answer a question, the best first, by Postgres' own ranking. Those that hold the first of `levels` are looked at first,
-- up to so many candidates; the last of them is the whole question. There is a row also where nothing is found.
--
-- The time that ts_rank_cd takes grows with the square of the words that are asked for: 5,000 items take 0.1 s with 8, 0.7 with 32, 30
-- with 400. So a question of more than 32 is ranked by ts_rank, which takes 1 s with 400.
--
-- That is in a function for the same reason as best_words: an index on words serves no role that row security holds for.
CREATE FUNCTION best_as(
  config regconfig, levels tsquery[], ranking text, weights real[], normalization integer, lowest float,
  candidates integer, n integer, among bigint[]
) RETURNS TABLE (id text, score float, looked_at bigint) LANGUAGE plpgsql STABLE SECURITY DEFINER
ROWS 100 SET search_path = %PATH% SET enable_seqscan = off AS $$
DECLARE
  words text := words_expression(config);
  found text := '';
  earlier text := '';
  whole tsquery := levels[cardinality(levels)];
BEGIN
  FOR at IN 1 .. cardinality(levels) LOOP
    found := found || CASE WHEN at > 1 THEN ' UNION ALL ' ELSE '' END || format(
      '(SELECT i.id, %1$s AS words FROM items i
        WHERE i.scope = $1 AND %1$s @@ %2$L::tsquery%3$s AND ($5 IS NULL OR i.seq = ANY ($5)) LIMIT $2)',
      words, levels[at], earlier
    );
    earlier := earlier || format(' AND NOT %s @@ %L::tsquery', words, levels[at]);
  END LOOP;
  RETURN QUERY EXECUTE format(
    'WITH found AS MATERIALIZED (SELECT * FROM (%s) AS every LIMIT $2),
     ranked AS (SELECT found.id, %s($6, found.words, %L::tsquery, $7)::float AS score FROM found)
     SELECT best.id, best.score, counted.n FROM (SELECT count(*) AS n FROM found) AS counted
     LEFT JOIN (SELECT * FROM ranked WHERE $3 IS NULL OR ranked.score >= $3 ORDER BY ranked.score DESC, ranked.id LIMIT $4) AS best ON true
     ORDER BY best.score DESC, best.id',
    found, CASE WHEN ranking = 'ts_rank_cd' AND numnode(whole) < 64 THEN 'ts_rank_cd' ELSE 'ts_rank' END, whole
  ) USING visible_scope(), candidates, lowest, n, among, weights, normalization;
END
$$;

-- Which of some items a question holds for.
CREATE FUNCTION meeting_as(config regconfig, query tsquery, ids text[]) RETURNS TABLE (id text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = %PATH% AS $$
BEGIN
  RETURN QUERY EXECUTE format('SELECT i.id FROM items i WHERE i.scope = $1 AND i.id = ANY ($2) AND %s @@ $3', words_expression(config))
  USING visible_scope(), ids, query;
END
$$;
"""


def upgrade() -> None:
    namespace = op.get_bind().dialect.identifier_preparer.quote_identifier(str(op.get_context().version_table_schema))
    op.execute(WORDS_AS)
    for function in FUNCTIONS.replace("%PATH%", f"{namespace}, pg_temp").split("\n$$;\n"):
        if function.strip():
            op.execute(function + "\n$$")
    op.execute("REVOKE ALL ON FUNCTION words_column, words_expression, add_words, best_as, meeting_as FROM PUBLIC")
