"""A person's own questions: what a CSV may look like, and how what it expects is found in their store."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from recollect import InvalidInput, Library
from recollect.evaluate import Dataset, load_questions, resolved
from recollect.settings import Settings

WORDS = Settings.model_validate({"embed": {"model": "none"}})


def read(folder: Path, content: str | bytes, name: str = "questions.csv") -> Dataset:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return load_questions(path)


def plain(dataset: Dataset) -> list[tuple[str, dict[str, int]]]:
    return [(query.text, dict(dataset.qrels.get(query.id, {}))) for query in dataset.queries]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.csv", "question,expected\nwhere is a?,a.md\nwhere is b?,b.md\n"),
        ("q.csv", "Query, Path \r\nwhere is a?,a.md\r\n,\r\nwhere is b?, b.md\r\n"),
        ("q.csv", '\ufeffid;note;question\na.md;"x;y";where is a?\nb.md;;where is b?'),
        ("q.csv", "question\texpected_path\nwhere is a?\ta.md\nwhere is b?\tb.md\n"),
        ("q.TSV", "question\texpected\nwhere is a?\ta.md\nwhere is b?\tb.md\n"),
        ("q.csv", "question,expected\nwhere is a?,a.md\nwhere is b?,b.md\n".encode("utf-16")),
    ],
    ids=["plain", "Windows", "semicolons", "tabs", "tsv", "UTF-16"],
)
def test_questions_are_read(name: str, content: str | bytes, tmp_path: Path) -> None:
    dataset = read(tmp_path, content, name)
    assert plain(dataset) == [("where is a?", {"a.md": 1}), ("where is b?", {"b.md": 1})]
    assert (dataset.name, dataset.documents) == ("q", ())


def test_empty_cells_at_the_end_of_a_row_and_quotes_around_other_delimiters_change_nothing(tmp_path: Path) -> None:
    assert plain(read(tmp_path, "question,expected\nq,a.md,,\n")) == [("q", {"a.md": 1})]
    assert plain(read(tmp_path, '"question";"expected"\n"who, or what?";a.md\n')) == [("who, or what?", {"a.md": 1})]


def test_rows_of_one_question_are_one_question(tmp_path: Path) -> None:
    content = 'question,expected,grade\n"who, or\nwhat?",a.md,2\nother?,,\n"who, or\nwhat?",b.md,\n"who, or\nwhat?",c.md,0\n'
    assert plain(read(tmp_path, content)) == [("who, or\nwhat?", {"a.md": 2, "b.md": 1, "c.md": 0}), ("other?", {})]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "the first row of .* is ''"),
        ("frage,antwort\na,b\n", "is 'frage,antwort': it must name the columns, such as question,expected"),
        ("question,expected\n", "holds no question"),
        ("question,expected\nq,\n", "holds no question with what is expected"),
        (f"question,expected\n{'q' * 200_000},a.md\n", "cannot be read as CSV: field larger than"),
        ("question,expected\n,a.md\n", r"questions.csv:2: there is no question"),
        ("question,expected,grade\nq,a.md,1\nq,b.md,high\n", r"questions.csv:3: the grade is 'high'"),
        (b"question,expected\nq,\x00\n", "cannot be read: binary"),
        ("question,expected\nq,a.md\nwho, or what?,b.md\n", r"questions.csv:3: 3 cells where the header has 2: put the question in quotes"),
        ('question,expected\nq,a.md\n"who?,b.md\nwhat?,c.md\n', r"questions.csv:3: cannot be read as CSV: unexpected end of data"),
        ('question,expected\n"who?,b.md\n"what?",c.md\n', r"questions.csv:2: cannot be read as CSV: ',' expected after '\"'"),
        ('question,expected\n"who?,b.md\nwhat?,c.md"\n', r"questions.csv:2: a cell goes on over several lines"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(content: str | bytes, told: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=told) as raised:
        read(tmp_path, content)
    assert "\n" not in str(raised.value)


def test_what_is_expected_is_an_id_a_reference_or_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("a.md", "b.md"):
        (tmp_path / "docs" / name).write_text(f"# {name}\n\nThis is {name}.\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "docs")
    rows = ["by ref,docs/a.md", "from here,a.md", "with a dot,./docs/../a.md", f"in full,{tmp_path}/docs/a.md"]
    rows += ["two,a.md; ./b.md", "odd id,x|y", "missing,docs/a.md|gone.md", "nothing,"]
    dataset = read(tmp_path, "question,expected\n" + "\n".join(rows))

    async def work() -> Dataset:
        async with Library.open(tmp_path / ".recollect", options=WORDS) as library:
            await library.index(tmp_path / "docs")
            await library.add_text("A note.", item_id="x|y")
            return await resolved(library, dataset)

    found = asyncio.run(work())
    a = {"docs/a.md": 1}
    assert plain(found) == [
        *(("by ref", a), ("from here", a), ("with a dot", a), ("in full", a), ("two", {**a, "docs/b.md": 1})),
        *(("odd id", {"x|y": 1}), ("missing", {**a, "gone.md": 1}), ("nothing", {})),
    ]
    assert found.notes == ("expected but in no item, and so not found: 'gone.md'",)


def test_a_store_with_nothing_of_what_is_expected_is_told(tmp_path: Path) -> None:
    dataset = read(tmp_path, "question,expected\nq,a.md\n")

    async def work() -> Dataset:
        async with Library.open(tmp_path / ".recollect", options=WORDS) as library:
            return await resolved(library, dataset)

    with pytest.raises(InvalidInput, match=r"scope 'default' has nothing of what the questions expect, such as 'a.md'"):
        asyncio.run(work())
