"""Edges from code and documents: written for what is new, and again for whatever names something that came or went.

What is linked bit by bit is linked as if all of it had been at once.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence, Set
from typing import Final, TypeAlias

from ..cancellation import checkpoint, in_thread
from ..model import Batch, Edge, symbol_key
from ..outline import Outline, unpack
from ..ports import Store
from .files import SOURCE
from .linking_edges import IMPORTS, edges_of
from .linking_names import WORD, Names, is_telling, wanted
from .modules import Files, family_of, folder_of, is_index, name_of, stem_of
from .modules_imports import called, taken

GROUP_ITEMS: Final = 256
"""Items whose edges are worked out and written together."""
KEYS: Final = 400
"""Names looked up at once."""
MOST_SYMBOLS: Final = 20_000
"""Symbols that one look-up gives at most."""
FEW_NAMES: Final = 16
"""So many names are looked for in a packed outline one by one, each as fast as its memory is read; for more, its words are collected."""
MOST_IMPORTERS: Final = 100_000
UNCERTAIN: Final = 1
"""Where a name has no more definitions than this, before or after, one more or less may change what it stands for anywhere."""

WORDS: Final = re.compile(rb"[\w\x80-\xff]+")
UPWARDS: Final = re.compile(r"[./]+|\b(?:super|self|crate)\b(?:::)?")
"""A module that is only named by where it is: `..`, `super`."""

_Search: TypeAlias = Callable[[Sequence[tuple[str, bytes]]], dict[str, Outline]]
"""Finds, among packed outlines, those whose edges may be others by now."""


async def link(store: Store, scope: str, before: Mapping[str, bytes]) -> int:
    """Write the edges of what was not linked yet, and of what is affected by it; of how many items.

    `before` has the outlines of items that were replaced or deleted since they were linked."""
    if not before and await anext(store.outlines(scope, unlinked=True), None) is None:
        return 0
    files = Files({ref: known.id for ref, known in (await store.known(scope, SOURCE, "")).items()})
    linker = _Linker(store, scope, files)
    changes = _Changes(files)
    new: set[str] = set()
    async for group in _groups(store.outlines(scope, unlinked=True)):
        await in_thread(changes.note, group, before)
        new.update(item_id for item_id, _ in group)
    changes.note([(item_id, b"") for item_id in before.keys() - new], before)
    # What is new comes last: until then it counts as not linked, so that a run which was interrupted is made up for by the next.
    count = await _link_affected(store, scope, changes, linker, new) if changes else 0
    async for group in _groups(store.outlines(scope, unlinked=True)):
        await linker.link(await in_thread(_unpacked, group))
    return count + len(new)


async def _link_affected(store: Store, scope: str, changes: _Changes, linker: _Linker, new: Set[str]) -> int:
    """Write the edges of items that are linked and may mean something else by now; of how many."""
    count = 0
    affected: _Search | None = None
    async for group in _groups(store.outlines(scope)):
        if others := [(item_id, packed) for item_id, packed in group if item_id not in new]:
            affected = affected or await _search(store, scope, changes, linker)
            if outlines := await in_thread(affected, others):
                await linker.link(outlines)
                count += len(outlines)
    return count


async def _search(store: Store, scope: str, changes: _Changes, linker: _Linker) -> _Search:
    """What finds the items that the changes affect, by their names and by who imports what has changed, as far as that is linked."""
    await linker.learn(changes.names)
    starts = changes.passing_on()
    walked = await store.walk(scope, starts, hops=1, fan_out=MOST_IMPORTERS, types=[IMPORTS]) if starts else []
    return await in_thread(changes.search, linker.names, {visit.id for visit in walked})


async def _groups(outlines: AsyncIterator[tuple[str, bytes]]) -> AsyncIterator[list[tuple[str, bytes]]]:
    group: list[tuple[str, bytes]] = []
    async for each in outlines:
        group.append(each)
        if len(group) == GROUP_ITEMS:
            yield group
            group = []
    if group:
        yield group


def _unpacked(group: Iterable[tuple[str, bytes]]) -> dict[str, Outline]:
    """Outlines by id. One that another version packed says nothing."""
    return {item_id: unpack(packed) or Outline(language="") for item_id, packed in group}


class _Linker:
    """Works out edges and writes them. A name is looked up once."""

    def __init__(self, store: Store, scope: str, files: Files) -> None:
        self._store, self._scope = store, scope
        self.names = Names(files)
        self._asked: set[str] = set()

    async def link(self, outlines: Mapping[str, Outline]) -> None:
        await self.learn(await in_thread(_all_wanted, list(outlines.values())))
        edges = await in_thread(_all_edges, outlines, self.names)
        await self._store.write(self._scope, Batch(edges=edges, relink=list(outlines)))

    async def learn(self, names: Iterable[str]) -> None:
        """Look up what is not known yet of these names."""
        keys = sorted({key for name in names if (key := symbol_key(name))} - self._asked)
        self._asked.update(keys)
        for begin in range(0, len(keys), KEYS):
            left = keys[begin : begin + KEYS]
            while left:
                found = await self._store.symbols(self._scope, left, limit=MOST_SYMBOLS)
                if len(found) < MOST_SYMBOLS:
                    self.names.learn(found)
                    break
                last = found[-1].key
                if found[0].key == last:  # It has more definitions than anything here could tell apart.
                    self.names.learn(found)
                    left = [key for key in left if key > last]
                else:
                    self.names.learn(symbol for symbol in found if symbol.key != last)
                    left = [key for key in left if key >= last]


def _all_wanted(outlines: Sequence[Outline]) -> set[str]:
    return set().union(*map(wanted, outlines))


def _all_edges(outlines: Mapping[str, Outline], names: Names) -> list[Edge]:
    edges: list[Edge] = []
    for item_id, outline in outlines.items():
        checkpoint()
        edges += edges_of(item_id, outline, names)
    return edges


class _Changes:
    """Names and files that came or went since the rest was linked."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._came: Counter[tuple[str, str]] = Counter()
        self._went: Counter[tuple[str, str]] = Counter()
        """How many definitions of a name there are more or less, by name and family of languages."""
        self._where: dict[str, set[str]] = {}
        """The paths in which a name came or went."""
        self._paths: set[str] = set()
        """Files that are new or gone."""

    def __bool__(self) -> bool:
        return bool(self._where or self._paths)

    @property
    def names(self) -> set[str]:
        return set(self._where)

    def note(self, group: Iterable[tuple[str, bytes]], before: Mapping[str, bytes]) -> None:
        """Compare outlines with those that the items had before."""
        for item_id, packed in group:
            checkpoint()
            path, old, new = self._files.path_of(item_id), unpack(before.get(item_id, b"")), unpack(packed)
            if old is None or item_id not in self._files.paths:
                self._paths.add(path)
            for counter, changed in ((self._came, _defined(new) - _defined(old)), (self._went, _defined(old) - _defined(new))):
                for _, name in changed:
                    counter[name, family_of(path)] += 1
                    self._where.setdefault(name, set()).add(path)

    def passing_on(self) -> list[str]:
        """The files by which others can have got at names that came or went, but for their own folder: those that have the names,
        those that stand for a folder above, and of languages whose packages are folders all in the folder."""
        found: dict[str, None] = {}
        for path in {path for paths in self._where.values() for path in paths}:
            found[path] = None
            found.update((each, None) for folder in self._files.above(path) for each in self._files.under(folder) if is_index(each))
            if family_of(path) in ("go", "java", "c"):
                found.update(dict.fromkeys(self._files.under(folder_of(path))))
        return [self._files.ids[path] for path in found if path in self._files.ids]

    def search(self, names: Names, importers: Set[str]) -> _Search:
        paths = _ChangedPaths(self._files, self._paths)
        anywhere = _Needles({name for name in self._where if self._is_uncertain(name, names)}, paths.words)
        close_by = _Needles(set(self._where))
        folders = {folder_of(path) for where in self._where.values() for path in where}

        def affected(others: Sequence[tuple[str, bytes]]) -> dict[str, Outline]:
            found: dict[str, Outline] = {}
            for item_id, packed in others:
                checkpoint()
                path = self._files.path_of(item_id)
                is_near = item_id in importers or folder_of(path) in folders
                is_likely = path.startswith(paths.inside) or anywhere.stand_in(packed) or (is_near and close_by.stand_in(packed))
                if is_likely and (outline := unpack(packed)) and (paths.concern(path, outline) or self._concern(path, outline, names)):
                    found[item_id] = outline
            return found

        return affected

    def _concern(self, path: str, outline: Outline, names: Names) -> bool:
        """Whether a name that the outline has may stand for something else."""
        used = [name for name in wanted(outline) if name in self._where]
        if outline.language == "markdown" or any(self._is_uncertain(name, names, family_of(path)) for name in used):
            return bool(used)
        reach = taken(self._files, path, outline.language, outline.imports).reach if used else set()
        near = tuple(f"{folder_of(other)}/".lstrip("/") for other in reach if is_index(other))
        where = {other for name in used for other in self._where[name]}
        return any(other in reach or folder_of(other) == folder_of(path) or other.startswith(near) for other in where)

    def _is_uncertain(self, name: str, names: Names, family: str | None = None) -> bool:
        """Whether there was or is so little of a name, in some or in one family of languages, that it is known without an import."""
        keys = [(name, own) for own in {family_of(path) for path in self._where[name]} if family in (None, own)]
        counts = [(len(names.all(*key)), self._came[key], self._went[key]) for key in keys]
        return any(min(after, after - came + went) <= UNCERTAIN for after, came, went in counts)


