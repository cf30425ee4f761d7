"""A bundle as events and as passages: all of it JSON, in the order of the answer, and nothing that cannot be cited."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from recollect import (
    CandidateItem,
    EvidenceAnchors,
    EvidenceChunk,
    Explanation,
    RetrievalBundle,
    RetrievalStats,
    dspy_passages,
    passages,
    rag_debug,
    rag_evidence,
    rag_sources,
)


def candidate(item_id: str, **values: Any) -> CandidateItem:
    fields: dict[str, Any] = {
        "item_id": item_id,
        "kind": "document",
        "source": "file",
        "source_ref": f"docs/{item_id}.md",
        "title": item_id.title(),
        "summary": None,
        "status": "draft",
        "score": 0.5,
        "score_text": 1.0,
        "score_vec": None,
        "rank_text": 1,
        "rank_vec": None,
        "snippet": "encrypted with a key",
        "snippet_from": "chunk",
        "line_start": 3,
        "line_end": 4,
        "why": Explanation(sentence="found", parts=[]),
    }
    return CandidateItem(**(fields | values))


def chunk(item_id: str, text: str, **values: Any) -> EvidenceChunk:
    fields: dict[str, Any] = {
        "item_id": item_id,
        "chunk_id": f"{item_id}-1",
        "text": text,
        "start_idx": 0,
        "end_idx": len(text),
        "token_count": 4,
        "score": 0.5,
        "score_text": None,
        "score_vec": 0.5,
        "heading_path": None,
        "anchors": EvidenceAnchors(line_start=3, line_end=9),
    }
    return EvidenceChunk(**(fields | values))


def bundle(candidates: list[CandidateItem], evidence: list[EvidenceChunk], **stats: Any) -> RetrievalBundle:
    return RetrievalBundle(candidates=candidates, evidence=evidence, stats=RetrievalStats(**stats))


def test_sources_are_the_candidates_in_order_with_their_places() -> None:
    made = datetime(2026, 3, 1, tzinfo=UTC)
    event = rag_sources(
        bundle([candidate("backups", metadata={"made": made}), candidate("keys", snippet=None, snippet_from="unknown")], [])
    )
    assert event["event"] == "rag.sources"
    first = event["sources"][0]
    assert first == {"place": 1} | candidate("backups", metadata={"made": made}).model_dump(mode="json")
    assert (first["title"], first["line_start"], first["metadata"]) == ("Backups", 3, {"made": "2026-03-01T00:00:00Z"})
    assert (event["facets"], event["analysis"], event["routing"]) == ({}, None, None)
    assert [(source["place"], source["item_id"], source["snippet"]) for source in event["sources"][1:]] == [(2, "keys", None)]
    assert json.loads(json.dumps(event)) == event


def test_evidence_is_all_of_it_in_order() -> None:
    found = bundle([candidate("backups")], [chunk("backups", "One."), chunk("backups", "Two.")])
    event = rag_evidence(found)
    assert event == {"event": "rag.evidence", "evidence": [each.model_dump(mode="json") for each in found.evidence]}
    assert json.loads(json.dumps(event)) == event


def test_debug_is_there_only_where_there_are_stats() -> None:
    assert rag_debug(bundle([], [])) is None
    event = rag_debug(bundle([], [], timing_ms={"total": 2.5}))
    assert event == {"event": "rag.debug", "stats": {"timing_ms": {"total": 2.5}, "counts": {}, "params": {}}}
    assert json.loads(json.dumps(event)) == event


def test_a_passage_stands_under_a_line_that_can_be_cited() -> None:
    found = bundle(
        [candidate("backups"), candidate("keys", title=None, source_ref=None)],
        [
            chunk("backups", "Every night.\nEncrypted.", heading_path=["Backups", "Encryption", "Keys"]),
            chunk("keys", "A key rotates.", anchors=EvidenceAnchors(line_start=7, line_end=7)),
            chunk("backups", "Cold storage.", anchors=None),
            chunk("elsewhere", "Not among the candidates.", heading_path=["Two\n lines"]),
        ],
    )
    assert passages(found) == [
        "Backups > Encryption > Keys (docs/backups.md:3-9)\nEvery night.\nEncrypted.",
        "keys:7\nA key rotates.",
        "Backups (docs/backups.md)\nCold storage.",
        "Two lines (elsewhere:3-9)\nNot among the candidates.",
    ]


def test_dspy_gets_the_passages_with_their_scores_and_ids_as_columns() -> None:
    found = bundle([candidate("backups")], [chunk("backups", "One.", score=0.9), chunk("keys", "Two.", chunk_id=None, score=0.4)])
    columns = dspy_passages(found)
    assert columns == {
        "passages": passages(found),
        "scores": [0.9, 0.4],
        "item_ids": ["backups", "keys"],
        "chunk_ids": ["backups-1", None],
    }
    assert json.loads(json.dumps(columns)) == columns
    assert dspy_passages(bundle([], [])) == {"passages": [], "scores": [], "item_ids": [], "chunk_ids": []}
