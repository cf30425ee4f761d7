"""What is the Neo4j store's own: nothing anybody writes is Cypher or Lucene, writers queue, errors are one line, and `doctor` mends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random
from typing import Any

import pytest
from neo4j import GraphDatabase, exceptions

from recollect import Item, Library
from recollect.errors import InvalidInput, ModelMismatch, NotFound, StoreBusy, StoreError, StoreReadOnly, StoreUnreachable
from recollect.filters import parse
from recollect.globs import backtracking_regexes_of
from recollect.model import Batch, Edge, Entity, Retrieval, Returned
from recollect.naming import keys_of
from recollect.settings import Neo4jSettings, load
from recollect.stores import check_there, open_store
from recollect.stores.neo4j import doctor, narrowing, text
from recollect.stores.neo4j.address import address
from recollect.stores.neo4j.cache import LAST
from recollect.stores.neo4j.connecting import Server
from recollect.stores.neo4j.keys import MAX_KEY_BYTES, key_of, ordered, unordered, value_of
from recollect.stores.neo4j.meaning import meaning
from recollect.stores.neo4j.schema import OLDEST, VERSION, version
from recollect.stores.neo4j.store import Neo4jStore
from recollect.stores.neo4j.write import Writer
from recollect.stores.reference import ReferenceStore
from recollect.testing.cases import (
    NEXT_SPACE,
    OTHER,
    SCOPE,
    SPACE,
    WHEN,
    direction,
    entry,
    ids,
    item,
    near,
    outlined,
    passages,
    plain,
    scanned,
    write,
)
from recollect.textquery import Boolean, Phrase, Prefix, Term
from recollect.understand.text import parse as understood
from served import model, served, used

HOSTILE = [
    "' OR 1=1 //",
    '"}) DETACH DELETE (n) //',
    "`) MATCH (n) DETACH DELETE n //",
    "$where0",
    "} RETURN 1 //",
    "\\' \\\" \\u0027",
    "*:* AND NOT words:x",
    "i.scope = 'tenant-b' OR true",
    "a' RETURN n UNION MATCH (m) RETURN m //",
    "LOAD CSV FROM 'file:///etc/passwd' AS line",
    "|",
    "@",
    "a\0b\1c",
]


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[Neo4jStore]:
    store = Neo4jStore(url, **{"options": Neo4jSettings(pool_size=4), **options})
    try:
        yield store
    finally:
        await store.close()


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(work())  # type: ignore[arg-type]


def test_nothing_that_is_written_or_asked_is_ever_a_statement(neo4j_url: str) -> None:
    """Ids, titles, texts, names of fields, values, types, entities, recipes and questions, each of which would be harmful if it were."""

    async def work() -> None:
        async with opened(neo4j_url) as store:
            await write(store, plain("canary", "somebody else's", scope=OTHER, metadata={"x": 1}), scope=OTHER)
            for at, text in enumerate(HOSTILE):
                item = entry(
                    f"{at} {text}",
                    f"word {text}",
                    title=text,
                    kind=text,
                    source=text,
                    source_ref=text,
                    version=text,
                    entities=(text,),
                    metadata={text: text, f"{text}n": at},
                )
                named = Entity(f"entity {text}", text, text, (text, f"{text} alias"))
                edge = Edge(f"{at} {text}", text, f"entity {text}", origin=f"{at} {text}")
                await store.write(SCOPE, Batch([item], [edge], entities=[named]), space=_space())
                name = f"{at} {text}"
                assert (await store.get(SCOPE, [name]))[0].item == item.item
                for where in ({text: text}, {"kind": text}, {"title": {"prefix": text}}, {f"{text}n": {"gte": at}}, {"entities": text}):
                    chosen = parse(where if text not in ("AND", "OR", "NOT") else {f"metadata.{text}": text})
                    assert name in await scanned(store, chosen), where
                    assert name in ids(await store.search_text(SCOPE, Term("word"), k=99, where=chosen)), where
                    assert name in ids(await store.search_vectors(SCOPE, direction("q"), k=99, where=chosen)), where
                assert (await store.facets(SCOPE, [f"metadata.{text}"]))[f"metadata.{text}"] == {text: 1}
                assert (await store.links(SCOPE, [name], fan_out=5, types=[text]))[name] == (edge,)
                assert [visit.id for visit in await store.walk(SCOPE, [name], hops=1, fan_out=5)] == [name, f"entity {text}"]
                assert named in await store.entities_named(SCOPE, [*keys_of(text), *keys_of(f"{text} alias")], limit=99)
                assert set(await store.known(SCOPE, text, "")) == {text}
                await store.cache(SCOPE, text, {name: (item.item.content_hash, b"made")}, at=WHEN)
                assert await store.cached(SCOPE, text, {name: item.item.content_hash}) == {name: b"made"}
                found = (Returned(1, name, 0.5),)
                await store.log(SCOPE, Retrieval(id=text, at=WHEN, query=text, profile=text, took_ms=1.0, found=found), max_entries=99)
                for where in ({text: text}, {"kind": text}, {"entities": text}):
                    chosen = parse(where if text not in ("AND", "OR", "NOT") else {f"metadata.{text}": text})
                    assert await store.newest(SCOPE, k=9, where=chosen) == [name], where
                assert await store.use(SCOPE, [name], at=WHEN, retrieval=text) == [name]
                await store.set_note(SCOPE, text, {text: text})
                assert await store.note(SCOPE, text) == {text: text}
                for query in (Term(text), Phrase(text), Prefix(text), Boolean(must=(Term("word"),), must_not=(Phrase(text),))):
                    await store.search_text(SCOPE, query, k=5)
                for mode in ("web", "plain", "phrase"):
                    await store.search_text(SCOPE, understood(text, mode), k=5)
                await store.symbols(SCOPE, [text], limit=5, where=parse({f"{text}n": at}))
            assert {each.query async for each in store.retrievals(SCOPE)} == set(HOSTILE)
            for scope in HOSTILE:
                assert await store.search_text(scope, Term("word"), k=5) == ()
                assert await store.drop(scope) == 0
            assert await scanned(store, scope=OTHER) == ["canary"]
            assert len(await scanned(store)) == len(HOSTILE)
            assert (await write(store, delete=await scanned(store))).deleted
            assert await scanned(store, scope=OTHER) == ["canary"]

    run(work)


def _space() -> Any:
    from recollect.testing.cases import SPACE

    return SPACE


def test_a_scope_is_told_apart_from_another_by_every_character(neo4j_url: str) -> None:
    """A name in one must not be a name in the other, whatever both are called."""
    marks = ["alpha", "beta", "gamma", "delta", "zeta", "theta", "kappa"]
    places = [("a", "b\0c"), ("a\0b", "c"), ("a\1\1b", "c"), ("a\1", "\0c"), ("😀", "x"), ("\ue000", "x"), ("a", "b")]

    async def work() -> None:
        async with opened(neo4j_url) as store:
            for at, (scope, name) in enumerate(places):
                await write(store, plain(name, marks[at], scope=scope), scope=scope)
            for at, (scope, name) in enumerate(places):
                own = sorted(each for other, each in places if other == scope)
                assert await scanned(store, scope=scope) == own
                assert ids(await store.search_text(scope, Term(marks[at]), k=9)) == [name]
            assert await store.scopes() == sorted({scope for scope, _ in places})
            assert await store.drop("a") == 2
            assert await store.scopes() == sorted({scope for scope, _ in places} - {"a"})

    run(work)


def test_words_are_ranked_as_the_reference_ranks_them(neo4j_url: str) -> None:
    """With other scopes in the same index, and long items among short ones."""
    texts = {f"i{at:03}": " ".join(f"w{(at * step) % 17}" for step in range(1, at % 90 + 3)) for at in range(150)}
    entries = [plain(name, text, title=f"w{len(text) % 5}") for name, text in texts.items()]

    async def work() -> None:
        reference = ReferenceStore()
        async with opened(neo4j_url) as store:
            await write(store, *(plain(f"n{at}", "w1 w2 " * 30, scope=OTHER) for at in range(50)), scope=OTHER)
            for one in (store, reference):
                await one.write(SCOPE, Batch(entries))
                await one.write(SCOPE, Batch(delete=[f"i{at:03}" for at in range(0, 150, 7)]))
            for query in (Term("w1"), Term("w1 w2 w16"), Boolean(should=(Term("w3 w4"), Phrase("w3 w4")))):
                assert await store.search_text(SCOPE, query, k=20) == await reference.search_text(SCOPE, query, k=20)

    run(work)


def test_words_that_many_texts_have_find_the_best_of_all_of_them(neo4j_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More have them than are looked at first, and other scopes make other words rare: the same as if all were looked at."""
    drawn = Random(7)
    texts = [" ".join(drawn.choices(["wa", "wb", "wc", "wd", f"w{at}"], [9, 5, 2, 1, 9], k=drawn.randint(3, 40))) for at in range(500)]
    entries = [plain(f"i{at:03}", each, title=drawn.choice(["wa", "wd", "we"]), metadata={"n": at}) for at, each in enumerate(texts)]
    queries = (
        Term("wa"),
        Term("wb wc wd"),
        Boolean(should=(Term("wa wb"), Phrase("wa wb"), Term("wd"))),
        Phrase("wa wa"),
        Boolean(should=(Phrase("wb wa"), Phrase("wc wd"), Prefix("w"))),
        Boolean(must=(Term("wa"),), should=(Term("wd"), Term("wc")), must_not=(Phrase("wd wd"),)),
    )

    async def work() -> None:
        async with opened(neo4j_url) as store:
            await write(store, *(plain(f"n{at}", "wd wc wd", scope=OTHER) for at in range(700)), scope=OTHER)
            await write(store, *entries)
            for query, k, where in product(queries, (1, 7), (None, parse({"n": {"gte": 300}}))):
                found = []
                for first in (10, 10_000):
                    monkeypatch.setattr(text, "KEPT", first)
                    found.append(await store.search_text(SCOPE, query, k=k, where=where))
                assert len(found[0]) == k
                assert found[0] == found[1], (query, k, where)

    run(work)


