"""A snippet is a slice of the text, around the words that were asked for, cut where a reader would cut it."""

from __future__ import annotations

import re
from itertools import accumulate

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.analysis import query_terms, spans
from recollect.errors import InvalidInput
from recollect.evidence.snippets import MOST_TERMS, Snippet, line_of, snippet

FAR = 10_000
TEXT = (
    "The harbour opened in 1890. Ships came from every coast. A lighthouse was built on the northern pier, and its keeper lived there. "
    "Storms broke the pier twice. The second lighthouse has an electric lamp, and the keeper is gone. Ships still pass."
)
WORDS = [
    "lighthouse",
    "keeper",
    "getUserName",
    "e-mail",
    "北京大学",
    "e\u0301te\u0301",
    "👩\u200d👩\u200d👧",
    "Running",
    "it's",
    ". ",
    "\n",
    "\r\n",
    " ",
    " and ",
]
texts = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(WORDS), max_size=80).map("".join))


@given(texts, st.sampled_from(["", "lighthouse keeper", "user name", "大学 keeper", "run ete"]), st.integers(1, 120), st.data())
@settings(max_examples=300, deadline=None)
def test_a_snippet_is_a_slice_with_the_matches_in_it(text: str, query: str, max_chars: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    asked = query_terms(query)
    found = snippet(text, asked, start=start, end=end, max_chars=max_chars)
    assert found.text == text[found.start : found.end]
    assert start <= found.start <= found.end <= end
    assert len(found.text) <= max_chars
    assert found.text == found.text.strip()
    ends = [-1, *(offset for mark in found.marks for offset in mark)]
    assert ends == sorted(ends)
    matched = {(start + a, start + b) for term, a, b in spans(text[start:end]) if term in asked and b - a <= max_chars}
    assert bool(found.marks) == bool(matched)
    for a, b in found.marks:
        assert any(a <= first - found.start and last - found.start <= b for first, last in matched)
    inside = {(a, b) for a, b in matched if found.start <= a and b <= found.end}
    assert all(any(found.start + first <= a and b <= found.start + last for first, last in found.marks) for a, b in inside)


@given(st.lists(st.sampled_from(["one", "two", "three", "four", "x"]), min_size=1, max_size=60), st.integers(12, 60))
@settings(max_examples=200, deadline=None)
def test_no_other_window_has_more_of_the_words(words: list[str], max_chars: int) -> None:
    text = " ".join(words)
    asked = query_terms("one two three")
    found = snippet(text, asked, max_chars=max_chars)
    matches = [match for match in spans(text) if match[0] in asked]

    def value(left: int, right: int) -> tuple[int, int]:
        inside = [term for term, a, b in matches if left <= a and b <= right]
        return len(set(inside)), len(inside)

    best = max((value(first, first + max_chars) for _, first, _ in matches), default=(0, 0))
    assert value(found.start, found.end) >= best


def test_most_distinct_words_win_then_most_matches_then_the_earliest() -> None:
    asked = query_terms("lighthouse keeper lamp")
    assert "electric lamp" in snippet(TEXT, asked, max_chars=100).text
    assert snippet("keeper. " * 3 + "x " * 50 + "keeper. " * 4, asked, max_chars=40).start > 50
    assert snippet("keeper a " + "x " * 50 + "keeper b", asked, max_chars=40).start == 0


def test_marks_are_the_words_as_they_stand() -> None:
    found = snippet(TEXT, query_terms("lighthouses keepers"))
    assert {found.text[a:b] for a, b in found.marks} == {"lighthouse", "keeper"}


def test_marks_that_overlap_are_one() -> None:
    found = snippet("我在北京大学学习", query_terms("北京大学"))
    assert [found.text[a:b] for a, b in found.marks] == ["北京大学"]


def test_a_snippet_begins_with_a_sentence_and_ends_with_a_word() -> None:
    found = snippet(TEXT, query_terms("electric lamp"), max_chars=80)
    assert found.text.startswith("The second lighthouse")
    assert re.fullmatch(r".*\w", found.text)
    assert not TEXT[found.end].isalnum()


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=1, max_size=60), st.integers(15, 80), st.integers(0, 59))
@settings(max_examples=200, deadline=None)
def test_words_are_not_cut(words: list[str], max_chars: int, at: int) -> None:
    words[at % len(words)] = "zebra"
    text = " ".join(words)
    found = snippet(text, query_terms("zebra"), max_chars=max_chars)
    assert f" {found.text} " in f" {text} "
    assert "zebra" in found.text.split()


