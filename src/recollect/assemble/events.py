"""A bundle as others take it: the events of a user interface, and passages for a model that writes the answer. Pure functions."""

from __future__ import annotations

from typing import Any

from ..contracts import CandidateItem, EvidenceChunk, RetrievalBundle


def rag_sources(bundle: RetrievalBundle) -> dict[str, Any]:
    """The sources to show, in order; `place` counts them from 1. With them their facets, and how the question was read."""
    beside = bundle.model_dump(mode="json", include={"facets", "analysis", "routing"})
    return {"event": "rag.sources", "sources": [_source(place, each) for place, each in enumerate(bundle.candidates, 1)], **beside}


def rag_evidence(bundle: RetrievalBundle) -> dict[str, Any]:
    """What in the sources bears on the question, best first."""
    return {"event": "rag.evidence", "evidence": [chunk.model_dump(mode="json") for chunk in bundle.evidence]}


def rag_debug(bundle: RetrievalBundle) -> dict[str, Any] | None:
    """How the answer came about; None where nobody asked for it."""
    stats = bundle.stats.model_dump(mode="json")
    return {"event": "rag.debug", "stats": stats} if any(stats.values()) else None


def passages(bundle: RetrievalBundle) -> list[str]:
    """The evidence as texts, in order, each under a line that says where it stands:

    Backups > Encryption (docs/backups.md:12-20)
    """
    sources = {candidate.item_id: candidate for candidate in bundle.candidates}
    return [f"{_citation(chunk, sources.get(chunk.item_id))}\n{chunk.text}" for chunk in bundle.evidence]


def dspy_passages(bundle: RetrievalBundle) -> dict[str, list[Any]]:
    """The evidence in the columns that DSPy's retrievers return: `dspy.Prediction(**dspy_passages(bundle))`."""
    return {
        "passages": passages(bundle),
        "scores": [chunk.score for chunk in bundle.evidence],
        "item_ids": [chunk.item_id for chunk in bundle.evidence],
        "chunk_ids": [chunk.chunk_id for chunk in bundle.evidence],
    }


def _source(place: int, candidate: CandidateItem) -> dict[str, Any]:
    return {"place": place} | candidate.model_dump(mode="json")


def _citation(chunk: EvidenceChunk, source: CandidateItem | None) -> str:
    """One line: the title and the headings, none of them twice, and the place."""
    names = [source.title if source else None, *(chunk.heading_path or ())]
    distinct = dict.fromkeys(" ".join(name.split()) for name in names if name and name.strip())
    place = (source.source_ref if source else None) or chunk.item_id
    if chunk.anchors:
        first, last = chunk.anchors.line_start, chunk.anchors.line_end
        place += f":{first}" if first == last else f":{first}-{last}"
    return f"{' > '.join(distinct)} ({place})" if distinct else place
