"""Every kind of file gives its text, its title and its format; what cannot be read says why."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ingest.readers import Document, Unreadable, read, read_bytes
from recollect.ingest.title import markdown_title


def test_text_is_the_file_s_own(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"\xef\xbb\xbf# Title\r\n\r\ntext\rmore\n\n")
    assert read(path) == Document("# Title\r\n\r\ntext\rmore\n\n", "Title", "markdown")


@given(st.text(st.characters(exclude_characters="\0\ufeff", exclude_categories=("Cs",))), st.sampled_from(["a.md", "a.txt", "a.py", "a"]))
def test_no_character_of_a_text_file_is_changed(text: str, name: str) -> None:
    if name == "a" and text.lstrip().startswith("<"):
        return  # without a suffix it may be a page
    assert read_bytes(name, text.encode()).text == text


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("a.py", "python"),
        ("A.RS", "rust"),
        ("Makefile", "make"),
        ("Dockerfile.dev", "docker"),
        ("x.d.ts", "typescript"),
        ("CMakeLists.txt", "cmake"),
    ],
)
def test_source_files_know_their_language(name: str, language: str) -> None:
    assert read_bytes(name, b"# not a title\n") == Document("# not a title\n", None, "code", "code", {"language": language})


@pytest.mark.parametrize(
    ("line", "language"),
    [
        ("#!/bin/sh", "shell"),
        ("#!/usr/bin/env python3", "python"),
        ("#!/usr/bin/env -S node --x", "javascript"),
        ("#! /usr/bin/perl -w", "perl"),
    ],
)
def test_scripts_without_a_suffix_are_known_by_their_first_line(line: str, language: str) -> None:
    found = read_bytes("tool", f"{line}\nx\n".encode())
    assert (found.kind, found.format, found.metadata) == ("code", "code", {"language": language})


@pytest.mark.parametrize(
    "name", ["a.csv", "a.json", "a.yaml", "a.toml", "a.xml", "a.ini", "a.rst", "LICENSE", "notes.unheard-of", "dockerfile.txt"]
)
def test_other_text_is_text(name: str) -> None:
    assert read_bytes(name, b"# a: b\n") == Document("# a: b\n", None, "text")


def test_pages_without_a_suffix_are_known_by_their_beginning() -> None:
    found = read_bytes("index", b"\n<!DOCTYPE html><title>T</title><p>x")
    assert (found.text, found.title, found.format) == ("x\n", "T", "markdown")


def test_a_page_is_decoded_as_it_says() -> None:
    page = '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r"><p>юа'
    assert read_bytes("a.html", page.encode("koi8-r")).text == "юа\n"


def test_binary_files_are_no_problem_and_broken_text_is_one() -> None:
    for name, data, problem in (("a.png", b"x", False), ("a.txt", b"a\0b", False), ("a.txt", b"\xff\xfe\x00\xd8", True)):
        with pytest.raises(Unreadable) as refused:
            read_bytes(name, data)
        assert refused.value.problem is problem


def test_what_is_no_file_any_more_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    for name, reason in (("gone.md", "vanished"), ("pipe.md", "neither"), ("folder.md", "neither|directory")):
        with pytest.raises(Unreadable, match=reason):
            read(tmp_path / name)


def test_a_file_whose_size_is_not_what_it_holds_is_told() -> None:
    # The kernel gives these a length of zero, as a file has that is being written at the moment.
    path = Path("/proc/self/status")
    if not path.exists():
        pytest.skip("needs /proc")
    with pytest.raises(Unreadable, match="changed while it was read"):
        read(path)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One\n## Two", "One"),
        ("intro\n\n### Deep ###\n", "Deep"),
        ("Under\r\n=====\r\n", "Under"),
        ("para\n\n---\n\n## After a rule", "After a rule"),
        ("```\n# comment\n```\n# Real", "Real"),
        ("~~~~\n# a\n~~~\n# b\n~~~~\n# Real", "Real"),
        ("---\ntitle: From the front\n---\n# Heading", "From the front"),
        ('---\r\nlayout: x\r\nTitle: "Quoted: yes"  # note\r\n---\r\n', "Quoted: yes"),
        ("---\ntags: []\n---\n# Heading", "Heading"),
        ("---\n\nno front matter\n\n# Heading", "Heading"),
        ("# ![logo](x.png) [Link](http://x) and `code` **bold**", "Link and code bold"),
        ("#hashtag\n\n#", None),
        ("- item\n---\ntext", None),
        ("", None),
        ("    # code\n", None),
    ],
)
def test_titles_of_markdown(text: str, title: str | None) -> None:
    assert markdown_title(text) == title


@given(st.text("#-=`~ \n\r:title\"'[]()!*<>\\ab", max_size=200))
def test_a_title_is_one_line_or_none(text: str) -> None:
    title = markdown_title(text)
    assert title is None or (title == title.strip() and title and "\n" not in title)


def notebook(*cells: dict[str, object], **rest: object) -> bytes:
    return json.dumps({"cells": cells, "metadata": {"language_info": {"name": "Python"}}, **rest}).encode()


def test_notebooks_become_markdown() -> None:
    found = read_bytes(
        "a.ipynb",
        notebook(
            {"cell_type": "markdown", "source": ["# Study\n", "text"]},
            {"cell_type": "code", "source": "x = 1\n", "outputs": [{"text": "secret output"}]},
            {"cell_type": "code", "source": ["'''```'''"]},
            {"cell_type": "raw", "source": "half \ud800"},
            {"cell_type": "code", "source": []},
        ),
    )
    assert found.text == "# Study\ntext\n\n```python\nx = 1\n```\n\n````python\n'''```'''\n````\n\nhalf \ufffd\n"
    assert (found.title, found.format, found.metadata) == ("Study", "markdown", {"language": "python"})


def test_notebooks_of_before_format_four() -> None:
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": "y = 2"}]}]}
    assert read_bytes("a.ipynb", json.dumps(old).encode()).text == "```\ny = 2\n```\n"


@pytest.mark.parametrize("data", [b"{", b"[]", b"[" * 100_000])
def test_broken_notebooks_are_told(data: bytes) -> None:
    with pytest.raises(Unreadable, match="not a notebook"):
        read_bytes("a.ipynb", data)
