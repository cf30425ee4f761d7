"""Code is cut along its syntax: definitions whole where they fit, in their parts where they do not, nothing lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.evidence import code
from recollect.evidence.chunkers import ChunkSettings, chunk
from recollect.model import Chunk, Item
from recollect.outline import CALLABLE
from recollect.syntax import outline
from recollect.syntax.parsing import GRAMMARS
from test_chunkers import SHAPES as ANY_SHAPES
from test_chunkers import Quads, Words, check, check_fast
from test_syntax import NOW, PACKAGES, SHAPES, real_files
from test_syntax_samples import SAMPLES


def item(text: str, language: str) -> Item:
    return Item(scope="s", id="a", text=text, format="code", metadata={"language": language}, created_at=NOW, updated_at=NOW)


def cut(text: str, language: str = "python", max_tokens: int = 200, overlap: int = 0) -> tuple[Chunk, ...]:
    return chunk(item(text, language), Words(), ChunkSettings(max_tokens, overlap))


def named(text: str, language: str = "python", max_tokens: int = 200) -> list[tuple[str | None, str | None, str]]:
    return [(each.anchors.symbol, each.anchors.parent, text[each.start : each.end]) for each in cut(text, language, max_tokens)]


def body(count: int, indent: str = "    ") -> str:
    """Statements of five tokens each."""
    return "".join(f"{indent}x{at} = f(1)\n" for at in range(count))


FUNCTION = "def {name}(a):\n" + body(7) + "    return a\n"
"""50 tokens."""


def function(name: str, indent: str = "") -> str:
    return "".join(f"{indent}{line}" for line in FUNCTION.format(name=name).splitlines(keepends=True))


def test_a_definition_that_fits_is_one_chunk_with_what_stands_above_it() -> None:
    first = "# Says so.\n@cache\n" + function("first")
    second = function("second")
    text = f'"""Doc."""\nimport os\n\n\n{first}\n\n{second}'
    assert named(text) == [("first", None, f'"""Doc."""\nimport os\n\n\n{first}'.rstrip()), ("second", None, second.rstrip())]


def test_a_class_that_fits_is_one_chunk() -> None:
    text = function("before") + "\n\nclass A(B):\n" + function("one", "    ") + "\n" + function("two", "    ")
    assert [(symbol, parent) for symbol, parent, _ in named(text)] == [("before", None), ("A", None)]


def test_a_class_that_does_not_fit_is_its_header_and_its_members() -> None:
    doc = "Says a lot, of many words, about this class, so that its header has enough to be found by."
    header = f'class A(B):\n    """{doc}"""\n\n' + body(4)
    methods = [function(name, "    ") for name in ("one", "two", "three", "four")]
    text = header + "\n" + "\n".join(methods)
    assert named(text) == [
        ("A", None, header.rstrip()),
        *((f"A.{name}", "A", method.rstrip()) for name, method in zip(("one", "two", "three", "four"), methods, strict=True)),
    ]


def test_a_huge_function_is_divided_at_its_statements() -> None:
    loop = "    for x in y:\n" + body(9, "        ")
    text = 'def huge(a):\n    """Doc."""\n' + loop * 8
    chunks = cut(text, max_tokens=120)
    assert {each.anchors.symbol for each in chunks} == {"huge"}
    assert len(chunks) > 3
    assert text[: chunks[0].end].startswith('def huge(a):\n    """Doc."""\n    for x')
    assert all(text[each.start :].startswith("    for x in y:\n") for each in chunks[1:])


def test_nested_statements_come_next_and_then_lines() -> None:
    branch = body(40, " " * 12)
    text = f"def huge(a):\n    for x in y:\n        if x:\n{branch}        else:\n{branch}"
    chunks = cut(text, max_tokens=100)
    assert {each.anchors.symbol for each in chunks} == {"huge"}
    firsts = [text[each.start : each.end].splitlines()[0] for each in chunks]
    assert all(line.startswith(("def huge", "            x", "        else:")) for line in firsts)
    text = "def huge(a):\n    return '''\n" + "one two three four five six\n" * 100 + "'''\n"
    for each in cut(text, max_tokens=60)[1:]:
        assert text[each.start - 1] == "\n"


def test_a_comment_stays_with_its_statement() -> None:
    step = "    # What comes next is done because of this.\n    x = f(1, 2, 3, 4)\n"
    text = "def huge():\n" + step * 40
    for each in cut(text, max_tokens=70)[1:]:
        assert text[each.start :].startswith("    # What")


def test_tiny_neighbours_are_joined_inside_of_what_they_are_in() -> None:
    text = "\n".join(f"def f{at}(): return {at}\n" for at in range(6))
    assert named(text) == [(None, None, text.rstrip())]
    getters = "\n".join(f"    def get{at}(self): return {at}\n" for at in range(6))
    found = named(f"class A:\n{getters}\n{function('one', '    ')}\n\nclass B:\n{getters}", max_tokens=80)
    assert [(symbol, parent) for symbol, parent, _ in found] == [(None, "A"), ("A.one", "A"), ("B", None)]
    assert "class A:" in found[0][2]


def test_a_small_thing_joins_the_next_one_where_there_is_room() -> None:
    text = f"LIMIT = 10\n\n\n{function('big')}"
    assert named(text) == [("big", None, text.rstrip())]
    assert [symbol for symbol, _, _ in named(text, max_tokens=50)] == ["LIMIT", "big"]


def test_code_between_definitions_is_cut_as_well() -> None:
    script = "".join(f"print({at}, 'something')\n" for at in range(30))
    text = f"{function('first')}\n\n{script}\n\n{function('second')}"
    found = named(text, max_tokens=100)
    assert [symbol for symbol, _, _ in found if symbol] == ["first", "second"]
    assert [symbol for symbol, _, _ in found].count(None) >= 2
    assert all(part.startswith("print(") for symbol, _, part in found if symbol is None)


def test_a_closing_brace_belongs_to_what_it_closes() -> None:
    method = "  run(a) {\n" + "    go(a, 1);\n" * 8 + "  }\n"
    text = "class A {\n" + "\n".join(method.replace("run", name) for name in ("one", "two", "three", "four")) + "}\n\nstart();\n"
    found = named(text, "javascript", 100)
    assert [symbol for symbol, _, _ in found] == ["A.one", "A.two", "A.three", "A.four", None]
    assert found[3][2].endswith("}\n}")


def test_members_of_an_impl_belong_to_their_type() -> None:
    method = "    fn NAME(&self) {\n" + "        go(1, 2, 3);\n" * 6 + "    }\n"
    text = "impl Store {\n" + "\n".join(method.replace("NAME", name) for name in ("one", "two", "three", "four")) + "}\n"
    assert [(symbol, parent) for symbol, parent, _ in named(text, "rust", 100)] == [
        (f"Store.{name}", "Store") for name in ("one", "two", "three", "four")
    ]
    small = "impl Store {\n    fn one(&self) { go(1, 2, 3); go(4, 5, 6) }\n\n    fn two(&self) { go(7, 8, 9); go(10, 11, 12) }\n}\n"
    assert [(symbol, parent) for symbol, parent, _ in named(small, "rust", 400)] == [(None, "Store")]


def test_a_class_that_fits_is_divided_all_the_same_unless_it_is_small() -> None:
    method = "    def NAME(self):\n" + "        go(1, 2, 3)\n" * 6 + "\n"
    text = "LIMIT = 3\n\n\nclass Store:\n    kept = 1\n\n" + "".join(method.replace("NAME", name) for name in ("one", "two", "three"))
    found = [symbol for symbol, _, _ in named(text, "python", 1_000)]
    assert found[-3:] == ["Store.one", "Store.two", "Store.three"]
    assert [symbol for symbol, _, _ in named("class Store:\n    def one(self): ...\n    def two(self): ...\n" * 1, "python", 1_000)] == [
        "Store"
    ]


def test_a_language_without_a_grammar_is_cut_by_its_lines() -> None:
    text = "procedure One is\nbegin\n   null;\nend One;\n" * 3
    assert cut(text, "ada") == cut(text, "no language")
    assert {each.anchors.parent for each in cut(text, "ada")} == {None}


def test_what_cannot_be_read_is_cut_by_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.syntax.parsing.PATIENCE", 0.05)
    text = '"""\n' * 15_000
    chunks = cut(text, "javascript")
    assert chunks == cut(text, "no language")
    check_fast(text, chunks, 200)


