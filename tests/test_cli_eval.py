"""`recollect eval`, as people and scripts use it."""

from __future__ import annotations

import gc
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.evaluate import Evaluation
from recollect.ingest.report import IndexReport
from recollect.surfaces.scores import evaluation_text
from recollect.surfaces.terminal import Look

DOCUMENTS = {
    "backup": "Every night the database is copied to another building and encrypted.",
    "deploy": "A release is rolled out to one server first, then to all servers.",
    "cats": "The cat sleeps on the warm keyboard. A cat hunts at dusk.",
}
QUERIES = {"q1": "where does the cat sleep", "q2": "database encrypted", "q3": "zebra keyboard", "q4": "unicorns"}

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a dataset and settings that ask for words alone."""
    records = {
        "corpus.jsonl": [{"id": name, "title": name.title(), "text": text} for name, text in DOCUMENTS.items()],
        "queries.jsonl": [{"id": name, "text": text} for name, text in QUERIES.items()],
        "evidence.jsonl": [{"query_id": "q2", "doc_id": "backup", "start": 0, "end": 30}],
    }
    (tmp_path / "pets").mkdir()
    for name, rows in records.items():
        (tmp_path / "pets" / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "pets" / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\tcats\t1\nq2\tbackup\t1\nq3\tdeploy\t1\n", encoding="utf-8"
    )
    (tmp_path / "recollect.yaml").write_text("embed: {model: none}\n", encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loads_once(text: str) -> Any:
    assert text.count("\n") == 1
    return json.loads(text)


def test_a_dataset_is_measured_and_nothing_stays_behind(here: Path, run: Run) -> None:
    code, out, err = run("eval", "pets")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[:5] == [
        "dataset    pets",
        "documents  3",
        "questions  3 judged, 1 without judgments",
        "profile    documents (the default)",
        "model      none: words alone",
    ]
    assert "nDCG@10 0.6667  MRR     0.6667  MRR@10  0.6667  MAP     0.6667" in lines
    assert "latency    p50 " in out
    assert max(map(len, lines)) <= 80
    assert not (here / ".recollect").exists()
    assert not list((here / "temporary").iterdir())


def test_chunks_that_need_not_be_embedded_are_said_to_be_from_the_cache() -> None:
    evaluation = Evaluation(
        dataset="pets", documents=3, profile="documents", profile_reason="the default", model="m", how={}, values={},
        latency_p50_ms=None, latency_p95_ms=None, answers=(), indexing=IndexReport(added=3, chunks_embedded=1, chunks_reused=8, seconds=2),
    )  # fmt: skip
    assert evaluation_text(evaluation, Look(80)).endswith("indexing   2.0 s, 1 chunk embedded, 8 chunks taken from the cache")


def test_json_is_one_flat_object(here: Path, run: Run) -> None:
    found = loads_once(run("eval", "pets", "--json")[1])
    assert {name: found[name] for name in ("dataset", "documents", "questions", "judged", "profile", "model", "nDCG@10", "hits@1")} == {
        "dataset": "pets", "documents": 3, "questions": 4, "judged": 3, "profile": "documents", "model": None,
        "nDCG@10": 0.666667, "hits@1": 0.666667,
    }  # fmt: skip
    assert "worst" not in found


def test_a_named_store_keeps_the_dataset_in_a_scope_of_its_own(here: Path, run: Run) -> None:
    run("index", "-q", "pets/corpus.jsonl")
    assert run("eval", "pets", "--store", ".recollect")[0] == 0
    assert "nothing to do: every document was there" in run("eval", "pets", "--store", ".recollect")[1]
    assert loads_once(run("status", "--json")[1])["items"] == 1
    assert loads_once(run("status", "--json", "--scope", "eval-pets")[1])["items"] == 3


def test_a_scope_with_other_items_is_refused(here: Path, run: Run) -> None:
    run("index", "-q", "pets/corpus.jsonl")
    code, out, err = run("eval", "pets", "--store", ".recollect", "--scope", "default")
    assert (code, out) == (2, "")
    assert "scope 'default' holds 1 items that are not of 'pets'" in err
    assert loads_once(run("status", "--json")[1])["items"] == 1


def test_the_worst_questions_are_shown_with_what_came_instead(here: Path, run: Run) -> None:
    out = run("eval", "pets", "--worst", "1")[1]
    assert out.endswith(
        "The 1 question with the lowest nDCG@10\n"
        "\n"
        "0.000  question q3\n"
        "    zebra keyboard\n"
        "  expected  deploy\n"
        "            Deploy\n"
        "            not in the first 1; words: none of the question's words occur in it\n"
        "  came  1.  cats\n"
        "            Cats\n"
        "            1.0000; found by its words (rank 1)\n"
    )
    (failure,) = loads_once(run("eval", "pets", "--worst", "1", "--json")[1])["worst"]
    assert (failure["id"], failure["value"], failure["expected"][0]["rank"]) == ("q3", 0.0, None)
    assert failure["instead"][0]["id"] == "cats"


def test_each_question_is_written_on_a_line(here: Path, run: Run) -> None:
    assert run("eval", "pets", "--questions", "out.jsonl")[0] == 0
    rows = {row["id"]: row for row in map(json.loads, (here / "out.jsonl").read_text(encoding="utf-8").splitlines())}
    assert list(rows) == list(QUERIES)
    assert (rows["q1"]["text"], rows["q1"]["nDCG@10"], rows["q1"]["expected"]) == (QUERIES["q1"], 1.0, {"cats": 1})
    assert rows["q3"]["ranking"] == ["cats"]
    assert rows["q4"]["expected"] == {}
    assert rows["q2"]["ms"] > 0


def test_a_run_that_fails_keeps_what_was_written_before(here: Path, run: Run) -> None:
    (here / "out.jsonl").write_text("before", encoding="utf-8")
    assert run("eval", "pets", "--questions", "out.jsonl", "--profile", "poems")[0] == 2
    assert (here / "out.jsonl").read_text(encoding="utf-8") == "before"
    assert not list(here.glob(".out*"))


def test_a_dataset_is_not_written_over(here: Path, run: Run) -> None:
    (here / "link.jsonl").symlink_to(here / "pets" / "queries.jsonl")
    (here / "questions.csv").write_text("question,expected\nq,a.md\n", encoding="utf-8")
    for dataset, file in (("pets", "pets/corpus.jsonl"), ("pets", "link.jsonl"), ("questions.csv", "questions.csv")):
        before = (here / file).read_bytes()
        code, _, err = run("eval", dataset, "--questions", file)
        assert (code, err) == (
            2,
            f"recollect: --questions is {file!r}, which is of the dataset and would be written over: name another file\n",
        )
        assert (here / file).read_bytes() == before


def test_a_file_that_cannot_be_written_is_told_before_the_work(here: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unwanted(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("recollect.evaluate.prepare", unwanted)
    (here / "folder").mkdir()
    assert "which is a folder: name a file" in run("eval", "pets", "--questions", "folder")[2]
    # A name that no folder takes, as a folder that cannot be written takes none.
    assert "which cannot be written: File name too long" in run("eval", "pets", "--questions", "x" * 300)[2]


def test_when_every_question_went_well_none_is_shown(here: Path, run: Run) -> None:
    (here / "pets" / "qrels.tsv").write_text("q1\tcats\t1\nq2\tbackup\t1\n", encoding="utf-8")
    assert run("eval", "pets", "--worst", "3")[1].endswith("\n\nEvery judged question was answered perfectly: there is none to show\n")
    assert loads_once(run("eval", "pets", "--worst", "3", "--json")[1])["worst"] == []


def test_few_results_are_shown_with_the_measures_they_allow(here: Path, run: Run) -> None:
    code, out, _ = run("eval", "pets", "--k", "3", "--worst", "1")
    assert code == 0
    assert "MRR     0.6667  MAP     0.6667\nR@1     0.6667\nhits@1  0.6667\n" in out
    assert "The 1 question with the lowest MRR\n" in out
    assert "R@5" not in out


def test_an_interrupt_before_the_work_begins_leaves_no_warning(here: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("asyncio.Runner.run", interrupted)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert run("eval", "pets") == (130, "", "recollect: stopped\n")
        gc.collect()
    assert [str(warning.message) for warning in told] == []


def test_the_hint_for_queries_is_for_search_alone(here: Path, run: Run) -> None:
    assert run("eval", "pets", "--bogus")[2] == "recollect: unrecognized arguments: --bogus (see `recollect eval --help`)\n"
    assert run("eval", "pets", "--k", "-x")[2] == "recollect: argument --k/-k: expected one argument (see `recollect eval --help`)\n"
    assert "put the whole query in quotes after --" in run("search", "cats", "-dogs")[2]


def test_options_reach_the_search(here: Path, run: Run) -> None:
    options = ["--weights", '{"text": 1, "vector": 0}', "--blend", "linear", "--normalize", "zscore", "--rrf-k", "10", "--depth", "20"]
    found = loads_once(run("eval", "pets", "--profile", "code", "--mode", "phrase", "--k", "5", *options, "--limit", "4", "--json")[1])
    assert (found["profile"], found["profile_reason"], found["questions"]) == ("code", "as asked", 4)
    # No document has the words of a question side by side.
    assert found["hits@5"] == 0.0


def test_halves_share_the_questions(here: Path, run: Run) -> None:
    halves = [loads_once(run("eval", "pets", "--half", half, "--json")[1])["questions"] for half in ("train", "test")]
    assert sum(halves) == 4


def test_two_settings_files_are_compared(here: Path, run: Run) -> None:
    (here / "few.yaml").write_text("embed: {model: none}\nsearch: {mode: phrase}\n", encoding="utf-8")
    code, out, err = run("eval", "pets", "--compare", "few.yaml", "recollect.yaml")
    assert (code, err) == (0, "")
    assert "A          few.yaml, profile documents, model none" in out
    assert re.search(r"^nDCG@10                  0.0000  0.6667  \+0.6667  0.[45]\d{3}       2      0     1$", out, flags=re.MULTILINE)
    assert out.endswith("No difference is more than chance would give (p < .05).\n")
    assert max(map(len, out.splitlines())) <= 80
    found = loads_once(run("eval", "pets", "--compare", "few.yaml", "recollect.yaml", "--json")[1])
    measured = found["measures"]["nDCG@10"]
    assert (measured["first"], measured["second"], measured["difference"]) == (0.0, 0.666667, 0.666667)
    assert (measured["better"], measured["worse"], measured["same"]) == (2, 0, 1)
    assert measured["p"] == pytest.approx(0.5, abs=0.03)
    assert (found["first"]["settings"], found["second"]["nDCG@10"]) == ("few.yaml", 0.666667)
    assert not list((here / "temporary").iterdir())


def test_ones_own_questions_are_asked_of_ones_own_store(here: Path, run: Run) -> None:
    for name, text in DOCUMENTS.items():
        (here / "notes").mkdir(exist_ok=True)
        (here / "notes" / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
    run("index", "-q", "notes")
    before = loads_once(run("status", "--json")[1])
    rows = "question,expected\nwhere does the cat sleep,./notes/cats.md\ndatabase encrypted,notes/gone.md\n"
    (here / "questions.csv").write_text(rows, encoding="utf-8")
    code, out, err = run("eval", "questions.csv", "--worst", "5")
    assert code == 0
    assert err == "recollect: expected but in no item, and so not found: 'notes/gone.md'\n"
    assert "documents  3\n" in out
    assert "hits@1  0.5000" in out
    assert "no item has this id" in out
    assert loads_once(run("status", "--json")[1]) == before


def test_ones_own_questions_need_a_store(here: Path, run: Run) -> None:
    (here / "questions.csv").write_text("question,expected\nq,a.md\n", encoding="utf-8")
    code, _, err = run("eval", "questions.csv")
    assert code == 3
    assert "there is no store" in err
    assert not (here / ".recollect").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere"], "there is no 'nowhere'"),
        (["recollect.yaml"], "is neither a folder with a dataset nor a .csv or .tsv file"),
        (["temporary"], "has no corpus.jsonl"),
        (["pets", "--split", "dev"], "has no qrels/dev.tsv"),
        (["pets", "--half", "both"], "there is no half 'both'"),
        (["pets", "--limit", "0"], "limit is 0"),
        (["pets", "--haystacks"], "has no haystacks.jsonl"),
        (["pets", "--profile", "poems"], "there is no profile 'poems'"),
        (["pets", "--weights", "[1]"], "--weights is [1]"),
        (["pets", "--weights", '{"text": "much"}'], "--weights is {'text': 'much'}"),
        (["pets", "--worst", "0"], "--worst is 0"),
        (["pets", "--questions", "no/such/folder.jsonl"], "there is no such folder"),
        (["pets", "--compare", "recollect.yaml", "gone.yaml"], "there is no 'gone.yaml'"),
        (["pets", "--compare", "recollect.yaml", "recollect.yaml", "--worst", "3"], "ask for --worst and --questions of one at a time"),
        (["pets", "--compare", "recollect.yaml", "recollect.yaml", "--store", "x"], "leave out --store"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(arguments: list[str], told: str, here: Path, run: Run) -> None:
    code, out, err = run("eval", *arguments)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert not list((here / "temporary").iterdir())


def test_missing_measures_are_told_before_any_work(here: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    code, out, err = run("eval", "pets")
    assert (code, out) == (3, "")
    assert err == "recollect: evaluation needs an optional dependency: pip install 'recollect[eval]'\n"
