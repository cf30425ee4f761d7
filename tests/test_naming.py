"""Names of entities are folded alike however they are written, and a name with a few letters wrong leads to the right one."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.naming import MAX_KEY, allowed_edits, edits, exact_key, folded, keys_of, near_keys, short_name

SAME = [
    ("Łódź, St.", "łodzst"),
    ("Ödön", "odon"),
    ("O'Brien-Smith", "obriensmith"),
    ("  ACME  Corp. ", "acmecorp"),
    ("Straße", "strasse"),
    ("ﬁrst", "first"),
    ("\N{MATHEMATICAL BOLD CAPITAL A}da", "ada"),
    ("㎒", "mhz"),
    ("İstanbul", "istanbul"),
    ("e\u0301tude", "etude"),
    ("東京都", "東京都"),
    ("R2-D2", "r2d2"),
    ("C++", "c++"),
    ("C #, F#-Sharp", "cf#sharp"),
    ("No. #7 + 8", "no78"),
    ("Java 1.1", "java1.1"),
    ("1,000. 5.", "10005"),
    ("राम", "राम"),
    ("ｶﾞｽ", "ガス"),
    ("カ\u3099ス", "ガス"),
    ("한글", "한글"),
    ("葛\U000e0100城", "葛城"),
    ("Ёж и Ὀδυσσεύς", "ежиοδυσσευσ"),
    ("…!?", ""),
    ("lone \ud800 half", "lonehalf"),
]


@pytest.mark.parametrize(("name", "expected"), SAME)
def test_a_name_is_folded(name: str, expected: str) -> None:
    assert folded(name) == expected
    assert folded(folded(name)) == expected
    assert exact_key(name) == (f"={expected}" if expected else "")


@given(st.text())
def test_a_folded_name_stays_as_it_is(name: str) -> None:
    assert folded(folded(name)) == folded(name)
    assert folded(name.upper()) == folded(name.upper().lower())


def test_a_very_long_name_is_cut() -> None:
    assert folded("ab " * 200) == ("ab" * 200)[:MAX_KEY]
    assert all(len(key) <= MAX_KEY + 10 for key in keys_of("ab " * 200))


def test_a_name_without_letters_has_no_keys() -> None:
    assert keys_of("...") == near_keys("...") == []


def test_a_short_name_is_found_only_as_it_is() -> None:
    assert near_keys("Ada") == near_keys("abcd") == []
    assert [allowed_edits("a" * length) for length in (0, 4, 5, 9, 10, 50)] == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("Lothair", "Lotahir"),
        ("Lothar", "Lothair"),
        ("Babage", "Babbage"),
        ("Charles Babage", "Charles Babbage"),
        ("Analitycal Engine", "Analytical Engine"),
        ("naples", "Neaples"),
    ],
)
def test_a_name_written_nearly_right_leads_to_the_right_one(asked: str, kept: str) -> None:
    assert set(near_keys(asked)) & set(keys_of(kept))
    assert edits(folded(asked), folded(kept), allowed_edits(folded(asked))) is not None


def test_another_name_is_too_many_edits_away() -> None:
    assert edits("lothair", "lothario", 1) is None
    assert edits("charlesbabbage", "charlesdarwin", 2) is None
    assert edits("abc", "abcdef", 2) is None


def test_what_an_edit_is() -> None:
    assert [edits("abcde", other, 2) for other in ("abcde", "abxde", "abde", "abcxde", "abdce", "bacdx", "xbcdy")] == [0, 1, 1, 1, 1, 2, 2]
    assert edits("", "ab", 2) == 2


def _edited(chance: random.Random, name: str) -> str:
    """A letter changed, gone, or come."""
    at, letter = chance.randrange(len(name) + 1), chance.choice("abcxyz1")
    return chance.choice([name[:at] + letter + name[at:], name[: max(at - 1, 0)] + name[at:], name[: max(at - 1, 0)] + letter + name[at:]])


@given(st.text(string.ascii_lowercase[:6] + "é機", min_size=5, max_size=40), st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_every_name_within_the_allowed_edits_is_found(name: str, chance: random.Random) -> None:
    """By one of the parts of it that is left whole, wherever the edits are."""
    asked = folded(name)
    kept = asked
    for _ in range(chance.randint(0, allowed_edits(asked))):
        kept = _edited(chance, kept)
    assert set(near_keys(asked)) & set(keys_of(kept))


@given(st.text(string.ascii_lowercase, min_size=5, max_size=40), st.data())
@settings(max_examples=200, deadline=None)
def test_a_name_with_two_letters_swapped_is_found(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name) - 2))
    swapped = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    assert set(near_keys(swapped)) & set(keys_of(name))
    assert edits(swapped, name, 1) in (0, 1)


@given(st.text("abc", max_size=8), st.text("abc", max_size=8), st.integers(0, 3))
def test_edits_are_counted_alike_in_both_directions(first: str, second: str, most: int) -> None:
    assert edits(first, second, most) == edits(second, first, most)
    counted = edits(first, second, 99)
    assert counted is not None
    assert edits(first, second, most) == (counted if counted <= most else None)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Acme Corporation", "Acme"),
        ("acme corp", "acme"),
        ("Acme, Inc.", "Acme"),
        ("Foo Bar Ltd.", "Foo Bar"),
        ("Foo L.L.C.", "Foo"),
        ("Foo GmbH & Co. KG", "Foo"),
        ("Tiffany & Co.", "Tiffany"),
        ("Smith and Company", "Smith"),
        ("Marks & Spencer Group plc", "Marks & Spencer"),
        ("ASML Holding N.V.", "ASML"),
        ("Nestlé S.A.", "Nestlé"),
        ("Volvo AB", "Volvo"),
        ("Nokia Oy", "Nokia"),
        ("The Home Depot, Inc.", "Home Depot"),
        ("3M Company", "3M"),
        ("Study Inc.", "Study"),
        ("Study Group", ""),
        ("study group", ""),
        ("Maria Sa", ""),
        ("acme ag", ""),
        ("The Limited", ""),
        ("A Inc.", ""),
        ("21 Holdings", ""),
        ("Acme Corporation Berlin", ""),
        ("Corporation", ""),
        (", Inc.", ""),
        ("Acme", ""),
        ("", ""),
    ],
)
def test_a_company_is_called_by_its_name_without_a_legal_form(name: str, short: str) -> None:
    assert short_name(name, {"Study", "study"}.__contains__) == short


@given(st.text())
def test_a_short_name_is_a_part_of_the_name(name: str) -> None:
    short = short_name(name)
    assert short in name
    assert not short or len(short) < len(name)
