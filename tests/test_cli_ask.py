"""The verb that lets a language model answer, as people and scripts use it, against a scripted endpoint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from recollect.answering import NO_MODEL
from recollect.answers import Answer
from recollect.knowledge import RetrievalOptions
from recollect.library import Library
from recollect.settings import load
from recollect.surfaces.arguments import parse
from recollect.surfaces.knowing import OPTIONS
from scripted import Reply, Scripted, event, piece_of, scripted, streamed

Run = Callable[..., tuple[int, str, str]]

NOTES = {
    "queue.md": "# Use a queue\n\nWe chose a queue for orders since the warehouse is often away for an hour.\n",
    "guide.md": "# Guide to orders\n\nEvery order is put on the queue, and the warehouse takes it from there.\n",
}
WHY = "why a queue for orders"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, found by words alone."""
    folder = tmp_path_factory.mktemp("ask")
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "recollect.yaml").write_text("embed: {model: none}\n", encoding="utf-8")
    with Library.open(folder / ".recollect", options=load(folder / "recollect.yaml", {})).sync() as library:
        library.index(folder)
    return folder


@pytest.fixture
def here(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


@contextmanager
def served(*replies: Reply, folder: Path) -> Iterator[tuple[Scripted, str]]:
    """A model that gives these replies, and the settings that name it."""
    with scripted(*replies, right=lambda asked: {"error": "not asked for"}) as server:
        config = folder / "asking.yaml"
        config.write_text(f"embed: {{model: none}}\nllm: {{model: 'openai:scribe', base_url: '{server.url}'}}\n", encoding="utf-8")
        yield server, str(config)


def asked(run: Run, folder: Path, *words: str, reply: Reply) -> tuple[int, str, str]:
    with served(reply, folder=folder) as (_, config):
        return run("ask", *words, "--config", config)


def first_place(run: Run) -> dict[str, Any]:
    found = json.loads(run("context", WHY, "--json")[1])
    return next(p["citation"] for s in found["sections"] for p in s["passages"] if p["citation"]["number"] == 1)


def test_the_verb_has_help_and_takes_what_a_context_takes(run: Run) -> None:
    code, out, err = run("ask", "--help")
    assert (code, err) == (0, "")
    assert out.startswith("usage: recollect ask")
    taken = {OPTIONS[name].strip("-").replace("-", "_") for name in RetrievalOptions.model_fields.keys() & OPTIONS.keys() - {"format"}}
    assert taken <= vars(parse(["ask", "a", "b"])).keys()


def test_an_answer_is_printed_with_the_sources_that_it_cites(here: Path, run: Run, tmp_path: Path) -> None:
    cited = first_place(run)
    code, out, err = asked(run, tmp_path, "why", "a queue for orders", reply=Reply(pieces=streamed("The ware", "house is away [1].")))
    assert (code, err) == (0, "")
    place = f"{cited['path']}:{cited['line_start']}-{cited['line_end']}"
    assert out == f"The warehouse is away [1].\n\n[1] {place}  {cited['title']}\n"


def test_what_was_dropped_and_left_out_is_told_on_stderr(here: Path, run: Run, tmp_path: Path) -> None:
    reply = Reply(pieces=streamed("Sure!\n\nIt is away [1][99]. ", "The passages do not say for whom [none]."))
    code, out, err = asked(run, tmp_path, WHY, reply=reply)
    assert code == 0
    assert out.startswith("It is away [1].\n\n[1] ")
    assert err.splitlines() == [
        "recollect: the model cited [99], which no passage has: taken out of 'It is away [1].'",
        "recollect: left out, since it cites no passage: 'Sure!'",
        "recollect: not in the passages: The passages do not say for whom.",
    ]
    assert asked(run, tmp_path, WHY, "--quiet", reply=Reply(pieces=streamed("Sure! It is [1].")))[2] == ""


def test_much_that_was_left_out_is_told_in_short(here: Path, run: Run, tmp_path: Path) -> None:
    _, _, err = asked(run, tmp_path, WHY, reply=Reply(pieces=streamed("It is so. " * 30, "It is [1].")))
    assert err.count("left out, since") == 10
    assert "and 20 more like that" in err


def test_json_is_one_object(here: Path, run: Run, tmp_path: Path) -> None:
    code, out, _ = asked(run, tmp_path, WHY, "--json", reply=Reply(pieces=streamed("It is away [1][99].")))
    assert code == 0
    assert out.count("\n") == 1
    answer = Answer.model_validate_json(out)
    assert (answer.text, answer.answered, answer.model) == ("It is away [1].", True, "scribe")
    assert answer.citations[0].start is not None


def test_options_narrow_what_the_model_reads(here: Path, run: Run, tmp_path: Path) -> None:
    options = ["--where", '{"title": "Use a queue"}', "--hops", "0", "-k", "1", "--type", "exact", "--max-length", "500", "--history"]
    code, out, _ = asked(run, tmp_path, WHY, "--json", *options, reply=Reply(pieces=streamed("It is [1].")))
    assert code == 0
    answer = Answer.model_validate_json(out)
    assert answer.context.max_length == 500
    assert {each.node_id for each in answer.citations} == {"queue.md"}
    assert answer.context.total_results == 1


def test_without_a_model_the_context_is_printed_and_a_word(here: Path, run: Run) -> None:
    code, out, err = run("ask", WHY)
    assert code == 0
    assert out == run("context", WHY)[1]
    assert err == f"recollect: {NO_MODEL}\n"
    told = Answer.model_validate_json(run("ask", WHY, "--json")[1])
    assert (told.answered, told.notes) == (False, [NO_MODEL])


def test_nothing_found_ends_with_one_and_asks_no_model(here: Path, run: Run, tmp_path: Path) -> None:
    with served(folder=tmp_path) as (server, config):
        code, out, err = run("ask", "zebras", "--config", config)
        assert server.asked == []
    assert (code, out) == (1, "")
    assert err == "recollect: nothing was found for 'zebras'\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The passages do not say it [none].", "the passages do not answer the question"),
        ("It is so.", "nothing that the model wrote rests on a passage"),
        ("", "the model wrote nothing"),
    ],
)
def test_no_answer_ends_with_one(text: str, said: str, here: Path, run: Run, tmp_path: Path) -> None:
    code, out, err = asked(run, tmp_path, WHY, reply=Reply(pieces=streamed(text)))
    assert (code, out) == (1, "")
    assert err.endswith(f"recollect: {said}\n")


