"""What `doctor` looks at in a store on Neo4j, and how it mends what can be mended. Each part is a transaction of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Final, NamedTuple

from ...analysis import edition
from ...model import Finding
from .connecting import Rows, Server, Transaction
from .keys import ordered
from .rows import ITEM, stored
from .schema import VERSION, made_by, make_indexes
from .words import counted, read, text_of
from .write import STATE, SUMS, lock_known

Read = Callable[..., Awaitable[Rows]]
"""A statement that is read: within a transaction, or as one of its own."""

MENDED_AT_ONCE: Final = 200
"""Items whose words are made anew in one transaction."""
_STATES: Final = "SHOW INDEXES YIELD name, state WHERE name IN $names RETURN name, state"
_OWNED: Final = {
    "Window": "HAS_WINDOW",
    "Passages": "HAS_PASSAGES",
    "Chunk": "HAS_CHUNK",
    "Symbol": "HAS_SYMBOL",
    "Value": "HAS_VALUE",
    "Made": "HAS_MADE",
    "Name": "NAMES",
}
_STRAY: Final = " UNION ALL ".join(
    f"MATCH (n:{label}) WHERE NOT EXISTS {{ (n)-[:{kind}]-() }} RETURN '{label}' AS label, count(n) AS found"
    for label, kind in _OWNED.items()
)
_BARE: Final = "MATCH (n:Node) WHERE NOT n:Item AND NOT n:Entity AND NOT EXISTS { (n)-[:LINK]-() }"
_OF_NO_SPACE: Final = "MATCH (p:Passages) WHERE NOT EXISTS { MATCH (:Space {id: p.space}) }"
_WORDLESS: Final = "i.words IS NULL OR NOT EXISTS { (i)-[:HAS_WINDOW]->() }"
_MISCOUNTED: Final = """
  MATCH (s:Scope {key: $key}) RETURN [s.items, s.windows, s.length, s.whole, s.chunks],
    count { MATCH (i:Item) WHERE i.key STARTS WITH $key },
    COLLECT { MATCH (i:Item)-[:HAS_WINDOW]->(w) WHERE i.key STARTS WITH $key RETURN w.length },
    count { MATCH (c:Chunk) WHERE c.of = $key + coalesce(COLLECT { MATCH (a:Space {active: true}) RETURN a.id }[0], '') }
"""
_TEXTS: Final = "MATCH (i:Item) WHERE i.key STARTS WITH $key AND i.key > $after WITH i ORDER BY i.key LIMIT $most"
_WINDOWS: Final = f"{_TEXTS} RETURN i.key, i.words, [(i)-[:HAS_WINDOW]->(w) | w.words]"
_UNWINDOW: Final = "UNWIND $rows AS key MATCH (:Item {key: key})-[:HAS_WINDOW]->(w) DETACH DELETE w"
_REWORD: Final = """
  UNWIND $rows AS row MATCH (i:Item {key: row.key}) SET i.words = row.words
  WITH i, row UNWIND row.windows AS window CREATE (i)-[:HAS_WINDOW]->(w:Window) SET w = window
