"""Memory as a service: entities, the log, models that are missing or fail, deadlines, plain calls. The bundled model, an embedded store."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from colleague import ACME, FEW, NOW, RUSH, adds_up, by_id, colleague, fact, happened, ids, library, summary, way
from recollect import Library
from recollect.cancellation import Cancellation
from recollect.errors import Cancelled, DeadlineExceeded, InvalidInput, ModelMismatch, NotFound
from recollect.llm import HttpLlm
from recollect.memories import SIGNALS, NewMemory, Recall
from recollect.ports import Store
from recollect.settings import Settings
from recollect.stores.reference import ReferenceStore
from recollect.testing.cases import law, scanned
from scripted import Asked, Reply, scripted
from works import model


@law
async def test_facts_that_come_in_any_order_leave_the_latest(store: Store) -> None:
    async with colleague(store, *FEW) as memory:
        late = await memory.remember(type="semantic", subject="Acme", predicate="is_based_in", object="Oslo", at="2024-02-01")
        early = await memory.remember(type="semantic", subject="Acme", predicate="is_based_in", object="Bonn", at="2023-02-01")
        also = await memory.remember(type="semantic", subject="Acme", predicate="is_based_in", object="Riga", at="2024-02-02", also=True)
        assert (early.outcome, early.superseded_by, also.supersedes) == ("kept as history", late.id, [])
        question = "Where is Acme based?"
        now = by_id(await memory.recall(question))
        assert {late.id, also.id} <= now.keys()
        assert early.id not in now
        assert early.id in by_id(await memory.recall(question, at="2023-06-01"))
        again = await memory.remember(type="semantic", subject="acme", predicate="Is based in", object="oslo")
        assert (again.id, again.outcome, again.use_count) == (late.id, "reinforced", 1)
        assert by_id(await memory.recall(question))[late.id].use_count == 1


@law
async def test_the_log_has_what_a_recall_was_made_of(store: Store) -> None:
    async with colleague(store, *FEW) as memory:
        found = await memory.recall(ACME)
        await memory.feedback(found.retrieval_id, "m1")
        (entry,) = [each async for each in store.retrievals("ann")]
        assert (entry.id, entry.query, entry.profile, entry.at) == (found.retrieval_id, ACME, "recall", NOW)
        assert entry.details["strategy"] == "factual_entity_focused"
        assert entry.details["query_type"] == found.query.query_type.model_dump()
        assert entry.details["weights"] == found.weights
        assert list(entry.details["used"]) == [1]
        assert [each.id for each in entry.found] == ids(found)
        for given, logged in zip(found.memories, entry.found, strict=True):
            assert {part.route: part.score for part in logged.parts} == pytest.approx(given.signals.model_dump())
            assert logged.score == pytest.approx(given.score)


@law
async def test_entities_are_kept_named_and_found(store: Store) -> None:
    async with colleague(store, *FEW) as memory:
        known = await memory.know("Initech", type="customer", id="customer:9", aliases=["The Paper People"])
        assert (known.id, known.aliases) == ("customer:9", ("The Paper People",))
        more = await memory.know("Initech", id="customer:9", aliases=["ITK"])
        assert set(more.aliases) == {"The Paper People", "ITK"}
        told = await memory.remember("Initech wants green paper.")
        assert told.entities == ["customer:9"]
        assert [each.id for each in await memory.entities("ITK")] == ["customer:9"]
        assert [each.id for each in await memory.entities(type="person")] == ["person:kim"]
        assert [each.id for each in await memory.entities(type="customer", limit=2)] == ["customer:1", "customer:2"]
        found = await memory.recall("What do the paper people want?")
        assert [each.canonical_id for each in found.query.entities] == ["customer:9"]
        assert ids(found)[0] == told.id
        with pytest.raises(InvalidInput, match="is no name"):
            await memory.know("???")
        with pytest.raises(InvalidInput, match="301 characters, and 300 is the most"):
            await memory.know("Initech", aliases=["x" * 301])
        for bad in ("customer:", ":9", "customer:a b", "customer 9"):
            with pytest.raises(InvalidInput, match=f"id is '{bad}': give TYPE:NAME without spaces, such as 'customer:a1b2'"):
                await memory.know("Initech", id=bad)
        assert (await memory.know("a\x00b")).name == "a\ufffdb"


@law
async def test_a_conversation_says_who_is_meant(store: Store) -> None:
    async with colleague(store, *FEW, fact("kim-role", "2023-09-12", "person:kim", "works_as", "a buyer")) as memory:
        context = {"turns": ["I met Kim Ortega yesterday."]}
        found = await memory.recall("What is she allergic to?", context=context)
        assert [(each.canonical_id, each.match) for each in found.query.entities] == [("person:kim", "context")]
        assert ids(found)[0] == "kim-allergy"


@law
async def test_without_a_model_words_entities_and_time_still_find(store: Store) -> None:
    async with colleague(store, *FEW, embedder=None) as memory:
        found = by_id(await memory.recall(ACME))
        assert "entity" in found["acme-visit"].sources
        assert {"text", "entity", "time"} <= set(found["acme-anvils"].sources)
        assert by_id(await memory.recall("What happened last Tuesday?"))["tuesday"].sources == ["time"]
        assert ids(await memory.recall(RUSH))[0] == "rush"
        assert by_id(await memory.recall("How do I bake bread?"))["rush"].sources == ["procedural"]
        adds_up(await memory.recall(ACME))
        assert not any("semantic" in each.sources for each in found.values())


@law
async def test_a_store_of_another_model_is_told(store: Store) -> None:
    class Other:
        def __init__(self) -> None:
            inner = model()
            self.model_id, self.dim, self.max_tokens, self.tokens = "other-model", inner.dim, inner.max_tokens, inner.tokens
            self.embed, self.embed_query = inner.embed, inner.embed_query

    async with colleague(store, happened("one", "2024-01-01", "One.")):
        other = library(store, embedder=Other()).memory
        with pytest.raises(ModelMismatch, match="other-model"):
            await other.recall("One?")
        with pytest.raises(ModelMismatch, match="other-model"):
            await other.remember("Two.")


@law
async def test_weights_follow_from_feedback_and_there_is_a_way_back(store: Store) -> None:
    often = [way(f"w{each}", "2023-05-01", f"a parcel of kind {each} comes", f"put it on shelf {each}") for each in range(4)]
    async with colleague(
        store, *often, summary("s", "2024-02-01", "Parcels come every day.", "global"), tuning={"min_events": 4}
    ) as memory:
        configured = await memory.weights()
        for _ in range(6):
            found = await memory.recall("How do I handle parcels?")
            await memory.feedback(found.retrieval_id, [each for each in ids(found) if each == "s"])
        report = await memory.tune()
        mine = next(each for each in report.strategies if each.strategy == "procedural")
        assert (mine.events, mine.changed, report.applied) == (6, True, False)
        assert await memory.weights() == configured
        applied = await memory.tune(apply=True)
        tuned = (await memory.weights())["procedural"]
        assert tuned == applied.weights["procedural"] == mine.after != configured["procedural"]
        again = await memory.recall("How do I handle parcels?")
        assert again.weights == tuned
        adds_up(again)
        assert all(abs(tuned[name] - configured["procedural"][name]) <= 0.1 + 1e-9 for name in SIGNALS)
        assert (await memory.untune(), await memory.untune()) == (True, False)
        assert (await memory.recall("How do I handle parcels?")).weights == configured["procedural"]


@law
async def test_without_a_log_recalls_work_and_feedback_says_why_not(store: Store) -> None:
    async with colleague(store, *FEW, log=False) as memory:
        found = await memory.recall(ACME)
        assert found.memories
        assert [each async for each in store.retrievals("ann")] == []
        with pytest.raises(NotFound, match=r"leave the setting 'memory\.log' on"):
            await memory.feedback(found.retrieval_id, "m1")
        assert all(each.events == 0 for each in (await memory.tune()).strategies)


@law
async def test_no_more_recalls_are_logged_than_is_set(store: Store) -> None:
    async with colleague(store, *FEW, max_entries=2) as memory:
        found = [await memory.recall(each) for each in (ACME, RUSH, "Tuesday?")]
        logged = []
        for each in found:
            with suppress(NotFound):
                logged.append(await memory.feedback(each.retrieval_id, "m1"))
        assert len(logged) == 2


@law
async def test_lines_are_remembered_and_bad_ones_told(store: Store) -> None:
    async with colleague(store, *FEW) as memory:
        lines = ['{"text": "Acme called again.", "entities": ["customer:1"]}', "{", '{"type": "semantic", "subject": "Acme"}']
        done, problems = await memory.import_memories(lines, name="m.jsonl")
        assert [each.outcome for each in done] == ["added"]
        assert [each.ref for each in problems] == ["m.jsonl:2:2", "m.jsonl:3:1"]
        assert done[0].id in ids(await memory.recall("Did Acme call?"))
        for bad in (
            {"text": ""},
            {"type": "procedural", "trigger": "x"},
            {"text": "x", "importance": 2},
            {"txt": "x"},
            {"text": "x", "at": "soon"},
            {"text": "x", "at": 1_700_000_000},
        ):
            with pytest.raises(InvalidInput) as told:
                await memory.remember(bad)
            assert "\n" not in str(told.value)
        for odd in (5, ["x"]):
            with pytest.raises(InvalidInput, match="give an object with any of"):
                await memory.remember(odd)  # type: ignore[arg-type]
            with pytest.raises(InvalidInput, match="give an object with any of"):
                await memory.recall(odd, limit=3)  # type: ignore[arg-type]
        assert await memory.count() == 8


@law
async def test_feedback_on_what_was_not_recalled_names_what_is_left(store: Store) -> None:
    async with colleague(store, *FEW) as memory:
        found = await memory.recall("Acme", limit=3)
        assert await memory.forget(ids(found)[1])
        with pytest.raises(NotFound, match=r"gave back no memory 'm2': name some of its ids, or m1, m3$"):
            await memory.feedback(found.retrieval_id, "m2")
        assert await memory.forget([ids(found)[0], ids(found)[2]])
        with pytest.raises(NotFound, match=r"gave back no memory 'm1': there is none left$"):
            await memory.feedback(found.retrieval_id, "m1")


@law
async def test_a_time_without_a_zone_is_of_the_users_zone(store: Store) -> None:
    async with colleague(store, *FEW, timezone="America/New_York") as memory:
        noon = datetime(2024, 2, 1, 12)
        given: list[tuple[Any, str]] = [
            ("2024", "2024-01-01T05:00"),
            ("2024-02", "2024-02-01T05:00"),
            ("2024-02-01", "2024-02-01T05:00"),
            ("2024-02-01T12:00", "2024-02-01T17:00"),
            (noon, "2024-02-01T17:00"),
            ("2024-02-01T12:00Z", "2024-02-01T12:00"),
            (noon.replace(tzinfo=UTC), "2024-02-01T12:00"),
        ]
        for number, (at, _) in enumerate(given):
            await memory.remember(f"The lease, part {number}.", id=f"by-name-{number}", at=at)
            await memory.remember_all([{"text": f"The rent, part {number}.", "id": f"in-list-{number}", "at": at}])
        made = NewMemory(text="The deposit.", id="made", at="2024-02-01")
        await memory.remember(made)
        await memory.remember(made, id="made-with-more", title="Money")
        kept = {each.item.id: each.item.created_at.isoformat() for each in await store.get("ann", await scanned(store, scope="ann"))}
        for number, (_, then) in enumerate(given):
            assert kept[f"by-name-{number}"] == kept[f"in-list-{number}"] == f"{then}:00+00:00"
        assert kept["made"] == kept["made-with-more"] == "2024-02-01T00:00:00+00:00"

        async def are_recalled(at: Any, **fields: Any) -> bool:
            return "by-name-2" in ids(await memory.recall("The lease?", at=at, limit=100, **fields))

        assert await are_recalled("2024-02-01")
        assert await are_recalled("2024-02-01T00:00")
        assert not await are_recalled("2024-01-31")
        assert not await are_recalled("2024-02-01T04:59Z")
        assert not await are_recalled("2024-02-01T04:59", timezone="UTC")
        assert await are_recalled("2024-02-01T14:00", timezone="Asia/Tokyo")
        assert not await are_recalled(datetime(2024, 2, 1, 13, 59), timezone="Asia/Tokyo")


def test_a_day_ends_where_its_calendar_says() -> None:
    def ends(at: str, zone: str) -> str:
        found = Recall(query="x", at=at, timezone=zone).at
        assert found is not None
        return found.isoformat()

    assert ends("2024-02-01", "America/New_York") == "2024-02-02T04:59:59.999999+00:00"
    assert ends("2024-02", "Europe/Berlin") == "2024-02-29T22:59:59.999999+00:00"
    assert ends("2018-02-17", "America/Sao_Paulo") == "2018-02-18T02:59:59.999999+00:00", "its last hour comes twice"
    assert ends("2018-11-03", "America/Sao_Paulo") == "2018-11-04T02:59:59.999999+00:00", "the next one has no midnight"
    assert Recall(query="x", at="2024-02-01").at == datetime(2024, 2, 1, 23, 59, 59, 999_999, tzinfo=UTC)
    with pytest.raises(InvalidInput, match=r"at is 9999-12-31.*which no calendar has in UTC"):
        Recall(query="x", at="9999", timezone="America/New_York")


class Waiting:
    """A domain database that never answers."""

    kinds = ("customer",)

    def __init__(self) -> None:
        self.asked = self.ended = 0

    async def _never(self, *_: Any, **__: Any) -> Any:
        self.asked += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1

    named = expand = rows = _never

    async def close(self) -> None: ...


@law
async def test_a_recall_ends_with_its_deadline_or_when_it_is_cancelled(store: Store) -> None:
    async with colleague(store, *FEW) as memory:
        waiting = Waiting()
        memory._recaller = replace(memory._recaller, domain=waiting)
        with pytest.raises(DeadlineExceeded):
            await memory.recall(ACME, deadline_s=0.3)
        cancellation = Cancellation()
        cancellation.cancel()
        with pytest.raises(Cancelled):
            await memory.recall(ACME, cancellation=cancellation)
        cancellation, before = Cancellation(), waiting.asked
        asked = asyncio.ensure_future(memory.recall(ACME, cancellation=cancellation))
        while waiting.asked == before:
            await asyncio.sleep(0.01)
        cancellation.cancel()
        with pytest.raises(Cancelled):
            await asked
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait(others, timeout=10) if others else None
        assert waiting.asked == waiting.ended, "what nobody waits for is given up"
        assert not [task for task in others if not task.done()]
        with pytest.raises(InvalidInput, match="deadline_s is 0"):
            await memory.recall(ACME, deadline_s=0)
    async with colleague(None, *FEW) as memory:
        assert (await memory.recall(ACME, deadline_s=60)).memories


def test_plain_calls_do_the_same(tmp_path: Path) -> None:
    options = Settings.model_validate({"memory": {"tuning": {"min_events": 1}}})
    with Library.open(tmp_path / "store", embedder=model(), options=options).sync() as opened:
        told = opened.memory.remember("Acme asked for anvils.", entities=["customer:1"])
        opened.memory.know("Acme", type="customer", id="customer:1")
        done, problems = opened.memory.import_memories(['{"text": "Globex called."}'])
        assert (len(done), problems) == (1, [])
        found = opened.memory.recall("What did Acme ask for?")
        assert found.memories[0].id == told.id
        assert opened.memory.feedback(found.retrieval_id, "m1").counted == [told.id]
        assert [each.id for each in opened.memory.entities()] == ["customer:1"]
        assert not opened.memory.tune().applied
        assert not opened.memory.untune()
        assert opened.memory.count() == 2
        assert opened.memory.forget(told.id) == [told.id]
        assert opened.memory.forget_all() == 1
        public = {name for name in dir(opened.library.memory) if not name.startswith("_")} - {"close"}
        assert public <= set(dir(opened.memory))


def chat(said: Any) -> bytes:
    return json.dumps({"choices": [{"message": {"content": json.dumps(said)}}]}).encode()


@law
async def test_a_language_model_improves_a_question_and_one_that_fails_leaves_a_note(store: Store) -> None:
    question = "The folks with the anvils, back when the year began?"
    better = {
        "category": "factual",
        "time_words": "back when the year began",
        "time_start": "2024-01-01",
        "time_end": "2024-01-20",
        "mentions": [],
    }
    replies = [Reply(body=chat(better)), Reply(status=400, body={"error": {"message": "no such model"}})]

    def right(asked: Asked) -> bytes:
        return chat({})

    with scripted(*replies, right=right) as server:
        llm = HttpLlm("m", base_url=server.url)
        async with colleague(store, *FEW, llm=llm) as memory:
            found = await memory.recall(question)
            assert found.query.query_type.category == "factual"
            assert found.query.time_range is not None
            assert found.query.time_range.words == "back when the year began"
            assert "time" in by_id(found)["acme-anvils"].sources
            assert found.notes == []
            failed = await memory.recall(question)
            assert failed.memories
            assert failed.query.time_range is None
            (note,) = failed.notes
            assert note.startswith("the language model was not used: ")
            assert note in failed.prompt
        llm.close()
    without = Settings.model_validate({"memory": {"llm": False}})
    asked = Library(ReferenceStore(), embedder=None, llm=llm, options=without)
    assert (await asked.memory.recall(question)).notes == []