@given(
    st.lists(st.sampled_from(["e\u0301", "👩\u200d👧", "🇩🇪", "☕\ufe0f", "\ud83d\ude00", "京"]), min_size=5, max_size=40),
    st.integers(6, 30),
)
@settings(max_examples=200, deadline=None)
def test_characters_are_not_cut(characters: list[str], max_chars: int) -> None:
    text = "".join(characters)
    found = snippet(text, query_terms("京京"), max_chars=max_chars)
    assert {found.start, found.end} <= {0, *accumulate(map(len, characters))}


def test_without_a_match_it_is_the_beginning() -> None:
    assert snippet(f"  {TEXT}", ["nothing"], max_chars=30) == Snippet("The harbour opened in 1890.", 2, 29)
    assert snippet(TEXT, [], start=28, max_chars=24).text == "Ships came from every"


def test_a_span_keeps_to_itself() -> None:
    found = snippet(TEXT, query_terms("lighthouse"), start=131, end=200)
    assert (found.start, found.text) == (131, TEXT[131:200].strip())
    assert [found.text[a:b] for a, b in found.marks] == ["lighthouse"]


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_nothing_to_show(text: str) -> None:
    assert snippet(text, ["x"]).text == ""


def test_a_very_long_text_is_looked_at_where_the_words_are() -> None:
    text = "filler " * FAR + "one needle, " + "filler " * FAR + "a needle in the haystack" + " filler" * FAR
    found = snippet(text, query_terms("needles and haystacks"))
    assert [found.text[a:b] for a, b in found.marks] == ["needle", "haystack"]
    assert found.text == text[found.start : found.end]


@given(st.integers(0, 7_997), st.lists(st.tuples(st.integers(0, 7_999), st.sampled_from(["needle", "haystack"])), max_size=20))
@example(7_000, [(0, "barn"), (2_000, "needle"), (4_000, "haystack")])
@settings(max_examples=100, deadline=None)
def test_a_very_long_text_is_looked_at_where_all_words_are(place: int, others: list[tuple[int, str]]) -> None:
    words = ["filler"] * 8_000
    for at, word in others:
        words[at] = word
    words[place : place + 3] = "barn", "needle", "haystack"
    found = snippet(" ".join(words), query_terms("needles and haystacks in a barn"))
    assert "barn needle haystack" in found.text


def test_the_longest_of_very_many_words_say_where_a_long_text_is_looked_at() -> None:
    short = [f"w{at}" for at in range(MOST_TERMS * 4)]
    text = " ".join(short) + " filler" * FAR + " the lighthouse" + " filler" * FAR
    found = snippet(text, [*short, "lighthous", *(f"absent{at}" for at in range(MOST_TERMS - 1))])
    assert [found.text[a:b] for a, b in found.marks] == ["lighthouse"]


@pytest.mark.parametrize("bad", [{"start": -1}, {"start": 5, "end": 4}, {"start": 999}, {"max_chars": 0}])
def test_spans_that_make_no_sense(bad: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        snippet(TEXT, ["ships"], **bad)


@given(st.text("a\r\n", max_size=30), st.data())
def test_lines_end_with_lf_crlf_or_cr(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    assert line_of(text, offset) == 1 + sum(found.end() <= offset for found in re.finditer(r"\r\n|\r|\n", text))
