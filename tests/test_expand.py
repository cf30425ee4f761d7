"""What is shown beside evidence: the class, the siblings, the imports in use, callees, callers and tests; headings and child sections."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from recollect.contracts import ContextSpan, EvidenceChunk
from recollect.expand import MAX_CALLEES, MAX_CALLERS, MAX_CHILDREN, MAX_IMPORTS, MAX_SIBLINGS, MAX_TESTS, expand
from recollect.ingest.linking import link
from recollect.model import Batch, Entry, Item, Stored
from recollect.stores.reference import ReferenceStore
from recollect.syntax import outline_of

AT = datetime(2024, 5, 1, tzinfo=UTC)

STORE = '''import json
import os
from pathlib import Path
from .rows import Row, unused
from .words import fold as fold_words


class Base:
    """Anything that is kept."""

    def check(self):
        return os.path


class Store(Base):
    """Keeps rows.

    For long.
    """

    def open(self):
        """Open it."""
        return 1

    def write(self, row):
        """Write a row."""
        self.flush()
        return json.dumps(Row(fold_words(row)))

    def one(self):
        return 1

    def flush(self):
        """Bring it to the disk.

        Now."""
        return 2

    def two(self):
        return 2

    def three(self):
        return self.write(3)
'''
FILES = {
    "app/__init__.py": "",
    "app/store.py": STORE,
    "app/rows.py": 'class Row:\n    """One row."""\n\n    def __init__(self, words):\n        self.words = words\n',
    "app/words.py": 'def fold(text):\n    """Small letters.\n\n    Always."""\n    return text.lower()\n',
    "app/main.py": "from .store import Store\n\n\ndef start():\n    Store.write(1)\n\n\ndef again():\n    Store.write(2)\n",
    "tests/test_store.py": "from app.store import Store\n\n\ndef test_it_is_kept():\n    Store.write(1)\n",
}


def item(path: str, text: str) -> Item:
    is_code = path.endswith(".py")
    return Item(
        scope="s",
        id=path,
        text=text,
        format="code" if is_code else "markdown" if path.endswith(".md") else "text",
        source="file",
        source_ref=path,
        metadata={**({"language": "python"} if is_code else {}), **({"role": "test"} if path.startswith("tests/") else {})},
        created_at=AT,
        updated_at=AT,
    )


def evidence(path: str, text: str, part: str) -> EvidenceChunk:
    start = text.index(part)
    return EvidenceChunk(
        item_id=path,
        chunk_id=None,
        text=part,
        start_idx=start,
        end_idx=start + len(part),
        token_count=None,
        score=1.0,
        score_text=None,
        score_vec=None,
        heading_path=None,
        anchors=None,
    )


def between(text: str, first: str, end: str) -> str:
    return text[text.index(first) : text.index(end)]


async def expanded(files: Mapping[str, str], *parts: tuple[str, str]) -> list[list[ContextSpan]]:
    """The context of some parts of files."""
    store = ReferenceStore()
    entries = [
        Entry(made, outline=found.pack() if (found := outline_of(made)) else b"") for made in (item(*pair) for pair in files.items())
    ]
    await store.write("s", Batch(entries))
    await link(store, "s", {})
    chunks = [evidence(path, files[path], part) for path, part in parts]
    stored = {each.item.id: each for each in await store.get("s", [chunk.item_id for chunk in chunks])}
    found = await expand(store, "s", chunks, stored)
    assert [chunk.model_copy(update={"context": []}) for chunk in found] == chunks, "the chunks stay as they are"
    for chunk in found:
        for span in chunk.context:
            lines = files[span.item_id].split("\n")
            assert 1 <= span.line_start <= span.line_end <= len(lines)
    return [chunk.context for chunk in found]


def context(files: Mapping[str, str], *parts: tuple[str, str]) -> list[list[tuple[str, str, str]]]:
    found = asyncio.run(expanded(files, *parts))
    return [[(span.label, span.item_id, span.text) for span in spans] for spans in found]


WRITE = between(STORE, "    def write", "    def one")


def test_a_method_comes_with_its_class_its_siblings_its_imports_and_the_calls_around_it() -> None:
    (found,) = context(FILES, ("app/store.py", WRITE))
    assert found == [
        ("parent", "app/store.py", found[0][2]),
        ("sibling", "app/store.py", "def open(self)\nOpen it."),
        ("sibling", "app/store.py", "def one(self)"),
        ("sibling", "app/store.py", "def two(self)"),
        ("import", "app/store.py", "import json"),
        ("import", "app/store.py", "from .rows import Row, unused"),
        ("import", "app/store.py", "from .words import fold as fold_words"),
        ("callee", "app/rows.py", "class Row\nOne row."),
        ("callee", "app/words.py", "def fold(text)\nSmall letters."),
        ("callee", "app/store.py", "def flush(self)\nBring it to the disk."),
        ("caller", "app/main.py", "def again()"),
        ("caller", "app/main.py", "def start()"),
        ("caller", "app/store.py", "def three(self)"),
        ("test", "tests/test_store.py", "def test_it_is_kept()"),
    ]
    assert found[0][2].startswith("class Store(Base):")
    assert "def " not in found[0][2]


def test_a_span_says_where_it_is() -> None:
    (found,) = asyncio.run(expanded(FILES, ("app/store.py", WRITE)))
    by_symbol = {span.symbol: span for span in found if span.symbol}
    assert (by_symbol["Store.flush"].line_start, by_symbol["Store.flush"].line_end) == (33, 37)
    assert by_symbol["Store"].line_start == 15
    assert by_symbol["fold"].source_ref == "app/words.py"
    assert next(span for span in found if span.text == "import json").line_start == 1


def test_nothing_is_shown_that_is_evidence_or_was_shown_before() -> None:
    flush = between(STORE, "    def flush", "    def two")
    imports = between(STORE, "import json", "from .rows")
    first, second, third = context(FILES, ("app/store.py", WRITE), ("app/store.py", flush), ("app/store.py", imports))
    everything = [*first, *second, *third]
    assert len(set(everything)) == len(everything)
    assert not any("flush" in text or text == "import json" for _, _, text in everything)
    assert [label for label, _, _ in second if label == "parent"] == [], "the class was shown with the first"


def test_a_function_at_the_top_has_no_parent_and_no_siblings() -> None:
    (found,) = context(FILES, ("app/main.py", between(FILES["app/main.py"], "def start", "def again")))
    assert found == [
        ("import", "app/main.py", "from .store import Store"),
        ("callee", "app/store.py", "def write(self, row)\nWrite a row."),
    ]


def test_every_kind_of_context_is_capped() -> None:
    many = 12
    names = [f"helper_{at}" for at in range(many)]
    files = {
        "lib.py": "\n\n".join(f"def {name}():\n    return 1" for name in names) + "\n",
        "big.py": "\n".join(f"from lib import {name}" for name in names)
        + "\n\n\nclass Big:\n    def target(self):\n"
        + "".join(f"        {name}()\n" for name in names)
        + "".join(f"\n    def beside_{at}(self):\n        return 1\n" for at in range(many)),
        "use.py": "from big import Big\n" + "".join(f"\n\ndef use_{at}():\n    Big.target(1)\n" for at in range(many)),
        "tests/test_big.py": "from big import Big\n" + "".join(f"\n\ndef test_{at}():\n    Big.target(1)\n" for at in range(many)),
    }
    (found,) = context(files, ("big.py", between(files["big.py"], "    def target", "\n    def beside_0")))
    labels = [label for label, _, _ in found]
    expected = {
        "parent": 1,
        "sibling": MAX_SIBLINGS,
        "import": MAX_IMPORTS,
        "callee": MAX_CALLEES,
        "caller": MAX_CALLERS,
        "test": MAX_TESTS,
    }
    assert {label: labels.count(label) for label in labels} == expected
    assert (MAX_SIBLINGS, MAX_IMPORTS, MAX_CALLEES, MAX_CALLERS, MAX_TESTS) == (3, 5, 5, 5, 3)


GUIDE = """# Guide

