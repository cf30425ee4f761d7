"""A graph in JSON Lines becomes entities and edges, and what items mention becomes entities, too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from recollect import Library
from recollect.ingest.entities import Entities, Named
from recollect.ingest.graph import BATCH_LINES, edge_type
from recollect.model import Batch, Edge, Entity
from recollect.settings import EmbedSettings, Settings
from recollect.stores.reference import ReferenceStore

OPTIONS = Settings(embed=EmbedSettings(model="none"))
RECORDS = [{"id": "t", "title": "Teutberga", "text": "A queen."}, {"id": "l", "title": "Lothair II", "text": "A king."}]
GRAPH = [
    {
        "doc_id": "t",
        "entities": ["Lothair II", "Teutberga", "11 November 875"],
        "triples": [
            ["Teutberga", "married to", "Lothair II"],
            ["Teutberga", "half-sister of", "Hucbert"],
            ["Teutberga", "died"],
            ["", "x", "y"],
        ],
    },
    {"doc_id": "l", "entities": ["LOTHAIR II", {"name": "Lotharingia", "type": "place", "aliases": ["Lorraine"]}, "?!"], "triples": []},
]


def lines(*records: Any) -> list[bytes]:
    return [record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]


def run(path: Path, work: Callable[[Library], Awaitable[None]]) -> None:
    async def opened() -> None:
        async with Library.open(path / ".recollect", options=OPTIONS) as library:
            await library.import_records(lines(*RECORDS))
            await work(library)

    asyncio.run(opened())


async def edges(library: Library) -> set[str]:
    return {f"{edge.source} {edge.type} {edge.target}" async for edge in library.store.edges("default") if edge.type != "DEFINES"}


async def entities(library: Library) -> dict[str, Entity]:
    return {entity.id: entity async for entity in library.store.entities("default")}


OF_T = {
    "t MENTIONS entity:lothairii",
    "t MENTIONS entity:teutberga",
    "t MENTIONS entity:11november875",
    "t MENTIONS entity:hucbert",
    "entity:teutberga MARRIED_TO entity:lothairii",
    "entity:teutberga HALF_SISTER_OF entity:hucbert",
}
OF_L = {"l MENTIONS entity:lothairii", "l MENTIONS place:lotharingia"}


def test_documents_mention_entities_which_are_related(tmp_path: Path) -> None:
    async def work(library: Library) -> None:
        report = await library.import_graph(lines(*GRAPH), name="graph.jsonl")
        assert (report.items, report.entities, report.skipped, report.problems) == (2, 5, 3, [])
        assert await edges(library) == OF_T | OF_L
        assert report.edges == len(OF_T | OF_L)
        found = await entities(library)
        assert found["entity:lothairii"] == Entity("entity:lothairii", "entity", "Lothair II")
        assert found["place:lotharingia"] == Entity("place:lotharingia", "place", "Lotharingia", ("Lorraine",))
        walked = await library.walk("t", hops=2, types=["MENTIONS"])
        assert "l" in {visit.id for visit in walked}, "two documents about one king are two steps apart"

    run(tmp_path, work)


def test_the_same_import_twice_changes_nothing(tmp_path: Path) -> None:
    async def work(library: Library) -> None:
        await library.import_graph(lines(*GRAPH))
        before = await library.store.change("default")
        report = await library.import_graph(lines(*GRAPH))
        assert (report.entities, await library.store.change("default")) == (0, before)

    run(tmp_path, work)


def test_a_further_import_takes_the_place_of_what_was_said_of_a_document(tmp_path: Path) -> None:
    async def work(library: Library) -> None:
        await library.import_graph(lines(*GRAPH))
        await library.import_graph(lines({"item_id": "t", "entities": ["Hucbert"]}, {"item_id": "t", "entities": ["Boso"]}))
        assert await edges(library) == OF_L | {"t MENTIONS entity:hucbert", "t MENTIONS entity:boso"}

    run(tmp_path, work)


def test_what_was_imported_goes_with_its_document_and_with_its_content(tmp_path: Path) -> None:
    async def work(library: Library) -> None:
        await library.import_graph(lines(*GRAPH))
        await library.delete("t")
        assert await edges(library) == OF_L
        await library.import_records(lines({"id": "l", "text": "Somebody else."}))
        assert await edges(library) == set()

    run(tmp_path, work)


def test_what_was_imported_stays_when_other_documents_come_and_go(tmp_path: Path) -> None:
    async def work(library: Library) -> None:
        (tmp_path / "a.md").write_text("See [b](b.md).\n")
        await library.index(tmp_path, base=tmp_path)
        await library.import_graph(lines({"doc_id": "a.md", "entities": ["Ann"], "triples": [["Ann", "knows", "Ben"]]}))
        facts = {"a.md MENTIONS entity:ann", "a.md MENTIONS entity:ben", "entity:ann KNOWS entity:ben"}
        assert await edges(library) == facts
        (tmp_path / "b.md").write_text("B.\n")
        await library.index(tmp_path, base=tmp_path)
        assert await edges(library) == facts | {"a.md REFERENCES b.md"}
        await library.import_graph(lines({"doc_id": "a.md", "entities": ["Cid"]}))
        assert await edges(library) == {"a.md MENTIONS entity:cid", "a.md REFERENCES b.md"}, "its own links are not touched by an import"

    run(tmp_path, work)


def test_entities_and_edges_of_their_own(tmp_path: Path) -> None:
    async def work(library: Library) -> None:
        report = await library.import_graph(
            lines(
                {"id": "person:l2", "type": "person", "name": "Lothair II", "aliases": ["Lothar II"]},
                {"source": "Lothar II", "type": "ruled", "target": "l", "weight": 0.5},
                {"source": "t", "type": "ABOUT", "target": "nobody yet"},
                *GRAPH,
            )
        )
        assert (report.problems, (await entities(library))["person:l2"].aliases) == ([], ("Lothar II",))
        found = [edge async for edge in library.store.edges("default")]
        assert Edge("person:l2", "RULED", "l", 0.5) in found
        assert Edge("t", "ABOUT", "entity:nobodyyet") in found
        assert (await entities(library))["entity:nobodyyet"] == Entity("entity:nobodyyet", "entity", "nobody yet")
        assert {"l MENTIONS person:l2", "entity:teutberga MARRIED_TO person:l2"} <= await edges(library), "a name means who has it"
        assert "entity:lothairii" not in await entities(library)

    run(tmp_path, work)


def test_the_ends_of_an_edge_may_come_after_it_however_much_is_between(tmp_path: Path) -> None:
    async def work(library: Library) -> None:
        await library.import_records(lines({"id": "page", "text": "# Top\n\nx\n", "format": "markdown"}))
        between = [{"name": f"Name {number}"} for number in range(BATCH_LINES)]
        report = await library.import_graph(
            lines(
                {"source": "Lothar II", "type": "RULED", "target": "place:x"},
                {"source": "page#Top", "type": "ABOUT", "target": "X 1"},
                {"source": "page", "type": "ABOUT", "target": "?!"},
                *between,
                {"id": "person:l2", "type": "person", "name": "Lothair II", "aliases": ["Lothar II"]},
                {"id": "X 1", "type": "thing", "name": "Something"},
            )
        )
        assert await edges(library) == {"person:l2 RULED place:x", "page#Top ABOUT X 1"}
        assert (report.edges, report.skipped, report.entities, report.problems) == (2, 1, len(between) + 3, [])
        assert (await entities(library))["place:x"] == Entity("place:x", "place", "x")

    run(tmp_path, work)


def test_what_two_documents_say_is_that_of_the_last(tmp_path: Path) -> None:
    async def work(library: Library) -> None:
        said = [["Ann", "knows", "Ben"]]
        await library.import_graph(lines({"item_id": "l", "triples": said}, {"item_id": "t", "triples": said}))
        assert Edge("entity:ann", "KNOWS", "entity:ben", 1.0, "t") in [edge async for edge in library.store.edges("default")]

    run(tmp_path, work)


def test_names_that_signs_or_marks_tell_apart_are_several_entities(tmp_path: Path) -> None:
    async def work(library: Library) -> None:
        names = ["C", "C++", "C#", "Java 1.1", "Java 11", "राम", "रमा", "ガス", "カス", "lang:c++", "lang:c"]
        await library.import_graph(lines({"item_id": "t", "entities": names}))
        ids = {entity.name: each for each, entity in (await entities(library)).items()}
        own = ["c", "c++", "c#", "java1.1", "java11", "राम", "रमा", "ガス", "カス"]
        assert [ids[name] for name in names[:9]] == [f"entity:{each}" for each in own]
        assert (ids["c++"], ids["c"], len(ids)) == ("lang:c++", "lang:c", len(names))

    run(tmp_path, work)


def test_a_name_without_letters_means_nobody(tmp_path: Path) -> None:
    async def work(library: Library) -> None:
        await library.import_graph(lines({"id": "x:1", "name": "!!!"}, {"item_id": "t", "entities": ["???"]}))
        assert (await edges(library), list(await entities(library))) == (set(), ["x:1"])

    run(tmp_path, work)


def test_an_entity_that_only_a_name_made_goes_with_the_last_that_names_it(tmp_path: Path) -> None:
    async def work(library: Library) -> None:
        (tmp_path / "a.md").write_text("---\nentities: [Secret Person, Bob, person:ann]\n---\nText.\n")
        (tmp_path / "b.md").write_text("---\nentities: [Other Person]\n---\nText.\n")
        await library.index(tmp_path, base=tmp_path)
        await library.import_records(lines({"id": "r", "text": "x", "entities": ["Bob", "Cid", "Dan"]}))
        await library.import_graph(lines({"name": "Cid", "aliases": ["Sidney"]}, {"source": "Dan", "type": "KNOWS", "target": "t"}))
        known = {"entity:secretperson", "entity:otherperson", "entity:bob", "person:ann", "entity:cid", "entity:dan"}
        assert set(await entities(library)) == known
        (tmp_path / "b.md").write_text("---\nentities: []\n---\nText.\n")
        await library.index(tmp_path, base=tmp_path)
        known -= {"entity:otherperson"}
        assert set(await entities(library)) == known
        (tmp_path / "a.md").unlink()
        await library.index(tmp_path, base=tmp_path)
        known -= {"entity:secretperson"}
        assert set(await entities(library)) == known, "Bob is still named, and of Ann more than a name is known"
        await library.import_records(lines({"id": "r", "text": "x", "entities": ["Eve"]}))
        assert set(await entities(library)) == known - {"entity:bob"} | {"entity:eve"}
        await library.delete(["r", "b.md"])
        assert set(await entities(library)) == known - {"entity:bob"}, "what is told of Cid and Dan stays"
        assert await library.knowledge.forget(["person:ann", "nobody"]) == ["person:ann"]
        assert await library.knowledge.forget("entity:dan") == ["entity:dan"]
        assert (set(await entities(library)), await edges(library)) == ({"entity:cid"}, set())

    run(tmp_path, work)


def test_bad_lines_are_told_by_number_and_the_rest_goes_on(tmp_path: Path) -> None:
    bad: list[Any] = [
        b"{",
        b'["t"]',
        {"doc_id": "t", "entities": "x"},
        {"doc_id": "t", "entities": [{"type": "x"}]},
        {"doc_id": 7},
        {"doc_id": "nobody"},
        {"source": "a", "type": "X"},
        {"source": "a", "type": "!", "target": "b"},
        {"source": "a", "type": "X", "target": "b", "weight": -1},
        {"name": "x", "aliases": "y"},
        {"name": " "},
        {"other": 1},
        b"\xff",
    ]

    async def work(library: Library) -> None:
        report = await library.import_graph(lines(*bad, b"  ", *GRAPH), name="g")
        assert [int(problem.ref.split(":")[1]) for problem in report.problems if "nobody" not in problem.reason] == [
            1,
            2,
            3,
            4,
            5,
            *range(7, 14),
        ]
        assert [problem.ref for problem in report.problems if "nobody" in problem.reason] == ["g:6"]
        assert all("\n" not in problem.reason for problem in report.problems)
        assert await edges(library) == OF_T | OF_L

    run(tmp_path, work)


def test_a_document_may_be_spoken_of_in_many_lines(tmp_path: Path) -> None:
    async def work(library: Library) -> None:
        many = [{"item_id": "t", "entities": [f"Name {number}"]} for number in range(2 * BATCH_LINES + 1)]
        report = await library.import_graph(lines(*many))
        assert (report.items, report.edges, len(await edges(library))) == (1, len(many), len(many))

    run(tmp_path, work)


def test_items_that_name_entities_mention_them(tmp_path: Path) -> None:
    async def work(library: Library) -> None:
        await library.store.write("default", Batch(entities=[Entity("customer:a1", "customer", "Acme Corp", ("Acme",))]))
        await library.import_records(
            lines(
                {"id": "plain", "text": "x", "entities": ["acme", "Bob", "person:ann-lee", "?"]},
                {"id": "page", "text": "# X\n", "format": "markdown", "entities": ["Bob"]},
            )
        )
        found = {
            "plain MENTIONS customer:a1",
            "plain MENTIONS entity:bob",
            "plain MENTIONS person:ann-lee",
            "page MENTIONS entity:bob",
        }
        assert await edges(library) == found
        assert (await library.get("plain")).entities == ("customer:a1", "entity:bob", "person:ann-lee")
        assert (await entities(library))["person:ann-lee"] == Entity("person:ann-lee", "person", "ann lee")
        (tmp_path / "f.md").write_text("---\nentities: [Acme]\n---\nText.\n")
        await library.index(tmp_path, base=tmp_path)
        assert await edges(library) == found | {"f.md MENTIONS customer:a1"}
        await library.import_records(
            lines({"id": "plain", "text": "x", "entities": ["Bob"]}, {"id": "page", "text": "# X\n", "format": "markdown"})
        )
        assert await edges(library) == {"plain MENTIONS entity:bob", "f.md MENTIONS customer:a1"}

    run(tmp_path, work)


@pytest.mark.parametrize(
    ("predicate", "type_"),
    [("married to", "MARRIED_TO"), ("half-brother of", "HALF_BROTHER_OF"), ("is_in", "IS_IN"), ("—", ""), ("größer", "GRÖSSER")],
)
def test_predicates_as_types(predicate: str, type_: str) -> None:
    assert edge_type(predicate) == type_


def test_ids_of_names() -> None:
    async def work() -> None:
        known = Entities(ReferenceStore(), "s")
        given = [Named.of(text) for text in ("Lothair II", "lothair-ii", "note: x", "a:b", "…", "東京")]
        await known.learn(given)
        ids = [known.id_of(each) for each in given]
        assert ids == ["entity:lothairii", "entity:lothairii", "entity:notex", "a:b", None, "entity:東京"]

    asyncio.run(work())
