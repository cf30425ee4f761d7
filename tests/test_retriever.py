"""The Retriever as an orchestrator calls it: every preference does what it says. The bundled model, a real embedded store."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from recollect import InvalidInput, Item, Library, RetrievalBundle, RetrievalPrefs
from recollect.cancellation import Cancellation
from recollect.embed import open_embedder
from recollect.errors import Cancelled, DeadlineExceeded, ModelMismatch, StoreError
from recollect.model import Vector
from recollect.ports import Embedder, Retriever
from recollect.request import RequestContext
from recollect.settings import Settings

T = TypeVar("T")

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
PARAGRAPHS = (
    "Backups of the database are made every night and copied to cold storage in another city.",
    "Each backup is encrypted with a key that rotates every month and is kept in a sealed vault.",
    "Restoring a backup takes two hours; the on-call engineer starts it from the operations console.",
    "The cafeteria serves soup on Mondays and fish on Fridays, and the coffee is free for everyone.",
    "Parking spaces are given out by lot in January, one for every three people who ask for one.",
    "Visitors sign in at the front desk and wear a badge until they leave the building again.",
)
DOCUMENTS = {
    "handbook": "\n\n".join(" ".join([paragraph] * 3) for paragraph in PARAGRAPHS),
    "vault": "The vault holds the keys of all backups. Two people open it together, never one alone.",
    "menu": "Soup, fish, salad and bread. The cafeteria is closed on public holidays.",
    "keys": "House keys are copied at the shop around the corner.",
    "guide": "# Guide\n\nWelcome.\n\n## Backups\n\nAsk the operations team.\n\n## Travel\n\nBook trains early.\n",
}


class Stub:
    """An embedder of its own model that counts what it is given, and may wait in the middle."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.model_id, self.dim, self.max_tokens, self.tokens = inner.model_id, inner.dim, inner.max_tokens, inner.tokens
        self.texts: list[str] = []
        self.questions: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vector:
        self.texts += texts
        return self._inner.embed(texts)

    def embed_query(self, text: str) -> Vector:
        self.questions.append(text)
        return self._inner.embed_query(text)


@pytest.fixture(scope="module")
def model() -> Embedder:
    return open_embedder("granite", cache_dir=Settings().embed.cache_dir)


