"""The public results, as pydantic models: what a search gives back, each choice with its reason."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Contract(BaseModel):
    """A frozen value with exactly the fields it names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RoutePart(Contract):
    """What one route gave to a score. `normalised * weight` is the contribution; contributions add up to the score."""

    route: str
    rank: int
    score: float
    normalised: float
    weight: float
    contribution: float


class Explanation(Contract):
    """Why an item is where it is: a sentence, and the parts that add up to its score."""

    sentence: str
    parts: list[RoutePart]


class CandidateItem(Contract):
    """A source: an item that matters to the question."""

    item_id: str
    kind: str
    source: str
    source_ref: str | None
    title: str | None
    summary: str | None
    status: str
    metadata: dict[str, Any] = Field(default_factory=dict)

    score: float
    score_text: float | None
    score_vec: float | None
    rank_text: int | None
    rank_vec: int | None

    snippet: str | None
    snippet_from: Literal["doc", "chunk", "unknown"]
    snippet_marks: list[tuple[int, int]] = Field(default_factory=list)
    """Character spans of the snippet that match the question."""
    line_start: int | None = None
    line_end: int | None = None
    """The first and the last line of the item that match in the snippet, counted from 1; all of the snippet's where none do."""

    duplicates: list[str] = Field(default_factory=list)
    """Ids of items with nearly the same text, folded into this one."""
    why: Explanation


class EvidenceChunk(Contract):
    """A span of a source that bears on the question: `text` is `item.text[start_idx:end_idx]`."""

    item_id: str
    chunk_id: str | None
    text: str
    start_idx: int | None
    end_idx: int | None
    token_count: int | None
    score: float
    score_text: float | None
    score_vec: float | None
    heading_path: list[str] | None
    anchors: dict[str, Any] | None


class RetrievalStats(Contract):
    """How the answer came about: milliseconds by stage, counts, and the parameters in force."""

    timing_ms: dict[str, float]
    counts: dict[str, int]
    params: dict[str, Any]


class RetrievalBundle(Contract):
    """The answer: sources, evidence, and how it came about."""

    candidates: list[CandidateItem]
    evidence: list[EvidenceChunk]
    facets: dict[str, dict[str, int]] = Field(default_factory=dict)
    stats: RetrievalStats
