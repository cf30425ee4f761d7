"""Files and folders as items: what is new or changed is read, what is gone is named, what failed is told."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ..model import Item, Known
from . import Problem
from .folders import UNTRACKED
from .readers import Document, Unreadable, read
from .roles import role_of
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
    untracked: int = 0
    """How many of those left out git does not track."""
    roots: list[str] = field(default_factory=list)
    """The references of the paths themselves."""


def refs(paths: Sequence[Path], base: Path) -> list[str]:
    """The references under which what the paths hold is known; an empty one stands for everything."""
    return ["" if (ref := reference(path, base)) == "." else ref for path in paths]


def survey(
    paths: Sequence[Path], known: Mapping[str, Known], *, base: Path, max_bytes: int, untracked: bool = False, never: Path | None = None
) -> Survey:
    """Look at everything under the paths. Of what is known under them, gone is what was
    neither found nor hidden from view nor the cause of a problem. What is in the folder `never`, the store's own, is left out."""
    result = Survey(roots=[reference(path, base) for path in paths])
    store = os.path.join(os.path.abspath(never), "") if never else None
    seen: set[str] = set()
    skipped: list[Skipped] = []
    for path in paths:
        for entry in walk(path, base=base, max_bytes=max_bytes, untracked=untracked):
            if isinstance(entry, Skipped):
                skipped.append(entry)
            elif store and entry.location.startswith(store):
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
    own = f"{reference(never, base)}/" if never else None
    result.untracked = sum(entry.reason == UNTRACKED and not (own and entry.ref.startswith(own)) for entry in skipped)
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
            metadata=_with_role(document, _inside(file.ref, result.roots)),
            created_at=before.created_at if before else changed_at,
            updated_at=changed_at,
            stamp=file.stamp,
        )


def _inside(ref: str, roots: Sequence[str]) -> str:
    """The reference without what is above the path that was named, where that lies outside of the base: it says nothing of the material."""
    if not os.path.isabs(ref):
        return ref
    return min((os.path.relpath(ref, root) for root in roots if ref.startswith(f"{root}/")), key=len, default=os.path.basename(ref))


def _with_role(document: Document, path: str) -> Mapping[str, Any]:
    role = role_of(path, document.text)
    return {**document.metadata, "role": role} if role else document.metadata
