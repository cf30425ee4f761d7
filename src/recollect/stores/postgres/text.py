"""Search by words on Postgres: BM25 over the windows that have the rarest words of a question, so that a common word costs little."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log
from typing import Any, Final, TypeAlias

from sqlalchemy import BigInteger, ColumnElement, Connection, Float, Select, bindparam, func, select, text, true
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.sql.selectable import TextualSelect

from ...analysis import beginnings, query_terms, terms
from ...cancellation import checkpoint
from ...filters import Filter
from ...model import Hit, Ranking
from ...textquery import Boolean, Node, Phrase, Prefix, Term
from ..kept import Kept
from ..sql.few import conditions, is_on, values_of
from ..sql.given import Texts
from ..sql.schema import ItemRow
from ..sql.types import Exact
from ..sql.where import holds
from ..windows import only_ranks
from .passing import DECIMALS, GROWTH, LISTED, TIE_MARGIN, listed
from .words import PHRASE_TERMS, lexeme, rough

RANKED_FOR_EACH: Final = 2
KEPT: Final = 200
"""Items that are ranked exactly, for each that is asked for and at least. Of the first hundred of 5,183 abstracts 99.8 % are those of the
embedded store, and the first ten always, in the same order."""
CHECKED: Final = 1.5
"""Of what is ranked, so many pass the filter before the rest is left unchecked, for each that is asked for. Of 200 questions for 50 of
100,000 memories, at most 11 more had the score of the last."""
MATCHING: Final = 20_000
"""Items for which an expression holds that are ranked, where k of them pass the filter."""
EVERY: Final = 1_000_000_000

# Sub-queries where a join would do: they are always looked up in the index, whatever the planner takes the tables to be like.
_STANDING = text("""
  SELECT w.number, w.windows, w.length, (
    SELECT array_agg(
      (SELECT t.windows FROM terms t WHERE t.scope = w.scope AND t.term = w.number || ':' || asked.term COLLATE "C") ORDER BY asked.place
    ) FROM unnest(:terms) WITH ORDINALITY AS asked (term, place)
  ) AS having FROM words w WHERE w.scope = :scope
""").bindparams(bindparam("scope", type_=Exact()), bindparam("terms", type_=Texts()))
_BEST = """
  best_words(CAST(:wanted AS tsquery), CAST(:otherwise AS tsquery), CAST(:rough AS sparsevec), CAST(:singles AS tsquery[]), :weights,
             CAST(:phrases AS tsquery[]), :bonuses, :mean, :candidates, :kept, :n, :among) AS best
"""
_NAMED = "ARRAY(SELECT i.seq FROM items i WHERE i.scope = :scope AND i.id = ANY (:ids))"
_RANKED = f"SELECT best.seq, best.score, best.looked_at FROM {_BEST}"
_RANKED_ALL = f"""
  SELECT i.seq, coalesce(best.score, 0) AS score, best.looked_at
  FROM unnest(:among) AS given (seq) LEFT JOIN {_BEST} ON best.seq = given.seq
  JOIN items i ON i.scope = :scope AND i.seq = given.seq ORDER BY 2 DESC, i.id LIMIT :n
"""
_MATCHING = text("""
  SELECT seq FROM items_with(
    CAST(:exact AS tsquery), CAST(:loose AS tsquery), CAST(:leaves AS tsquery[]), CAST(:structure AS tsquery), :candidates, :among)
