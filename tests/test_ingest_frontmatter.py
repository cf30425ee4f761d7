"""Front matter says what an item is: its id, its dates, its links. What is wrong with it is told, and never costs the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Item, Library, SyncLibrary
from recollect.evidence.boundaries import line_starts
from recollect.ingest.frontmatter import read_front
from recollect.settings import EmbedSettings, Settings
from recollect.syntax import blocks, outline_of
from recollect.syntax.front import MAX_CHARS, MAX_LINES


@pytest.fixture
def library(tmp_path: Path) -> Iterator[SyncLibrary]:
    with Library.open(tmp_path / ".recollect", options=Settings(embed=EmbedSettings(model="none"))).sync() as opened:
        yield opened


def write(folder: Path, **texts: str) -> Path:
    """Files by their names, with `__` for a slash and without their suffix. Each is seen as new, however fast it was written."""
    for name, text in texts.items():
        path = folder / "docs" / f"{name.replace('__', '/').replace('_', '-')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.stat().st_mtime_ns if path.exists() else 0
        path.write_text(text, encoding="utf-8")
        if before:
            os.utime(path, ns=(before + 1_000_000_000, before + 1_000_000_000))
    return folder / "docs"


def items(library: SyncLibrary) -> dict[str, Item]:
    async def found() -> dict[str, Item]:
        return {item.id: item async for item in library.library.items()}

    return library._portal.run(found())


def places(library: SyncLibrary) -> dict[str, str | None]:
    return {item_id: item.source_ref for item_id, item in items(library).items()}


FULL = """---
id: design-billing
title: "How we bill: the design"
kind: design
status: Accepted
version: 1.10
date: 2024-05-17
updated: 2024-06-01T12:00:00Z
subsystem: billing
tags: [money, 7, true]
author: {name: A, team: null}
weight: 0.5
number: "0012"
zip: 0012
---
# Billing

