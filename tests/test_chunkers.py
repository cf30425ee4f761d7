"""Chunks cover the text, keep to the budget and follow its structure, whatever the text is."""

from __future__ import annotations

import argparse
import base64
import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import metadata
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.evidence.boundaries import line_starts, sentence_cuts
from recollect.evidence.chunkers import (
    AUTO,
    CHUNKERS,
    Chunker,
    ChunkerRegistry,
    ChunkSettings,
    Piece,
    Ruler,
    Splitter,
    chunk,
    chunker_id,
    passage_text,
)
from recollect.model import FORMATS, Chunk, Format, Item
from recollect.syntax.blocks import outline

NOW = datetime(2024, 1, 1, tzinfo=UTC)
NEWLINE = re.compile(r"\r\n|\r|\n")


class Words:
    """A token for each word and each other character that is not white space."""

    def __init__(self, pattern: str = r"\w+|[^\w\s]") -> None:
        self.pattern = re.compile(pattern)
        self.calls = 0

    def starts(self, text: str) -> npt.NDArray[np.int64]:
        self.calls += 1
        return np.fromiter((found.start() for found in self.pattern.finditer(text)), np.int64)


class Characters:
    """A token for each character above the ASCII blanks."""

    def starts(self, text: str) -> npt.NDArray[np.int64]:
        return np.flatnonzero(np.frombuffer(text.encode("utf-32-le"), np.uint32) > ord(" "))


class Quads:
    """Four tokens for each character that is not white space, all beginning with it, as byte-level tokenizers do for rare ones."""

    def starts(self, text: str) -> npt.NDArray[np.int64]:
        return np.repeat(np.array([at for at, character in enumerate(text) if not character.isspace()], np.int64), 4)


def item(text: str, format_: str = "text", title: str | None = None) -> Item:
    assert format_ in FORMATS
    chosen: Format = format_  # type: ignore[assignment]
    return Item(scope="s", id="a", text=text, format=chosen, title=title, created_at=NOW, updated_at=NOW)


def pieces(text: str, format_: str = "text", max_tokens: int = 200, overlap_tokens: int = 0) -> list[str]:
    return [text[each.start : each.end] for each in chunk(item(text, format_), Words(), ChunkSettings(max_tokens, overlap_tokens))]


def check(
    text: str, chunks: tuple[Chunk, ...], starts: npt.NDArray[np.int64], max_tokens: int, overlap_tokens: int = 0, front: int = 0
) -> None:
    covered = np.arange(len(text)) < front
    before = (-1, -1)
    for ordinal, each in enumerate(chunks):
        assert each.ordinal == ordinal
        assert 0 <= each.start < each.end <= len(text)
        assert each.start > before[0]
        assert each.end > before[1]
        assert text[each.start : each.end].strip()
        count = int(np.searchsorted(starts, each.end) - np.searchsorted(starts, each.start))
        assert each.token_count == count <= max_tokens
        assert np.searchsorted(starts, before[1]) - np.searchsorted(starts, each.start) <= overlap_tokens
        assert each.anchors.line_start == line(text, each.start)
        assert each.anchors.line_end == line(text, each.end - 1)
        covered[each.start : each.end] = True
        before = (each.start, each.end)
    assert not "".join(text[at] for at in np.flatnonzero(~covered)).strip()


def front(text: str, chunker: str) -> int:
    """How much of a text is front matter, which is in no chunk."""
    end = outline(text, line_starts(text)).front if chunker == "markdown" else 0
    return end if text[end:].strip() else 0


def line(text: str, offset: int) -> int:
    return 1 + sum(found.end() <= offset for found in NEWLINE.finditer(text))


SHAPES = [
    *(
        "# One\n",
        "## Two ##\n",
        "### Three\r\n",
        "Title\n===\n",
        "Sub\n---\n",
        "---\n",
        "```\n",
        "~~~py\n",
        "- item\n",
        "  * nested\n",
        "12. step\n",
    ),
    *(
        "| a | b |\n",
        "|---|---|\n",
        "a | b\n",
        "\n",
        "\n\n",
        "\r\n\r\n",
        "\r",
        " ",
        "    ",
        "\t",
        "word ",
        "A sentence. ",
        "Why? ",
        "Dr. Who said ",
    ),
    *(
        "句子。",
        "短い！",
        "e\u0301",
        "\u0301",
        "👩\u200d👩\u200d👧",
        "🇩🇪",
        "\ufe0f",
        "\u200d",
        "\ud83d",
        "\ude00",
        "\u2028",
        "\x0b",
        "\x00",
        "\ufeff",
    ),
    *(
        "def f():\n",
        "    return 1\n",
        "class A:\n",
        "}\n",
        "@x\n",
        "// note\n",
        "x" * 40,
        "....",
        '."',
        "word " * 30,
        "long line without an end " * 4 + "\n",
    ),
]
texts = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(SHAPES), max_size=60).map("".join))