@given(
    st.lists(st.sampled_from(SHAPES + ANY_SHAPES), max_size=50).map("".join),
    st.sampled_from(sorted(GRAMMARS)),
    st.integers(1, 60),
    st.integers(0, 20),
)
@settings(max_examples=400, deadline=None)
def test_every_program_is_covered_within_the_budget(text: str, language: str, max_tokens: int, overlap: int) -> None:
    overlap = min(overlap, max_tokens // 2)
    chunks = cut(text, language, max_tokens, overlap)
    check(text, chunks, Words().starts(text), max_tokens, overlap)
    assert chunks == cut(text, language, max_tokens, overlap)


@given(st.lists(st.sampled_from(SHAPES), max_size=30).map("".join), st.sampled_from(sorted(GRAMMARS)), st.integers(4, 40))
@settings(max_examples=60, deadline=None)
def test_several_tokens_may_begin_with_one_character_of_code(text: str, language: str, max_tokens: int) -> None:
    check(text, chunk(item(text, language), Quads(), ChunkSettings(max_tokens)), Quads().starts(text), max_tokens)


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
@pytest.mark.parametrize("language", SAMPLES)
def test_line_ends_do_not_change_how_code_is_cut(language: str, newline: str) -> None:
    text = SAMPLES[language].code
    other = text.replace("\n", newline)
    expected = [(symbol, parent, part.replace("\n", newline)) for symbol, parent, part in named(text, language, 40)]
    assert named(other, language, 40) == expected


@pytest.mark.parametrize("language", SAMPLES)
def test_symbols_and_parents_are_those_of_the_outline(language: str) -> None:
    text = SAMPLES[language].code
    known: dict[str | None, Any] = {each.qualified: each for each in outline(text, language).definitions}
    for each in cut(text, language, 40):
        if symbol := each.anchors.symbol:
            assert known[symbol].parent == each.anchors.parent
            assert known[symbol].start < each.end


@pytest.mark.parametrize("max_tokens", [60, 200])
def test_real_packages_are_cut_without_loss(max_tokens: int) -> None:
    for path in real_files(60):
        text = path.read_text(encoding="utf-8")
        chunks = cut(text, "python", max_tokens)
        check_fast(text, chunks, max_tokens)
        found = {each.qualified: each for each in outline(text, "python").definitions}
        for each in chunks:
            if each.anchors.symbol:
                assert each.anchors.symbol in found, path
        whole = {(each.start, each.end) for each in chunks}
        for definition in outline(text, "python").definitions:
            tokens = len(Words().starts(text[definition.start : definition.end]))
            most = max_tokens if definition.kind in CALLABLE else min(max_tokens, code.WHOLE_TOKENS)
            if code.TINY_TOKENS <= tokens <= 0.9 * most:  # where a line is indented deeply, white space counts as well
                assert any(start <= definition.start and definition.end <= end for start, end in whole), (path, definition.qualified)


@pytest.mark.parametrize("pattern", ["**/*.js", "**/*.c", "**/*.h", "**/*.hpp"])
def test_other_real_files_are_cut_without_loss(pattern: str) -> None:
    language = {"js": "javascript", "hpp": "cpp"}.get(pattern.rpartition(".")[2], "c")
    for path in sorted(PACKAGES.glob(pattern))[:25]:
        if path.stat().st_size < 300_000:
            text = path.read_text(encoding="utf-8", errors="replace")
            check_fast(text, cut(text, language), 200)


def test_code_is_cut_in_time_that_grows_with_it() -> None:
    for language, text in {
        "javascript": "/* c */function a(){b()}" * 5_000,
        "java": "class A {\n" + "  int f() { return 1; }\n" * 3_000 + "}\n",
        "python": ("def f():\n" + "    x = g(1, 2, 3, 4, 5)\n" * 60) * 60,
        "c": "int t[] = {\n" + "  {1, 2, 3},\n" * 5_000 + "};\n",
    }.items():
        chunks = cut(text, language, 50)
        check_fast(text, chunks, 50)
        assert np.mean([each.token_count for each in chunks]) > 25


def test_the_project_is_cut_along_its_definitions() -> None:
    text = (Path(code.__file__)).read_text(encoding="utf-8")
    symbols = {each.anchors.symbol for each in cut(text)}
    assert {"along", "_Code.parts", "_Code.end_of", "_joined"} <= symbols