Text of the design.
"""


def test_every_key(library: SyncLibrary, tmp_path: Path) -> None:
    report = library.index(write(tmp_path, billing=FULL))
    assert (report.added, report.problems) == (1, [])
    item = items(library)["design-billing"]
    assert (item.title, item.kind, item.status, item.version) == ("How we bill: the design", "design", "approved", "1.10")
    assert (item.created_at, item.updated_at) == (datetime(2024, 5, 17, tzinfo=UTC), datetime(2024, 6, 1, 12, tzinfo=UTC))
    assert item.metadata == {
        "subsystem": "billing",
        "tags": ["money", 7, True],
        "author": {"name": "A"},
        "weight": 0.5,
        "number": "0012",
        "zip": "0012",
    }
    assert (item.source_ref, item.text) == ("docs/billing.md", FULL)
    assert [found.item_id for found in library.search("text of the design", where={"subsystem": "billing"}).candidates] == [item.id]


def test_evidence_begins_after_it_and_has_the_lines_of_the_file(library: SyncLibrary, tmp_path: Path) -> None:
    library.index(write(tmp_path, billing=FULL))
    chunk = library.search("design").evidence[0]
    assert chunk.text == "# Billing\n\nText of the design."
    assert FULL[chunk.start_idx : chunk.end_idx] == chunk.text
    assert library.span("docs/billing.md:18").text.startswith("Text of the design.")
    assert library.span("design-billing:18").text.startswith("Text of the design.")


def test_a_date_alone_counts_for_both_times(library: SyncLibrary, tmp_path: Path) -> None:
    library.index(write(tmp_path, a="---\ndate: 2020\n---\nx\n", b="---\nupdated: 2021-02\n---\ny\n"))
    found = items(library)
    assert found["docs/a.md"].created_at == found["docs/a.md"].updated_at == datetime(2020, 1, 1, tzinfo=UTC)
    assert found["docs/b.md"].created_at == found["docs/b.md"].updated_at == datetime(2021, 2, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "status"),
    [("draft", "draft"), ("Proposed", "draft"), ("accepted", "approved"), ("superseded", "superseded"), ("Deprecated", "archived")],
)
def test_a_status_may_be_called_as_elsewhere(said: str, status: str) -> None:
    front = read_front(f"---\nstatus: {said}\n---\n")
    assert (front.status, front.problems) == (status, [])


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("superseded by [ADR-2](0002-y.md)", "superseded"),
        ("Superceded by ADR-2", "superseded"),
        ("accepted, superseded by ADR-2", "superseded"),
        ("accepted (2024-05-17)", "approved"),
        ("rejected: too slow", "archived"),
    ],
)
def test_a_status_may_say_more_than_a_word(said: str, status: str) -> None:
    front = read_front(f"---\nstatus: '{said}'\n---\n")
    assert (front.status, front.metadata, front.problems) == (status, {"status": said}, [])


PROSE = "---\nNote: this guide is for operators.\n\n# Install\n\nRun the zebra.\n\n# Use\n\nPress the quagga.\n\n---\n\nThe end.\n"


def test_prose_between_two_rules_is_evidence_and_has_sections(library: SyncLibrary, tmp_path: Path) -> None:
    library.index(write(tmp_path, guide=PROSE))
    assert [chunk.text for chunk in library.search("zebra quagga").evidence] == [PROSE.strip()]
    outline = outline_of(items(library)["docs/guide.md"])
    assert outline
    assert [section.name for section in outline.definitions] == ["Install", "Use"]


@pytest.mark.parametrize(
    ("text", "is_front"),
    [
        ("---\na: 1\n---\nx\n", True),
        ("\ufeff---  \r\na: 1\r\n...\r\nx\r\n", True),
        ("---\na: 1\n---", True),
        ("  ---\na: 1\n---\nx\n", False),
        ("\n---\na: 1\n---\nx\n", False),
        ("---\na: 1\n" + "# more\n" * (MAX_LINES - 3) + "---\nx\n", True),
        ("---\na: 1\n" + "# more\n" * (MAX_LINES - 2) + "---\nx\n", False),
        (f"---\na: {'x' * MAX_CHARS}\n---\nx\n", False),
        ("---\na: 1\nfree text\n---\nx\n", False),
        ("---\na: &x 1\nb: *x\n---\nx\n", False),
        ("---\n- a\n---\nx\n", False),
        ("---\na: 1\n", False),
        (PROSE, False),
    ],
)
def test_what_is_read_as_front_matter_is_what_is_left_out_as_such(text: str, is_front: bool) -> None:
    rest = text.rfind("x") if text.rstrip().endswith("x") else len(text)
    assert blocks.outline(text, line_starts(text)).front == (rest if is_front else 0)
    assert bool(read_front(text).metadata) == is_front


@pytest.mark.parametrize(
    ("matter", "told", "kept"),
    [
        ("status: half done", "not 'half done'", {"status": "half done"}),
        ("date: last week", "not 'last week'", {"date": "last week"}),
        ("title: [a, b]", "takes a text, not a list", {"title": ["a", "b"]}),
        ("id: [a]", "it goes by its path", {}),
        (f"id: {'x' * 301}", "it goes by its path", {}),
        ("entities: [a, {b: c}]", "were left out", {}),
        ("a: 'open\nb: 1", "it is no YAML in line", {}),
        ("a: 1\n\tb: 2", "it is no YAML in line 3", {}),
        ("a: &x [1]\nb: *x", "alias *x", {}),
        ("a: " + "[" * 40 + "]" * 40, "nested more than 32 deep", {}),
        ("a: " + "- " * 30_000, "not read", {}),
        (f"a: {'x' * MAX_CHARS}", "characters", {}),
        ("? [a, b]\n: 1", "", {}),
        ("a: 1\n? {b: c}\n: 2", "a key in it is a list or an object", {}),
    ],
)
def test_what_is_wrong_is_told_and_the_file_is_taken_in(
    library: SyncLibrary, tmp_path: Path, matter: str, told: str, kept: dict[str, object]
) -> None:
    text = f"---\n{matter}\n---\n# Heading\n\nBody.\n"
    report = library.index(write(tmp_path, a=text))
    assert [problem.ref for problem in report.problems] == (["docs/a.md"] if told else [])
    assert not told or told in report.problems[0].reason
    item = items(library)["docs/a.md"]
    assert (item.text, item.status, item.metadata) == (text, "draft", kept)
    assert library.search("body").candidates


def test_tags_of_yaml_do_nothing() -> None:
    front = read_front("---\na: !!python/object/apply:os.system [echo]\nb: !x y\nc: !!int '3'\n---\n")
    assert (front.metadata, front.problems) == ({"a": ["echo"], "b": "y", "c": "3"}, [])


@given(
    st.lists(
        st.sampled_from(["a: ", "- ", "[", "]", "{", "}", "\n", "'", '"', "&x ", "*x", "!!", "|", ">", "é", "\ud800", "1", ": ", "#", "\t"])
    )
)
def test_no_front_matter_fails(parts: list[str]) -> None:
    front = read_front(f"---\nk: v\n{''.join(parts)}\n---\n")
    assert front.problems or front.metadata


def test_no_value_is_what_a_store_cannot_keep() -> None:
    front = read_front("---\na: 99999999999999999999\nb: 1.0e999\nc: .nan\ne: 2024-01-01\n---\n")
    assert front.metadata == {"a": "99999999999999999999", "b": "1.0e999", "c": ".nan", "e": "2024-01-01"}


def test_an_id_that_changes_leaves_nothing_behind(library: SyncLibrary, tmp_path: Path) -> None:
    other = "# Other\n\nSee [it](a.md).\n"
    library.index(write(tmp_path, a="# A\n\nOld.\n", b=other))
    created = items(library)["docs/a.md"].created_at
    report = library.index(write(tmp_path, a="---\nid: first\n---\n# A\n\nOld.\n"))
    assert (report.added, report.changed, report.unchanged, report.deleted) == (0, 1, 1, 0)
    assert set(items(library)) == {"first", "docs/b.md"}
    assert items(library)["first"].created_at == created
    assert [visit.id for visit in library.walk("docs/b.md", hops=1, types=["REFERENCES"])] == ["docs/b.md", "first"]
    assert library.index(tmp_path / "docs").unchanged == 2
    library.index(write(tmp_path, a="---\nid: second\n---\n# A\n\nOld.\n"))
    assert set(items(library)) == {"second", "docs/b.md"}
    library.index(write(tmp_path, a="# A\n\nOld.\n"))
    assert set(items(library)) == {"docs/a.md", "docs/b.md"}
    assert [visit.id for visit in library.walk("docs/b.md", hops=1, types=["REFERENCES"])] == ["docs/b.md", "docs/a.md"]
    (tmp_path / "docs/a.md").unlink()
    assert library.index(tmp_path / "docs").deleted == 1
    assert set(items(library)) == {"docs/b.md"}


def test_two_files_never_have_one_id(library: SyncLibrary, tmp_path: Path) -> None:
    claim = "---\nid: mine\n---\nText of {}.\n"
    report = library.index(write(tmp_path, b=claim.format("b"), c=claim.format("c")))
    assert [(problem.ref, "docs/b.md" in problem.reason) for problem in report.problems] == [("docs/c.md", True)]
    assert places(library) == {"mine": "docs/b.md", "docs/c.md": "docs/c.md"}
    report = library.index(tmp_path / "docs")
    assert (report.unchanged, [problem.ref for problem in report.problems]) == (2, ["docs/c.md"]), "it is told until it is mended"
    (tmp_path / "docs/b.md").unlink()
    report = library.index(tmp_path / "docs")
    assert report.problems == []
    assert places(library) == {"mine": "docs/c.md"}


def test_ids_that_two_files_swap(library: SyncLibrary, tmp_path: Path) -> None:
    text = "---\nid: {}\n---\nText of {}.\n"
    library.index(write(tmp_path, a=text.format("one", "a"), b=text.format("two", "b")))
    report = library.index(write(tmp_path, a=text.format("two", "a"), b=text.format("one", "b")))
    assert report.problems == []
    assert places(library) == {"two": "docs/a.md", "one": "docs/b.md"}


def test_no_file_takes_the_path_of_another(library: SyncLibrary, tmp_path: Path) -> None:
    report = library.index(write(tmp_path, a="---\nid: docs/b.md\n---\nA.\n", b="B.\n"))
    assert [problem.ref for problem in report.problems] == ["docs/a.md"]
    assert {item_id: item.text[-3:] for item_id, item in items(library).items()} == {"docs/a.md": "A.\n", "docs/b.md": "B.\n"}


def test_an_id_is_also_that_of_a_file_indexed_before(library: SyncLibrary, tmp_path: Path) -> None:
    claim = "---\nid: mine\n---\nText.\n"
    write(tmp_path, x__a=claim, y__a=claim)
    library.index(tmp_path / "docs/y")
    report = library.index(tmp_path / "docs/x")
    assert [problem.ref for problem in report.problems] == ["docs/x/a.md"]
    assert places(library) == {"mine": "docs/y/a.md", "docs/x/a.md": "docs/x/a.md"}


@pytest.mark.parametrize(
    ("name", "text", "kind", "status"),
    [
        ("adr__0007_use_postgres", "# 7. Use Postgres\n\n## Status\n\nAccepted\n", "decision", "approved"),
        ("notes__some", "# ADR-0007: Use Postgres\n\n* Status: proposed\n", "decision", "draft"),
        ("rfcs__12_text", "# A text\n\n**Status:** Superseded by RFC-13\n", "decision", "superseded"),
        ("REQ_12", "# Login\n\nStatus: Accepted\n", "requirement", "draft"),
        ("adr__README", "# Decisions\n\n## Status\n\nAccepted\n", "document", "draft"),
        ("adr__0007_x", "---\nkind: design\n---\n# X\n\n## Status\n\nAccepted\n", "design", "draft"),
        ("adr__0008_x", "---\nstatus: draft\n---\n# X\n\n## Status\n\nAccepted\n", "decision", "draft"),
        ("plain", "---\nsuperseded-by: other.md\n---\n# X\n", "document", "superseded"),
        ("guide", "# Guide\n\n## Status\n\nDeprecated\n", "document", "draft"),
        ("adr__0001_x", "---\nsuperseded-by: none\n---\n# X\n\n## Status\n\nAccepted\n", "decision", "approved"),
        ("plain", "---\nsuperseded-by: none\n---\n# X\n", "document", "draft"),
        ("plain", "---\nsuperseded-by: N/A\n---\n# X\n", "document", "draft"),
        ("plain", "---\nsuperseded-by: '-'\n---\n# X\n", "document", "draft"),
        ("plain", '---\nsuperseded-by: ""\n---\n# X\n', "document", "draft"),
        ("plain", "---\nsuperseded_by: []\n---\n# X\n", "document", "draft"),
        ("plain", "---\nsuperseded_by: [tbd]\n---\n# X\n", "document", "draft"),
        ("plain", "---\nsupersedes: other.md\n---\n# X\n", "document", "draft"),
        ("adr__0002_x", "# X\n\n```\n## Status\n\nDeprecated\n```\n", "decision", "draft"),
        ("adr__0003_x", "# X\n\n~~~\nStatus: rejected\n~~~\n\nStatus: accepted\n", "decision", "approved"),
        ("adr__0004_x", "# X\n\n## Status\n\n```\nRejected\n```\n\nAccepted\n\n## Context\n\nText.\n", "decision", "approved"),
        ("adr__0005_x", "# X\n\n## Status\n\nAccepted\n\nSuperseded by [2. Y](0002-y.md)\n\n## Context\n", "decision", "superseded"),
        ("adr__0006_x", "# X\n\nStatus\n------\n\nSuperceded by [2. Y](0002-y.md)\n", "decision", "superseded"),
        ("adr__0006_x", "# X\r\n\r\n## Status\r\n\r\nAccepted\r\n\r\nIt may yet be. Superseded by ADR-9?\r\n", "decision", "approved"),
        ("adr__0007_x", "# X\n\n## Status\n\nAccepted\n\nSuperseded by: none\n", "decision", "approved"),
        ("adr__0008_x", "# X\n\n## Status\n\nAccepted\n\nIt will be superseded by ADR-9 one day.\n", "decision", "approved"),
        ("adr__0009_x", "# X\n\nStatus: accepted, to be superseded by ADR-9\n", "decision", "approved"),
    ],
)
def test_kind_and_status_where_front_matter_is_silent(
    library: SyncLibrary, tmp_path: Path, name: str, text: str, kind: str, status: str
) -> None:
    library.index(write(tmp_path, **{name: text}))
    (item,) = items(library).values()
    assert (item.kind, item.status) == (kind, status)
