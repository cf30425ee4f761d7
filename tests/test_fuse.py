"""Fusion adds up, does not depend on the order of routes, and never lets a miss beat a hit."""

from __future__ import annotations

from itertools import pairwise
from math import fsum, inf, isfinite, nan
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.model import Fused, Hit, Ranking
from recollect.profiles import Blend, Normalize
from recollect.rank.fuse import fuse


def ranking(**scores: float) -> Ranking:
    return tuple(Hit(id_, score) for id_, score in sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))


def by(rankings: dict[str, Ranking], **wanted: Any) -> list[Fused]:
    return fuse(rankings, **{"weights": dict.fromkeys(rankings, 1.0), "blend": "linear", "normalize": "minmax", "rrf_k": 60, **wanted})


def scores(fused: list[Fused]) -> dict[str, float]:
    return {each.id: each.score for each in fused}


ids = st.sampled_from([f"d{at}" for at in range(12)])
rankings = st.dictionaries(
    st.sampled_from(["text", "vector", "graph"]),
    st.dictionaries(ids, st.floats(allow_nan=False)).map(lambda found: ranking(**found)),
    min_size=1,
)
blends = st.sampled_from(get_args(Blend))
normalizations = st.sampled_from(get_args(Normalize))
weight = st.floats(1e-6, 1e6)
weights = st.fixed_dictionaries({"text": weight, "vector": weight, "graph": weight})


@given(rankings, weights, blends, normalizations, st.integers(0, 100))
def test_parts_add_up(found: dict[str, Ranking], shares: dict[str, float], blend: str, normalize: str, rrf_k: int) -> None:
    fused = by(found, weights=shares, blend=blend, normalize=normalize, rrf_k=rrf_k)
    assert {each.id for each in fused} == {hit.id for hits in found.values() for hit in hits}
    for each in fused:
        assert isfinite(each.score)
        assert each.score == fsum(part.contribution for part in each.parts)
        assert [part.route for part in each.parts] == [route for route in sorted(found) if each.id in {hit.id for hit in found[route]}]
        for part in each.parts:
            assert all(map(isfinite, (part.score, part.normalised, part.weight, part.contribution)))
            assert part.contribution == part.weight * part.normalised
            assert found[part.route][part.rank - 1].id == each.id


@given(rankings, weights, blends, normalizations)
def test_the_order_of_routes_does_not_matter(found: dict[str, Ranking], shares: dict[str, float], blend: str, normalize: str) -> None:
    fused = by(found, weights=shares, blend=blend, normalize=normalize)
    assert fused == by(dict(reversed(found.items())), weights=dict(reversed(shares.items())), blend=blend, normalize=normalize)
    assert fused == sorted(fused, key=lambda each: (-each.score, each.id))


@given(rankings, blends, normalizations)
def test_a_hit_is_never_worse_than_a_miss(found: dict[str, Ranking], blend: str, normalize: str) -> None:
    for each in by(found, blend=blend, normalize=normalize):
        assert all(part.contribution >= 0 for part in each.parts)


@given(st.dictionaries(ids, st.floats(-1e6, 1e6), min_size=1), blends, normalizations)
def test_one_route_keeps_its_order(found: dict[str, float], blend: str, normalize: str) -> None:
    expected = ranking(**found)
    fused = by({"text": expected}, blend=blend, normalize=normalize)
    values = scores(fused)
    assert all(values[a.id] >= values[b.id] for a, b in pairwise(expected))


def test_rrf_is_the_known_formula_on_a_scale_to_one() -> None:
    found = {"text": ranking(a=9.0, b=3.0, c=1.0), "vector": ranking(b=0.9, a=0.5)}
    fused = by(found, blend="rrf", weights={"text": 1.0, "vector": 0.4})
    scale = 61 / 1.4
    assert scores(fused) == pytest.approx({"a": scale * (1 / 61 + 0.4 / 62), "b": scale * (1 / 62 + 0.4 / 61), "c": scale / 63})
    assert [each.id for each in fused] == ["a", "b", "c"]


def test_the_first_of_every_route_has_one() -> None:
    found = {"text": ranking(a=9.0, b=3.0), "vector": ranking(a=0.9), "graph": ranking(a=0.1, c=0.0)}
    for rrf_k in (0, 2, 60):
        assert scores(by(found, blend="rrf", weights={"text": 0.3, "vector": 0.7, "graph": 0.1}, rrf_k=rrf_k))["a"] == pytest.approx(1)


