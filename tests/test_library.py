"""The library as its users call it: take in, ask, change, ask again. With the bundled model and a real embedded store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import fsum
from pathlib import Path

import numpy as np
import pytest

import recollect
from recollect import InvalidInput, Item, Library, ModelMismatch, NotFound, SyncLibrary
from recollect.embed import open_embedder
from recollect.model import Vector
from recollect.ports import Embedder, TokenCounter
from recollect.profiles import PROFILES
from recollect.settings import Settings, load

NOTES = {
    "backup.md": "# Backups\n\nEvery night the database is copied to cold storage and encrypted with a rotating key.\n",
    "travel.md": "# Travel\n\nBook trains early. The office pays for second class within the country.\n",
    "python.py": "def retry(call, attempts):\n    for _ in range(attempts):\n        call()\n",
    "japanese.md": "# 東京\n\n東京都の機械学習の研究について。\n",
    "cats.txt": "Cats sleep most of the day and hunt at dusk.\n",
    "dogs.txt": "Dogs are walked twice a day, cats are not.\n",
}


@pytest.fixture(scope="module")
def model() -> Embedder:
    return open_embedder("granite", cache_dir=Settings().embed.cache_dir)


class Counting:
    """An embedder that knows how many texts it was given."""

    def __init__(self, inner: Embedder, model_id: str | None = None) -> None:
        self._inner = inner
        self.model_id = model_id or inner.model_id
        self.dim = inner.dim
        self.max_tokens = inner.max_tokens
        self.tokens: TokenCounter = inner.tokens
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> Vector:
        self.texts += len(texts)
        return self._inner.embed(texts)

    def embed_query(self, text: str) -> Vector:
        return self._inner.embed_query(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, text in NOTES.items():
        (notes / name).write_text(text, encoding="utf-8")
    return notes


@pytest.fixture
def counting(model: Embedder) -> Counting:
    return Counting(model)


@pytest.fixture
def library(tmp_path: Path, folder: Path, counting: Counting) -> Iterator[SyncLibrary]:
    with Library.open(tmp_path / ".recollect", embedder=counting, options=Settings()).sync() as opened:
        opened.index(folder)
        yield opened


def found(library: SyncLibrary, query: str, **options: object) -> list[str]:
    return [source.item_id for source in library.search(query, **options).candidates]  # type: ignore[arg-type]


def test_a_question_finds_its_document_by_meaning_and_by_word(library: SyncLibrary) -> None:
    assert found(library, "how is our data kept safe?")[0] == "notes/backup.md"
    assert found(library, "attempts")[0] == "notes/python.py"


def test_a_result_says_where_it_stands_and_why(library: SyncLibrary) -> None:
    bundle = library.search("encrypted with a key", k=2)
    first = bundle.candidates[0]
    assert (first.item_id, first.source, first.source_ref, first.title) == ("notes/backup.md", "file", "notes/backup.md", "Backups")
    assert (first.line_start, first.snippet_from) == (1, "chunk") or first.line_start == 3
    marked = [(first.snippet or "")[a:b] for a, b in first.snippet_marks]
    assert "encrypted" in marked
    assert first.rank_text == 1
    assert first.rank_vec == 1
    proof = bundle.evidence[0]
    text = library.get(first.item_id).text
    assert proof.text == text[proof.start_idx : proof.end_idx]
    assert proof.chunk_id


@pytest.mark.parametrize("blend", ["rrf", "linear"])
@pytest.mark.parametrize("normalize", ["minmax", "zscore", "sigmoid", "none"])
def test_the_parts_of_every_score_add_up(library: SyncLibrary, blend: str, normalize: str) -> None:
    for source in library.search("cats and backups", blend=blend, normalize=normalize).candidates:  # type: ignore[arg-type]
        assert source.score == pytest.approx(fsum(part.contribution for part in source.why.parts), abs=1e-12)
        for part in source.why.parts:
            assert part.contribution == pytest.approx(part.weight * part.normalised)
        ranks = {part.route: part.rank for part in source.why.parts}
        assert (ranks.get("text"), ranks.get("vector")) == (source.rank_text, source.rank_vec)


def test_weights_decide_which_route_counts(library: SyncLibrary) -> None:
    by_words = library.search("cats", weights={"text": 1.0, "vector": 0.0})
    assert {source.rank_vec for source in by_words.candidates} == {None}
    assert [source.item_id for source in by_words.candidates] == ["notes/cats.txt", "notes/dogs.txt"]
    by_meaning = library.search("cats", weights={"text": 0.0, "vector": 1.0})
    assert {source.rank_text for source in by_meaning.candidates} == {None}


def test_what_a_query_demands_holds_for_every_result(library: SyncLibrary) -> None:
    assert "notes/dogs.txt" in found(library, "cats")
    assert "notes/dogs.txt" not in found(library, "cats -dogs")
    assert found(library, '"twice a day"') == ["notes/dogs.txt"]
    assert found(library, "most of the day", mode="phrase") == ["notes/cats.txt"]
    assert found(library, "in no note at all", mode="phrase") == []
    assert found(library, '"how is our data kept safe?"')[0] == "notes/backup.md"
    assert "notes/dogs.txt" not in found(library, '"how is it with cats?" -dogs')
    assert set(found(library, "(cats | trains) & !walked", mode="strict")) == {"notes/cats.txt", "notes/travel.md"}


def test_japanese_is_found_by_its_words(library: SyncLibrary) -> None:
    only_words = {"text": 1.0, "vector": 0.0}
    assert found(library, "機械学習", weights=only_words) == ["notes/japanese.md"]
    assert found(library, "京都大学", mode="phrase", weights=only_words) == []


def test_filters_hold_on_every_route(library: SyncLibrary) -> None:
    assert set(found(library, "cats and code", where={"kind": "code"})) == {"notes/python.py"}
    assert set(found(library, "cats", where={"path": {"glob": "*.txt"}})) == {"notes/cats.txt", "notes/dogs.txt"}
    assert set(found(library, "cats", where={"language": "python"})) == {"notes/python.py"}


def test_facets_count_what_was_found(library: SyncLibrary) -> None:
    facets = library.search("cats", facets=["kind", "format"], where={"path": {"glob": "*.txt"}}).facets
    assert facets == {"kind": {"document": 2}, "format": {"text": 2}}


def test_min_score_acts_on_the_score_that_is_shown(library: SyncLibrary) -> None:
    scores = [source.score for source in library.search("cats").candidates]
    kept = [source.score for source in library.search("cats", min_score=scores[1]).candidates]
    assert kept == [score for score in scores if score >= scores[1]]


def test_min_similarity_acts_on_the_vector_route(library: SyncLibrary) -> None:
    strict = library.search("how is our data kept safe?", min_similarity=0.99)
    assert all(source.score_vec is None for source in strict.candidates)


def test_near_duplicates_are_folded_into_the_best(library: SyncLibrary, folder: Path) -> None:
    text = "The annual report shows that revenue grew in every region, most of all in the north where new shops opened in spring. "
    (folder / "a.txt").write_text(text * 3)
    (folder / "b.txt").write_text(text * 3 + "Revised.")
    library.index(folder)
    best = library.search("revenue by region", k=3).candidates
    assert {best[0].item_id, *best[0].duplicates} == {"notes/a.txt", "notes/b.txt"}
    assert sum(source.item_id in ("notes/a.txt", "notes/b.txt") for source in best) == 1


def test_only_what_changed_is_read_and_embedded_again(library: SyncLibrary, folder: Path, counting: Counting) -> None:
    counting.texts = 0
    again = library.index(folder)
    assert (again.added, again.changed, again.deleted, again.unchanged, counting.texts) == (0, 0, 0, len(NOTES), 0)
    (folder / "cats.txt").write_text("Cats purr.\n")
    changed = library.index(folder)
    assert (changed.added, changed.changed, changed.deleted, counting.texts) == (0, 1, 0, 1)
    assert found(library, "purr", k=1) == ["notes/cats.txt"]


def test_a_renamed_file_moves_without_being_embedded_again(library: SyncLibrary, folder: Path, counting: Counting) -> None:
    counting.texts = 0
    (folder / "backup.md").rename(folder / "safety.md")
    moved = library.index(folder)
    assert (moved.added, moved.deleted, counting.texts) == (1, 1, 0)
    assert found(library, "how is our data kept safe?")[0] == "notes/safety.md"
    assert "notes/backup.md" not in found(library, "backups", k=20)


def test_a_deleted_file_leaves_but_only_from_under_the_path_indexed(library: SyncLibrary, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "x.txt").write_text("a rare wombat")
    library.index(folder)
    (folder / "cats.txt").unlink()
    assert library.index(folder / "sub").deleted == 0
    assert library.index(folder).deleted == 1
    assert "notes/cats.txt" not in found(library, "cats", k=20)
    assert "notes/sub/x.txt" in found(library, "wombat")


def test_a_bad_file_is_told_and_the_rest_goes_on_and_what_was_known_of_it_stays(library: SyncLibrary, folder: Path) -> None:
    (folder / "cats.txt").write_bytes("# Cats".encode("utf-16")[:-1])
    (folder / "new.txt").write_text("A platypus lays eggs.")
    report = library.index(folder)
    assert [problem.ref for problem in report.problems] == ["notes/cats.txt"]
    assert found(library, "platypus", k=1) == ["notes/new.txt"]
    assert "notes/cats.txt" in found(library, "cats", k=20)


def test_the_store_does_not_index_itself(tmp_path: Path, folder: Path, model: Embedder) -> None:
    with Library.open(folder / "my-store", embedder=model, options=Settings()).sync() as library:
        first = library.index(folder, base=folder)
        assert first.added == len(NOTES)
        assert library.index(folder, base=folder).added == 0


def test_records_are_taken_in_and_bad_ones_told_by_line(library: SyncLibrary) -> None:
    lines = [
        json.dumps({"id": "adr-1", "title": "Use WAL", "text": "We keep a log.", "kind": "decision", "metadata": {"year": 2025}}).encode(),
        b'{"id": "broken", ',
        json.dumps({"id": "adr-2", "text": "We keep two logs.", "status": "approved", "year": 2026}).encode(),
    ]
    report = library.import_records(lines, name="adr.jsonl")
    assert (report.added, [problem.ref.split(":")[:2] for problem in report.problems]) == (2, [["adr.jsonl", "2"]])
    assert found(library, "logs", where={"year": {"gte": 2026}}) == ["adr-2"]
    assert library.get("adr-1").kind == "decision"


def test_a_text_taken_in_twice_is_unchanged(library: SyncLibrary) -> None:
    assert library.add_text("The launch is on Friday.", item_id="note").added == 1
    assert library.add_text("The launch is on Friday.", item_id="note").unchanged == 1
    assert library.add_text("The launch is on Monday.", item_id="note").changed == 1


def test_scopes_see_nothing_of_each_other(tmp_path: Path, folder: Path, model: Embedder) -> None:
    for scope in ("one", "two"):
        with Library.open(tmp_path / "shared", scope=scope, embedder=model, options=Settings()).sync() as library:
            library.add_text(f"The secret of {scope}.", item_id="secret")
    with Library.open(tmp_path / "shared", scope="one", embedder=model, options=Settings()).sync() as library:
        assert [source.snippet for source in library.search("secret", k=5).candidates] == ["The secret of one."]
        assert library.drop() == 1
        assert found(library, "secret") == []
    with Library.open(tmp_path / "shared", scope="two", embedder=model, options=Settings()).sync() as library:
        assert library.get("secret").text == "The secret of two."


def test_another_model_is_refused_until_the_store_is_moved(tmp_path: Path, folder: Path, model: Embedder) -> None:
    place = tmp_path / "store"
    with Library.open(place, embedder=model, options=Settings()).sync() as library:
        library.index(folder)
    other = Counting(model, model_id="another/model")
    with Library.open(place, embedder=other, options=Settings()).sync() as library:
        with pytest.raises(ModelMismatch, match="--reembed"):
            library.search("cats")
        with pytest.raises(ModelMismatch, match="--reembed"):
            library.index(folder)
        assert library.reembed().chunks_embedded == other.texts > 0
        assert found(library, "how is our data kept safe?")[0].endswith("backup.md")
        assert (library.status().space or None) is not None
        assert library.status().space.model == "another/model"  # type: ignore[union-attr]
    with Library.open(place, embedder=model, options=Settings()).sync() as library, pytest.raises(ModelMismatch):
        library.search("cats")


def test_a_reader_goes_on_answering_while_the_store_moves_to_the_other_bundled_model(tmp_path: Path, folder: Path, model: Embedder) -> None:
    question, place = "how is our data kept safe?", tmp_path / "store"
    minilm = open_embedder("minilm", cache_dir=Settings().embed.cache_dir)
    with (
        Library.open(place, embedder=minilm, options=Settings()).sync() as reader,
        Library.open(place, embedder=model, options=Settings()).sync() as writer,
    ):
        reader.index(folder)
        before = found(reader, question)
        with pytest.raises(ModelMismatch, match=f"'{minilm.model_id}' and this is '{model.model_id}': set 'embed.model' .*--reembed"):
            writer.search(question)
        during: list[list[str]] = []
        moved = writer.reembed(report=lambda _: during.append(found(reader, question)))
        assert moved.chunks_embedded == len(NOTES)
        assert during
        assert all(each == before for each in during)
        assert found(writer, question)[0] == before[0] == "notes/backup.md"
        with pytest.raises(ModelMismatch, match=f"'{model.model_id}' and this is '{minilm.model_id}'"):
            reader.search(question)


def test_without_a_model_words_alone_are_searched(tmp_path: Path, folder: Path) -> None:
    options = Settings.model_validate({"embed": {"model": "none"}})
    with Library.open(tmp_path / "words", options=options).sync() as library:
        library.index(folder)
        assert set(found(library, "cats")) == {source for source in found(library, "cats") if source.endswith(("cats.txt", "dogs.txt"))}
        assert library.status().vector_index == "none"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query": "  "}, "the query is empty"),
        ({"query": "x", "k": 0}, "k is 0: give 1 to 1000"),
        ({"query": "x", "k": 1_000_000_000}, "k is 1000000000"),
        ({"query": "x", "mode": "fuzzy"}, "mode is 'fuzzy': use web, any, plain, phrase or strict"),
        ({"query": "x", "profile": "poems"}, "'poems'.*documents, code, code-rrf, graph"),
        ({"query": "x", "where": {"yeer": 1}}, "'yeer'"),
        ({"query": "x", "where": {"importance": "high"}}, "holds a number"),
        ({"query": "x", "min_score": -1}, "min_score is -1: give at least 0"),
        ({"query": "x", "min_similarity": 2}, "between 0 and 1"),
        ({"query": 5}, "give a text"),
        ({"query": "x", "blend": "soup"}, "'soup'"),
        ({"query": "x", "weights": {"smell": 1.0}}, "'smell'.*text and vector"),
        ({"query": "x", "weights": {}}, "both 0"),
        ({"query": "x", "weights": {"text": 0, "vector": 0}}, "give one of them more"),
        ({"query": "x", "weights": {"text": float("nan")}}, "w_text is nan: give a finite number"),
        ({"query": "(a &", "mode": "strict"}, "expected"),
    ],
)
def test_bad_options_are_refused_with_what_to_do(library: SyncLibrary, options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        library.search(**options)  # type: ignore[arg-type]


def test_numbers_that_are_set_go_with_the_profile_that_is_set(model: Embedder, folder: Path, tmp_path: Path) -> None:
    options = Settings.model_validate({"search": {"weights": {"text": 1, "vector": 0}, "blend": "rrf", "depth": 7}})
    with Library.open(tmp_path / "set", options=options, embedder=model).sync() as library:
        library.index(folder)
        ours, theirs = (library.search("cats", profile=profile, debug=True).stats.params["scoring"] for profile in (None, "code"))
    assert (ours["w_text"], ours["w_vec"], ours["blend"], ours["depth"]) == (1, 0, "rrf", 7)
    own = PROFILES["code"].weights
    assert (theirs["w_text"], theirs["w_vec"], theirs["blend"], theirs["depth"]) == (own["text"], own["vector"], "linear", 100)


def test_weights_come_from_the_environment_as_json() -> None:
    assert load(environ={"RECOLLECT_SEARCH_WEIGHTS": '{"text": 0.2, "vector": 0.8}'}).search.weights == {"text": 0.2, "vector": 0.8}
    with pytest.raises(InvalidInput, match=r"search\.weights.*RECOLLECT_SEARCH_WEIGHTS"):
        load(environ={"RECOLLECT_SEARCH_WEIGHTS": "text=1"})


def test_what_is_not_there(library: SyncLibrary, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="'nothing'"):
        library.get("nothing")
    assert library.delete(["nothing"]) == []
    with pytest.raises(NotFound, match="no store in"):
        Library.open(tmp_path / "nowhere", create=False, options=Settings())
    assert not (tmp_path / "nowhere").exists()


def test_deleting_leaves_no_trace(library: SyncLibrary) -> None:
    assert library.delete(["notes/cats.txt"]) == ["notes/cats.txt"]
    assert "notes/cats.txt" not in found(library, "cats", k=20)
    assert all(finding.ok for finding in library.doctor())


def test_links_are_walked(library: SyncLibrary) -> None:
    library.link([recollect.Edge("notes/backup.md", "REFERENCES", "notes/travel.md")])
    assert [visit.id for visit in library.walk(["notes/backup.md"], types=["REFERENCES"])] == ["notes/backup.md", "notes/travel.md"]
    assert "notes/travel.md#Travel" in {visit.id for visit in library.walk("notes/backup.md")}


def test_it_works_async_and_many_at_once(tmp_path: Path, folder: Path, model: Embedder) -> None:
    async def main() -> list[str]:
        async with Library.open(tmp_path / "store", embedder=model, options=Settings()) as library:
            await library.index(folder)
            answers = await asyncio.gather(*(library.search("how is our data kept safe?") for _ in range(20)))
            assert len({answer.model_copy(update={"stats": None}).model_dump_json() for answer in answers}) == 1
            return [item.id async for item in library.items({"kind": "code"})]

    assert asyncio.run(main()) == ["notes/python.py"]


def test_items_round_trip(library: SyncLibrary) -> None:
    when = datetime(2024, 2, 29, 12, 30, tzinfo=UTC)
    item = Item(
        scope="default", id="x", text="A text.", metadata={"tags": ["a", "b"], "n": {"deep": 1.5}}, created_at=when, updated_at=when
    )
    library.add([item])
    assert library.get("x") == item
    assert np.isclose(library.search("a text", where={"tags": "b"}).candidates[0].score, 1.0)


def test_folded_copies_leave_room_for_other_results(library: SyncLibrary) -> None:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    copy = "The quarterly ledger of the harbour office lists every ship and the dues that it paid on arrival."
    texts = [copy] * 120 + [f"{number} ships paid dues at pier {number * 7}." for number in range(12)]
    library.add([Item(scope="default", id=f"{at:03}", text=text, created_at=when, updated_at=when) for at, text in enumerate(texts)])
    answer = library.search("harbour office ledger of ships that paid dues", k=10, weights={"text": 1.0, "vector": 0.0}).candidates
    assert len(answer) == 10
    assert max(len(source.duplicates) for source in answer) == 119


def test_facets_count_what_meets_the_demand(library: SyncLibrary) -> None:
    assert library.search('"twice a day"', facets=["kind"]).facets == {"kind": {"document": 1}}


def test_records_without_dates_are_unchanged_the_second_time(library: SyncLibrary) -> None:
    lines = [b'{"id": "r1", "text": "one"}', b'{"id": "r2", "text": "two", "created_at": "2024-05-01"}']
    assert library.import_records(lines).added == 2
    assert library.import_records(lines).unchanged == 2
    first = library.get("r1").created_at
    assert library.import_records([b'{"id": "r1", "text": "other"}']).changed == 1
    assert library.get("r1").created_at == first


def test_what_was_taken_in_without_a_model_is_embedded_once_there_is_one(tmp_path: Path, folder: Path, model: Embedder) -> None:
    words = Settings.model_validate({"embed": {"model": "none"}})
    with Library.open(tmp_path / ".recollect", options=words).sync() as library:
        library.index(folder)
        assert library.search("encrypted", k=1).candidates[0].score == 1.0
    with Library.open(tmp_path / ".recollect", options=Settings(), embedder=model).sync() as library:
        assert library.index(folder).chunks_embedded == len(NOTES)
        assert found(library, "how is our data kept safe?")[0] == "notes/backup.md"
        assert library.index(folder).chunks_embedded == 0


def test_another_format_is_cut_anew(library: SyncLibrary) -> None:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    text = "# One\n\nA first section.\n"
    for form in ("text", "markdown"):
        library.add([Item(scope="default", id="x", text=text, format=form, created_at=when, updated_at=when)])  # type: ignore[arg-type]
    assert library.search("first section", where={"id": "x"}).evidence[0].heading_path


def test_closing_twice_is_closing(tmp_path: Path) -> None:
    async def main() -> None:
        library = Library.open(tmp_path / "store", options=Settings.model_validate({"embed": {"model": "none"}}))
        await library.close()
        await library.close()

    asyncio.run(main())
