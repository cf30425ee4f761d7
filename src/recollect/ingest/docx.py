"""Word documents to Markdown: headings by style, lists, tables and footnotes, with a bound on what is unpacked and no entities."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Final
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser

from .decode import Unreadable
from .html import markdown_table

# Room for thousands of pages of Word's wordy XML; a part that unpacks to more is an accident or an attack.
MAX_PART_BYTES: Final = 32 * 1024 * 1024
OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0"
W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
STRICT_W: Final = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
FALLBACK: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
TITLE: Final = "{http://purl.org/dc/elements/1.1/}title"
MAIN_PART: Final = "word/document.xml"
_HEADING_NAME = re.compile(r"heading ([1-9])", re.IGNORECASE)


def docx_to_markdown(data: bytes) -> tuple[str, str | None]:
    """The document as Markdown, and the title its properties give."""
    if data.startswith(OLD_OFFICE):
        raise Unreadable("a Word document that is protected by a password or in the old .doc format: save it as a plain .docx")
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            parts = _Parts(archive)
            body = parts.read(MAIN_PART)
            if body is None:
                raise Unreadable(f"not a Word document: it has no {MAIN_PART}")
            styles = _Styles.of(parts.read("word/styles.xml"), parts.read("word/numbering.xml"))
            blocks = [*_blocks(body, styles), *_notes(parts, styles)]
            title = parts.read("docProps/core.xml")
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ParseError, ValueError) as error:
        raise Unreadable(f"not a readable Word document: {error}") from None
    text = "\n\n".join(blocks)
    return text + "\n" * bool(text), _title(title)


def is_docx(data: bytes) -> bool:
    """Whether an archive holds a Word document."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            return MAIN_PART in archive.namelist()
    except (zipfile.BadZipFile, ValueError):
        return False


class _Tree(TreeBuilder):
    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        # Word writes none, and a document type is where entities that unfold to gigabytes are declared.
        raise Unreadable("not a readable Word document: it declares a document type")


@dataclass(frozen=True, slots=True)
class _Parts:
    archive: zipfile.ZipFile

    def read(self, name: str) -> Element | None:
        """The XML of a part; None where the document has no such part."""
        try:
            file = self.archive.open(name)
        except KeyError:
            return None
        with file:
            data = file.read(MAX_PART_BYTES + 1)
        if len(data) > MAX_PART_BYTES:
            raise Unreadable(f"too large when unpacked: {name} has more than {MAX_PART_BYTES} bytes")
        parser = XMLParser(target=_Tree())
        parser.feed(data.replace(STRICT_W[1:-1].encode(), W[1:-1].encode()))
        root: Element = parser.close()
        return root


@dataclass(frozen=True, slots=True)
class _Styles:
    """What the styles say of paragraphs: heading levels and lists by style, and which lists are numbered."""

    headings: Mapping[str, int] = field(default_factory=dict)
    lists: Mapping[str, str] = field(default_factory=dict)
    numbered: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, styles: Element | None, numbering: Element | None) -> _Styles:
        headings: dict[str, int] = {}
        lists: dict[str, str] = {}
        for style in styles.iter(f"{W}style") if styles is not None else ():
            id_, name = style.get(f"{W}styleId", ""), _value(style, "name")
            level = _value(style, "pPr", "outlineLvl")
            if found := _HEADING_NAME.fullmatch(name):
                headings[id_] = int(found.group(1))
            elif name.lower() == "title":
                headings[id_] = 1
            elif level.isdecimal() and int(level) < 9:
                headings[id_] = int(level) + 1
            elif name.lower().startswith(("list bullet", "list number")):
                lists[id_] = "1. " if "number" in name.lower() else "- "
        return cls(headings, lists, frozenset(_numbered(numbering)) if numbering is not None else frozenset())