""").bindparams(bindparam("leaves", type_=Texts()), bindparam("among", type_=ARRAY(BigInteger)))
_SCOPE = bindparam("scope", type_=Exact())
_TYPES = (
    bindparam("singles", type_=Texts()),
    bindparam("phrases", type_=Texts()),
    bindparam("weights", type_=ARRAY(Float)),
    bindparam("bonuses", type_=ARRAY(Float)),
    bindparam("mean", type_=Float),
)
_AMONG = bindparam("among", type_=ARRAY(BigInteger))
_COLUMNS: Final[dict[str, Any]] = {"seq": BigInteger, "score": Float, "looked_at": BigInteger}
RANKED: Final = text(_RANKED).bindparams(_AMONG, *_TYPES).columns(**_COLUMNS)
RANKED_NAMED: Final = (
    text(_RANKED.replace(":among", _NAMED)).bindparams(_SCOPE, bindparam("ids", type_=Texts()), *_TYPES).columns(**_COLUMNS)
)
RANKED_ALL: Final = text(_RANKED_ALL).bindparams(_SCOPE, _AMONG, *_TYPES).columns(**_COLUMNS)
_STATEMENTS: Final = Kept[Select[Any]](64)


def _passing(ranked: TextualSelect, scope: str, where: Filter | None) -> Select[Any]:
    """The first of what is ranked that pass a filter, at most `most`; each row also says how many are ranked, with what score the last, and
    how many windows were looked at. Where none passes it is one row without an item."""

    def made() -> Select[Any]:
        best = ranked.cte("best")
        count = func.count().label("ranked")
        told = select(count, func.min(best.c.score).label("least"), func.max(best.c.looked_at).label("looked_at")).subquery()

        def own(column: Any) -> ColumnElement[Any]:
            """A sub-query where a join would do: no more rows are looked at than are wanted, and always by their index."""
            return select(column).where(ItemRow.scope == _SCOPE, ItemRow.seq == best.c.seq).correlate(best).scalar_subquery()

        found = select(own(ItemRow.id).label("id"), best.c.score)
        if where is not None:
            found = found.where(own(holds(where, scope, per_row=True)).is_(True))
        first = found.limit(bindparam("most")).subquery()
        return select(first.c.id, first.c.score, told).select_from(told.outerjoin(first, true()))

    return _STATEMENTS.of_filter(where, scope, ranked, make=made)


@dataclass(frozen=True, slots=True)
class Words:
    """What a scope's words are like: under which number they are indexed, of how many windows, how long these are, and how many have
    which of the words that were asked for."""

    number: int
    windows: int
    mean: float
    having: dict[str, int]

    def rarity(self, term: str) -> float:
        having = self.having.get(term, 0)
        return log(1 + (self.windows - having + 0.5) / (having + 0.5))

    def quoted(self, term: str) -> str:
        """A word in a tsquery."""
        return "'" + lexeme(self.number, term).replace("\\", "\\\\").replace("'", "''") + "'"

    def any_of(self, sought: Sequence[str]) -> str:
        return " | ".join(map(self.quoted, sought))

    def side_by_side(self, sought: Sequence[str]) -> str:
        return "(" + " <-> ".join(map(self.quoted, sought)) + ")"


def standing(connection: Connection, scope: str, sought: Sequence[str]) -> Words | None:
    """How the words of a scope stand; None where it has none."""
    row = connection.execute(_STANDING, {"scope": scope, "terms": sought}).first()
    if row is None or not row.windows:
        return None
    having = {term: windows for term, windows in zip(sought, row.having or (), strict=True) if windows}
    return Words(row.number, row.windows, max(row.length / row.windows, 1e-9), having)


def named(where: Filter | None) -> list[str] | None:
    """The ids that a filter asks for, where they are all that it says."""
    found = [*conditions(where)]
    ids = values_of(found[0]) if len(found) == 1 and is_on(found[0], "id") else []
    return ids if 0 < len(ids) <= LISTED else None


def in_one_statement(query: Node, where: Filter | None) -> bool:
    """Whether a single statement finds the items and ranks them: where there are two, both must see the same versions of items."""
    return only_ranks(query) and (where is None or named(where) is not None)


class WordSearch:
    """Finds the items of a scope by words."""

    def __init__(self, connection: Connection, scope: str, where: Filter | None, candidates: int) -> None:
        self._connection = connection
        self._scope = scope
        self._where = where
        self._candidates = candidates

    def best(self, query: Node, k: int) -> Ranking:
        """The k best."""
        sought = list(dict.fromkeys(term for leaf in _positive(query) for term in _terms(leaf)))
        words = standing(self._connection, self._scope, sought)
        if words is None or not k:
            return ()
        ranked = Ranked(words, query)
        if only_ranks(query) and (ids := named(self._where)) is not None:
            return self._best(ranked, k, ids, statement=RANKED_NAMED) if ranked.singles else ()
        among = listed(self._connection, ItemRow.seq, self._scope, self._where)
        if only_ranks(query):
            return self._best(ranked, k, among) if ranked.singles else ()
        expression = Expression.of(query, words)
        if expression is None:
            return ()
        most = MATCHING if among is None else EVERY
        while True:
            matching = list(self._connection.scalars(_MATCHING, expression.parameters | {"candidates": most, "among": among}))
            found = self._best(ranked, k, matching, statement=RANKED_ALL, checked=among is not None) if matching else ()
            if len(found) >= k or len(matching) < most:
                return found
            most *= GROWTH

    def _best(
        self, ranked: Ranked, k: int, among: list[int] | list[str] | None, *, statement: TextualSelect = RANKED, checked: bool | None = None
    ) -> Ranking:
        """The k best of all, or of some, by their versions or their ids: more and more are asked for, until k pass the filter and nothing
        cut off ties with them."""
        where = None if (among is not None if checked is None else checked) else self._where
        passing = _passing(statement, self._scope, where)
        candidates = self._candidates if among is None else EVERY
        n = (k if where is None else GROWTH * k) + TIE_MARGIN
        most = n if where is None else int(CHECKED * k) + TIE_MARGIN
        with_common = False
        while True:
            checkpoint()
            kept = max(KEPT, RANKED_FOR_EACH * n)
            bounds = {"scope": self._scope, "candidates": candidates, "kept": kept, "n": n, "most": most, "among": among, "ids": among}
            rows = self._connection.execute(passing, ranked.parameters(candidates, with_common=with_common) | bounds).all()
            hits = _hits(rows, ranked.flat)
            is_cut = len(rows) == most < n
            is_complete, is_short = rows[0].ranked < n, len(hits) < k
            last = rows[-1].score if is_cut else rows[0].least
            ties = not is_short and round(last + ranked.flat, DECIMALS) >= hits[k - 1].score
            if is_cut and ties:
                most = EVERY
            elif not is_cut and not is_complete and (is_short or ties):
                n *= GROWTH
            elif is_complete and is_short and (rows[0].looked_at or 0) >= candidates:
                candidates *= GROWTH
            elif is_complete and is_short and not with_common and ranked.common(candidates):
                with_common = True
            else:
                return tuple(hits[:k])


def _hits(rows: Sequence[Any], flat: float) -> list[Hit]:
    hits = [Hit(row.id, round(row.score + flat, DECIMALS)) for row in rows if row.id is not None]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


class Ranked:
    """What makes a window a good answer: words by their rarity, and phrases that stand whole."""

    def __init__(self, words: Words, query: Node) -> None:
        leaves = list(_positive(query))
        self._words = words
        wanted = dict.fromkeys(term for leaf in leaves for term in _terms(leaf))
        self.singles = sorted((term for term in wanted if words.having.get(term)), key=lambda term: (words.having[term], term))
        self._weights = [words.rarity(term) for term in self.singles]
        self._phrases = [found for leaf in leaves if isinstance(leaf, Phrase) and len(found := terms(leaf.text)) > 1]
        self.flat = float(sum(isinstance(leaf, Prefix) for leaf in leaves))
        """What every item has that is found by the beginnings of words."""

    def common(self, candidates: int) -> list[str]:
        """The words that would make more windows than so many; the rarest is none of them."""
        windows = accumulate(self._words.having[term] for term in self.singles)
        return [term for at, (term, so_far) in enumerate(zip(self.singles, windows, strict=True)) if at and so_far > candidates]

    def parameters(self, candidates: int, *, with_common: bool) -> dict[str, Any]:
        """The windows that are looked at have one of the rarest words; a word that is common beside others counts where they are, and with
        common words also elsewhere, after those."""
        words, common = self._words, self.common(candidates)
        rare = self.singles[: len(self.singles) - len(common)]
        wanted = words.any_of(rare) if rare else None
        # Where even the rarest word is too common, those come first that have another one too.
        both = len(rare) == 1 and bool(common) and words.having[rare[0]] > candidates
        return {
            "wanted": f"{wanted} & ({words.any_of(common)})" if both else wanted,
            "otherwise": wanted if both else words.any_of(common) if with_common and common else None,
            "rough": rough(dict(zip(self.singles, self._weights, strict=True))),
            "singles": [words.quoted(term) for term in self.singles],
            "weights": self._weights,
            "phrases": [words.side_by_side(phrase[:PHRASE_TERMS]) for phrase in self._phrases],
            "bonuses": [sum(map(words.rarity, phrase)) for phrase in self._phrases],
            "mean": words.mean,
        }


@dataclass(frozen=True, slots=True)
class Expression:
    """A query that demands something, as tsqueries: of an item's only window, of all words of one with several, and of its windows."""

    exact: str
    loose: str
    structure: str
    leaves: tuple[str, ...]

    @classmethod
    def of(cls, query: Node, words: Words) -> Expression | None:
        """None where nothing can meet it."""
        leaves: list[str] = []
        exact = _compiled(query, lambda leaf: _exact(leaf, words))
        structure = _compiled(query, lambda leaf: _numbered(_pieces(leaf, words), leaves))
        if exact is None or structure is None:
            return None
        loose = _compiled(query, lambda leaf: _loose(leaf, words), without_places=True)
        return cls(exact, loose or exact, structure, tuple(leaves))

    @property
    def parameters(self) -> dict[str, Any]:
        return {"exact": self.exact, "loose": self.loose, "structure": self.structure, "leaves": self.leaves}


