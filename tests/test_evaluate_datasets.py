"""Datasets as they are found: Recollect's form, BEIR's, TREC's judgments; and what is told of those that are wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import InvalidInput
from recollect.evaluate import half_of, load
from recollect.evaluate.datasets import Dataset, Query, chosen, mostly_code

DOCUMENTS = [
    {"id": "a", "title": "Backups", "text": "The database is copied every night."},
    {"id": "b", "title": "", "text": "Η γάτα κοιμάται.", "metadata": {"year": 2024}},
    {"id": "c", "text": "A release goes to one server first."},
]
QUERIES = [{"id": "q1", "text": "how are backups made?"}, {"id": "q2", "text": "πού κοιμάται η γάτα;", "metadata": {"type": "Greek"}}]
QRELS = "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tc\t0\nq2\tb\t1\n"

Write = Callable[..., Path]


def lines(records: list[dict[str, object]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Makes a dataset of these files, besides or in place of the ordinary ones; a file that is None is left out."""

    def write(**files: str | bytes | None) -> Path:
        folder = tmp_path / "notes"
        every = {"corpus.jsonl": lines(DOCUMENTS), "queries.jsonl": lines(QUERIES), "qrels.tsv": QRELS} | {
            name.replace("__", "/").replace("_", "."): content for name, content in files.items()
        }
        for name, content in every.items():
            if content is not None:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return folder

    return write


def same(dataset: Dataset) -> None:
    assert [item.id for item in dataset.documents] == ["a", "b", "c"]
    assert [query.id for query in dataset.queries] == ["q1", "q2"]
    assert dataset.qrels == {"q1": {"a": 2, "c": 0}, "q2": {"b": 1}}
    assert dataset.notes == ()


def test_a_folder_is_read(write: Write) -> None:
    dataset = load(write())
    same(dataset)
    assert dataset.name == "notes"
    assert (dataset.documents[1].title, dataset.documents[1].metadata) == (None, {"year": 2024})
    assert dataset.queries[1] == Query("q2", "πού κοιμάται η γάτα;", {"type": "Greek"})
    assert (dict(dataset.evidence), dataset.haystacks) == ({}, None)
    assert dataset.expected("q1") == {"a": 2}
    assert dataset.expected("q3") == {}


def test_the_same_file_is_the_same_documents_every_time(write: Write) -> None:
    assert load(write()).documents == load(write()).documents


def test_windows_line_ends_and_byte_order_marks_change_nothing(write: Write) -> None:
    def windows(text: str) -> bytes:
        return b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()

    same(load(write(corpus_jsonl=windows(lines(DOCUMENTS)), queries_jsonl=windows(lines(QUERIES)), qrels_tsv=windows(QRELS))))


@pytest.mark.parametrize(
    "qrels",
    ["q1\ta\t2\nq1\tc\t0\nq2\tb\t1", "q1 0 a 2\nq1 0 c 0\n\nq2 0 b 1\n", "q1\t0\ta\t2\nq1\t0\tc\t0\nq2\t0\tb\t1.0\n"],
    ids=["no header", "TREC", "TREC with tabs"],
)
def test_judgments_come_in_three_or_four_columns(qrels: str, write: Write) -> None:
    same(load(write(qrels_tsv=qrels)))


def test_a_beir_folder_is_read_with_the_questions_of_its_split_alone(write: Write) -> None:
    beir = [{**{key: value for key, value in record.items() if key != "id"}, "_id": record["id"]} for record in DOCUMENTS]
    asked = [{"_id": query["id"], "text": query["text"], "metadata": {}} for query in QUERIES]
    folder = write(corpus_jsonl=lines(beir), queries_jsonl=lines(asked), qrels_tsv=None, qrels__test_tsv=QRELS, qrels__dev_tsv="q1\ta\t1\n")
    same(load(folder))
    assert [query.id for query in load(folder, split="dev").queries] == ["q1"]
    with pytest.raises(InvalidInput, match=r"no qrels/train.tsv: name one of its splits with --split: dev, test"):
        load(folder, split="train")


