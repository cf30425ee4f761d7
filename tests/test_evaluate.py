"""An evaluation from end to end: documents taken in, questions asked, answers held against what was expected."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pytest

from recollect import InvalidInput, Item, Library, ModelMismatch
from recollect.embed import open_embedder
from recollect.evaluate import (
    CachedEmbedder,
    Dataset,
    Evaluation,
    Failure,
    Query,
    ask,
    check,
    compare,
    evaluate,
    fitting_profile,
    prepare,
    worst,
)
from recollect.evaluate.running import ranking_of
from recollect.ingest import Progress
from recollect.settings import Settings

T = TypeVar("T")
NOW = datetime(2024, 1, 1, tzinfo=UTC)
TEXTS = {
    "backup": "Every night the database is copied to another building and encrypted.",
    "deploy": "A release is rolled out to one server first, then to all servers.",
    "cats": "The cat sleeps on the warm keyboard. A cat hunts at dusk.",
    "dogs": "Dogs are walked twice a day. The cat is not.",
}
WORDS = Settings.model_validate({"embed": {"model": "none"}})


def item(item_id: str, text: str, **more: object) -> Item:
    return Item(scope="x", id=item_id, title=item_id.title(), text=text, created_at=NOW, updated_at=NOW, **more)  # type: ignore[arg-type]


DATASET = Dataset(
    name="pets",
    documents=tuple(item(name, text) for name, text in TEXTS.items()),
    queries=(
        Query("q1", "where does the cat sleep"),
        Query("q2", "database encrypted"),
        Query("q3", "zebra keyboard"),
        Query("q4", "unicorns"),
    ),
    qrels={"q1": {"cats": 2, "dogs": 1}, "q2": {"backup": 1}, "q3": {"deploy": 1, "cats": 0}},
    evidence={"q2": (("backup", 0, 30),), "q1": (("cats", 0, 36), ("dogs", 29, 44))},
    haystacks={"q1": ("dogs", "backup"), "q2": ("backup", "cats"), "q3": ("backup", "cats"), "q4": ("dogs",)},
)


def with_library(work: Callable[[Library], Awaitable[T]], place: Path, **options: object) -> T:
    async def run() -> T:
        async with Library.open(place, scope="eval-pets", **{"options": WORDS, **options}) as library:  # type: ignore[arg-type]
            return await work(library)

    return asyncio.run(run())


def test_questions_are_held_against_what_is_expected(tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []

    def report(progress: Progress) -> None:
        seen.append((progress.items_done, progress.items_total))

    evaluation = with_library(lambda library: evaluate(library, DATASET, report=report), tmp_path)
    by_id = {answer.query.id: answer for answer in evaluation.answers}
    assert by_id["q1"].ranking[0] == "cats"
    assert by_id["q1"].values["nDCG@10"] == 1.0
    assert by_id["q2"].values["MRR"] == 1.0
    assert by_id["q3"].values["nDCG@10"] == 0.0
    assert by_id["q3"].ranking == ("cats",)
    assert by_id["q4"].values == {}
    assert all(answer.ms > 0 for answer in evaluation.answers)
    assert (evaluation.documents, len(evaluation.answers), evaluation.judged) == (4, 4, 3)
    assert evaluation.values["MRR"] == pytest.approx(2 / 3)
    assert evaluation.values["hits@1"] == pytest.approx(2 / 3)
    assert evaluation.indexing is not None
    assert evaluation.indexing.added == 4
    assert seen[-4:] == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_the_numbers_are_one_flat_object(tmp_path: Path) -> None:
    flat = with_library(lambda library: evaluate(library, DATASET), tmp_path).flat()
    assert json.loads(json.dumps(flat)) == flat
    assert list(flat)[:11] == [
        *("dataset", "documents", "questions", "judged", "profile", "profile_reason", "model"),
        *("nDCG@10", "MRR", "MRR@10", "MAP"),
    ]
    assert flat["MRR"] == 0.666667
    assert flat["model"] is None
    assert 0 < flat["latency_p50_ms"] <= flat["latency_p95_ms"]


def test_a_second_run_takes_nothing_in_and_gives_the_same(tmp_path: Path) -> None:
    first, second = (with_library(lambda library: evaluate(library, DATASET), tmp_path) for _ in range(2))
    assert second.indexing is not None
    assert (second.indexing.added, second.indexing.changed, second.indexing.unchanged) == (0, 0, 4)
    assert [answer.ranking for answer in first.answers] == [answer.ranking for answer in second.answers]


def test_a_changed_document_is_taken_in_again(tmp_path: Path) -> None:
    with_library(lambda library: prepare(library, DATASET), tmp_path)
    changed = replace(DATASET, documents=(item("backup", "There are none."), *DATASET.documents[1:]))
    report = with_library(lambda library: prepare(library, changed), tmp_path)
    assert (report.changed, report.unchanged) == (1, 3)


def test_a_scope_with_other_things_in_it_is_refused_and_kept(tmp_path: Path) -> None:
    async def work(library: Library) -> int:
        await library.add_text("My own note.", item_id="mine")
        with pytest.raises(InvalidInput, match="'eval-pets' holds 1 items that are not of 'pets', such as 'mine'"):
            await evaluate(library, DATASET)
        return (await library.status()).items

    assert with_library(work, tmp_path) == 1


def test_a_store_of_words_gets_its_vectors_when_a_model_comes(tmp_path: Path) -> None:
    with_library(lambda library: prepare(library, DATASET), tmp_path)
    model = open_embedder("granite", cache_dir=Settings().embed.cache_dir)

    async def work(library: Library) -> list[int | None]:
        await prepare(library, DATASET)
        return [found.rank_vec for found in (await library.search("a sleeping animal")).candidates]

    ranks = with_library(work, tmp_path, options=Settings(), embedder=model)
    assert sorted(rank for rank in ranks if rank) == [1, 2, 3, 4]


def test_vectors_that_were_kept_are_not_counted_as_embedded(tmp_path: Path) -> None:
    for kept in (0, 4):
        model = CachedEmbedder(open_embedder("granite", cache_dir=Settings().embed.cache_dir), tmp_path / "vectors")
        report = with_library(lambda library: prepare(library, DATASET), tmp_path / f"store{kept}", options=Settings(), embedder=model)
        assert (report.added, report.chunks_embedded, report.chunks_reused) == (4, 4 - kept, kept)


def test_another_chunking_than_the_store_has_is_refused(tmp_path: Path) -> None:
    model = open_embedder("granite", cache_dir=Settings().embed.cache_dir)
    with_library(lambda library: prepare(library, DATASET), tmp_path, options=Settings(), embedder=model)
    smaller = Settings.model_validate({"ingest": {"chunk_tokens": 20}})
    with pytest.raises(ModelMismatch, match="chunk_tokens"):
        with_library(lambda library: prepare(library, DATASET), tmp_path, options=smaller, embedder=model)


def test_spans_are_measured_by_characters_and_by_tokens(tmp_path: Path) -> None:
    model = open_embedder("granite", cache_dir=Settings().embed.cache_dir)
    evaluation = with_library(lambda library: evaluate(library, DATASET), tmp_path, options=Settings(), embedder=model)
    found = next(answer.values for answer in evaluation.answers if answer.query.id == "q2")
    # The whole document is one chunk.
    assert found["span_coverage@1"] == found["span_coverage_tokens@1"] == 1.0
    assert found["span_precision@1"] == pytest.approx(30 / len(TEXTS["backup"]))
    starts = model.tokens.starts(TEXTS["backup"])
    assert found["span_precision_tokens@1"] == pytest.approx(sum(starts < 30) / len(starts))
    assert 0 < evaluation.values["span_coverage@1"] < 1


def test_a_haystack_is_all_that_a_question_is_asked_of(tmp_path: Path) -> None:
    evaluation = with_library(lambda library: evaluate(library, DATASET, haystacks=True), tmp_path)
    by_id = {answer.query.id: answer.ranking for answer in evaluation.answers}
    assert by_id["q1"] == ("dogs",)
    assert by_id["q3"] == ("cats",)


def test_a_question_without_a_haystack_is_told(tmp_path: Path) -> None:
    few = replace(DATASET, haystacks={"q1": ("dogs",)})
    with pytest.raises(InvalidInput, match=r"has no documents for 3 questions, such as 'q2'"):
        with_library(lambda library: check(library, few, haystacks=True), tmp_path)


def test_what_was_not_looked_at_is_not_measured(tmp_path: Path) -> None:
    async def work(library: Library) -> tuple[Evaluation, list[Failure]]:
        evaluation = await evaluate(library, DATASET, k=3, chunks=5)
        return evaluation, await worst(library, DATASET, evaluation, 9)

    evaluation, failures = with_library(work, tmp_path)
    assert list(evaluation.values) == [
        "MRR",
        "MAP",
        "R@1",
        "hits@1",
        "better_first",
        "span_found",
        *(f"span_{what}@{n}" for n in (1, 5) for what in ("coverage", "precision")),
    ]
    assert [(failure.id, failure.measure, failure.value) for failure in failures] == [("q3", "MRR", 0.0)]
    assert [each.measure for each in compare(evaluation, evaluation, rounds=10)] == list(evaluation.values)


def test_only_the_chosen_questions_are_asked(tmp_path: Path) -> None:
    async def work(library: Library) -> list[set[str]]:
        await prepare(library, DATASET)
        runs = [await ask(library, DATASET, half="train"), await ask(library, DATASET, half="test"), await ask(library, DATASET, limit=3)]
        return [{answer.query.id for answer in run.answers} for run in runs]

    train, test, few = with_library(work, tmp_path)
    assert train | test == {"q1", "q2", "q3", "q4"}
    assert not train & test
    assert len(few) == 3


def test_other_numbers_reach_the_search(tmp_path: Path) -> None:
    async def work(library: Library) -> list[int]:
        await prepare(library, DATASET)
        return [len(answer.ranking) for answer in (await ask(library, DATASET, k=1, profile="graph", rrf_k=3)).answers]

    assert with_library(work, tmp_path) == [1, 1, 1, 0]


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"profile": "poems"}, "there is no profile 'poems'"),
        ({"blend": "smoothie"}, "blend is 'smoothie': use rrf or linear"),
        ({"mode": "odd"}, "mode is 'odd': use web, any"),
        ({"k": 0}, "k is 0"),
        ({"weights": {"smell": 1}}, "there is no route 'smell'"),
        ({"half": "third"}, "there is no half 'third'"),
        ({"limit": -1}, "limit is -1"),
    ],
)
def test_wrong_options_are_told_before_anything_is_taken_in(how: dict[str, object], told: str, tmp_path: Path) -> None:
    async def work(library: Library) -> int:
        with pytest.raises(InvalidInput, match=told):
            await evaluate(library, DATASET, **how)  # type: ignore[arg-type]
        return (await library.status()).items

    assert with_library(work, tmp_path) == 0


def test_questions_that_cannot_be_judged_are_told(tmp_path: Path) -> None:
    unjudged = replace(DATASET, qrels={"q3": {"cats": 0}})
    with pytest.raises(InvalidInput, match="none of the 4 questions to ask of 'pets' has a judgment"):
        with_library(lambda library: check(library, unjudged), tmp_path)
    with pytest.raises(InvalidInput, match=r"has no haystacks.jsonl"):
        with_library(lambda library: check(library, replace(DATASET, haystacks=None), haystacks=True), tmp_path)


def test_near_duplicates_follow_the_one_they_are_folded_into(tmp_path: Path) -> None:
    text = "The quarterly report of the harbour master lists every vessel that came in during the storm. " * 3
    twins = replace(DATASET, documents=(item("one", text), item("two", text), item("three", "A vessel.")))

    async def work(library: Library) -> tuple[str, ...]:
        await prepare(library, twins)
        return ranking_of(await library.search("harbour vessel storm"))

    assert with_library(work, tmp_path) == ("one", "two", "three")


def test_code_is_asked_with_the_profile_for_code_unless_the_settings_name_another() -> None:
    code = replace(DATASET, documents=tuple(item(name, text, format="code") for name, text in TEXTS.items()))
    named = Settings.model_validate({"search": {"profile": "graph"}})
    assert fitting_profile(DATASET, Settings().search) == ("documents", "the default")
    assert fitting_profile(code, Settings().search) == ("code", "most documents are code")
    assert fitting_profile(code, named.search) == ("graph", "by the settings")


# The questions that went worst.


def test_the_graph_of_a_dataset_is_taken_in_and_asked_by_its_profile(tmp_path: Path) -> None:
    graph = (
        b'{"doc_id": "backup", "entities": ["Vault"]}\n',
        b'{"doc_id": "deploy", "entities": ["Vault"]}\n',
        b'{"doc_id": "gone", "entities": []}\n',
    )
    dataset = replace(DATASET, queries=(Query("q1", "database encrypted"),), qrels={"q1": {"deploy": 1}}, graph=graph)
    assert fitting_profile(dataset, WORDS.search) == ("graph", "it comes with a graph")
    evaluation = with_library(lambda library: evaluate(library, dataset), tmp_path)
    assert evaluation.profile == "graph"
    assert evaluation.answers[0].ranking == ("backup", "deploy")
    assert evaluation.indexing is not None
    assert [problem.ref for problem in evaluation.indexing.problems] == ["graph.jsonl:3"]
    alone = with_library(lambda library: evaluate(library, dataset, profile="documents"), tmp_path)
    assert alone.answers[0].ranking == ("backup",)


def test_the_worst_questions_show_what_was_expected_and_what_came(tmp_path: Path) -> None:
    dataset = replace(DATASET, qrels={**DATASET.qrels, "q1": {"cats": 1, "dogs": 2}})

    async def work(library: Library) -> list[Failure]:
        evaluation = await evaluate(library, dataset)
        return await worst(library, dataset, evaluation, 3)

    # The question that is answered perfectly is not among them.
    first, second = with_library(work, tmp_path)
    assert (first.id, first.measure, first.value, first.depth) == ("q3", "nDCG@10", 0.0, 1)
    (expected,) = first.expected
    assert (expected.id, expected.title, expected.rank) == ("deploy", "Deploy", None)
    assert expected.said == "words: none of the question's words occur in it"
    (instead,) = first.instead
    assert (instead.id, instead.rank, instead.why) == ("cats", 1, "found by its words (rank 1)")
    assert 0 < second.value < 1
    assert second.id == "q1"
    assert [(each.id, each.grade, each.rank, each.said) for each in second.expected] == [
        ("dogs", 2, 2, "found by its words (rank 2)"),
        ("cats", 1, 1, "found by its words (rank 1)"),
    ]


def test_what_no_route_brought_is_asked_for_alone(tmp_path: Path) -> None:
    dataset = replace(DATASET, queries=(Query("q", "cat"),), qrels={"q": {"dogs": 1, "gone": 1}}, evidence={})

    async def work(library: Library) -> list[tuple[int | None, str]]:
        evaluation = await evaluate(library, dataset, k=1)
        (failure,) = await worst(library, dataset, evaluation, 5)
        return [(each.rank, each.said) for each in failure.expected]

    dogs, gone = with_library(work, tmp_path)
    assert dogs[0] is None
    assert dogs[1].startswith("words: score ")
    assert gone == (None, "no item has this id")
