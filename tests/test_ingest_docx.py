"""Word documents become Markdown, and an archive made to do harm is refused."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest

from recollect.ingest.docx import MAX_PART_BYTES
from recollect.ingest.readers import Document, Unreadable, read_bytes

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STYLES = f"""<w:styles xmlns:w="{W}">
<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="Own"><w:name w:val="Own"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
<w:style w:styleId="LB"><w:name w:val="List Bullet"/></w:style></w:styles>"""
NUMBERING = f"""<w:numbering xmlns:w="{W}">
<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>
<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>
<w:num w:numId="3"><w:abstractNumId w:val="7"/></w:num></w:numbering>"""
CORE = '<cp xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title> The\n title </dc:title></cp>'


def docx(body: str, **parts: str | bytes) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>')
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def p(text: str, style: str = "", number: str = "", level: str = "0") -> str:
    numbering = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>' if number else ""
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/>{numbering}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'


def test_a_whole_document() -> None:
    inner = f"<w:tbl><w:tr><w:tc>{p('2')}</w:tc></w:tr></w:tbl>"
    table = f"<w:tbl><w:tr><w:tc>{p('A')}</w:tc><w:tc>{p('B')}</w:tc></w:tr>"
    table += f"<w:tr><w:tc>{p('1')}{inner}</w:tc><w:tc>{p('x|y')}</w:tc></w:tr></w:tbl>"
    body = (
        p("Head", "berschrift1")
        + p("Text &amp; more")
        + p("")
        + p("one", number="3")
        + p("sub", number="3", level="1")
        + p("two", number="3")
        + p("Part", "Own")
        + p("dot", "LB")
        + table
        + f"<w:sdt><w:sdtContent>{p('controlled')}</w:sdtContent></w:sdt>"
        + "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>"
    )
    notes = f'<w:footnotes xmlns:w="{W}"><w:footnote>{p("A note")}</w:footnote></w:footnotes>'
    parts = {"word/styles.xml": STYLES, "word/numbering.xml": NUMBERING, "docProps/core.xml": CORE, "word/footnotes.xml": notes}
    found = read_bytes("a.docx", docx(body, **parts))
    assert found.text == (
        "# Head\n\nText & more\n\n1. one\n   - sub\n1. two\n\n## Part\n\n- dot\n\n| A | B |\n| --- | --- |\n| 1 2 | x\\|y |\n\n"
        "controlled\n\na\tb\nc\n\nA note\n"
    )
    assert (found.title, found.format, found.kind) == ("The title", "markdown", "document")


def test_the_first_heading_is_the_title_where_the_properties_have_none() -> None:
    assert read_bytes("a.docx", docx(p("Head", "berschrift1"), **{"word/styles.xml": STYLES})).title == "Head"
    assert read_bytes("a.docx", docx(p("text"))) == Document("text\n", None, "markdown")


def test_a_text_box_is_read_once() -> None:
    mc = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    box = f"<w:txbxContent>{p('boxed')}</w:txbxContent>"
    both = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    body = f'<w:p><w:r><mc:AlternateContent xmlns:mc="{mc}">{both}</mc:AlternateContent></w:r></w:p>'
    assert read_bytes("a.docx", docx(body)).text == "boxed\n"


def test_a_document_without_its_suffix_is_known_by_its_content() -> None:
    assert read_bytes("report", docx(p("text"))).text == "text\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_document_types_are_refused(encoding: str) -> None:
    lines = [f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE x [<!ENTITY a0 "lol">']
    lines += [f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(12)]
    bomb = "".join(lines) + f']><w:styles xmlns:w="{W}">&a12;</w:styles>'
    with pytest.raises(Unreadable, match="declares a document type"):
        read_bytes("a.docx", docx(p("text"), **{"word/styles.xml": bomb.encode(encoding)}))


def test_parts_that_unpack_to_too_much_are_refused() -> None:
    with pytest.raises(Unreadable, match="too large when unpacked"):
        read_bytes("a.docx", docx(p("text"), **{"word/styles.xml": b" " * (MAX_PART_BYTES + 1)}))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a readable Word document"),
        (b"PK\x03\x04 cut short", "not a readable Word document"),
        (docx(p("text"))[:-30], "not a readable Word document"),
        (docx("<w:p>"), "not a readable Word document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "protected by a password or in the old"),
    ],
)
def test_what_is_no_document_is_told(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason) as refused:
        read_bytes("a.docx", data)
    assert refused.value.problem


def test_another_archive_is_told() -> None:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "text")
    with pytest.raises(Unreadable, match=r"no word/document\.xml"):
        read_bytes("a.docx", file.getvalue())
    with pytest.raises(Unreadable, match="binary: a ZIP archive"):
        read_bytes("archive", file.getvalue())