Leaf: TypeAlias = Term | Phrase | Prefix


def _compiled(node: Node, of: Callable[[Leaf], str | None], *, without_places: bool = False) -> str | None:
    """A query as a tsquery, its leaves as `of` has them; None where nothing can meet it. Without places a phrase that is not wanted is
    left out: all its words may be there, and not side by side."""
    if not isinstance(node, Boolean):
        return of(node)
    must = [_compiled(part, of, without_places=without_places) for part in node.must]
    if not must:
        either = [found for part in node.should if (found := _compiled(part, of, without_places=without_places)) is not None]
        must = ["(" + " | ".join(either) + ")"] if either else [None]
    if None in must:
        return None
    refused = [part for part in node.must_not if not (without_places and any(isinstance(leaf, Phrase) for leaf in _every(part)))]
    unwanted = [found for part in refused if (found := _compiled(part, of, without_places=without_places)) is not None]
    return "(" + " & ".join([*(part for part in must if part is not None), *(f"!{part}" for part in unwanted)]) + ")"


def _exact(leaf: Leaf, words: Words) -> str | None:
    match leaf:
        case Term(asked):
            found = query_terms(asked)
            return f"({words.any_of(found)})" if found else None
        case Phrase(asked):
            found = terms(asked)
            return words.side_by_side(found) if found else None
        case Prefix(asked):
            starts = [f"{words.quoted(start)}:*" for start in beginnings(asked)]
            return "(" + " | ".join(starts) + ")" if starts else None


