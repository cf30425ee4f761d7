"""Versions in a ranking: what is current comes where its past was found, and the past stays behind it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise, permutations
from math import fsum
from random import Random

import pytest

from recollect.model import Fused, Head, Part
from recollect.profiles import Authority
from recollect.rank.authority import authoritative, contenders
from recollect.rank.history import Lineage, behind, succeeded

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def head(item_id: str, year: int = 2020, **fields: object) -> Head:
    at = datetime(year, 1, 1, tzinfo=UTC)
    given = {"kind": "document", "format": "text", "source_ref": None, "status": "draft", "created_at": at, "updated_at": at}
    return Head(item_id, **{**given, "importance": 0.5, "use_count": 0, "metadata": {}, **fields})  # type: ignore[arg-type]


def found(item_id: str, score: float) -> Fused:
    return Fused(item_id, score, (Part("vector", 1, score, score, 1.0, score),))


def lineage(*versions: str, as_of: datetime | None = None) -> Lineage:
    """Each is superseded by the next, a year later."""
    heads = {name: head(name, 2020 + place) for place, name in enumerate(versions)}
    return Lineage({old: (new,) for old, new in pairwise(versions)}, heads, as_of)


def ids(fused: list[Fused]) -> list[str]:
    return [each.id for each in fused]


def test_a_chain_of_versions_is_followed_to_its_end() -> None:
    assert lineage("a", "b", "c").chain("a") == ["b", "c"]
    assert lineage("a", "b", "c").chain("c") == []


def test_a_circle_of_versions_ends() -> None:
    circle = Lineage({"a": ("b",), "b": ("a",)}, {"a": head("a"), "b": head("b")})
    assert circle.chain("a") == ["b"]
    assert circle.chain("b") == []
    assert not circle.is_history("b", "draft")
    assert ids(behind(succeeded([found("a", 2.0), found("b", 1.0)], circle, ()), circle, {"a": "draft", "b": "draft"}))


def test_something_that_says_it_supersedes_itself_is_current() -> None:
    own = Lineage({"a": ("a",)}, {"a": head("a")})
    assert own.successor("a") is None
    assert not own.is_history("a", "draft")


def test_what_is_not_there_supersedes_nothing() -> None:
    assert Lineage({"a": ("gone",)}, {}).successor("a") is None


def test_of_several_successors_the_last_one_counts() -> None:
    several = Lineage({"a": ("c", "b")}, {"b": head("b", 2024), "c": head("c", 2022)})
    assert several.successor("a") == "b"


def test_what_was_superseded_later_was_current_then() -> None:
    at = datetime(2020, 6, 1, tzinfo=UTC)
    assert not lineage("a", "b", as_of=at).is_history("a", "superseded")
    assert lineage("a", "b", as_of=datetime(2021, 6, 1, tzinfo=UTC)).is_history("a", "superseded")


def test_a_status_alone_makes_history_at_any_time() -> None:
    assert Lineage(as_of=NOW).is_history("a", "archived")
    assert Lineage().is_history("a", "superseded")
    assert not Lineage().is_history("a", "draft")


def test_what_is_current_comes_where_its_past_was_found() -> None:
    ranked = succeeded([found("a", 3.0), found("x", 2.0)], lineage("a", "b"), {"b"})
    assert {each.id: each.score for each in ranked} == {"a": 3.0, "b": 3.0, "x": 2.0}
    assert ranked[1].parts[-1].route == "the successor of a"


def test_what_may_not_come_does_not() -> None:
    assert ids(succeeded([found("a", 3.0)], lineage("a", "b"), ())) == ["a"]


@pytest.mark.parametrize("order", list(permutations(["a", "b", "c"])))
def test_no_version_is_before_a_later_one(order: tuple[str, ...]) -> None:
    versions = lineage("a", "b", "c")
    fused = [found(name, 3.0 - place) for place, name in enumerate(order)]
    ranked = behind(succeeded(fused, versions, ()), versions, dict.fromkeys("abc", "draft"))
    assert ids(ranked) == ["c", "b", "a"]
    assert all(fsum(part.contribution for part in each.parts) == pytest.approx(each.score) for each in ranked)


def test_no_version_is_before_a_later_one_in_any_ranking() -> None:
    random = Random(7)
    for _ in range(200):
        names = [f"v{place}" for place in range(random.randint(2, 6))]
        versions = lineage(*names)
        fused = [found(name, random.choice([0.0, 0.5, random.random()])) for name in random.sample(names, random.randint(1, len(names)))]
        fused.append(found("other", random.random()))
        ranked = behind(succeeded(fused, versions, set(names)), versions, dict.fromkeys([*names, "other"], "draft"))
        there = [each for each in ranked if each.id != "other" and each.score > 0]
        assert [each.id for each in there] == sorted((each.id for each in there), reverse=True)


def test_authority_multiplies_and_adds_up() -> None:
    heads = {
        "a": head("a", kind="architecture", status="approved"),
        "b": head("b", kind="design", updated_at=NOW),
        "c": head("c", kind="code"),
    }
    ranked = authoritative([found("c", 1.0), found("b", 1.0), found("a", 1.0), found("unknown", 1.0)], heads, Authority(), NOW)
    assert {each.id: pytest.approx(each.score) for each in ranked} == {"a": 1.05 * 3, "b": 1.05 * 1.8, "c": 1.05, "unknown": 1.0}
    assert [part.route for part in ranked[0].parts] == ["vector", "found at all", "approved", "architecture"]
    assert all(fsum(part.contribution for part in each.parts) == pytest.approx(each.score) for each in ranked)


def test_what_the_largest_factors_could_bring_up_is_looked_at() -> None:
    fused = [found(f"d{place:02}", 10.0 - place) for place in range(11)]
    assert contenders(fused, Authority(), 1, 1) == 8
    assert contenders(fused, Authority(), 1, 10) == 10
    assert contenders(fused, Authority(), 20, 1) == 11
    assert contenders([], Authority(), 1, 1) == 1
