"""Sketches estimate how much two texts share, and folding keeps the best of those that are alike."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.rank.duplicates import SAME_TEXT, SHINGLE, SKETCH_SIZE, fold, resemblance, sketch


def words(count: int, *, seed: int = 0) -> list[str]:
    return [f"w{number}" for number in np.random.default_rng(seed).integers(0, 10**6, count)]


def jaccard(a: list[str], b: list[str]) -> float:
    left, right = ({tuple(text[at : at + SHINGLE]) for at in range(max(1, len(text) - SHINGLE + 1))} for text in (a, b))
    return len(left & right) / len(left | right)


terms = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=20)


@given(terms, terms)
def test_it_is_exact_for_small_texts(a: list[str], b: list[str]) -> None:
    assert resemblance(sketch(a), sketch(b)) == jaccard(a, b)


@pytest.mark.parametrize("changed", [0, 10, 30, 60, 150, 300])
def test_it_is_near_for_long_texts(changed: int) -> None:
    errors = []
    for seed in range(40):
        a = words(300, seed=seed)
        b = words(changed, seed=1000 + seed) + a[changed:]
        errors.append(resemblance(sketch(a), sketch(b)) - jaccard(a, b))
    assert abs(float(np.mean(errors))) < 0.05
    assert max(map(abs, errors)) < 0.35


@given(st.lists(st.text(max_size=5), max_size=60), st.lists(st.text(max_size=5), max_size=60))
def test_it_is_symmetric_and_within_bounds(a: list[str], b: list[str]) -> None:
    left, right = sketch(a), sketch(b)
    assert 0 <= resemblance(left, right) <= 1
    assert resemblance(left, right) == resemblance(right, left)
    assert resemblance(left, left) == bool(a)


@given(st.lists(st.text(max_size=5), max_size=200))
def test_a_sketch_is_a_few_rising_hashes(text: list[str]) -> None:
    hashes = np.frombuffer(sketch(text), "<u4").tolist()
    assert hashes == sorted(set(hashes))
    assert len(hashes) <= min(SKETCH_SIZE, max(len(text) - SHINGLE + 1, min(1, len(text))))


def test_order_counts() -> None:
    assert resemblance(sketch(["a", "b"]), sketch(["b", "a"])) == 0
    assert resemblance(sketch(["a", "b", "c"]), sketch(["c", "b", "a"])) == 0


def test_a_sketch_is_the_same_in_another_process() -> None:
    code = "from recollect.rank.duplicates import sketch; print(sketch(['straße', 'b', 'c', '\\ud800']).hex())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"})
    assert out.stdout.strip() == sketch(["straße", "b", "c", "\ud800"]).hex()


def test_hashes_are_spread_evenly() -> None:
    lowest = [np.frombuffer(sketch(words(500, seed=seed)), "<u4")[0] / 2**32 for seed in range(200)]
    assert 1 / 500 * 0.8 < float(np.mean(lowest)) < 1 / 500 * 1.25


def test_the_best_of_a_group_stays() -> None:
    original = words(200)
    copy, other = [*original[:198], "x", "y"], words(200, seed=1)
    sketches = {"b": sketch(original), "a": sketch(copy), "c": sketch(other), "d": sketch(other[:-1])}
    assert fold(["b", "c", "a", "d", "e"], sketches) == [("b", ("a",)), ("c", ("d",)), ("e", ())]
    assert fold(["a", "b"], sketches) == [("a", ("b",))]


def test_only_what_is_kept_folds_others() -> None:
    text = words(600)
    chain = {f"d{at}": sketch(text[at * 12 : at * 12 + 28]) for at in range(3)}
    near = resemblance(chain["d0"], chain["d1"])
    assert resemblance(chain["d0"], chain["d2"]) < near
    assert fold(["d0", "d1", "d2"], chain, near) == [("d0", ("d1",)), ("d2", ())]


def test_an_empty_sketch_never_folds() -> None:
    assert sketch([]) == b""
    assert fold(["a", "b", "c"], {"a": b"", "b": b""}) == [("a", ()), ("b", ()), ("c", ())]


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=40), max_size=12), st.sampled_from([0.2, 0.5, SAME_TEXT, 1.0]))
@settings(max_examples=150)
def test_folding_is_what_comparing_each_with_every_kept_one_gives(found: list[list[str]], threshold: float) -> None:
    sketches = {f"d{at}": sketch(text) for at, text in enumerate(found)}
    expected: dict[str, list[str]] = {}
    for id_ in sketches:
        same = next((kept for kept in expected if resemblance(sketches[kept], sketches[id_]) >= threshold), None)
        if same is None:
            expected[id_] = []
        else:
            expected[same].append(id_)
    assert fold(list(sketches), sketches, threshold) == [(kept, tuple(others)) for kept, others in expected.items()]


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_folding_long_texts_is_what_comparing_them_gives(share: float) -> None:
    original = words(300)
    kept = int(300 * share)
    sketches = {f"d{at}": sketch(original[:kept] + words(300 - kept, seed=at + 1)) for at in range(40)}
    threshold = float(np.median([resemblance(sketches["d0"], each) for each in sketches.values()]))
    first = fold(list(sketches), sketches, threshold)[0]
    assert first == ("d0", tuple(id_ for id_ in list(sketches)[1:] if resemblance(sketches["d0"], sketches[id_]) >= threshold))


@pytest.mark.parametrize("threshold", [0, -1, 1.1, float("nan")])
def test_a_threshold_outside_its_range(threshold: float) -> None:
    with pytest.raises(InvalidInput):
        fold(["a"], {}, threshold)