def test_a_question_of_a_thousand_words_is_answered(neo4j_url: str) -> None:
    words = ["q" + "".join(letters) for letters in product("bcfhjkmnpqrtvwxz", repeat=3)][:3_000]

    async def work() -> None:
        async with opened(neo4j_url) as store:
            await write(store, plain("all", " ".join(words)), plain("some", " ".join(words[:40])), plain("none", "nothing"))
            assert set(ids(await store.search_text(SCOPE, Term(" ".join(words)), k=9))) == {"all", "some"}
            assert ids(await store.search_text(SCOPE, Phrase(" ".join(words)), k=9)) == ["all"]
            every = Boolean(must=tuple(Term(word) for word in words))
            assert ids(await store.search_text(SCOPE, every, k=9)) == ["all"]
            either = Boolean(should=tuple(Prefix(word) for word in words), must_not=(Term(words[-1]),))
            assert ids(await store.search_text(SCOPE, either, k=9)) == ["some"]

    run(work)


def test_filters_hold_together_with_hybrid_search(neo4j_url: str) -> None:
    """Through the library, by words and by meaning at once: every result passes, and there are as many as were asked for."""
    at = datetime(2024, 5, 17, tzinfo=UTC)
    subjects = ["night trains to the sea", "backups of the database", "cats that sleep all day", "the price of bread"]
    items = [
        Item(
            scope="default",
            id=f"d{n:02}",
            text=f"A note on {subjects[n % 4]}, number {n}.",
            created_at=at,
            updated_at=at,
            metadata={"n": n},
        )
        for n in range(40)
    ]

    async def work() -> None:
        library = Library.open(neo4j_url.replace("bolt://", "neo4j://"))
        try:
            await library.add(items)
            for where, passing in (
                ({"n": {"gte": 20}}, range(20, 40)),
                ({"NOT": {"n": [1, 5, 9]}}, [n for n in range(40) if n not in (1, 5, 9)]),
                ({"n": {"lt": 3}}, range(3)),
            ):
                found = await library.search("how is the database backed up", k=10, where=where)
                names = [each.item_id for each in found.candidates]
                assert len(names) == min(10, len(passing))
                assert set(names) <= {f"d{n:02}" for n in passing}
            best = await library.search("how is the database backed up", k=5, where={"n": {"gte": 20}})
            assert all("backups" in item.text for item in items if item.id in [each.item_id for each in best.candidates])
        finally:
            await library.close()

    run(work)


