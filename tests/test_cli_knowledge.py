"""The verbs that ask the knowledge service, as people and scripts use them."""

from __future__ import annotations

import json
import os
import pty
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from recollect.knowledge import AssembledContext, GraphContext, ImpactContext, RetrievalOptions
from recollect.library import Library
from recollect.model import Edge
from recollect.settings import load
from recollect.surfaces.arguments import parse
from recollect.surfaces.knowing import OPTIONS
from recollect.surfaces.screen import Screen

Run = Callable[..., tuple[int, str, str]]


# Arguments.


@pytest.mark.parametrize("verb", ["context", "similar", "graph", "impact"])
def test_every_verb_has_help(verb: str, run: Run) -> None:
    code, out, err = run(verb, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: recollect {verb}")


def test_every_option_of_a_context_has_a_name_on_the_command_line() -> None:
    assert RetrievalOptions.model_fields.keys() - {"include_metadata"} <= OPTIONS.keys()
    given = vars(parse(["context", "a", "b"]))
    assert {option.strip("-").replace("-", "_") for option in OPTIONS.values()} - {"k", "rel"} <= given.keys()


def test_a_direction_is_one() -> None:
    assert [parse(["graph", "x", *words]).direction for words in ([], ["--in"], ["--out"])] == ["both", "in", "out"]
    assert parse(["graph", "x", "--rel", "A", "--rel", "B"]).rel == ["A", "B"]


# The whole way.


NOTES = {
    "queue.md": "# Use a queue\n\nWe chose a queue for orders since the warehouse is often away for an hour.\n",
    "guide.md": "# Guide to orders\n\nEvery order is put on the queue, and the warehouse takes it from there.\n",
    "cats.md": "# Cats\n\nThe cat sleeps on the warm keyboard.\n",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store whose items are linked, found by words alone."""
    folder = tmp_path_factory.mktemp("knowledge")
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "recollect.yaml").write_text("embed: {model: none}\n", encoding="utf-8")
    with Library.open(folder / ".recollect", options=load(folder / "recollect.yaml", {})).sync() as library:
        library.index(folder)
        library.link([Edge("guide.md", "REFERENCES", "queue.md"), Edge("cats.md", "REFERENCES", "guide.md")])
    return folder


@pytest.fixture
def here(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


def loads_once(text: str) -> Any:
    """The one JSON value on the one line of a text."""
    assert text.count("\n") == 1
    return json.loads(text)


def test_context_prints_its_text_and_tells_the_rest_on_stderr(here: Path, run: Run) -> None:
    code, out, err = run("context", "queue", "for", "orders")
    assert code == 0
    made = loads_once(run("context", "queue for orders", "--json")[1])
    assert out == made["text"] + "\n"
    assert "We chose a queue for orders" in out
    assert f"recollect: {made['token_count']} of 8000 tokens; " in err
    assert AssembledContext.model_validate(made).query == "queue for orders"
    assert run("context", "queue for orders", "--quiet") == (0, out, "")


def test_context_takes_its_options(here: Path, run: Run) -> None:
    def told(*options: str) -> Any:
        return loads_once(run("context", "queue for orders", "--json", *options)[1])

    assert told("--format", "xml")["text"].startswith("<context")
    assert told("--max-length", "120")["token_count"] <= 120
    assert told("--where", '{"title": "Use a queue"}', "--hops", "0")["total_results"] == 1
    assert told("-k", "1", "--hops", "0", "--type", "exact")["total_results"] == 1
    assert told("--as-of", "1999")["total_results"] == 0


def test_context_explains_on_stderr_how_the_question_was_read(here: Path, run: Run) -> None:
    _, out, err = run("context", "queue for orders", "--explain")
    assert out == run("context", "queue for orders")[1]
    assert err.startswith("recollect: intent: ")


def test_a_context_with_nothing_in_it_ends_with_one(here: Path, run: Run) -> None:
    code, out, err = run("context", "zebra")
    assert (code, out) == (1, "")
    assert "nothing was found for 'zebra'" in err
    assert loads_once(run("context", "zebra", "--json")[1])["sections"] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("context", "q", "--hops", "9"), "--hops is 9: give 0 to 5"),
        (("context", "q", "--type", "vector"), "--type is 'vector': use semantic, exact or hybrid"),
        (("context", "q", "--format", "html"), "--format is 'html': use markdown, xml or json"),
        (("context", "q", "--max-length", "0"), "--max-length is 0: give 1 to 1000000"),
        (("context", "q", "-k", "0"), "--max-results is 0: give 1 to 1000"),
        (("context", "q", "--min-score", "2"), "--min-score is 2.0: give 0 to 1"),
        (("context", "q", "--where", "[]"), "--where is []: give keys and values"),
        (("context", "q", "--as-of", "soon"), "--as-of is 'soon': give a day or a time, such as 2024-05-17"),
        (("search", "q", "--as-of", "soon"), "--as-of is 'soon': give a day or a time, such as 2024-05-17"),
        (("search", "q", "--hops", "9"), "--hops is 9: give 0 to 5"),
        (("similar", "cats.md", "--min-score", "2"), "--min-score is 2.0: it lies between 0 and 1"),
        (("graph", "cats.md", "--hops", "-1"), "--hops is -1: "),
        (("graph", "cats.md", "--in", "--out"), "not allowed with argument"),
        (("impact", "cats.md", "--hops", "-1"), "--hops is -1: "),
    ],
)
def test_bad_options_are_told_by_their_own_names(words: Sequence[str], said: str, here: Path, run: Run) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_graph_shows_what_is_around(here: Path, run: Run) -> None:
    code, out, err = run("graph", "queue.md", "--rel", "REFERENCES")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "queue.md  Use a queue  (document, draft)",
        "└─ ← REFERENCES  guide.md  Guide to orders  (document, draft)",
        "   └─ ← REFERENCES  cats.md  Cats  (document, draft)",
    ]
    assert "cats.md" not in run("graph", "queue.md", "--hops", "1")[1]
    assert "└─ → DEFINES  queue.md#Use a queue  (symbol)" in run("graph", "queue.md", "--rel", "REFERENCES", "--rel", "DEFINES")[1]
    walk = GraphContext.model_validate(loads_once(run("graph", "queue.md", "--in", "--json")[1]))
    assert [each.node_id for each in walk.nodes] == ["queue.md", "guide.md", "cats.md"]


def test_a_node_with_nothing_around_it_ends_with_one(here: Path, run: Run) -> None:
    assert run("graph", "queue.md", "--rel", "NONE") == (1, "", "recollect: nothing is linked to 'queue.md' by NONE\n")
    assert run("graph", "queue.md", "--rel", "CITES") == (1, "", "recollect: nothing is linked to 'queue.md' by CITES\n")


def test_impact_shows_what_depends_on_a_node(here: Path, run: Run) -> None:
    code, out, err = run("impact", "queue.md")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "direct",
        "  guide.md  Guide to orders  (document)",
        "    guide.md → REFERENCES → queue.md",
        "indirect",
        "  cats.md  Cats  (document)",
        "    cats.md → REFERENCES → guide.md → REFERENCES → queue.md",
    ]
    assert ImpactContext.model_validate(loads_once(run("impact", "queue.md", "--json")[1])).total_affected == 2
    assert run("impact", "cats.md") == (1, "", "recollect: nothing depends on 'cats.md'\n")


@pytest.mark.parametrize("verb", ["similar", "graph", "impact"])
def test_a_node_that_is_not_there_ends_with_one(verb: str, here: Path, run: Run) -> None:
    code, out, err = run(verb, "nobody")
    assert (code, out) == (1, "")
    assert "'nobody'" in err
    assert loads_once(run(verb, "nobody", "--json")[1])["error"]["type"] == "NotFound"


@pytest.mark.parametrize("verb", ["context", "similar", "graph", "impact"])
def test_a_verb_that_needs_a_store_does_not_make_one(verb: str, tmp_path: Path, run: Run) -> None:
    code, out, err = run(verb, "x", "--store", str(tmp_path / "none"))
    assert (code, out) == (3, "")
    assert "there is no store" in err
    assert not (tmp_path / "none").exists()


def test_a_search_follows_links_where_it_is_asked_to(here: Path, run: Run) -> None:
    out = run("search", "warehouse", "--hops", "1", "--profile", "graph")[1]
    assert "1 link away: guide.md ← REFERENCES ← cats.md" in out
    assert "cats.md" not in run("search", "warehouse", "--hops", "0", "--profile", "graph")[1]


def test_similar_finds_what_is_like_an_item_without_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    for name, text in NOTES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run("index", *NOTES)[0] == 0
    (tmp_path / "recollect.yaml").write_text("embed: {model: none}\n", encoding="utf-8")
    code, out, _ = run("similar", "queue.md", "--min-score", "0")
    assert code == 0
    assert [line.split()[1] for line in out.splitlines()[::2]] == ["Guide", "Cats"]
    found = loads_once(run("similar", "queue.md", "--min-score", "0", "-k", "1", "--json")[1])
    assert [each["node_id"] for each in found["results"]] == ["guide.md"]
    code, out, err = run("similar", "queue.md", "--min-score", "1")
    assert (code, out) == (1, "")
    assert "nothing is similar enough to 'queue.md'" in err


def test_a_terminal_is_spared_what_it_would_obey_and_a_pipe_is_not() -> None:
    for is_terminal, pair in ((True, pty.openpty()), (False, os.pipe())):
        ours, theirs = pair
        with os.fdopen(theirs, "w", encoding="utf-8") as out:
            Screen(out, None).show_raw("two\nlines \x1b[2J")
            shown = os.read(ours, 1000).decode()
        os.close(ours)
        assert ("\x1b[2J" in shown) is not is_terminal
        assert shown.split("lines")[0].split() == ["two"]