def _loose(leaf: Leaf, words: Words) -> str | None:
    """What holds for all words of an item, without their places, where the leaf holds for it."""
    if isinstance(leaf, Phrase) and (found := terms(leaf.text)):
        return "(" + " & ".join(map(words.quoted, dict.fromkeys(found))) + ")"
    return _exact(leaf, words)


def _pieces(leaf: Leaf, words: Words) -> list[str] | None:
    """What has to hold for windows where the leaf holds for the item: a long phrase piece by piece, each beginning with the last word of
    the one before."""
    if isinstance(leaf, Phrase) and len(found := terms(leaf.text)) > PHRASE_TERMS:
        return [words.side_by_side(found[at : at + PHRASE_TERMS]) for at in range(0, len(found) - 1, PHRASE_TERMS - 1)]
    whole = _exact(leaf, words)
    return None if whole is None else [whole]


def _numbered(pieces: list[str] | None, leaves: list[str]) -> str | None:
    """The pieces by their numbers among all leaves, from 1."""
    if pieces is None:
        return None
    leaves += pieces
    return "(" + " & ".join(f"'{number}'" for number in range(len(leaves) - len(pieces) + 1, len(leaves) + 1)) + ")"


def _every(node: Node) -> Iterator[Node]:
    """The leaves of a query."""
    if isinstance(node, Boolean):
        for part in (*node.must, *node.should, *node.must_not):
            yield from _every(part)
    else:
        yield node


def _positive(node: Node) -> Iterator[Leaf]:
    """The leaves of a query that count for an item that has them."""
    match node:
        case Boolean(must, should, _):
            for part in (*must, *should):
                yield from _positive(part)
        case _:
            yield node


def _terms(leaf: Leaf) -> list[str]:
    match leaf:
        case Term(asked):
            return query_terms(asked)
        case Phrase(asked):
            return terms(asked)
        case Prefix():
            return []
