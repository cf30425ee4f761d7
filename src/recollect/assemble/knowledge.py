"""A bundle as the results of the knowledge service. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..contracts import CandidateItem, EvidenceChunk, RetrievalBundle
from ..knowledge import ResultPassage, RetrievalResult
from .pieces import Piece, joined


def results_of(bundle: RetrievalBundle) -> list[RetrievalResult]:
    """The candidates with their evidence, in order."""
    chunks: dict[str, list[EvidenceChunk]] = {}
    for chunk in bundle.evidence:
        chunks.setdefault(chunk.item_id, []).append(chunk)
    shares = _shares([candidate.score for candidate in bundle.candidates])
    return [
        _result(candidate, share, _passages(chunks.get(candidate.item_id, ())))
        for candidate, share in zip(bundle.candidates, shares, strict=True)
    ]


def _result(candidate: CandidateItem, share: float, passages: list[ResultPassage]) -> RetrievalResult:
    return RetrievalResult(
        node_id=candidate.item_id,
        content=_content(passages) or candidate.snippet or candidate.summary or "",
        score=share,
        node_type=candidate.kind,
        title=candidate.title,
        path=candidate.source_ref,
        version=candidate.version,
        status=candidate.status,
        distance=candidate.distance,
        relationship_type=candidate.via[-1].type if candidate.via else None,
        via=candidate.via,
        similarity=candidate.score_vec,
        historical=candidate.historical,
        superseded_by=candidate.superseded_by,
        passages=passages,
        metadata=candidate.metadata,
        why=candidate.why,
    )


def _shares(scores: Sequence[float]) -> list[float]:
    """Each score as a share of the best: 1 for that, and never less than 0. Where none is above 0, the nearer to 0 the better."""
    best = max(scores, default=0.0)
    if best > 0:
        return [max(0.0, score / best) for score in scores]
    return [1.0 if score == best else best / score for score in scores]


def _passages(chunks: Iterable[EvidenceChunk]) -> list[ResultPassage]:
    """The chunks whose place is known, best first as they are given."""
    return [
        ResultPassage(
            text=chunk.text,
            start=chunk.start_idx,
            end=chunk.end_idx,
            line_start=chunk.anchors.line_start,
            line_end=chunk.anchors.line_end,
            heading_path=chunk.heading_path or [],
            score=chunk.score,
        )
        for chunk in chunks
        if chunk.start_idx is not None and chunk.end_idx is not None and chunk.anchors is not None
    ]


def _content(passages: Iterable[ResultPassage]) -> str:
    pieces = joined(Piece(passage.start, passage.end, passage.text) for passage in passages)
    return "\n\n".join(piece.text.strip("\r\n") for piece in pieces)
