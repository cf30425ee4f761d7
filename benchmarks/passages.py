"""Real text, as much as is wanted: word-aligned windows of documents at hand, and questions about them. Seeded: every run is alike."""

from __future__ import annotations

import json
import re
import sysconfig
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from random import Random

WINDOW_CHARS = (200, 600)
"""A passage's length: 400 characters on average are about 90 tokens."""
LONG_CHARS = 6_000
"""A document from here on is cut into several chunks."""
QUERY_WORDS = (4, 25)
TEXT_SUFFIXES = (".md", ".py", ".rst", ".txt")
MAX_FILE_BYTES = 1_000_000
PASSAGE_SEED, SENTENCE_SEED, QUESTION_SEED = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Texts:
    """The documents that passages are cut from, and the questions that came with them."""

    source: str
    documents: tuple[str, ...]
    questions: tuple[str, ...]


def read_texts(folder: Path | None) -> Texts:
    """The data sets in a folder (`*/corpus.jsonl`), or else what is written in Python's own libraries."""
    if folder is not None and (corpora := sorted(folder.glob("*/corpus.jsonl"))):
        questions = (entry["text"] for path in sorted(folder.glob("*/queries.jsonl")) for entry in _lines(path))
        return Texts("data sets", _whole(entry["text"] for path in corpora for entry in _lines(path)), tuple(questions))
    return Texts("Python's libraries", _whole(_library_files()), ())


def _lines(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _library_files() -> Iterator[str]:
    for name in ("stdlib", "purelib"):
        for path in sorted(Path(sysconfig.get_path(name)).rglob("*")):
            if path.suffix in TEXT_SUFFIXES and path.is_file() and path.stat().st_size <= MAX_FILE_BYTES:
                yield path.read_text(encoding="utf-8", errors="replace")


def _whole(texts: Iterable[str]) -> tuple[str, ...]:
    """Those that a passage fits into."""
    return tuple(text for text in texts if len(text) > 2 * WINDOW_CHARS[1])


def passages(texts: Texts, seed: int = PASSAGE_SEED) -> Iterator[str]:
    """Passages without end: the first n are the same whatever number is taken."""
    random = Random(seed)
    ends = list(accumulate(len(text) for text in texts.documents))
    while True:
        document = texts.documents[bisect_right(ends, random.randrange(ends[-1]))]
        passage = _window(document, random.randrange(len(document) - WINDOW_CHARS[1]), random.randint(*WINDOW_CHARS))
        if len(passage) >= WINDOW_CHARS[0] // 2:
            yield passage


def _window(document: str, start: int, length: int) -> str:
    """From the word after `start` to the word before its end."""
    words = document[start : start + length]
    first, last = re.search(r"\s", words), re.search(r"\s\S*\Z", words)
    return words[first.end() : last.start()].strip() if first and last else ""


def long_documents(texts: Texts) -> list[str]:
    """Documents that are cut into several chunks, in an order that mixes their sources."""
    found = [text for text in texts.documents if LONG_CHARS <= len(text) <= 10 * LONG_CHARS]
    Random(PASSAGE_SEED).shuffle(found)
    return found


def queries(texts: Texts, number: int) -> list[str]:
    """Questions of the data sets and sentences of passages other than those that are indexed, half of each."""
    questions = [text for text in texts.questions if QUERY_WORDS[0] <= len(text.split()) <= QUERY_WORDS[1]]
    chosen = Random(QUESTION_SEED).sample(questions, min(number // 2, len(questions)))
    sentences = filter(None, map(_sentence, passages(texts, SENTENCE_SEED)))
    return [text for text, _ in zip(_mixed(chosen, sentences), range(number), strict=False)]


def _mixed(questions: list[str], sentences: Iterator[str]) -> Iterator[str]:
    for question in questions:
        yield question
        yield next(sentences)
    yield from sentences


def _sentence(passage: str) -> str | None:
    """A whole sentence from the middle of a passage."""
    for sentence in re.split(r"(?<=[.!?])\s+|\n+", passage)[1:-1]:
        if QUERY_WORDS[0] <= len(sentence.split()) <= QUERY_WORDS[1]:
            return sentence.strip()
    return None
