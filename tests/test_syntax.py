"""Outlines of anything: broken code, junk, deep nesting, real packages, documents."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recollect.syntax
from recollect.cancellation import Cancellation, under
from recollect.errors import Cancelled, InvalidInput
from recollect.model import Format, Item
from recollect.outline import Outline, unpack
from recollect.syntax import Structure, outline, outline_of, parsing, structure
from recollect.syntax.parsing import GRAMMARS
from recollect.syntax.source import Source
from recollect.syntax.structure import canonical

NOW = datetime(2024, 1, 1, tzinfo=UTC)
PACKAGES = Path(pytest.__file__).parents[1]


def item(text: str, format_: Format = "code", **metadata: str) -> Item:
    return Item(scope="s", id="a", text=text, format=format_, metadata=metadata, created_at=NOW, updated_at=NOW)


def names(found: Outline | None) -> list[str]:
    assert found is not None
    return [each.qualified for each in found.definitions]


def sound(text: str, found: Outline) -> None:
    starts = [each.start for each in found.definitions]
    assert starts == sorted(starts)
    for each in found.definitions:
        assert 0 <= each.start < each.end <= len(text)
        assert each.start <= each.body <= each.end
        assert 1 <= each.line_start <= each.line_end
        assert "\n" not in each.signature
        assert len(each.doc) <= 500
    assert all(0 <= each.start < each.end <= len(text) for each in found.imports)
    assert len(set(found.uses)) == len(found.uses)
    assert unpack(found.pack()) == found


@pytest.mark.parametrize("language", [None, "", "cobol", "COBOL", 7])
def test_an_unknown_language_has_no_outline(language: object) -> None:
    assert canonical(language) is None
    assert (
        outline_of(Item(scope="s", id="a", text="x", format="code", metadata={"language": language}, created_at=NOW, updated_at=NOW))
        is None
    )
    assert outline_of(item("def f(): ...", "text", language="python")) is None


def test_an_unknown_language_is_told_to_who_asks_for_it() -> None:
    with pytest.raises(InvalidInput, match="no grammar for the language 'cobol': use one of c, cpp"):
        outline("x", "cobol")


@pytest.mark.parametrize(("alias", "language"), [("Python", "python"), ("bash", "shell"), ("C++", "cpp"), ("jsx", "javascript")])
def test_a_language_has_several_names(alias: str, language: str) -> None:
    assert canonical(alias) == language


def test_a_broken_program_gives_what_can_be_read() -> None:
    found = outline("def good():\n    return 1\n\ndef bad(:\n    x = 1\n\nclass Fine:\n    def method(self):\n        pass\n", "python")
    assert found.is_broken
    assert {"good", "Fine", "Fine.method"} <= set(names(found))
    found = outline("function ok() { return 1 }\nfunction broken() { let = ; }\nclass Later { run() { go() } }\n", "javascript")
    assert found.is_broken
    assert {"ok", "Later", "Later.run"} <= set(names(found))


def test_a_header_of_cpp_is_read_as_such() -> None:
    found = outline("#pragma once\nclass Keeper {\n public:\n  int size() { return 1; }\n};\n", "c")
    assert (found.language, names(found)) == ("c", ["Keeper", "Keeper.size"])


@pytest.mark.parametrize("language", GRAMMARS)
@pytest.mark.parametrize("text", ["", " ", "\n\n", "\ufeff", "\x00" * 50, "\ud83d", "é" * 30, "((((" * 50, '"' * 99, "\r\r\r", "{" * 999])
def test_odd_texts(text: str, language: str) -> None:
    sound(text, outline(text, language))


@pytest.mark.parametrize("language", ["python", "javascript", "go", "cpp"])
def test_a_byte_order_mark_hides_nothing(language: str) -> None:
    code = {"python": "def f():\n    pass\n", "javascript": "function f() {}", "go": "func f() {}", "cpp": "int f() { return 1; }"}[
        language
    ]
    text = "\ufeff" + code
    found = outline(text, language)
    assert names(found) == ["f"]
    assert text[found.definitions[0].start : found.definitions[0].end] == code.strip()


def test_nesting_has_no_bottom() -> None:
    depth = 2_000
    found = outline("function a(){" * depth + "}" * depth, "javascript")
    assert len(found.definitions) == depth
    assert found.definitions[-1].qualified == ".".join("a" * depth)
    text = "x = " + "(" * 10_000
    assert structure(text, "python").is_readable
    sound(text, outline(text, "python"))


def test_what_is_nothing_like_its_language_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "PATIENCE", 0.1)
    for language, text in (("javascript", '"' * 60_000), ("rust", 'a,b,"c d",1\n' * 10_000)):
        found = structure(text, language)
        assert not found.is_readable
        assert found.outline == Outline(language=language, is_broken=True)
        assert found.statements(0, len(text)) == []
    assert names(outline("function f() {}", "javascript")) == ["f"]


@pytest.mark.parametrize("language", ["python", "javascript", "go", "csharp"])
@pytest.mark.parametrize("text", ["(" * 40_000, "{" * 40_000, "[" * 40_000, ("(" * 3_000 + "\n\nx\n") * 40])
def test_brackets_that_nothing_closes_are_given_up_before_a_query_is_lost_in_them(text: str, language: str) -> None:
    found = structure(text, language)
    assert not found.is_readable
    assert found.outline == Outline(language=language, is_broken=True)
    assert found.statements(0, len(text)) == []


def test_errors_with_names_between_them_are_read() -> None:
    text = "def f():\n    pass\n" + "(x " * 20_000
    found = structure(text, "python")
    assert found.outline.is_broken
    assert found.is_readable


def test_looking_for_errors_can_be_stopped() -> None:
    tree = parsing.parse(b"x = (1 +\n\nclass A:\n    def f(:\n        pass\n" * 2_000, "python")
    assert tree is not None
    flag = After(0)
    with under(flag), pytest.raises(Cancelled):
        parsing.is_tangled(tree.root_node)
    assert flag.looks == 1


class Counted(Sequence[int]):
    """Numbers that count how often they are read."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers, self.reads = numbers, 0

    def __getitem__(self, at: Any) -> Any:
        self.reads += 1
        return self.numbers[at]

    def __len__(self) -> int:
        return len(self.numbers)


