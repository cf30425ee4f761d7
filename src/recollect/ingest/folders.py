"""A folder of a walk with the rules that hold in it: what it leaves out, and why.

`.recollectignore` files count before `.gitignore` files, and of one kind the nearest to the entry first. In a git repository a file is
taken if git tracks it, or if a `.recollectignore` takes it back by a rule with `!`. Nothing but ignore files is opened here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..kinds import reader_of
from .git import Tracked, tracked_in
from .ignore import Rules

OWN_IGNORE_FILE: Final = ".recollectignore"
GIT_IGNORE_FILE: Final = ".gitignore"
REPOSITORY: Final = ".git"
UNTRACKED: Final = "not tracked by git"
TOOL_FOLDERS: Final = frozenset((
    ".git", ".hg", ".svn", ".bzr", ".jj", ".recollect", "node_modules", "bower_components", "__pycache__", ".venv", "venv", ".tox",
    ".nox", ".eggs", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".ipynb_checkpoints", ".terraform", ".gradle",
    ".idea", ".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo", ".dart_tool",
))  # fmt: skip
# The longest ignore file that is read: larger than any written by hand, small enough not to matter.
MAX_IGNORE_BYTES: Final = 1_000_000


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
class Level:
    """The rules of one ignore file; `cut` is how much of an absolute path is the folder the file is in."""

    cut: int
    rules: Rules


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder and the rules of its ignore files and of those above."""

    path: str
    ref: str
    own: tuple[Level, ...] = ()
    git: tuple[Level, ...] = ()
    tracked: Tracked | None = None
    """What git tracks of it; None where that does not count."""
    is_ignored: bool = False
    """Whether git's rules leave it out, so that in it only what git tracks in spite of them is taken."""

    def below(self, name: str) -> str:
        return name if self.ref == "." else f"{self.ref.rstrip('/')}/{name}"

    def inner(self, path: str, name: str) -> Folder:
        """A folder in this one, which is not left out."""
        into = replace(self, path=path, ref=self.below(name))
        if self.tracked is None:
            return into
        if _verdict(self.own, path, name, is_folder=True) is False:
            return replace(into, tracked=None, is_ignored=False)
        return replace(into, is_ignored=self.is_ignored or bool(_verdict(self.git, path, name, is_folder=True)))

    def linked(self, path: str, name: str) -> Folder:
        """A folder that a link in this one leads to. Git tracks the link, and nothing behind it."""
        return replace(self, path=path, ref=self.below(name), tracked=None)

    def left_out(self, path: str, name: str, *, is_folder: bool, is_link: bool = False) -> str | None:
        """The rule by which an entry is left out. A folder that git does not track may hold a repository of its own."""
        if name in (OWN_IGNORE_FILE, GIT_IGNORE_FILE):
            return "says what is ignored"
        if is_folder and name in TOOL_FOLDERS:
            return "a tool's folder"
        own = _verdict(self.own, path, name, is_folder=is_folder)
        if own is not None:
            return f"ignored by {OWN_IGNORE_FILE}" if own else None
        if self.tracked is not None and path in self.tracked:
            return None
        if self.is_ignored or _verdict(self.git, path, name, is_folder=is_folder):
            return f"ignored by {GIT_IGNORE_FILE}"
        is_file = is_link or not (is_folder or reader_of(name) == "binary")
        return UNTRACKED if self.tracked is not None and is_file else None


def _verdict(levels: tuple[Level, ...], path: str, name: str, *, is_folder: bool) -> bool | None:
    """Whether an entry is left out; None where no rule says anything of it."""
    for level in levels:
        verdict = level.rules.verdict(path[level.cut :].replace(os.sep, "/"), name, folder=is_folder)
        if verdict is not None:
            return verdict
    return None


def enclosed(root: Folder, base: Path, *, by_git: bool) -> tuple[Folder, list[Skipped]]:
    """The root with the rules of the folders around it: from the git repository it is in, or else from `base`, down to it.

    Where they leave out the root itself, or a folder between, they do not count: the user named it."""
    above = [Path(root.path), *Path(root.path).parents]
    repository = next((folder for folder in above if os.path.exists(folder / REPOSITORY)), None)
    start = repository or Path(os.path.abspath(base))
    around = above[above.index(start) : 0 : -1] if start in above else []
    outer, troubles = Folder("", ""), list[Skipped]()
    for folder in around:
        names = {name for name in (OWN_IGNORE_FILE, GIT_IGNORE_FILE, REPOSITORY) if os.path.exists(folder / name)}
        outer, trouble = with_rules(replace(outer, path=str(folder), ref=folder.as_posix()), names, by_git=False)
        troubles += trouble
    named = [*around[1:], Path(root.path)]
    if any(outer.left_out(str(path), path.name, is_folder=True) for path in named):
        return root, []
    # A repository that begins with the root is asked when it is looked into.
    tracked = tracked_in(root.path) if by_git and repository and around else None
    return replace(root, own=outer.own, git=outer.git, tracked=tracked), troubles


def with_rules(folder: Folder, names: set[str], *, by_git: bool) -> tuple[Folder, list[Skipped]]:
    """The folder with the rules of its own ignore files before those of the folders above; and the files that cannot be read.

    Where a repository begins it is asked what it tracks, if git counts."""
    own, own_trouble = _levels(folder, [OWN_IGNORE_FILE] if OWN_IGNORE_FILE in names else [])
    git, git_trouble = _levels(folder, [name for name in (GIT_IGNORE_FILE, REPOSITORY) if name in names])
    if by_git and REPOSITORY in names:
        folder = replace(folder, tracked=tracked_in(folder.path), is_ignored=False)
    if own or git:
        folder = replace(folder, own=own + folder.own, git=git + folder.git)
    return folder, own_trouble + git_trouble


def _levels(folder: Folder, names: list[str]) -> tuple[tuple[Level, ...], list[Skipped]]:
    levels, troubles = [], []
    for name in names:
        path = Path(folder.path, name)
        try:
            text = _ignore_text(_git_exclude(path) if name == REPOSITORY else path)
        except OSError as error:
            troubles.append(Skipped(folder.below(name), f"its rules are not followed: {reason_of(error)}", problem=True))
            continue
        if text.strip():
            levels.append(Level(len(folder.path.rstrip(os.sep)) + 1, Rules(text)))
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


def reason_of(error: OSError | ValueError) -> str:
    """What the operating system says is wrong, as the end of a sentence."""
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return text[:1].lower() + text[1:]
