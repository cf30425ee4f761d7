"""Questions with known answers, read from a folder: Recollect's own form, or BEIR's.

    corpus.jsonl     {"id" or "_id", "title", "text", "metadata", ...}: records, as `recollect import` takes them
    queries.jsonl    {"id" or "_id", "text", "metadata"}
    qrels.tsv        query, document, grade; or qrels/SPLIT.tsv; or the four columns of TREC
    evidence.jsonl   {"query_id", "doc_id", "start", "end"}: the characters of a document that answer a question
    haystacks.jsonl  {"query_id", "doc_ids"}: the documents a question may be searched in
    graph.jsonl      {"doc_id", "entities", "triples"}, ...: a graph, as `recollect import --graph` takes it

A bad line is an error. A judgment of something that is not there is told in a note.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, get_args

from ..errors import InvalidInput
from ..filters import period
from ..ingest.records import BadRecord, read_records
from ..kinds import LANGUAGES
from ..memories import MEMORY_TYPES
from ..model import Item
from .judgments import Span, lines_of, read_evidence, read_haystacks, read_judgments

CORPUS: Final = "corpus.jsonl"
QUERIES: Final = "queries.jsonl"
QRELS: Final = "qrels.tsv"
EVIDENCE: Final = "evidence.jsonl"
HAYSTACKS: Final = "haystacks.jsonl"
GRAPH: Final = "graph.jsonl"
DEFAULT_SPLIT: Final = "test"
UNDATED: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""The time of documents that have none: always the same, so that a second run finds them unchanged."""
CODE_LANGUAGES: Final = frozenset({*LANGUAGES.values(), "c++", "c#", "f#", "bash", "js", "objective c"})

HAPPENED: Final = ("timestamp", "created_at", "date")
"""Fields of a memory's metadata that say when it was, the first that is there."""

