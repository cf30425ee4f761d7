"""Words as Postgres itself reads and ranks them: any text search configuration it has, ts_rank and ts_rank_cd."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

from sqlalchemy import BigInteger, Connection, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import DBAPIError

from ...analysis import terms
from ...cancellation import checkpoint
from ...errors import InvalidInput
from ...filters import Filter
from ...model import Finding, Hit, Ranking
from ...textquery import NativeQuery
from ..sql.given import Texts
from ..sql.schema import ItemRow
from ..sql.types import escaped, unescaped
from ..windows import TITLE_WEIGHT
from .passing import GROWTH, listed, passing
from .text import EVERY, standing

MAX_CHARS: Final = 16_384
"""Characters of a question that are read, as everywhere."""
WEIGHED_CHARS: Final = 1_000
"""Characters of a question of which it is looked up how rare each word is."""
WEIGHTS: Final = [1 / TITLE_WEIGHT] * 3 + [1.0]
"""Of text, which has the weight D, to title, which has A."""
NORMALIZATION: Final = 1
"""Divided by 1 + the logarithm of the length. nDCG@10 by ts_rank on anthropic_docs and scifact: .71 and .55; as it is .62 and .55, divided
by the length .26 and .32, by the number of different words .32 and .36."""
MAX_CONFIG: Final = 48
"""Bytes of a configuration's name that has a column: its index has fifteen more."""

_CONFIG: Final = "CAST(:config AS regconfig)"
_FUNCTIONS: Final = {"web": "websearch_to_tsquery", "plain": "plainto_tsquery", "phrase": "phraseto_tsquery", "strict": "to_tsquery"}
_PARSED: Final = {
    mode: text(f"SELECT q::text AS query, querytree(q) AS sought FROM {function}({_CONFIG}, :asked) AS q")
    for mode, function in _FUNCTIONS.items()
}
_WORDS: Final = text(f"""
  SELECT found.lexeme, min(seen.token) AS token FROM unnest(tsvector_to_array(to_tsvector({_CONFIG}, :asked))) AS found (lexeme)
  LEFT JOIN (SELECT token, unnest(lexemes) AS lexeme FROM ts_debug({_CONFIG}, left(:asked, {WEIGHED_CHARS}))) AS seen USING (lexeme)
  GROUP BY found.lexeme ORDER BY found.lexeme
""")
_CONFIGS: Final = text("""
  SELECT c.oid::regconfig::text AS config, c.cfgname AS name, n.nspname || '.' || c.cfgname AS in_full,
    pg_ts_config_is_visible(c.oid) AS seen
  FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace ORDER BY n.nspname <> 'pg_catalog', 2
""")
_BEST: Final = text(f"""
  SELECT id, score, looked_at FROM best_as(
    {_CONFIG}, CAST(:levels AS tsquery[]), :ranking, CAST(:weights AS real[]), :normalization, :least, :candidates, :n, :among)
""").bindparams(bindparam("levels", type_=Texts()), bindparam("among", type_=ARRAY(BigInteger)))
_MEETING: Final = text(f"SELECT id FROM meeting_as({_CONFIG}, CAST(:query AS tsquery), :ids)").bindparams(bindparam("ids", type_=Texts()))
_SETTING: Final = "postgres.text_configs has"
_BAD_EXPRESSION: Final = ("42601", "54000", "54001", "XX000")
"""What a bad expression is to the server: not one at all, too long a word, too deep, or with too many signs at once."""


def config_of(connection: Connection, name: str, *, key: str = "fts.config is") -> str:
    """A text search configuration of the server by its name, as it is written in SQL; whatever is none is told."""
    there = connection.execute(_CONFIGS).all()
    for row in there:
        if name == row.in_full or (row.seen and name == row.name):
            return str(row.config)
    names = [row.name for row in there if row.seen]
    near = get_close_matches(name, names, n=3) or [each for each in ("english", "simple") if each in names]
    raise InvalidInput(f"{key} {name!r:.80}: the server has {len(names)} configurations, such as {', '.join(near)}")


def add_columns(connection: Connection, names: Sequence[str]) -> None:
    """Give items a column, with an index, of their words as each of these configurations reads them, where they have none."""
    for name in names:
        config = config_of(connection, name, key=_SETTING)
        if len(config.encode()) > MAX_CONFIG:
            raise InvalidInput(f"{_SETTING} {name!r}: the name of one with a column has at most {MAX_CONFIG} bytes")
        connection.execute(text(f"SELECT add_words({_CONFIG})"), {"config": config})


def without_column(connection: Connection, names: Sequence[str]) -> list[str]:
    """Those of the configurations whose words are read from the texts themselves with every search."""
    column = text(f"SELECT words_column({_CONFIG})")
    return [name for name in names if connection.scalar(column, {"config": config_of(connection, name, key=_SETTING)}) is None]