def test_a_question_without_judgments_stays_in_a_plain_folder(write: Write) -> None:
    dataset = load(write(qrels_tsv="q1\ta\t1\n"))
    assert len(dataset.queries) == 2
    assert dataset.expected("q2") == {}


def test_judgments_of_what_is_not_there_are_told(write: Write) -> None:
    dataset = load(write(qrels_tsv="q1\ta\t1\nq1\tgone\t1\nq9\ta\t1\nq9\tb\t1\n"))
    assert dataset.notes == ("2 judgments of unknown questions left out", "1 judgment of unknown documents, which count as not found")
    assert dataset.qrels == {"q1": {"a": 1, "gone": 1}}


def test_documents_without_text_are_left_out_and_told(write: Write) -> None:
    empty = lines([*DOCUMENTS, {"id": "d", "title": "", "text": " "}, {"id": "a", "text": "Another text for the same id."}])
    dataset = load(write(corpus_jsonl=empty))
    assert len(dataset.documents) == 3
    assert dataset.documents[0].text == "Another text for the same id."
    assert dataset.notes == ("1 document without any text left out", "1 document with the id of an earlier one took its place")


def test_questions_and_judgments_that_come_twice_are_told(write: Write) -> None:
    twice = lines([*QUERIES, {"id": "q1", "text": "who makes backups?"}])
    dataset = load(write(queries_jsonl=twice, qrels_tsv="q1\ta\t1\nq2\tb\t1\nq1\ta\t2\nq2\tb\t1\n"))
    assert (dataset.queries[0].text, dataset.qrels["q1"]) == ("who makes backups?", {"a": 2})
    assert dataset.notes == (
        "1 question with the id of an earlier one took its place",
        "1 judgment with another grade than an earlier one took its place",
    )


def test_unknown_documents_of_spans_and_haystacks_are_told(write: Write) -> None:
    spans = [{"query_id": query, "doc_id": "gone", "start": 0, "end": 1} for query in ("q1", "q2", "q9")]
    dataset = load(write(evidence_jsonl=lines(spans), haystacks_jsonl=lines([{"query_id": "q1", "doc_ids": ["a", "y", "x"]}])))
    assert dataset.notes == (
        "evidence.jsonl names 1 unknown document, such as 'gone'",
        "haystacks.jsonl names 2 unknown documents, such as 'x'",
    )


def test_a_graph_is_read_as_it_is(write: Write) -> None:
    graph = '{"doc_id": "a", "entities": ["Backups"]}\n{"name": "Greece"}\n'
    assert load(write(graph_jsonl=graph)).graph == tuple(graph.encode().splitlines(keepends=True))
    assert load(write(graph_jsonl="")).graph == ()


