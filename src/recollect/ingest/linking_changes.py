"""Names and files that came or went, and whose edges may be others by that. Finds too much rather than too little. Pure."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Final, TypeAlias
from urllib.parse import unquote

from ..cancellation import checkpoint
from ..model import SUPERSEDES, symbol_key
from ..outline import Outline, links_of, packed_links, unpack
from .linking_depends import Depends, is_frugal, knows_folder
from .linking_documents import PAGES, Parts, target_of
from .linking_edges import COMMON
from .linking_names import WORD, Names, is_telling, last_of, wanted
from .modules import Files, family, family_of, folder_of, is_index, name_of, stem_of
from .modules_imports import called, taken

FEW_NAMES: Final = 16
"""So many names are looked for in a packed outline one by one, each as fast as its memory is read; for more, its words are collected."""
UNCERTAIN: Final = 1
"""Where a name has no more definitions than this, before or after, one more or less may change what it stands for anywhere."""

WORD_BYTES: Final = bytes(code if code >= 0x80 or WORD.match(chr(code)) else 0x20 for code in range(256))
"""Puts a space for whatever is no part of a word."""
FRONT_STEMS: Final = frozenset(("README", "index"))
"""Stems of pages that stand for their folder."""
MOST_NEEDLES: Final = 50
"""With more ids, titles and ends of paths than this, links are read rather than searched. Of an outline with three, reading takes 23 us,
looking for one id 3, for one title 12, and for each more .4."""
A_FOLDER: Final = re.compile(rb'[./]\s*["#?:]')
"""How a link ends that names a folder only by where it is: `..`, `./`."""
NEWLINE: Final = "\n"
AROUND: Final = re.compile(r"[\s/#?:]")
"""What may stand before or after an id, or the end of a path, in a link."""
NO_KEY: Final = re.compile(r"[^\w\n]+|_+")
"""What is left out of the key of a name."""
ZEROS: Final = re.compile(r"(?<!\d)0+(?=\d)")
"""What is left out of an id: `ADR-0007` is ADR-7."""
OTHER_DIGIT: Final = re.compile(r"[^\D0-9]")
UPWARDS: Final = re.compile(r"[./]+|\b(?:super|self|crate)\b(?:::)?")
"""A module that is only named by where it is: `..`, `super`."""

Search: TypeAlias = Callable[[Sequence[tuple[str, bytes]]], dict[str, Outline]]
"""Finds, among packed outlines, those whose edges may be others by now."""


class Changes:
    """Names and files that came or went since the rest was linked."""

    def __init__(self, files: Files, came: Iterable[str], gone: Mapping[str, str], owners: Mapping[str, str] | None = None) -> None:
        self._files, self._gone = files, gone
        self._came: Counter[tuple[str, str]] = Counter()
        self._went: Counter[tuple[str, str]] = Counter()
        """How many definitions of a name there are more or less, by name and family of languages."""
        self._where: dict[str, set[str]] = {}
        """The paths in which a name came or went."""
        self._owners: dict[str, set[str]] = {}
        """The last names of what a name came or went in; empty for a file."""
        came = tuple(came)
        self._paths = {path for path in (*gone.values(), *(files.paths.get(item_id, "") for item_id in came)) if path}
        if owners is not None:
            self._paths |= {path for path in owners.keys() | files.ids.keys() if owners.get(path) != files.ids.get(path)}
        """Files that are new or gone, or have another id."""
        self._ids = {*came, *gone}
        """Items that are new or gone."""
        self._titles: set[str] = set()
        """The keys of sections, and of further names of items, that came or went."""

    def __bool__(self) -> bool:
        return bool(self._where or self._paths or self._ids or self._titles)

    @property
    def open_names(self) -> set[str]:
        """The names of which there may have been or be so few definitions that it matters how many."""
        return {name for name in self._where if any(map(self._is_open, self._keys(name)))}

    def note(self, group: Iterable[tuple[str, bytes]], before: Mapping[str, bytes]) -> None:
        """Compare outlines with those that the items had before."""
        for item_id, packed in group:
            checkpoint()
            path = self._gone.get(item_id) or self._files.path_of(item_id)
            old, new = unpack(before.get(item_id, b"")), unpack(packed)
            if old is None or item_id not in self._files.paths:
                self._paths.add(path)
            self._titles |= {symbol_key(name) for name, _ in _titled(new) ^ _titled(old)}
            if old and any(link.type == SUPERSEDES for link in old.links):
                # Two items may say the same, and what one of them does not say any more has to be said by the other.
                self._ids.add(item_id)
                self._paths.add(path)
                self._titles |= {symbol_key(alias.name) for alias in old.aliases}
            for counter, changed in ((self._came, _defined(new) - _defined(old)), (self._went, _defined(old) - _defined(new))):
                for qualified, name, _ in changed:
                    counter[name, family_of(path)] += 1
                    self._where.setdefault(name, set()).add(path)
                    self._owners.setdefault(name, set()).add(last_of(qualified[: -len(name) - 1]))

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

    def search(self, names: Names, importers: Set[str]) -> Search:
        paths = _ChangedPaths(self._files, self._paths)
        uncertain = {name for name in self._where if self._is_uncertain(name, names)}
        anywhere = _Needles(uncertain, paths.words)
        common = uncertain & COMMON
        owners = {owner for name in common for owner in self._owners[name] if owner}
        imported = _ImportNeedles(uncertain - common | owners, common, paths.words)
        close_by = _Needles(set(self._where))
        in_links = _LinkNeedles(self._ids | paths.in_links, self._titles, has_pages=paths.has_pages)
        folders = {folder_of(path) for where in self._where.values() for path in where}

        def affected(others: Sequence[tuple[str, bytes]]) -> dict[str, Outline]:
            found: dict[str, Outline] = {}
            for item_id, packed in others:
                checkpoint()
                path = self._files.path_of(item_id)
                language = packed[: packed.find(b'",')].rpartition(b'"')[2].decode()
                is_far = (imported if is_frugal(language) else anywhere).stand_in(packed)
                is_near = item_id in importers or (folder_of(path) in folders and knows_folder(language))
                is_likely = path.startswith(paths.inside) or is_far or (is_near and close_by.stand_in(packed))
                is_linked = in_links.stand_in(packed) and self._links_concern(packed, paths)
                outline = unpack(packed) if is_linked or is_likely else None
                if outline and (is_linked or paths.concern(path, outline) or self._concern(path, outline, names)):
                    found[item_id] = outline
            return found

        return affected

    def _links_concern(self, packed: bytes, paths: _ChangedPaths) -> bool:
        """Whether a link of a packed outline may lead to something else."""
        for link in links_of(packed):
            if link.form != "entity" and (
                paths.meant_by(target_of(link.target))
                or not self._titles.isdisjoint(map(symbol_key, (parts := Parts(link)).names))
                or not self._ids.isdisjoint(parts.ids)
            ):
                return True
        return False

    def _concern(self, path: str, outline: Outline, names: Names) -> bool:
        """Whether a name that the outline has may stand for something else."""
        if outline.language == "markdown":
            return not self._where.keys().isdisjoint(wanted(outline))
        imported = taken(self._files, path, outline.language, outline.imports)
        depends = Depends(outline, imported)
        own = family(outline.language)
        if any(self._is_uncertain(name, names, own) for name in depends.far_names() & self._where.keys()):
            return True
        reach = imported.reach
        near = tuple(f"{folder_of(other)}/".lstrip("/") for other in reach if is_index(other))
        folder = folder_of(path) if knows_folder(outline.language) else None
        where = {other for name in depends.names() & self._where.keys() for other in self._where[name]}
        return any(other in reach or folder_of(other) == folder or other.startswith(near) for other in where)

    def _keys(self, name: str, own: str | None = None) -> list[tuple[str, str]]:
        """A name with each family of languages in which it came or went, or with one."""
        return [(name, each) for each in {family_of(path) for path in self._where[name]} if own in (None, each)]

    def _is_open(self, key: tuple[str, str]) -> bool:
        """Whether a name may have been or be uncertain. What moved from many files to many others was and is not."""
        return min(self._came[key], self._went[key]) <= UNCERTAIN

    def _is_uncertain(self, name: str, names: Names, own: str | None = None) -> bool:
        """Whether there was or is so little of a name, in some or in one family of languages, that it is known without an import."""
        counts = [(len(names.all(*key)), self._came[key], self._went[key]) for key in self._keys(name, own) if self._is_open(key)]
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
        return self._is_everywhere or not self._words.isdisjoint(packed.translate(WORD_BYTES).split())


class _ImportNeedles:
    """The same for outlines of languages that know only what they import. There a name stands for something far away only where it is
    imported or taken of something, not where it is what something is taken of; and a common name only where it, or what it is in, is
    imported."""

    def __init__(self, names: Set[str], common: Set[str], words: Set[str]) -> None:
        self._parts = [_packed(name) + b',"' for name in names]
        self._common = [b'"' + _packed(name) + b"," + b'"' + _packed(name) for name in common]
        self._words = _Needles(frozenset(), words)
        self._strings = {_packed(name)[:-1] for name in names}

    def stand_in(self, packed: bytes) -> bool:
        if self._words.stand_in(packed) or any(part in packed for part in self._common):
            return True
        if len(self._parts) <= FEW_NAMES:
            # What follows a name that is used by itself is an empty text.
            return any(part in packed and packed.count(part) > packed.count(part + b'"') for part in self._parts)
        return not self._strings.isdisjoint(packed.split(b'"'))


class _LinkNeedles:
    """Ids, ends of paths and keys of titles to look for in the links of a packed outline. Finds too much rather than too little."""

    def __init__(self, texts: Set[str], keys: Set[str], *, has_pages: bool) -> None:
        self._packed = [_packed(text)[:-1] for text in texts]
        self._texts = [f"\n{AROUND.sub(NEWLINE, text)}\n" for text in texts]
        self._keys = [f"\n{key}" for key in keys]
        self._has_pages = has_pages
        self._is_everywhere = len(texts) + len(keys) > MOST_NEEDLES or any(NO_KEY.search(key) for key in keys)

    def stand_in(self, packed: bytes) -> bool:
        links = packed_links(packed)
        if not links or self._is_everywhere or (self._has_pages and A_FOLDER.search(links)):
            return bool(links)
        if not self._keys and not any(text in links for text in self._packed):
            return False
        targets: list[str] = [link[1] for link in json.loads(links.decode("utf-8", "surrogatepass"))]
        said = AROUND.sub(NEWLINE, NEWLINE.join(("", *targets, "")))
        return any(text in said for text in self._texts) or (bool(self._keys) and self._are_titles_in(targets))

    def _are_titles_in(self, targets: Iterable[str]) -> bool:
        said = "\n".join(f"\n{target}\n{anchor}" for target, _, anchor in (each.replace("\n", " ").partition("#") for each in targets))
        said = f"{said}\n{unquote(said)}" if "%" in said else said
        said = f"{said}\n{ZEROS.sub('', said)}" if "0" in said else said
        said = NO_KEY.sub("", said.casefold())
        return any(key in said for key in self._keys) or (not said.isascii() and OTHER_DIGIT.search(said) is not None)


class _ChangedPaths:
    """Files that came or went, and who may mean them."""

    def __init__(self, files: Files, paths: Set[str]) -> None:
        self._ends = {name_of(path) for path in paths}
        self._pages = {stem_of(path) for path in paths} | {name_of(folder_of(path)) for path in paths if stem_of(path) in FRONT_STEMS}
        """What the name of a page may be, without its suffix, or with what it is in."""
        self.in_links = (self._ends | self._pages) - {""}
        self.has_pages = any(path.endswith(PAGES) for path in paths)
        """Whether the page that stands for a folder may be another."""
        indexes = [path for path in paths if is_index(path) and family_of(path)]
        self.inside = tuple(f"{folder_of(path)}/".lstrip("/") for path in indexes)
        """Folders that have got or lost the file that stands for them."""
        said = {name for path in paths for name in (called(path), stem_of(path))}
        said |= {name_of(folder_of(path)) for path in paths if family_of(path) in ("go", "java")}
        said |= {called(child) for path in indexes for child in files.under(folder_of(path))}
        self.words = {words[-1] for name in said if (words := WORD.findall(name))} | self._ends

    def meant_by(self, target: str) -> bool:
        """Whether a link may mean a file that came, or meant one that went."""
        last = name_of(posixpath.normpath(target))
        return last in self._ends or last in self._pages or (self.has_pages and last in (".", ".."))

    def concern(self, path: str, outline: Outline) -> bool:
        """Whether an import or a mention may mean a file that came, or meant one that went."""
        if outline.language == "markdown":
            written = (text for use in outline.uses for text in (use.name, f"{use.receiver}.{use.name}"))
            return any(name_of(posixpath.normpath(target_of(text))) in self._ends for text in written)
        texts = [text for each in outline.imports for text in (each.module, *(there for there, _ in each.names))]
        if path.startswith(self.inside) and any(not UPWARDS.sub("", text) for text in texts):
            return True
        return any(word in self.words for text in texts for word in WORD.findall(text))


def _packed(text: str) -> bytes:
    """A text as it ends in a packed outline: with a quote."""
    return json.dumps(text, ensure_ascii=False)[1:].encode("utf-8", "surrogatepass")


def _titled(outline: Outline | None) -> set[tuple[str, str]]:
    """What links find sections by, and items by their further names: with the node that each is."""
    if outline is None:
        return set()
    return {(each.name, each.qualified) for each in outline.definitions if each.kind == "section"} | set(outline.aliases)


def _defined(outline: Outline | None) -> set[tuple[str, str, str]]:
    """What an outline gives others to name, by qualified name, name and kind."""
    definitions = outline.definitions if outline else ()
    return {(each.qualified, each.name, each.kind) for each in definitions if each.kind != "section" and is_telling(each.name)}