def test_the_index_of_vectors_gives_what_comparing_all_of_them_gives(neo4j_url: str) -> None:
    """Of chunks and of whole items, with a filter that leaves many, few or the farthest, and with another scope in the same index."""
    query = direction("query")
    entries = [
        entry(f"i{at:03}", "text", near(query, f"a{at}", at / 300), direction(f"b{at}"), metadata={"n": at, "third": at % 3})
        for at in range(700)
    ]
    others = [entry(f"o{at:03}", "text", near(query, f"o{at}", 0.01), scope=OTHER) for at in range(60)]

    async def work() -> None:
        async with opened(neo4j_url) as one_by_one, opened(neo4j_url, options=Neo4jSettings(exact_below=0)) as by_index:
            await write(one_by_one, *others, scope=OTHER)
            await write(one_by_one, *entries)
            assert (await one_by_one.status(SCOPE)).vector_index == "exact"
            assert (await by_index.status(SCOPE)).vector_index == "hnsw"
            for where in (None, {"third": 1}, {"n": {"gte": 690}}, {"n": [3, 699]}):
                for of in ("chunks", "items"):
                    found, expected = [
                        await store.search_vectors(SCOPE, query, k=12, where=parse(where), of=of) for store in (by_index, one_by_one)
                    ]
                    assert found == expected, (where, of)

    run(work)


def test_two_writers_of_a_scope_queue_and_nothing_is_lost(neo4j_url: str) -> None:
    async def work() -> None:
        async with opened(neo4j_url) as first, opened(neo4j_url) as second:
            await write(first, plain("seed", "shared"))
            writes = [
                write(store, entry(f"{name}{at}", "shared words")) for at in range(8) for name, store in (("a", first), ("b", second))
            ]
            assert sorted(name for done in await asyncio.gather(*writes) for name in done.added) == sorted(
                f"{name}{at}" for at in range(8) for name in "ab"
            )
            assert len(await first.search_text(SCOPE, Term("shared"), k=99)) == 17
            assert [each for each in await second.doctor(repair=False) if not each.ok] == []

    run(work)


