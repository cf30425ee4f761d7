"""What a glob means, and that none takes long."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.globs import matcher, regex_of

PIECES = st.lists(st.sampled_from(["a", "b", "/", "*", "**", "**/", "?", "a/", "\n"]), min_size=1, max_size=9).map("".join)
TEXTS = st.text(st.sampled_from("aab//\n"), max_size=11)
LONG = ["a" * 47, "a" * 4_000, "a/" * 2_000, ("a" * 30 + "/") * 130, "ab" * 2_000 + "/x.py", "/" * 4_000]


def meaning(pattern: str) -> re.Pattern[str]:
    """Each sign by itself: what it means, and takes for ever."""
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern)
    anywhere = "" if "/" in pattern else "(?:.*/)?"
    return re.compile(anywhere + "".join(signs.get(piece) or re.escape(piece) for piece in pieces), re.DOTALL)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", "src/a.py", "src/lib/.py"], ["a.pyc", "a.py/b"]),
        ("src/*.py", ["src/a.py"], ["src/lib/a.py", "x/src/a.py"]),
        ("src/**", ["src/a", "src/lib/a.py"], ["src", "xsrc/a"]),
        ("**/a.py", ["a.py", "src/a.py", "src/lib/a.py"], ["src/xa.py"]),
        ("src/**/a.py", ["src/a.py", "src/x/y/a.py"], ["src/xa.py"]),
        ("src/**/test*/**/*_a*.py", ["src/test/x_a.py", "src/x/tests/y/z/_a_b.py"], ["src/test.py", "src/x_a.py", "test/x_a.py"]),
        ("a**/b", ["ab", "aab/b", "ax/b", "a/x/b"], ["a/xb", "axb"]),
        ("a?c", ["abc", "x/a.c"], ["ac", "a/c"]),
        ("a.c", ["a.c"], ["abc"]),
        ("[ab]+(c)", ["[ab]+(c)"], ["a(c)", "aac"]),
        ("数*", ["数据", "x/数"], ["据"]),
        ("docs/*\n", ["docs/a\n"], ["docs/a"]),
    ],
)
def test_a_glob_matches_paths(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [path for path in yes if not matcher(pattern)(path)] == []
    assert [path for path in no if matcher(pattern)(path)] == []


@given(st.text(min_size=1).filter(lambda text: not set(text) & set("*?")))
def test_a_glob_without_signs_matches_itself(text: str) -> None:
    assert matcher(text)(text)
    assert not matcher(text)(text + "x")


@settings(max_examples=500)
@given(PIECES, st.lists(TEXTS, min_size=1, max_size=20))
@example("**a**/b", ["aab", "a/ab", "ab/b"])
@example("**a*b**/*a", ["aab/ba", "b/ab/a", "abba"])
@example("*a/**b*a", ["a/b/ba", "/a/ba", "a/ab"])
def test_each_sign_means_the_same_wherever_it_stands(pattern: str, texts: list[str]) -> None:
    wanted = [meaning(pattern).fullmatch(text) is not None for text in texts]
    assert [matcher(pattern)(text) for text in texts] == wanted
    assert [re.fullmatch(regex_of(pattern), text, re.DOTALL) is not None for text in texts] == wanted


@pytest.mark.parametrize(
    "unit", ["*a", "*", "*?", "?", "**/", "**/a/", "**a", "**a*a", "**/*a", "**a*/", "a**/", "?**/", "a**/*a?", "*a*a/**/", "**?*a"]
)
def test_no_glob_takes_long(unit: str) -> None:
    pattern = (unit * 1_000)[:1_000] + "*b.py"
    assert [matcher(pattern)(text) for text in LONG] == [False] * len(LONG)


def test_as_many_stars_as_there_are_letters_match() -> None:
    assert matcher("*a*a*a*a*a*a*a*a*b.py")("a" * 47 + "b.py")
    assert not matcher("*a*a*a*a*a*a*a*a*b.py")("a" * 47)
    assert matcher("a**/" * 300 + "a/b")("a" * 300 + "/a/b")
