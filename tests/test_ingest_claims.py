"""An id is that of one item: no file takes that of another, and links follow where one goes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect import SyncLibrary
from test_ingest_frontmatter import items, library, places, write

__all__ = ["library"]


def links(library: SyncLibrary, source: str) -> set[str]:
    """Where the links of an item lead."""
    return {visit.id for visit in library.walk(source, hops=1, types=["REFERENCES"])} - {source}


def test_no_file_takes_the_id_of_a_record(library: SyncLibrary, tmp_path: Path) -> None:
    library.import_records([b'{"id": "REQ-1", "text": "A record.", "source_ref": "somewhere"}'])
    docs = write(tmp_path, a="---\nid: REQ-1\n---\nA file.\n")
    for _ in range(2):
        report = library.index(docs)
        assert [(problem.ref, "an item that is no file" in problem.reason) for problem in report.problems] == [("docs/a.md", True)]
        assert places(library) == {"REQ-1": "somewhere", "docs/a.md": "docs/a.md"}
    library.delete("REQ-1")
    assert library.index(docs).problems == []
    assert places(library) == {"REQ-1": "docs/a.md"}


@pytest.mark.parametrize("elsewhere", [False, True])
def test_who_has_the_path_of_a_file_gives_it_back_when_the_file_comes(library: SyncLibrary, tmp_path: Path, elsewhere: bool) -> None:
    docs = write(tmp_path, x__a="---\nid: docs/z.md\n---\nA.\n")
    library.index(docs)
    assert places(library) == {"docs/z.md": "docs/x/a.md"}
    write(tmp_path, z="Z.\n")
    report = library.index(docs / "z.md" if elsewhere else docs)
    assert [problem.ref for problem in report.problems] == ["docs/x/a.md"]
    assert {item_id: item.text[-3:] for item_id, item in items(library).items()} == {"docs/x/a.md": "A.\n", "docs/z.md": "Z.\n"}
    (docs / "z.md").unlink()
    library.index(docs)
    assert places(library) == {"docs/z.md": "docs/x/a.md"}


def test_links_follow_an_id_to_another_path(library: SyncLibrary, tmp_path: Path) -> None:
    docs = write(tmp_path, a="---\nid: X\n---\n# T\n", c="[m](b.md)\n", d="[m](a.md)\n")
    library.index(docs)
    assert (links(library, "docs/c.md"), links(library, "docs/d.md")) == (set(), {"X"})
    (docs / "a.md").rename(docs / "b.md")
    library.index(docs)
    assert (links(library, "docs/c.md"), links(library, "docs/d.md")) == ({"X"}, set())


def test_links_by_path_follow_ids_that_two_files_swap(library: SyncLibrary, tmp_path: Path) -> None:
    text = "---\nid: {}\n---\nText.\n"
    docs = write(tmp_path, a=text.format("one"), b=text.format("two"), c="[a](a.md)\n", d="[[one]]\n")
    library.index(docs)
    assert (links(library, "docs/c.md"), links(library, "docs/d.md")) == ({"one"}, {"one"})
    library.index(write(tmp_path, a=text.format("two"), b=text.format("one")))
    assert (links(library, "docs/c.md"), links(library, "docs/d.md")) == ({"two"}, {"one"})


def test_a_file_that_cannot_be_read_any_more_gives_its_path_back(library: SyncLibrary, tmp_path: Path) -> None:
    docs = write(tmp_path, x__a="---\nid: docs/z.md\n---\nA.\n")
    library.index(docs)
    write(tmp_path, z="Z.\n")
    os.remove(docs / "x/a.md")
    library.index(docs / "z.md")
    assert places(library) == {"docs/z.md": "docs/z.md"}
