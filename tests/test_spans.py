"""A place names lines of an item, or a definition in it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect.errors import InvalidInput, NotFound
from recollect.model import Batch, Entry, Item
from recollect.outline import Definition, Outline
from recollect.spans import Span, is_place, read
from recollect.stores.reference import ReferenceStore

NOW = datetime(2024, 5, 17, tzinfo=UTC)
TEXT = "import os\n\nclass Store:\n    @cached\n    def write(self):\n        return 1\n\nclass Log:\n    def write(self): ...\n"


def definition(qualified: str, first: str, last: str) -> Definition:
    start, end = TEXT.index(first), TEXT.index(last) + len(last)
    name, parent = qualified.rpartition(".")[2], qualified.rpartition(".")[0] or None
    lines = TEXT.count("\n", 0, start) + 1, TEXT.count("\n", 0, end) + 1
    return Definition(
        name=name,
        qualified=qualified,
        kind="method" if parent else "class",
        start=start,
        end=end,
        line_start=lines[0],
        line_end=lines[1],
        body=start,
        parent=parent,
    )


OUTLINE = Outline(
    language="python",
    definitions=(
        definition("Store", "class Store", "return 1"),
        definition("Store.write", "@cached", "return 1"),
        definition("Log", "class Log", "..."),
        definition("Log.write", "def write(self): ...", "..."),
    ),
)


def item(item_id: str, text: str) -> Item:
    return Item(scope="s", id=item_id, text=text, created_at=NOW, updated_at=NOW)


@pytest.fixture(scope="module")
def store() -> ReferenceStore:
    store = ReferenceStore()
    entries = [
        Entry(item("src/a.py", TEXT), outline=OUTLINE.pack()),
        Entry(item("crlf.txt", "one\r\ntwo\r\nthree")),
        Entry(item("empty.txt", "")),
        Entry(item("c#/a:b.cs", "first\nsecond\n")),
    ]
    asyncio.run(store.write("s", Batch(entries)))
    return store


def span(store: ReferenceStore, place: str) -> Span:
    return asyncio.run(read(store, "s", place))


@pytest.mark.parametrize(
    ("place", "lines", "text", "symbol"),
    [
        ("src/a.py:1", (1, 1), "import os", None),
        ("src/a.py:1-3", (1, 3), "import os\n\nclass Store:", None),
        ("src/a.py:5-6", (5, 6), "    def write(self):\n        return 1", "Store.write"),
        ("src/a.py:3-6", (3, 6), "class Store:\n    @cached\n    def write(self):\n        return 1", "Store"),
        ("src/a.py:9-400", (9, 9), "    def write(self): ...", "Log.write"),
        ("src/a.py:2", (2, 2), "", None),
        ("src/a.py#Store.write", (4, 6), "    @cached\n    def write(self):\n        return 1", "Store.write"),
        ("src/a.py#Log", (8, 9), "class Log:\n    def write(self): ...", "Log"),
        ("src/a.py#L5-L6", (5, 6), "    def write(self):\n        return 1", "Store.write"),
        ("src/a.py#L1", (1, 1), "import os", None),
        ("crlf.txt:1-2", (1, 2), "one\r\ntwo", None),
        ("crlf.txt:3", (3, 3), "three", None),
        ("c#/a:b.cs:2", (2, 2), "second", None),
        ("empty.txt:1", (1, 1), "", None),
    ],
)
def test_a_place_gives_its_lines_and_what_they_are_in(
    store: ReferenceStore, place: str, lines: tuple[int, int], text: str, symbol: str | None
) -> None:
    found = span(store, place)
    assert ((found.line_start, found.line_end), found.text, found.symbol) == (lines, text, symbol)
    assert place.startswith(found.item_id)


@pytest.mark.parametrize(
    ("place", "error", "said"),
    [
        ("src/a.py:0", InvalidInput, "count from 1"),
        ("src/a.py:4-2", InvalidInput, "not before the first"),
        ("src/a.py:10", InvalidInput, "has 9 lines: there is no line 10"),
        ("src/a.py:" + "9" * 5_000, InvalidInput, "write one as 10"),
        ("src/a.py:4-", InvalidInput, "'4-' are no lines of 'src/a.py'"),
        ("src/a.py:x", InvalidInput, "'x' are no lines"),
        ("src/a.py#write", InvalidInput, "several definitions of 'write': write one of Store.write, Log.write"),
        ("src/a.py#missing", NotFound, "no definition 'missing' in 'src/a.py'"),
        ("crlf.txt#anything", NotFound, "no definition 'anything'"),
        ("src/b.py:4", NotFound, "no item 'src/b.py'"),
        ("src/b.py#Store", NotFound, "no item 'src/b.py'"),
        ("src/a.py", InvalidInput, "names no place"),
        (":4", InvalidInput, "names no place"),
        ("src/a.py:", InvalidInput, "names no place"),
        ("a:#" * 100_000 + "b", NotFound, "no item 'a:#a"),
    ],
)
def test_what_is_no_place_is_told_in_a_line(store: ReferenceStore, place: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said) as told:
        span(store, place)
    assert "\n" not in str(told.value)


def test_what_may_be_a_place() -> None:
    assert all(map(is_place, ["a:1", "a#b", "a:b:c", "#a#b"]))
    assert not any(map(is_place, ["a", "", ":", "#", "a:", "#a"]))


def test_the_command_prints_the_span_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., tuple[int, str, str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOLLECT_EMBED_MODEL", "none")
    (tmp_path / "a.py").write_text("one = 1\ntwo = 2\n\n\ndef three():\n\treturn 3\n")
    (tmp_path / "b.md").write_text("a whole item\n")
    assert run("index", ".")[0] == 0
    assert run("get", "a.py:1-2") == (0, "one = 1\ntwo = 2\n", "")
    assert run("get", "a.py:5-6") == (0, "def three():\n\treturn 3\n", "")
    assert run("get", "a.py#three") == (0, "def three():\n\treturn 3\n", "")
    code, out, _ = run("get", "a.py:6", "--json")
    assert (code, json.loads(out)) == (0, {"item_id": "a.py", "line_start": 6, "line_end": 6, "text": "\treturn 3", "symbol": "three"})
    assert run("get", "a.py:9")[::2] == (2, "recollect: 'a.py' has 6 lines: there is no line 9\n")
    assert run("get", "nothing.py:9")[0] == 1
    assert run("get", "nothing.py")[0] == 1


def test_an_id_that_looks_like_a_place_is_an_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., tuple[int, str, str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOLLECT_EMBED_MODEL", "none")
    (tmp_path / "records.jsonl").write_text('{"id": "a", "text": "first\\nsecond"}\n{"id": "a:1", "text": "of its own"}\n')
    assert run("import", "records.jsonl")[0] == 0
    assert "of its own" in run("get", "a:1")[1]
    assert run("get", "a:2")[1] == "second\n"
