"""`recollect log` shows the searches that were logged, newest first, to people and to programs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Path:
    """A folder to stand in, with two notes in a store that logs what it is asked."""
    for name, text in {"backup.md": "Every night the database is encrypted.\n", "cats.txt": "The cat sleeps on the keyboard.\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "recollect.yaml").write_text("embed: {model: none}\nlog: {retrievals: true}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run("index", "backup.md", "cats.txt")[0] == 0
    return tmp_path


def test_the_last_searches_are_shown_with_what_they_found(notes: Path, run: Run) -> None:
    run("search", "cat\nor \x1b[31mdog", "--profile", "code")
    run("search", "encrypted")
    code, out, err = run("log")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+00:00  encrypted  documents, 1 result, \d+ ms", lines[0])
    assert re.fullmatch(r"     1\. backup\.md  \d+\.\d{4}", lines[1])
    assert lines[2].partition("  ")[2].startswith("cat or �[31mdog  code, 1 result, ")
    assert len(run("log", "-k", "1")[1].splitlines()) == 2


def test_the_log_is_there_for_programs(notes: Path, run: Run) -> None:
    run("search", "cat", "--where", '{"path": {"prefix": "cat"}}', "--k", "3")
    logged = json.loads(run("log", "--json")[1])["retrievals"]
    assert [list(each) for each in logged] == [["id", "at", "query", "profile", "took_ms", "found", "details"]]
    assert datetime.fromisoformat(logged[0]["at"]).tzinfo is not None
    assert logged[0]["details"] == {"mode": "web", "k": 3, "where": {"path": {"prefix": "cat"}}}
    (found,) = logged[0]["found"]
    assert (found["rank"], found["id"]) == (1, "cats.txt")
    assert [part["route"] for part in found["parts"]] == ["text"]
    run("delete", "cats.txt")
    assert json.loads(run("log", "--json")[1])["retrievals"][0]["found"] == []


def test_a_log_of_nothing_says_which_setting_decides(notes: Path, run: Run) -> None:
    assert run("log")[:2] == (1, "")
    run("search", "cat")
    code, out, err = run("log", "--since", str(datetime.now(UTC).year + 1))
    assert (code, out) == (1, "")
    assert "'log.retrievals'" in err
    assert run("log", "--since", "2024-05-17")[0] == 0


@pytest.mark.parametrize(("option", "value", "said"), [("--since", "yesterday", "'yesterday' is no time"), ("--k", "0", "--k is 0")])
def test_a_bad_option_is_told(option: str, value: str, said: str, notes: Path, run: Run) -> None:
    code, out, err = run("log", option, value)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_the_questions_of_an_evaluation_are_not_logged(notes: Path, run: Run) -> None:
    pytest.importorskip("ir_measures")
    (notes / "questions.csv").write_text("question,expected\nwhere is the cat,cats.txt\n", encoding="utf-8")
    assert run("eval", "questions.csv")[0] == 0
    assert run("log")[0] == 1
