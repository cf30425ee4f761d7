"""A page of HTML as a tree, whatever state it is in: tags left open, closed twice or in the wrong order lose no text.

The scanner is our own because `html.parser` takes time in the square of the length on broken pages (`<!--` 50,000 times,
200 KB: 42 s with Python 3.11.7); this one looks at no character more than a few times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from typing import Final, Literal

VOID: Final = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"})
BLOCKS: Final = frozenset((
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html",
    "legend", "li", "main", "menu", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead",
    "tr", "ul",
))  # fmt: skip
ROWS: Final = ("tr", "td", "th")
ROWS_AND_SECTIONS: Final = ("tr", "tbody", "tfoot")
# Tags whose end is often left out: the ones they end when they begin, up to the nearest of their kind of container.
ENDS: Final = {
    "p": ("p",),
    "li": ("li",),
    "dt": ("dt", "dd"),
    "dd": ("dt", "dd"),
    "td": ("td", "th"),
    "th": ("td", "th"),
    "tr": ROWS,
    "tbody": ("thead", "tbody", *ROWS),
    "tfoot": ("tbody", *ROWS),
    "option": ("option",),
}
ENDS_PARAGRAPH: Final = BLOCKS - {"caption", "td", "th", "tr", "tbody", "thead", "tfoot", "html", "body", "head"}
CONTAINERS: Final = frozenset({"table", "ul", "ol", "dl", "select"})
TABLE_TAGS: Final = frozenset({"table", "thead", "tbody", "tfoot", "tr", "td", "th", "body", "html"})
# Rendering recurses twice for each level, and Python allows 1,000; what is nested further is kept, side by side.
MAX_DEPTH: Final = 100
RAW_TEXT: Final = {
    tag: re.compile(rf"</{tag}(?=[\s/>])[^>]*>", re.IGNORECASE)
    for tag in ("script", "style", "title", "textarea", "iframe", "noembed", "noframes", "xmp")
}
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)((?:[^>\"']|\"[^\"]*\"|'[^']*')*+)>")
_TAG_BROKEN = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)([^>]*+)>")
_ATTRIBUTE = re.compile(r"([^\s=/>\"']++)(?:\s*+=\s*+(\"[^\"]*\"|'[^']*'|[^\s>]++))?")


@dataclass(slots=True, eq=False)
class Node:
    """An element: its tag, its attributes and what is inside, in order."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)
    in_article: bool = False
    holds_blocks: bool = False
    closed: bool = False
    """Whether the page itself ends the element, or something around it."""

    @property
    def is_block(self) -> bool:
        return self.tag in BLOCKS

    def walk(self) -> Iterator[Node]:
        """Every element inside, in the order of the page."""
        pending = self.children[::-1]
        while pending:
            child = pending.pop()
            if isinstance(child, Node):
                yield child
                pending += child.children[::-1]

    def text(self) -> str:
        """All text inside, as it stands, with a line break for `<br>`."""
        parts: list[str] = []
        pending = self.children[::-1]
        while pending:
            child = pending.pop()
            if isinstance(child, str):
                parts.append(child)
            elif child.tag == "br":
                parts.append("\n")
            else:
                pending += child.children[::-1]
        return "".join(parts)


def parse_html(source: str) -> Node:
    """The page as a tree, below a node of no tag."""
    scanner, tree = _Scanner(source), _Tree()
    while scanner.more():
        if text := scanner.text():
            tree.add_text(text)
        if (tag := scanner.tag()) == "<":
            tree.add_text("<")
        elif isinstance(tag, _Tag):
            if tag.end:
                tree.end(tag.name)
            else:
                tree.begin(tag.name, tag.attributes)
                if (raw := scanner.raw_text(tag.name)) is not None:
                    tree.add_text(raw)
                    tree.end(tag.name)
    return tree.root


@dataclass(frozen=True, slots=True)
class _Tag:
    name: str
    end: bool
    attributes: dict[str, str]


