"""How values look to a person."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ingest import Progress
from recollect.surfaces.terminal import (
    INDENT,
    Look,
    clean,
    columns_of,
    duration,
    escape_json,
    progress_text,
    shortened,
    size,
    text_lines,
)

any_text = st.text(st.characters(exclude_categories=()), max_size=200)
words = st.text(st.sampled_from("ab漢é \n\t\x1b"), max_size=200)


def columns(text: str) -> int:
    return sum(map(columns_of, text))


@given(any_text, st.booleans())
def test_clean_keeps_the_length_and_leaves_nothing_to_obey(text: str, lines: bool) -> None:
    cleaned = clean(text, lines=lines)
    assert len(cleaned) == len(text)
    left = {character for character in cleaned if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")}
    assert left <= ({"\n", "\t"} if lines else set())


@given(any_text)
def test_escaped_json_is_the_same_value_and_safe_to_show(text: str) -> None:
    escaped = escape_json(json.dumps({text: [text]}, ensure_ascii=False))
    assert json.loads(escaped) == {text: [text]}
    assert clean(escaped) == escaped


@given(words, st.integers(20, 60))
def test_wrapping_keeps_to_the_width_and_loses_nothing(text: str, width: int) -> None:
    lines = text_lines(text, Look(width=width), INDENT)
    assert all(columns(line) <= width - len(INDENT) for line in lines)
    assert all(lines)
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", clean(text, lines=True))


def test_blank_lines_stay_where_they_are_wanted() -> None:
    assert text_lines("a\n \n\n  b ", Look(), "", blanks=True) == ["a", "", "", "  b"]
    assert text_lines("a\n \n\n  b ", Look(), "") == ["a", "  b"]


@given(words, st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), max_size=5))
def test_marks_only_add_style(text: str, marks: list[tuple[int, int]]) -> None:
    plain = text_lines(text, Look(), INDENT, marks=marks)
    coloured = text_lines(text, Look(colour=True), INDENT, marks=marks)
    assert [re.sub("\x1b\\[[0-9;]*m", "", line) for line in coloured] == plain


def test_a_mark_stands_out() -> None:
    assert text_lines("a red cat", Look(colour=True), INDENT, marks=[(2, 5)]) == ["a \x1b[1;33mred\x1b[0m cat"]


def test_a_mark_goes_on_after_a_line_break() -> None:
    lines = text_lines("one\ntwo", Look(colour=True), INDENT, marks=[(0, 7)])
    assert lines == ["\x1b[1;33mone\x1b[0m", "\x1b[1;33mtwo\x1b[0m"]


@given(any_text, st.integers(5, 40))
def test_shortening_keeps_to_the_width(text: str, width: int) -> None:
    short = shortened(clean(text), width)
    assert columns(short) <= width
    assert short == clean(text) or short.endswith("…")


@pytest.mark.parametrize(("seconds", "said"), [(5.12, "5.1 s"), (200, "3 min 20 s"), (7_500, "2 h 5 min"), (59.99, "60.0 s")])
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(("number", "said"), [(0, "0 bytes"), (1_500, "1.5 kB"), (2_000_000, "2.0 MB"), (5 * 10**15, "5000.0 TB")])
def test_sizes(number: int, said: str) -> None:
    assert size(number) == said


def test_progress_tells_how_many_of_how_many_and_how_long_yet() -> None:
    progress = Progress(items_done=5, items_total=10, chunks_embedded=40)
    assert re.fullmatch(r"5/10 files, 40 chunks, \d+/s, \d+\.\d s left", progress_text(progress, "file"))
    assert progress_text(Progress(items_done=3), "record") == "3 records"
