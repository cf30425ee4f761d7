"""Files and folders as items: what is new or changed is read, what is gone is named, what failed is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ..model import Item, Known
from . import Problem
from .readers import Unreadable, read
from .walk import Found, Skipped, reference, walk

SOURCE: Final = "file"


@dataclass(slots=True)
class Survey:
    """What a walk over some paths found, held against what the store knows."""

    changed: list[Found] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    left_out: int = 0


def refs(paths: Sequence[Path], base: Path) -> list[str]:
    """The references under which what the paths hold is known; an empty one stands for everything."""
    return ["" if (ref := reference(path, base)) == "." else ref for path in paths]


def survey(paths: Sequence[Path], known: Mapping[str, Known], *, base: Path, max_bytes: int, never: Path | None = None) -> Survey:
    """Look at everything under the paths. Of what is known under them, gone is what was
    neither found nor hidden from view nor the cause of a problem. What is in the folder `never`, the store's own, is left out."""
    result = Survey()
    seen: set[str] = set()
    skipped: list[Skipped] = []
    for path in paths:
        for entry in walk(path, base=base, max_bytes=max_bytes):
            if isinstance(entry, Skipped):
                skipped.append(entry)
            elif never and entry.path.is_relative_to(never):
                result.left_out += 1
            elif entry.ref not in seen:
                seen.add(entry.ref)
                before = known.get(entry.ref)
                if before is not None and before.stamp == entry.stamp:
                    result.unchanged.append(entry.ref)
                else:
                    result.changed.append(entry)
    result.problems = [Problem(entry.ref, entry.reason) for entry in skipped if entry.problem]
    result.left_out += sum(not entry.problem for entry in skipped)
    seen |= {entry.ref for entry in skipped if entry.problem}
    hidden = [entry for entry in skipped if entry.unseen]
    result.gone = [ref for ref in known if ref not in seen and not any(entry.hides(ref) for entry in hidden)]
    return result


def items(result: Survey, known: Mapping[str, Known], *, scope: str) -> Iterator[Item]:
    """The items of files. One that cannot be read is told of in the survey, and what the store has of it stays."""
    for file in result.changed:
        try:
            document = read(file.path)
        except Unreadable as error:
            if error.problem:
                result.problems.append(Problem(file.ref, str(error)))
            else:
                result.left_out += 1
            continue
        changed_at = datetime.fromtimestamp(file.mtime_ns / 1e9, UTC)
        before = known.get(file.ref)
        yield Item(
            scope=scope,
            id=before.id if before else file.ref,
            text=document.text,
            kind=document.kind,
            format=document.format,
            source=SOURCE,
            source_ref=file.ref,
            title=document.title,
            metadata=document.metadata,
            created_at=before.created_at if before else changed_at,
            updated_at=changed_at,
            stamp=file.stamp,
        )
