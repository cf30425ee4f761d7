"""The files under a folder that are worth reading, in one fixed order, and by name what is left out and why. By which rules, `folders`
knows. None of the files is opened here."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from ..errors import InvalidInput
from ..kinds import reader_of, suffix_of
from .folders import TOOL_FOLDERS, Folder, Skipped, enclosed, reason_of, with_rules

__all__ = ["READER_VERSION", "Found", "Skipped", "reference", "walk"]

READER_VERSION: Final = 2
"""Part of every stamp: raise it when a reader gives another text for the same file, and re-indexing reads all files again."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read. `ref` is its name in the index."""

    location: str
    """Its absolute path, as text: of thousands of files that did not change nothing else is needed."""
    ref: str
    size: int
    mtime_ns: int

    @property
    def path(self) -> Path:
        return Path(self.location)

    @property
    def stamp(self) -> str:
        """What the file looked like: while it stays the same, the file need not be read again."""
        return f"{self.size}:{self.mtime_ns}:{READER_VERSION}"


_Step: TypeAlias = Found | Skipped | Folder


def walk(root: Path, *, base: Path, max_bytes: int, untracked: bool = False) -> Iterator[Found | Skipped]:
    """Everything under `root`, a folder or one file, sorted by name folder by folder.

    References are relative to `base` for what lies inside it, else absolute. Links are followed to what lies inside the
    root and no further. A file named as the root itself is found whatever the rules say. In a git repository the files are those that git
    tracks, unless the `untracked` ones are wanted too."""
    try:
        status = os.stat(root)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot index {str(root)!r}: {reason_of(error)}; check the path") from None
    path, ref = os.path.abspath(root), reference(root, base)
    if not _is_utf8(ref):
        return iter([_badly_named(ref)])
    if stat.S_ISDIR(status.st_mode):
        return _Walk(os.path.realpath(root), max_bytes, by_git=not untracked).run(Folder(path, ref), base)
    if stat.S_ISREG(status.st_mode):
        return iter([_found(path, ref, status, max_bytes)])
    raise InvalidInput(f"cannot index {str(root)!r}: it is neither a file nor a folder")


def reference(root: Path, base: Path) -> str:
    for of in (os.path.abspath, os.path.realpath):
        path, start = Path(of(root)), Path(of(base))
        if path.is_relative_to(start):
            return path.relative_to(start).as_posix()
    return Path(os.path.abspath(root)).as_posix()


def _found(path: str, ref: str, status: os.stat_result, max_bytes: int) -> Found | Skipped:
    if status.st_size > max_bytes:
        return Skipped(ref, f"too large: {status.st_size} bytes, the limit is {max_bytes}", problem=True)
    return Found(path, ref, status.st_size, status.st_mtime_ns)


def _is_utf8(name: str) -> bool:
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _badly_named(ref: str) -> Skipped:
    return Skipped(os.fsencode(ref).decode("utf-8", "backslashreplace"), "its name is not valid UTF-8: rename it", problem=True)


class _Walk:
    """One walk: it remembers the folders it has been in, and the links to folders, which wait until every real folder is read."""

    def __init__(self, real_root: str, max_bytes: int, *, by_git: bool) -> None:
        self._real_root = real_root
        self._max_bytes = max_bytes
        self._by_git = by_git
        self._visited: set[tuple[int, int]] = set()
        self._links: list[Folder] = []

    def run(self, root: Folder, base: Path) -> Iterator[Found | Skipped]:
        root, troubles = enclosed(root, base, by_git=self._by_git)
        yield from troubles
        yield from self._tree(root)
        while self._links:
            yield from self._tree(self._links.pop(0))

    def _tree(self, top: Folder) -> Iterator[Found | Skipped]:
        """Depth first, by a stack of its own: a tree may be deeper than Python recurses."""
        open_folders = [self._look(top)]
        while open_folders:
            step = next(open_folders[-1], None)
            if step is None:
                open_folders.pop()
            elif isinstance(step, Folder):
                open_folders.append(self._look(step))
            else:
                yield step

    def _look(self, folder: Folder) -> Iterator[_Step]:
        try:
            status = os.stat(folder.path)
            with os.scandir(folder.path) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            yield Skipped(folder.ref, f"cannot read the folder: {reason_of(error)}", problem=True, unseen=True)
            return
        if (status.st_dev, status.st_ino) in self._visited:
            yield Skipped(folder.ref, "a link to a folder that is read already", problem=False)
            return
        self._visited.add((status.st_dev, status.st_ino))
        folder, troubles = with_rules(folder, {entry.name for entry in entries if not entry.is_symlink()}, by_git=self._by_git)
        yield from troubles
        for entry in entries:
            if (step := self._entry(folder, entry)) is not None:
                yield step

    def _entry(self, folder: Folder, entry: os.DirEntry[str]) -> _Step | None:
        ref = folder.below(entry.name)
        if not _is_utf8(entry.name):
            return _badly_named(ref)
        try:
            if entry.is_symlink():
                return self._link(folder, entry, ref)
            if reason := folder.left_out(entry.path, entry.name, is_folder=entry.is_dir()):
                return Skipped(ref, reason, problem=False)
            return folder.inner(entry.path, entry.name) if entry.is_dir() else self._file(entry, ref)
        except OSError as error:
            return Skipped(ref, f"cannot read it: {reason_of(error)}", problem=True, unseen=True)

    def _file(self, entry: os.DirEntry[str], ref: str) -> Found | Skipped:
        if reader_of(entry.name) == "binary":
            return Skipped(ref, f"no reader for {suffix_of(entry.name)} files", problem=False)
        status = entry.stat()
        if not stat.S_ISREG(status.st_mode):
            return Skipped(ref, "neither a file nor a folder", problem=False)
        return _found(entry.path, ref, status, self._max_bytes)

    def _link(self, folder: Folder, entry: os.DirEntry[str], ref: str) -> _Step | None:
        """What a link leads to; nothing yet where that is a folder."""
        target = os.path.realpath(entry.path)
        is_folder = os.path.isdir(target)
        if reason := folder.left_out(entry.path, entry.name, is_folder=is_folder, is_link=True):
            return Skipped(ref, reason, problem=False)
        if not os.path.exists(target):
            return Skipped(ref, "a link that leads nowhere", problem=True, unseen=True)
        if not Path(target).is_relative_to(self._real_root):
            return Skipped(ref, f"a link out of the folder, to {target!r}: index that by name", problem=True)
        if TOOL_FOLDERS.intersection(Path(target).relative_to(self._real_root).parts):
            return Skipped(ref, "a link into a tool's folder", problem=False)
        if is_folder:
            self._links.append(folder.linked(entry.path, entry.name))
            return None
        return self._file(entry, ref)
