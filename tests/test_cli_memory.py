"""The verbs of memory, as people and scripts use them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from recollect.library import Library
from recollect.memories import AugmentedContext, Feedback, NewMemory, Recall, Remembered, TunedStrategy, TuningReport
from recollect.memory_settings import MemorySettings
from recollect.settings import load
from recollect.surfaces.arguments import parse
from recollect.surfaces.recalled import tuning_text
from recollect.surfaces.remembering import FIELDS, OPTIONS

Run = Callable[..., tuple[int, str, str]]
Feed = Callable[[str], None]

VERBS = ("remember", "recall", "forget", "feedback", "tune", "entities")


def loads_once(text: str) -> Any:
    """The one JSON value on the one line of a text."""
    assert text.count("\n") == 1
    return json.loads(text)


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Feed:
    """Puts lines into standard input."""

    def feed(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    return feed


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a store; words alone."""
    (tmp_path / "recollect.yaml").write_text("embed: {model: none}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


MEMORIES: list[dict[str, Any]] = [
    {"text": "Acme called about a refund for order 77.", "id": "call", "entities": ["customer:a1b2"], "at": "2024-02-01"},
    {"text": "Acme asked for a discount.", "id": "ask", "entities": ["customer:a1b2"], "at": "2024-03-05", "metadata": {"team": "sales"}},
    {"type": "semantic", "subject": "customer:a1b2", "predicate": "prefers", "object": "NET30", "at": "2023-01-01", "id": "net30"},
    {"type": "semantic", "subject": "customer:a1b2", "predicate": "prefers", "object": "NET60", "at": "2024-01-01", "id": "net60"},
    {"type": "procedural", "trigger": "a rush order comes in", "action": "call the warehouse first", "id": "rush"},
    {"type": "summary", "text": "Acme orders hardware, mostly in spring.", "covers": "global", "id": "sum"},
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with memories of a customer."""
    folder = tmp_path_factory.mktemp("memory")
    (folder / "recollect.yaml").write_text("embed: {model: none}\n", encoding="utf-8")
    with Library.open(folder / ".recollect", options=load(folder / "recollect.yaml", {})).sync() as library:
        library.memory.know("Acme Corporation", type="customer", id="customer:a1b2", aliases=["Acme"])
        library.memory.remember_all(MEMORIES)
    return folder


@pytest.fixture
def here(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


# Arguments.


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str, run: Run) -> None:
    code, out, err = run(verb, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: recollect {verb}")


def test_every_field_of_a_memory_has_an_option() -> None:
    assert {"text", *FIELDS.values()} == NewMemory.model_fields.keys()
    assert FIELDS.keys() <= vars(parse(["remember", "x"])).keys()
    assert {field: f"--{option}" for option, field in FIELDS.items()}.items() <= OPTIONS.items()


def test_every_field_of_a_recall_has_an_option() -> None:
    assert Recall.model_fields.keys() - {"query", "context", "include_history"} <= OPTIONS.keys()


def test_the_defaults_that_help_tells_are_those_of_the_settings(run: Run) -> None:
    told = " ".join(run("recall", "--help")[1].split())
    assert f"the most memories (default: {MemorySettings().limit})" in told
    assert f"the most tokens of the prompt (default: {MemorySettings().max_tokens})" in told


def test_the_type_follows_from_the_other_options() -> None:
    assert parse(["remember", "x"]).type == "episodic"
    assert parse(["remember", "--subject", "a", "--predicate", "b", "--object", "c"]).type == "semantic"
    assert parse(["remember", "--when", "a", "--then", "b"]).type == "procedural"
    assert parse(["remember", "x", "--covers", "global"]).type == "summary"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("remember",), "there is nothing to remember: give a text, or --subject"),
        (("remember", " "), "the text is empty"),
        (("remember", "x", "--type", "dream"), "--type is 'dream': use episodic, semantic, procedural or summary"),
        (("remember", "x", "--type", "semantic"), "needs --subject, --predicate and --object: give --subject"),
        (("remember", "--subject", "a", "--predicate", "b"), "needs --subject, --predicate and --object: give --object"),
        (("remember", "--when", "a", "--then", " "), "needs --when and --then: give --then"),
        (("remember", "x", "--covers", "a", "--type", "episodic"), "--covers is for a memory of type 'summary', and this is 'episodic'"),
        (("remember", "x", "--importance", "2"), "--importance is 2.0: give 0 to 1"),
        (("remember", "x", "--importance", "much"), "invalid float value: 'much'"),
        (("remember", "x", "--at", "soon"), "--at is 'soon': give a day or a time, such as 2024-05-17"),
        (("remember", "x", "--meta", "[1]"), "--meta is [1]: give keys and values"),
        (("remember", "x", "--meta", "{"), "--meta: not JSON at line 1"),
        (("remember", "x", "--id", ""), "--id is '': give a text that is not empty"),
        (("remember", "x", "--id", "x" * 513), "xxx...': give at most 512 characters, and not 513"),
        (("remember", "x", "--covers", ""), "--covers is '': give a text that is not empty"),
        (("remember", "-", "--type", "episodic"), "'-' takes JSON Lines from stdin, which say all: leave out --type"),
        (("remember", "--subject", "a", "--predicate", "b", "--object", "c", "--at", "2999"), "which is to come"),
        (("recall", " "), "the query is empty"),
        (("recall", "x", "--type", "dream"), "--type is 'dream': use episodic, semantic, procedural or summary"),
        (("recall", "x", "--limit", "0"), "--limit is 0: give 1 to 1000"),
        (("recall", "x", "--max-tokens", "0"), "--max-tokens is 0: give 1 to 1000000"),
        (("recall", "x", "--max-tokens", "5"), "--max-tokens is 5, and the prompt takes "),
        (("recall", "x", "--at", "soon"), "--at is 'soon': give a day or a time, such as 2024-05-17"),
        (("recall", "x", "--timezone", "Mars"), "--timezone is 'Mars': give one such as 'Europe/Berlin'"),
        (("recall", "x", "--timezone", ""), "--timezone is '': give one such as 'Europe/Berlin'"),
        (("recall", "x", "--where", "[]"), "--where is []: give keys and values"),
        (("recall", "x", "--where", '{"nobody": 1}'), "no item has a field 'nobody'"),
        (("recall", "-x"), "to leave a word out, put the whole query in quotes after --"),
        (("forget",), "say what to forget: ids, or --all, and one of them only"),
        (("forget", "call", "--all"), "say what to forget: ids, or --all, and one of them only"),
        (("forget", "--all"), "this would forget 6 memories: say so with --yes"),
        (("feedback", "r"), "the following arguments are required: ID"),
        (("tune", "--apply", "--reset"), "not allowed with argument"),
        (("entities", "--add"), "--add needs a NAME"),
        (("entities", "--alias", "x"), "say so with --add"),
        (("entities", "-k", "0"), "--k is 0: give at least 1"),
        (("entities", "!!", "--add"), "'!!' is no name"),
        (("entities", "X", "--add", "--id", "noc olon"), "--id is 'noc olon': give TYPE:NAME without spaces, such as 'customer:a1b2'"),
        (("entities", "X", "--add", "--id", "customer:"), "--id is 'customer:': give TYPE:NAME without spaces"),
        (("entities", "X", "--add", "--id", ""), "--id is '': give TYPE:NAME, such as customer:a1b2, or leave it out"),
    ],
)
def test_bad_input_is_told_in_one_line_by_its_option(words: Sequence[str], said: str, here: Path, run: Run) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("words", [("recall", "x"), ("forget", "x"), ("feedback", "r", "m1"), ("tune",), ("entities",)])
def test_a_verb_that_needs_a_store_does_not_make_one(words: Sequence[str], fresh: Path, run: Run) -> None:
    code, out, err = run(*words)
    assert (code, out) == (3, "")
    assert "there is no store in '.recollect': make one with `recollect index PATH` or `recollect remember TEXT`" in err
    assert not (fresh / ".recollect").exists()


# Remembering.


def test_each_type_is_remembered_and_its_outcome_told(fresh: Path, run: Run) -> None:
    def kept(*words: str) -> Remembered:
        code, out, err = run("remember", *words, "--json")
        assert (code, err) == (0, "")
        return Remembered.model_validate(loads_once(out))

    event = kept(
        "Acme", "called", "--entity", "Acme Corporation", "--at", "2024-02", "--importance", "0.9", "--title", "A call", "--id", "c1"
    )
    assert (event.id, event.type, event.outcome, event.entities) == ("c1", "episodic", "added", ["entity:acmecorporation"])
    first = kept("--subject", "Acme Corporation", "--predicate", "prefers", "--object", "NET30", "--confidence", "0.5", "--at", "2024")
    second = kept("--subject", "Acme Corporation", "--predicate", "prefers", "--object", "NET60", "--meta", '{"by": "phone"}')
    assert (second.type, second.outcome, second.supersedes) == ("semantic", "added", [first.id])
    also = kept("--subject", "Acme Corporation", "--predicate", "prefers", "--object", "blue paper", "--also")
    assert also.supersedes == []
    assert kept("--when", "a rush order comes in", "--then", "call first").type == "procedural"
    assert kept("Acme is a good customer", "--covers", "global").type == "summary"
    memories = AugmentedContext.model_validate(loads_once(run("recall", "Acme Corporation call", "--json")[1])).memories
    found = {each.id: each for each in memories}
    assert (found["c1"].title, found["c1"].importance, found["c1"].at.isoformat()) == ("A call", 0.9, "2024-02-01T00:00:00+00:00")
    assert found[second.id].metadata["by"] == "phone"


def test_what_became_of_a_memory_is_said_in_a_line(fresh: Path, run: Run) -> None:
    def said(*words: str) -> str:
        code, out, err = run("remember", "--subject", "Acme", "--predicate", "prefers", *words)
        assert (code, err, out.count("\n")) == (0, "", 1)
        return out.rstrip()

    assert said("--object", "tea", "--id", "tea", "--at", "2024") == "tea: remembered; about entity:acme"
    assert said("--object", "Tea", "--at", "2024") == "tea: known already; said again or used once; about entity:acme"
    assert said("--object", "tea", "--at", "2024") == "tea: known already; said again or used 2 times; about entity:acme"
    assert said("--object", "milk", "--id", "milk") == "milk: remembered; it takes the place of tea; about entity:acme"
    assert said("--object", "rum", "--id", "rum", "--at", "2020") == "rum: kept as history: tea is newer; about entity:acme"
    assert run("remember", "one", "--id", "x")[1] == "x: remembered\n"
    assert run("remember", "two", "--id", "x")[1] == "x: changed\n"
    assert run("remember", "two", "--id", "x", "--quiet") == (0, "", "")


def test_lines_of_stdin_are_remembered_and_bad_ones_told_by_number(fresh: Path, run: Run, feed: Feed) -> None:
    lines = [
        json.dumps({"text": "Acme called.", "id": "call"}),
        "nonsense",
        "",
        json.dumps({"type": "semantic", "subject": "Acme", "predicate": "prefers", "object": "tea", "at": "2999"}),
        json.dumps({"type": "semantic", "subject": "Acme", "predicate": "prefers"}),
        json.dumps({"type": "summary", "text": "All is well.", "id": "call"}),
        json.dumps({"type": "procedural", "trigger": "it rings", "action": "answer"}),
        json.dumps({"text": "Acme called.", "id": "call"}),
    ]
    feed("\n".join(lines))
    code, out, err = run("remember", "-")
    assert code == 2
    assert out == "remembered 3 memories: 2 new, 1 known already\n"
    assert [line.split(": ")[1] for line in err.splitlines()] == ["stdin:2:1", "stdin:4:1", "stdin:5:1", "stdin:6:1"]
    assert run("entities") == (1, "", "recollect: no entity is known\n")
    feed("\n".join(lines[:1]))
    code, out, err = run("remember", "-", "--json")
    told = loads_once(out)
    assert (code, err, told["problems"]) == (0, "", 0)
    assert [Remembered.model_validate(each).use_count for each in told["remembered"]] == [2]
    feed("\n".join(lines[:2]))
    assert run("remember", "-", "--quiet")[:2] == (2, "")
    feed('{"text": "x", "at": 1700000000}')
    assert "stdin:1:1: at is 1700000000: give a text with a day or a time, such as 2024-05-17\n" in run("remember", "-")[2]
    feed("")
    assert run("remember", "-") == (0, "remembered 0 memories\n", "")


def test_a_day_without_a_zone_is_that_of_the_users_calendar(fresh: Path, run: Run, feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_MEMORY_TIMEZONE", "America/New_York")
    assert run("remember", "Acme signed the lease", "--at", "2024-02-01", "--id", "lease")[0] == 0
    feed('{"text": "Acme paid the lease", "at": "2024-02-01", "id": "paid"}')
    assert run("remember", "-")[0] == 0
    code, out, err = run("recall", "what about the lease on 1 February 2024?", "--explain", "--at", "2024-02-02")
    assert code == 0
    assert out.count(", 2024-02-01) Acme ") == 2
    assert err.count("is from 1 February 2024") == 2
    found = AugmentedContext.model_validate(loads_once(run("recall", "lease", "--json", "--at", "2024-02-01")[1]))
    assert [each.at.isoformat() for each in found.memories] == ["2024-02-01T05:00:00+00:00"] * 2
    assert run("recall", "lease", "--at", "2024-02-01", "--timezone", "America/Los_Angeles")[0] == 0
    assert run("recall", "lease", "--at", "2024-02-01T13:00", "--timezone", "Asia/Tokyo")[0] == 1
    assert run("recall", "lease", "--at", "2024-02-01T14:00", "--timezone", "Asia/Tokyo")[0] == 0


# Recalling.


def test_recall_prints_its_prompt_and_tells_the_rest_on_stderr(here: Path, run: Run) -> None:
    code, out, err = run("recall", "what", "does", "Acme", "prefer?")
    assert code == 0
    assert out.startswith(
        '# Retrieved Context\n\nThe following information from your memory may be relevant to the question: "what does Acme'
    )
    assert "(as of 2024-01-01) Acme Corporation prefers NET60" in out
    assert "NET30" not in out
    assert err.count("\n") == 1
    assert "; tell what was used: `recollect feedback " in err
    found = AugmentedContext.model_validate(loads_once(run("recall", "what does Acme prefer?", "--json")[1]))
    assert out == found.prompt
    assert f"recollect: {len(found.memories)} memories of {found.candidates} candidates, {found.token_count} of 3000 tokens; " in err
    assert run("recall", "what does Acme prefer?", "--quiet") == (0, out, "")


def test_recall_takes_its_options(here: Path, run: Run) -> None:
    def found(query: str, *options: str) -> AugmentedContext:
        return AugmentedContext.model_validate(loads_once(run("recall", query, "--json", "--quiet", *options)[1]))

    def ids(query: str, *options: str) -> list[str]:
        return sorted(each.id for each in found(query, *options).memories)

    assert ids("Acme", "--type", "semantic") == ["net60"]
    assert ids("Acme", "--type", "semantic", "--history") == ["net30", "net60"]
    assert ids("Acme", "--type", "semantic", "--type", "summary") == ["net60", "sum"]
    assert ids("Acme", "--type", "semantic", "--at", "2023-06") == ["net30"]
    assert ids("Acme", "--where", '{"team": "sales"}') == ["ask"]
    assert len(ids("Acme", "-k", "1")) == len(ids("Acme", "--limit", "1")) == 1
    assert found("Acme", "--max-tokens", "150").token_count <= 150
    asked = found("what happened yesterday?", "--at", "2024-02-02T05:00:00Z", "--timezone", "America/New_York").query.time_range
    assert asked is not None
    assert asked.start is not None
    assert asked.start.isoformat() == "2024-02-01T00:00:00-05:00"
    assert [each.canonical_id for each in found("what do they prefer?", "--said", "Acme called").query.entities] == ["customer:a1b2"]
    assert [each.canonical_id for each in found("what do they prefer?", "--about", "customer:a1b2").query.entities] == ["customer:a1b2"]


def test_recall_explains_on_stderr_how_it_came_to_its_memories(here: Path, run: Run) -> None:
    code, out, err = run("recall", "what did Acme say about a refund in February 2024?", "--explain")
    assert code == 0
    assert "recollect" not in out
    lines = [line.removeprefix("recollect: ") for line in err.splitlines()]
    assert lines[:4] == [
        "question: factual, about entities, about a time",
        "time: 'February 2024' is 2024-02-01T00:00:00+00:00 to 2024-02-29T23:59:59+00:00",
        "entity: 'Acme' is customer:a1b2 (by an alias, 0.95)",
        "weights: factual_entity_focused: fit 0.25, entities 0.4, time 0.2, importance 0.1, use 0.05",
    ]
    assert lines[4].startswith("m1 call 0.")
    assert "Recalled because it mentions Acme Corporation, is from February 2024" in lines[4]
    assert run("recall", "how do I handle a rush order?", "--explain")[2].startswith("recollect: question: procedural\n")


def test_nothing_recalled_ends_with_one(here: Path, run: Run) -> None:
    assert run("recall", "zebra", "--type", "episodic") == (1, "", "recollect: nothing is remembered that bears on 'zebra'\n")
    code, out, _ = run("recall", "zebra", "--type", "episodic", "--json")
    assert code == 1
    assert AugmentedContext.model_validate(loads_once(out)).memories == []


def test_a_name_that_several_have_is_told(fresh: Path, run: Run) -> None:
    for name in ("Acme One", "Acme Two"):
        assert run("entities", name, "--add", "--type", "customer", "--alias", "Acme")[0] == 0
    assert run("remember", "Acme Two asked for a discount", "--entity", "customer:acmetwo", "--id", "two")[0] == 0
    said = "'Acme' may be customer:acmeone or customer:acmetwo, and none was taken for it: say which with --about"
    assert said in run("recall", "what did Acme ask for?")[2]
    assert said in run("recall", "what did Acme ask for?", "--explain")[2]
    assert said not in run("recall", "what did Acme ask for?", "--about", "customer:acmetwo")[2]


def test_feedback_is_not_asked_for_where_recalls_are_not_logged(here: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_MEMORY_LOG", "false")
    code, _, err = run("recall", "refund")
    assert code == 0
    assert "candidate" in err
    assert "feedback" not in err


def test_a_reader_that_goes_away_ends_it_quietly(here: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    ran = subprocess.run([sys.executable, "-m", "recollect", "recall", "Acme", "--quiet"], stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    assert (ran.returncode, ran.stderr) == (141, b"")


# Forgetting.


def test_what_is_forgotten_is_gone(fresh: Path, run: Run, feed: Feed) -> None:
    feed("\n".join(map(json.dumps, MEMORIES)))
    assert run("remember", "-")[:2] == (0, "remembered 6 memories: 6 new, 1 older fact replaced\n")
    assert run("forget", "call", "ask") == (0, "forgot 2 memories\n", "")
    assert run("forget", "sum", "call") == (1, "forgot 1 memory\n", "recollect: there is no memory 'call' in scope 'default'\n")
    assert loads_once(run("forget", "call", "--json")[1]) == {"forgotten": 0, "missing": ["call"]}
    feed("A document.")
    assert run("index", "-", "--id", "doc")[0] == 0
    code, out, err = run("forget", "doc")
    assert (code, out) == (2, "")
    assert "'doc' is no memory but of kind 'document': remove it with `recollect delete`" in err
    assert run("forget", "--all", "--yes") == (0, "forgot 3 memories\n", "")
    assert run("forget", "--all", "--yes") == (1, "forgot 0 memories\n", "")
    assert run("get", "doc")[0] == 0
    assert run("entities")[0] == 1
    assert run("forget", "x", "--quiet")[:2] == (1, "")


# Learning.


def test_feedback_counts_each_use_once(fresh: Path, run: Run) -> None:
    assert run("remember", "Acme called about a refund", "--id", "call")[0] == 0
    recalled = loads_once(run("recall", "refund", "--json")[1])["retrieval_id"]
    assert run("feedback", recalled, "m1") == (0, "counted 1 use\n", "")
    assert run("feedback", recalled, "call", "m1") == (0, "counted 0 uses; 1 had been counted before\n", "")
    told = Feedback.model_validate(loads_once(run("feedback", recalled, "m1", "--json")[1]))
    assert (told.used, told.counted) == (["call"], [])
    assert loads_once(run("recall", "refund", "--json")[1])["memories"][0]["use_count"] == 1
    for words, said in (((recalled, "m9"), "gave back no memory 'm9'"), (("nothing", "m1"), "there is no recall 'nothing'")):
        code, out, err = run("feedback", *words)
        assert (code, out) == (1, "")
        assert said in err
        assert loads_once(run("feedback", *words, "--json")[1])["error"]["type"] == "NotFound"


def test_recalls_are_in_the_log(fresh: Path, run: Run) -> None:
    run("remember", "Acme called about a refund", "--id", "call")
    run("recall", "refund", "--quiet")
    (entry,) = loads_once(run("log", "--json")[1])["retrievals"]
    assert (entry["query"], entry["profile"], [each["id"] for each in entry["found"]]) == ("refund", "recall", ["call"])


def test_an_evaluation_of_memory_writes_nothing(fresh: Path, run: Run, feed: Feed) -> None:
    feed("\n".join(map(json.dumps, MEMORIES)))
    assert run("remember", "-", "--quiet")[0] == 0
    (fresh / "asked.csv").write_text(
        "question,expected,grade\nwhat about the refund?,call,2\nwhat about the refund?,ask,1\n", encoding="utf-8"
    )
    code, out, _ = run("eval", "asked.csv", "--recall", "--json", "--quiet")
    measured = loads_once(out)
    assert (code, measured["hits@5"], measured["better_first"]) == (0, 1.0, 1.0)
    assert run("log", "--quiet")[:2] == (1, "")
    assert "leave out --recall" in run("eval", "asked.csv", "--recall", "--worst", "3")[2]


def test_tuning_tells_what_is_missing_and_goes_back(fresh: Path, run: Run) -> None:
    run("remember", "Acme called")
    code, out, err = run("tune")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"{name}: 0 recalls had some memories used and some not, and 50 are needed"
        for name in ("factual_entity_focused", "procedural", "exploratory", "analytical")
    ]
    assert not TuningReport.model_validate(loads_once(run("tune", "--apply", "--json")[1])).applied
    assert run("tune", "--reset") == (0, "the weights of the settings count already\n", "")
    assert loads_once(run("tune", "--reset", "--json")[1]) == {"reset": False}


def test_weights_that_change_are_told_with_what_to_do() -> None:
    before = dict.fromkeys(("semantic_similarity", "entity_overlap", "temporal_relevance", "importance", "reinforcement"), 0.2)
    tuned = TunedStrategy(
        strategy="procedural",
        events=60,
        lift=dict.fromkeys(before, 0.0),
        before=before,
        after=before | {"importance": 0.15, "reinforcement": 0.25},
        right_before=0.5,
        right_after=0.75,
        changed=True,
        why="because",
    )

    def text(*, applied: bool) -> list[str]:
        return tuning_text(TuningReport(strategies=[tuned], applied=applied, weights={}), applies=applied).splitlines()

    moved = ["procedural: because", "    importance 0.2 to 0.15, use 0.2 to 0.25"]
    assert text(applied=False) == [*moved, "nothing was changed: `recollect tune --apply` lets these weights count"]
    assert text(applied=True) == [*moved, "these weights count from now on; `recollect tune --reset` goes back"]


# Entities.


def test_entities_are_shown_and_added(fresh: Path, run: Run) -> None:
    added = "customer:a1b2  Acme Corporation (customer), also Acme\n"
    assert run("entities", "Acme Corporation", "--add", "--type", "customer", "--id", "customer:a1b2", "--alias", "Acme") == (0, added, "")
    assert run("entities", "Bob", "--add", "--type", "person", "--quiet")[0] == 0
    assert run("entities", "acme") == run("entities", "--type", "customer") == run("entities", "Acme Corporatoin") == (0, added, "")
    assert run("entities", "-k", "1") == (0, added, "")
    assert loads_once(run("entities", "--json")[1]) == {
        "entities": [
            {"id": "customer:a1b2", "type": "customer", "name": "Acme Corporation", "aliases": ["Acme"]},
            {"id": "person:bob", "type": "person", "name": "Bob", "aliases": []},
        ]
    }
    assert run("entities", "Zed") == (1, "", "recollect: no entity is known that 'Zed' may mean\n")
    assert run("entities", "--type", "place") == (1, "", "recollect: no entity is known of type 'place'\n")
