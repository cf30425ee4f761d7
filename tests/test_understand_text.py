"""What users type means what they expect, and nothing they type is an error except a bad strict expression."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.analysis import terms
from recollect.errors import InvalidInput
from recollect.textquery import Boolean, Node, Phrase, Prefix, Term
from recollect.understand.text import MAX_CHARS, MAX_DEPTH, MODES, parse

SYNTAX = st.lists(
    st.sampled_from(["a", "cat", "東京都", '"', "“", "-", "--", "OR", "'", "&", "|", "!", "(", ")", "<->", ":*", "?", " ", "  ", "\ud800"])
).map("".join)


def must(*nodes: Node) -> Boolean:
    return Boolean(must=nodes)


def should(*nodes: Node) -> Boolean:
    return Boolean(should=nodes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat dog", should(Term("cat dog"))),
        ('cat "big dog"', Boolean(must=(Phrase("big dog"),), should=(Term("cat"),))),
        ("cat “big dog”", Boolean(must=(Phrase("big dog"),), should=(Term("cat"),))),
        ("cat -dog", Boolean(should=(Term("cat"),), must_not=(Term("dog"),))),
        ('cat -"big dog"', Boolean(should=(Term("cat"),), must_not=(Phrase("big dog"),))),
        ("cat -getUserName", Boolean(should=(Term("cat"),), must_not=(Phrase("getUserName"),))),
        ("well-known cat", should(Term("well-known cat"))),
        ("cat - dog", should(Term("cat dog"))),
        ("cat --verbose", should(Term("cat --verbose"))),
        ("-cat", Boolean(must_not=(Term("cat"),))),
        ("cat OR dog", must(should(Term("cat"), Term("dog")))),
        ('big cat OR dog OR "a cow"', Boolean(must=(should(Term("cat"), Term("dog"), Phrase("a cow")),), should=(Term("big"),))),
        ("cat or dog", should(Term("cat or dog"))),
        ("OR cat", should(Term("OR cat"))),
        ("cat OR", should(Term("cat OR"))),
        ("cat OR -dog", Boolean(should=(Term("cat OR"),), must_not=(Term("dog"),))),
        ('"cat" OR', Boolean(must=(Phrase("cat"),), should=(Term("OR"),))),
        ('cat "dog', should(Term("cat dog"))),
        ('a 5" and 7" disk', should(Term("a 5 and 7 disk"))),
        ("", Boolean()),
        ('??? -? "!" \'', Boolean()),
        ("東京", should(Term("東京"))),
        ("東京都 map", should(Term("東京都 map"), Phrase("東京都"))),
        ("-東京都", Boolean(must_not=(Phrase("東京都"),))),
    ],
)
def test_web(text: str, expected: Node) -> None:
    assert parse(text, "web") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat -dog OR", must(Term("cat"), Term("dog"))),
        ("what is the cat", must(Term("cat"))),
        ("to the", must(Term("to"), Term("the"))),
        ("getUserName 東京都 cat cat", must(Phrase("getUserName"), Phrase("東京都"), Term("cat"))),
        ("???", Boolean()),
    ],
)
def test_plain(text: str, expected: Node) -> None:
    assert parse(text, "plain") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat dog", should(Term("cat dog"))),
        ('is "the cat" -big OR small?', should(Term("is the cat big OR small"))),
        ("東京都 map", should(Term("東京都 map"), Phrase("東京都"))),
        ("?!", Boolean()),
    ],
)
def test_any(text: str, expected: Node) -> None:
    assert parse(text, "any") == expected


def test_phrase() -> None:
    assert parse('to be -or "not"', "phrase") == Phrase('to be -or "not"')
    assert parse("???", "phrase") == Boolean()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat", Term("cat")),
        ("  cat ", Term("cat")),
        ("getUserName", Phrase("getUserName")),
        ("'big cat'", Phrase("big cat")),
        ("'O''Reilly'", Phrase("O'Reilly")),
        ("O'Reilly", Phrase("O'Reilly")),
        ("big <-> fat<->cat", Phrase("big fat cat")),
        ("cat:*", Prefix("cat")),
        ("'cat':*", Prefix("cat")),
        ("東京:*", Prefix("東京")),
        ("東京都:*", Phrase("東京都")),
        ("cat & dog", must(Term("cat"), Term("dog"))),
        ("cat | dog", should(Term("cat"), Term("dog"))),
        ("a | b & c", should(Term("a"), must(Term("b"), Term("c")))),
        ("(a | b) & c", must(should(Term("a"), Term("b")), Term("c"))),
        ("a & !b", Boolean(must=(Term("a"),), must_not=(Term("b"),))),
        ("a&!(b|c)", Boolean(must=(Term("a"),), must_not=(should(Term("b"), Term("c")),))),
        ("!a", Boolean(must_not=(Term("a"),))),
        ("!!a", Term("a")),
        ("!(!a & !b)", should(Term("a"), Term("b"))),
        ("a & (!b & !c)", Boolean(must=(Term("a"),), must_not=(Term("b"), Term("c")))),
        ("a:b & c", must(Phrase("a:b"), Term("c"))),
    ],
)
def test_strict(text: str, expected: Node) -> None:
    assert parse(text, "strict") == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the end at character 1"),
        ("cat dog", "'dog' at character 5, where &"),
        ("cat &", "the end at character 6, where a word"),
        ("& cat", "'&' at character 1, where a word"),
        ("(cat", r"the end at character 5, where .*\)"),
        ("cat)", r"'\)' at character 4"),
        ("a <-> (b)", r"'\(' at character 7"),
        ("a <-> b:*", "after character 1"),
        ("'foo bar':*", "single word"),
        ("a & 'b", "not closed at character 5"),
        ("a & :*", "at character 5"),
        ("a & ???", r"'\?\?\?' at character 5"),
        ("a & ''", "'' at character"),
        ("a | !b", "only excludes"),
        ("(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1), f"at character {MAX_DEPTH + 1}"),
        ("a" * (MAX_CHARS + 1), "at most"),
    ],
)
def test_a_bad_strict_expression_says_where(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        parse(text, "strict")


def test_deep_but_allowed() -> None:
    assert parse("(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH, "strict") == Term("a")
    assert parse("(a) & " * 100 + "(a)", "strict") == must(*[Term("a")] * 101)


def test_an_unknown_mode_names_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="'fuzzy': use one of web, any, plain, phrase, strict"):
        parse("cat", "fuzzy")
    assert MODES == ("web", "any", "plain", "phrase", "strict")


def leaves(node: Node) -> list[Term | Phrase | Prefix]:
    return [leaf for part in (*node.must, *node.should, *node.must_not) for leaf in leaves(part)] if isinstance(node, Boolean) else [node]


@given(SYNTAX | st.text(), st.sampled_from(["web", "plain", "phrase"]))
def test_any_text_is_legal_and_no_leaf_is_empty(text: str, mode: str) -> None:
    assert all(terms(leaf.text) for leaf in leaves(parse(text, mode)))


@given(st.lists(st.sampled_from(["cat", "dog", "getUserName", "東京都"]), min_size=1), st.sampled_from(["plain", "phrase"]))
def test_no_word_is_lost(words: list[str], mode: str) -> None:
    found = parse(" ".join(words), mode)
    assert {term for leaf in leaves(found) for term in terms(leaf.text)} == set(terms(" ".join(words)))


@given(SYNTAX | st.text())
def test_a_strict_expression_is_understood_or_refused(text: str) -> None:
    try:
        found = leaves(parse(text, "strict"))
    except InvalidInput:
        return
    assert found
    assert all(terms(leaf.text) for leaf in found)


def test_a_very_long_query_is_cut() -> None:
    found = parse("cat " * 1_000_000, "web")
    assert sum(len(leaf.text) for leaf in leaves(found)) <= MAX_CHARS
