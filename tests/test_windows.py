"""A text is divided evenly and nothing of it is lost; only a query that any of its words answers is asked of the windows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.stores.windows import MAX_REPEATED, TITLE_WEIGHT, WINDOW_TERMS, only_ranks, windows
from recollect.textquery import Boolean, Node, Phrase, Prefix, Term
from recollect.understand.text import parse


@given(st.integers(0, 1_000))
def test_windows_are_even_and_hold_every_term_once(count: int) -> None:
    text = [str(at) for at in range(count)]
    found = windows((["title"], text, ["path"]))
    parts = [window[TITLE_WEIGHT] for window in found]
    assert [term for part in parts for term in part] == text
    assert len(found) == max(1, -(-count // WINDOW_TERMS))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert all(window == (*[["title"]] * TITLE_WEIGHT, part, ["path"]) for window, part in zip(found, parts, strict=True))


def test_a_title_without_end_is_not_repeated_whole() -> None:
    title = [f"t{at}" for at in range(2_000)]
    first, *further = windows((title, ["word"] * 1_000, []))
    assert first[0] == title
    assert {tuple(window[0]) for window in further} == {tuple(title[:MAX_REPEATED])}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Term("cat"), True),
        (Boolean(should=(Term("cat"), Boolean(should=(Term("dog"),)))), True),
        (Boolean(should=(Term("cat dog"), Phrase("dog house"))), True),
        (Boolean(should=(Term("cat"), Phrase("dog house"))), False),
        (Phrase("cat dog"), False),
        (Prefix("ca"), False),
        (Boolean(should=(Term("cat"), Prefix("ca"))), False),
        (Boolean(should=(Term("cat"), Boolean(must=(Term("dog"),)))), False),
        (Boolean(must=(Term("cat"),)), False),
        (Boolean(should=(Term("cat"),), must_not=(Term("dog"),)), False),
    ],
)
def test_only_a_query_that_any_of_its_words_answers_just_ranks(query: Node, expected: bool) -> None:
    assert only_ranks(query) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("how do cats sleep", True), ("東京都の天気", True), ('"cat dog" house', False), ("cat -dog", False)]
)
def test_words_without_operators_just_rank(text: str, expected: bool) -> None:
    assert only_ranks(parse(text, "web")) == expected