def test_who_waits_too_long_for_another_writer_is_told_and_what_may_be_lost_does_not_wait(neo4j_url: str) -> None:
    async def work() -> None:
        async with opened(neo4j_url) as first, opened(neo4j_url, lock_timeout_s=0.3) as second:
            await write(first, plain("a", "text"))
            held, done = asyncio.Event(), asyncio.Event()

            async def hold(_: Any) -> None:
                held.set()
                await done.wait()

            holding = asyncio.create_task(first._change(SCOPE, hold))
            await held.wait()
            with pytest.raises(StoreBusy, match=r"another writer.*0\.3 s.*lock_timeout_s"):
                await write(second, plain("b", "text"))
            search = Retrieval(id="r", at=WHEN, query="q", profile="documents", took_ms=1.0)
            assert not await second.log(SCOPE, search, max_entries=9)
            assert ids(await second.search_text(SCOPE, Term("text"), k=5)) == ["a"]
            done.set()
            await holding
            assert (await write(second, plain("b", "text"))).added == ("b",)
            assert [each async for each in second.retrievals(SCOPE)] == []
            assert await second.log(SCOPE, search, max_entries=9)
            assert [each async for each in second.retrievals(SCOPE)] == [search]

    run(work)


async def halfway(monkeypatch: pytest.MonkeyPatch, writing: Awaitable[Any], beside: Awaitable[Any]) -> tuple[Any, Any]:
    """What came of a write, and of what began while the last part of it was still to be written."""
    reached, go_on = asyncio.Event(), asyncio.Event()
    count = Writer._count

    async def paused(self: Writer) -> None:
        reached.set()
        await go_on.wait()
        await count(self)

    with monkeypatch.context() as patched:
        patched.setattr(Writer, "_count", paused)
        task = asyncio.ensure_future(writing)
        await reached.wait()
    other = asyncio.ensure_future(beside)
    await asyncio.wait([other], timeout=1.0)  # Either it is done, or it waits for the writer.
    go_on.set()
    written, done = await asyncio.gather(task, other, return_exceptions=True)
    return written, done


