"""A person's own questions, with the files or items that should be found: a CSV, asked of a store they already have."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from ..errors import InvalidInput
from ..filters import MAX_VALUES
from ..ingest.decode import Unreadable, decode
from ..ingest.walk import reference
from ..library import Library
from ..model import digest
from ..stores import folder_of
from .datasets import Dataset, Query
from .judgments import grade_of

SUFFIXES: Final = (".csv", ".tsv")
QUESTION: Final = ("question", "query")
EXPECTED: Final = ("expected", "path", "id", "expected_path")
GRADE: Final = ("grade", "score")
Row: TypeAlias = tuple[int, list[str]]
"""The line a row begins on, and its cells."""
TOLD: Final = 5
"""So many names are told of what is missing; the rest is counted."""


def load_questions(path: str | Path) -> Dataset:
    """The questions of a CSV or TSV file. What they expect is still as it was written: see `resolved`."""
    file = Path(path)
    queries: dict[str, Query] = {}
    qrels: dict[str, dict[str, int]] = {}
    for question, expected, grade in _rows(file):
        query = Query(digest(question)[:8], question)
        queries[query.id] = query
        if expected:
            qrels.setdefault(query.id, {})[expected] = grade
    if not qrels:
        raise InvalidInput(f"{str(file)!r} holds no question with what is expected: write one in each row under the header")
    return Dataset(name=file.stem, documents=(), queries=tuple(queries.values()), qrels=qrels)


async def resolved(library: Library, dataset: Dataset) -> Dataset:
    """The questions with the ids of the items they expect, and a note of what the library does not have.

    Something expected is an item's id, its source_ref, or a path from the present folder; or several, with `;` or `|` between."""
    written = {text for grades in dataset.qrels.values() for text in grades}
    ids = await _ids(library, {part for text in written for part in (text, *_parts(text))})
    qrels: dict[str, dict[str, int]] = {}
    missing: dict[str, None] = {}
    for query_id, grades in dataset.qrels.items():
        for text, grade in grades.items():
            for part in [text] if text in ids else _parts(text):
                # What nobody has is kept under its own name, and so counts as not found.
                qrels.setdefault(query_id, {}).update(dict.fromkeys(ids.get(part, [part]), grade))
                missing |= {} if part in ids else {part: None}
    if not ids:
        raise InvalidInput(f"scope {library.scope!r} has nothing of what the questions expect, such as {min(missing)!r}: check the names")
    notes = (*dataset.notes, *([_not_there(list(missing))] if missing else []))
    return replace(dataset, qrels=qrels, notes=notes)


def _rows(file: Path) -> Iterator[tuple[str, str, int]]:
    """Question, expected and grade of each row that is not blank."""
    header, delimiter, rows = _table(file)
    question, expected, grade = (_column(header, names) for names in (QUESTION, EXPECTED, GRADE))
    for line, row in rows:
        if not any(row):
            continue
        if any(row[len(header) :]):
            raise InvalidInput(
                f"{file}:{line}: {len(row)} cells where the header has {len(header)}: "
                f"put the question in quotes, or what else holds a {delimiter!r}"
            )
        if len(row) < len(header) and any("\n" in cell for cell in row):
            raise InvalidInput(f"{file}:{line}: a cell goes on over several lines, and others are missing: close the quote")
        cells = dict(zip(header, row, strict=False))
        asked, written = cells.get(question, ""), cells.get(grade, "") or "1"
        if not asked:
            raise InvalidInput(f"{file}:{line}: there is no question: write one, or take the row out")
        if (value := grade_of(written)) is None:
            raise InvalidInput(f"{file}:{line}: the grade is {written!r:.40}: give a whole number")
        yield asked, cells.get(expected, ""), value


def _table(file: Path) -> tuple[list[str], str, Iterator[Row]]:
    """The names of the columns, what is between two cells, which is seen by whether the names come out, and the rows under them."""
    text = _text(file)
    first = text.partition("\n")[0].strip()
    for delimiter in ("\t",) if file.suffix.lower() == ".tsv" else (",", ";", "\t"):
        # Not strict: with the wrong delimiter, quotes that are right look wrong.
        _, names = next(_cells(file, first, delimiter, strict=False), (1, []))
        header = [name.lower() for name in names]
        if _column(header, QUESTION) and _column(header, EXPECTED):
            rows = _cells(file, text, delimiter, strict=True)
            next(rows)
            return header, delimiter, rows
    raise InvalidInput(f"the first row of {str(file)!r} is {first!r:.80}: it must name the columns, such as question,expected")


def _cells(file: Path, text: str, delimiter: str, *, strict: bool) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=strict)
    begin = 1
    try:
        for row in reader:
            yield begin, [cell.strip() for cell in row]
            begin = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInput(f"{file}:{begin}: cannot be read as CSV: {error}: close each quote, and write one in a cell twice") from None


def _text(file: Path) -> str:
    try:
        return decode(file.read_bytes())
    except OSError as error:
        raise InvalidInput(f"{str(file)!r} cannot be read: {error.strerror}") from None
    except Unreadable as error:
        raise InvalidInput(f"{str(file)!r} cannot be read: {error.reason}") from None


def _column(header: Sequence[str], names: Sequence[str]) -> str:
    """The first of these names that the header has, or nothing."""
    return next((name for name in names if name in header), "")


def _parts(text: str) -> list[str]:
    return [part.strip() for part in re.split("[;|]", text) if part.strip()]


async def _ids(library: Library, written: set[str]) -> dict[str, list[str]]:
    """The ids of the items that are meant, by what was written; what no item has is not among them."""
    folder = folder_of(library.store.url)
    base = folder.parent if folder else Path.cwd()
    meant = {text: (text, str(PurePosixPath(text)), reference(Path(text), base)) for text in written}
    by_ref: dict[str, list[str]] = {}
    names = sorted({name for each in meant.values() for name in each})
    for begin in range(0, len(names), MAX_VALUES):
        some = names[begin : begin + MAX_VALUES]
        async for item in library.items({"OR": [{"id": {"in": some}}, {"source_ref": {"in": some}}]}):
            for name in {item.id, item.source_ref or item.id}:
                by_ref.setdefault(name, []).append(item.id)
    found = {text: next((by_ref[name] for name in each if name in by_ref), []) for text, each in meant.items()}
    return {text: ids for text, ids in found.items() if ids}


def _not_there(missing: Sequence[str]) -> str:
    named = ", ".join(repr(name) for name in missing[:TOLD])
    more = f" and {len(missing) - TOLD} more" if len(missing) > TOLD else ""
    return f"expected but in no item, and so not found: {named}{more}"
