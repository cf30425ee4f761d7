"""What one file's outline says about others, as edges: what it imports, defines, calls, refers to and is linked to. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ..model import MENTIONS, SUPERSEDES, Edge, node_of
from ..outline import CONTAINERS, IMPLEMENTS, REFERENCES, SATISFIES, Definition, Outline, Use
from .linking_names import DISTINCTIVE_CHARS, WORD, Names, Place, is_callable
from .linking_references import references
from .modules import family, folder_of, is_index
from .modules_imports import PYTHON, rust_module, taken

IMPORTS: Final = "IMPORTS"
DEFINES: Final = "DEFINES"
CALLS: Final = "CALLS"
WEIGHTS: Final = {
    IMPLEMENTS: 1.0,
    MENTIONS: 1.0,
    DEFINES: 0.9,
    SATISFIES: 0.9,
    IMPORTS: 0.8,
    REFERENCES: 0.7,
    CALLS: 0.6,
    SUPERSEDES: 0.5,
}
"""The surer a link is, the heavier: what a file defines is written in it, which function a call means is worked out."""

OWN: Final = frozenset(("self", "this", "cls", "Self", "static", "@"))
INHERITED: Final = frozenset(("super", "super()", "parent", "base"))
IMPLICIT: Final = frozenset(("java", "kotlin", "scala", "csharp", "cpp", "swift", "ruby"))
"""Languages in which a method calls another of its class by its bare name."""
PACKAGED: Final = frozenset(("go", "java", "kotlin", "scala", "swift", "csharp", "c", "cpp"))
"""Languages in which the files of a folder see each other's names."""
LOOSE: Final = frozenset(("kotlin", "scala", "swift", "csharp", "c", "cpp", "ruby", "php", "shell", "bash"))
"""Languages in which a name from elsewhere need not be imported by name. In the others such a name is a variable or built in."""
SPREAD: Final = frozenset(("go", "rust", "cpp", "swift", "kotlin", "scala", "ruby", "csharp"))
"""Languages in which a class has members outside of its own braces."""
DEEPEST_BASE: Final = 8
DEFAULT: Final = "default"
"""What a module of JavaScript gives to whoever calls it whatever they like."""

COMMON: Final = frozenset(
    WORD.findall(
        "add all any append apply call charAt clear clone close collect concat contains copy count decode delete encode endswith "
        "entries equals execute exists exit extend filter find findall flush foreach forEach format get getOrDefault group hasNext "
        "hashCode includes index indexOf insert isEmpty items iter join keys len length lower map match next open parse pop push "
        "put read readline reduce remove replace reverse round run search send set size slice sort sorted split splitlines start "
        "startswith stop strip sub substring sum test then toArray toList toLowerCase toString toUpperCase trim unwrap update upper "
        "values wait write"
    )
)
"""Methods that containers, texts, files and threads have in every language: of an unknown thing they are hardly ever one's own."""

GO_RECEIVER: Final = re.compile(r"func\s*\(\s*(\w+)\s")
JOINTS: Final = re.compile(r"->|::|\?\.|!\.|\\")


def edges_of(item_id: str, outline: Outline, names: Names) -> list[Edge]:
    """The edges that an item's content gives, each once. `names` knows all that `wanted` asks for."""
    found: dict[tuple[str, str, str], None] = {}
    reading = _Reading(item_id, outline, names)
    if outline.language == "markdown":
        found.update(dict.fromkeys((source, DEFINES, target) for source, target in reading.defines()))
        found.update(dict.fromkeys((reading.node(within), REFERENCES, to) for within, to in references(item_id, outline, names)))
    else:
        calls = list(reading.calls())
        found.update(dict.fromkeys((item_id, IMPORTS, target) for target in reading.imports([place for _, place in calls])))
        found.update(dict.fromkeys((source, DEFINES, target) for source, target in reading.defines()))
        found.update(dict.fromkeys((source, CALLS, place.node) for source, place in calls))
    found.update(dict.fromkeys(_links(item_id, outline, names)))
    return [Edge(source, kind, to, WEIGHTS[kind], item_id) for source, kind, to in found if source != to]


def _links(item_id: str, outline: Outline, names: Names) -> Iterator[tuple[str, str, str]]:
    """What an item links to as a whole. To what it implements, satisfies, supersedes or is superseded by it does not also refer."""
    meant = [(link, list(names.documents.nodes(item_id, link))) for link in outline.links]
    related = {node for link, nodes in meant if link.type != REFERENCES for node in nodes}
    for link, nodes in meant:
        # What took the place of another is a document, not a section of one.
        for node in nodes[:1] if link.type == SUPERSEDES else nodes:
            if nodes[0] != item_id and (link.type != REFERENCES or node not in related):
                yield (node, link.type, item_id) if link.is_reverse else (item_id, link.type, node)


