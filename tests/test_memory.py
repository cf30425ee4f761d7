"""Memory as its users have it, on every store: facts and their history, feedback, tuning, forgetting, entities. The bundled model."""

from __future__ import annotations

import pytest

from colleague import ACME, FEW, NOW, RUSH, adds_up, by_id, colleague, fact, filled, ids, library
from recollect.errors import InvalidInput, NotFound
from recollect.model import Item
from recollect.ports import Store
from recollect.stores.reference import ReferenceStore
from recollect.testing.cases import law

TERMS = "Which payment terms does Acme prefer?"


@law
async def test_what_a_colleague_would_recall_is_the_same_on_every_store(store: Store) -> None:
    async with colleague(store) as memory, colleague(ReferenceStore()) as reference:
        for question in (ACME, RUSH, "Tell me about my customers"):
            found, known = await memory.recall(question), await reference.recall(question)
            adds_up(found)
            assert found.query == known.query
            assert ids(found)[:5] == ids(known)[:5]
            assert [each.score for each in found.memories[:5]] == pytest.approx([each.score for each in known.memories[:5]], abs=2e-3)


@law
async def test_a_fact_takes_the_place_of_another_which_stays_as_history(store: Store) -> None:
    async with colleague(store, *FEW) as memory:
        (new,) = await memory.remember_all([fact("acme-net60", "2024-01-10", "Acme", "prefers payment terms", "NET60")])
        assert (new.outcome, new.supersedes) == ("added", ["acme-net30"])
        now = by_id(await memory.recall(TERMS))
        assert "acme-net60" in now
        assert "acme-net30" not in now
        both = by_id(await memory.recall(TERMS, include_history=True))
        assert (both["acme-net30"].historical, both["acme-net30"].superseded_by) == (True, "acme-net60")
        assert (both["acme-net60"].historical, both["acme-net60"].superseded_by) == (False, None)
        alone = await memory.recall(TERMS, include_history=True, filters={"object": "NET30"})
        assert ids(alone) == ["acme-net30"]
        assert "(was true until 2024-01-10) Acme Corporation prefers payment terms NET30" in alone.prompt
        then = by_id(await memory.recall(TERMS, at="2023-12-01"))
        assert "acme-net60" not in then
        assert (then["acme-net30"].historical, then["acme-net30"].superseded_by) == (False, None)
        assert "acme-anvils" not in then
        before = await memory.recall(TERMS, at="2023-01-01")
        assert before.memories == []


@law
async def test_feedback_counts_each_memory_of_a_recall_once(store: Store) -> None:
    async with colleague(store, *FEW) as memory:
        found = await memory.recall(RUSH)
        first, second = ids(found)[:2]
        told = await memory.feedback(found.retrieval_id, ["[m1]", second, "m1"])
        assert (told.used, told.counted) == ([first, second], [first, second])
        twice = await memory.feedback(found.retrieval_id, [first])
        assert (twice.used, twice.counted) == ([first, second], [])
        after = by_id(await memory.recall(RUSH))
        assert (after[first].use_count, after[second].use_count) == (1, 1)
        assert after[first].signals.reinforcement > by_id(found)[first].signals.reinforcement
        for retrieval_id, used, missing in (
            (found.retrieval_id, "m99", "'m99'"),
            (found.retrieval_id, "nowhere", "'nowhere'"),
            ("no", first, "'no'"),
        ):
            with pytest.raises(NotFound, match=missing):
                await memory.feedback(retrieval_id, used)
        with pytest.raises(NotFound, match="'bob'"):
            await library(store, scope="bob").memory.feedback(found.retrieval_id, first)
        assert by_id(await memory.recall(RUSH))[first].use_count == 1


@law
async def test_what_is_forgotten_leaves_nothing_and_documents_stay(store: Store) -> None:
    opened = library(store)
    memory = await filled(opened.memory, *FEW)
    await opened.add([Item(scope="ann", id="doc", text="A handbook about anvils of Acme.", created_at=NOW, updated_at=NOW)])
    found = await memory.recall(ACME)
    await memory.feedback(found.retrieval_id, ["acme-anvils"])
    assert await memory.count() == 7
    assert await memory.forget(["acme-anvils", "nowhere"]) == ["acme-anvils"]
    assert await memory.forget("acme-anvils") == []
    assert "acme-anvils" not in ids(await memory.recall(ACME, limit=50))
    assert (await opened.search("anvils")).candidates[0].item_id == "doc"
    logged = [each async for each in store.retrievals("ann")]
    assert logged
    assert all(one.id != "acme-anvils" for each in logged for one in each.found)
    with pytest.raises(InvalidInput, match="'doc' is no memory"):
        await memory.forget("doc")
    await memory.recall("quokka")
    assert await memory.forget_all() == 6
    assert (await memory.count(), (await memory.recall(ACME)).memories) == (0, [])
    await memory.forget_all()
    assert [each async for each in store.retrievals("ann")] == []
    assert [each.item.id async for each in store.scan("ann")] == ["doc"]
    assert [each.item_id for each in (await opened.search("anvils")).candidates] == ["doc"]
    await opened.delete("doc")
    assert await memory.forget_all() == 0
    assert await store.scopes() == []
    assert await memory.entities() == []
