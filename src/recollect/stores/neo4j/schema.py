"""What a store on Neo4j is made of: its labels, keys and indexes, and how they come to be.

    (:Store)                                   one, with the version and the edition of words
    (:Scope {key, change, windows, ...})       one for each scope: writers lock it, and it has the sums of what it holds
    (:Space {id, model, dim, chunker, active})
    (:Node {key, scope, id})                   whatever an edge begins or ends at; an item is also :Item, an entity :Entity
    (:Node)-[:LINK {key, type, weight, origin, said}]->(:Node)
    (:Item)-[:HAS_WINDOW]->(:Window {scope, words, length})
    (:Item)-[:HAS_PASSAGES]->(:Passages {of, space, embedding})-[:HAS_CHUNK]->(:Chunk {of, ordinal, embedding})
    (:Item)-[:HAS_SYMBOL]->(:Symbol {key, node})
    (:Item)-[:HAS_VALUE]->(:Value {among, age, key})        lists of items in order of time; see `narrowing`
    (:Item)-[:HAS_MADE]->(:Made {scope, recipe})            the chunk cache
    (:Search {key, scope, at})-[:FOUND {rank}]->(:Item)     the retrieval log
    (:Note {key, value})                       what was noted of a scope
    (:Name {key})-[:NAMES]->(:Entity)
    (:Term {key, windows})                     how many windows of a scope have a word

A key is the scope, a NUL, and the name (`keys.key_of`). Nothing but keys is unique: Neo4j's Community edition has no other way.
"""

from __future__ import annotations

from typing import Final

from ...analysis import edition
from ...errors import NotFound, StoreError, StoreTooNew
from .connecting import Server
from .upgrade import upgrade

VERSION: Final = 2
_KEEP: Final = """
  MERGE (s:Store {key: 'store'}) ON CREATE SET s.version = $version, s.edition = $edition SET s.text_index = $text_index
"""
OLDEST: Final = (5, 26)
"""The oldest server that has all that is asked of it."""

CHUNKS: Final = "chunk_embedding"
ITEMS: Final = "doc_embedding"
TEXTS: Final = "doc_content_search"
"""The name that the index of whole texts has where it is given no other."""
WINDOWS: Final = "window_content_search"

_UNIQUE: Final = {
    **dict.fromkeys(("Store", "Scope", "Node", "Item", "Entity", "Search", "Note", "Term"), "key"),
    "Space": "id",
}
_INDEXED: Final = {
    "recollect_item_content": "(n:Item) ON (n.scope, n.content_hash)",
    "recollect_item_source": "(n:Item) ON (n.scope, n.source)",
    "recollect_item_among": "(n:Item) ON (n.among, n.age, n.key)",
    "recollect_item_among_status": "(n:Item) ON (n.among_status, n.age, n.key)",
    "recollect_item_among_kind": "(n:Item) ON (n.among_kind, n.age, n.key)",
    "recollect_value_among": "(n:Value) ON (n.among, n.age, n.key)",
    "recollect_passages_of": "(n:Passages) ON (n.of)",
    "recollect_chunk_of": "(n:Chunk) ON (n.of)",
    "recollect_symbol_key": "(n:Symbol) ON (n.key)",
    "recollect_symbol_node": "(n:Symbol) ON (n.node)",
    "recollect_name_key": "(n:Name) ON (n.key)",
    "recollect_made_scope": "(n:Made) ON (n.scope)",
    "recollect_made_used": "(n:Made) ON (n.used)",
    "recollect_search_at": "(n:Search) ON (n.scope, n.at)",
    "recollect_search_profile": "(n:Search) ON (n.scope, n.profile, n.at)",
    "recollect_link_said": "()-[n:LINK]-() ON (n.said)",
}
_VECTORS: Final = {CHUNKS: "(n:Chunk) ON (n.embedding)", ITEMS: "(n:Passages) ON (n.embedding)"}
# The width is left open, so that vectors of two models can be side by side. Without quantization the nearest are found exactly.
_VECTOR_OPTIONS: Final = (
    "{{indexConfig: {{`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false, "
    "`vector.hnsw.m`: {m}, `vector.hnsw.ef_construction`: {ef}}}}}"
)
_WORD_OPTIONS: Final = "{indexConfig: {`fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: false}}"


def is_taken(name: str) -> bool:
    """Whether an index that is not that of whole texts has this name, or may have."""
    return name in (WINDOWS, *_VECTORS) or name.startswith("recollect_")


def made_by(server: Server) -> dict[str, str]:
    """The statement that makes each index, by its name."""
    text_index, settings = server.text_index, server.settings
    vector_options = _VECTOR_OPTIONS.format(m=settings.hnsw_m, ef=settings.ef_construction)
    words = {text_index: "(n:Item) ON EACH [n.words]", WINDOWS: "(n:Window) ON EACH [n.words]"}
    unique = {f"recollect_{label.lower()}_{name}": f"(n:{label}) REQUIRE n.{name} IS UNIQUE" for label, name in _UNIQUE.items()}
    unique["recollect_link_key"] = "()-[n:LINK]-() REQUIRE n.key IS UNIQUE"
    return {
        **{name: f"CREATE CONSTRAINT {name} IF NOT EXISTS FOR {what}" for name, what in unique.items()},
        **{name: f"CREATE INDEX {name} IF NOT EXISTS FOR {what}" for name, what in _INDEXED.items()},
        **{name: f"CREATE VECTOR INDEX {name} IF NOT EXISTS FOR {what} OPTIONS {vector_options}" for name, what in _VECTORS.items()},
        **{name: f"CREATE FULLTEXT INDEX `{name}` IF NOT EXISTS FOR {what} OPTIONS {_WORD_OPTIONS}" for name, what in words.items()},
    }


async def open_schema(server: Server, *, create: bool) -> None:
    """Make sure that the indexes are there, and of this version; a server that is too old is refused."""
    ((found,),) = await server.read("CALL dbms.components() YIELD name, versions WHERE name = 'Neo4j Kernel' RETURN versions[0]")
    if version(found) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise StoreError(f"{server.url} is Neo4j {found}, and {oldest} is the oldest that has what is needed: update it")
    kept = await server.read("MATCH (s:Store {key: 'store'}) RETURN s.version, s.text_index")
    if kept and kept[0][0] > VERSION:
        raise StoreTooNew(f"{server.url} has a store of version {kept[0][0]}, this Recollect reads up to {VERSION}: install a newer one")
    if not kept and not create:
        raise NotFound(f"there is no store in {server.url}: make one with `recollect index PATH`")
    if not kept or kept[0][1] != server.text_index:
        await make_indexes(server, instead_of=kept[0][1] if kept else None)
        values = {"version": VERSION, "edition": edition(), "text_index": server.text_index}
        await server.execute(_KEEP, **values)
    if kept and kept[0][0] < VERSION:
        await make_indexes(server)
        await upgrade(server)
        await server.execute("MATCH (s:Store {key: 'store'}) SET s.version = $version", version=VERSION)


async def make_indexes(server: Server, *, instead_of: str | None = None) -> None:
    """Make what is missing, and wait until it can be used. The index of words may have had another name."""
    if instead_of and instead_of.isidentifier():
        await server.execute(f"DROP INDEX `{instead_of}` IF EXISTS")
    for statement in made_by(server).values():
        await server.execute(statement)
    await server.execute("CALL db.awaitIndexes(600)")


def version(found: str) -> tuple[int, ...]:
    """A version of the server as numbers: 5.26.3, 2025.01.0."""
    numbers = found.partition("-")[0].partition("+")[0].split(".")
    return tuple(int(number) for number in numbers if number.isdigit())