class _Reading:
    """An outline while its names are resolved."""

    def __init__(self, item_id: str, outline: Outline, names: Names) -> None:
        self.item_id, self.outline, self.names = item_id, outline, names
        self.language, self.family = outline.language, family(outline.language)
        self.path = names.files.path_of(item_id)
        self.own: dict[str, Definition] = {}
        for each in outline.definitions:
            self.own.setdefault(each.qualified, each)
        self.taken = taken(names.files, self.path, outline.language, outline.imports)
        self.reach = self.taken.reach
        self.foreign = self.taken.outside(outline.imports)

    def node(self, within: str) -> str:
        """The innermost definition that is known here, or the file."""
        while within and within not in self.own:
            within = within.rpartition(".")[0]
        return node_of(self.item_id, within) if within else self.item_id

    def imports(self, used: list[Place]) -> Iterator[str]:
        """The items of the files that are imported: of a package those that define what is used."""
        ids, files = self.names.files.ids, {place.item_id: None for place in used}
        yield from (ids[path] for path in self.taken.files)
        for folder in self.taken.folders:
            defining = [ids[path] for path in folder if ids[path] in files]
            yield from defining or ([ids[folder[0]]] if self.language == "go" else [])
        if self.language == "csharp" and self.outline.imports:
            yield from dict.fromkeys(place.item_id for place in used if place.kind in CONTAINERS)

    def defines(self) -> Iterator[tuple[str, str]]:
        for each in self.own.values():
            if each.parent is None or each.parent in self.own:
                yield self.node(each.parent or ""), node_of(self.item_id, each.qualified)
                continue
            # A method that stands outside of its class: in the same folder, or the only class of that name.
            name = each.parent.rpartition(".")[2]
            owners = [
                place for place in self.names.beside(self.path, name) or self.names.all(name, self.family) if place.kind in CONTAINERS
            ]
            yield owners[0].node if len(owners) == 1 else self.item_id, node_of(self.item_id, each.qualified)

    def calls(self) -> Iterator[tuple[str, Place]]:
        for use in self.outline.uses:
            place = self._received(use) if use.receiver else self._bare(use.name, use.within)
            # That a method names the class it is in is known already: it is defined there.
            if place and not (place.kind in CONTAINERS and use.within.startswith(f"{place.qualified}.")):
                yield self.node(use.within), place

    def _place(self, qualified: str) -> Place | None:
        found = self.own.get(qualified)
        return Place(self.item_id, qualified, found.kind) if found else None

    def _bare(self, name: str, within: str) -> Place | None:
        return self._seen_from(name, within) or self._imported(name) or self._around(name)

    def _seen_from(self, name: str, within: str) -> Place | None:
        """A definition of this file, from the inside out."""
        scope = within
        while scope:
            owner = self.own.get(scope)
            is_class = owner is not None and owner.kind in CONTAINERS and owner.kind != "module"
            if not is_class and (place := self._place(f"{scope}.{name}")):
                return place
            if is_class and self.language in IMPLICIT and (place := self._of_class(Place(self.item_id, scope, "class"), name)):
                return place
            scope = scope.rpartition(".")[0]
        return self._place(name)

    def _imported(self, name: str) -> Place | None:
        if name in self.taken.names:
            there, paths = self.taken.names[name]
            if place := self._first(paths, name if there == DEFAULT else there) or self._first(paths, there):
                return place
            # What is passed on by a file of the scope and defined only once is that.
            return self.names.only(there, self.family) if len(there) >= DISTINCTIVE_CHARS and self._is_passed_on(paths) else None
        if self.family == "javascript" and name in self.taken.modules:
            return self._first(self.taken.modules[name], name) or self._first(self.taken.modules[name], DEFAULT)
        return self._first(self.taken.open, name)

    def _is_passed_on(self, paths: list[str]) -> bool:
        return bool(paths) and all(is_index(path) for path in paths)

    def _of_file(self, path: str, name: str) -> Place | None:
        return self.names.top(path, name) or (self.names.passed_on(path, name) if is_index(path) else None)

    def _around(self, name: str) -> Place | None:
        """A name that needs no import."""
        if name in self.foreign:
            return None
        if self.language in PACKAGED:
            beside = [place for place in self.names.beside(self.path, name) if place.kind != "method"]
            if len(beside) == 1:
                return beside[0]
        if self.language not in LOOSE or len(name) < DISTINCTIVE_CHARS:
            return None
        place = self.names.only(name, self.family)
        return place if place and (place.kind != "method" or self.language in IMPLICIT) else None

    def _received(self, use: Use) -> Place | None:
        receiver = JOINTS.sub(".", use.receiver).lstrip("$&*(").rstrip("?!")
        if receiver in OWN or receiver in INHERITED or receiver == self._go_receiver(use.within):
            return self._of_own_class(use, is_inherited=receiver in INHERITED)
        head, _, last = receiver.rpartition(".")
        for name in (use.receiver, receiver):
            if name in self.taken.modules:
                return self._first(self.taken.modules[name], use.name)
        if head in self.taken.modules and (place := self._deeper(self.taken.modules[head], last, use.name)):
            return place
        if self.language == "rust" and "::" in use.receiver and (place := self._by_rust_path(use)):
            return place
        if receiver.split(".")[0] in self.foreign:
            return None
        owner = self._bare(last, use.within) if not head or self.language in LOOSE or self.language == "java" else None
        if owner and owner.kind in CONTAINERS:
            return self._of_class(owner, use.name)
        if self.language in LOOSE and last[:1].isupper():
            named = self.names.qualified(last, use.name, self.family)
            return named[0] if len(named) == 1 else None
        return self._of_something(use.name)

    def _first(self, paths: Iterable[str], name: str) -> Place | None:
        return next((place for path in paths if (place := self._of_file(path, name))), None)

    def _deeper(self, paths: Iterable[str], last: str, name: str) -> Place | None:
        """A member of a class of a module, or what a module inside of a package has."""
        for path in paths:
            if (owner := self._of_file(path, last)) and owner.kind in CONTAINERS:
                return self._of_class(owner, name)
            base = f"{folder_of(path)}/{last}".lstrip("/")
            inner = self.names.files.first(*(f"{base}{end}{suffix}" for suffix in PYTHON for end in ("", "/__init__")))
            if inner and self.language == "python" and is_index(path):
                return self._of_file(inner, name)
        return None

    def _by_rust_path(self, use: Use) -> Place | None:
        at, rest = rust_module(self.names.files, self.path, use.receiver.split("::"))
        if at is None or len(rest) > 1:
            return None
        owner = self._of_file(at, rest[0]) if rest else None
        return self._of_class(owner, use.name) if owner else self._of_file(at, use.name) if not rest else None

    def _go_receiver(self, within: str) -> str | None:
        """What a method of Go calls the thing it is a method of."""
        method = self.own.get(within) if self.language == "go" else None
        match = GO_RECEIVER.match(method.signature) if method else None
        return match.group(1) if match else None

    def _of_own_class(self, use: Use, *, is_inherited: bool) -> Place | None:
        scope = use.within
        while scope:
            owner, inside = self.own.get(scope), self.own.get(scope.rpartition(".")[0])
            if owner and owner.kind in CONTAINERS:
                return self._of_class(Place(self.item_id, scope, owner.kind), use.name, is_inherited=is_inherited)
            if owner and owner.kind == "method" and owner.parent and inside is None:
                return self._of_class(Place(self.item_id, owner.parent, "class"), use.name, is_inherited=is_inherited)
            scope = scope.rpartition(".")[0]
        return None

    def _of_class(self, owner: Place, name: str, *, is_inherited: bool = False, depth: int = 0) -> Place | None:
        """A member of a class, or of one it builds upon. What classes of other files build upon is not known here."""
        is_own = owner.item_id == self.item_id
        if not is_inherited:
            own = self._place(f"{owner.qualified}.{name}") if is_own else None
            if place := own or self.names.member(owner, name, is_spread=self.language in SPREAD):
                return place
        definition = self.own.get(owner.qualified) if is_own else None
        for base in definition.bases if definition and depth < DEEPEST_BASE else ():
            words = re.match(r"[\w.:\\]+", base)
            parent = self._base(JOINTS.sub(".", words.group()), owner) if words else None
            if parent and parent != owner and (place := self._of_class(parent, name, depth=depth + 1)):
                return place
        return None

    def _base(self, base: str, owner: Place) -> Place | None:
        head, _, last = base.rpartition(".")
        place = self._first(self.taken.modules[head], last) if head in self.taken.modules else self._named_class(last, owner)
        return place if place and place.kind in CONTAINERS else None

    def _named_class(self, name: str, owner: Place) -> Place | None:
        """A class by its bare name. Members of the class that asks are not looked at: it is they who ask."""
        scope = owner.parent
        while scope:
            if place := self._place(f"{scope}.{name}"):
                return place
            scope = scope.rpartition(".")[0]
        return self._place(name) or self._imported(name) or self._around(name)

    def _of_something(self, name: str) -> Place | None:
        """A method of a thing that nothing is known of: only if there is no other of that name, and it is close by."""
        place = None if name in COMMON else self.names.only(name, self.family)
        if place is None or not is_callable(place) or not (place.parent or self.language == "go"):
            return None
        path = self.names.files.path_of(place.item_id)
        return place if path == self.path or path in self.reach or folder_of(path) == folder_of(self.path) else None
