"""A bundle's candidates and evidence are the results of the knowledge service."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.assemble.knowledge import results_of
from recollect.contracts import CandidateItem, EvidenceAnchors, EvidenceChunk, Explanation, GraphEdge, RetrievalBundle, RetrievalStats

TEXT = "Queues hold orders.\n\nRetries are three.\n\nAlerts go to the team."


def candidate(item_id: str, score: float, **fields: Any) -> CandidateItem:
    given = {"kind": "design", "source": "file", "source_ref": f"docs/{item_id}.md", "title": "T", "summary": None, "status": "approved"}
    given |= {"score_text": None, "score_vec": None, "rank_text": None, "rank_vec": None, "snippet": "a snippet", "snippet_from": "doc"}
    return CandidateItem(item_id=item_id, score=score, why=Explanation(sentence="found", parts=[]), **(given | fields))


def chunk(item_id: str, text: str, score: float = 1.0) -> EvidenceChunk:
    start = TEXT.index(text)
    line = 1 + TEXT.count("\n", 0, start)
    anchors = EvidenceAnchors(line_start=line, line_end=line + text.count("\n"))
    return EvidenceChunk(
        item_id=item_id,
        chunk_id=None,
        text=text,
        start_idx=start,
        end_idx=start + len(text),
        token_count=None,
        score=score,
        score_text=None,
        score_vec=None,
        heading_path=["Top"],
        anchors=anchors,
    )


def bundle(*candidates: CandidateItem, evidence: tuple[EvidenceChunk, ...] = ()) -> RetrievalBundle:
    return RetrievalBundle(candidates=list(candidates), evidence=list(evidence), stats=RetrievalStats())


def test_every_field_comes_from_the_candidate() -> None:
    edges = [GraphEdge(source="hit", type="REFERENCES", target="b"), GraphEdge(source="a", type="IMPLEMENTS", target="b")]
    fields = {
        "version": "2",
        "distance": 2,
        "via": edges,
        "score_vec": 0.7,
        "historical": True,
        "superseded_by": "new",
        "metadata": {"x": 1},
    }
    (result,) = results_of(bundle(candidate("a", 3.0, **fields)))
    assert result.model_dump(exclude={"why", "via", "passages"}) == {
        "node_id": "a",
        "content": "a snippet",
        "score": 1.0,
        "node_type": "design",
        "title": "T",
        "path": "docs/a.md",
        "version": "2",
        "status": "approved",
        "distance": 2,
        "relationship_type": "IMPLEMENTS",
        "similarity": 0.7,
        "historical": True,
        "superseded_by": "new",
        "metadata": {"x": 1},
    }
    assert result.via == edges
    assert result.passages == []


@pytest.mark.parametrize(
    ("scores", "shares"),
    [
        ([4.0, 2.0, 0.0, -1.0], [1.0, 0.5, 0.0, 0.0]),
        ([0.0, 0.0], [1.0, 1.0]),
        ([0.0, -2.0], [1.0, 0.0]),
        ([-1.0, -2.0, -4.0], [1.0, 0.5, 0.25]),
        ([1.0, 2.0], [0.5, 1.0]),
        ([], []),
    ],
)
def test_a_score_is_a_share_of_the_best(scores: list[float], shares: list[float]) -> None:
    found = results_of(bundle(*(candidate(f"i{place}", score) for place, score in enumerate(scores))))
    assert [result.score for result in found] == shares


def test_passages_are_best_first_and_the_content_has_them_in_their_order() -> None:
    evidence = chunk("a", "Alerts go to the team.", 0.9), chunk("b", "Retries are three."), chunk("a", "Queues hold orders.", 0.5)
    first, second = results_of(bundle(candidate("a", 1.0), candidate("b", 0.5), evidence=evidence))
    assert [(passage.text, passage.line_start, passage.heading_path) for passage in first.passages] == [
        ("Alerts go to the team.", 5, ["Top"]),
        ("Queues hold orders.", 1, ["Top"]),
    ]
    assert first.content == "Queues hold orders.\n\nAlerts go to the team."
    assert second.content == "Retries are three."


def test_text_that_two_passages_share_is_in_the_content_once() -> None:
    evidence = chunk("a", "Queues hold orders.\n\nRetries"), chunk("a", "Retries are three.")
    (result,) = results_of(bundle(candidate("a", 1.0), evidence=evidence))
    assert result.content == "Queues hold orders.\n\nRetries are three."
