"""Code is ranked by names, folders and roles beside words and meaning, and every score still adds up."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.model import Fused, Head, NameMatch, Part, Symbol
from recollect.profiles import SYMBOL, CodeRanking
from recollect.rank.code import by_name, in_folder, weighted

NOON = datetime(2024, 5, 17, 12, tzinfo=UTC)


def result(item_id: str, score: float) -> Fused:
    return Fused(item_id, score, (Part("vector", 1, score, score, 1.0, score),))


def head(item_id: str, role: str | None = None) -> Head:
    return Head(item_id, "code", "code", item_id, "draft", NOON, NOON, 0.5, 0, {} if role is None else {"role": role})


def match(item_id: str, fit: float = 1.0) -> NameMatch:
    return NameMatch(Symbol(item_id, "write", "write", "function", 0, 9, 1, 2), fit)


def adds_up(found: Fused) -> bool:
    return sum(part.contribution for part in found.parts) == pytest.approx(found.score)


def test_what_is_called_by_name_comes_before_the_best_of_all_others() -> None:
    found = by_name([result("a.py", 9.0), result("b.py", 1.0)], [match("b.py"), match("new.py", 0.9)])
    assert [each.id for each in found] == ["b.py", "new.py", "a.py"]
    assert all(map(adds_up, found))
    assert [part.route for part in found[1].parts] == [SYMBOL]


def test_an_item_counts_by_its_best_match() -> None:
    found = by_name([result("a.py", 1.0)], [match("b.py", 0.5), match("b.py", 1.0)])
    assert (found[0].id, found[0].parts[0].score) == ("b.py", 1.0)


def test_without_a_name_nothing_changes() -> None:
    assert by_name([result("a.py", 1.0)], []) == [result("a.py", 1.0)]


def test_a_folder_that_is_spoken_of_counts_more_and_leaves_nothing_out() -> None:
    given = [result("src/web/a.py", 1.2), result("src/store/b.py", 1.0)]
    found = weighted(given, {each.id: head(each.id) for each in given}, CodeRanking(), folders=["store"], roles=())
    assert [(each.id, each.score) for each in found] == [("src/store/b.py", pytest.approx(1.3)), ("src/web/a.py", 1.2)]
    assert all(map(adds_up, found))


@pytest.mark.parametrize("role", ["test", "generated", "vendored"])
def test_files_that_are_rarely_meant_come_later_unless_asked_for(role: str) -> None:
    given = [result("a.py", 1.1), result("b.py", 1.0)]
    heads = {"a.py": head("a.py", role), "b.py": head("b.py")}
    ranking = CodeRanking()
    lowered = weighted(given, heads, ranking, folders=(), roles=())
    assert [each.id for each in lowered] == ["b.py", "a.py"]
    assert lowered[1].score == pytest.approx(1.1 * ranking.of_role(role))
    assert all(map(adds_up, lowered))
    assert [each.id for each in weighted(given, heads, ranking, folders=(), roles={role})] == ["a.py", "b.py"]


def test_an_item_nothing_is_known_of_keeps_its_score() -> None:
    assert weighted([result("a.py", 1.0)], {}, CodeRanking(), folders=["src"], roles=()) == [result("a.py", 1.0)]


@pytest.mark.parametrize(
    ("path", "folder", "lies_in_it"),
    [
        ("src/store/a.py", "store", True),
        ("src/store/a.py", "src/store/", True),
        ("src/store/a.py", "/src", True),
        ("src/store/a.py", "src/st", False),
        ("src/store/a.py", "a.py", False),
        ("a.py", "src", False),
        ("a.py", "/", False),
    ],
)
def test_where_a_path_lies(path: str, folder: str, lies_in_it: bool) -> None:
    assert in_folder(path, folder) is lies_in_it