"""
_TERMS: Final = "MATCH (t:Term) WHERE t.key STARTS WITH $key RETURN t.key, t.windows"
_PUT_TERMS: Final = "UNWIND $rows AS row MERGE (t:Term {key: row.key}) SET t.windows = row.windows"
_DROP_TERMS: Final = "UNWIND $rows AS key MATCH (t:Term {key: key}) DELETE t"
_PUT_SUMS: Final = "MATCH (s:Scope {key: $key}) SET s += $sums"


async def examine(server: Server, *, repair: bool) -> AsyncIterator[Finding]:
    """Everything that is looked at."""
    yield Finding("database", True, f"answers, with a store of version {VERSION}")
    yield await _indexes(server, repair=repair)
    yield await _strays(server, repair=repair)
    yield await _spaces(server, repair=repair)
    yield await _edition(server, repair=repair)
    wrong = 0
    for key, name in sorted(await server.read("MATCH (s:Scope) RETURN s.key, s.name")):
        found = await _words(server, key, name, repair=repair)
        if found is not None:
            wrong += 1
            yield found
    if not wrong:
        yield Finding("words", True, "level with the items, in every scope")


async def _indexes(server: Server, *, repair: bool) -> Finding:
    names = list(made_by(server))
    states = dict(await server.read(_STATES, names=names))
    failed = [name for name in names if states.get(name) == "FAILED"]
    wrong = [name for name in names if states.get(name) != "ONLINE"]
    if wrong and repair:
        for name in failed:
            await server.execute(f"DROP {'CONSTRAINT' if 'CONSTRAINT' in made_by(server)[name] else 'INDEX'} `{name}` IF EXISTS")
        await make_indexes(server)
    detail = f"{', '.join(wrong)} cannot be used" if wrong else "every index can be used"
    return Finding("indexes", not wrong or repair, detail, repaired=bool(wrong) and repair)


async def _strays(server: Server, *, repair: bool) -> Finding:
    """What is left of items and entities that are gone."""
    found = {label: number for label, number in await server.read(_STRAY) if number}
    ((bare,),) = await server.read(f"{_BARE} RETURN count(n)")
    if bare:
        found["Node"] = bare
    if found and repair:
        for label in found:
            kind = _OWNED.get(label)
            stray = _BARE if kind is None else f"MATCH (n:{label}) WHERE NOT EXISTS {{ (n)-[:{kind}]-() }}"
            await server.execute(f"{stray} CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 5000 ROWS")
    detail = "; ".join(f"{number} nodes :{label} of nothing" for label, number in found.items()) or "nothing is left of what is gone"
    return Finding("orphans", not found or repair, detail, repaired=bool(found) and repair)


async def _spaces(server: Server, *, repair: bool) -> Finding:
    """Passages of a space that is not there, as where a move to another one was interrupted. Those of one that is prepared stay."""
    ((stray,),) = await server.read(f"{_OF_NO_SPACE} RETURN count(p)")
    if stray and repair:
        await server.execute(
            f"{_OF_NO_SPACE} CALL (p) {{ OPTIONAL MATCH (p)-[:HAS_CHUNK]->(c) DETACH DELETE c, p }} IN TRANSACTIONS OF 1000 ROWS"
        )
    detail = f"passages of {stray} items are of a space that is not there" if stray else "every vector is of a space"
    return Finding("vectors", not stray or repair, detail, repaired=bool(stray) and repair)


async def _edition(server: Server, *, repair: bool) -> Finding:
    """Whether the words are as this Recollect makes them."""
    rows = await server.read("MATCH (s:Store {key: 'store'}) RETURN s.edition")
    kept = rows[0][0] if rows else None
    if kept == edition():
        return Finding("edition", True, f"words are of edition {kept}")
    if repair:
        for key, name in await server.read("MATCH (s:Scope) RETURN s.key, s.name"):
            await _reword(server, key, name, every=True)
        await server.execute("MATCH (s:Store {key: 'store'}) SET s.edition = $edition", edition=edition())
    detail = f"words are of edition {kept}, this Recollect makes {edition()}: `recollect doctor --repair` makes them anew"
    return Finding("edition", repair, detail, repaired=repair)


async def _words(server: Server, key: str, name: str, *, repair: bool) -> Finding | None:
    """What is wrong with the words and the sums of a scope; nothing where they are as its items have them."""
    before = await server.read(STATE, key=key)
    wordless = await _wordless(server.read, key)
    wrong = [*wordless, *(await _miscount(server.read, key)).wrong]
    if not wrong:
        return None
    if not repair:
        # What a writer changed between one statement and the next is no damage.
        is_still = await server.read(STATE, key=key) == before
        return Finding(f"words of {name!r}", False, "; ".join(wrong)) if is_still else None
    if wordless:
        await _reword(server, key, name, every=False)

    async def recount(transaction: Transaction) -> list[str]:
        if not await lock_known(server, transaction, name, server.lock_timeout_s):
            return []
        found = await _miscount(transaction.run, key)
        if found.wrong:
            await transaction.each(_DROP_TERMS, [term for term in found.kept if term not in found.terms])
            await transaction.each(_PUT_TERMS, [{"key": term, "windows": windows} for term, windows in found.terms.items()])
            await transaction.run(_PUT_SUMS, key=key, sums=found.sums)
        return found.wrong

    mended = [*wordless, *await server.change(recount)]
    return Finding(f"words of {name!r}", True, "; ".join(mended), repaired=True) if mended else None


async def _wordless(read_rows: Read, key: str) -> list[str]:
    ((found,),) = await read_rows(f"MATCH (i:Item) WHERE i.key STARTS WITH $key AND ({_WORDLESS}) RETURN count(i)", key=key)
    return [f"{found} items without words"] if found else []


class _Miscount(NamedTuple):
    """What a scope has, counted anew, the words that are kept, and what of these is wrong."""

    sums: dict[str, int]
    terms: dict[str, int]
    kept: dict[str, int]
    wrong: list[str]


async def _miscount(read_rows: Read, key: str) -> _Miscount:
    sums, terms = await _counted(read_rows, key)
    kept = dict(await read_rows(_TERMS, key=key))
    kept_sums = [row[0] for row in await read_rows(_MISCOUNTED, key=key)]
    different = sum(kept.get(term) != windows for term, windows in terms.items()) + sum(term not in terms for term in kept)
    wrong = [f"{different} words are counted wrong"] if different else []
    wrong += ["its sums are wrong"] if kept_sums != [[sums[each] for each in SUMS]] else []
    return _Miscount(sums, terms, kept, wrong)


async def _counted(read_rows: Read, key: str) -> tuple[dict[str, int], dict[str, int]]:
    """The sums of a scope and how many windows have each word, by its key, counted anew."""
    rows = await read_rows(_MISCOUNTED, key=key)
    _, items, lengths, chunks = rows[0] if rows else ([], 0, [], 0)
    sums = {"items": items, "windows": len(lengths), "length": sum(lengths), "whole": 0, "chunks": chunks}
    terms: dict[str, int] = {}
    after = ""
    while rows := await read_rows(_WINDOWS, key=key, after=after, most=MENDED_AT_ONCE):
        after = rows[-1][0]
        sums["whole"] += sum(sum(map(len, read(whole))) for _, whole, _ in rows if whole)
        for term, number in counted(read(words) for _, _, windows in rows for words in windows).items():
            terms[key + ordered(term)] = terms.get(key + ordered(term), 0) + number
    return sums, terms


async def _reword(server: Server, key: str, name: str, *, every: bool) -> None:
    """Make the words of items anew, of every one or of those that have none. They are counted afterwards."""

    async def some(transaction: Transaction, after: str) -> str | None:
        await lock_known(server, transaction, name, server.lock_timeout_s)
        chosen = _TEXTS if every else _TEXTS.replace(" WITH i ORDER", f" AND ({_WORDLESS}) WITH i ORDER")
        rows: list[Any] = await transaction.run(f"{chosen} RETURN {ITEM}, i.key", key=key, after=after, most=MENDED_AT_ONCE)
        texts = {row[-1]: text_of(stored(row).item) for row in rows}
        await transaction.each(_UNWINDOW, list(texts))
        await transaction.each(_REWORD, [{"key": each, "words": text.whole, "windows": text.windows} for each, text in texts.items()])
        return rows[-1][-1] if rows else None

    after: str | None = ""
    while after is not None:
        after = await server.change(partial(some, after=after))