def test_minmax() -> None:
    found = {"text": ranking(a=10.0, b=6.0, c=2.0), "vector": ranking(c=0.7, d=0.7)}
    assert scores(by(found, weights={"text": 3, "vector": 1})) == pytest.approx({"a": 0.75, "b": 0.375, "c": 0.25, "d": 0.25})


def test_zscore_counts_from_the_lowest_hit() -> None:
    found = {"text": ranking(a=3.0, b=2.0, c=1.0)}
    spread = (2 / 3) ** 0.5
    assert scores(by(found, normalize="zscore")) == pytest.approx({"a": 2 / spread, "b": 1 / spread, "c": 0})


def test_the_one_item_with_a_rare_word_stands_out() -> None:
    near = {f"v{place}": 0.8 - place / 1000 for place in range(100)}
    found = {"text": ranking(rare=12.0), "vector": ranking(**near)}
    assert by(found, normalize="zscore", weights={"text": 0.35, "vector": 0.65})[0].id == "rare"
    # Where the vector route found as few, a word in common says less.
    found = {"text": ranking(rare=12.0), "vector": ranking(close=0.9, rare=0.5, far=0.4)}
    assert by(found, normalize="zscore", weights={"text": 0.35, "vector": 0.65})[0].id == "close"


def test_sigmoid_has_one_half_for_the_mean() -> None:
    values = scores(by({"text": ranking(a=3.0, b=2.0, c=1.0)}, normalize="sigmoid"))
    assert values["b"] == pytest.approx(0.5)
    assert values["a"] == pytest.approx(1 - values["c"])
    assert 0.7 < values["a"] < 0.8


def test_none_leaves_scores_alone_unless_they_are_negative() -> None:
    assert scores(by({"text": ranking(a=7.5, b=0.0)}, normalize="none")) == {"a": 7.5, "b": 0.0}
    assert scores(by({"text": ranking(a=1.0, b=-2.0)}, normalize="none")) == {"a": 3.0, "b": 0.0}


@pytest.mark.parametrize("normalize", get_args(Normalize))
@pytest.mark.parametrize("blend", get_args(Blend))
def test_a_single_hit_counts(blend: str, normalize: str) -> None:
    fused = by({"text": ranking(a=0.3), "vector": ()}, blend=blend, normalize=normalize)
    assert [each.id for each in fused] == ["a"]
    assert fused[0].score > 0


@pytest.mark.parametrize("normalize", get_args(Normalize))
def test_what_is_no_number_does_not_come_out(normalize: str) -> None:
    hits = (Hit("a", inf), Hit("b", 2.0), Hit("c", 1.0), Hit("d", -inf), Hit("e", nan))
    values = scores(by({"text": hits}, normalize=normalize))
    assert all(map(isfinite, values.values()))
    assert values["a"] == values["b"] > values["c"] == values["d"] == values["e"]
    assert all(map(isfinite, scores(by({"text": (Hit("a", nan),)}, normalize=normalize)).values()))


def test_ties_are_by_id_and_an_item_counts_once_a_route() -> None:
    fused = by({"text": (Hit("b", 1.0), Hit("a", 1.0), Hit("b", 0.5))})
    assert [(each.id, each.score, len(each.parts)) for each in fused] == [("a", 1.0, 1), ("b", 1.0, 1)]


def test_a_route_without_weight_has_no_say() -> None:
    fused = by({"text": ranking(a=1.0), "vector": ranking(b=1.0)}, weights={"text": 1, "vector": 0})
    assert [each.id for each in fused] == ["a"]


def test_no_routes_no_results() -> None:
    assert by({}) == []
    assert by({"text": ()}) == []


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"blend": "best"}, "'best'.*rrf or linear"),
        ({"normalize": "softmax"}, "'softmax'.*minmax, zscore, sigmoid, none"),
        ({"weights": {"text": -1.0}}, "'text' is -1.0"),
        ({"weights": {"text": nan}}, "'text' is nan"),
        ({"weights": {"text": 0.0}}, "every weight is 0"),
        ({"weights": {"vector": 1.0}}, "'text' has no weight.*vector"),
        ({"rrf_k": -1}, "rrf_k is -1"),
    ],
)
def test_what_makes_no_sense_is_refused(wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        by({"text": ranking(a=1.0)}, **wanted)
