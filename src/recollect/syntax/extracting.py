"""From a tree to what an outline consists of, by the rules of its language. Only what a rule names is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from ..cancellation import stoppable
from ..outline import Definition, DefinitionKind, Import, Outline, Use
from .above import MAX_DOC, Above
from .found import SCOPE, Found, last_name, nested, owner_of
from .importing import imports_in
from .uses import ANYTHING, LONGEST_RECEIVER, Written, give_bases, path, receiver, used

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

    from .parsing import Loaded
    from .source import Source

MAX_SIGNATURE: Final = 300
LONGEST_NAME: Final = 200
MOST_OPEN: Final = 1024
"""Rules that may be half fulfilled at a time. Each is compared with all others: a chain of 10,000 calls took 2.5 s without a limit."""
LONGEST_IMPORT: Final = 10_000
RANKS: Final = {"type": -1, "enum": 1, "interface": 1, SCOPE: 2}
"""Where two rules tell of one definition, which of them tells more."""
WORDS: Final = frozenset(("const", "constexpr", "static", "include", "extend", "prepend", "require"))
"""What a rule's `word` may be."""
QUOTES: Final = "\"'rRuUbB"

Captured = dict[str, "list[Node]"]


@dataclass(slots=True)
class Read:
    """What a text consists of: an outline, and all that holds definitions, scopes among them."""

    outline: Outline
    found: list[Found]


def read(source: Source, tree: Tree, loaded: Loaded, language: str) -> Read:
    """The structure of a text that has been parsed."""
    return _Reading(source, tree, loaded, language).read()


@dataclass(slots=True)
class _Reading:
    source: Source
    tree: Tree
    loaded: Loaded
    language: str
    found: dict[int, Found] = field(default_factory=dict)
    """By where their names stand: two rules may tell of one definition."""
    above: Above = field(init=False)
    outer: dict[int, Node] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)
    importing: set[int] = field(default_factory=set)
    uses: list[Written] = field(default_factory=list)
    bases: list[Written] = field(default_factory=list)

    def read(self) -> Read:
        from tree_sitter import QueryCursor

        self.above = Above(self.source)
        handlers = [self.handler(role) for role in self.loaded.roles]
        for rule, captured in stoppable(QueryCursor(self.loaded.query, match_limit=MOST_OPEN).matches(self.tree.root_node)):
            handlers[rule](captured)
        self.above.close()
        found = nested([self.placed(each) for each in self.found.values() if each.node.id not in self.importing])
        give_bases(self.bases, found)
        self.imports = _outermost(self.imports)
        outline = Outline(
            language=self.language,
            definitions=tuple(self.definition(each) for each in stoppable(found) if each.kind != SCOPE),
            imports=tuple(self.imports),
            uses=self.used(found),
            is_broken=self.tree.root_node.has_error,
        )
        return Read(outline, found)

    def text_of(self, node: Node) -> str:
        at = self.source.at
        return self.source.text[at[node.start_byte] : at[node.end_byte]]

    def receiver_of(self, node: Node) -> str:
        # A chain of calls has all that comes before as its receiver, and each time more of it.
        return ANYTHING if node.end_byte - node.start_byte > 4 * LONGEST_RECEIVER else receiver(self.text_of(node))

    def handler(self, role: str) -> Callable[[Captured], None]:
        """What reads what a rule found."""
        own: dict[str, Callable[[Captured], None]] = {
            "call": self.call,
            "use": self.mention,
            "base": self.build_upon,
            "import": self.take,
            "outer": self.enclose,
            "comment": partial(self.stand_above, True),
            "attribute": partial(self.stand_above, False),
        }
        return own.get(role) or partial(self.define, role)

    def call(self, captured: Captured) -> None:
        at, text = self.source.at, self.source.text
        if "path" in captured:
            node = captured["path"][0]
            name, of = path(self.text_of(node)[:LONGEST_NAME]) or ("", "")
        else:
            node = captured["name"][0]
            name, of = text[at[node.start_byte] : at[node.end_byte]], ""
            if "of" in captured:
                of = self.receiver_of(captured["of"][0])
                if name == self.loaded.grammar.maker and of[:1].isupper():
                    of, _, name = of.rpartition("::")
        if name:
            self.uses.append((at[node.start_byte], name, of))

    def mention(self, captured: Captured) -> None:
        """A type, or what else is known by its capital. One letter stands for any type."""
        node = captured["name"][0]
        name = self.text_of(node)
        if name[:1].isupper() and len(name) > 1:
            of = self.receiver_of(captured["of"][0]) if "of" in captured else ""
            self.uses.append((self.source.at[node.start_byte], name, of))

    def build_upon(self, captured: Captured) -> None:
        node = captured["name"][0]
        if self.is_meant(captured) and (parts := path(self.text_of(node)[:LONGEST_NAME])):
            self.bases.append((self.source.at[node.start_byte], *parts))

    def is_meant(self, captured: Captured) -> bool:
        return "word" not in captured or self.text_of(captured["word"][0]) in WORDS

    def enclose(self, captured: Captured) -> None:
        self.outer[captured["it"][0].id] = captured["outer"][0]

    def stand_above(self, is_comment: bool, captured: Captured) -> None:
        node, at = captured["it"][0], self.source.at
        self.above.spans.append((at[node.start_byte], at[node.end_byte], is_comment))

    def take(self, captured: Captured) -> None:
        if not self.is_meant(captured):
            return
        node, at = captured["it"][0], self.source.at
        start, end = at[node.start_byte], at[captured.get("last", captured["it"])[0].end_byte]
        taken = imports_in(self.language, self.source.text[start:end]) if end - start <= LONGEST_IMPORT else []
        if taken:
            self.importing.add(node.id)
            end = start + len(self.source.text[start:end].rstrip())
            self.imports += [Import(module=module, names=names, alias=alias, start=start, end=end) for module, names, alias in taken]

    def define(self, role: str, captured: Captured) -> None:
        if not self.is_meant(captured):
            return
        node = captured["it"][0]
        at = self.source.at
        name, owner = "", ""
        if "name" in captured:
            label = captured["name"][0]
            name = self.text_of(label)
            if role == SCOPE:
                name = last_name(name[:LONGEST_NAME]) if self.language == "rust" else owner_of(name[:LONGEST_NAME])
        elif "declarator" in captured:
            label = _declared(captured["declarator"][0])
            owner, name = _declared_as(self.text_of(label))
        else:
            label = node
        if "owner" in captured:
            owner = owner_of(self.text_of(captured["owner"][0])[:LONGEST_NAME])
        if role == "upper" and not name.isupper():
            return
        role = "constant" if role == "upper" else role
        if (not name and role != SCOPE) or len(name) > LONGEST_NAME:
            return
        named_at = at[label.start_byte]
        body = captured["body"][0] if "body" in captured else None
        if (known := self.found.get(named_at)) is not None and known.kind != "constant":
            known.owner, known.body = known.owner or owner, known.body or body
            if RANKS.get(role, 0) > RANKS.get(known.kind, 0):
                known.kind, known.name = role, name
            return
        self.found[named_at] = Found(name.strip("'\""), role, 0, 0, node, named_at, owner, body)

    def placed(self, each: Found) -> Found:
        """With its place, including what stands above it and around it."""
        at, text = self.source.at, self.source.text
        node = outer = each.node
        while wider := self.outer.get(outer.id):
            outer = wider
        start, end = at[outer.start_byte], at[outer.end_byte]
        while end > start and text[end - 1].isspace():
            end -= 1
        if text.startswith(";", end):
            end += 1
        each.start, each.doc, each.decorators, each.head = self.above.of(start, each.named_at)
        each.end = end
        each.body = each.body or node.child_by_field_name("body") or self._body(node)
        return each

    def _body(self, node: Node) -> Node | None:
        bodies = self.loaded.grammar.bodies
        return next((child for child in reversed(node.children) if child.type in bodies), None) if bodies else None

    def definition(self, each: Found) -> Definition:
        source = self.source
        text = source.text
        body = each.end
        if each.body is not None:
            body = source.at[each.body.start_byte]
        signature = _signature(text[each.head : min(body, each.head + 4 * MAX_SIGNATURE)])
        if each.name not in signature and len(signature) < MAX_SIGNATURE:
            signature = f"{signature} {each.name}"
        if each.body is not None:
            if text.startswith("{", body):
                body += 1
            elif self.loaded.grammar.has_docstrings and text[body : body + 1] in QUOTES:
                body = self.after_docstring(each, body)
        while body < each.end and text[body].isspace():
            body += 1
        each.body_at = min(body, each.end)
        lines = source.line(each.start), source.line(max(each.start, each.end - 1))
        return each.finished(cast(DefinitionKind, each.kind), lines, signature)

    def after_docstring(self, each: Found, body: int) -> int:
        """Where a body goes on behind its docstring, which is taken for what is said of the definition."""
        assert each.body is not None
        first = _first(each.body.named_children)
        string = _first(first.named_children) if first is not None and first.type == "expression_statement" else None
        if first is None or string is None or string.type != "string" or string.end_byte != first.end_byte:
            return body
        at = self.source.at
        each.doc = _docstring(self.source.text[at[string.start_byte] : at[string.end_byte]])
        return at[string.end_byte]

    def used(self, found: list[Found]) -> tuple[Use, ...]:
        names = {each.named_at for each in found}
        return used([each for each in (*self.uses, *self.bases) if each[0] not in names], found, self.imports)