class _Scanner:
    """Cuts the source into text and tags. What it once looked for to the very end in vain is not looked for again."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._tag = _TAG
        self._tags_end = source.rfind(">") + 1
        self._unclosed: set[str] = set()

    def more(self) -> bool:
        return self._at < len(self._source)

    def text(self) -> str:
        """The text up to the next tag."""
        begin = self._source.find("<", self._at)
        text = self._source[self._at : begin if begin >= 0 else len(self._source)]
        self._at += len(text)
        return unescape(text)

    def tag(self) -> _Tag | Literal["<"] | None:
        """The tag that begins here, or a bracket that begins none; None for a comment or a declaration, which are passed over."""
        if not self.more():
            return None
        if self._source.startswith("<!--", self._at):
            self._pass("-->")
        elif self._source.startswith(("<!", "<?"), self._at):
            self._pass(">")
        elif found := self._match():
            self._at = found.end()
            end, name, attributes = found.groups()
            return _Tag(name.lower(), bool(end), _attributes(attributes))
        else:
            self._at += 1
            return "<"
        return None

    def _pass(self, end: str) -> None:
        found = self._source.find(end, self._at)
        self._at = found + len(end) if found >= 0 else len(self._source)

    def _match(self) -> re.Match[str] | None:
        if self._at >= self._tags_end:
            return None
        found = self._tag.match(self._source, self._at)
        if not found and self._tag is _TAG and (found := _TAG_BROKEN.match(self._source, self._at)):
            # A quote that is never closed: from here on quotes do not count.
            self._tag = _TAG_BROKEN
        return found

    def raw_text(self, tag: str) -> str | None:
        """What stands between a tag whose content is no HTML and its end; None where there is no such end."""
        if tag not in RAW_TEXT or tag in self._unclosed:
            return None
        end = RAW_TEXT[tag].search(self._source, self._at)
        if not end:
            self._unclosed.add(tag)
            return None
        text = self._source[self._at : end.start()]
        self._at = end.end()
        return unescape(text)


def _attributes(source: str) -> dict[str, str]:
    return {name.lower(): unescape(value.strip("\"'")) for name, value in _ATTRIBUTE.findall(source)}


class _Tree:
    """The tree so far, and the elements that are still open."""

    def __init__(self) -> None:
        self.root = Node("")
        self._open = [self.root]

    def add_text(self, text: str) -> None:
        self._open[-1].children.append(text)

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        self._end_implied(tag)
        parent = self._open[-1]
        in_article = parent.in_article or parent.tag in ("article", "main", "section")
        node = Node(tag, attributes, in_article=in_article, closed=tag in VOID)
        parent.children.append(node)
        if node.is_block:
            self._mark_parents()
        if tag in VOID or len(self._open) >= MAX_DEPTH:
            node.closed = True
        else:
            self._open.append(node)

    def _mark_parents(self) -> None:
        for node in reversed(self._open):
            if node.holds_blocks:
                return
            node.holds_blocks = True

    def _end_implied(self, tag: str) -> None:
        if tag in ENDS_PARAGRAPH and self._open[-1].tag == "p":
            self._close_from(len(self._open) - 1)
        ended = ENDS.get(tag, ())
        for depth in range(len(self._open) - 1, 0, -1) if ended else ():
            if self._open[depth].tag in CONTAINERS:
                return
            if self._open[depth].tag in ended:
                self._close_from(depth)
                if tag not in ROWS_AND_SECTIONS:
                    return

    def end(self, tag: str) -> None:
        for depth in range(len(self._open) - 1, 0, -1):
            node = self._open[depth]
            if node.tag == tag:
                self._close_from(depth)
                return
            if node.tag in ("td", "th") and tag not in TABLE_TAGS:
                return

    def _close_from(self, depth: int) -> None:
        for node in self._open[depth:]:
            node.closed = True
        del self._open[depth:]