Half = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class Query:
    """A question."""

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Documents, questions about them, and which documents answer each. A grade above 0 is an answer, a higher one a better answer."""

    name: str
    documents: tuple[Item, ...]
    queries: tuple[Query, ...]
    qrels: Mapping[str, Mapping[str, int]]
    evidence: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    haystacks: Mapping[str, tuple[str, ...]] | None = None
    graph: tuple[bytes, ...] = ()
    """The lines of what is known of entities and of how they are related, where it comes with such."""
    notes: tuple[str, ...] = ()
    """What is odd about it, a line each."""

    def expected(self, query_id: str) -> dict[str, int]:
        """The documents that answer a question, with their grades; none where it has no answer here."""
        return {document: grade for document, grade in self.qrels.get(query_id, {}).items() if grade > 0}


def load(path: str | Path, *, split: str | None = None) -> Dataset:
    """The dataset in a folder. `split` names one of the judgment files in `qrels/`."""
    folder = Path(path)
    _require(folder, CORPUS, QUERIES)
    documents, notes = _documents(folder / CORPUS)
    asked = list(_queries(folder / QUERIES))
    queries = {query.id: query for query in asked}
    if again := len(asked) - len(queries):
        notes.append(f"{_count(again, 'question')} with the id of an earlier one took its place")
    judgments = _judgments_file(folder, split)
    found, regraded = read_judgments(judgments)
    if regraded:
        notes.append(f"{_count(regraded, 'judgment')} with another grade than an earlier one took its place")
    if judgments.parent != folder:
        # The questions of every split are in one file.
        queries = {query_id: query for query_id, query in queries.items() if query_id in found}
    qrels = {query_id: grades for query_id, grades in found.items() if query_id in queries}
    notes += _strangers(found, queries, documents)
    if not any(grade > 0 and document in documents for grades in qrels.values() for document, grade in grades.items()):
        raise InvalidInput(f"no judgment of {str(judgments)!r} names a question and a document that are there: check the ids")
    evidence, unknown = read_evidence(folder / EVIDENCE, queries, {item.id: len(item.text) for item in documents.values()})
    haystacks = read_haystacks(folder / HAYSTACKS, queries)
    notes += _unknown(EVIDENCE, unknown)
    notes += _unknown(HAYSTACKS, {document for each in (haystacks or {}).values() for document in each} - documents.keys())
    return Dataset(
        name=folder.resolve().name,
        documents=tuple(documents.values()),
        queries=tuple(queries.values()),
        qrels=qrels,
        evidence=evidence,
        haystacks=haystacks,
        graph=tuple(lines_of(folder / GRAPH)) if (folder / GRAPH).is_file() else (),
        notes=tuple(notes),
    )


def half_of(query_id: str) -> Half:
    """The half of the questions this one is in, by a hash of its id: numbers are tuned on one half and judged on the other."""
    return "train" if sha256(query_id.encode()).digest()[0] % 2 == 0 else "test"


def chosen(queries: Sequence[Query], *, half: Half | None = None, limit: int | None = None) -> tuple[Query, ...]:
    """The questions of one half, or some of them: always the same, drawn by a hash of their ids, in their own order."""
    if half is not None and half not in get_args(Half):
        raise InvalidInput(f"there is no half {half!r}: use {' or '.join(get_args(Half))}")
    if limit is not None and limit < 1:
        raise InvalidInput(f"limit is {limit}: ask at least 1 question")
    kept = [query for query in queries if half in (None, half_of(query.id))]
    drawn = set(sorted((query.id for query in kept), key=lambda query_id: sha256(query_id.encode()).digest())[:limit])
    return tuple(query for query in kept if query.id in drawn)


def is_code(item: Item) -> bool:
    """Whether a document is source code, by its format or the language it names."""
    return item.format == "code" or str(item.metadata.get("language", "")).lower() in CODE_LANGUAGES


def mostly_code(documents: Sequence[Item]) -> bool:
    """Whether more than half of the documents are source code."""
    return sum(document.format == "code" for document in documents) * 2 > len(documents)


def mostly_episodes(documents: Sequence[Item]) -> bool:
    """Whether more than half of the documents are what happened: conversations, sessions, events."""
    return sum("episodic" in (document.kind, document.metadata.get("memory_type")) for document in documents) * 2 > len(documents)


def _require(folder: Path, *names: str) -> None:
    if not folder.is_dir():
        raise InvalidInput(f"there is no folder {str(folder)!r}: name one that holds {CORPUS}, {QUERIES} and {QRELS}")
    for name in names:
        if not (folder / name).is_file():
            raise InvalidInput(
                f"the folder {str(folder)!r} has no {name}: a dataset is {CORPUS}, {QUERIES} and {QRELS} (or qrels/test.tsv)"
            )


def _documents(path: Path) -> tuple[dict[str, Item], list[str]]:
    documents: dict[str, Item] = {}
    again = empty = 0
    lines = list(lines_of(path))
    for record in read_records(lines, scope="default", name=str(path), now=UNDATED):
        if isinstance(record, BadRecord):
            if not _is_empty(lines[record.line - 1]):
                raise InvalidInput(str(record))
            empty += 1
            continue
        again += record.id in documents
        documents[record.id] = _remembered(replace(record, format="code") if record.format == "text" and is_code(record) else record)
    if not documents:
        raise InvalidInput(f"{str(path)!r} holds no document: give it a record on each line")
    notes = [f"{_count(empty, 'document')} without any text left out"] if empty else []
    return documents, notes + ([f"{_count(again, 'document')} with the id of an earlier one took its place"] if again else [])


def _remembered(item: Item) -> Item:
    """A document as the memory that its metadata says it is, at its time; any other as it is."""
    kind, at = item.metadata.get("memory_type"), time_in(item.metadata, HAPPENED)
    if kind not in MEMORY_TYPES:
        return item
    return replace(item, kind=str(kind)) if at is None else replace(item, kind=str(kind), created_at=at, updated_at=at)


def time_in(metadata: Mapping[str, Any], names: Sequence[str]) -> datetime | None:
    """The time that one of these fields says, the first that is there."""
    for name in names:
        value = metadata.get(name)
        if isinstance(value, str):
            with suppress(ValueError, OverflowError):
                return period(value)[0]
    return None


def _queries(path: Path) -> Iterator[Query]:
    empty = True
    for number, line in enumerate(lines_of(path), 1):
        for record in read_records([line], scope="default", name=str(path), now=UNDATED):
            if isinstance(record, BadRecord):
                raise InvalidInput(str(replace(record, line=number)))
            if not _has_id(line):
                raise InvalidInput(f"{path}:{number}: the question {record.text!r:.60} has no id: give it the one that {QRELS} has")
            if not record.text.strip():
                raise InvalidInput(f"{path}:{number}: the question {record.id!r} is empty: give it a text")
            empty = False
            yield Query(record.id, record.text, record.metadata)
    if empty:
        raise InvalidInput(f"{str(path)!r} is empty: give it a question on each line")


def _has_id(line: bytes) -> bool:
    """Whether a sound record names its id: one that does not is given a digest, which no judgment can know."""
    record = json.loads(line.decode("utf-8-sig"))
    return any(record.get(name) is not None for name in ("id", "_id"))


def _is_empty(line: bytes) -> bool:
    """Whether a record is refused for having no text at all: some public corpora have such, and nothing is lost with them."""
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except ValueError:
        return False
    texts = [record.get(name) or "" for name in ("text", "title")] if isinstance(record, dict) else [line]
    return all(isinstance(text, str) and not text.strip() for text in texts)


def _judgments_file(folder: Path, split: str | None) -> Path:
    plain, splits = folder / QRELS, folder / "qrels"
    if split is None and plain.is_file():
        return plain
    asked = splits / f"{split or DEFAULT_SPLIT}.tsv"
    if asked.is_file():
        return asked
    there = sorted(path.stem for path in splits.glob("*.tsv"))
    if not there:
        what = QRELS if split is None else f"qrels/{split}.tsv"
        raise InvalidInput(f"the folder {str(folder)!r} has no {what}, which says what answers each question")
    raise InvalidInput(f"the folder {str(folder)!r} has no qrels/{asked.name}: name one of its splits with --split: {', '.join(there)}")


def _strangers(found: Mapping[str, Mapping[str, int]], queries: Collection[str], documents: Collection[str]) -> list[str]:
    """Of judgments that name what is not there."""
    of_queries = sum(len(grades) for query_id, grades in found.items() if query_id not in queries)
    of_documents = sum(document not in documents for query_id, grades in found.items() if query_id in queries for document in grades)
    notes = [f"{_count(of_queries, 'judgment')} of unknown questions left out"] if of_queries else []
    return notes + ([f"{_count(of_documents, 'judgment')} of unknown documents, which count as not found"] if of_documents else [])


def _unknown(name: str, documents: Collection[str]) -> list[str]:
    """Of a file that names documents which are not there."""
    return [f"{name} names {_count(len(documents), 'unknown document')}, such as {min(documents)!r}"] if documents else []


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
