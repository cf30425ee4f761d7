"""The files under a folder that are worth reading, in one fixed order, and by name what is left out and why.

`.recollectignore` files count before `.gitignore` files, and of one kind the nearest to the entry first. Nothing but
ignore files is opened here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from ..errors import InvalidInput
from .ignore import Rules
from .kinds import reader_of, suffix_of

READER_VERSION: Final = 1
"""Part of every stamp: raise it when a reader gives another text for the same file, and re-indexing reads all files again."""

OWN_IGNORE_FILE: Final = ".recollectignore"
GIT_IGNORE_FILE: Final = ".gitignore"
TOOL_FOLDERS: Final = frozenset((
    ".git", ".hg", ".svn", ".bzr", ".jj", ".recollect", "node_modules", "bower_components", "__pycache__", ".venv", "venv", ".tox",
    ".nox", ".eggs", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".ipynb_checkpoints", ".terraform", ".gradle",
    ".idea", ".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo", ".dart_tool",
))  # fmt: skip
# The longest ignore file that is read: larger than any written by hand, small enough not to matter.
MAX_IGNORE_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read. `ref` is its name in the index."""

    path: Path
    ref: str
    size: int
    mtime_ns: int

    @property
    def stamp(self) -> str:
        """What the file looked like: while it stays the same, the file need not be read again."""
        return f"{self.size}:{self.mtime_ns}:{READER_VERSION}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that is left out. A `problem` is to be told by name, the rest is left out by rule."""

    ref: str
    reason: str
    problem: bool
    unseen: bool = False
    """It could not be looked at: what is known of it, or of anything below, must not be taken for deleted."""

    def hides(self, ref: str) -> bool:
        """Whether the file of this reference may still be there, unseen."""
        return self.unseen and (self.ref in (".", ref) or ref.startswith(self.ref.rstrip("/") + "/"))


@dataclass(frozen=True, slots=True)
class _Level:
    """The rules of one ignore file; `cut` is how much of an absolute path is the folder the file is in."""

    cut: int
    rules: Rules


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    ref: str
    own: tuple[_Level, ...] = ()
    git: tuple[_Level, ...] = ()

    def below(self, name: str) -> str:
        return name if self.ref == "." else f"{self.ref.rstrip('/')}/{name}"


_Step: TypeAlias = Found | Skipped | _Folder


def walk(root: Path, *, base: Path, max_bytes: int) -> Iterator[Found | Skipped]:
    """Everything under `root`, a folder or one file, sorted by name folder by folder.

    References are relative to `base` for what lies inside it, else absolute. Links are followed to what lies inside the
    root and no further. A file named as the root itself is found whatever the rules say."""
    try:
        status = os.stat(root)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot index {str(root)!r}: {_reason(error)}; check the path") from None
    path, ref = os.path.abspath(root), reference(root, base)
    if not _is_utf8(ref):
        return iter([_badly_named(ref)])
    if stat.S_ISDIR(status.st_mode):
        return _Walk(os.path.realpath(root), max_bytes).run(_Folder(path, ref), base)
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
    return Found(Path(path), ref, status.st_size, status.st_mtime_ns)


def _reason(error: OSError | ValueError) -> str:
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return text[:1].lower() + text[1:]


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

    def __init__(self, real_root: str, max_bytes: int) -> None:
        self._real_root = real_root
        self._max_bytes = max_bytes
        self._visited: set[tuple[int, int]] = set()
        self._links: list[_Folder] = []

    def run(self, root: _Folder, base: Path) -> Iterator[Found | Skipped]:
        root, troubles = _enclosed(root, base)
        yield from troubles
        yield from self._tree(root)
        while self._links:
            yield from self._tree(self._links.pop(0))

    def _tree(self, top: _Folder) -> Iterator[Found | Skipped]:
        """Depth first, by a stack of its own: a tree may be deeper than Python recurses."""
        open_folders = [self._look(top)]
        while open_folders:
            step = next(open_folders[-1], None)
            if step is None:
                open_folders.pop()
            elif isinstance(step, _Folder):
                open_folders.append(self._look(step))
            else:
                yield step

    def _look(self, folder: _Folder) -> Iterator[_Step]:
        try:
            status = os.stat(folder.path)
            with os.scandir(folder.path) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            yield Skipped(folder.ref, f"cannot read the folder: {_reason(error)}", problem=True, unseen=True)
            return
        if (status.st_dev, status.st_ino) in self._visited:
            yield Skipped(folder.ref, "a link to a folder that is read already", problem=False)
            return
        self._visited.add((status.st_dev, status.st_ino))
        folder, troubles = _with_rules(folder, {entry.name for entry in entries if not entry.is_symlink()})
        yield from troubles
        for entry in entries:
            yield from self._entry(folder, entry)

    def _entry(self, folder: _Folder, entry: os.DirEntry[str]) -> Iterator[_Step]:
        ref = folder.below(entry.name)
        if not _is_utf8(entry.name):
            yield _badly_named(ref)
            return
        try:
            if entry.is_symlink():
                yield from self._link(folder, entry, ref)
            elif reason := _left_out(folder, entry.path, entry.name, is_folder=entry.is_dir()):
                yield Skipped(ref, reason, problem=False)
            elif entry.is_dir():
                yield replace(folder, path=entry.path, ref=ref)
            else:
                yield self._file(entry, ref)
        except OSError as error:
            yield Skipped(ref, f"cannot read it: {_reason(error)}", problem=True, unseen=True)

    def _file(self, entry: os.DirEntry[str], ref: str) -> Found | Skipped:
        if reader_of(entry.name) == "binary":
            return Skipped(ref, f"no reader for {suffix_of(entry.name)} files", problem=False)
        status = entry.stat()
        if not stat.S_ISREG(status.st_mode):
            return Skipped(ref, "neither a file nor a folder", problem=False)
        return _found(entry.path, ref, status, self._max_bytes)

    def _link(self, folder: _Folder, entry: os.DirEntry[str], ref: str) -> Iterator[_Step]:
        target = os.path.realpath(entry.path)
        is_folder = os.path.isdir(target)
        if reason := _left_out(folder, entry.path, entry.name, is_folder=is_folder):
            yield Skipped(ref, reason, problem=False)
        elif not os.path.exists(target):
            yield Skipped(ref, "a link that leads nowhere", problem=True, unseen=True)
        elif not Path(target).is_relative_to(self._real_root):
            yield Skipped(ref, f"a link out of the folder, to {target!r}: index that by name", problem=True)
        elif TOOL_FOLDERS.intersection(Path(target).relative_to(self._real_root).parts):
            yield Skipped(ref, "a link into a tool's folder", problem=False)
        elif is_folder:
            self._links.append(replace(folder, path=entry.path, ref=ref))
        else:
            yield self._file(entry, ref)


