"""Questions read by rules: what they ask for and where, and above all which of them stay as they are."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.route.rules import MAX_CHARS, RuleRouter, by_rules
from recollect.route.tree import tree_text
from recollect.routing import MAX_REQUESTS

PATHS = [
    *("README.md", "docs/queries.md", "docs/guide/start.md", "src/store/rows.py", "src/store/lock.py", "src/billing/invoice.py"),
    *("lib/stores/a.ts", "src/recollect/stores/b.py", "src/Legacy/old.py", "src/v1.2/c.py"),
]
PYTHON = ["*.py", "*.pyi", "*.pyw", "*.pyx", "*.pxd"]
TYPESCRIPT = ["*.ts", "*.mts", "*.cts", "*.tsx"]
DOCS = ["markdown", "text"]


def only(query: str) -> dict[str, Any]:
    """The one request of a question, without what is empty."""
    (request,) = by_rules(query, PATHS).requests
    return {key: value for key, value in request.model_dump(exclude={"reasoning"}).items() if value}


@pytest.mark.parametrize(
    "query",
    [
        *(
            "how are rows written",
            "  spaces   stay\nas they are ",
            "how is config.toml read",
            "who imports client.py",
            "what do python files hold",
        ),
        *("read/write in client/server mode", "how are in-memory rows kept in memory", "where are .env files read", "python", "x"),
        *(
            "how do I use **kwargs, 2*3.5 and /* comments */",
            "error code in the code review",
            "a code block in the docs build",
            "?",
            "1. first",
        ),
        *("what is the difference between what the store writes and what the index reads", "where and why is the lock taken", "and how?"),
        *(
            "how are rows written and how is it tested",
            "for (i = 0; i < n; i++) { x; }",
            'what does "in the docs; in src/store" mean',
            "a? ?",
        ),
        *(
            "rows in the payments folder",
            "rows in src/payments",
            "how does SELECT a.b FROM c; work",
            "what does `a? b? c` do",
            "\x00",
            "é",
        ),
        "x " * MAX_CHARS + "? in the docs? *.py",
        f"where is x in {'x' * 300}.py",
    ],
)
def test_a_plain_question_stays_as_it_is(query: str) -> None:
    assert only(query) == {"query": query}


@pytest.mark.parametrize(
    ("query", "left", "types"),
    [
        ("how is a filter parsed in the docs?", "how is a filter parsed?", DOCS),
        ("according to the documentation, how are rows kept", "how are rows kept", DOCS),
        ("what does the readme say about locks", "what does the readme say about locks", DOCS),
        ("documentation of the lock", "documentation of the lock", DOCS),
        ("in the code, where is the lock taken", "where is the lock taken", ["code"]),
        ("where is the lock taken in the source code", "where is the lock taken", ["code"]),
        ("function that parses dates", "function that parses dates", ["code"]),
        ("the class which keeps locks", "the class which keeps locks", ["code"]),
        ("what is said in the docs and in the code?", "what is said in the docs and in the code?", []),
        ("how do we handle JSON in the code and the docs", "how do we handle JSON in the code and the docs", []),
        ("locks in our docs as well as in the code", "locks in our docs as well as in the code", []),
        ("in the documentation, the source code and the tests: locks", "in the documentation, the source code and the tests: locks", []),
        ("where is the lock taken in the code and not the docs", "where is the lock taken and not the docs", ["code"]),
        ("where is the lock taken in the code and docs build", "where is the lock taken and docs build", ["code"]),
        ("where is the lock taken, not in the docs", "where is the lock taken, not in the docs", []),
        ("in the docs", "in the docs", DOCS),
    ],
)
def test_types_of_sources_are_read(query: str, left: str, types: list[str]) -> None:
    found = only(query)
    assert (found["query"], found.get("source_types", [])) == (left, types)


@pytest.mark.parametrize(
    ("query", "left", "patterns"),
    [
        ("how are retries done in client.py?", "how are retries done?", ["client.py"]),
        ("how are retries done in the file `src/client.py`", "how are retries done", ["src/client.py"]),
        ("retries in a.py and in b.py", "retries", ["a.py", "b.py"]),
        ("what do *.py files say of locks", "what do files say of locks", ["*.py"]),
        ("locks in src/**/*.ts", "locks", ["src/**/*.ts"]),
        ("locks in test_*.py", "locks", ["test_*.py"]),
        ("retries in python files", "retries", PYTHON),
        ("retries in all the TypeScript files", "retries", TYPESCRIPT),
        ("retries (typescript files)", "retries", TYPESCRIPT),
        ("how are dates parsed, .rs files only", "how are dates parsed", ["*.rs"]),
        ("how are dates parsed in .rs files", "how are dates parsed", ["*.rs"]),
        ("ports in yaml files", "ports", ["*.yaml", "*.yml"]),
        ("in client.py", "in client.py", ["client.py"]),
    ],
)
def test_files_are_read(query: str, left: str, patterns: list[str]) -> None:
    assert only(query) == {"query": left, "file_patterns": patterns}


@pytest.mark.parametrize(
    ("query", "left", "folders"),
    [
        ("how are rows written in src/store?", "how are rows written?", ["src/store"]),
        ("how are rows written in store/", "how are rows written", ["src/store"]),
        ("how are rows in src/store written", "how are rows written", ["src/store"]),
        ("where are invoices made under the billing folder", "where are invoices made", ["src/billing"]),
        ("where are invoices made in the `billing` package", "where are invoices made", ["src/billing"]),
        ("where are invoices made in the directory src/billing", "where are invoices made", ["src/billing"]),
        ("what is old in the legacy module", "what is old", ["src/Legacy"]),
        ("how do stores/ lock", "how do stores/ lock", ["lib/stores", "src/recollect/stores"]),
        ("locks in nowhere/", "locks", ["nowhere"]),
        ("locks in `stores/`!", "locks!", ["lib/stores", "src/recollect/stores"]),
        ("queries in the docs folder", "queries", ["docs"]),
        ("what is in src/store", "what is in src/store", ["src/store"]),
    ],
)
def test_folders_are_read_where_there_are_such(query: str, left: str, folders: list[str]) -> None:
    assert only(query) == {"query": left, "folders": folders}


@pytest.mark.parametrize(
    ("query", "questions"),
    [
        ("How are rows written? Where is the lock taken?", ["How are rows written?", "Where is the lock taken?"]),
        ("how are rows written and where is the lock taken", ["how are rows written", "where is the lock taken"]),
        (
            "how do the stores write rows; where does the index read rows",
            ["how do the stores write rows", "where does the index read rows"],
        ),
        ("1. how are rows written 2. where is the lock taken", ["how are rows written", "where is the lock taken"]),
        ("Store:\n1) how are rows written\n2) where is a lock", ["Store: how are rows written", "Store: where is a lock"]),
        ("How are rows written? How is it tested? Where is the lock?", ["How are rows written? How is it tested?", "Where is the lock?"]),
        ("how are rows written\n\nwhere is the lock taken", ["how are rows written", "where is the lock taken"]),
        ("What is a lock? What is a lock?", ["What is a lock?"]),
    ],
)
def test_several_questions_are_taken_apart(query: str, questions: list[str]) -> None:
    assert [request.query for request in by_rules(query, PATHS).requests] == questions


def test_no_more_than_five_requests_are_made_and_nothing_is_lost() -> None:
    requests = by_rules(" ".join(f"What is thing{number}?" for number in range(9)), PATHS).requests
    assert len(requests) == MAX_REQUESTS
    assert requests[-1].query == " ".join(f"What is thing{number}?" for number in range(4, 9))


def test_each_question_has_its_own_places_and_a_place_in_front_is_of_all() -> None:
    first, second = by_rules("how are rows written in src/store and where is the lock taken in client.py", PATHS).requests
    assert (first.query, first.folders, first.file_patterns) == ("how are rows written", ["src/store"], [])
    assert (second.query, second.folders, second.file_patterns) == ("where is the lock taken", [], ["client.py"])
    requests = by_rules("In src/store, how are rows written and where is the lock taken?", PATHS).requests
    assert [(request.query, request.folders) for request in requests] == [
        ("how are rows written", ["src/store"]),
        ("where is the lock taken?", ["src/store"]),
    ]


@pytest.mark.parametrize(
    ("query", "asked"), [("how are rows written", 0), ("rows in client.py", 0), ("rows in the billing folder", 1), ("rows in src/store", 1)]
)
def test_the_paths_are_asked_for_only_where_a_folder_may_be_meant(query: str, asked: int) -> None:
    calls = []

    async def tree() -> Sequence[str]:
        calls.append(query)
        return PATHS

    routed = asyncio.run(RuleRouter().route(query, tree))
    assert routed.output == by_rules(query, PATHS)
    assert (routed.router, routed.note, len(calls)) == ("rules", "", asked)


WORDS = 'how where and in the docs code src/store client.py *.py python files folder billing ? ; 1. 2) it `x` " ( ) , : / stores/ that'


@given(st.text(min_size=1, max_size=80) | st.lists(st.sampled_from(WORDS.split(" ")), min_size=1, max_size=25).map(" ".join))
def test_any_text_may_be_asked_and_no_query_is_empty(query: str) -> None:
    if query.strip():
        requests = by_rules(query, PATHS).requests
        assert 1 <= len(requests) <= MAX_REQUESTS
        assert all(request.query.strip() for request in requests)


@pytest.mark.parametrize("unit", ["a", "? ", "; ", "in ", "in the ", "and how ", "`", '"', "1. ", "a/", "*.", "(", ",", "in a/ ", " "])
def test_long_texts_are_read_in_no_time_that_matters(unit: str) -> None:
    for length in (MAX_CHARS - 2, 99_998):
        assert by_rules("x" + (unit * length)[:length] + "x", PATHS).requests


# The tree


def test_the_tree_has_every_folder_with_its_files() -> None:
    assert tree_text(["b.md", "src/a.py", "src/deep/er/c.py", "a.md"]).splitlines() == [
        "./ (4 files): a.md, b.md",
        "src/ (2 files): a.py",
        "src/deep/ (1 files)",
        "src/deep/er/ (1 files): c.py",
    ]
    assert tree_text([]) == ""


def test_a_large_tree_is_cut_to_size_the_outer_folders_first() -> None:
    paths = [f"top{a}/middle{b}/inner{c}/file{d}.py" for a in range(9) for b in range(9) for c in range(9) for d in range(9)]
    text = tree_text(paths)
    assert 5_000 < len(text) <= 6_000
    assert text.startswith("./ (6561 files) [")
    assert all(f"top{a}/ (729 files)" in text for a in range(9))
    assert "deeper folders are not listed" in text
    many = tree_text([f"file{number:05}.py" for number in range(20_000)])
    assert many.endswith(", +19970")


def test_a_name_cannot_break_its_line() -> None:
    text = tree_text(["src/a\nb\x1b.py", "src/" + "x" * 5_000, "new\nline/c.py"])
    assert len(text.splitlines()) == 3
    assert len(text) < 500
    assert all(line.isprintable() for line in text.splitlines())