class _Needles:
    """Names to look for in packed outlines, and words that may be a part of anything there. Finds too much rather than too little."""

    def __init__(self, names: Set[str], words: Set[str] = frozenset()) -> None:
        self._parts = [*map(_packed, names), *(_packed(word)[:-1] for word in words)]
        self._words = {word.encode("utf-8", "surrogatepass") for name in names | words for word in WORD.findall(name)[-1:]}
        self._is_everywhere = any(not WORD.search(name) for name in names | words)

    def stand_in(self, packed: bytes) -> bool:
        if len(self._parts) <= FEW_NAMES:
            return any(part in packed for part in self._parts)
        return self._is_everywhere or not self._words.isdisjoint(WORDS.findall(packed))


class _ChangedPaths:
    """Files that came or went, and who may mean them."""

    def __init__(self, files: Files, paths: Set[str]) -> None:
        self._ends = {name_of(path) for path in paths}
        indexes = [path for path in paths if is_index(path) and family_of(path)]
        self.inside = tuple(f"{folder_of(path)}/".lstrip("/") for path in indexes)
        """Folders that have got or lost the file that stands for them."""
        said = {name for path in paths for name in (called(path), stem_of(path))}
        said |= {name_of(folder_of(path)) for path in paths if family_of(path) in ("go", "java")}
        said |= {called(child) for path in indexes for child in files.under(folder_of(path))}
        self.words = {words[-1] for name in said if (words := WORD.findall(name))} | self._ends

    def concern(self, path: str, outline: Outline) -> bool:
        """Whether an import or a mention may mean a file that came, or meant one that went."""
        if outline.language == "markdown":
            return any(end in use.name for use in outline.uses for end in self._ends)
        texts = [text for each in outline.imports for text in (each.module, *(there for there, _ in each.names))]
        if path.startswith(self.inside) and any(not UPWARDS.sub("", text) for text in texts):
            return True
        return any(word in self.words for text in texts for word in WORD.findall(text))


def _packed(text: str) -> bytes:
    """A text as it ends in a packed outline: with a quote."""
    return json.dumps(text, ensure_ascii=False)[1:].encode("utf-8", "surrogatepass")


def _defined(outline: Outline | None) -> set[tuple[str, str]]:
    """What an outline gives others to name, by qualified name and name."""
    return (
        {(each.qualified, each.name) for each in outline.definitions if each.kind != "section" and is_telling(each.name)}
        if outline
        else set()
    )