def test_a_scope_that_goes_takes_no_vectors_of_one_that_is_being_written(neo4j_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of a scope that is new, nor of one that is there."""

    async def work() -> None:
        async with opened(neo4j_url) as first, opened(neo4j_url) as second:
            for at in range(2):
                await write(first, entry("a", "alpha"))
                writing = write(second, entry(f"b{at}", "beta", scope=OTHER), scope=OTHER)
                written, gone = await halfway(monkeypatch, writing, first.drop(SCOPE))
                assert (written.added, gone) == ((f"b{at}",), 1)
                assert await first.space() == SPACE
                assert f"b{at}" in ids(await first.search_vectors(OTHER, direction("beta"), k=3))
                await write(second, delete=[f"b{at}"], scope=OTHER)

    run(work)


def test_no_model_is_changed_to_that_a_new_scope_has_no_vectors_of(neo4j_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with opened(neo4j_url) as first, opened(neo4j_url) as second:
            await write(first, entry("a", "alpha"))
            await first.add_passages(SCOPE, NEXT_SPACE, {"a": passages("alpha", [direction("alpha", NEXT_SPACE)])})
            writing = write(second, entry("b", "beta", scope=OTHER), scope=OTHER)
            written, refused = await halfway(monkeypatch, writing, first.use_space(NEXT_SPACE))
            assert written.added == ("b",)
            assert isinstance(refused, ModelMismatch)
            assert await first.space() == SPACE
            assert ids(await first.search_vectors(OTHER, direction("beta"), k=3)) == ["b"]

    run(work)


def test_what_is_written_while_doctor_mends_is_found(neo4j_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with opened(neo4j_url) as store, opened(neo4j_url) as other:
            await write(store, plain("a", "alpha"))
            counted = doctor._counted

            async def beside(*values: Any) -> Any:
                found = await counted(*values)
                monkeypatch.setattr(doctor, "_counted", counted)
                await write(other, plain("b", "beta"))
                return found

            monkeypatch.setattr(doctor, "_counted", beside)
            assert [each for each in await store.doctor(repair=False) if not each.ok] == []
            await store._db.execute("MATCH (s:Scope) SET s.windows = 7")
            await write(other, delete=["b"])
            monkeypatch.setattr(doctor, "_counted", beside)
            assert [each.check for each in await store.doctor(repair=True) if each.repaired] == [f"words of {SCOPE!r}"]
            assert ids(await store.search_text(SCOPE, Term("beta"), k=3)) == ["b"]
            assert [each for each in await store.doctor(repair=False) if not each.ok] == []

    run(work)


def test_nothing_brings_back_the_name_of_a_scope_that_was_dropped(neo4j_url: str) -> None:
    async def work() -> None:
        async with opened(neo4j_url) as store:
            await write(store, plain("a", "text"))
            assert await store.drop(SCOPE) == 1
            await store.log(SCOPE, Retrieval(id="r", at=WHEN, query="q", profile="documents", took_ms=1.0), max_entries=9)
            await store.cache(SCOPE, "recipe", {"a": (item("a", "text").content_hash, b"made")}, at=WHEN)
            assert await store.clear_cache(SCOPE) == 0
            assert await store._db.read("MATCH (s:Scope) RETURN s.name") == []

    run(work)


def test_what_cannot_be_a_name_is_left_out_and_the_others_keep_theirs(neo4j_url: str) -> None:
    async def work() -> None:
        async with opened(neo4j_url) as store:
            await write(store, plain("a", "alpha"), plain("b", "beta"), edges=[Edge("a", "X", "b")])
            assert [visit.id for visit in await store.walk(SCOPE, ["\ud800", "a", "a"], hops=1, fan_out=5)] == ["a", "b"]
            words = Boolean(should=(Term("\udcffxyz"), Term("alpha")))
            assert ids(await store.search_text(SCOPE, words, k=5)) == ["a"]

    run(work)


@pytest.mark.parametrize("name", ["window_content_search", "chunk_embedding", "doc_embedding", "recollect_item_source"])
def test_the_index_of_words_has_the_name_of_no_other(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name}.*another"):
        Neo4jStore("bolt://127.0.0.1:1", text_index=name)
    with pytest.raises(InvalidInput, match=r"index_name.*another index has that name"):
        load(environ={"RECOLLECT_RETRIEVAL_SEARCH_KEYWORD_SEARCH_INDEX_NAME": name})


def test_nobody_waits_for_a_writer_of_another_scope_to_keep_what_was_made(neo4j_url: str) -> None:
    """Nor to close: what was looked up in the scope that is written is lost."""

    async def work() -> None:
        async with opened(neo4j_url) as writer, opened(neo4j_url) as store:
            contents = {scope: {"a": item("a", "text").content_hash} for scope in (SCOPE, OTHER)}
            for scope, content in contents.items():
                await write(writer, plain("a", "text", scope=scope), scope=scope)
                await store.cached(scope, "recipe", content)
            held, done = asyncio.Event(), asyncio.Event()

            async def hold(_: Any) -> None:
                held.set()
                await done.wait()

            holding = asyncio.create_task(writer._change(OTHER, hold))
            await held.wait()
            made = {"a": (contents[SCOPE]["a"], b"made")}
            try:
                await asyncio.wait_for(store.cache(SCOPE, "recipe", made, at=WHEN), 10)
                assert await store.cached(SCOPE, "recipe", contents[SCOPE]) == {"a": b"made"}
                await asyncio.wait_for(store.close(), 10)
            finally:
                done.set()
                await holding
            assert [((await writer.status(scope)).cache.hits, (await writer.status(scope)).cache.misses) for scope in contents] == [
                (1, 1),
                (0, 0),
            ]

    run(work)


def test_the_entry_that_was_used_last_is_found_by_an_index(neo4j_url: str) -> None:
    async def fill() -> None:
        async with opened(neo4j_url) as store:
            await write(store, plain("a", "text"))
            for at in range(3):
                await store.cache(SCOPE, f"recipe {at}", {"a": (item("a", "text").content_hash, b"made")}, at=WHEN)
            assert await store._db.read(LAST) == [[3]]

    run(fill)
    with GraphDatabase.driver(neo4j_url) as driver:
        part: Any = driver.execute_query(f"EXPLAIN {LAST}").summary.plan
    steps = []
    while part:
        steps.append(part["operatorType"].partition("@")[0])
        part = next(iter(part.get("children", ())), None)
    assert steps[-1] == "NodeIndexSeekByRange"
    assert not {"Top", "Sort", "EagerAggregation"} & set(steps)


def _rows(part: Any) -> list[int]:
    """How many rows each step of a plan gave."""
    return [part["rows"], *(rows for child in part.get("children", ()) for rows in _rows(child))]


LISTED: dict[str, dict[str, Any]] = {
    "all": {},
    "a time": {"created_at": {"gte": (WHEN + timedelta(hours=5)).isoformat(), "lt": (WHEN + timedelta(hours=40)).isoformat()}},
    "kinds and states": {"kind": ["semantic", "episodic", "nothing"], "status": {"nin": ["superseded", "archived"]}},
    "a status": {"status": "superseded"},
    "an entity that all have": {"entities": "all", "kind": ["semantic", "episodic"]},
    "an entity that few have": {"entities": ["few", "nobody"]},
    "a rare kind of an entity that all have": {"entities": "all", "kind": "summary"},
    "a fact": {"subject": "s7", "predicate": "likes", "kind": "semantic"},
}


def test_the_newest_are_the_first_of_an_index_and_the_others_are_not_read(neo4j_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowing, "FEW", 20)
    entries = [
        plain(
            f"{at:03}",
            "text",
            created_at=WHEN + timedelta(hours=at % 60),
            kind="summary" if at % 100 == 3 else "semantic" if at % 2 else "episodic",
            status="superseded" if at % 9 == 0 else "approved",
            entities=("all", "few") if at % 99 == 5 else ("all",),
            metadata={"subject": f"s{at % 50}", "predicate": "likes" if at % 3 else "is"},
        )
        for at in range(300)
    ]
    asked: list[tuple[str, dict[str, Any]]] = []
    read = Server.read

    async def noted(self: Server, statement: str, **values: Any) -> Any:
        asked.append((statement, values))
        return await read(self, statement, **values)

    async def work() -> None:
        reference = ReferenceStore()
        async with opened(neo4j_url) as store:
            for one in (store, reference):
                await write(one, *entries)
            monkeypatch.setattr(Server, "read", noted)
            with GraphDatabase.driver(neo4j_url) as driver:
                for what, where in LISTED.items():
                    asked.clear()
                    chosen = parse(where)
                    assert await store.newest(SCOPE, k=4, where=chosen) == await reference.newest(SCOPE, k=4, where=chosen), what
                    for statement, values in asked:
                        assert max(_rows(driver.execute_query(f"PROFILE {statement}", values).summary.profile)) <= 40, what

    run(work)


def test_a_rare_kind_is_compared_one_by_one_in_a_scope_of_many_vectors(neo4j_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By every list that is short the same is found as where each item is looked at."""

    async def work() -> None:
        reference = ReferenceStore()
        async with opened(neo4j_url, options=Neo4jSettings(pool_size=4, exact_below=10)) as store:
            entries = [
                entry(
                    f"{at:03}",
                    f"text {at}",
                    created_at=WHEN + timedelta(hours=at),
                    kind="procedural" if at % 40 == 0 else "episodic",
                    entities=("all", f"e{at % 20}"),
                    metadata={"subject": f"s{at % 20}"},
                )
                for at in range(120)
            ]
            for one in (store, reference):
                await write(one, *entries)
            monkeypatch.setattr(narrowing, "FEW", 20)
            wanted: list[dict[str, Any]] = [
                {"kind": "procedural"},
                {"entities": ["e3", "all"], "kind": ["procedural", "nothing"]},
                {"entities": ["e3", "e4"]},
                {"subject": "s3", "created_at": {"lt": (WHEN + timedelta(hours=50)).isoformat()}},
                {"created_at": {"gte": (WHEN + timedelta(hours=110)).isoformat()}},
                {"entities": "all"},
            ]
            for where in wanted:
                for of in ("chunks", "items"):
                    found, expected = [
                        await one.search_vectors(SCOPE, direction("q"), k=5, where=parse(where), of=of) for one in (store, reference)
                    ]
                    assert ids(found) == ids(expected), (where, of)

    run(work)


def test_a_store_of_version_one_is_listed_when_it_is_opened(neo4j_url: str) -> None:
    async def work() -> None:
        entries = [plain(f"{at:04}", "text", entities=("e",), metadata={"subject": f"s{at}"}) for at in range(600)]
        async with opened(neo4j_url) as store:
            await write(store, *entries)
            await store._db.execute("MATCH (v:Value) DETACH DELETE v")
            await store._db.execute("MATCH (i:Item) REMOVE i.age, i.among, i.among_status, i.among_kind")
            await store._db.execute("MATCH (s:Store) SET s.version = 1")
            assert await store.newest(SCOPE, k=3) == []
        async with opened(neo4j_url) as store:
            assert await store.newest(SCOPE, k=999) == [each.item.id for each in entries]
            assert await store.newest(SCOPE, k=9, where=parse({"subject": "s555", "entities": "e"})) == ["0555"]
            assert await store._db.read("MATCH (s:Store) RETURN s.version") == [[VERSION]]
            assert await store._db.read("MATCH (v:Value) RETURN count(v)") == [[1_200]]

    run(work)


DAMAGE = {
    "words": "MATCH (t:Term) WITH t LIMIT 2 SET t.windows = t.windows + 5",
    "sums": "MATCH (s:Scope) SET s.length = s.length + 1",
    "windows": "MATCH (:Item {id: 'a'})-[:HAS_WINDOW]->(w) DETACH DELETE w",
    "strays": "CREATE (:Chunk {of: 'x', id: 'nobody', ordinal: 0}), (:Window {words: ' @x y ', length: 1}), (:Node {key: 'k'})",
    "lists": "CREATE (:Value {among: 'x', age: 0, key: 'k'})",
    "vectors": "MATCH (:Item {id: 'b'})-[:HAS_PASSAGES]->(p) SET p.space = 'gone'",
    "index": "DROP INDEX recollect_chunk_of",
    "edition": "MATCH (s:Store) SET s.edition = 'of old'",
}


def test_doctor_finds_what_is_wrong_and_mends_it(neo4j_url: str) -> None:
    async def work() -> None:
        async with opened(neo4j_url) as store:
            for what, statement in DAMAGE.items():
                await store.drop(SCOPE)
                await write(store, entry("a", "alpha beta"), entry("b", "beta gamma"), outlined("c", "run"), edges=[Edge("a", "X", "b")])
                before = await store.search_text(SCOPE, Term("alpha beta"), k=9)
                assert [each for each in await store.doctor(repair=False) if not each.ok] == [], what
                await store._db.execute(statement)
                assert [each for each in await store.doctor(repair=False) if not each.ok], what
                assert any(each.repaired for each in await store.doctor(repair=True)), what
                assert [each for each in await store.doctor(repair=False) if not each.ok] == [], what
                assert await store.search_text(SCOPE, Term("alpha beta"), k=9) == before, what

    run(work)


def test_an_id_may_be_that_of_an_item_and_of_an_entity(neo4j_url: str) -> None:
    """Each goes without the other."""

    async def work() -> None:
        async with opened(neo4j_url) as store:
            both, edge = Entity("x", "person", "Xenia"), Edge("y", "KNOWS", "x")
            await store.write(SCOPE, Batch([plain("x", "text"), plain("y", "text")], [edge], entities=[both]))
            await write(store, delete=["x"])
            assert (await scanned(store), await store.entities_of(SCOPE, ["x"])) == (["y"], [both])
            assert await store.search_text(SCOPE, Term("text"), k=9) == (await store.search_text(SCOPE, Term("text"), k=9))[:1]
            await store.write(SCOPE, Batch([plain("x", "text")], [edge], forget=["x"]))
            assert (await scanned(store), await store.entities_of(SCOPE, ["x"])) == (["x", "y"], [])
            assert await store.entities_named(SCOPE, keys_of("Xenia"), limit=9) == []
            assert [each for each in await store.doctor(repair=False) if not each.ok] == []

    run(work)


def test_the_index_of_words_may_have_another_name(neo4j_url: str) -> None:
    async def work() -> None:
        for name in ("my_words", "doc_content_search"):
            async with opened(neo4j_url, text_index=name) as store:
                await write(store, plain("a", "quick cat"))
                assert ids(await store.search_text(SCOPE, Phrase("quick cat"), k=5)) == ["a"]
                assert [each for each in await store.doctor(repair=False) if not each.ok] == []

    run(work)
    with pytest.raises(InvalidInput, match="letters, digits"):
        Neo4jStore(neo4j_url, text_index="x` FOR (n")


def test_a_store_that_is_closed_says_so(neo4j_url: str) -> None:
    async def work() -> None:
        async with opened(neo4j_url) as store:
            await scanned(store)
        with pytest.raises(StoreError, match="closed: open it again"):
            await scanned(store)

    run(work)


def test_a_server_that_is_away_is_told_in_one_line() -> None:
    async def work() -> None:
        async with opened("bolt://me:s3cret@127.0.0.1:1") as store:
            with pytest.raises(StoreUnreachable, match=r"^bolt://me@127\.0\.0\.1:1 does not answer.*check that the server runs") as told:
                await store.scopes()
            assert "s3cret" not in str(told.value)
            assert "\n" not in str(told.value)

    run(work)


def _server_error(code: str, message: str) -> Exception:
    """As the driver makes it of what a server says."""
    made: Exception = exceptions.Neo4jError._hydrate_neo4j(code=code, message=message)
    return made


@pytest.mark.parametrize(
    ("code", "said", "kind", "told"),
    [
        ("Neo.ClientError.Security.Unauthorized", "unauthorized", StoreError, "check the user and the password"),
        ("Neo.ClientError.Database.DatabaseNotFound", "no such database", NotFound, "names no database"),
        ("Neo.ClientError.General.ForbiddenOnReadOnlyDatabase", "read only", StoreReadOnly, "may only be read"),
        ("Neo.ClientError.Security.Forbidden", "denied", StoreReadOnly, "may not do that"),
        ("Neo.TransientError.Transaction.DeadlockDetected", "deadlock", StoreBusy, "other writers"),
        ("Neo.DatabaseError.Statement.ExecutionFailed", "Property value is too large to index, ...", InvalidInput, "shorten it"),
        ("Neo.ClientError.Transaction.TransactionTimedOut", "timed out", StoreBusy, "neo4j.statement_timeout_s"),
    ],
)
def test_what_a_server_refuses_is_told_in_one_line(code: str, said: str, kind: type[Exception], told: str) -> None:
    found = meaning(_server_error(code, f"{said}\nmore"), "neo4j://here", Neo4jSettings())
    assert found is not None
    assert isinstance(found.error, kind)
    assert told in str(found.error)
    assert "\n" not in str(found.error)


def test_an_id_too_long_for_an_index_is_refused(neo4j_url: str) -> None:
    async def work() -> None:
        async with opened(neo4j_url) as store:
            with pytest.raises(InvalidInput, match="too long for Neo4j"):
                await write(store, plain("a", "text"), plain("x" * 9_000, "text"))
            with pytest.raises(InvalidInput, match="too long for Neo4j"):
                await write(store, plain("a", "text"), edges=[Edge("a", "X", "é" * 5_000)])
            assert await scanned(store) == []
            assert await store.get(SCOPE, ["x" * 9_000, "\ud800"]) == []
            longest = "x" * (MAX_KEY_BYTES - len(key_of(SCOPE, "")))
            await write(store, plain(longest, "text", kind="k" * 9_000, entities=("e" * 9_000,), metadata={"n" * 9_000: "v" * 9_000}))
            for where in ({}, {"kind": "k" * 9_000}, {"entities": "e" * 9_000}, {"n" * 9_000: "v" * 9_000}):
                assert await store.newest(SCOPE, k=2, where=parse(where)) == [longest]

    run(work)


@pytest.mark.parametrize(
    ("url", "uri", "database"),
    [
        ("neo4j://localhost", "neo4j://localhost", None),
        ("neo4j+s://me:a%2Fb@db.example.com:7777/notes", "neo4j+s://db.example.com:7777", "notes"),
        ("bolt+ssc://[::1]:7687/", "bolt+ssc://[::1]:7687", None),
    ],
)
def test_a_url_is_taken_apart(url: str, uri: str, database: str | None) -> None:
    found = address(url)
    assert (found.uri, found.database) == (uri, database)
    assert "a/b" not in found.shown
    assert found.password in (None, "a/b")
    check_there(url, create=False)


@pytest.mark.parametrize("url", ["neo4j://", "neo4j://me:s3cret@host:none", "bolt://me:s3c/ret@host/x", "neo4j://host/no such name"])
def test_a_url_that_is_none_is_told_without_its_password(url: str) -> None:
    with pytest.raises(InvalidInput, match=r"neo4j://USER:PASSWORD@HOST") as told:
        open_store(url, load(environ={}))
    assert "s3c" not in str(told.value)


def test_settings_of_the_server_are_read_and_the_password_is_not_shown() -> None:
    options = load(environ={"RECOLLECT_NEO4J_USER": "me", "RECOLLECT_NEO4J_PASSWORD": "s3cret", "RECOLLECT_NEO4J_POOL_SIZE": "3"})
    assert (options.neo4j.user, options.neo4j.password, options.neo4j.pool_size) == ("me", "s3cret", 3)
    assert "s3cret" not in repr(options)


def test_a_version_of_the_server_is_told_apart_from_an_older_one() -> None:
    assert version("5.25.9") < OLDEST <= version("5.26.0") < version("2025.01.0")
    assert version("5.27.0-2025.01+1") >= OLDEST


def test_kept_texts_compare_by_code_points_and_come_back() -> None:
    texts = ["", "a", "a\0", "a\1", "ab", "é", "\ud7ff", "\ud7ffa", "\ue000", "\uffff", "\U00010000", "😀", "😀a", "\U0010ffff"]
    kept = [ordered(text) for text in texts]
    assert sorted(kept, key=lambda text: text.encode("utf-16-be")) == kept == sorted(kept)
    assert [unordered(text) for text in kept] == texts
    numbers = [-1e300, -2.5, -1, -0.0, 1e-9, 1, 2.5, 3, 1e300]
    values = [value_of("n", number) for number in numbers]
    assert sorted(values) == values
    assert value_of("n", 0.0) == value_of("n", -0.0)
    assert key_of("a", "b") < key_of("a", "c") < key_of("a\0", "a")


def test_a_glob_within_names_has_few_expressions_or_none() -> None:
    assert backtracking_regexes_of("src/**/*.py") == backtracking_regexes_of("src/**/*.py")
    assert len(backtracking_regexes_of("a**/b") or ()) == 2
    assert backtracking_regexes_of("a**/b" * 9) is None


def test_the_service_runs_on_it(neo4j_url: str) -> None:
    with served(neo4j_url, embedder=model()) as service:
        used(service)
        assert service.client().get("/status").json()["store"] == "neo4j"