def examined(connection: Connection, *, names: Sequence[str], repair: bool) -> Finding:
    """Whether each configuration that is set has its column, for `doctor`."""
    missing = without_column(connection, names)
    if missing and repair:
        add_columns(connection, missing)
    detail = f"items have no column of words as {', '.join(missing)}, so that a search by it reads every text"
    wrong = bool(missing)
    return Finding("text search", not wrong or repair, detail if wrong else "each configuration has its column", repaired=wrong and repair)


class NativeSearch:
    """Finds the items of a scope by words as the server reads them."""

    def __init__(self, connection: Connection, scope: str, query: NativeQuery) -> None:
        self._connection = connection
        self._scope = scope
        self._query = query
        self._config = config_of(connection, query.config)
        if query.mode == "strict" and len(query.text) > MAX_CHARS:
            raise InvalidInput(f"the expression has {len(query.text)} characters: write at most {MAX_CHARS}")
        self._asked = {"config": self._config, "asked": escaped(query.text[:MAX_CHARS])}

    def best(self, k: int, *, rank_func: str, min_rank: float | None, where: Filter | None, candidates: int) -> Ranking:
        """The k best. More and more are looked at, until k pass the filter or there are no more."""
        among = listed(self._connection, ItemRow.seq, self._scope, where)
        levels = self._levels(candidates if among is None else EVERY)
        if not levels or not k:
            return ()
        asked = {"config": self._config, "levels": levels, "weights": WEIGHTS, "normalization": NORMALIZATION, "among": among}
        asked |= {"ranking": rank_func, "least": min_rank}
        checked = where if among is None else None
        looked_at = candidates if among is None else EVERY
        n = k if checked is None else GROWTH * k
        while True:
            checkpoint()
            rows = self._connection.execute(_BEST, asked | {"candidates": looked_at, "n": n}).all()
            found = [Hit(unescaped(row.id), row.score) for row in rows if row.id is not None]
            hits = passing(self._connection, found, self._scope, checked)
            if len(hits) < k and len(found) == n:
                n *= GROWTH
            elif len(hits) < k and rows[0].looked_at >= looked_at:
                looked_at *= GROWTH
            else:
                return tuple(hits[:k])

    def meeting(self, ids: Sequence[str]) -> set[str]:
        """Those of the items for which the question holds; all of them where it asks for nothing."""
        parsed = self._parsed()
        if not parsed[0]:
            return set(ids)
        asked = {"config": self._config, "query": parsed[0], "ids": list(ids)}
        return {unescaped(found) for found in self._connection.scalars(_MEETING, asked)}

    def _parsed(self) -> tuple[str, str]:
        """The question as a tsquery, and what of it is looked for: nothing, or T where it also holds where no word of it is."""
        try:
            row = self._connection.execute(_PARSED[self._query.mode], self._asked).one()
        except DBAPIError as error:
            if self._query.mode != "strict" or getattr(error.orig, "sqlstate", None) not in _BAD_EXPRESSION:
                raise
            said = str(error.orig).partition(">: ")[2] or str(error.orig)
            raise InvalidInput(f"the expression {self._query.text!r:.200} cannot be read: {said.partition(chr(10))[0]:.200}") from None
        return str(row.query), str(row.sought)

    def _levels(self, candidates: int) -> list[str]:
        """What is looked for, first of all; the last is the whole question. Nothing where no word is looked for."""
        if self._query.mode == "any":
            return self._any(candidates)
        query, sought = self._parsed()
        if sought == "T" and self._query.mode == "strict":
            raise InvalidInput(
                f"the expression {self._query.text!r:.200} also holds where no word of it is: join by & something that is looked for"
            )
        return [query] if sought not in ("", "T") else []

    def _any(self, candidates: int) -> list[str]:
        """Any of the words. Where they are in more items than are looked at, first all of them, then the rarest."""
        tokens = {row.lexeme: row.token or "" for row in self._connection.execute(_WORDS, self._asked)}
        own = {lexeme: terms(unescaped(token)) for lexeme, token in tokens.items()}
        words = standing(self._connection, self._scope, list(dict.fromkeys(term for found in own.values() for term in found)))
        if not tokens or words is None:
            return []
        having = {lexeme: min((words.having.get(term, 0) for term in found), default=0) for lexeme, found in own.items()}
        rarest_first = sorted(having, key=lambda lexeme: (having[lexeme], lexeme))
        rare: list[str] = []
        seen = 0
        for lexeme in rarest_first:
            seen += having[lexeme]
            if seen > candidates:
                break
            rare.append(lexeme)
        if len(rare) == len(tokens) or len(tokens) == 1:
            return [_joined(rarest_first, "|")]
        return [_joined(rarest_first, "&"), _joined(rare or rarest_first[:1], "|"), _joined(rarest_first, "|")]


def _joined(lexemes: Sequence[str], sign: str) -> str:
    return f" {sign} ".join("'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'" for lexeme in lexemes)
