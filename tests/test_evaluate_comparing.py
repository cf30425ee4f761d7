"""Two runs held against each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from recollect import InvalidInput
from recollect.evaluate import Answer, Evaluation, Query, compare
from recollect.evaluate.comparing import randomisation_test
from recollect.evaluate.measures import means


def run(values: Sequence[dict[str, float]]) -> Evaluation:
    answers = tuple(Answer(Query(f"q{number}", "?"), {"a": 1}, ("a",), each, 1.0) for number, each in enumerate(values))
    return Evaluation(
        dataset="d", documents=1, profile="documents", profile_reason="the default", model=None, how={},
        values=means(values), latency_p50_ms=1.0, latency_p95_ms=1.0, answers=answers,
    )  # fmt: skip


def test_the_chance_is_that_of_all_flips_of_sign() -> None:
    differences = np.array([0.3, -0.1, 0.2, 0.5, 0.4, 0.0, 0.25, 0.1])
    sums = [abs(float(np.dot(signs, differences))) for signs in product((-1, 1), repeat=len(differences))]
    exact = np.mean([each >= abs(differences.sum()) - 1e-9 for each in sums])
    assert randomisation_test(differences[:, None])[0] == pytest.approx(exact, abs=0.01)


def test_the_chance_is_the_same_every_time_and_for_either_order() -> None:
    differences = np.random.default_rng(1).normal(0.1, 1, size=(60, 3))
    chances = randomisation_test(differences)
    assert np.array_equal(chances, randomisation_test(differences))
    assert np.array_equal(chances, randomisation_test(-differences))


def test_a_difference_in_every_question_is_more_than_chance_and_none_is_not() -> None:
    better, same = compare(run([{"x": 0.2, "y": 0.5}] * 60), run([{"x": 0.4, "y": 0.5}] * 60))
    assert (better.measure, better.better, better.worse, better.same) == ("x", 60, 0, 0)
    assert better.difference == pytest.approx(0.2)
    assert better.p == pytest.approx(1 / 10_001)
    assert better.counts
    assert (same.better, same.worse, same.same, same.p, same.counts) == (0, 0, 60, 1.0, False)


def test_questions_without_a_measure_are_left_out_of_it() -> None:
    (found,) = compare(run([{"x": 1.0}, {}, {"x": 0.0}]), run([{"x": 0.0}, {}, {"x": 0.0}]))
    assert (found.first, found.second, found.better, found.worse, found.same) == (0.5, 0.0, 0, 1, 1)


def test_runs_over_other_questions_are_not_compared() -> None:
    with pytest.raises(InvalidInput, match="asked other questions"):
        compare(run([{"x": 1.0}]), run([{"x": 1.0}] * 2))
