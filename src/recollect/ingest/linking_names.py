"""The definitions of a scope by name, and which one a name stands for where more than one file has to be looked at. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from ..model import Symbol, node_of
from ..outline import CALLABLE, Outline
from .linking_documents import Documents, wanted_of
from .modules import Files, family_of, folder_of, stem_of

DISTINCTIVE_CHARS: Final = 4
"""A name that is this long and defined once is taken for that definition by languages that need no import for it."""

NAMESPACED: Final = frozenset(("c", "csharp", "php", "ruby", "rust", "java", "swift"))
"""Families whose definitions stand in namespaces or classes and are still named from outside by their last name."""

WORD: Final = re.compile(r"\w+")


class Place(NamedTuple):
    """A definition, wherever it is."""

    item_id: str
    qualified: str
    kind: str

    @property
    def node(self) -> str:
        return node_of(self.item_id, self.qualified)

    @property
    def parent(self) -> str:
        return self.qualified.rpartition(".")[0]


class _Definitions:
    """All definitions of one name, of one family of languages or of all, by where they are. A common name has thousands, and is used
    as often."""

    def __init__(self, name: str, places: Iterable[Place], files: Files) -> None:
        self._name, self._files = name, files
        self.all = list(places)

    @cached_property
    def beside(self) -> dict[str, list[Place]]:
        """By the folder that their file is in."""
        found: dict[str, list[Place]] = {}
        for place in self.all:
            found.setdefault(folder_of(self._files.path_of(place.item_id)), []).append(place)
        return found

    @cached_property
    def under(self) -> dict[str, list[Place]]:
        """Those that can be named from another file, by every folder above them."""
        found: dict[str, list[Place]] = {}
        for place in self.all:
            path = self._files.path_of(place.item_id)
            for folder in self._files.above(path) if _is_open(place, family_of(path)) else ():
                found.setdefault(folder, []).append(place)
        return found

    @cached_property
    def within(self) -> dict[str, list[Place]]:
        """By the last name of what they are in."""
        found: dict[str, list[Place]] = {}
        for place in self.all:
            if place.qualified.endswith(f".{self._name}"):
                found.setdefault(last_of(place.qualified[: -len(self._name) - 1]), []).append(place)
        return found


class Names:
    """What is defined where in a scope, of the names that were looked up. It is asked only for those."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.documents = Documents(files)
        self._found: dict[str, dict[str, dict[str, Place]]] = {}
        """By name, item and qualified name: what is defined twice under one of these is one node."""
        self._definitions: dict[tuple[str, str], _Definitions] = {}

    def learn(self, symbols: Iterable[Symbol]) -> None:
        """Add what a look-up found. All symbols of a name come together."""
        symbols = list(symbols)
        self.documents.learn(symbols)
        for each in symbols:
            is_constructor = each.parent is not None and last_of(each.parent) == each.name  # Who calls it names the class.
            if each.kind not in ("file", "section") and not is_constructor and is_telling(each.name):
                places = self._found.setdefault(each.name, {}).setdefault(each.item_id, {})
                places.setdefault(each.qualified, Place(each.item_id, each.qualified, each.kind))

    def _of(self, name: str, family: str) -> _Definitions:
        if (known := self._definitions.get((name, family))) is None:
            by_item = self._found.get(name, {})
            fitting = (item_id for item_id in by_item if not family or family_of(self.files.path_of(item_id)) == family)
            known = _Definitions(name, (place for item_id in fitting for place in by_item[item_id].values()), self.files)
            if by_item:
                self._definitions[name, family] = known
        return known

    def all(self, name: str, family: str = "") -> list[Place]:
        """Every definition of the name, or of one family of languages."""
        return self._of(name, family).all

    def only(self, name: str, family: str) -> Place | None:
        """The one definition of the name in languages of a family, if there is just one."""
        found = self.all(name, family)
        return found[0] if len(found) == 1 else None

    def top(self, path: str, name: str) -> Place | None:
        """What a file gives by this name to others; of a file that is a class, the members of that too."""
        places = self._found.get(name, {}).get(self.files.ids.get(path, path), {})
        family = family_of(path)
        fitting = (place for place in places.values() if _is_open(place, family) or (family == "java" and place.parent == stem_of(path)))
        return next(fitting, None)

    def passed_on(self, path: str, name: str) -> Place | None:
        """What a file that stands for its folder may have from a file in it: the only definition of the name there."""
        found = self._of(name, family_of(path)).under.get(folder_of(path), ())
        return found[0] if len(found) == 1 else None

    def beside(self, path: str, name: str) -> Sequence[Place]:
        """The definitions of the name in the file's folder, in its languages."""
        return self._of(name, family_of(path)).beside.get(folder_of(path), ())

    def member(self, owner: Place, name: str, *, is_spread: bool) -> Place | None:
        """What a class has by this name; in other files of its folder too where its language lets a class be spread over them."""
        if own := self._found.get(name, {}).get(owner.item_id, {}).get(f"{owner.qualified}.{name}"):
            return own
        path = self.files.path_of(owner.item_id)
        inside = self.qualified(last_of(owner.qualified), name, family_of(path)) if is_spread else ()
        found = [place for place in inside if folder_of(self.files.path_of(place.item_id)) == folder_of(path)]
        return found[0] if len(found) == 1 else None

    def qualified(self, qualifier: str, name: str, family: str = "") -> Sequence[Place]:
        """The definitions of the name in something that is called so."""
        return self._of(name, family).within.get(qualifier, ())


def last_of(qualified: str) -> str:
    """The last name of a qualified one."""
    return qualified.rpartition(".")[2]


def _is_open(place: Place, family: str) -> bool:
    """Whether a definition can be named from another file without what it is in."""
    return not place.parent or (family in NAMESPACED and place.kind != "method")


def is_telling(name: str) -> bool:
    """Whether a name is looked for in other files. Nearly every class has an `__init__`: of 56,000 functions 3,000 are called so, and who
    calls one names the class."""
    return not (name.startswith("__") and name.endswith("__"))


def is_callable(place: Place) -> bool:
    return place.kind in CALLABLE


def wanted(outline: Outline) -> set[str]:
    """The names that have to be looked up to tell what an outline's edges lead to."""
    found: set[str] = set()
    for use in outline.uses:
        found.add(use.name)
        found.update(WORD.findall(use.receiver))
    if outline.language == "markdown":
        found.update(word for use in outline.uses for word in WORD.findall(use.name)[-1:])
    for each in outline.imports:
        found.update(word for there, _ in each.names for word in WORD.findall(there)[-1:])
        found.update(WORD.findall(each.module)[-1:])
    own = {each.qualified for each in outline.definitions}
    for definition in outline.definitions:
        found.update(word for base in definition.bases for word in WORD.findall(base))
        if definition.parent and definition.parent not in own:
            found.add(last_of(definition.parent))
    return {name for name in found if is_telling(name)} | wanted_of(outline)