def _left_out(folder: _Folder, path: str, name: str, *, is_folder: bool) -> str | None:
    """The rule by which an entry is left out."""
    if name in (OWN_IGNORE_FILE, GIT_IGNORE_FILE):
        return "says what is ignored"
    if is_folder and name in TOOL_FOLDERS:
        return "a tool's folder"
    for levels, file in ((folder.own, OWN_IGNORE_FILE), (folder.git, GIT_IGNORE_FILE)):
        for level in levels:
            verdict = level.rules.verdict(path[level.cut :].replace(os.sep, "/"), name, folder=is_folder)
            if verdict is not None:
                return f"ignored by {file}" if verdict else None
    return None


def _enclosed(root: _Folder, base: Path) -> tuple[_Folder, list[Skipped]]:
    """The root with the rules of the folders around it: from the git repository it is in, or else from `base`, down to it.

    Where they leave out the root itself, or a folder between, they do not count: the user named it."""
    above = [Path(root.path), *Path(root.path).parents]
    start = next((folder for folder in above if os.path.exists(folder / ".git")), Path(os.path.abspath(base)))
    around = above[above.index(start) : 0 : -1] if start in above else []
    outer, troubles = _Folder("", ""), list[Skipped]()
    for folder in around:
        names = {name for name in (OWN_IGNORE_FILE, GIT_IGNORE_FILE, ".git") if os.path.exists(folder / name)}
        outer, trouble = _with_rules(replace(outer, path=str(folder), ref=folder.as_posix()), names)
        troubles += trouble
    named = [*around[1:], Path(root.path)]
    if any(_left_out(outer, str(path), path.name, is_folder=True) for path in named):
        return root, []
    return replace(root, own=outer.own, git=outer.git), troubles


def _with_rules(folder: _Folder, names: set[str]) -> tuple[_Folder, list[Skipped]]:
    """The folder with the rules of its own ignore files before those of the folders above; and the files that cannot be read."""
    own, own_trouble = _levels(folder, [OWN_IGNORE_FILE] if OWN_IGNORE_FILE in names else [])
    git, git_trouble = _levels(folder, [name for name in (GIT_IGNORE_FILE, ".git") if name in names])
    if not own and not git:
        return folder, own_trouble + git_trouble
    return replace(folder, own=own + folder.own, git=git + folder.git), own_trouble + git_trouble


def _levels(folder: _Folder, names: list[str]) -> tuple[tuple[_Level, ...], list[Skipped]]:
    levels, troubles = [], []
    for name in names:
        path = Path(folder.path, name)
        try:
            text = _ignore_text(_git_exclude(path) if name == ".git" else path)
        except OSError as error:
            troubles.append(Skipped(folder.below(name), f"its rules are not followed: {_reason(error)}", problem=True))
            continue
        if text.strip():
            levels.append(_Level(len(folder.path.rstrip(os.sep)) + 1, Rules(text)))
    return tuple(levels), troubles


def _ignore_text(path: Path | None) -> str:
    if path is None or not path.is_file():
        return ""
    with path.open("rb") as file:
        # Names that are not UTF-8 are kept the way the operating system's are, so that they compare.
        return file.read(MAX_IGNORE_BYTES).decode("utf-8", "surrogateescape")


def _git_exclude(git: Path) -> Path | None:
    """The exclude file of a repository; `.git` is a folder, or in a worktree or a submodule a file that names one."""
    if git.is_file():
        line = _ignore_text(git).strip()
        if not line.startswith("gitdir: "):
            return None
        git = git.parent / line.removeprefix("gitdir: ")
        common = _ignore_text(git / "commondir").strip()
        git = git / common if common else git
    return git / "info" / "exclude"