@pytest.fixture(scope="module")
def place(model: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the documents, which no test changes but for its cache."""
    folder = tmp_path_factory.mktemp("retriever") / "store"
    with Library.open(folder, embedder=model, options=Settings()).sync() as library:
        library.add(items())
    return folder


def items() -> list[Item]:
    return [
        Item(
            scope="default",
            id=name,
            text=text,
            title=name.title(),
            format="markdown" if text.startswith("#") else "text",
            metadata={"pages": len(text)},
            created_at=AT,
            updated_at=AT,
        )
        for name, text in DOCUMENTS.items()
    ]


class Asked:
    """A library and short ways to ask it."""

    def __init__(self, library: Library, embedder: Stub) -> None:
        self.library, self.embedder = library, embedder

    def __call__(self, query: str = "how are backups encrypted?", *, ctx: RequestContext | None = None, **prefs: Any) -> RetrievalBundle:
        ctx = ctx or RequestContext("default", clock=lambda: AT)
        return self.run(lambda: self.library.retriever.search(ctx, RetrievalPrefs(query_text=query, **prefs)))

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        async def body() -> T:
            return await work()

        return asyncio.run(body())


@pytest.fixture
def ask(place: Path, model: Embedder) -> Iterator[Asked]:
    embedder = Stub(model)
    library = Library.open(place, embedder=embedder, options=Settings())
    asked = Asked(library, embedder)
    asked.run(lambda: library.store.clear_cache("default"))
    yield asked
    asyncio.run(library.close())


def ids(bundle: RetrievalBundle) -> list[str]:
    return [each.item_id for each in bundle.candidates]


def spans(bundle: RetrievalBundle) -> list[tuple[str, int | None, int | None]]:
    return [(each.item_id, each.start_idx, each.end_idx) for each in bundle.evidence]


# What comes out.


def test_the_library_has_a_retriever(ask: Asked) -> None:
    assert isinstance(ask.library.retriever, Retriever)


def test_documents_are_sources_and_chunks_are_evidence(ask: Asked) -> None:
    bundle = ask(chunking={"max_chunk_tokens": 64})
    assert ids(bundle)[0] == "handbook"
    best = bundle.evidence[0]
    assert (best.item_id, "encrypted" in best.text) == ("handbook", True)
    for each in bundle.evidence:
        assert each.text == DOCUMENTS[each.item_id][each.start_idx : each.end_idx]
        assert each.anchors is not None
        lines = DOCUMENTS[each.item_id].splitlines()
        assert each.text.splitlines()[0] == lines[each.anchors.line_start - 1]
        assert each.chunk_id
    assert [each.score for each in bundle.evidence] == sorted((each.score for each in bundle.evidence), reverse=True)


def test_evidence_of_markdown_has_its_headings(ask: Asked) -> None:
    found = ask("whom do I ask about backups in the guide?", chunking={"max_chunk_tokens": 16}).evidence
    assert ["Guide", "Backups"] in [each.heading_path for each in found if each.item_id == "guide"]


def test_stats_are_there_when_asked_for(ask: Asked) -> None:
    assert ask().stats.model_dump() == {"timing_ms": {}, "counts": {}, "params": {}}
    stats = ask(debug=True).stats
    assert {"embed", "text", "vector", "fuse", "chunks", "show", "total"} <= stats.timing_ms.keys()
    assert stats.counts["candidates"] == 5
    assert stats.params["scoring"] == {
        "blend": "linear", "normalize": "zscore", "rrf_k": 10, "depth": 100, "w_text": 0.35, "w_vec": 0.65, "min_score": None,
    }  # fmt: skip


def test_the_seeds_own_defaults_are_taken_as_they_are(ask: Asked) -> None:
    bundle = ask(
        filters={},
        top_k_items=20,
        top_k_chunks=12,
        per_item_chunk_cap=3,
        fts={"mode": "web", "config": None, "rank_func": "ts_rank_cd", "min_rank": None},
        vector={"embed_query": True, "distance": "cosine", "min_score": None},
        scoring={"blend": "rrf", "w_text": 0.35, "w_vec": 0.65, "normalize": "sigmoid"},
        chunking={"strategy": "late", "chunker_id": "auto", "include_headers": True, "max_chunk_tokens": None, "overlap_tokens": None},
        cache={"use_chunk_cache": True, "write_chunk_cache": True, "ttl_seconds": None},
        snippet={"max_chars": 360, "prefer_chunk_snippet": True},
        debug=True,
    )
    assert {"handbook", "vault"} == set(ids(bundle)[:2])
    assert (bundle.stats.params["scoring"]["blend"], bundle.stats.params["fts"]["rank_func"]) == ("rrf", "bm25")


# How much.


def test_top_k_items_and_top_k_chunks_are_limits(ask: Asked) -> None:
    few = ask(top_k_items=2, top_k_chunks=3, per_item_chunk_cap=9, chunking={"max_chunk_tokens": 32})
    assert (len(few.candidates), len(few.evidence)) == (2, 3)
    assert {each.item_id for each in few.evidence} <= set(ids(few))


def test_no_chunks_asked_for_means_no_evidence_and_no_work_for_it(ask: Asked) -> None:
    bundle = ask(top_k_chunks=0, chunking={"max_chunk_tokens": 32}, debug=True)
    assert bundle.evidence == []
    assert bundle.candidates[0].snippet
    assert ask.embedder.texts == []


def test_the_cap_lets_other_items_in(ask: Asked) -> None:
    def of_handbook(cap: int) -> int:
        bundle = ask("backups", per_item_chunk_cap=cap, chunking={"max_chunk_tokens": 32})
        return sum(each.item_id == "handbook" for each in bundle.evidence)

    assert of_handbook(1) == 1
    assert of_handbook(9) > 3 >= of_handbook(3)


# Words.


def test_the_mode_says_how_words_are_read(ask: Asked) -> None:
    assert ids(ask("keys of all backups", fts={"mode": "phrase"})) == ["vault"]
    assert ids(ask("keys & !vault", fts={"mode": "strict"})) == ["keys"]
    assert len(ids(ask("keys of all backups", fts={"mode": "any"}))) > 1


def test_min_rank_leaves_out_what_matches_little_by_words(ask: Asked) -> None:
    only_words = {"w_text": 1, "w_vec": 0}
    ranks = [each.score_text for each in ask("keys of all backups", scoring=only_words).candidates]
    assert len(ranks) > 1
    assert ranks[0] is not None
    assert len(ids(ask("keys of all backups", scoring=only_words, fts={"min_rank": ranks[0] - 0.001}))) == 1


def test_a_text_configuration_the_store_has_not_is_told(ask: Asked) -> None:
    assert ids(ask(fts={"config": "english"})) == ids(ask())
    with pytest.raises(InvalidInput, match=r"fts.config is 'klingon': .*'english'"):
        ask(fts={"config": "klingon"})


# Meaning.


def test_without_an_embedded_query_words_alone_are_searched(ask: Asked) -> None:
    bundle = ask("soup", vector={"embed_query": False}, chunking={"max_chunk_tokens": 32})
    assert set(ids(bundle)) == {"handbook", "menu"}
    assert ask.embedder.questions == ask.embedder.texts == []
    assert "soup" in bundle.evidence[0].text.casefold()
    assert bundle.evidence[0].score_vec is None


def test_a_callers_own_vector_is_searched_by(ask: Asked, model: Embedder) -> None:
    vector = (7 * model.embed_query("what is there to eat?")).tolist()
    bundle = ask("zzz", vector={"embed_query": False, "query_vector": vector}, scoring={"w_text": 0, "w_vec": 1})
    assert ids(bundle)[0] == "menu"
    assert ask.embedder.questions == []
    with pytest.raises(InvalidInput, match=r"vector.query_vector has 2 numbers: .* vectors of 384"):
        ask("zzz", vector={"query_vector": [1.0, 2.0]})


@pytest.mark.parametrize("distance", ["cosine", "l2", "ip"])
def test_scores_are_on_the_scale_of_the_distance(ask: Asked, model: Embedder, distance: str) -> None:
    query = "keys of all backups"
    cosine = float(model.embed_query(query) @ model.embed([DOCUMENTS["vault"]])[0])
    expected = {"cosine": (1 + cosine) / 2, "l2": 1 / (1 + np.sqrt(2 - 2 * cosine)), "ip": cosine}[distance]
    bundle = ask(query, vector={"distance": distance})
    vault = next(each for each in bundle.candidates if each.item_id == "vault")
    assert vault.score_vec == pytest.approx(expected, abs=2e-3)
    proof = next(each for each in bundle.evidence if each.item_id == "vault")
    assert proof.score_vec == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("distance", ["cosine", "l2", "ip"])
def test_min_score_acts_on_that_scale(ask: Asked, distance: str) -> None:
    only_meaning = {"w_text": 0, "w_vec": 1}
    scores = [each.score_vec for each in ask(vector={"distance": distance}, scoring=only_meaning).candidates]
    assert None not in scores
    least = sorted(score for score in scores if score is not None)[-2]
    assert len(ids(ask(vector={"distance": distance, "min_score": least}, scoring=only_meaning))) == 2


# One ranking.


def test_weights_and_blend_and_normalize_decide_the_score(ask: Asked) -> None:
    def scores(**scoring: Any) -> list[float]:
        return [each.score for each in ask("keys of all backups", scoring=scoring).candidates]

    linear = {name: scores(blend="linear", normalize=name) for name in ("minmax", "zscore", "sigmoid", "none")}
    assert len({tuple(each) for each in linear.values()}) == 4
    assert linear["minmax"][0] == 1.0
    both = scores(blend="rrf", rrf_k=0, w_text=0.5, w_vec=0.5)
    assert both[0] == 1.0
    assert scores(blend="rrf", rrf_k=60)[1] > scores(blend="rrf", rrf_k=0)[1]
    assert ids(ask("soup", scoring={"w_text": 1, "w_vec": 0})) != ids(ask("soup", scoring={"w_text": 0, "w_vec": 1}))


def test_the_fused_score_has_a_floor_too(ask: Asked) -> None:
    scores = [each.score for each in ask().candidates]
    assert [each.score for each in ask(scoring={"min_score": scores[1]}).candidates] == scores[:2]


def test_filters_hold_for_candidates_and_evidence(ask: Asked) -> None:
    bundle = ask(filters={"pages": {"lt": 100}})
    assert set(ids(bundle)) == {name for name, text in DOCUMENTS.items() if len(text) < 100}
    assert {each.item_id for each in bundle.evidence} <= set(ids(bundle))


# Chunking.


def test_the_index_is_cut_as_the_default_asks_so_nothing_is_embedded_again(ask: Asked) -> None:
    counts = ask(debug=True).stats.counts
    assert (counts["chunks_embedded"], counts["chunks_from_cache"]) == (0, 0)
    assert counts["chunks_from_index"] >= len(DOCUMENTS)


def test_another_size_needs_no_second_ingest(ask: Asked) -> None:
    bundle = ask(chunking={"max_chunk_tokens": 40}, debug=True)
    assert all((each.token_count or 0) <= 40 for each in bundle.evidence)
    assert bundle.stats.counts["chunks_embedded"] == len(ask.embedder.texts) > len(DOCUMENTS)
    assert bundle.stats.params["chunker"] == "auto-4/max=40/overlap=0"


def test_another_chunker_and_an_overlap_are_used(ask: Asked) -> None:
    apart = ask(chunking={"chunker_id": "tokens", "max_chunk_tokens": 40}, top_k_chunks=50, per_item_chunk_cap=50)
    shared = ask(chunking={"chunker_id": "tokens", "max_chunk_tokens": 40, "overlap_tokens": 10}, top_k_chunks=50, per_item_chunk_cap=50)

    def overlaps(bundle: RetrievalBundle) -> bool:
        own = sorted((start, end) for name, start, end in spans(bundle) if name == "handbook" and start is not None and end is not None)
        return any(following[0] < before[1] for before, following in pairwise(own))

    assert not overlaps(apart)
    assert overlaps(shared)
    with pytest.raises(InvalidInput, match=r"there is no chunker 'scissors': use auto, markdown, prose, code, tokens"):
        ask(chunking={"chunker_id": "scissors"})
    with pytest.raises(InvalidInput, match=r"overlap_tokens is 30: give 0 to 20"):
        ask(chunking={"max_chunk_tokens": 40, "overlap_tokens": 30})


def test_headers_are_embedded_with_a_chunk_only_when_wanted(ask: Asked) -> None:
    ask(chunking={"max_chunk_tokens": 40})
    assert any(text.startswith("Handbook\n") for text in ask.embedder.texts)
    ask.embedder.texts.clear()
    bundle = ask(chunking={"max_chunk_tokens": 40, "include_headers": False})
    assert ask.embedder.texts
    assert not any("Handbook" in text for text in ask.embedder.texts)
    assert all(each.text == DOCUMENTS[each.item_id][each.start_idx : each.end_idx] for each in bundle.evidence)


def test_precomputed_chunks_are_those_of_the_ingest(ask: Asked) -> None:
    other = {"max_chunk_tokens": 40}
    assert spans(ask(chunking={"strategy": "precomputed", **other})) == spans(ask())
    assert spans(ask(chunking={"strategy": "mixed", **other})) == spans(ask())
    assert ask.embedder.texts == []


def test_mixed_cuts_what_the_ingest_did_not(model: Embedder, tmp_path: Path) -> None:
    embedder = Stub(model)
    words_only = Library.open(tmp_path / "store", options=Settings.model_validate({"embed": {"model": "none"}}))
    with words_only.sync() as library:
        library.add(items())
    library = Library.open(tmp_path / "store", embedder=embedder, options=Settings())
    asked = Asked(library, embedder)
    assert asked(chunking={"strategy": "precomputed"}).evidence == []
    bundle = asked("backups", chunking={"strategy": "mixed"})
    assert bundle.evidence
    assert bundle.evidence[0].score_vec is not None
    assert embedder.texts
    asyncio.run(library.close())


def test_a_store_without_vectors_has_evidence_by_words(tmp_path: Path) -> None:
    with Library.open(tmp_path / "store", options=Settings.model_validate({"embed": {"model": "none"}})).sync() as library:
        library.add(items())
        bundle = library.search("rotating keys of backups", chunking={"max_chunk_tokens": 64})
    assert "key that rotates" in bundle.evidence[0].text
    assert bundle.evidence[0].score_vec is None


def test_contextual_vectors_know_the_document(place: Path, model: Embedder) -> None:
    def answers(library: Library, pooling: str) -> RetrievalBundle:
        prefs = RetrievalPrefs(query_text="how are backups encrypted?", chunking={"max_chunk_tokens": 64, "pooling": pooling})  # type: ignore[arg-type]
        return asyncio.run(library.retriever.search(RequestContext("default"), prefs))

    library = Library.open(place, embedder=model, options=Settings())
    plain, contextual = (answers(library, pooling) for pooling in ("plain", "contextual"))
    assert {each.chunk_id for each in plain.evidence} == {each.chunk_id for each in contextual.evidence}
    assert [each.score_vec for each in plain.evidence] != [each.score_vec for each in contextual.evidence]
    assert "backup" in contextual.evidence[0].text.casefold()
    asyncio.run(library.close())


def test_a_model_without_token_vectors_says_so(ask: Asked) -> None:
    with pytest.raises(InvalidInput, match=r"chunking.pooling is 'contextual': the model .* gives no vectors of tokens"):
        ask(chunking={"pooling": "contextual"})


def test_contextual_vectors_are_never_those_of_the_index(place: Path, model: Embedder) -> None:
    library = Library.open(place, embedder=model, options=Settings())
    prefs = {"query_text": "backups", "chunking": {"pooling": "contextual"}, "cache": {"use_chunk_cache": False}, "debug": True}
    counts = asyncio.run(library.retriever.search(RequestContext("default"), prefs)).stats.counts  # type: ignore[arg-type]
    assert counts["chunks_from_index"] == 0 < counts["chunks_embedded"]
    with pytest.raises(InvalidInput, match="ask for the strategy 'late'"):
        asyncio.run(library.search("x", chunking={"pooling": "contextual", "strategy": "precomputed"}))
    asyncio.run(library.close())


def test_chunks_side_by_side_are_one_piece_unless_their_size_is_asked_for(model: Embedder, tmp_path: Path) -> None:
    text = "\n\n".join(f"Backups of server {n} are encrypted with a key that is kept in vault number {n}." for n in range(40))
    options = Settings.model_validate({"ingest": {"chunk_tokens": 100}})
    with Library.open(tmp_path / "store", embedder=model, options=options).sync() as library:
        library.add_text(text, item_id="note")
        joined = library.search("encrypted backups", chunks=4, chunks_per_item=4).evidence
        apart = library.search("encrypted backups", chunks=4, chunks_per_item=4, chunking={"max_chunk_tokens": 100}).evidence
    assert max(each.token_count or 0 for each in apart) <= 100 < max(each.token_count or 0 for each in joined) <= 350
    for each in joined:
        assert each.text == text[each.start_idx : each.end_idx]
        assert each.anchors is not None
        assert text.splitlines()[each.anchors.line_end - 1] == each.text.splitlines()[-1]


def test_a_chunk_is_never_longer_than_the_model_reads(ask: Asked) -> None:
    bundle = ask(chunking={"max_chunk_tokens": 100_000, "overlap_tokens": 400}, debug=True)
    assert bundle.stats.params["chunker"] == "auto-4/max=456/overlap=228"


def test_the_depth_is_how_many_hits_a_route_is_asked_for(ask: Asked) -> None:
    assert ask("backups keys soup", top_k_items=1, scoring={"depth": 2}, debug=True).stats.counts["vector"] == 2


# The cache.

SMALL = {"max_chunk_tokens": 40}


def test_what_was_cut_once_is_kept(ask: Asked) -> None:
    first = ask(chunking=SMALL, debug=True)
    embedded = len(ask.embedder.texts)
    second = ask(chunking=SMALL, debug=True)
    assert len(ask.embedder.texts) == embedded == first.stats.counts["chunks_embedded"] == second.stats.counts["chunks_from_cache"]
    assert second.model_dump(exclude={"stats"}) == first.model_dump(exclude={"stats"})


def test_deleting_the_cache_changes_no_answer(ask: Asked) -> None:
    first = ask(chunking=SMALL)
    assert ask.run(lambda: ask.library.store.clear_cache("default")) == len(DOCUMENTS)
    assert ask(chunking=SMALL).model_dump_json() == first.model_dump_json()


def test_the_cache_is_left_alone_when_it_is_not_wanted(ask: Asked) -> None:
    ask(chunking=SMALL, cache={"write_chunk_cache": False})
    embedded = len(ask.embedder.texts)
    ask(chunking=SMALL)
    assert len(ask.embedder.texts) == 2 * embedded
    ask(chunking=SMALL, cache={"use_chunk_cache": False})
    assert len(ask.embedder.texts) == 3 * embedded
    ask(chunking=SMALL)
    assert len(ask.embedder.texts) == 3 * embedded


def test_kept_chunks_grow_old(ask: Asked) -> None:
    def at(seconds: float) -> int:
        ctx = RequestContext("default", clock=lambda: AT + timedelta(seconds=seconds))
        ask.embedder.texts.clear()
        ask(ctx=ctx, chunking=SMALL, cache={"ttl_seconds": 60.0})
        return len(ask.embedder.texts)

    assert at(0) > 0
    assert at(59) == 0
    assert at(121) > 0
    assert at(122) == 0


def test_changed_content_is_cut_again_at_once(model: Embedder, tmp_path: Path) -> None:
    embedder = Stub(model)
    with Library.open(tmp_path / "store", embedder=embedder, options=Settings()).sync() as library:
        library.add_text("Backups are made at night. They are kept in a vault.", item_id="note")
        assert "night" in library.search("backups", chunking={"max_chunk_tokens": 16}).evidence[0].text
        library.add_text("Backups are made at noon. They are kept in a vault.", item_id="note")
        found = library.search("backups", chunking={"max_chunk_tokens": 16}).evidence
        assert "noon" in found[0].text
        assert not any("night" in each.text for each in found)
        assert library.status().cache.entries == 1


def test_a_damaged_entry_is_not_believed(place: Path, ask: Asked) -> None:
    good = ask(chunking=SMALL)
    with closing(sqlite3.connect(place / "recollect.db")) as database, database:
        assert database.execute("UPDATE chunk_cache SET data = x'6261642064617461'").rowcount == len(DOCUMENTS)
    embedded = len(ask.embedder.texts)
    assert ask(chunking=SMALL).model_dump_json() == good.model_dump_json()
    assert len(ask.embedder.texts) == 2 * embedded


def test_chunks_cut_by_another_models_tokens_are_not_taken_for_ones_own(place: Path, model: Embedder) -> None:
    """Where no vectors are made, the chunks still depend on whose tokens are counted."""

    class Letters:
        def starts(self, text: str) -> Any:
            return np.arange(len(text), dtype=np.int64)

    def spans_by(embedder: Stub, **cache: bool) -> list[tuple[str, int | None, int | None]]:
        library = Library.open(place, embedder=embedder, options=Settings())
        prefs = RetrievalPrefs(query_text="backups", scoring={"w_text": 1, "w_vec": 0}, chunking=SMALL, cache=cache)  # type: ignore[arg-type]
        bundle = asyncio.run(library.retriever.search(RequestContext("default", clock=lambda: AT), prefs))
        asyncio.run(library.close())
        return spans(bundle)

    other = Stub(model)
    other.model_id, other.tokens = "letters", Letters()
    alone = spans_by(other, use_chunk_cache=False, write_chunk_cache=False)
    own = spans_by(Stub(model))
    assert spans_by(other) == alone != own


def test_content_that_changes_during_a_search_is_not_cut_by_the_chunks_of_the_new_one(model: Embedder, tmp_path: Path) -> None:
    before, after = "Backups are made at night. " * 30, "Soup."
    library = Library.open(tmp_path / "store", embedder=model, options=Settings())

    async def body() -> RetrievalBundle:
        await library.add_text(before, item_id="note")
        original = library.store.get

        async def get_then_change(scope: str, ids: Sequence[str]) -> Any:
            found = await original(scope, ids)
            library.store.get = original  # type: ignore[method-assign]
            await library.add_text(after, item_id="note")
            return found

        library.store.get = get_then_change  # type: ignore[method-assign]
        return await library.search("backups at night")

    found = asyncio.run(body())
    assert "".join(each.text for each in found.evidence).count("Backups are made at night.") == 30
    asyncio.run(library.close())


# Snippets.


def test_a_snippet_is_of_the_chunk_or_of_the_document(ask: Asked) -> None:
    query = "free coffee for everyone"
    of_chunk = ask(query, chunking=SMALL, snippet={"max_chars": 60}).candidates[0]
    assert (of_chunk.snippet_from, of_chunk.item_id) == ("chunk", "handbook")
    of_document = ask(query, chunking=SMALL, snippet={"max_chars": 60, "prefer_chunk_snippet": False}).candidates[0]
    assert of_document.snippet_from == "doc"
    for each in (of_chunk, of_document):
        assert each.snippet is not None
        assert len(each.snippet) <= 60
        assert any(each.snippet[start:end] == "coffee" for start, end in each.snippet_marks)


# The same every time.


def test_the_same_question_gives_the_same_bytes(ask: Asked) -> None:
    first = ask(chunking=SMALL, debug=True)
    again = [ask(chunking=SMALL, debug=True).model_dump_json() for _ in range(2)]
    assert again[0] == again[1]
    assert {**json.loads(again[0]), "stats": None} == {**json.loads(first.model_dump_json()), "stats": None}
    assert set(first.stats.timing_ms.values()) == {0.0}, "the clock stood still"


def test_concurrent_questions_give_the_same_bytes(ask: Asked) -> None:
    alone = ask(chunking=SMALL).model_dump_json()

    async def together() -> list[RetrievalBundle]:
        prefs = RetrievalPrefs(query_text="how are backups encrypted?", chunking=SMALL)  # type: ignore[arg-type]
        ctx = RequestContext("default", clock=lambda: AT)
        return await asyncio.gather(*(ask.library.retriever.search(ctx, prefs) for _ in range(8)))

    assert {bundle.model_dump_json() for bundle in ask.run(together)} == {alone}


def test_another_process_gives_the_same_bytes(place: Path, ask: Asked) -> None:
    script = (
        "import asyncio, sys; from datetime import UTC, datetime; from recollect import *; from recollect.settings import Settings\n"
        "library = Library.open(sys.argv[1], options=Settings())\n"
        "ctx = RequestContext('default', clock=lambda: datetime(2026, 3, 1, 12, tzinfo=UTC))\n"
        "prefs = RetrievalPrefs(query_text='how are backups encrypted?', chunking={'max_chunk_tokens': 40})\n"
        "sys.stdout.write(asyncio.run(library.retriever.search(ctx, prefs)).model_dump_json())\n"
    )
    expected = ask(chunking=SMALL).model_dump_json()
    environ = {**os.environ, "PYTHONHASHSEED": "7"}
    assert subprocess.run([sys.executable, "-c", script, place], capture_output=True, text=True, check=True, env=environ).stdout == expected


def test_a_scope_sees_only_its_own(ask: Asked) -> None:
    assert ask(ctx=RequestContext("somebody-else")).candidates == []


# What is wrong.


@pytest.mark.parametrize(
    ("vector", "told"),
    [([1.0, 2.0], "has 2 numbers"), ([0.0] * 384, "not all 0"), ([float("nan")] * 384, "finite")],
    ids=["short", "zero", "nan"],
)
def test_a_vector_that_cannot_be_searched_by(ask: Asked, vector: list[float], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        ask(vector={"query_vector": vector})


@pytest.mark.parametrize("size", [1e-320, 1e-30, 1.0, 1e300])
def test_the_length_of_a_callers_vector_does_not_matter(ask: Asked, model: Embedder, size: float) -> None:
    vector = [size * each for each in model.embed_query("what is there to eat?").tolist()]
    if not any(vector):
        pytest.skip("nothing is left of so small a vector")
    bundle = ask("soup", vector={"query_vector": vector})
    assert all(np.isfinite(each.score) for each in bundle.evidence)
    assert "soup" in bundle.evidence[0].text.casefold()


def test_a_callers_vector_needs_no_model(place: Path, model: Embedder, tmp_path: Path) -> None:
    vector = model.embed_query("what is there to eat?").tolist()
    words_only = Settings.model_validate({"embed": {"model": "none"}})
    for folder in (place, tmp_path / "empty"):
        with Library.open(folder, options=words_only).sync() as library:
            if folder != place:
                library.add(items())
            for chunking in ({}, SMALL, {"strategy": "mixed"}):
                found = library.retrieve({"query_text": "soup", "vector": {"query_vector": vector}, "chunking": chunking})
                assert "soup" in found.evidence[0].text.casefold()


@pytest.mark.parametrize(
    ("ctx", "told"),
    [
        (lambda: RequestContext("default", cancellation=5), "the cancellation is 5"),  # type: ignore[arg-type]
        (lambda: RequestContext("default", clock=5), "the clock is 5"),  # type: ignore[arg-type]
        (lambda: RequestContext("default", clock=lambda: datetime(2026, 1, 1)), "a time with its zone"),
        (lambda: RequestContext("default", request_id=5), "the request_id is 5"),  # type: ignore[arg-type]
        (lambda: None, "give a RequestContext"),
    ],
)
def test_a_context_that_makes_no_sense_is_told(ask: Asked, ctx: Callable[[], RequestContext], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        ask.run(lambda: ask.library.retriever.search(ctx(), RetrievalPrefs(query_text="x")))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"deadline_s": "2"}, "deadline_s is '2'"),
        ({"deadline_s": float("nan")}, "deadline_s is nan"),
        ({"cancellation": 5}, "the cancellation is 5"),
        ({"weights": [1, 2]}, r"weights is \[1, 2\]"),
        ({"facets": 5}, "facets is 5"),
        ({"min_similarity": "x"}, "min_similarity is 'x'"),
        ({"mode": ""}, "mode is ''"),
        ({"chunking": 0}, "chunking is 0"),
        ({"chunking": {"chunker_id": "nope"}, "chunks": 0}, "there is no chunker 'nope'"),
        ({"cache": {"ttl_seconds": 1e300}}, "ttl_seconds is 1e"),
        ({"snippet_chars": 10**400}, "snippet_chars is 1000"),
        ({"weights": {"text": 1e308, "vector": 1e308}}, "w_text is 1e"),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_told_in_one_line(ask: Asked, options: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as refused:
        ask.run(lambda: ask.library.search("x", **options))
    assert "\n" not in str(refused.value)


def test_the_model_is_asked_nothing_on_the_event_loop(place: Path, model: Embedder) -> None:
    """An endpoint has to be asked how long its vectors are: nobody else may wait for that."""

    class Distant(Stub):
        @property
        def dim(self) -> int:
            with pytest.raises(RuntimeError):
                asyncio.get_running_loop()
            return 384

        @dim.setter
        def dim(self, _: int) -> None: ...

    vector = model.embed_query("what is there to eat?").tolist()
    library = Library.open(place, embedder=Distant(model), options=Settings())
    assert asyncio.run(library.retrieve({"query_text": "soup", "vector": {"query_vector": vector}})).evidence
    asyncio.run(library.close())


def test_another_model_that_takes_over_meanwhile_is_noticed(model: Embedder, tmp_path: Path) -> None:
    library = Library.open(tmp_path / "store", embedder=model, options=Settings())
    other = Stub(model)
    other.model_id = "another"

    class Switching(Stub):
        def embed_query(self, text: str) -> Vector:
            moved = Library.open(tmp_path / "store", embedder=other, options=Settings())
            asyncio.run(moved.reembed())
            asyncio.run(moved.close())
            return super().embed_query(text)

    async def body() -> None:
        await library.add(items())
        async with Library.open(tmp_path / "store", embedder=Switching(model), options=Settings()) as asking:
            with pytest.raises(ModelMismatch, match="'another'"):
                await asking.search("soup")
        await library.close()

    asyncio.run(body())


def test_a_search_after_closing_says_so(model: Embedder, tmp_path: Path) -> None:
    library = Library.open(tmp_path / "store", embedder=model, options=Settings())
    asyncio.run(library.close())
    with pytest.raises(StoreError, match="is closed: open it again"):
        asyncio.run(library.search("x"))


# Stopping.


def test_a_deadline_that_is_over_stops_before_any_work(ask: Asked) -> None:
    late = RequestContext("default", "r-7", clock=lambda: AT, deadline=AT)
    with pytest.raises(DeadlineExceeded, match="r-7"):
        ask(ctx=late)
    assert ask.embedder.questions == []


class Slow(Stub):
    """Raises a flag, or lets the deadline pass, while it embeds passages."""

    def __init__(self, inner: Embedder, cancellation: Cancellation) -> None:
        super().__init__(inner)
        self._cancellation = cancellation

    def embed(self, texts: Sequence[str]) -> Vector:
        rows = []
        for place, text in enumerate(texts):
            if place == 2:
                self._cancellation.cancel()
            from recollect.cancellation import current

            current().sleep(0.02)
            rows.append(super().embed([text])[0])
        return np.array(rows)


def test_cancelling_in_the_middle_of_embedding_stops_it_and_keeps_nothing(place: Path, model: Embedder) -> None:
    cancellation = Cancellation()
    embedder = Slow(model, cancellation)
    library = Library.open(place, embedder=embedder, options=Settings())

    async def body() -> tuple[int, int]:
        await library.store.clear_cache("default")
        with pytest.raises(Cancelled):
            await library.search("backups", chunking=SMALL, cancellation=cancellation)
        await library.close()  # waits for whatever still runs
        return len(embedder.texts), (await reopened_entries())

    async def reopened_entries() -> int:
        async with Library.open(place, embedder=model, options=Settings()) as again:
            return (await again.status()).cache.entries

    embedded, entries = asyncio.run(body())
    assert embedded <= 4
    assert entries == 0
