"""The files of a scope by their paths, as imports look for them: beside the importer, by the end of a path, in a folder."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from ..kinds import language_of

FAMILIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("javascript", "typescript", "tsx", "vue", "svelte", "astro", "coffeescript"), "javascript"),
    **dict.fromkeys(("c", "cpp", "cuda", "objective-c"), "c"),
    **dict.fromkeys(("java", "kotlin", "scala", "groovy"), "java"),
}
"""Languages whose files use each other's names. Any other is alone."""

INDEXES: Final = frozenset(("__init__", "index", "mod", "lib"))
"""Stems of files that stand for their folder and often only pass on what others in it define."""


def family(language: str) -> str:
    """The languages that it shares names with, by the name of one of them."""
    return FAMILIES.get(language, language)


@lru_cache(maxsize=65_536)
def family_of(path: str) -> str:
    """The same by a file's name; empty where it is no program."""
    return family(language_of(name_of(path)) or "")


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def name_of(path: str) -> str:
    return path.rpartition("/")[2]


def stem_of(path: str) -> str:
    """The name up to its first dot."""
    name = name_of(path)
    return name.split(".", 1)[0] or name


def is_index(path: str) -> bool:
    return stem_of(path) in INDEXES


def joined(folder: str, path: str) -> str | None:
    """A path as it is seen from a folder; None where it leads out of the scope."""
    made = posixpath.normpath(posixpath.join(folder, path))
    return None if made == ".." or made.startswith("../") else "" if made == "." else made


class Files:
    """All files of a scope. Paths have slashes and stand for one item each."""

    def __init__(self, ids: Mapping[str, str]) -> None:
        self.ids = ids
        self.paths = {item_id: path for path, item_id in ids.items()}
        self._by_name: dict[str, list[str]] = {}
        self._in_folder: dict[str, list[str]] = {}
        for path in sorted(ids):
            for end in {name_of(path), _end(path)}:
                self._by_name.setdefault(end, []).append(path)
            self._in_folder.setdefault(folder_of(path), []).append(path)
        self._folders: dict[str, list[str]] = {}
        for folder in self._in_folder:
            self._folders.setdefault(name_of(folder), []).append(folder)
        self.python: dict[tuple[str, str], str | None] = {}
        """Modules of Python that were looked for already, by the folder that was searched from."""

    def path_of(self, item_id: str) -> str:
        """Where the item is; what is no file is beside everything under its own id."""
        return self.paths.get(item_id, item_id)

    def first(self, *paths: str | None) -> str | None:
        """The first of the paths that is a file."""
        return next((path for path in paths if path is not None and path in self.ids), None)

    def under(self, folder: str | None) -> Sequence[str]:
        """The files directly in a folder, by name."""
        return self._in_folder.get(folder, ()) if folder is not None else ()

    def ending(self, *tails: str) -> list[str]:
        """The files whose path is one of these or ends with one."""
        return [path for tail in tails for path in self._by_name.get(_end(tail), ()) if _ends(path, tail)]

    def nearest(self, near: str, *tails: str) -> str | None:
        """Of the files that end with one of these the one nearest to another."""
        return nearest(near, self.ending(*tails))

    def folder(self, near: str, tail: str, suffixes: tuple[str, ...]) -> str | None:
        """The nearest folder that ends so and has files with such a suffix."""
        ending = (folder for folder in self._folders.get(name_of(tail), ()) if _ends(folder, tail))
        return nearest(near, [folder for folder in ending if self.of_kind(folder, suffixes)])

    def folders_named(self, name: str) -> Sequence[str]:
        return self._folders.get(name, ())

    def of_kind(self, folder: str, suffixes: tuple[str, ...]) -> list[str]:
        """The files in a folder with one of these suffixes."""
        return [path for path in self.under(folder) if path.endswith(suffixes)]

    def above(self, path: str) -> Iterator[str]:
        """The folder of a file and every one above it, to the root, which is empty."""
        folder = folder_of(path)
        while True:
            yield folder
            if not folder:
                return
            folder = folder_of(folder)


def _end(path: str) -> str:
    """What a path is looked up by: its name, with the folder before it where so many files have that name."""
    return "/".join(path.split("/")[-2:]) if is_index(path) else name_of(path)


def _ends(path: str, tail: str) -> bool:
    return path == tail or path.endswith("/" + tail)


def nearest(near: str, paths: Iterable[str]) -> str | None:
    """The path that shares most of its beginning with another; of equals the shortest."""
    parts = near.split("/")

    def distance(path: str) -> tuple[int, int, str]:
        own = path.split("/")
        shared = next((at for at, (a, b) in enumerate(zip(own, parts, strict=False)) if a != b), min(len(own), len(parts)))
        return -shared, len(own), path

    return min(paths, key=distance, default=None)
