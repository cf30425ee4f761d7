"""A file to its text, by the reader its name or its first bytes ask for; the title comes from the content, never from the name.

What reads HTML, DOCX, PDF and notebooks is imported with the first of them: that takes as long as looking at 5,000 files again.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ..kinds import LANGUAGES_BY_INTERPRETER, Reader, language_of, reader_of, suffix_of
from ..model import Format
from .decode import Unreadable, decode
from .frontmatter import Front, read_front
from .title import markdown_title

__all__ = ["Document", "Unreadable", "read", "read_bytes"]

_LOOKS_LIKE_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html[\s>])", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True)
class Document:
    """What a file says. Offsets count in `text`, which for text files is the file's own, byte order mark aside."""

    text: str
    title: str | None
    format: Format
    kind: str = "document"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    front: Front = field(default_factory=Front)


def read(path: Path) -> Document:
    """Read a file; raises Unreadable with the reason where it gives no text."""
    return read_bytes(path.name, _content(path))


def read_bytes(name: str, data: bytes) -> Document:
    """The document of a file with this name and content."""
    reader = reader_of(name)
    if reader == "binary":
        raise Unreadable(f"no reader for {suffix_of(name)} files", problem=False)
    return READERS[reader if reader != "unknown" else _sniffed(data)](name, data)


def _content(path: Path) -> bytes:
    """The bytes of a regular file, all of one moment."""
    try:
        # Without O_NONBLOCK opening a pipe would wait for a writer, perhaps for ever.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise Unreadable("neither a file nor a folder")
            data = file.read(before.st_size + 1)
            after = os.fstat(file.fileno())
    except FileNotFoundError:
        raise Unreadable("it vanished before it was read") from None
    except OSError as error:
        raise Unreadable(f"cannot read it: {(error.strerror or str(error)).lower()}") from None
    if len(data) != before.st_size or (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise Unreadable("it changed while it was read: index again")
    return data


def _sniffed(data: bytes) -> Reader:
    """The reader for content whose name tells nothing."""
    if data.startswith(b"%PDF-"):
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        from .docx import is_docx

        if is_docx(data):
            return "docx"
    if _LOOKS_LIKE_HTML.match(data):
        return "html"
    return "code" if _interpreted(data) else "text"


def _interpreted(data: bytes) -> str | None:
    """The language of a script by its first line: `#!/bin/sh`, `#!/usr/bin/env -S python3 -u`."""
    if not data.startswith(b"#!"):
        return None
    words = data[2:200].split(b"\n")[0].decode("ascii", "replace").split()
    programs = [word.rpartition("/")[2] for word in words if not word.startswith("-") and "=" not in word]
    if programs and programs[0] == "env":
        del programs[0]
    return LANGUAGES_BY_INTERPRETER.get(programs[0].lower().rstrip("0123456789.")) if programs else None


def _read_markdown(name: str, data: bytes) -> Document:
    text = decode(data)
    front = read_front(text)
    return Document(text, front.title or markdown_title(text), "markdown", metadata=front.metadata, front=front)


def _read_text(name: str, data: bytes) -> Document:
    return Document(decode(data), None, "text")


def _read_code(name: str, data: bytes) -> Document:
    language = language_of(name) or _interpreted(data)
    return Document(decode(data), None, "code", "code", {"language": language} if language else {})


def _read_html(name: str, data: bytes) -> Document:
    from .html import declared_charset, html_to_markdown

    text, title = html_to_markdown(decode(data, declared=declared_charset(data)))
    return Document(text, title, "markdown")


def _read_pdf(name: str, data: bytes) -> Document:
    from .pdf import pdf_to_text

    text, pages = pdf_to_text(data)
    return Document(text, None, "text", metadata={"pages": pages})


def _read_docx(name: str, data: bytes) -> Document:
    from .docx import docx_to_markdown

    text, title = docx_to_markdown(data)
    return Document(text, title or markdown_title(text), "markdown")


def _read_notebook(name: str, data: bytes) -> Document:
    from .notebook import notebook_to_markdown

    text, language = notebook_to_markdown(decode(data))
    return Document(text, markdown_title(text), "markdown", metadata={"language": language} if language else {})


READERS: Final[Mapping[Reader, Callable[[str, bytes], Document]]] = {
    "markdown": _read_markdown,
    "text": _read_text,
    "code": _read_code,
    "html": _read_html,
    "pdf": _read_pdf,
    "docx": _read_docx,
    "notebook": _read_notebook,
}
