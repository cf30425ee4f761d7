"""Signals of memories are what they say they are, and what is chosen by them is not too much alike, nor out of date."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.analysis import terms
from recollect.memories import SIGNALS, TimeRange
from recollect.memory_settings import RankingSettings, StrategySettings
from recollect.model import Head
from recollect.rank.diversity import choose, cosines_of, fold, latest_first, likeness
from recollect.rank.duplicates import sketch
from recollect.rank.signals import boosts_of, fit, scores_of, signals_of

NOW = datetime(2024, 2, 15, 12, tzinfo=UTC)
JANUARY = TimeRange(words="last month", start=datetime(2024, 1, 1, tzinfo=UTC), end=datetime(2024, 1, 31, 23, 59, 59, 999_999, tzinfo=UTC))
OPTIONS = RankingSettings()
NONE = float("nan")


def head(at: datetime = NOW, *, entities: tuple[str, ...] = (), importance: float = 0.5, uses: int = 0, kind: str = "episodic") -> Head:
    return Head("m", kind, "text", None, "approved", at, at, importance, uses, {}, entities=entities)


def rank_of(scores: np.ndarray) -> list[int]:
    return np.argsort(-scores, kind="stable").tolist()


def signal(name: str, *heads: Head, entities: tuple[str, ...] = (), within: TimeRange | None = None) -> list[float]:
    rows = signals_of(heads, np.zeros(len(heads)), entities, within, NOW, OPTIONS)
    return rows[:, SIGNALS.index(name)].tolist()


def near(*angles: float) -> np.ndarray:
    """The cosines between vectors in a plane, by their angles in degrees."""
    turned = np.deg2rad(angles)
    return cosines_of(np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32))


def unlike(count: int) -> np.ndarray:
    """The cosines between so many that have nothing in common."""
    return cosines_of(np.zeros((count, 4), np.float32))


# How well a memory fits.


def test_the_only_memory_does_not_fit_well_just_for_being_the_only_one() -> None:
    (hardly,) = fit([0.76], [0.8], OPTIONS)
    (well,) = fit([0.95], [25.0], OPTIONS)
    assert 0 < hardly < 0.25
    assert 0.7 < well < 1


def test_of_two_memories_the_one_that_fits_better_does_so_by_far() -> None:
    better, worse = fit([0.92, 0.78], [20.0, 2.0], OPTIONS)
    assert better > 0.7
    assert worse < 0.25


def test_a_name_that_only_words_find_comes_first_among_many() -> None:
    similarities = np.r_[np.linspace(0.80, 0.84, 199), NONE]
    words = np.r_[np.full(199, 2.0), 30.0]
    assert rank_of(fit(similarities, words, OPTIONS))[0] == 199


def test_a_memory_that_says_it_in_other_words_comes_first_among_many() -> None:
    similarities = np.r_[np.linspace(0.76, 0.80, 199), 0.93]
    words = np.r_[np.full(199, 3.0), NONE]
    assert rank_of(fit(similarities, words, OPTIONS))[0] == 199


def test_where_no_vector_is_known_words_have_all_of_the_say() -> None:
    only_words = fit([NONE, NONE], [20.0, 10.0], OPTIONS)
    assert only_words[0] == pytest.approx(2 * only_words[1])
    assert only_words[0] > 0.8


def test_where_no_word_matches_meaning_has_all_of_the_say() -> None:
    assert fit([0.95, 0.8], [NONE, NONE], OPTIONS)[0] > 0.7


def test_nothing_known_at_all_is_no_fit() -> None:
    assert fit([NONE, NONE], [NONE, 0.0], OPTIONS).tolist() == [0.0, 0.0]
    assert fit([], [], OPTIONS).tolist() == []


def test_a_model_whose_unrelated_texts_are_far_apart_is_read_by_its_own_candidates() -> None:
    best, middle, last = fit([0.85, 0.68, 0.55], [NONE] * 3, OPTIONS)
    assert last == 0
    assert 0.3 < middle < best < 1


scores = st.lists(st.tuples(st.floats(0, 1) | st.just(NONE), st.floats(0, 100) | st.just(NONE)), min_size=1, max_size=30)


@given(scores)
def test_a_fit_is_from_0_to_1_and_never_lower_for_more_of_both(pairs: list[tuple[float, float]]) -> None:
    similarities, words = (np.array(column) for column in zip(*pairs, strict=True))
    found = fit(similarities, words, OPTIONS)
    assert ((found >= 0) & (found < 1)).all()
    by_both = sorted(range(len(pairs)), key=lambda at: (np.nan_to_num(similarities[at]), np.nan_to_num(words[at])))
    for low, high in pairwise(by_both):
        if not np.isnan([*pairs[low], *pairs[high]]).any() and words[low] <= words[high]:
            assert found[low] <= found[high] + 1e-12


# The other signals.


def test_entity_overlap_is_the_share_of_the_questions_entities() -> None:
    about = head(entities=("customer:acme", "order:1", "order:2"))
    assert signal("entity_overlap", about, head(), entities=("customer:acme", "customer:globex")) == [0.5, 0.0]
    assert signal("entity_overlap", about) == [0.0]


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (JANUARY.start, 1.0),
        (datetime(2024, 1, 15, tzinfo=UTC), 1.0),
        (JANUARY.end, 1.0),
        (datetime(2023, 12, 22, tzinfo=UTC), exp(-0.1 * 10)),
        (datetime(2023, 12, 31, 12, tzinfo=UTC), exp(-0.1 * 0.5)),
        (JANUARY.end + timedelta(days=5), exp(-0.1 * 5)),
    ],
)
def test_relevance_in_time_decays_with_the_days_to_the_nearest_end(at: datetime, expected: float) -> None:
    assert signal("temporal_relevance", head(at), within=JANUARY) == pytest.approx([expected])


def test_a_range_without_a_beginning_holds_all_that_was_before() -> None:
    until = TimeRange(words="until January", start=None, end=JANUARY.end)
    assert signal("temporal_relevance", head(datetime(1970, 1, 2, tzinfo=UTC)), within=until) == [1.0]


def test_without_a_range_relevance_decays_with_age_by_parts_of_days() -> None:
    found = signal("temporal_relevance", head(NOW), head(NOW - timedelta(hours=12)), head(NOW - timedelta(days=100)))
    assert found == pytest.approx([1.0, exp(-0.005), exp(-1.0)])


def test_a_memory_from_the_future_is_as_of_now() -> None:
    assert signal("temporal_relevance", head(NOW + timedelta(days=400))) == [1.0]
    today = TimeRange(words="today", start=NOW.replace(hour=0), end=NOW.replace(hour=23))
    assert signal("temporal_relevance", head(NOW + timedelta(days=400)), within=today) == [1.0]


def test_another_zone_is_the_same_time() -> None:
    from zoneinfo import ZoneInfo

    there = (NOW - timedelta(days=3)).astimezone(ZoneInfo("Pacific/Auckland"))
    assert signal("temporal_relevance", head(there)) == pytest.approx([exp(-0.03)])


def test_reinforcement_grows_with_the_logarithm_of_uses_up_to_1() -> None:
    found = signal("reinforcement", head(), head(uses=1), head(uses=9), head(uses=10**9))
    assert found == pytest.approx([0.0, log(2) / 5, log(10) / 5, 1.0])


def test_no_memory_has_no_signals() -> None:
    assert signals_of([], [], ["customer:acme"], JANUARY, NOW, OPTIONS).shape == (0, len(SIGNALS))
    none = np.empty((0, len(SIGNALS)))
    assert scores_of(none, StrategySettings().analytical.as_dict(), boosts_of(none, [], None, OPTIONS)).tolist() == []


# The score.


def test_a_score_is_the_weighted_sum_and_a_summary_counts_a_little_more() -> None:
    rows = np.array([[1.0, 0.5, 0.2, 0.4, 0.6]] * 2)
    weights = StrategySettings().factual_entity_focused.as_dict()
    plain = 0.25 * 1.0 + 0.40 * 0.5 + 0.20 * 0.2 + 0.10 * 0.4 + 0.05 * 0.6
    boosts = boosts_of(rows, ["semantic", "summary"], None, OPTIONS)
    assert scores_of(rows, weights, boosts) == pytest.approx([plain, 1.15 * plain])


def test_a_summary_that_fits_far_worse_than_the_best_counts_less() -> None:
    """Not one that is about whom or of when the question speaks, nor one where nothing fits much better."""
    fits, overlap, temporal = (SIGNALS.index(name) for name in ("semantic_similarity", "entity_overlap", "temporal_relevance"))
    kinds = ["episodic", "episodic", "summary", "summary", "summary"]
    rows = np.zeros((5, len(SIGNALS)))
    rows[:, fits] = 0.75, 0.1, 0.1, 0.5, 0.1
    rows[4, overlap] = 1.0
    assert boosts_of(rows, kinds, None, OPTIONS) == pytest.approx([1.0, 1.0, 1.15 * 0.25 / 0.65, 1.15, 1.15])
    rows[2, temporal] = 1.0
    assert boosts_of(rows, kinds, None, OPTIONS)[2] < 1.0
    assert boosts_of(rows, kinds, JANUARY, OPTIONS)[2] == 1.15
    rows[:, fits] = 0.3, 0.1, 0.1, 0.1, 0.1
    assert boosts_of(rows, kinds, None, OPTIONS).tolist() == [1.0, 1.0, 1.15, 1.15, 1.15]
    assert boosts_of(rows, kinds, None, RankingSettings(summary_behind=0.0))[2] == 0.0


def test_weights_go_by_name_and_not_by_their_order() -> None:
    rows = np.array([[0.9, 0.1, 0.2, 0.3, 0.4]])
    weights = StrategySettings().procedural.as_dict()
    turned = dict(reversed(weights.items()))
    assert scores_of(rows, turned, np.ones(1)) == pytest.approx(scores_of(rows, weights, np.ones(1)))


# Diversity.


def test_what_repeats_a_chosen_one_comes_after_something_new() -> None:
    cosines = near(0, 1, 90, 45, 135)
    order = choose([1.0, 0.98, 0.8, 0.5, 0.4], cosines, limit=5, options=OPTIONS)
    assert order[:3] == [0, 2, 1]


def test_each_is_weighed_against_all_that_is_chosen_and_not_the_first_alone() -> None:
    cosines = near(0, 90, 91, 45, 135)
    order = choose([1.0, 0.9, 0.88, 0.75, 0.3], cosines, limit=3, options=OPTIONS)
    assert order == [0, 1, 3]


def test_memories_that_are_somewhat_alike_stay_in_order_of_score() -> None:
    order = choose([1.0, 0.9, 0.8, 0.7, 0.6], near(0, 20, 40, 60, 80), limit=5, options=OPTIONS)
    assert order == [0, 1, 2, 3, 4]


def test_a_lambda_of_1_ranks_by_score_alone() -> None:
    order = choose([0.7, 1.0, 0.9], near(0, 0, 0), limit=3, options=OPTIONS.model_copy(update={"diversity": 1.0}))
    assert order == [1, 2, 0]


def test_ties_go_by_place() -> None:
    assert choose([0.5] * 6, unlike(6), limit=6, options=OPTIONS) == [0, 1, 2, 3, 4, 5]


def test_beyond_the_least_a_memory_must_be_worth_it() -> None:
    scores = [1.0, 0.9, 0.3, 0.3, 0.3, 0.3, 0.3]
    assert choose(scores, unlike(7), limit=15, options=OPTIONS) == [0, 1, 2, 3, 4]
    worth = [1.0, 0.9, 0.8, 0.8, 0.8, 0.8, 0.3]
    assert choose(worth, unlike(7), limit=15, options=OPTIONS) == [0, 1, 2, 3, 4, 5]


def test_one_that_is_sure_comes_although_it_repeats_another() -> None:
    strict = OPTIONS.model_copy(update={"least": 0, "min_marginal": 0.5, "alike": 0.0})
    cosines = near(0, 0, 90)
    assert choose([1.0, 0.95, 0.5], cosines, limit=15, options=strict) == [0, 1]
    assert choose([1.0, 0.85, 0.5], cosines, limit=15, options=strict) == [0]


def test_no_more_come_than_are_asked_for() -> None:
    assert len(choose(np.linspace(1, 0.9, 50), unlike(50), limit=15, options=OPTIONS)) == 15
    assert choose([], unlike(0), limit=15, options=OPTIONS) == []


def test_scores_of_0_still_give_the_least() -> None:
    assert choose([0.0] * 9, unlike(9), limit=15, options=OPTIONS) == [0, 1, 2, 3, 4]


@given(st.integers(0, 40), st.integers(0, 20), st.integers(0, 10**6))
@settings(deadline=None)
def test_each_place_is_chosen_once_and_it_is_always_the_same(count: int, limit: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    scores, cosines = random.random(count), cosines_of(random.normal(size=(count, 8)).astype(np.float32))
    order = choose(scores, cosines, limit=limit, options=OPTIONS)
    assert len(set(order)) == len(order) <= min(count, limit)
    assert len(order) >= min(count, limit, OPTIONS.least)
    assert order == choose(scores, cosines, limit=limit, options=OPTIONS)
    if order:
        assert order[0] == int(np.argmax(scores))


def test_likeness_is_how_far_above_the_usual_one_two_are() -> None:
    # Seven that have a cosine of 0.6 with each other, as unrelated texts have with some models, and a copy of one.
    base = np.zeros((8, 9))
    base[:, 0], base[np.arange(8), [1, 2, 3, 4, 5, 6, 7, 1]] = np.sqrt(0.6), np.sqrt(0.4)
    alike = likeness(cosines_of(base), OPTIONS)
    assert alike[0, 1] == pytest.approx(0, abs=1e-6)
    assert alike[0, 7] == pytest.approx(1)


def test_of_a_few_memories_those_that_are_as_alike_as_unrelated_texts_are_not_alike() -> None:
    assert likeness(near(0, 60), OPTIONS)[0, 1] == pytest.approx(0, abs=1e-6)
    assert likeness(near(0, 30), OPTIONS)[0, 1] > 0.7


# Duplicates.


def sketches(*texts: str) -> dict[int, bytes]:
    return {place: sketch(terms(text)) for place, text in enumerate(texts)}


PAID = "Acme Corporation paid the invoice 789 in full by bank transfer on the first day of the month, as it always does"


def test_what_says_the_same_in_the_same_words_is_one() -> None:
    texts = sketches(PAID, "Globex moved to Berlin", PAID.upper() + ".")
    assert fold([0.5, 0.4, 0.6], near(0, 90, 1), texts, OPTIONS) == [(2, (0,)), (1, ())]


def test_the_same_meaning_in_other_words_stays() -> None:
    assert fold([0.5, 0.6], near(0, 0), sketches(PAID, "The bill was settled by Acme"), OPTIONS) == [(1, ()), (0, ())]


def test_the_same_words_with_another_meaning_stay() -> None:
    assert fold([0.5, 0.4], near(0, 60), sketches(PAID, PAID), OPTIONS) == [(0, ()), (1, ())]


def test_two_invoices_are_two() -> None:
    short = sketches("Invoice 789 was paid", "Invoice 790 was paid")
    assert len(fold([0.5, 0.4], near(0, 1), short, OPTIONS)) == 2


def test_what_has_no_vector_or_no_words_stays() -> None:
    assert len(fold([0.5, 0.4], unlike(2), sketches(PAID, PAID), OPTIONS)) == 2
    assert len(fold([0.5, 0.4], near(0, 0), {}, OPTIONS)) == 2


# The latest word.


def lifted(scores: list[float], cosines: np.ndarray, times: list[float]) -> list[int]:
    return rank_of(np.array(scores) * latest_first(scores, cosines, times, OPTIONS))


def test_the_newer_of_two_about_the_same_matter_comes_first() -> None:
    assert lifted([0.50, 0.47], near(0, 10), [1.0, 2.0]) == [1, 0]


def test_one_about_another_matter_stays_where_it_is() -> None:
    assert lifted([0.50, 0.47], near(0, 90), [1.0, 2.0]) == [0, 1]


def test_one_that_fits_much_less_stays_where_it_is() -> None:
    assert lifted([0.50, 0.40], near(0, 10), [1.0, 2.0]) == [0, 1]


def test_what_is_newer_and_better_already_is_not_lifted() -> None:
    assert latest_first([0.47, 0.50], near(0, 10), [1.0, 2.0], OPTIONS).tolist() == [1.0, 1.0]


def test_of_three_tellings_the_newest_comes_first_and_others_keep_their_places() -> None:
    cosines = near(0, 2, 4, 90)
    assert lifted([0.50, 0.49, 0.47, 0.48], cosines, [1.0, 2.0, 3.0, 9.0]) == [2, 1, 0, 3]


@given(st.integers(1, 30), st.integers(0, 10**6))
@settings(deadline=None)
def test_nothing_is_lifted_by_more_than_what_is_nearly_the_same(count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    scores = random.random(count) + 0.05
    factors = latest_first(scores, cosines_of(random.normal(size=(count, 3))), random.integers(0, 5, count), OPTIONS)
    assert (factors >= 1).all()
    assert (factors <= 1 / OPTIONS.nearly + 1e-4).all()
