"""What a search on Postgres costs, beside its two statements sent by hand: asked in turns on one server, so that noise hits all alike."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

from sqlalchemy import Engine, event

from recollect.library import Library
from recollect.model import Space, Vector
from recollect.ports import Embedder
from recollect.settings import Settings
from recollect.stores.postgres.address import dsn
from recollect.stores.postgres.connecting import Connecting
from recollect.testing.postgres import LocalPostgres

from .build import SCOPE
from .postgres_load import OURS, OWNER
from .queries import Figures, K, Samples, keep, percentiles, share_found

ROUNDS = 3
DEPTH = 100
"""Hits of each route, as a search asks for by default."""
SEARCH, READY, IN_TURN, AT_ONCE, PLAIN = "search", "search, vector given", "one after the other", "side by side", "plain"
BY_WORDS, BY_VECTOR = ("best_words", "items_with"), ("<#>",)
"""What the statements of the routes are known by; a question all in quotation marks is looked for as a phrase, and seldom found."""
RANKED_PLAINLY = f"""
  SELECT id, ts_rank_cd(words, asked) FROM plain, CAST(replace(CAST(plainto_tsquery('english', $1) AS text), '&', '|') AS tsquery) AS asked
  WHERE words @@ asked ORDER BY 2 DESC LIMIT {DEPTH}
"""


@dataclass(frozen=True, slots=True)
class Statement:
    """One of the two that the store sends, as its driver is given it."""

    sql: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its vector, and what the store sends for it."""

    text: str
    vector: Vector
    by_words: Statement
    by_vector: Statement
    plain_vector: Statement


async def measure(server: LocalPostgres, vectors: Vector, embedder: Embedder, queries: Sequence[str]) -> Figures:
    """Milliseconds of every way, of our own stages, and the share of the nearest that is found."""
    url = server.url(OURS, user=OWNER)
    questions = await _questions(url, embedder, queries)
    await _plain_table(url)
    async with Library.open(url, scope=SCOPE, embedder=embedder, options=Settings()) as library:
        hands = [await _by_hand(url) for _ in range(2)]
        rounds = await _in_turns(library, hands, questions)
        recall = await share_found(library.store, vectors, [question.vector for question in questions])
        for hand in hands:
            await hand.close()
    ms = _medians([{name: percentiles(samples) for name, samples in each.items()} for each in rounds])
    return {
        "queries": len(questions),
        "rounds": ROUNDS,
        "ms": ms,
        "ratio": {
            each: {ours: {p: round(ms[ours][p] / ms[each][p], 2) for p in ms[each]} for ours in (SEARCH, READY)}
            for each in (IN_TURN, AT_ONCE, PLAIN)
        },
        "recall_at_50": round(recall, 4),
    }


async def _questions(url: str, embedder: Embedder, queries: Sequence[str]) -> list[Question]:
    """Asks each once, and keeps what the store sent first by each route."""
    found = []
    with _sent() as sent:
        async with Library.open(url, scope=SCOPE, embedder=embedder, options=Settings()) as library:
            space = await library.store.space()
            assert space is not None
            for query in queries:
                sent.clear()
                await library.search(query, k=K)
                vector = embedder.embed_query(query)
                found.append(Question(query, vector, _one_of(sent, BY_WORDS), _one_of(sent, BY_VECTOR), _plain_vector(vector, space)))
    return found


def _one_of(sent: Sequence[Statement], signs: Sequence[str]) -> Statement:
    return next(each for sign in signs for each in sent if sign in each.sql)


def _plain_vector(vector: Vector, space: Space) -> Statement:
    """On the index of the store, which has vectors as float16."""
    near = f"vector::halfvec({space.dim}) <#> CAST(CAST($1 AS text) AS halfvec({space.dim}))"
    sql = f"SELECT item_id, {near} FROM chunks WHERE space = '{space.id}' ORDER BY {near} LIMIT {DEPTH}"
    return Statement(sql, ("[" + ",".join(map(repr, vector.tolist())) + "]",))


@contextmanager
def _sent() -> Iterator[list[Statement]]:
    """Every statement that goes to a driver meanwhile."""
    found: list[Statement] = []

    def keep(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        found.append(Statement(statement, tuple(parameters)))

    event.listen(Engine, "before_cursor_execute", keep)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", keep)


async def _plain_table(url: str) -> None:
    """The words of every item as most would keep them."""
    hand = await _by_hand(url)
    await hand.execute("CREATE TABLE plain AS SELECT id, to_tsvector('english', text) AS words FROM items")
    await hand.execute("CREATE INDEX ON plain USING gin (words)")
    await hand.execute("VACUUM (ANALYZE) plain")
    await hand.close()


async def _by_hand(url: str) -> Any:
    """A connection that is set up as those of the store are."""
    options = Settings()
    connection = await Connecting(dsn(url), options.postgres, options.lock_timeout_s)()
    await connection.execute("SELECT set_config('recollect.scope', $1, false)", SCOPE)
    return connection


async def _in_turns(library: Library, hands: Sequence[Any], questions: Sequence[Question]) -> list[Samples]:
    """Each question in every way, another one first each time, after one round that is not counted; the samples of each round."""
    first, second = hands

    async def search(question: Question) -> dict[str, float]:
        return (await library.search(question.text, k=K, debug=True)).stats.timing_ms

    async def ready(question: Question) -> None:
        await library.retrieve({"query_text": question.text, "top_k_items": K, "vector": {"query_vector": question.vector.tolist()}})

    async def in_turn(question: Question) -> dict[str, float]:
        begin = perf_counter()
        await _send(first, question.by_words)
        middle = perf_counter()
        await _send(first, question.by_vector)
        return {"by hand, text": (middle - begin) * 1000, "by hand, vector": (perf_counter() - middle) * 1000}

    async def at_once(question: Question) -> None:
        await asyncio.gather(_send(first, question.by_words), _send(second, question.by_vector))

    async def plain(question: Question) -> dict[str, float]:
        begin = perf_counter()
        await _send(first, Statement(RANKED_PLAINLY, (question.text,)))
        middle = perf_counter()
        await _send(first, question.plain_vector)
        return {"plain, text": (middle - begin) * 1000, "plain, vector": (perf_counter() - middle) * 1000}

    ways: dict[str, Callable[[Question], Awaitable[dict[str, float] | None]]] = {
        SEARCH: search,
        READY: ready,
        IN_TURN: in_turn,
        AT_ONCE: at_once,
        PLAIN: plain,
    }
    names = list(ways)
    rounds: list[Samples] = []
    for turn in range(ROUNDS + 1):
        samples: Samples = {}
        for place, question in enumerate(questions):
            start = (turn + place) % len(names)
            for name in names[start:] + names[:start]:
                begin = perf_counter()
                stages = await ways[name](question) or {}
                keep(samples, {name: perf_counter() - begin} | {stage: ms / 1000 for stage, ms in stages.items()})
        rounds.append(samples)
    return rounds[1:]


async def _send(hand: Any, statement: Statement) -> None:
    """The driver keeps what it has prepared."""
    await hand.fetch(statement.sql, *statement.arguments)


def _medians(rounds: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    return {name: {p: round(median(each[name][p] for each in rounds), 2) for p in own} for name, own in rounds[0].items()}