def test_the_statements_of_many_spans_are_read_once() -> None:
    part = "call(1)\n" * 60 + "def f(a):\n    return a\n\n"
    text = part * 50
    source = Source(text)
    counted = source.at = Counted(source.at)
    found = Structure(source, Outline(language="python"), parsing.parse(source.data, "python"))
    spans = [(start, start + len("call(1)\n") * 60) for start in range(0, len(text), len(part))]
    statements = [found.statements(*span) for span in spans]
    assert [len(each) for each in statements] == [59] * 50
    assert {each for own in statements for each in own} < set(found.statements(0, len(text)))
    assert counted.reads < 4 * text.count("\n")


def test_a_chain_without_an_end_is_read_once() -> None:
    found = outline("x" + ".a()" * 5_000, "javascript")
    assert ("a", "()") in {(each.name, each.receiver) for each in found.uses}


class After(Cancellation):
    """A flag that is up after so many looks."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.left = looks
        self.looks = 0

    def check(self) -> None:
        self.looks += 1
        self.left -= 1
        if self.left < 0:
            raise Cancelled("enough")


def test_reading_can_be_stopped() -> None:
    text = "def f():\n    return g(1)\n" * 20_000
    flag = After(10)
    with under(flag), pytest.raises(Cancelled):
        outline(text, "python")
    assert flag.looks < 30
    assert len(outline(text, "python").definitions) == 20_000


# fmt: off
SHAPES = [
    "def f(a):\n", "    return 1\n", "class A(B):\n", "@dec\n", "function f() {\n", "class B extends A {\n",
    "fn x(a: &T) -> U {\n", "}\n", "}", "impl T for S {\n", "namespace N {\n", "#[a]\n", "struct S { int a; };\n", "def m\n",
    "end\n", "module M\n", "<?php\n", "func (s *S) M() {\n", "type T = int\n", "const A = 1;\n", "export default ",
    'import x from "y";\n', "from a import (b,\n", "use a::{b, c};\n", "#include <x>\n", "template<class T>\n", "private ", "{",
    "(", ")", ";", "=> ", '"', "'", "`", "/* a */", "// c\n", "# c\n", "/** d\n * e\n */\n", "x.y().z()\n",
    "fun String.x() = 1\n", "extension A { func b() {} }\n", "object O {\n", "é", "\r\n", "\r", "\x00", "\ud83d", "\ufeff",
    "👩\u200d👧", "    ", "\t",
]
# fmt: on
texts = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(SHAPES), max_size=40).map("".join))


@given(texts, st.sampled_from(sorted(GRAMMARS)))
@settings(max_examples=300, deadline=None)
def test_no_text_makes_an_outline_fail(text: str, language: str) -> None:
    found = outline(text, language)
    sound(text, found)
    assert found == outline(text, language)


def test_threads_have_parsers_of_their_own() -> None:
    codes = [f"def f{at}():\n    return g{at}(1)\n" * 50 for at in range(40)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda code: outline(code, "python"), codes))
    assert [each.definitions[0].name for each in found] == [f"f{at}" for at in range(40)]


def real_files(count: int) -> list[Path]:
    files = sorted(
        path for name in ("hypothesis", "_pytest", "pygments", "numpy/lib", "pydantic") for path in (PACKAGES / name).rglob("*.py")
    )
    return files[:: max(1, len(files) // count)]


def defined(text: str) -> Counter[tuple[str, int]]:
    """What Python's own parser finds: the qualified name of every function and class, and its line."""
    found: Counter[tuple[str, int]] = Counter()
    waiting: list[tuple[ast.AST, str]] = [(ast.parse(text), "")]
    while waiting:
        node, prefix = waiting.pop()
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{prefix}.{child.name}" if prefix else child.name
                found[inner, child.lineno] += 1
            waiting.append((child, inner))
    return found


