"""Which questions are names, and which names stand in a question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.routing import NameQuery
from recollect.understand.names import MAX_MENTIONS, mentioned, recognise


def name(kind: str, name: str, **more: object) -> NameQuery:
    return NameQuery(kind=kind, name=name, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("0x884", name("hex", "0x884")),
        (" 0XFF_FF ", name("hex", "0XFF_FF")),
        ("get_user", name("function", "get_user")),
        ("getUserName", name("function", "getUserName")),
        ("`get_user`", name("function", "get_user")),
        ("__init__", name("function", "__init__")),
        ("MAX_SIZE", name("function", "MAX_SIZE")),
        ("utf8", name("function", "utf8")),
        ("write", name("function", "write", is_plain=True)),
        ("write()", name("function", "write")),
        ("write(item, 3)", name("function", "write")),
        ("valid?", name("function", "valid", is_plain=True)),
        ("JSON", name("function", "JSON", is_plain=True)),
        ("größe", name("function", "größe", is_plain=True)),
        ("数据库", name("function", "数据库", is_plain=True)),
        ("HTTPClient", name("class", "HTTPClient")),
        ("Store", name("class", "Store", is_plain=True)),
        ("Store::write", name("qualified", "write", qualifier="Store")),
        ("Store#write", name("qualified", "write", qualifier="Store")),
        ("Store.write()", name("qualified", "write", qualifier="Store")),
        ("std::io::Read", name("qualified", "Read", qualifier="std.io")),
        ("$store->write", name("qualified", "write", qualifier="store")),
        ("App\\Models\\User", name("qualified", "User", qualifier="App.Models")),
        (".env", name("file", ".env", path=".env")),
        (".gitignore", name("file", ".gitignore", path=".gitignore")),
        ("Dockerfile", name("file", "Dockerfile", path="Dockerfile", is_plain=True)),
        ("Dockerfile.dev:3", name("file", "Dockerfile.dev", path="Dockerfile.dev", lines=(3, 3))),
        ("docker-compose.prod.yml", name("file", "docker-compose.prod.yml", path="docker-compose.prod.yml")),
        ("src/a.py", name("path", "a.py", path="src/a.py")),
        ("./src/a.py", name("path", "a.py", path="src/a.py")),
        ("src/a.py:42", name("path", "a.py", path="src/a.py", lines=(42, 42))),
        ("src/a.py:42-60", name("path", "a.py", path="src/a.py", lines=(42, 60))),
        ("src/a.py:60-42", name("path", "a.py", path="src/a.py", lines=(42, 60))),
        ("src/a.py:42:7", name("path", "a.py", path="src/a.py", lines=(42, 42))),
        ("src/a.py#L42", name("path", "a.py", path="src/a.py", lines=(42, 42))),
        ("src/a.py#L42-L60", name("path", "a.py", path="src/a.py", lines=(42, 60))),
        ("/home/me/repo/src/one.py:3", name("path", "one.py", path="/home/me/repo/src/one.py", lines=(3, 3))),
        ("src/one.py#cache_key", name("qualified", "cache_key", path="src/one.py")),
        ("./src/one.py#Lock", name("qualified", "Lock", path="src/one.py")),
        ("src/one.py#Store.write()", name("qualified", "write", qualifier="Store", path="src/one.py")),
        ("src\\one.py#write", name("qualified", "write", path="src/one.py")),
        ("one.py#cache_key", name("qualified", "cache_key", path="one.py")),
        ("src\\a.py:42", name("path", "a.py", path="src/a.py", lines=(42, 42))),
        ("app/[id]/page.tsx", name("path", "page.tsx", path="app/[id]/page.tsx")),
        ("src/store", name("path", "store", path="src/store", is_plain=True)),
        ("and/or", name("path", "or", path="and/or", is_plain=True)),
        ("src/store/", name("path", "store", path="src/store/")),
        ('"no such table"', name("error", "no such table")),
        ("'no such table: items'", name("error", "no such table: items")),
        ("“no such table”", name("error", "no such table")),
    ],
)
def test_a_question_that_is_a_name_is_read_as_what_it_is(query: str, wanted: NameQuery) -> None:
    assert recognise(query) == wanted


@pytest.mark.parametrize(
    ("query", "first", "second"),
    [
        ("config.toml", ("file", "", "config.toml"), ("qualified", "config", "toml")),
        ("response.json", ("file", "", "response.json"), ("qualified", "response", "json")),
        ("Store.write", ("qualified", "Store", "write"), ("file", "", "Store.write")),
        ("pkg.mod.func", ("qualified", "pkg.mod", "func"), ("file", "", "pkg.mod.func")),
    ],
)
def test_what_may_be_a_file_or_a_member_has_both_readings(query: str, first: tuple[str, ...], second: tuple[str, ...]) -> None:
    found = recognise(query)
    assert found is not None
    assert found.otherwise is not None
    assert (found.kind, found.qualifier, found.name) == first
    assert (found.otherwise.kind, found.otherwise.qualifier, found.otherwise.name) == second
    assert not found.is_plain


@pytest.mark.parametrize(
    "query",
    [
        *("", "  ", "how are rows written", "get_user in src", "3.14", "v1.2.3", "404", "e-mail", "don't", "a b()", "()", "...", "::", "/"),
        *(
            "https://example.com/a.py",
            "https://example.com/a.py#b",
            "src/a.py#",
            "src/a.py:3#b",
            "src/store#write",
            '"open',
            '""',
            '"a" and "b"',
            "c++",
            "x" * 301,
            '"' + "x" * 1_001 + '"',
            "a//b",
            "😀",
            "\x00",
            "a\x00b",
        ),
    ],
)
def test_other_questions_are_no_names(query: str) -> None:
    assert recognise(query) is None


@pytest.mark.parametrize(("query", "literal"), [("0x884", True), ('"no such table"', True), ("get_user", False), ("a.py", False)])
def test_what_is_defined_nowhere_is_literal(query: str, literal: bool) -> None:
    assert recognise(query).is_literal is literal  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("how does parse_filter treat OR", ["parse_filter"]),
        ("where is HybridRetriever.search defined?", ["HybridRetriever.search"]),
        ("what does `write` do, and `Store.read()`?", ["write", "Store.read"]),
        ("what happens in src/a.py:42, after open()?", ["src/a.py:42", "open"]),
        ("is getUserName's result kept (see config.toml)?", ["getUserName", "config.toml"]),
        ("who sets MAX_SIZE in .env and std::vec by 0x884", ["MAX_SIZE", ".env", "std::vec", "0x884"]),
        ("who calls src/one.py#cache_key (see /repo/src/one.py:3)?", ["src/one.py#cache_key", "/repo/src/one.py:3"]),
        ("does __init__ call sha256", ["__init__", "sha256"]),
        ("parse_filter and parse_filter again", ["parse_filter"]),
    ],
)
def test_names_in_a_question_are_found(query: str, names: list[str]) -> None:
    assert list(mentioned(query)) == names


@pytest.mark.parametrize(
    "query",
    [
        "How does the Store write rows and/or read them, e.g. in the U.S. at 9 p.m., i.e. late?",
        "Don't e-mail PDFs or APIs' URLs to the _whole_ list: it's 2nd (or 3rd) in C++, C# and .NET v2",
        "Which is faster, read/write or client/server? See https://example.com/a.py and #123.",
        "``",
        "",
    ],
)
def test_plain_words_are_no_names(query: str) -> None:
    assert mentioned(query) == ()


def test_no_more_than_a_few_names_are_taken() -> None:
    assert len(mentioned(" ".join(f"name_{number}" for number in range(50)))) == MAX_MENTIONS
    assert len(mentioned(" ".join(f"`name{number}`" for number in range(50)))) == MAX_MENTIONS


@given(st.text(st.characters(), max_size=60) | st.text(st.sampled_from("aA_0.:/\\#L-x()`'\"$ \n\x00é"), max_size=40))
def test_any_text_may_be_asked(query: str) -> None:
    found = recognise(query)
    assert found is None or found.name
    for each in mentioned(query):
        assert recognise(each) is not None


@pytest.mark.parametrize(
    "unit",
    ["a", "a ", "`", "`a", "_", ".", "a.", "/", "a/", ":", "::", "(", ")", "a(", "A", "aA", "0x", "#L", '"', "'", " ", "\\", "é.", "?"],
)
def test_long_texts_are_read_in_one_pass(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    assert recognise(text) is None
    assert len(mentioned(text)) <= MAX_MENTIONS
    assert len(mentioned(f"`{text}` {text}()")) <= MAX_MENTIONS
