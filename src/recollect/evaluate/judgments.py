"""The files that say what answers a question: judgments, spans of evidence, haystacks. A line that is wrong is an error."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import InvalidInput

Span: TypeAlias = tuple[str, int, int]
"""A document and the characters of it, from and up to."""


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file."""
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise InvalidInput(f"{str(path)!r} cannot be read: {error.strerror}") from None


def read_judgments(path: Path) -> tuple[dict[str, dict[str, int]], int]:
    """The grades by question and document, and how many took the place of another grade.

    There are three columns (query, document, grade) or TREC's four; a header line may be there."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    regraded = 0
    header_allowed = True
    for number, line in enumerate(lines_of(path), 1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{path}:{number}:{error.start + 1}: not UTF-8: byte {line[error.start]:#04x}") from None
        if not text.strip():
            continue
        columns = [column.strip() for column in (text.split("\t") if "\t" in text else text.split())]
        if len(columns) not in (3, 4) or not columns[0] or not columns[-2]:
            raise InvalidInput(f"{path}:{number}: a judgment is a query, a document and a grade, with tabs between, not {text[:80]!r}")
        if (grade := grade_of(columns[-1])) is not None:
            regraded += found[columns[0]].get(columns[-2], grade) != grade
            found[columns[0]][columns[-2]] = grade
        elif not header_allowed or _is_number(columns[-1]):
            raise InvalidInput(f"{path}:{number}: the grade is {columns[-1]!r:.40}: give a whole number")
        header_allowed = False
    if not found:
        raise InvalidInput(f"{str(path)!r} is empty, or a header alone: write a query, a document and a grade on each line")
    return dict(found), regraded


def grade_of(text: str) -> int | None:
    """A grade such as 1 or 2.0; None for what is no whole number."""
    return int(float(text)) if re.fullmatch(r"[-+]?[0-9]{1,9}(\.0+)?", text) else None


def _is_number(text: str) -> bool:
    """Whether a column holds a number, though not one that can be a grade: no header does."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_evidence(path: Path, queries: Collection[str], lengths: Mapping[str, int]) -> tuple[dict[str, tuple[Span, ...]], set[str]]:
    """The spans that answer each question, of documents whose lengths are known, and the other documents that are named.

    Nothing where there is no file."""
    found: dict[str, list[Span]] = defaultdict(list)
    unknown: set[str] = set()
    for number, row in _objects(path):
        match row:
            case {"query_id": str() | int() as query, "doc_id": str() | int() as document, "start": int(start), "end": int(end)}:
                if str(query) not in queries:
                    continue
                if (length := lengths.get(str(document))) is None:
                    unknown.add(str(document))
                    continue
                if not 0 <= start < end <= length:
                    raise InvalidInput(f"{path}:{number}: the span {start} to {end} is not in {document!r}, which has {length} characters")
                found[str(query)].append((str(document), start, end))
            case _:
                raise InvalidInput(f"{path}:{number}: evidence is a 'query_id', a 'doc_id', a 'start' and an 'end', not {row!r:.80}")
    return {query_id: tuple(spans) for query_id, spans in found.items()}, unknown


def read_haystacks(path: Path, queries: Collection[str]) -> dict[str, tuple[str, ...]] | None:
    """The documents each question may be searched in; None where there is no file."""
    if not path.is_file():
        return None
    found: dict[str, tuple[str, ...]] = {}
    for number, row in _objects(path):
        match row:
            case {"query_id": str() | int() as query, "doc_ids": [_, *_] as documents}:
                if str(query) in queries:
                    found[str(query)] = tuple(map(str, documents))
            case _:
                raise InvalidInput(f"{path}:{number}: a haystack is a 'query_id' and a list of 'doc_ids', not {row!r:.80}")
    return found


def _objects(path: Path) -> Iterator[tuple[int, Any]]:
    """What each line of a file holds, if there is one."""
    for number, line in enumerate(lines_of(path) if path.is_file() else (), 1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip()
            if text:
                yield number, json.loads(text)
        except json.JSONDecodeError as error:
            raise InvalidInput(f"{path}:{number}:{error.colno}: not JSON: {error.msg}") from None
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"{path}:{number}:1: not JSON: {error}") from None