def test_definitions_agree_with_those_of_python_itself() -> None:
    count = 0
    for path in real_files(150):
        text = path.read_text(encoding="utf-8")
        found = outline(text, "python")
        sound(text, found)
        own: Counter[tuple[str, int]] = Counter()
        for each in found.definitions:
            if each.kind in ("function", "method", "class"):
                header = text[each.start : each.body].splitlines() or [""]
                at = next(at for at, line in enumerate(header) if line.split("(")[0].split(":")[0].split()[-1:] == [each.name])
                own[each.qualified, each.line_start + at] += 1
        assert own == defined(text), path
        count += len(found.definitions)
    assert count > 2_000


def test_docstrings_agree_with_those_of_python_itself() -> None:
    for path in real_files(40):
        text = path.read_text(encoding="utf-8")
        docs = {each.qualified: each.doc for each in outline(text, "python").definitions}
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and (doc := ast.get_docstring(node)) and docs.get(node.name):
                assert docs[node.name].split("\n")[0] == doc.split("\n")[0].strip()[:500].rstrip()


def test_no_place_is_asked_of_a_node_by_row() -> None:
    """In tree-sitter 0.26.0 the points of a node give memory back that is still used, and a progress callback crashes:
    that of a parser, and that of a query, whose options are gone when it is called."""
    sources = "".join(path.read_text() for path in Path(recollect.syntax.__file__).parent.rglob("*.py"))
    code = "\n".join(line for line in sources.splitlines() if not line.strip().startswith("#"))
    assert not any(name in code for name in ("start_point", "end_point", "progress_callback"))


# Documents.


DOCUMENT = """---
title: x
---
See `src/a.py` first.

# Guide

`Store.write()` and `get_user`, [more](docs/x.md#top "title"), not `--flag`, `a b`, [web](https://x.y/z) nor [here](#here).

## Setup

```py
`not_this` [nor](this.md)
```

| `in_table` | x |
|---|---|

[ref]: ../other/file.md

### Deep
`a/b/c.py:10-20`

Other
=====
end
"""


def test_a_document_has_sections_that_hold_each_other() -> None:
    found = outline_of(item(DOCUMENT, "markdown"))
    assert found is not None
    assert found.language == "markdown"
    assert [(each.qualified, each.parent, each.line_start, each.line_end) for each in found.definitions] == [
        ("Guide", None, 6, 23),
        ("Guide > Setup", "Guide", 10, 23),
        ("Guide > Setup > Deep", "Guide > Setup", 21, 23),
        ("Other", None, 24, 26),
    ]
    assert {each.kind for each in found.definitions} == {"section"}
    assert [DOCUMENT[each.body :].lstrip()[:5] for each in found.definitions] == ["`Stor", "```py", "`a/b/", "end\n"]
    assert [each.signature for each in found.definitions][:2] == ["# Guide", "## Setup"]
    assert unpack(found.pack()) == found


def test_a_document_mentions_files_and_names() -> None:
    found = outline_of(item(DOCUMENT, "markdown"))
    assert found is not None
    assert [(each.within, each.receiver, each.name) for each in found.uses] == [
        ("", "", "src/a.py"),
        ("Guide", "Store", "write"),
        ("Guide", "", "get_user"),
        ("Guide > Setup", "", "in_table"),
        ("Guide > Setup > Deep", "", "a/b/c.py:10-20"),
    ]


def test_a_notebook_is_a_document_though_it_has_a_language() -> None:
    found = outline_of(item("# A\n\ntext\n", "markdown", language="python"))
    assert names(found) == ["A"]


def test_headings_without_a_text_are_sections_all_the_same() -> None:
    assert names(outline_of(item("# A\n## B\n### C\ntext\n#\n## \n", "markdown"))) == ["A", "A > B", "A > B > C"]


@given(
    st.lists(st.sampled_from(["# a\n", "## b\n", "`", "``", "[x](", "y)", "\n", "```\n", "text ", "é", "\r", "]: z\n", "=\n", "\x00"])).map(
        "".join
    )
)
@settings(max_examples=200, deadline=None)
def test_no_text_makes_the_outline_of_a_document_fail(text: str) -> None:
    found = outline_of(item(text, "markdown"))
    assert found is not None
    sound(text, found)


@pytest.mark.parametrize("text", ["`" * 300_000, "[a](" * 50_000, "](" + " " * 300_000, "# a\n" * 20_000, "`a " * 50_000])
def test_a_document_without_an_end(text: str) -> None:
    found = outline_of(item(text, "markdown"))
    assert found is not None
