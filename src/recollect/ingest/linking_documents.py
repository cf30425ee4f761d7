"""Which item, or which section of one, a document means by a path, an id, a title or the name of a page. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote

from ..kinds import reader_of
from ..model import Symbol, symbol_key
from ..outline import Link, Outline
from ..syntax.ids import canonical
from .modules import Files, folder_of, joined, name_of

ANCHOR: Final = re.compile(r"[#?]")
LINE: Final = re.compile(r"L\d+")
LOCATION: Final = re.compile(r"(?:[#?].*|:\d+(?:-\d+)?)$", re.DOTALL)
"""What may follow a path: a heading, a line, a range of lines."""
REPEATED: Final = re.compile(r"-\d+$")
"""What tells apart the anchors of headings that are alike."""
PAGES: Final = (".md", ".markdown", ".mdx", ".txt", ".rst")
"""What the name of a page is written without."""
FRONT_PAGES: Final = ("/README.md", "/index.md")


def target_of(written: str) -> str:
    """What is mentioned, without the place in it."""
    return LOCATION.sub("", written).strip()


def file_named(written: str, path: str, files: Files) -> str | None:
    """The file that a document means: as seen from the document, from the root, or the only one that ends so."""
    target = target_of(written)
    if not target or "\0" in target or not (set("./") & set(target)):
        return None
    if found := files.first(joined(folder_of(path), target), joined("", target.lstrip("/"))):
        return found
    ending = files.ending(re.sub(r"^(?:\.{0,2}/)+", "", target))
    return ending[0] if len(ending) == 1 else None


def is_document(path: str) -> bool:
    """Whether a file is something to read rather than a program."""
    return reader_of(name_of(path)) != "code"


class Parts:
    """What a link says, in all the ways it can be read."""

    def __init__(self, link: Link) -> None:
        self.whole = link.target
        self.is_name = link.form == "name"
        before, sign, after = link.target.partition("#")
        self.anchor = "" if LINE.match(after) else unquote(after).strip()
        self.target = ANCHOR.split(before, maxsplit=1)[0].strip() if sign or link.form == "path" else link.target.strip()
        self.id = canonical(self.target) if self.is_name else None

    @property
    def names(self) -> set[str]:
        """The names that have to be looked up to tell what it leads to."""
        names = (self.target, self.id or "") if self.is_name else ()
        return {self.anchor, REPEATED.sub("", self.anchor), *names} - {""}

    @property
    def ids(self) -> set[str]:
        """What may be the id of an item in it."""
        return {self.whole, self.target} - {""} if self.is_name else set()


def wanted_by(link: Link) -> set[str]:
    """The names that have to be looked up to tell what a link leads to."""
    return Parts(link).names if link.form != "entity" else set()


def ids_wanted_by(link: Link) -> set[str]:
    """What may be the id of an item in a link."""
    return Parts(link).ids


def wanted_of(outline: Outline) -> set[str]:
    """The same for all links of an outline."""
    return {name for link in outline.links for name in wanted_by(link)}


class Documents:
    """Items as documents call them, of the names that were looked up. It is asked only for those."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._ids: set[str] = set(files.paths)
        self._whole: dict[str, dict[str, None]] = {}
        """Items by what the whole of them is called."""
        self._sections: dict[str, dict[tuple[str, str], Symbol]] = {}
        """Sections by the key of their names."""

    def know(self, ids: Iterable[str]) -> None:
        """Add ids of items that there are."""
        self._ids.update(ids)

    def learn(self, symbols: Iterable[Symbol]) -> None:
        """Add what a look-up found."""
        for each in symbols:
            if each.kind == "file":
                self._whole.setdefault(each.name, {})[each.item_id] = None
            elif each.kind == "section":
                self._sections.setdefault(each.key, {}).setdefault((each.item_id, each.qualified), each)

    def nodes(self, item_id: str, link: Link) -> Iterator[str]:
        """The item that a link means and, where it means a section of it, that as well. What could mean two items means neither."""
        if link.form == "entity":
            yield link.target
            return
        parts = Parts(link)
        section: Symbol | None = None
        found = self._item(item_id, link, parts)
        if found and parts.anchor:
            section = self._section_at(found, parts.anchor)
        elif found is None and parts.id:
            section = self._section_called(parts.id)
            found = section.item_id if section else None
        if found:
            yield found
        if section:
            yield section.node

    def _item(self, item_id: str, link: Link, parts: Parts) -> str | None:
        if link.form == "name":
            if named := next((each for each in (parts.whole, parts.target) if each in self._ids), None):
                return named
            if parts.id:
                return _only(self._whole.get(parts.id, ()))
        path = self._files.path_of(item_id)
        if file := file_named(parts.target, path, self._files) or self._beside(parts.target, path):
            return self._files.ids[file]
        return (self._page(parts.target) or self._titled(parts.target)) if link.form == "name" else None

    def _beside(self, target: str, path: str) -> str | None:
        """What a path means that has no suffix: a file, a page, or the page that stands for a folder."""
        base = joined(folder_of(path), target.rstrip("/")) if target and "\0" not in target else None
        return self._files.first(*(f"{base}{end}" for end in ("", *PAGES, *FRONT_PAGES))) if base else None

    def _page(self, name: str) -> str | None:
        """The only page of a name."""
        file = _only(self._files.ending(*(f"{name.lstrip('/')}{suffix}" for suffix in PAGES)))
        return self._files.ids[file] if file else None

    def _titled(self, title: str) -> str | None:
        tops = (each.item_id for each in self._sections.get(symbol_key(title), {}).values() if each.parent is None and each.name == title)
        return _only({**self._whole.get(title, {}), **dict.fromkeys(tops)})

    def _section_called(self, name: str) -> Symbol | None:
        """The only section that has an id."""
        found = [each for each in self._sections.get(symbol_key(name), {}).values() if each.name == name]
        return found[0] if len(found) == 1 else None

    def _section_at(self, item_id: str, anchor: str) -> Symbol | None:
        """The first section of an item that an anchor is made of."""
        keys = (symbol_key(anchor), symbol_key(REPEATED.sub("", anchor)))
        fitting = (each for key in keys for (of, _), each in self._sections.get(key, {}).items() if of == item_id)
        return next(fitting, None)


def _only(found: Iterable[str]) -> str | None:
    first, *more = [*found, None, None][:2]
    return first if more == [None] else None
