"""What is remembered: repeats reinforce, facts take the place of what they contradict, and what is forgotten is gone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from itertools import permutations
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from recollect.embed import bundled_tokens
from recollect.errors import InvalidInput
from recollect.evidence.chunkers import ChunkerRegistry
from recollect.evidence.cutting import Cutter, Reader
from recollect.ingest import Problem, Progress
from recollect.ingest.remember_facts import Fact, placed
from recollect.ingest.remember_words import fact_text, predicate_key, said
from recollect.ingest.remembering import forget, forget_all, read_memories, remember
from recollect.memories import NewMemory, Remembered
from recollect.memory_settings import MemorySettings
from recollect.model import Batch, Edge, Entity, Entry, Item, Retrieval
from recollect.ports import Store
from recollect.settings import CacheSettings
from recollect.stores.reference import ReferenceStore
from recollect.stores.sqlite.store import SqliteStore
from recollect.textquery import Term
from works import model

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SCOPE = "ann"


def fact(subject: str, predicate: str, object_: str, **fields: Any) -> NewMemory:
    return NewMemory(type="semantic", subject=subject, predicate=predicate, object=object_, **fields)


def day(number: int) -> datetime:
    return NOW - timedelta(days=100 - number)


async def kept(store: Store, *memories: NewMemory | str, now: datetime = NOW, cutter: Cutter | None = None) -> list[Remembered]:
    given = [NewMemory(text=each) if isinstance(each, str) else each for each in memories]
    return [each async for each in remember(store, SCOPE, given, cutter=cutter, now=now, options=MemorySettings())]


async def items(store: Store) -> dict[str, Item]:
    return {each.item.id: each.item async for each in store.scan(SCOPE)}


async def statuses(store: Store) -> dict[str, str]:
    return {item.text: item.status for item in (await items(store)).values()}


async def edges(store: Store) -> set[tuple[str, str, str]]:
    return {(edge.source, edge.type, edge.target) async for edge in store.edges(SCOPE)}


def on_stores(work: Callable[[Store], Awaitable[None]]) -> None:
    async def main() -> None:
        await work(ReferenceStore())
        with TemporaryDirectory() as folder:
            store = SqliteStore(Path(folder) / "store", cache=CacheSettings())
            await work(store)
            await store.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Acme wants NET30.", "acme wants net30"),
        ("Acme wants NET 30", "Acme  wants\nNET-30!"),
        ("The customer complained about late delivery", "Customer complained about a late delivery."),
        ("Acme doesn't pay", "Acme does not pay"),
        ("I can’t come", "I cannot come"),
        ("It cost $1,000", "it cost $1000"),
        ("That's very helpful", "That's really helpful"),
    ],
)
def test_nearly_the_same_words_say_the_same(one: str, other: str) -> None:
    assert said(one) == said(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Invoice 789 was paid", "Invoice 790 was paid"),
        ("The door is open", "The door is not open"),
        ("I can come", "I can't come"),
        ("Team A won", "Team won"),
        ("It costs $5", "It costs €5"),
        ("-5 degrees", "5 degrees"),
        ("It grew 50%", "It grew 50"),
        ("1.5 litres", "15 litres"),
        ("10² metres", "102 metres"),
        ("x != y", "x = y"),
        ("Acme wants NET30", "Acme wants NET30?"),
        ("We use C#", "We use C++"),
        ("IT is down", "It is down"),
        ("We're late", "Were late"),
        ("Not very happy", "Not happy"),
        ("From Rome to Paris", "To Rome from Paris"),
        ("Alice paid Bob", "Bob paid Alice"),
        ("Contact Acme", "Contract Acme"),
        ("👍", "👎"),
        ("self._lock", "self.lock"),
        ("f()", "f"),
    ],
)
def test_what_differs_in_meaning_is_never_the_same(one: str, other: str) -> None:
    assert said(one) != said(other)


def test_predicates_are_folded_and_read_as_words() -> None:
    assert {predicate_key(each) for each in ("has_property", "Has Property", "hasProperty", "HAS-PROPERTY")} == {"has_property"}
    assert fact_text("Acme", "has_property", "NET30") == "Acme has NET30"
    assert fact_text("Acme", "related_to", "Zeta") == "Acme is related to Zeta"
    assert fact_text("Acme", "prefers", "NET30") == "Acme prefers NET30"
    assert fact_text("Acme", "pays_by", "card") == "Acme pays by card"


def test_a_repeat_reinforces_and_does_not_pile_up() -> None:
    async def work(store: Store) -> None:
        first, again, third = await kept(store, "Acme wants NET30.", "acme wants net30", "Invoice 789 was paid")
        assert [first.outcome, again.outcome, third.outcome] == ["added", "reinforced", "added"]
        (later,) = await kept(store, NewMemory(text="ACME wants NET 30!", importance=0.9), now=NOW + timedelta(hours=5))
        assert (later.id, later.outcome, later.use_count) == (first.id, "reinforced", 2)
        found = await items(store)
        assert len(found) == 2
        item = found[first.id]
        assert (item.text, item.created_at, item.use_count, item.importance) == ("Acme wants NET30.", NOW, 2, 0.9)
        assert item.last_used_at == NOW + timedelta(hours=5)

    on_stores(work)


def test_an_episode_of_another_day_is_another_one() -> None:
    async def work(store: Store) -> None:
        await kept(store, NewMemory(text="Acme called.", at=day(1)))
        hours = [timedelta(hours=-24), timedelta(hours=23), timedelta(hours=25)]
        done = await kept(store, *(NewMemory(text="Acme called", at=day(1) + each) for each in hours))
        assert [each.outcome for each in done] == ["reinforced", "reinforced", "added"]
        done = await kept(store, *(NewMemory(type="summary", text="Acme called", at=day(each)) for each in (1, 50)))
        assert [each.outcome for each in done] == ["added", "reinforced"]

    on_stores(work)


def test_the_same_words_about_others_are_another_memory() -> None:
    async def work(store: Store) -> None:
        about = [["Acme"], ["Zeta"], ["acme"], [], []]
        done = await kept(store, *(NewMemory(text="The customer complained.", entities=each) for each in about))
        assert [each.outcome for each in done] == ["added", "added", "reinforced", "added", "reinforced"]
        await store.write(SCOPE, Batch(entities=[Entity(f"customer:{each}", "customer", "Orbit") for each in (1, 2)]))
        about = [["customer:1"], ["customer:2"], ["customer:2"], []]
        done = await kept(store, *(NewMemory(text="Orbit wants NET30", entities=each) for each in about))
        assert [each.outcome for each in done] == ["added", "added", "reinforced", "reinforced"]

    on_stores(work)


def test_fields_of_all_tellings_find_a_memory() -> None:
    async def work(store: Store) -> None:
        await kept(store, *(NewMemory(text="The deadline moved.", metadata={"project": each}) for each in ("apollo", "gemini", "apollo")))
        (item,) = (await items(store)).values()
        assert item.metadata == {"project": ["apollo", "gemini"]}

    on_stores(work)


def test_a_memory_with_an_id_is_known_by_it() -> None:
    async def work(store: Store) -> None:
        one, two = await kept(store, NewMemory(text="Acme called.", id="a"), NewMemory(text="Acme called.", id="b"))
        assert (one.outcome, two.outcome) == ("added", "added")
        (same,) = await kept(store, "Acme called.")
        assert (same.id, same.outcome) == ("a", "reinforced")
        (changed,) = await kept(store, NewMemory(text="Zeta called.", id="a", entities=["Zeta"]), now=NOW + timedelta(days=3))
        item = (await items(store))["a"]
        assert (changed.outcome, item.text, item.created_at, item.use_count) == ("changed", "Zeta called.", NOW, 1)
        await kept(store, NewMemory(text="Nobody called.", id="a"))
        assert [each.id async for each in store.entities(SCOPE)] == []
        await store.write(SCOPE, Batch(delete=["b"]))
        with pytest.raises(InvalidInput, match="unicode"):
            NewMemory(text="half \ud800 pair")
        with pytest.raises(InvalidInput, match="'a' is of a memory of type 'episodic'"):
            await kept(store, NewMemory(type="summary", text="All.", id="a"))

    on_stores(work)


def test_a_fact_takes_the_place_of_the_one_it_contradicts() -> None:
    async def work(store: Store) -> None:
        old, repeat, new = await kept(
            store,
            fact("Acme", "prefers", "NET30", at=day(1)),
            fact("acme", "Prefers", "net 30.", at=day(2), confidence=0.8),
            fact("ACME", "prefers", "NET60", at=day(3)),
        )
        assert (repeat.id, repeat.outcome, new.outcome, new.supersedes) == (old.id, "reinforced", "added", [old.id])
        (back,) = await kept(store, fact("Acme", "prefers", "NET30"))
        assert back.id not in (old.id, new.id)
        assert back.supersedes == [new.id]
        found = await items(store)
        assert {each: found[each].status for each in found} == {old.id: "superseded", new.id: "superseded", back.id: "approved"}
        said = {"confirmed_at": day(2).isoformat(), "confidence": 0.8}
        assert found[old.id].metadata == {"subject": "entity:acme", "predicate": "prefers", "object": "NET30", **said}
        assert found[old.id].text == "Acme prefers NET30"
        assert {each for each in await edges(store) if each[1] == "SUPERSEDES"} == {
            (new.id, "SUPERSEDES", old.id),
            (back.id, "SUPERSEDES", new.id),
        }
        assert {each for each in await edges(store) if each[1] == "MENTIONS"} == {(each, "MENTIONS", "entity:acme") for each in found}

    on_stores(work)


def test_an_older_fact_is_history_at_once_in_whatever_order_they_come() -> None:
    async def work(store: Store) -> None:
        now, oldest, between = [
            (await kept(store, fact("Acme", "is_based_in", city, at=day(at))))[0] for city, at in (("Rome", 30), ("Oslo", 10), ("Bonn", 20))
        ]
        assert (oldest.outcome, oldest.superseded_by) == ("kept as history", now.id)
        assert (between.outcome, between.superseded_by, between.supersedes) == ("kept as history", now.id, [oldest.id])
        assert await statuses(store) == {
            "Acme is based in Rome": "approved",
            "Acme is based in Oslo": "superseded",
            "Acme is based in Bonn": "superseded",
        }
        (again,) = await kept(store, fact("Acme", "is based in", "Bonn", at=day(20)))
        assert (again.id, again.outcome, again.superseded_by) == (between.id, "kept as history", now.id)
        assert len(await items(store)) == 3

    on_stores(work)


def test_facts_that_stand_beside_others_replace_none() -> None:
    async def work(store: Store) -> None:
        await kept(store, fact("Ann", "likes", "tea"), fact("Ann", "likes", "jazz", also=True), fact("Ann", "likes", "tea", also=True))
        assert [item.status for item in (await items(store)).values()] == ["approved", "approved"]
        (plain,) = await kept(store, fact("Ann", "likes", "silence"), now=NOW + timedelta(days=1))
        assert len(plain.supersedes) == 2
        assert [text for text, status in (await statuses(store)).items() if status == "approved"] == ["Ann likes silence"]

    on_stores(work)


def test_what_is_said_again_holds_up_to_then_however_late_an_older_fact_comes() -> None:
    async def work(store: Store) -> None:
        berlin, again = await kept(store, fact("Ann", "lives_in", "Berlin", at=day(1)), fact("Ann", "lives_in", "Berlin", at=day(20)))
        assert (again.id, again.outcome) == (berlin.id, "reinforced")
        (paris,) = await kept(store, fact("Ann", "lives_in", "Paris", at=day(10)))
        assert (paris.outcome, paris.superseded_by, paris.supersedes) == ("kept as history", berlin.id, [])
        (rome,) = await kept(store, fact("Ann", "lives_in", "Rome", at=day(21)))
        assert (rome.outcome, rome.supersedes) == ("added", [berlin.id])

    on_stores(work)


@pytest.mark.parametrize("seed", range(4))
def test_the_same_fact_holds_in_whatever_order_they_are_said(seed: int) -> None:
    chance = Random(seed)

    async def holding(order: Sequence[NewMemory]) -> list[str]:
        store = ReferenceStore()
        for each in order:
            await kept(store, each)
        return [item.metadata["object"] for item in (await items(store)).values() if item.status == "approved"]

    for _ in range(6):
        said = [fact("Ann", "likes", chance.choice("abc"), at=day(at)) for at in chance.sample(range(1, 28), 4)]
        last = max(said, key=lambda each: each.at or NOW)
        for order in permutations(said):
            assert asyncio.run(holding(order)) == [last.object], [(each.object, each.at) for each in order]


def test_two_that_write_at_once_leave_one_fact_that_holds() -> None:
    async def work(store: Store) -> None:
        await asyncio.gather(*(kept(store, fact("Acme", "prefers", f"NET{each}"), now=NOW + timedelta(seconds=each)) for each in range(5)))
        assert [text for text, status in (await statuses(store)).items() if status == "approved"] == ["Acme prefers NET4"]

    on_stores(work)


def test_what_is_used_or_forgotten_meanwhile_is_not_undone() -> None:
    async def work(store: Store) -> None:
        tea, jazz = await kept(store, fact("Ann", "likes", "tea"), fact("Ann", "likes", "jazz", also=True))
        write, changed = store.write, pytest.MonkeyPatch()

        async def late(*args: Any, **named: Any) -> Any:
            changed.undo()
            await store.use(SCOPE, [tea.id], at=NOW)
            await forget(store, SCOPE, [jazz.id])
            return await write(*args, **named)

        changed.setattr(store, "write", late)
        (new,) = await kept(store, fact("Ann", "likes", "silence"), now=NOW + timedelta(days=1))
        found = await items(store)
        assert (new.supersedes, set(found)) == ([tea.id], {tea.id, new.id})
        assert (found[tea.id].status, found[tea.id].use_count) == ("superseded", 1)

    on_stores(work)


def test_an_entity_that_is_named_again_meanwhile_is_not_forgotten() -> None:
    async def work(store: Store) -> None:
        (old,) = await kept(store, NewMemory(text="Met Orbit.", entities=["Orbit"]))
        links, changed = store.links, pytest.MonkeyPatch()

        async def late(*args: Any, **named: Any) -> Any:
            changed.undo()
            found = await links(*args, **named)
            await kept(store, NewMemory(text="Orbit called.", entities=["Orbit"]))
            return found

        changed.setattr(store, "links", late)
        assert await forget(store, SCOPE, [old.id]) == [old.id]
        assert [each.id async for each in store.entities(SCOPE)] == ["entity:orbit"]
        assert {each[1:] for each in await edges(store)} == {("MENTIONS", "entity:orbit")}

    on_stores(work)


def test_items_of_that_kind_without_the_fields_of_a_fact_are_in_nobodys_way() -> None:
    async def work(store: Store) -> None:
        odd = {"bare": {}, "listed": {"subject": ["entity:acme"], "predicate": ["likes"]}, "numbered": {"subject": 1, "predicate": "likes"}}
        common: dict[str, Any] = {"scope": SCOPE, "text": "plain", "kind": "semantic", "created_at": NOW, "updated_at": NOW}
        made = [Item(id=name, metadata=metadata, **common) for name, metadata in odd.items()]
        await store.write(SCOPE, Batch([Entry(item) for item in made]))
        (new,) = await kept(store, fact("Acme", "likes", "tea"))
        (taken,) = await kept(store, fact("Acme", "likes", "coffee", id="bare"))
        assert (new.outcome, taken.outcome, taken.supersedes) == ("added", "changed", [new.id])

    on_stores(work)


def test_what_is_said_again_and_again_at_once_is_counted_each_time() -> None:
    async def work(store: Store) -> None:
        (first,) = await kept(store, "Acme called.")
        done = await kept(store, *["Acme called."] * 3, "Bob called.", "Bob called.", now=NOW + timedelta(minutes=1))
        assert [each.use_count for each in done] == [1, 2, 3, 0, 1]
        await kept(store, "Acme called.", now=NOW)
        found = (await items(store))[first.id]
        assert (found.use_count, found.last_used_at) == (4, NOW + timedelta(minutes=1))

    on_stores(work)


def test_a_time_that_is_beyond_the_calendar_and_metadata_without_end_are_told() -> None:
    west = timezone(-timedelta(hours=5))
    with pytest.raises(ValueError, match="which no calendar has in UTC"):
        NewMemory(text="x", at=datetime.max.replace(tzinfo=west))
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="metadata of a memory cannot be kept"):
        asyncio.run(kept(ReferenceStore(), NewMemory(text="x", metadata={"deep": deep})))


def test_facts_are_placed_by_their_time() -> None:
    def of(item_id: str, at: int, *, value: str = "", beside: bool = False, current: bool = True) -> Fact:
        return Fact(item_id, value or item_id, day(at), day(at), beside, current)

    beside = of("b", 5, beside=True)
    assert placed(of("n", 3), [of("a", 1), beside]).supersedes == ("a",)
    assert placed(of("n", 3), [of("a", 1), beside]).superseded_by is None
    alone = [of("a", 1, current=False)]
    assert placed(of("n", 3, value="a"), alone).repeats is None, "what took its place was forgotten"


def test_a_subject_by_its_id_is_called_by_its_name() -> None:
    async def work(store: Store) -> None:
        known = [Entity("customer:a1", "customer", "Acme Corporation", ("Acme",)), Entity("city:b2", "city", "Bonn")]
        await store.write(SCOPE, Batch(entities=known))
        one, two = await kept(store, fact("customer:a1", "located_in", "city:b2"), fact("Acme", "located_in", "Rome"))
        assert (one.entities, two.entities, two.supersedes) == (["customer:a1", "city:b2"], ["customer:a1"], [one.id])
        assert set(await statuses(store)) == {"Acme Corporation is located in Bonn", "Acme is located in Rome"}

    on_stores(work)


def test_entities_that_a_text_names_are_found() -> None:
    async def work(store: Store) -> None:
        asked: list[str] = []

        async def mentions(text: str) -> list[str]:
            asked.append(text)
            return ["customer:z9"] if "Zeta" in text else []

        given = [NewMemory(text="Met Orbit.", entities=["Orbit"]), NewMemory(text="Orbit and Zeta merge."), NewMemory(text="Orbital.")]
        done = [
            each.entities async for each in remember(store, SCOPE, given, cutter=None, now=NOW, options=MemorySettings(), mentions=mentions)
        ]
        assert done == [["entity:orbit"], ["customer:z9", "entity:orbit"], []]
        assert asked == ["Orbit and Zeta merge.", "Orbital."]

    on_stores(work)


def test_procedures_and_summaries_have_their_fields() -> None:
    async def work(store: Store) -> None:
        await kept(
            store,
            NewMemory(type="procedural", trigger="When an invoice is late:", action="send a reminder"),
            NewMemory(type="summary", text="Acme pays late.", covers="global", title="Acme"),
        )
        found = {item.kind: item for item in (await items(store)).values()}
        assert found["procedural"].text == "When an invoice is late: send a reminder"
        assert (found["procedural"].importance, found["summary"].importance) == (0.8, 0.9)
        assert found["summary"].metadata == {"covers": "global"}

    on_stores(work)


def test_bad_input_is_told_in_one_line_and_nothing_of_its_group_is_kept() -> None:
    async def work(store: Store) -> None:
        bad = {
            "300 is the most": fact("a" * 301, "is", "b"),
            "cannot be kept": NewMemory(text="x", metadata={"n": float("nan")}),
            "which is to come": fact("Acme", "is", "gone", at=NOW + timedelta(days=2)),
            "nested": NewMemory(text="x", metadata=json.loads('{"a":' * 40 + "1" + "}" * 40)),
        }
        for told, memory in bad.items():
            with pytest.raises(InvalidInput, match=told) as raised:
                await kept(store, "fine", memory)
            assert "\n" not in str(raised.value)
        assert await items(store) == {}

    on_stores(work)


def test_hostile_texts_are_kept(tmp_path: Path) -> None:
    texts = ["a\x00b", "...", "🙂", "'; drop table items; --", "word " * 40_000]

    async def main() -> None:
        for store in (ReferenceStore(), SqliteStore(tmp_path / "store", cache=CacheSettings())):
            done = await kept(store, *texts, fact("🙂", "is", "\x00"), fact("x", "=", "y"))
            assert len({each.id for each in done}) == len(done) == len(await items(store))
            assert [each.outcome for each in await kept(store, "Later", NewMemory(text="It will rain.", at=NOW + timedelta(days=9)))]
            await store.close()

    asyncio.run(main())


def test_lines_are_read_and_bad_ones_told() -> None:
    lines: list[bytes | str] = [
        b'\xef\xbb\xbf{"text": "Acme called.", "at": "2026-05-01", "importance": 1, "title": null}',
        "",
        '{"type": "semantic", "subject": "Acme", "predicate": "prefers"}',
        "{",
        '{"txt": "x"}',
        "[]",
        '{"type": "dream", "text": "x"}',
        '{"text": "\\ud800"}',
    ]
    found = list(read_memories(lines, name="m.jsonl"))
    good = [each[1] for each in found if not isinstance(each, Problem)]
    assert [(each.text, each.at, each.importance) for each in good] == [
        ("Acme called.", datetime(2026, 5, 1, tzinfo=UTC), 1.0),
        ("\ufffd", None, None),
    ]
    bad = [each for each in found if isinstance(each, Problem)]
    assert [each.ref for each in bad] == ["m.jsonl:3:1", "m.jsonl:4:2", "m.jsonl:5:1", "m.jsonl:6:1", "m.jsonl:7:1"]
    assert "'object' is missing" in bad[0].reason
    assert all("\n" not in each.reason for each in bad)


def test_many_are_written_in_groups_with_their_vectors(tmp_path: Path) -> None:
    async def main() -> None:
        store = SqliteStore(tmp_path / "store", cache=CacheSettings())
        cutter = Reader(bundled_tokens(), model(), ChunkerRegistry(), 200).cutter()
        seen: list[int] = []

        def report(progress: Progress) -> None:
            seen.append(progress.items_done)

        many = [NewMemory(text=f"Ticket {each % 3} of {each} was closed.") for each in range(5)]
        many += [fact(f"Customer {each}", "has_number", str(each)) for each in range(600)]
        options = MemorySettings()
        done = [each async for each in remember(store, SCOPE, iter(many), cutter=None, now=NOW, options=options, report=report)]
        assert len(done) == len({each.id for each in done}) == 605
        assert seen == [512, 605]
        _, second = await kept(store, "The cat sleeps.", fact("Acme", "prefers", "NET30"), cutter=cutter)
        (third,) = await kept(store, fact("Acme", "prefers", "NET60"), cutter=cutter)
        assert third.supersedes == [second.id]
        nearest = await store.search_vectors(SCOPE, cutter.embedder.embed_query("Acme NET30"), k=2) if cutter.embedder else ()
        assert {hit.id for hit in nearest} == {second.id, third.id}, "what was superseded keeps its vectors"
        assert all(finding.ok for finding in await store.doctor(repair=False))
        await store.close()

    asyncio.run(main())


async def _some(store: Store, cutter: Cutter | None = None) -> list[Remembered]:
    return await kept(
        store,
        NewMemory(text="Quokka said hello.", entities=["Quokka", "customer:wombat"], metadata={"secretfield": "platypus"}, title="Numbat"),
        fact("Quokka", "prefers", "eucalyptus"),
        fact("Quokka", "prefers", "saltbush"),
        "Wallaby said hello.",
        cutter=cutter,
    )


def test_what_is_forgotten_is_gone_and_history_stays_history() -> None:
    async def work(store: Store) -> None:
        talk, old, new, other = await _some(store)
        assert await forget(store, SCOPE, [new.id, "nowhere"]) == [new.id]
        assert (await items(store))[old.id].status == "superseded"
        (again,) = await kept(store, fact("Quokka", "prefers", "eucalyptus"))
        assert again.outcome == "added"
        await forget(store, SCOPE, [talk.id, old.id, again.id])
        assert (list(await items(store)), await edges(store)) == ([other.id], set())
        assert [each async for each in store.entities(SCOPE)] == []

    on_stores(work)


def test_an_entity_of_which_more_is_known_stays() -> None:
    async def work(store: Store) -> None:
        await store.write(SCOPE, Batch(entities=[Entity("customer:a1", "customer", "Acme")]))
        done = await kept(store, NewMemory(text="Acme called.", entities=["Acme", "customer:b2"]))
        await forget(store, SCOPE, [each.id for each in done])
        assert [each.id async for each in store.entities(SCOPE)] == ["customer:a1"]

    on_stores(work)


def test_forgetting_all_leaves_what_is_no_memory() -> None:
    async def work(store: Store) -> None:
        document = Item(scope=SCOPE, id="doc", text="A document.", created_at=NOW, updated_at=NOW)
        await _some(store)
        await store.set_note(SCOPE, "weights", {"a": 1})
        assert (await forget_all(store, SCOPE), await store.scopes()) == (4, [])
        assert await store.note(SCOPE, "weights") is None
        await _some(store)
        await store.set_note(SCOPE, "weights", {"a": 1})
        await store.write(SCOPE, Batch([Entry(document)], edges=[Edge("doc", "REFERENCES", "doc2")]))
        for name in ("recall", "documents"):
            await store.log(SCOPE, Retrieval(id=name, at=NOW, query="quokka", profile=name, took_ms=1.0), max_entries=9)
        with pytest.raises(InvalidInput, match="no memory"):
            await forget(store, SCOPE, ["doc"])
        assert await forget_all(store, SCOPE) == 4
        assert (list(await items(store)), await store.note(SCOPE, "weights")) == (["doc"], None)
        assert [each.id async for each in store.retrievals(SCOPE)] == ["documents"]
        assert [each async for each in store.entities(SCOPE)] == []

    on_stores(work)


class Meanwhile(ReferenceStore):
    """A store in which something happens once, after the state of a scope was read."""

    happens: Callable[[], Awaitable[object]] | None = None

    async def change(self, scope: str) -> str:
        state = await super().change(scope)
        happens, self.happens = self.happens, None
        if happens:
            await happens()
        return state


def test_who_is_forgotten_while_somebody_names_them_is_known_again() -> None:
    async def work() -> None:
        store = Meanwhile()
        (called,) = await kept(store, NewMemory(text="Acme called.", entities=["Acme"]))
        store.happens = lambda: forget(store, SCOPE, [called.id])
        (wants,) = await kept(store, NewMemory(text="Acme wants to pay later.", entities=["Acme"]))
        assert wants.entities == [each.id async for each in store.entities(SCOPE)] == ["entity:acme"]

    asyncio.run(work())


def test_who_becomes_known_while_somebody_names_them_is_one() -> None:
    async def work() -> None:
        store = Meanwhile()
        globex = Entity("customer:globex", "customer", "Globex", ("GX",))
        store.happens = lambda: store.write(SCOPE, Batch(entities=[globex]))
        (called,) = await kept(store, NewMemory(text="Globex called.", entities=["Globex"]))
        assert called.entities == ["customer:globex"]
        assert [each async for each in store.entities(SCOPE)] == [globex]

    asyncio.run(work())


def test_what_is_written_while_all_is_forgotten_stays() -> None:
    async def work() -> None:
        store = Meanwhile()
        await kept(store, "Acme called.")
        document = Item(scope=SCOPE, id="doc", text="A document.", created_at=NOW, updated_at=NOW)
        store.happens = lambda: store.write(SCOPE, Batch([Entry(document)]))
        assert await forget_all(store, SCOPE) == 1
        assert list(await items(store)) == ["doc"]

    asyncio.run(work())


def test_no_word_of_what_is_forgotten_is_left_in_any_file(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    words = ("quokka", "eucalyptus", "saltbush", "wombat", "platypus", "numbat")

    def left() -> list[tuple[str, str]]:
        files = [path for path in folder.rglob("*") if path.is_file()]
        return [(path.name, word) for path in files for word in words if word.encode() in path.read_bytes().lower()]

    async def main() -> None:
        store = SqliteStore(folder, cache=CacheSettings())
        done = await _some(store)
        assert await store.search_text(SCOPE, Term("quokka"), k=5)
        assert {word for _, word in left()} == set(words)
        await forget(store, SCOPE, [each.id for each in done[:3]])
        assert await store.search_text(SCOPE, Term("quokka"), k=5) == ()
        assert left() == []
        await store.close()
        assert left() == []

    asyncio.run(main())
