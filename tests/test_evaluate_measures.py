"""The measures: of rankings against figures worked out by hand, of spans against sets of characters."""

from __future__ import annotations

import sys
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import MissingExtra
from recollect.evaluate.judgments import Span
from recollect.evaluate.measures import MEASURES, means, ranking_values
from recollect.evaluate.spans import span_values


def test_measures_of_a_ranking_are_as_defined() -> None:
    values = ranking_values({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x", "b"]})["q"]
    ideal = 2 / log2(2) + 1 / log2(3)
    assert values == pytest.approx(
        {
            "nDCG@10": (2 / log2(3) + 1 / log2(5)) / ideal,
            "MRR": 1 / 2,
            "MRR@10": 1 / 2,
            "MAP": (1 / 2 + 2 / 4) / 2,
            "R@1": 0.0,
            "R@5": 1.0,
            "R@10": 1.0,
            "R@20": 1.0,
            "R@100": 1.0,
            "hits@1": 0.0,
            "hits@5": 1.0,
            "hits@10": 1.0,
        }
    )
    assert list(values) == list(MEASURES)


def test_what_comes_after_the_tenth_counts_for_some_measures_only() -> None:
    values = ranking_values({"q": {"a": 1}}, {"q": [*(f"x{number}" for number in range(11)), "a"]})["q"]
    assert values["MRR"] == pytest.approx(1 / 12)
    assert (values["MRR@10"], values["nDCG@10"], values["R@10"], values["R@20"]) == (0, 0, 0, 1)


def test_the_order_is_kept_where_ids_would_sort_otherwise() -> None:
    documents = [f"{letter}{number}" for letter in "zam" for number in range(40)]
    for place in (0, 57, 99):
        values = ranking_values({"q": {documents[place]: 1}}, {"q": documents})["q"]
        assert values["MRR"] == pytest.approx(1 / (place + 1))


def test_a_judged_question_that_found_nothing_counts_as_nothing() -> None:
    values = ranking_values({"q": {"a": 1}, "r": {"b": 1}}, {"q": [], "s": ["a"]})
    assert set(values) == {"q", "r"}
    assert {value for each in values.values() for value in each.values()} == {0.0}


def test_means_are_over_the_questions_that_have_the_measure() -> None:
    assert means([{"x": 1.0, "y": 0.5}, {"x": 0.0}, {}]) == {"x": 0.5, "y": 0.5}


def test_missing_measures_name_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtra, match=r"pip install 'recollect\[eval\]'"):
        ranking_values({"q": {"a": 1}}, {"q": ["a"]})


def test_spans_that_overlap_are_counted_once() -> None:
    values = span_values([("a", 0, 10), ("a", 5, 20)], [("a", 10, 30), ("b", 0, 5), ("a", 10, 30)])
    assert values["span_coverage@1"] == pytest.approx(10 / 20)
    assert values["span_precision@1"] == pytest.approx(10 / 20)
    assert values["span_precision@5"] == pytest.approx(10 / 25)
    assert "span_coverage_tokens@1" not in values


def test_nothing_shown_covers_nothing() -> None:
    assert set(span_values([("a", 0, 3)], [], lambda _: np.arange(3)).values()) == {0.0}


SPANS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(1, 12)).map(lambda found: (found[0], found[1], found[1] + found[2])),
    max_size=12,
)
STARTS = st.lists(st.integers(0, 45), max_size=20).map(sorted)


@given(gold=SPANS.filter(bool), shown=SPANS, starts_a=STARTS, starts_b=STARTS)
def test_spans_agree_with_sets_of_characters(gold: list[Span], shown: list[Span], starts_a: list[int], starts_b: list[int]) -> None:
    starts = {"a": starts_a, "b": starts_b}
    values = span_values(gold, shown, lambda document: np.array(starts[document], dtype=np.int64))

    def characters(spans: list[Span]) -> set[tuple[str, int]]:
        return {(document, place) for document, start, end in spans for place in range(start, end)}

    def tokens(spans: list[Span]) -> set[tuple[str, int]]:
        inside = characters(spans)
        return {
            (document, token) for document, begins in starts.items() for token, begin in enumerate(begins) if (document, begin) in inside
        }

    for cutoff in (1, 5, 10):
        for unit, covered in (("", characters), ("_tokens", tokens)):
            wanted, seen = covered(gold), covered(shown[:cutoff])
            assert values[f"span_coverage{unit}@{cutoff}"] == pytest.approx(len(wanted & seen) / len(wanted) if wanted else 0.0)
            assert values[f"span_precision{unit}@{cutoff}"] == pytest.approx(len(wanted & seen) / len(seen) if seen else 0.0)
