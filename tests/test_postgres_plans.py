"""Every look-up on Postgres uses its index, for the owner and for a role that row security holds for: so says the server itself."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from recollect.filters import parse
from recollect.model import Batch, Entity, Entry
from recollect.naming import near_keys
from recollect.settings import PostgresSettings
from recollect.stores.postgres import passing
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sql import few
from recollect.testing.cases import SCOPE, SPACE, direction, entry, outlined
from recollect.textquery import Boolean, Prefix, Term

if TYPE_CHECKING:
    from conftest import Postgres

# What is counted in the background would keep rows from being known as seen by all while the tables are tidied up.
UNDISTURBED = """
  DO $$ DECLARE name regclass; BEGIN
    FOR name IN SELECT oid FROM pg_class WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'r'
    LOOP EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', name); END LOOP;
  END $$
"""
SCOPES = (SCOPE, "b", "c", "d")
ITEMS = 1_000
"""In each scope."""
WHEN = datetime(2024, 1, 1, tzinfo=UTC)
TIMES = 7
"""How often each question is asked: from the sixth time on the server may plan without its values."""
TOLD = {
    "random_page_cost": "1.1",  # As for a disk that is none, or a table in memory.
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_format": "json",
    "auto_explain.log_level": "notice",
}
NODES = ("items_pkey", "symbols_by_node", "entities_pkey")
FEW_ROWS = {"access", "revision", "scopes", "spaces", "words"}
"""Tables with a row for each scope, or fewer, which may be read one after the other."""

Question = Callable[[PostgresStore], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Filled:
    """A database with items, and the URLs of those who ask."""

    owner: str
    tenant: str


def _word(number: int) -> str:
    """A word of letters alone, since digits are words of their own."""
    return "z" + "".join("abcdefghij"[int(digit)] for digit in str(number))


def _entry(number: int, scope: str) -> Entry:
    words = f"common {_word(number % 400)} {_word(10_000 + number)}"
    made = entry(
        f"n{number:05}",
        words,
        direction(str(number)),
        scope=scope,
        kind="rare" if number % 200 == 0 else "document",
        source="files",
        source_ref=f"src/d{number % 100:02}/f{number}.py",
        importance=0.9 if number % 100 == 0 else 0.5,
        created_at=WHEN + timedelta(hours=number),
        entities=(f"customer:{number % 500}", "company:all"),
        metadata={
            "owner": f"owner {number % 300}",
            "year": 1_000 + number % 300,
            "note": f"{'long ' * 60}{number}",
            "secret": number % 2 == 0,
        },
    )
    return replace(made, outline=outlined(made.item.id, "run", f"Class.{_word(number)}", _word(number % 300)).outline)


async def _fill(url: str) -> None:
    store = PostgresStore(url)
    for scope in SCOPES:
        found = [_entry(number, scope) for number in range(ITEMS)]
        known = [Entity(f"customer:{number}", "customer", f"Customer {_word(number)}") for number in range(ITEMS)]
        await store.write(scope, Batch(found, relink=[each.item.id for each in found[20:]], entities=known), space=SPACE)
        contents = {each.item.id: each.item.content_hash for each in found}
        await store.cache(scope, "recipe", {name: (content, b"made") for name, content in contents.items()}, at=WHEN)
    await store.close()
    connection = await asyncpg.connect(url)
    for table, rows in _linked_and_logged().items():
        await connection.copy_records_to_table(table, records=rows, schema_name="recollect")
    await connection.close()


def _linked_and_logged() -> dict[str, list[tuple[Any, ...]]]:
    """Rows of edges between the items of each scope, and of its log."""
    chance = random.Random(1)
    edges, searches, found = {}, [], []
    for scope in SCOPES:
        for _ in range(5_000):
            one, other = (f"n{chance.randrange(ITEMS):05}{chance.choice(['', '#run'])}" for _ in range(2))
            edges[scope, one, chance.choice(["USES", "CITES"]), other] = chance.random()
        for number in range(1_000):
            name = f"r{number:04}"
            searches.append((scope, name, WHEN + timedelta(hours=number), "words", "documents", 1.0, "{}"))
            found.append((scope, name, 1, f"n{number:05}", 1.0, "[]"))
    return {"edges": [(*key, weight, key[1][:6]) for key, weight in edges.items()], "retrievals": searches, "retrieved": found}


async def _executed(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


@pytest.fixture(scope="module")
def filled(postgres: Postgres) -> Iterator[Filled]:
    tenant = f"{postgres.name}_tenant"
    with postgres.database() as owner:
        asyncio.run(_executed(owner, UNDISTURBED))
        asyncio.run(_fill(owner))
        database = urlsplit(owner).path[1:]
        asyncio.run(
            _executed(
                postgres.superuser(owner),
                "VACUUM ANALYZE",
                *(f"ALTER DATABASE {database} SET {name} = '{value}'" for name, value in TOLD.items()),
                f"CREATE ROLE {tenant} LOGIN PASSWORD '{tenant}'",
                f"GRANT USAGE ON SCHEMA recollect TO {tenant}",
                f"GRANT SELECT ON ALL TABLES IN SCHEMA recollect TO {tenant}",
                f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect TO {tenant}",
                f"INSERT INTO recollect.access (role, scope) VALUES ('{tenant}', '{SCOPE}')",
            )
        )
        parts = urlsplit(owner)
        server = parts.netloc.rpartition("@")[2]
        yield Filled(owner, urlunsplit(parts._replace(netloc=f"{tenant}:{tenant}@{server}")))
    asyncio.run(_executed(postgres.admin, f"DROP ROLE {tenant}"))


@contextmanager
def _overheard() -> Iterator[list[str]]:
    """What the server says on every connection that is made meanwhile."""
    said: list[str] = []
    connect = asyncpg.connect

    async def listening(*arguments: Any, **options: Any) -> Any:
        connection = await connect(*arguments, **options)
        connection.add_log_listener(lambda _, message: said.append(message.message))
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncpg, "connect", listening)
        yield said


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from _nodes(part)


async def _asked(url: str, question: Question) -> list[dict[str, Any]]:
    """The steps of all plans by which a question was answered, each time that it was asked."""
    with _overheard() as said:
        store = PostgresStore(url, options=PostgresSettings(exact_below=0, pool_size=2))
        await store.fields(SCOPE)
        await asyncio.sleep(0.01)
        said.clear()
        for _ in range(TIMES):
            assert await question(store), "the question must have an answer, or its plan says nothing"
        await asyncio.sleep(0.01)
        heard = list(said)
        await store.close()
    plans = [json.loads(message.partition("plan:")[2]) for message in heard if "plan:" in message]
    assert len(plans) >= TIMES
    return [node for plan in plans for node in _nodes(plan["Plan"])]


def _listed(where: dict[str, Any]) -> Question:
    """The items that pass a filter are listed before a search by vectors."""
    return lambda store: store.search_vectors(SCOPE, direction("q"), k=3, where=parse(where))


def _newest(where: dict[str, Any]) -> Question:
    return lambda store: store.newest(SCOPE, k=3, where=parse(where))


async def _all(found: Any) -> list[Any]:
    return [each async for each in found]


IDS = ["n00005", "n00007", "n00999"]
CONTENTS = {each.item.id: each.item.content_hash for each in (_entry(number, SCOPE) for number in (5, 7, 99))}

LOOK_UPS: dict[str, tuple[Question, set[str]]] = {
    "items by id": (lambda store: store.get(SCOPE, IDS), {"items_pkey"}),
    "items in order": (lambda store: _all(store.scan(SCOPE)), {"items_pkey"}),
    "items by words": (
        lambda store: store.search_text(SCOPE, Term(f"{_word(7)} {_word(10_009)}"), k=3),
        {"windows_by_words", "items_by_seq", "terms_pkey"},
    ),
    "items by words within a broad filter": (
        lambda store: store.search_text(SCOPE, Term(f"{_word(7)} {_word(10_009)}"), k=3, where=parse({"secret": False})),
        {"windows_by_words", "items_by_seq", "fields_pkey", "terms_pkey"},
    ),
    "items by words among some ids": (
        lambda store: store.search_text(SCOPE, Term(f"common {_word(7)}"), k=3, where=parse({"id": IDS})),
        {"windows_pkey", "items_pkey", "items_by_seq", "terms_pkey"},
    ),
    "items by an expression": (
        lambda store: store.search_text(SCOPE, Boolean(must=(Term(_word(7)),), must_not=(Prefix(_word(1_000)),)), k=3),
        {"windows_by_words", "items_by_seq"},
    ),
    "items by a source": (lambda store: store.known(SCOPE, "files", "src/d07"), {"items_by_source"}),
    "passages by content": (lambda store: store.passages(SCOPE, list(CONTENTS.values()), SPACE), {"items_by_content", "chunks_pkey"}),
    "passages by item": (lambda store: store.passages_of(SCOPE, IDS), {"chunks_pkey"}),
    "a time range": (_listed({"created_at": {"gte": "2024-01-03", "lt": "2024-01-05"}}), {"items_by_time"}),
    "importance": (_listed({"importance": {"gte": 0.8}}), {"items_by_importance"}),
    "a kind": (_listed({"kind": "rare"}), {"items_by_kind"}),
    "an entity": (_listed({"entities": "customer:77"}), {"mentions_by_time"}),
    "one of some entities": (_listed({"entities": ["customer:77", "customer:78"]}), {"mentions_by_time"}),
    "the newest": (lambda store: store.newest(SCOPE, k=3), {"items_by_time"}),
    "the newest of a time": (_newest({"created_at": {"lt": "2024-01-20"}}), {"items_by_time"}),
    "the newest of some kinds": (_newest({"kind": ["document", "rare"], "status": {"ne": "archived"}}), {"items_by_kind"}),
    "the newest of an entity": (_newest({"kind": "document", "entities": "company:all"}), {"mentions_by_time", "items_pkey"}),
    "the newest of an entity and a time": (
        _newest({"created_at": {"lt": "2024-01-20"}, "entities": ["company:all", "customer:7"]}),
        {"mentions_by_time", "items_pkey"},
    ),
    "the newest of an entity that is rare": (
        _newest({"kind": ["document", "rare"], "entities": ["customer:7", "customer:8"]}),
        {"mentions_by_time", "items_pkey"},
    ),
    "the newest with a metadata text": (_newest({"kind": "document", "owner": "owner 7"}), {"fields_by_value", "items_pkey"}),
    "a path": (_listed({"path": "src/d07/f7.py"}), {"items_by_source"}),
    "a path by its beginning": (_listed({"path": {"prefix": "src/d07/"}}), {"items_by_source"}),
    "a path by a glob": (_listed({"path": {"glob": "src/d07/**/f*7.py"}}), {"items_by_source"}),
    "a metadata text": (_listed({"owner": "owner 7"}), {"fields_by_value"}),
    "one of some metadata texts": (_listed({"owner": ["owner 7", "owner 8"]}), {"fields_by_value"}),
    "a metadata text by its beginning": (_listed({"owner": {"prefix": "owner 29"}}), {"fields_by_value"}),
    "metadata texts from one to another": (_listed({"owner": {"gte": "owner 291", "lt": "owner 295"}}), {"fields_by_value"}),
    "a long metadata text": (_listed({"note": f"{'long ' * 60}7"}), {"fields_by_value"}),
    "a metadata number": (_listed({"year": 1_007}), {"fields_by_value"}),
    "metadata numbers from one to another": (_listed({"year": {"gte": 1_007, "lt": 1_009}}), {"fields_by_value"}),
    "the fields there are": (lambda store: store.fields(SCOPE), {"fields_by_value"}),
    "how often values occur": (lambda store: store.facets(SCOPE, ["owner"]), {"fields_by_value"}),
    "how often kinds occur": (lambda store: store.facets(SCOPE, ["kind"]), {"items_by_kind"}),
    "a walk": (lambda store: store.walk(SCOPE, IDS[:1], hops=2, fan_out=5), {"edges_from", "edges_to", *NODES}),
    "a walk over some types": (
        lambda store: store.walk(SCOPE, IDS[:1], hops=2, fan_out=5, types=["USES"]),
        {"edges_from", "edges_to", *NODES},
    ),
    "a walk against the edges": (lambda store: store.walk(SCOPE, IDS[:1], hops=2, fan_out=5, direction="in"), {"edges_to", *NODES}),
    "links": (lambda store: store.links(SCOPE, IDS, fan_out=5), {"edges_from", "edges_to"}),
    "entities by id": (lambda store: store.entities_of(SCOPE, ["customer:7", "customer:8"]), {"entities_pkey"}),
    "entities by the keys of a name": (
        lambda store: store.entities_named(SCOPE, near_keys(f"Customer {_word(7)}"), limit=9),
        {"entity_names_pkey", "entities_pkey"},
    ),
    "entities in order": (lambda store: _all(store.entities(SCOPE)), {"entities_pkey"}),
    "the name of the state": (lambda store: store.change(SCOPE), set()),
    "heads": (lambda store: store.heads(SCOPE, IDS), {"items_pkey"}),
    "a name": (lambda store: store.symbols(SCOPE, [_word(7)], limit=9), {"symbols_by_key"}),
    "a name that everything has": (lambda store: store.symbols(SCOPE, ["run"], limit=9), {"symbols_by_key"}),
    "names": (lambda store: store.symbols(SCOPE, [_word(number) for number in range(40)], limit=9), {"symbols_by_key"}),
    "a name within a filter": (
        lambda store: store.symbols(SCOPE, ["run"], limit=9, where=parse({"secret": True})),
        {"symbols_by_key", "items_pkey", "fields_pkey"},
    ),
    "symbols by node": (lambda store: store.symbols_at(SCOPE, [f"{name}#run" for name in IDS]), {"symbols_by_node"}),
    "outlines in order": (lambda store: _all(store.outlines(SCOPE)), {"outlines_pkey"}),
    "outlines that are not linked": (lambda store: _all(store.outlines(SCOPE, unlinked=True)), {"outlines_unlinked"}),
    "edges in order": (lambda store: _all(store.edges(SCOPE)), set()),
    "what is cached": (lambda store: store.cached(SCOPE, "recipe", CONTENTS), {"chunk_cache_pkey"}),
    "the log by time": (
        lambda store: _all(store.retrievals(SCOPE, since=WHEN + timedelta(hours=990))),
        {"retrievals_by_time", "retrieved_pkey"},
    ),
    "the nearest vectors": (lambda store: store.search_vectors(SCOPE, direction("q"), k=3), {f"chunks_near_{SPACE.id}"}),
    "the nearest vectors within a broad filter": (_listed({"secret": True}), {f"chunks_near_{SPACE.id}", "items_pkey", "fields_pkey"}),
    "the nearest vectors within a broad filter of kinds": (
        _listed({"kind": ["document", "rare"], "status": {"nin": ["superseded", "archived"]}}),
        {f"chunks_near_{SPACE.id}", "items_pkey", "items_by_kind"},
    ),
    "the nearest whole items": (
        lambda store: store.search_vectors(SCOPE, direction("q"), k=3, of="items"),
        {f"item_vectors_near_{SPACE.id}"},
    ),
    "the nearest whole items within a broad filter": (
        lambda store: store.search_vectors(SCOPE, direction("q"), k=3, where=parse({"secret": True}), of="items"),
        {f"item_vectors_near_{SPACE.id}", "items_pkey", "fields_pkey"},
    ),
    "the nearest whole items among a few": (
        lambda store: store.search_vectors(SCOPE, direction("q"), k=3, where=parse({"kind": "rare"}), of="items"),
        {"items_by_kind", "item_vectors_pkey"},
    ),
}


def _looked_up(nodes: list[dict[str, Any]], indexes: set[str]) -> None:
    used = [node["Index Name"] for node in nodes if "Index Name" in node]
    assert {index: used.count(index) >= TIMES for index in indexes} == dict.fromkeys(indexes, True), used
    read_whole = {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"}
    assert {name for name in read_whole if not name.startswith("pg_")} <= FEW_ROWS


@pytest.mark.parametrize("role", ["owner", "tenant"])
@pytest.mark.parametrize("look_up", LOOK_UPS)
def test_a_look_up_uses_its_index(filled: Filled, role: str, look_up: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "broad" in look_up:
        monkeypatch.setattr(passing, "LISTED", 100)
    if "broad" in look_up or look_up.startswith("the newest"):
        monkeypatch.setattr(few, "FEW", 100)
    question, indexes = LOOK_UPS[look_up]
    nodes = asyncio.run(_asked(getattr(filled, role), question))
    _looked_up(nodes, indexes)


def test_a_page_of_a_scan_looks_at_its_own_items_alone(filled: Filled) -> None:
    """As a join, every match of the filter was listed for each page: 17,000 of 20,000 items took 2.2 s, and take 1.5 s."""
    nodes = asyncio.run(_asked(filled.owner, lambda store: _all(store.scan(SCOPE, parse({"year": {"gte": 1_003}})))))
    _looked_up(nodes, {"items_pkey", "fields_pkey"})
    assert not {node["Node Type"] for node in nodes} & {"Nested Loop", "Hash Join", "Merge Join"}


def test_an_item_that_goes_is_looked_up_wherever_it_is(filled: Filled) -> None:
    async def replaced(store: PostgresStore) -> bool:
        gone = await store.write(SCOPE, Batch(delete=["n00011"]))
        again = await store.write(SCOPE, Batch([_entry(11, SCOPE)]), space=SPACE)
        return gone.deleted == again.added == ("n00011",)

    nodes = asyncio.run(_asked(filled.owner, replaced))
    of_the_item = {"items_pkey", "fields_pkey", "chunks_pkey", "chunk_cache_pkey", "windows_pkey", "symbols_pkey", "outlines_pkey"}
    _looked_up(nodes, of_the_item | {"item_vectors_pkey", "retrieved_by_item", "edges_to", "edges_by_origin", "symbols_by_node"})


def test_what_an_item_said_is_looked_up_when_it_is_linked_anew(filled: Filled) -> None:
    async def relinked(store: PostgresStore) -> bool:
        said = [edge async for edge in store.edges(SCOPE) if edge.origin == "n00012"]
        await store.write(SCOPE, Batch(edges=said, relink=["n00012"]))
        return bool(said)

    nodes = asyncio.run(_asked(filled.owner, relinked))
    _looked_up(nodes, {"edges_by_origin", "outlines_unlinked"})