def _declared(node: Node) -> Node:
    """The name in a declarator of C, whatever stands around it."""
    while True:
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in ("reference_declarator", "parenthesized_declarator", "attributed_declarator"):
            inner = _first(node.named_children)
        if inner is None:
            return node
        node = inner


def _outermost(imports: list[Import]) -> list[Import]:
    """In order, each once where two rules tell of it: `a = require("a")`, and the call in it."""
    kept: list[Import] = []
    for each in sorted(imports, key=lambda each: (each.start, -each.end)):
        if not kept or each.start >= kept[-1].end or (each.start, each.end) == (kept[-1].start, kept[-1].end):
            kept.append(each)
    return kept


def _first(nodes: Iterable[Node]) -> Node | None:
    return next(iter(nodes), None)


def _declared_as(written: str) -> tuple[str, str]:
    """The type that a name of C++ belongs to, and the name: `Store::write`."""
    owner, joint, name = written[:LONGEST_NAME].rpartition("::")
    if joint and ("operator" in owner or "<" in name):
        return "", written[:LONGEST_NAME]
    return owner_of(owner), " ".join(name.split())


def _signature(written: str) -> str:
    line = " ".join(written.split())[:MAX_SIGNATURE]
    return line.removesuffix("=>").rstrip(" {:=;")


def _docstring(written: str) -> str:
    """What a docstring says, its lines without what indents them."""
    inside = written.lstrip("rRuUbB").strip("\"'")[: 2 * MAX_DOC]
    return "\n".join(line.strip() for line in inside.strip().splitlines())[:MAX_DOC].rstrip()
