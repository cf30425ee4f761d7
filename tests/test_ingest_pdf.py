"""PDF gives its text page by page, or the reason why it gives none."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from recollect.ingest.readers import Document, Unreadable, read_bytes

ENCRYPTED = b"/Encrypt << /Filter /Standard /V 1 /R 2 /O (%s) /U (%s) /P -44 >> /ID [(0123456789abcdef) (0123456789abcdef)]" % (
    b"x" * 32,
    b"y" * 32,
)


def pdf(*pages: list[str], trailer: bytes = b"") -> bytes:
    """A small PDF by hand: a page for each list, a line for each text."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(len(pages)))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages))]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, lines in enumerate(pages):
        content = b"BT /F1 12 Tf 72 720 Td 14 TL " + b" ".join(b"(%s) Tj T*" % line.encode() for line in lines) + b" ET"
        resources = b"/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R %s >>" % (5 + 2 * number, resources))
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size, start = len(objects) + 1, len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    return out + b"trailer << /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF" % (size, trailer, start)


def test_pages_are_divided_by_form_feeds() -> None:
    data = pdf(["First line", "second line"], [], ["Third page"])
    assert read_bytes("a.pdf", data) == Document("First line\nsecond line\n\f\n\n\f\nThird page\n", None, "text", metadata={"pages": 3})
    assert read_bytes("a.pdf", data).text.partition("Third")[0].count("\f") == 2


def test_words_broken_at_the_end_of_a_line_are_whole_again() -> None:
    assert read_bytes("a.pdf", pdf(["a hyphen-", "ated word"])).text == "a hyphenated word\n"


def test_a_file_without_its_suffix_is_known_by_its_content() -> None:
    assert read_bytes("report", pdf(["text"])).text == "text\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pdf([], []), r"without text on its 2 page\(s\)"),
        (pdf(["x"], trailer=ENCRYPTED), "protected by a password"),
        (b"%PDF-1.4\nnot much", "damaged"),
        (b"", "damaged"),
        (pdf(["text"])[:300], "damaged"),
    ],
)
def test_what_gives_no_text_is_told(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason) as refused:
        read_bytes("a.pdf", data)
    assert refused.value.problem


def test_many_threads_may_read_at_once() -> None:
    files = [pdf([f"text {number}"] * 20) for number in range(40)]
    with ThreadPoolExecutor(4) as threads:
        texts = list(threads.map(lambda data: read_bytes("a.pdf", data).text, files))
    assert [text.splitlines()[0] for text in texts] == [f"text {number}" for number in range(40)]


def test_without_the_extra_the_reason_is_the_line_to_type() -> None:
    program = (
        "import sys; sys.modules['pypdfium2'] = None\n"
        "from recollect.ingest.readers import Unreadable, read_bytes\n"
        "try: read_bytes('a.pdf', b'%PDF-1.4')\n"
        "except Unreadable as refused: print(refused.reason)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert "pip install 'recollect[docs]'" in answer
