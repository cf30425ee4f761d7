"""PDF to text, page by page, by PDFium; a form feed stands between two pages, so an offset's page is 1 + the form feeds before it."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Final

from ..errors import MissingExtra
from .decode import Unreadable, mended

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

# Alone on its line, so that whatever splits text at blank lines splits here as well.
PAGE_BREAK: Final = "\n\f\n"
# PDFium is not thread-safe, not even over two documents.
_LOCK = threading.Lock()
# What PDFium writes for a hyphen at which it found a word broken over two lines.
_BROKEN_WORD = re.compile("[\ufffe\x02]\n?")


def pdf_to_text(data: bytes) -> tuple[str, int]:
    """The text of all pages, and how many there are."""
    try:
        import pypdfium2
    except ImportError:
        raise Unreadable(str(MissingExtra("reading PDF", "docs"))) from None
    with _LOCK:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            locked = error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD
            raise Unreadable("a PDF that is protected by a password" if locked else "a PDF that is damaged") from None
        try:
            pages = [_page_text(document, number) for number in range(len(document))]
        except pypdfium2.PdfiumError as error:
            raise Unreadable(f"a PDF that is damaged: {error}") from None
        finally:
            document.close()
    if not any(pages):
        raise Unreadable(f"a PDF without text on its {len(pages)} page(s), such as a scan: run text recognition (OCR) over it first")
    return PAGE_BREAK.join(pages) + "\n", len(pages)


def _page_text(document: PdfDocument, number: int) -> str:
    page = document[number]
    try:
        content = page.get_textpage()
        try:
            text: str = content.get_text_bounded()
        finally:
            content.close()
    finally:
        page.close()
    lines = _BROKEN_WORD.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ")).split("\n")
    return mended("\n".join(line.rstrip() for line in lines)).strip("\n")
