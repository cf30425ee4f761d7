"""Long texts are read in slices, and have the tokens they would have if they were read whole."""

from __future__ import annotations

import re
import unicodedata
from itertools import islice
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.embed import tokens as module
from recollect.embed.granite import bundled_tokens
from recollect.embed.minilm import BUNDLE
from recollect.embed.tokens import SLICE_CHARS, ModelTokens, slices

COUNTERS = {"granite": bundled_tokens(), "minilm": ModelTokens(lambda: BUNDLE.read("tokenizer.json"))}
ROOT = Path(__file__).parents[1]
PROSE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
CODE = "".join(path.read_text(encoding="utf-8") for path in islice(sorted((ROOT / "src").rglob("*.py")), 12))
MARKS = [
    "word",
    "Zürich",
    "don't",
    "日本語",
    "한국",
    "😀",
    "👩‍👩‍👧",
    "e\u0301te",
    "x=1;",
    "a_b",
    "<s>",
    "\ud83d",
    "3.14",
    "\x1f",
    "_",
    "…",
    "\u200b",
]
GAPS = [" ", "  ", "\n", "\r\n", "\n\n", "\t", " \n", "\u00a0", "\u3000", "\x1c"]


@pytest.fixture(params=COUNTERS)
def counter(request: pytest.FixtureRequest) -> ModelTokens:
    return COUNTERS[request.param]


def assert_as_whole(counter: ModelTokens, text: str, chars: int) -> None:
    with patch.object(module, "SLICE_CHARS", len(text) + 1):
        whole, starts = counter.read(text)
        cut = counter.ids(text, max_tokens=64)
    with patch.object(module, "SLICE_CHARS", chars):
        np.testing.assert_array_equal(counter.starts(text), starts)
        np.testing.assert_array_equal(counter.read(text), (whole, starts))
        assert counter.ids(text, max_tokens=64) == cut


@pytest.mark.parametrize("chars", [200, SLICE_CHARS])
@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        CODE,
        PROSE.replace("\n", "\r\n"),
        PROSE.replace("\n", " "),
        re.sub(r"(\w{3}) ", "\\1 😀\u00a0", PROSE),
        unicodedata.normalize("NFD", "Übergrößenträger à la façade, naïveté. " * 500),
        "東京都の機械学習の研究について、日本語の文章を検索する。" * 800,
        '{"key":[1,2.5,"value"],"other":null},' * 800,
        "\n".join(["word"] * 5000),
    ],
    ids=["prose", "code", "CRLF", "one line", "emoji", "decomposed", "no blanks", "JSON", "a word a line"],
)
def test_a_text_has_the_tokens_of_the_whole(counter: ModelTokens, text: str, chars: int) -> None:
    assert_as_whole(counter, text, chars)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(COUNTERS)), st.lists(st.tuples(st.sampled_from(MARKS), st.sampled_from(GAPS[:7])), max_size=60))
def test_any_text_with_blanks_has_the_tokens_of_the_whole(name: str, words: list[tuple[str, str]]) -> None:
    assert_as_whole(COUNTERS[name], "".join(mark + gap for mark, gap in words), 30)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from(MARKS + GAPS), max_size=80).map("".join)), st.integers(2, 60))
def test_slices_are_the_text(text: str, chars: int) -> None:
    found = list(slices(text, chars))
    assert "".join(part for _, part in found) == text
    assert [place for place, _ in found] == [sum(len(part) for _, part in found[:count]) for count in range(len(found))]
    assert all(0 < len(part) <= chars for _, part in found if text)


@pytest.mark.parametrize("text", ["abcdefghij" * 3_000, " " * 30_000 + "end", "é" * 30_000])
def test_a_text_without_a_place_to_cut_it_has_a_token_more_for_some_slices(counter: ModelTokens, text: str) -> None:
    with patch.object(module, "SLICE_CHARS", len(text) + 1):
        whole = len(counter.starts(text))
    assert whole <= len(counter.starts(text)) <= whole + 2 * len(list(slices(text, SLICE_CHARS)))


def test_no_more_of_a_text_is_read_than_the_model_needs(counter: ModelTokens) -> None:
    read: list[int] = []

    def noting(text: str) -> str:
        read.append(len(text))
        return text

    with patch.object(module, "encodable", noting):
        assert len(counter.ids(PROSE * 50, max_tokens=512)) == 512
    assert sum(read) <= SLICE_CHARS
    assert len(PROSE * 50) > 10 * SLICE_CHARS


def test_the_special_tokens_stand_before_and_behind(counter: ModelTokens) -> None:
    before, after = counter.frame()
    assert [*before, *after] == counter.ids("", max_tokens=8)
    assert (len(before), len(after)) == (1, 1)
