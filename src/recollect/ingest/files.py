"""Files and folders as items: what is new or changed is read, what is gone is named, what failed is told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ..model import Item, Known
from . import Problem
from .describing import described
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
    instead: dict[str, str] = field(default_factory=dict)
    """The ids that items had before, by those they have now."""


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


def put_back(result: Survey, known: Mapping[str, Known], base: Path) -> None:
    """Read also those files again that go by the path of one which comes now: they go back to their own. `known` are all files that
    the store knows."""
    changed, gone = {file.ref for file in result.changed}, set(result.gone)
    owners = {each.id: ref for ref, each in known.items() if each.id != ref and ref not in gone}
    for owner in [owners[ref] for ref in changed if ref in owners and owners[ref] not in changed]:
        location = os.path.abspath(base / owner)
        with suppress(OSError):
            status = os.stat(location)
            result.changed.append(Found(location, owner, status.st_size, status.st_mtime_ns))
            result.unchanged = [ref for ref in result.unchanged if ref != owner]


def items(
    result: Survey,
    known: Mapping[str, Known],
    *,
    scope: str,
    others: Mapping[str, Known] | None = None,
    is_there: Callable[[str], bool] = lambda _: False,
) -> Iterator[Item]:
    """The items of files. One that cannot be read is told of in the survey, and what the store has of it stays. `others` are all files
    that the store knows, also those that are not under the paths; `is_there` tells whether it has an item of an id at all."""
    known = {**(others or {}), **known}
    claims = _Claims(result, known, is_there)
    for file in result.changed:
        try:
            document = read(file.path)
        except Unreadable as error:
            if error.problem:
                result.problems.append(Problem(file.ref, str(error)))
            else:
                result.left_out += 1
            continue
        front, before = document.front, known.get(file.ref)
        result.problems += [Problem(file.ref, reason) for reason in front.problems]
        item_id = claims.claim(file.ref, front.id)
        if before and before.id != item_id and not claims.is_taken(before.id):
            result.instead[item_id] = before.id
        changed_at = datetime.fromtimestamp(file.mtime_ns / 1e9, UTC)
        created_at = front.created_at or front.updated_at or (before.created_at if before else changed_at)
        item = Item(
            scope=scope,
            id=item_id,
            text=document.text,
            kind=front.kind or document.kind,
            format=document.format,
            source=SOURCE,
            source_ref=file.ref,
            title=document.title,
            metadata=_with_role(document, _inside(file.ref, result.roots)),
            status=front.status or "draft",
            version=front.version,
            created_at=created_at,
            updated_at=front.updated_at or front.created_at or changed_at,
            entities=front.entities,
            # What is not called as it wants to be is read again each time, until it is.
            stamp=None if front.id and front.id != item_id else file.stamp,
        )
        yield described(item, front)


class _Claims:
    """Who has which id. A file goes by the id that its front matter claims; of two that claim one, by path the first does."""

    def __init__(self, result: Survey, known: Mapping[str, Known], is_there: Callable[[str], bool]) -> None:
        changed = {file.ref for file in result.changed}
        gone = set(result.gone)
        self._refs = (changed | known.keys()) - gone
        self._result = result
        self._is_there, self._ids = is_there, {each.id for each in known.values()}
        self._owners = {each.id: ref for ref, each in known.items() if ref not in changed and ref not in gone}

    def claim(self, ref: str, wanted: str | None) -> str:
        """The id of a file: the one it wants, or else its path."""
        owner = self._owners.get(wanted) if wanted else None
        if wanted and owner is None and wanted in self._refs:
            owner = wanted
        if wanted and owner is None and wanted not in self._ids and self._is_there(wanted):
            owner = "an item that is no file"
        if wanted and owner not in (None, ref):
            self._result.problems.append(
                Problem(ref, f"its front matter has the id {wanted!r}, which is that of {owner}: it goes by its path")
            )
            wanted = None
        item_id = wanted or ref
        self._owners[item_id] = ref
        return item_id

    def is_taken(self, item_id: str) -> bool:
        return item_id in self._owners


def _inside(ref: str, roots: Sequence[str]) -> str:
    """The reference without what is above the path that was named, where that lies outside of the base: it says nothing of the material."""
    if not os.path.isabs(ref):
        return ref
    return min((os.path.relpath(ref, root) for root in roots if ref.startswith(f"{root}/")), key=len, default=os.path.basename(ref))


def _with_role(document: Document, path: str) -> Mapping[str, Any]:
    role = role_of(path, document.text)
    return {**document.metadata, "role": role} if role else document.metadata
