"""What git knows of a folder: which files it tracks there, and where a repository keeps the ignore rules that are nobody else's."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from unicodedata import normalize

from ..settings import environment_of_git

TIMEOUT_S: Final = 60.0
"""For one list. Git lists 5,000 files in 10 ms; a disk that sleeps, or is far away, may need longer to give it the index."""
# Nothing that a repository's own settings name is run.
GIT: Final = ("git", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")


@dataclass(frozen=True, slots=True)
class Tracked:
    """The files that git tracks in a folder, and the folders they are in."""

    folder: str
    """Absolute, without a separator at its end."""
    paths: frozenset[str]
    """Relative to the folder, with slashes. A submodule is one of them; what is in it is its own repository's."""

    def __contains__(self, path: object) -> bool:
        """Whether the file of an absolute path is tracked, or anything in the folder of that path."""
        if not isinstance(path, str):
            return False
        below = path[len(self.folder) + 1 :].replace(os.sep, "/")
        # On macOS git composes the letters that the file system may have taken apart.
        return below in self.paths or (not below.isascii() and normalize("NFC", below) in self.paths)


def tracked(folder: Path) -> list[str] | None:
    """The files that git tracks in a folder, relative to it, also those that were deleted since.

    None where git cannot tell: it is not installed, this is no repository, or it is one that git does not trust (of another owner)."""
    try:
        found = subprocess.run(
            [*GIT, "-C", str(folder), "ls-files", "-z"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment_of_git(),
            timeout=TIMEOUT_S,
            check=True,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return [os.fsdecode(path) for path in found.stdout.split(b"\0") if path]


def tracked_in(folder: str) -> Tracked | None:
    """The same, to look paths up in. None also where git tracks nothing: then there is nothing to go by."""
    files = tracked(Path(folder))
    if not files:
        return None
    paths = set(files)
    for path in files:
        while (path := path.rpartition("/")[0]) and path not in paths:
            paths.add(path)
    return Tracked(folder.rstrip(os.sep), frozenset(paths))