@given(texts, st.sampled_from(sorted(CHUNKERS)), st.integers(1, 40), st.integers(0, 20))
@settings(max_examples=400, deadline=None)
def test_every_text_is_covered_within_the_budget(text: str, chunker: str, max_tokens: int, overlap: int) -> None:
    words = Words()
    wanted = ChunkSettings(max_tokens, min(overlap, max_tokens // 2), chunker)
    chunks = chunk(item(text), words, wanted)
    check(text, chunks, Words().starts(text), max_tokens, wanted.overlap_tokens, front(text, chunker))
    assert words.calls <= 1
    assert chunks == chunk(item(text), Words(), wanted)


@given(texts, st.sampled_from(sorted(CHUNKERS)), st.integers(4, 40))
@settings(max_examples=100, deadline=None)
def test_several_tokens_may_begin_with_one_character(text: str, chunker: str, max_tokens: int) -> None:
    chunks = chunk(item(text), Quads(), ChunkSettings(max_tokens, 0, chunker))
    check(text, chunks, Quads().starts(text), max_tokens, front=front(text, chunker))


CHARACTERS = [
    "a",
    " ",
    "e\u0301",
    "👩\u200d👩\u200d👧",
    "🇩🇪",
    "👍🏽",
    "☕\ufe0f",
    "\u1112\u1161\u11ab",
    "न\u093f",
    "\r\n",
    "。",
    "！\ufe0f",
    "\ud83d\ude00",
]


@given(st.lists(st.sampled_from(CHARACTERS), min_size=10, max_size=80), st.sampled_from(sorted(CHUNKERS)), st.integers(5, 12))
@settings(max_examples=200, deadline=None)
def test_a_character_is_never_divided_where_it_fits(characters: list[str], chunker: str, max_tokens: int) -> None:
    text = "".join(characters)
    whole = {0, *accumulate(map(len, characters))}
    for each in chunk(item(text), Words(r"\S"), ChunkSettings(max_tokens, 0, chunker)):
        assert {each.start, each.end} <= whole


REAL = {
    "markdown": str(metadata("pydantic").get_payload())[:40_000],
    "code": inspect.getsource(argparse)[:40_000],
    "text": inspect.cleandoc(textwrap.__doc__ or "") + "\n\n".join(inspect.getdoc(each) or "" for each in vars(argparse).values()),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("overlap", [0, 30])
@pytest.mark.parametrize("max_tokens", [5, 64, 200])
@pytest.mark.parametrize("format_", FORMATS)
def test_real_texts(format_: str, max_tokens: int, overlap: int, newline: str) -> None:
    text = REAL[format_].replace("\n", newline)
    chunks = chunk(item(text, format_), Words(), ChunkSettings(max_tokens, min(overlap, max_tokens // 2)))
    assert len(chunks) > 1
    check_fast(text, chunks, max_tokens)


def check_fast(text: str, chunks: tuple[Chunk, ...], max_tokens: int) -> None:
    """The laws that do not take time by the square of the text."""
    covered = np.zeros(len(text), bool)
    for each in chunks:
        assert text[each.start : each.end].strip()
        assert each.token_count <= max_tokens
        covered[each.start : each.end] = True
    assert not "".join(text[at] for at in np.flatnonzero(~covered)).strip()
    assert chunks == tuple(sorted(chunks, key=lambda each: each.start))


@pytest.mark.parametrize("overlap", [0, 12])
@pytest.mark.parametrize("chunker", sorted(CHUNKERS))
def test_a_real_text_with_characters_of_all_kinds_and_no_end_of_line(chunker: str, overlap: int) -> None:
    odd = ["👩\u200d👩\u200d👧", "🇩🇪", "e\u0301te\u0301", "👍🏽", "न\u093f", "句子。", "\u1112\u1161\u11ab", "☕\ufe0f", "ab\u00ad"]
    words = re.split("(?<= )", REAL["markdown"][:20_000].replace("\n", "\r\n"))
    text = "".join(word + odd[at % len(odd)] if at % 3 == 0 else word for at, word in enumerate(words)).rstrip() + " end\u0301"
    chunks = chunk(item(text), Words(), ChunkSettings(40, overlap, chunker))
    check(text, chunks, Words().starts(text), 40, overlap)
    assert not [each for each in chunks for edge in (each.start, each.end) if text[edge : edge + 1] in ("\u0301", "\u200d", "\ufe0f", "🏽")]
    repeated = sum(before.end > each.start for before, each in pairwise(chunks))
    if not overlap:
        assert not repeated
    elif chunker != "code":  # which repeats whole lines, and these are longer than the overlap
        assert repeated > len(chunks) / 4


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("format_", FORMATS)
def test_the_kind_of_line_ends_does_not_change_the_chunks(format_: str, newline: str) -> None:
    text = REAL[format_]
    expected = [each.replace("\n", newline) for each in pieces(text, format_)]
    assert pieces(text.replace("\n", newline), format_) == expected


@pytest.mark.parametrize("text", ["", " ", "\n\r\n\t\u3000"])
def test_nothing_but_white_space_has_no_chunks(text: str) -> None:
    assert pieces(text, "markdown") == []


ENDLESS = {
    "letters": "a" * 1_000_000,
    "dots": "." * 300_000,
    "marks": "\u0301" * 100_000,
    "flags": "🇩🇪" * 50_000,
    "stops": "。" * 200_000,
    "signs": "# " * 100_000,
    "spaces": " " * 300_000 + "x",
    "lines": "\n" * 100_000 + "x",
}


@pytest.mark.parametrize("shape", ENDLESS)
@pytest.mark.parametrize("format_", FORMATS)
def test_a_text_without_an_end_is_divided(shape: str, format_: str) -> None:
    text = ENDLESS[shape]
    check_fast(text, chunk(item(text, format_), Characters(), ChunkSettings(200)), 200)


def test_what_the_tokenizer_reads_as_one_word_is_still_divided() -> None:
    data = base64.b64encode(bytes(range(256)) * 200).decode()
    assert max(map(len, pieces(data))) < 10_000


def test_a_text_that_fits_is_one_chunk_with_its_indentation() -> None:
    assert pieces("\n\n    x = 1\n\n    y = 2\n\n", "code") == ["    x = 1\n\n    y = 2"]


def markdown(text: str, max_tokens: int = 30) -> list[tuple[tuple[str, ...], str]]:
    found = chunk(item(text, "markdown"), Words(r"\w+"), ChunkSettings(max_tokens))
    return [(each.anchors.heading_path, text[each.start : each.end]) for each in found]


def words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


def test_sections_have_their_headings() -> None:
    text = f"# A #\n\n{words(15)}\n\n## B\n\n{words(15)}\n\nC\n=\n\n{words(15)}\n\nD\n---\n{words(15)}\n\n### E\n{words(15)}\n"
    assert [path for path, _ in markdown(text)] == [("A",), ("A", "B"), ("C",), ("C", "D"), ("C", "D", "E")]


def test_a_fence_hides_headings_and_stays_whole() -> None:
    fence = f"```sh\n# not a heading\n\n{words(12)}\n~~~\n```"
    text = f"# A\n\n{words(12)}\n\n{fence}\n\n{words(12)}\n"
    assert [path for path, _ in markdown(text)] == [("A",)] * 2
    assert sum(fence in body for _, body in markdown(text)) == 1


@pytest.mark.parametrize("line", ["#no", "####### no", "    # no", "\\# no", "-- -", "| a | b |\n| --- | --- |"])
def test_what_only_looks_like_a_heading(line: str) -> None:
    assert {path for path, _ in markdown(f"# A\n\n{words(12)}\n\n{line}\n\n{words(12)}\n")} == {("A",)}


def test_a_rule_is_no_underline() -> None:
    text = f"# A\n\n- {words(12)}\n---\n{words(12)}\n\n---\n\n{words(12)}\n\n{words(60)}\n---\n"
    assert {path for path, _ in markdown(text)} == {("A",)}


def test_front_matter_is_no_evidence_where_anything_follows_it() -> None:
    matter = "---\ntitle: x\n# comment\n\ntags: [a, b]\n" + "".join(f"key{at}: value\n" for at in range(8)) + "---"
    text = f"{matter}\n# A\n\n{words(20)}\n"
    assert markdown(text) == [(("A",), f"# A\n\n{words(20)}")]
    assert markdown(f"{matter}\n{words(20)}\n\n# A\n\n{words(20)}\n")[0] == ((), words(20))
    assert markdown(f"{matter}\n") == [((), matter)]
    assert chunk(item(text, "markdown"), Words(), ChunkSettings(200))[0].anchors.line_start == 15, "lines are those of the file"


def test_prose_between_two_rules_is_no_front_matter() -> None:
    assert markdown(f"---\n\n{words(12)}\n\n---\n{words(12)}\n") == [((), f"---\n\n{words(12)}\n\n---\n{words(12)}")]


def test_small_sections_join_the_next_under_their_parent() -> None:
    text = f"# A\n\n## B\n\none two\n\n## C\n\nthree four\n\n## D\n\n{words(25)}\n"
    assert markdown(text) == [(("A",), "# A\n\n## B\n\none two\n\n## C\n\nthree four"), (("A", "D"), f"## D\n\n{words(25)}")]


def test_a_small_section_never_joins_where_its_parent_would_be_lost() -> None:
    text = f"# Install\n\n{words(20)}\n\n## Linux\n\nuse apt\n\n# API\n\n{words(15)}\n"
    assert [path for path, _ in markdown(text)] == [("Install",), ("API",)]
    text = f"# Install\n\n{words(28)}\n\n## Linux\n\nuse apt\n\n# API\n\n{words(15)}\n"
    assert [path for path, _ in markdown(text)] == [("Install",), ("Install", "Linux"), ("API",)]


def test_a_heading_stays_with_a_section_that_is_too_large() -> None:
    found = markdown(f"# A\n\n## B\n\n{words(100)}\n")
    assert found[0][1].startswith("# A\n\n## B\n\nword")
    assert {path for path, _ in found} == {("A", "B")}


def test_a_heading_is_never_the_end_of_a_chunk() -> None:
    text = "".join(f"{'#' * (1 + at % 3)} H{at}\n\n" + f"{words(at % 7 + 1)}\n\n" * (at % 5) for at in range(200))
    assert not [body for _, body in markdown(text)[:-1] if body.splitlines()[-1].startswith("#")]


def test_blocks_stay_whole_and_small_ones_share_a_chunk() -> None:
    table = "| a | b |\n|---|---|\n" + "| word | word |\n" * 8
    bullets = "- one\n- two\n\n  more of two\n- three\n" + f"- {words(12)}\n"
    text = f"Alpha.\n\nBeta.\n\n{table}\n{words(8)}\n\n{bullets}"
    assert [body for _, body in markdown(text)] == [f"Alpha.\n\nBeta.\n\n{table.strip()}", f"{words(8)}\n\n{bullets.strip()}"]


sentences = st.integers(1, 30).map(lambda count: " ".join(f"Sentence {at}, of words." for at in range(count)))
fences = st.integers(1, 12).map(lambda count: "```sh\n" + "# x = 1. Y = 2\n\n" * count + "```")
tables = st.integers(1, 12).map(lambda count: ("| a | b |\n|---|---|\n" + "| one. Two | three |\n" * count).strip())
bullets = st.integers(1, 12).map(lambda count: "\n".join(f"- item {at}" for at in range(count)))
headings = st.tuples(st.integers(1, 4), st.sampled_from("ABCDE")).map(lambda found: f"{'#' * found[0]} {found[1]}")
documents = st.lists(st.one_of(sentences, fences, tables, bullets, headings), min_size=1, max_size=20)


@given(documents, st.integers(20, 120), st.sampled_from(["\n\n", "\r\n\r\n", "\n \n\n"]))
@settings(max_examples=150, deadline=None)
def test_a_table_or_a_fence_that_fits_is_whole(blocks: list[str], max_tokens: int, between: str) -> None:
    text = between.join(blocks)
    chunks = chunk(item(text, "markdown"), Words(), ChunkSettings(max_tokens))
    start = with_headings = 0
    for before, block in pairwise(["", *blocks]):
        # A heading stays with what it is about.
        with_headings = with_headings if before.startswith("#") else start
        end = start + len(block)
        if block[0] in "`|" and len(Words().starts(text[with_headings:end])) <= max_tokens:
            assert any(each.start <= start and end <= each.end for each in chunks), block
        start = end + len(between)


@given(documents, st.integers(20, 120))
@settings(max_examples=150, deadline=None)
def test_a_chunk_has_the_headings_that_hold_for_all_of_it(blocks: list[str], max_tokens: int) -> None:
    text = "\n\n".join(blocks)
    sections: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    above: list[tuple[int, str]] = []
    start, after_heading = 0, True
    for block in blocks:
        if block[0] == "#":
            level = block.index(" ")
            above = [*(each for each in above if each[0] < level), (level, block[level + 1 :])]
            # Headings without a text between them are one section, under the last of them.
            begin = sections.pop()[0] if after_heading else start
            sections.append((begin, tuple(title for _, title in above)))
        after_heading = block[0] == "#"
        start += len(block) + 2
    ends = [*(begin for begin, _ in sections[1:]), len(text)]
    for each in chunk(item(text, "markdown"), Words(), ChunkSettings(max_tokens)):
        first, *more = (path for (begin, path), end in zip(sections, ends, strict=True) if begin < each.end and each.start < end)
        shared = [count for count in range(len(first) + 1) if all(path[:count] == first[:count] for path in more)]
        assert each.anchors.heading_path == first[: max(shared)]


@pytest.mark.parametrize(
    "block", ["| word. word | Word. |\n" * 60, "```\n" + "word. Word word\n" * 60 + "```\n", "- word. Word word\n" * 60]
)
def test_a_block_that_is_too_large_is_divided_at_lines(block: str) -> None:
    bodies = [body for _, body in markdown(f"# A\n\nIntro.\n\n{block}")]
    assert len(bodies) > 5
    assert all(body.splitlines()[-1] in block.splitlines() for body in bodies)
    assert all(body.splitlines()[0] in block.splitlines() for body in bodies[1:])


def test_prose_is_divided_at_paragraphs_then_sentences() -> None:
    first, second = words(15) + ".", " ".join(f"Sentence {words(9)}." for _ in range(6))
    found = pieces(f"{first}\n\n{second}\n", max_tokens=36)
    assert found[0] == first
    assert all(each.startswith("Sentence") and each.endswith(".") for each in found[1:])
    assert len({len(each) for each in found[1:]}) == 1


@pytest.mark.parametrize(
    "sentences",
    [
        ["One is here. ", 'He said "no!" ', "Then (at last.) ", "Dr. A. Smith et al. found 3.5 of them, e.g. this. ", "End"],
        ["これは文です。", "本当に？", "「はい。」", "終わり"],
        ["A list\n", "- one\n", "- two\n", "1. three"],
        ["He left...\n", "Next … and so on. ", "New"],
    ],
)
def test_sentences(sentences: list[str]) -> None:
    text = "".join(sentences)
    assert [0, *sentence_cuts(text, 0, len(text))] == [0, *accumulate(map(len, sentences))][:-1]


CODE = '''import os


@cache
def first(a):
    """One."""
    x = a

    return x
def second(b):
    return b


# A class.
class Third:
    def method(self):
        return 1

    def other(self):
        return 2
'''


def test_code_is_divided_at_definitions_and_named() -> None:
    found = chunk(item(CODE, "code"), Words(), ChunkSettings(26))
    assert [each.anchors.symbol for each in found] == [None, "second", "Third"]
    assert [CODE[each.start : each.end].splitlines()[0] for each in found] == ["import os", "def second(b):", "# A class."]


@pytest.mark.parametrize("overlap", [0, 20])
def test_code_is_never_divided_inside_a_line_that_fits(overlap: int) -> None:
    text = REAL["code"]
    for each in chunk(item(text, "code"), Words(), ChunkSettings(60, overlap)):
        assert each.start == 0 or text[each.start - 1] == "\n"
        assert text[each.end : each.end + 1] in ("\n", "")


@pytest.mark.parametrize(
    ("code", "symbol"),
    [
        ("async def go():\n    pass\n", "go"),
        ("export default class Box<T> {\n}\n", "Box"),
        ("func (s *Server) Serve() {\n}\n", "Serve"),
        ("pub(crate) fn run() {\n}\n", "run"),
        ("// Says so.\nfunction say() {\n}\n", "say"),
        ("def a(): ...\ndef b(): ...\n", None),
        ("x = 1\ndef a(): ...\n", None),
        ("    def method(self): ...\n", None),
    ],
)
def test_symbols(code: str, symbol: str | None) -> None:
    assert [each.anchors.symbol for each in chunk(item(code, "code"), Words(), ChunkSettings(200))] == [symbol]


def test_overlap_repeats_whole_sentences_or_else_words() -> None:
    text = " ".join(f"S{at} b c d." for at in range(40))
    found = pieces(text, max_tokens=40, overlap_tokens=10)
    for before, each in pairwise(found):
        shared = re.match(r"S\d+ b c d\. S\d+ b c d\.", each)
        assert shared is not None
        assert before.endswith(shared[0])
    found = pieces(words(100), max_tokens=20, overlap_tokens=5)
    assert sum(len(each.split()) for each in found) >= 100 + 4 * (len(found) - 1)


def test_pieces_are_even() -> None:
    assert [len(each.split()) for each in pieces(words(210), max_tokens=200)] == [105, 105]


def test_the_recipe_names_everything_that_changes_chunks() -> None:
    bare = ChunkSettings(200, include_headers=False)
    every = [ChunkSettings(200), ChunkSettings(201), ChunkSettings(200, 10), ChunkSettings(200, 0, "tokens"), bare]
    assert len({chunker_id(each) for each in every}) == len(every)


def test_recipes_that_stores_are_named_by_stay_as_they_are() -> None:
    assert chunker_id(ChunkSettings(200)) == "auto-4/max=200/overlap=0"
    assert chunker_id(ChunkSettings(64, 8, "prose")) == "prose-4/max=64/overlap=8"


@pytest.mark.parametrize("bad", [(0, 0, "auto"), (10, 6, "auto"), (10, -1, "auto")])
def test_settings_that_make_no_sense(bad: tuple[int, int, str]) -> None:
    with pytest.raises(InvalidInput):
        ChunkSettings(*bad)


@pytest.mark.parametrize("text", ["", "words"])
def test_an_unknown_chunker_is_told(text: str) -> None:
    wanted = ChunkSettings(10, 0, "poetry")
    with pytest.raises(InvalidInput, match="no chunker 'poetry': use auto, markdown, prose, code, tokens"):
        chunk(item(text), Words(), wanted)
    with pytest.raises(InvalidInput, match="'poetry'"):
        chunker_id(wanted)


# A user's own chunkers.


def verses(text: str, lines: Sequence[int], ruler: Ruler) -> Iterator[Piece]:
    """A piece for each line, divided further where it is too long."""
    for start, end in pairwise([*lines, len(text)]):
        yield from (Piece(*span, heading_path=("Verses",), symbol="verse") for span in Splitter(text, ruler).split(start, end))


def test_a_chunker_of_ones_own_divides_what_names_it() -> None:
    registry = ChunkerRegistry()
    assert registry.ids == (AUTO, "markdown", "prose", "code", "tokens")
    registry.register("verses", verses, version=3)
    assert registry.ids[-1] == "verses"
    text = "Rose leaves\n\nwhen the rose is dead  \r\n" + words(25)
    found = registry.chunk(item(text), Words(), ChunkSettings(10, 0, "verses"))
    assert [text[each.start : each.end] for each in found][:2] == ["Rose leaves", "when the rose is dead"]
    assert {(each.anchors.heading_path, each.anchors.symbol) for each in found} == {(("Verses",), "verse")}
    check(text, found, Words().starts(text), 10)
    assert registry.chunk(item(text), Words(), ChunkSettings(10)) == chunk(item(text), Words(), ChunkSettings(10))
    assert "verses" not in ChunkerRegistry().ids


def test_the_version_of_a_chunker_is_part_of_its_recipe() -> None:
    names = set()
    for version in (1, 2):
        registry = ChunkerRegistry()
        registry.register("verses", verses, version=version)
        names.add(registry.recipe_id(ChunkSettings(10, 0, "verses")))
    assert names == {"verses-1/max=10/overlap=0", "verses-2/max=10/overlap=0"}


@given(texts, st.integers(1, 40))
@settings(max_examples=50, deadline=None)
def test_pieces_of_a_splitter_keep_the_law(text: str, max_tokens: int) -> None:
    registry = ChunkerRegistry()
    registry.register("verses", verses)
    check(text, registry.chunk(item(text), Words(), ChunkSettings(max_tokens, 0, "verses")), Words().starts(text), max_tokens)


@pytest.mark.parametrize("name", ["", "a b", "a-b", "a/b", "1a", "é", "x\n", AUTO, "prose", "verses"])
def test_a_name_that_is_taken_or_no_name_is_refused(name: str) -> None:
    registry = ChunkerRegistry()
    registry.register("verses", verses)
    with pytest.raises(InvalidInput):
        registry.register(name, verses)
    assert len(registry.ids) == 6


@pytest.mark.parametrize("version", [0, -1, 1.5, "1", True])
def test_a_version_that_is_no_number_is_refused(version: Any) -> None:
    with pytest.raises(InvalidInput, match="'verses'"):
        ChunkerRegistry().register("verses", verses, version=version)


def giving(*pieces: Any) -> Chunker:
    return lambda text, lines, ruler: pieces


@pytest.mark.parametrize(
    ("chunker", "reason"),
    [
        (giving(Piece(0, 4)), "lost 'text' between 4 and 9"),
        (giving(Piece(5, 9)), "lost 'some' between 0 and 5"),
        (giving(Piece(0, 3), Piece(5, 9)), "lost 'e' between 3 and 5"),
        (giving(), "lost 'some text'"),
        (giving(Piece(0, 9), Piece(0, 9)), "0 to 9 after 0 to 9"),
        (giving(Piece(0, 9), Piece(2, 5)), "2 to 4 after 0 to 9"),
        (giving(Piece(0, 10)), "0 to 10 of a text of 9"),
        (giving(Piece(-1, 9)), "-1 to 9"),
        (giving(Piece(9, 0)), "9 to 0"),
        (giving((0, 9)), "it must give pieces"),
    ],
)
def test_a_chunker_that_breaks_the_law_is_named(chunker: Chunker, reason: str) -> None:
    registry = ChunkerRegistry()
    registry.register("odd", chunker)
    with pytest.raises(InvalidInput, match=f"the chunker 'odd' .*{reason}") as told:
        registry.chunk(item("some text"), Words(), ChunkSettings(10, 0, "odd"))
    assert "\n" not in str(told.value)


def test_a_chunker_keeps_to_the_budget_but_where_one_character_is_more() -> None:
    registry = ChunkerRegistry()
    registry.register("whole", lambda text, lines, ruler: [Piece(0, len(text))])
    registry.register("single", lambda text, lines, ruler: (Piece(at, at + 1) for at in range(len(text))))
    with pytest.raises(InvalidInput, match="the chunker 'whole' gave a piece of 8 tokens, 0 to 2: at most 7"):
        registry.chunk(item("ab"), Quads(), ChunkSettings(7, 0, "whole"))
    assert [each.token_count for each in registry.chunk(item("ab"), Quads(), ChunkSettings(2, 0, "single"))] == [4, 4]


def passage(text: str, title: str | None, at: int = 0) -> str:
    owner = item(text, "markdown", title)
    return passage_text(owner, chunk(owner, Words(r"\w+"), ChunkSettings(30))[at])


def test_a_passage_has_title_headings_and_text_once() -> None:
    text = f"# Guide\n\n{words(20)}\n\n## Setup\n\n{words(20)}\n\n{words(20)}"
    assert passage(text, "Guide") == f"# Guide\n\n{words(20)}"
    assert passage(text, "Guide", 1) == f"Guide\n## Setup\n\n{words(20)}"
    assert passage(text, "Guide", 2) == f"Guide\nSetup\n{words(20)}"
    assert passage(text, "Handbook", 2) == f"Handbook\nGuide > Setup\n{words(20)}"
    assert passage(text, None, 2) == f"Guide > Setup\n{words(20)}"
    assert passage("GUIDE to all", " Guide ") == "GUIDE to all"
    assert passage("def load(path):", "load") == "def load(path):"
    assert passage("a guideline", "guide") == "guide\na guideline"
    assert passage("of it\nthe guide", "guide") == "guide\nof it\nthe guide"


def test_a_passage_without_headers_is_the_text_of_its_chunk() -> None:
    text = f"# Guide\n\n{words(20)}\n\n## Setup\n\n{words(20)}\n\n{words(20)}"
    owner = item(text, "markdown", "Handbook")
    for each in chunk(owner, Words(r"\w+"), ChunkSettings(30)):
        assert passage_text(owner, each, include_headers=False) == text[each.start : each.end]


def test_a_title_without_an_end_leaves_room_for_the_text() -> None:
    assert len(passage("# " + "long " * 1000, "title " * 1000)) < 6_000
    assert passage("text", "title " * 1000).endswith("\ntext")
    assert len(passage("text", "title " * 1000)) < 300