def test_a_model_that_fails_in_the_middle_ends_with_three_and_what_came_stays(here: Path, run: Run, tmp_path: Path) -> None:
    broken = Reply(pieces=[piece_of("It is away [1]. And th"), event({"error": {"message": "overloaded"}})])
    code, out, err = asked(run, tmp_path, WHY, "--quiet", reply=broken)
    assert code == 3
    assert out.startswith("It is away [1].\n\n[1] ")
    assert err.endswith("answered with an error: overloaded\n")
    assert err.count("\n") == 1


def test_a_model_that_is_not_there_ends_with_three(here: Path, run: Run, tmp_path: Path) -> None:
    code, out, err = asked(run, tmp_path, WHY, "--json", reply=Reply(500, b"down"))
    assert code == 3
    assert json.loads(out)["failed"] is True
    assert "answered 500: down" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ask", "q", "--hops", "9"), "--hops is 9: give 0 to 5"),
        (("ask", "q", "--type", "vector"), "--type is 'vector': use semantic, exact or hybrid"),
        (("ask", "q", "--max-length", "0"), "--max-length is 0: give 1 to 1000000"),
        (("ask", "q", "--as-of", "soon"), "--as-of is 'soon': give a day or a time, such as 2024-05-17"),
        (("ask", "why", "-not"), "put the whole query in quotes after --"),
        (("ask",), "QUESTION"),
    ],
)
def test_bad_options_are_told_by_their_own_names(words: Sequence[str], said: str, here: Path, run: Run) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_sentences_are_printed_as_they_come(here: Path, tmp_path: Path) -> None:
    go_on = threading.Event()
    one, two, *rest = streamed("It is away [1]. A", "nd often [1].")
    with served(Reply(pieces=[one, go_on, two, *rest]), folder=tmp_path) as (_, config):
        command = [sys.executable, "-m", "recollect", "ask", WHY, "--config", config]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            assert running.stdout is not None
            first = b""
            while not first.endswith(b"[1].") and (part := os.read(running.stdout.fileno(), 1000)):
                first += part
            assert not go_on.is_set()
            go_on.set()
            out, err = running.communicate()
    assert (first, err, running.returncode) == (b"It is away [1].", b"", 0)
    assert out.startswith(b" And often [1].\n\n[1] ")