def _numbered(numbering: Element) -> Iterator[tuple[str, str]]:
    """The lists and levels that count, by the ids paragraphs name them with."""
    counting: dict[str, list[str]] = {}
    for abstract in numbering.iter(f"{W}abstractNum"):
        levels = [level.get(f"{W}ilvl", "0") for level in abstract.iter(f"{W}lvl") if _value(level, "numFmt") not in ("", "bullet", "none")]
        counting[abstract.get(f"{W}abstractNumId", "")] = levels
    for number in numbering.iter(f"{W}num"):
        for level in counting.get(_value(number, "abstractNumId"), []):
            yield number.get(f"{W}numId", ""), level


def _value(element: Element, *path: str) -> str:
    found = element.find("/".join(f"{W}{step}" for step in path))
    return found.get(f"{W}val", "") if found is not None else ""


def _blocks(root: Element, styles: _Styles) -> Iterator[str]:
    """The Markdown blocks of a part; the items of one list are one block."""
    items: list[str] = []
    for element in _content(root):
        item = _list_item(element, styles) if element.tag == f"{W}p" else None
        if item is not None:
            items.append(item)
            continue
        if items:
            yield "\n".join(items)
            items = []
        yield from [_paragraph(element, styles)] if element.tag == f"{W}p" else _table(element)
    if items:
        yield "\n".join(items)


def _content(root: Element) -> Iterator[Element]:
    """The paragraphs and tables, in order, also those inside content controls; what is empty is left out."""
    pending = list(root)[::-1]
    while pending:
        element = pending.pop()
        if element.tag in (f"{W}p", f"{W}tbl"):
            if _text(element).strip():
                yield element
        elif element.tag != FALLBACK:
            pending += list(element)[::-1]


def _style(paragraph: Element) -> str:
    return _value(paragraph, "pPr", "pStyle")


def _paragraph(paragraph: Element, styles: _Styles) -> str:
    level = styles.headings.get(_style(paragraph))
    text = _text(paragraph).strip()
    return f"{'#' * min(level, 6)} {' '.join(text.split())}" if level else text


def _list_item(paragraph: Element, styles: _Styles) -> str | None:
    if _style(paragraph) in styles.headings:
        return None
    number, level = _value(paragraph, "pPr", "numPr", "numId"), _value(paragraph, "pPr", "numPr", "ilvl") or "0"
    marker = styles.lists.get(_style(paragraph))
    if number and number != "0":
        marker = "1. " if (number, level) in styles.numbered else "- "
    if marker is None:
        return None
    indent = "   " * (int(level) if level.isdecimal() and int(level) < 10 else 0)
    return indent + marker + _text(paragraph).strip().replace("\n", f"\n{indent}   ")


def _table(table: Element) -> list[str]:
    rows = [[" ".join(_text(cell).split()) for cell in row.findall(f"{W}tc")] for row in table.findall(f"{W}tr")]
    return markdown_table(rows)


def _text(element: Element) -> str:
    """The text of an element as it reads: tabs and breaks as such, a space after each inner paragraph, no second copy of drawings."""
    parts: list[str] = []
    pending: list[Element | str] = [element]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        match node.tag.removeprefix(W):
            case "t":
                parts.append(node.text or "")
            case "tab":
                parts.append("\t")
            case "br" | "cr":
                parts.append("\n")
            case "noBreakHyphen":
                parts.append("-")
            case "pPr" | "rPr" | "tblPr":
                continue
            case "p" if node is not element:
                pending.append(" ")
        if node.tag != FALLBACK:
            pending += list(node)[::-1]
    return "".join(parts)


def _notes(parts: _Parts, styles: _Styles) -> Iterator[str]:
    for name in ("word/footnotes.xml", "word/endnotes.xml"):
        notes = parts.read(name)
        if notes is not None:
            yield from _blocks(notes, styles)


def _title(core: Element | None) -> str | None:
    found = core.find(TITLE) if core is not None else None
    return " ".join((found.text or "").split()) or None if found is not None else None