Welcome.

## Use

How to use it.

### First

One.

### Second

Two.

## Other

Else.
"""


def test_a_section_comes_with_the_headings_above_it_and_the_sections_in_it() -> None:
    (found,) = context({"guide.md": GUIDE}, ("guide.md", between(GUIDE, "## Use", "### First")))
    assert found == [
        ("parent section", "guide.md", "# Guide"),
        ("child section", "guide.md", "First"),
        ("child section", "guide.md", "Second"),
    ]
    (found,) = context({"guide.md": GUIDE}, ("guide.md", between(GUIDE, "One.", "### Second")))
    assert [text for _, _, text in found] == ["# Guide", "## Use", "### First"]


def test_only_so_many_child_sections_are_listed() -> None:
    text = "# All\n\nThese.\n" + "".join(f"\n## Part {at}\n\nText.\n" for at in range(15))
    (found,) = context({"all.md": text}, ("all.md", "# All\n\nThese."))
    assert [label for label, _, _ in found] == ["child section"] * MAX_CHILDREN == ["child section"] * 10


@pytest.mark.parametrize("path", ["notes.txt", "code.unknown"])
def test_a_text_without_structure_stands_alone(path: str) -> None:
    assert context({path: "Some words.\n\nMore words.\n"}, (path, "Some words.")) == [[]]


def test_without_symbols_the_store_is_not_asked() -> None:
    chunk = evidence("a.txt", "Some words.", "Some")
    stored = {"a.txt": Stored(item("a.txt", "Some words."))}
    nowhere: Any = None
    assert asyncio.run(expand(nowhere, "s", [chunk], stored)) == [chunk]
    guide = item("guide.md", GUIDE)
    found = outline_of(guide)
    assert found is not None
    (section,) = asyncio.run(
        expand(nowhere, "s", [evidence("guide.md", GUIDE, "Else.")], {"guide.md": Stored(guide, outline=found.pack())})
    )
    assert [span.text for span in section.context] == ["# Guide", "## Other"]


def test_the_store_is_asked_once_for_all_chunks() -> None:
    async def run() -> None:
        store = ReferenceStore()
        made = [item(*pair) for pair in FILES.items()]
        await store.write("s", Batch([Entry(each, outline=found.pack() if (found := outline_of(each)) else b"") for each in made]))
        await link(store, "s", {})
        asked: list[str] = []

        class Counted:
            def __getattr__(self, name: str) -> Any:
                asked.append(name)
                return getattr(store, name)

        chunks = [evidence("app/store.py", STORE, WRITE), evidence("app/main.py", FILES["app/main.py"], "def again():\n    Store.write(2)")]
        stored = {each.item.id: each for each in await store.get("s", ["app/store.py", "app/main.py"])}
        counted: Any = Counted()
        assert all(chunk.context for chunk in await expand(counted, "s", chunks, stored))
        assert sorted(asked) == ["get", "heads", "symbols_at", "walk"]

    asyncio.run(run())