def test_spans_and_haystacks_are_read(write: Write) -> None:
    spans = [{"query_id": "q1", "doc_id": "a", "start": 4, "end": 12}, {"query_id": "q1", "doc_id": "gone", "start": 0, "end": 1}]
    dataset = load(write(evidence_jsonl=lines(spans), haystacks_jsonl=lines([{"query_id": "q1", "doc_ids": ["a", "b"]}])))
    assert dataset.evidence == {"q1": (("a", 4, 12),)}
    assert dataset.haystacks == {"q1": ("a", "b")}


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"corpus_jsonl": None}, "has no corpus.jsonl"),
        ({"queries_jsonl": None}, "has no queries.jsonl"),
        ({"qrels_tsv": None}, "has no qrels.tsv"),
        ({"corpus_jsonl": '{"id": "a", "text": "x"}\n{"id": }\n'}, r"corpus.jsonl:2:8: not JSON"),
        ({"corpus_jsonl": '{"id": "a", "text": 3}\n'}, r"corpus.jsonl:1:1: 'text' takes a text, not 3"),
        ({"corpus_jsonl": b'{"id": "a", "text": "\xff"}\n'}, r"corpus.jsonl:1:22: not UTF-8"),
        ({"corpus_jsonl": "\n"}, "holds no document"),
        ({"queries_jsonl": ""}, r"queries.jsonl' is empty"),
        ({"qrels_tsv": ""}, r"qrels.tsv' is empty"),
        ({"queries_jsonl": '{"id": "q1", "text": "x"}\n\n{"text": "who?"}\n'}, r"queries.jsonl:3: the question 'who\?' has no id"),
        ({"queries_jsonl": '{"id": "q1", "text": "x"}\n\n{"id": }\n'}, r"queries.jsonl:3:8: not JSON"),
        ({"queries_jsonl": '{"id": "q1"}\n'}, r"queries.jsonl:1:1: the record has no 'text'"),
        ({"queries_jsonl": '{"id": "q1", "title": "t", "text": " "}\n'}, "the question 'q1' is empty"),
        ({"qrels_tsv": "q1\ta\t1\nq1\tb\tgood\n"}, r"qrels.tsv:2: the grade is 'good'"),
        ({"qrels_tsv": "q1\ta\t1\nq1\n"}, r"qrels.tsv:2: a judgment is a query, a document and a grade"),
        ({"qrels_tsv": b"q1\ta\t1\nq\xff\tb\t1\n"}, r"qrels.tsv:2:2: not UTF-8"),
        ({"qrels_tsv": "q1\tgone\t1\nq9\ta\t1\nq1\ta\t0\n"}, "no judgment of .* names a question and a document that are there"),
        (
            {"evidence_jsonl": '{"query_id": "q1", "doc_id": "a", "start": 0, "end": 99}\n'},
            r"evidence.jsonl:1: the span 0 to 99 is not in 'a'",
        ),
        ({"evidence_jsonl": '{"query_id": "q1", "doc_id": "a"}\n'}, r"evidence.jsonl:1: evidence is a 'query_id'"),
        ({"evidence_jsonl": '\n{"query_id": \n'}, r"evidence.jsonl:2:13: not JSON"),
        ({"haystacks_jsonl": '{"query_id": "q1", "doc_ids": []}\n'}, r"haystacks.jsonl:1: a haystack is a 'query_id'"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(files: dict[str, str | bytes | None], told: str, write: Write) -> None:
    with pytest.raises(InvalidInput, match=told) as raised:
        load(write(**files))
    assert "\n" not in str(raised.value)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no folder"):
        load(tmp_path / "nowhere")


def test_documents_that_name_a_programming_language_are_code(write: Write) -> None:
    code = [{"id": "a", "text": "def a(): ...", "metadata": {"language": "Python"}}, {"id": "b", "text": "fn b() {}", "format": "code"}]
    prose = [{"id": "c", "text": "Guten Tag", "metadata": {"language": "de"}}]
    dataset = load(write(corpus_jsonl=lines([*code, *prose])))
    assert [item.format for item in dataset.documents] == ["code", "code", "text"]
    assert mostly_code(dataset.documents)
    assert not mostly_code(dataset.documents[1:])


def test_halves_share_the_questions_and_are_always_the_same() -> None:
    queries = [Query(f"q{number}", "?") for number in range(400)]
    halves = {half: chosen(queries, half=half) for half in ("train", "test")}
    assert sorted(query.id for half in halves.values() for query in half) == sorted(query.id for query in queries)
    assert 160 < len(halves["train"]) < 240
    assert [half_of(f"q{number}") for number in range(4)] == ["train", "test", "train", "train"]


def test_a_limit_draws_the_same_questions_however_they_are_ordered() -> None:
    queries = [Query(f"q{number}", "?") for number in range(100)]
    few = [query.id for query in chosen(queries, limit=10)]
    assert len(few) == 10
    assert [query.id for query in chosen(queries[::-1], limit=10)] == few[::-1]
    assert {query.id for query in chosen(queries, limit=5)} < set(few)
    assert few != [query.id for query in queries[:10]]


@pytest.mark.parametrize("options", [{"half": "dev"}, {"limit": 0}])
def test_a_choice_that_makes_no_sense_is_told(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        chosen([Query("q", "?")], **options)  # type: ignore[arg-type]
