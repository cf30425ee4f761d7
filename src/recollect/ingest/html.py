"""HTML to Markdown: headings, paragraphs, lists, tables and code stay; scripts, styles and the chrome around a page go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .htmltree import Node, parse_html

NO_TEXT: Final = frozenset((
    "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "audio", "video", "select", "datalist",
    "button", "textarea",
))  # fmt: skip
CHROME: Final = frozenset({"nav", "menu", "dialog"})
CHROME_ROLES: Final = frozenset({"navigation", "search", "contentinfo", "menu", "menubar", "dialog"})
HEADINGS: Final = {f"h{level}": "#" * level for level in range(1, 7)}
# A table with one of these in a cell arranges the page; it is no table of data.
LAYOUT: Final = frozenset((*HEADINGS, "table", "pre", "ul", "ol", "blockquote"))
TABLE_PARTS: Final = frozenset(("thead", "tbody", "tfoot", "tr"))
PERMALINKS: Final = frozenset(("", "#", "¶", "§", "\U0001f517"))
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{2,40})", re.IGNORECASE)
_LOOKS_LIKE_SYNTAX = re.compile(r"#{1,6} |```|~~~")
_LANGUAGE_CLASS = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|highlight|brush)[-:\s]+([\w+#-]+)")


def declared_charset(data: bytes) -> str | None:
    """The encoding a page names for itself near its top."""
    head = data[:4096]
    found = _META_CHARSET.search(head) or _XML_ENCODING.search(head)
    return found.group(1).decode("ascii") if found else None


def html_to_markdown(source: str) -> tuple[str, str | None]:
    """The page as Markdown, and its title."""
    page = parse_html(source)
    mains = [node for node in page.walk() if node.tag == "main" or node.attributes.get("role") == "main"]
    blocks = [block for main in mains[:1] for block in _blocks(main, with_chrome=False)]
    # Where a page is nothing but chrome, better too much text than none.
    blocks = blocks or _blocks(page, with_chrome=False) or _blocks(page, with_chrome=True)
    return "\n\n".join(blocks) + "\n" * bool(blocks), _title(page)


def _title(page: Node) -> str | None:
    for tag in ("title", "h1"):
        for node in page.walk():
            if node.tag == tag and node.closed and (text := _line(node)):
                return text
    return None


def _line(node: Node) -> str:
    return " ".join(_inline(node).replace("`", "").split())


def _is_dropped(node: Node, *, with_chrome: bool) -> bool:
    # A tag that is never closed has swallowed the rest of the page, which is still wanted.
    if not node.closed:
        return False
    if node.tag in NO_TEXT or node.tag == "title":
        return True
    is_chrome = node.tag in CHROME or node.attributes.get("role") in CHROME_ROLES or (node.tag == "footer" and not node.in_article)
    return is_chrome and not with_chrome


def _blocks(node: Node, *, with_chrome: bool) -> list[str]:
    """The Markdown blocks of what is inside a node; runs of inline content become paragraphs."""
    blocks: list[str] = []
    run: list[str] = []
    for child in node.children:
        if isinstance(child, str):
            run.append(_collapsed(child))
        elif _is_dropped(child, with_chrome=with_chrome):
            continue
        elif child.is_block or child.holds_blocks:
            blocks += [*_paragraph(run), *_block(child, with_chrome=with_chrome)]
            run = []
        else:
            run.append(_inline(child))
    return [*blocks, *_paragraph(run)]


def _paragraph(run: list[str]) -> list[str]:
    if not run:
        return []
    text = re.sub(r" *\n *", "\n", re.sub(r" {2,}", " ", "".join(run))).strip()
    if not text:
        return []
    return ["\\" + text if _LOOKS_LIKE_SYNTAX.match(text) else text]


def _block(node: Node, *, with_chrome: bool) -> list[str]:
    if node.tag in HEADINGS:
        text = _line(node)
        return [f"{HEADINGS[node.tag]} {text}"] if text else []
    if node.tag == "pre":
        return _code_block(node)
    if node.tag in ("ul", "ol"):
        return _list(node, with_chrome=with_chrome)
    if node.tag == "table":
        return _table(node, with_chrome=with_chrome)
    inner = _blocks(node, with_chrome=with_chrome)
    if node.tag == "blockquote" and inner:
        return ["\n".join(f"> {line}".rstrip() for line in "\n\n".join(inner).split("\n"))]
    return inner


def _code_block(node: Node) -> list[str]:
    code = node.text().strip("\n").replace("\r\n", "\n")
    if not code.strip():
        return []
    classes = " ".join(inner.attributes.get("class", "") for inner in (node, *node.walk()))
    language = _LANGUAGE_CLASS.search(classes)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", code)), default=0))
    return [f"{fence}{language.group(1) if language else ''}\n{code}\n{fence}"]


def _list(node: Node, *, with_chrome: bool) -> list[str]:
    items: list[str] = []
    for child in node.children:
        # Lists nested without an item of their own are common enough.
        inner = _blocks(child, with_chrome=with_chrome) if isinstance(child, Node) else _paragraph([_collapsed(child)])
        if isinstance(child, Node) and child.tag in ("ul", "ol"):
            inner = _block(child, with_chrome=with_chrome)
        if inner and not (isinstance(child, Node) and _is_dropped(child, with_chrome=with_chrome)):
            marker = f"{len(items) + 1}. " if node.tag == "ol" else "- "
            items.append(marker + _joined(inner).replace("\n", "\n" + " " * len(marker)))
    return ["\n".join(items)] if items else []


def _joined(blocks: list[str]) -> str:
    """The blocks of one list item: a nested list follows its paragraph at once."""
    text = blocks[0]
    for block in blocks[1:]:
        text += ("\n" if block.startswith(("- ", "1. ")) else "\n\n") + block
    return text


def _table(node: Node, *, with_chrome: bool) -> list[str]:
    around = Node("", children=[child for child in node.children if isinstance(child, str) or child.tag not in TABLE_PARTS])
    blocks = _blocks(around, with_chrome=with_chrome)
    rows = [list(_cells(row)) for row in _rows(node)]
    cells = [cell for row in rows for cell in row]
    if all(len(row) < 2 for row in rows) or any(inner.tag in LAYOUT for cell in cells for inner in cell.walk()):
        return blocks + [block for cell in cells for block in _blocks(cell, with_chrome=with_chrome)]
    return blocks + markdown_table([[" ".join(" ".join(_blocks(cell, with_chrome=with_chrome)).split()) for cell in row] for row in rows])


def _cells(row: Node) -> Iterator[Node]:
    for child in row.children:
        if isinstance(child, Node):
            yield child
        elif child.strip():
            yield Node("td", children=[child])


def _rows(node: Node) -> Iterator[Node]:
    for child in node.children:
        if isinstance(child, Node):
            if child.tag == "tr":
                yield child
            elif child.tag in ("thead", "tbody", "tfoot"):
                yield from _rows(child)


def markdown_table(rows: list[list[str]]) -> list[str]:
    """The rows as one Markdown block, the first as its head; no block where every cell is empty."""
    rows = [row for row in rows if any(row)]
    if not rows:
        return []
    width = max(len(row) for row in rows)
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in [*row, *[""] * (width - len(row))]) + " |" for row in rows]
    return ["\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])]


def _collapsed(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _inline(node: Node) -> str:
    if node.tag == "br":
        return "\n"
    if node.tag == "img":
        return _collapsed(node.attributes.get("alt", ""))
    parts = [
        _collapsed(child) if isinstance(child, str) else "" if _is_dropped(child, with_chrome=True) else _inline(child)
        for child in node.children
    ]
    text = "".join(parts)
    if node.tag == "a" and text.strip() in PERMALINKS:
        return " " * bool(text)
    if node.tag in ("code", "kbd", "samp", "tt") and text.strip():
        return f"`{text.strip()}`" if "`" not in text else f"`` {text.strip()} ``"
    return text
