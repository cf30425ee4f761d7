"""What a store has made is used again for the same filter, and only for that."""

from __future__ import annotations

from recollect.filters import Compare, Field, OneOf
from recollect.stores.kept import SHORT, Kept

NUMBER = Field("number", of_item=False)


def test_what_was_made_is_used_again_and_the_oldest_is_forgotten() -> None:
    kept, made = Kept[str](2), list[str]()

    def make(name: str) -> str:
        return kept.of(name, lambda: made.append(name) or name)  # type: ignore[func-returns-value]

    for name in ("a", "b", "a", "c", "a", "b"):
        assert make(name) == name
    assert made == ["a", "b", "c", "b"]


def test_one_and_true_are_different_filters_although_they_are_equal() -> None:
    kept = Kept[str](8)
    made = [kept.of_filter(Compare(NUMBER, "eq", value), make=lambda value=value: repr(value)) for value in (1, True, 1.0)]  # type: ignore[misc]
    assert made == ["1", "True", "1.0"]


def test_a_filter_of_many_values_is_not_kept() -> None:
    kept = Kept[int](8)
    many = OneOf(NUMBER, tuple(str(number) for number in range(SHORT)))
    assert [kept.of_filter(many, make=lambda at=at: at) for at in range(2)] == [0, 1]  # type: ignore[misc]
    assert kept.known(many) is None


def test_what_is_known_depends_on_all_of_the_key() -> None:
    kept = Kept[int](8)
    few = OneOf(NUMBER, ("one",))
    kept.of_filter(few, "state", make=lambda: 7)
    assert (kept.known(few, "state"), kept.known(few, "other"), kept.known(None, "state")) == (7, None, None)
