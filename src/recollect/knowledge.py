"""The public values of the knowledge service: what it takes, and the results, contexts and graphs that it gives."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

from pydantic import Field, field_validator

from .contracts import Explanation, GraphEdge, QueryAnalysis
from .prefs import moment
from .shapes import MAX_QUERY_CHARS, Contract, Section

QueryType = Literal["semantic", "exact", "hybrid"]
ContextFormat = Literal["markdown", "xml", "json"]
Relevance = Literal["high", "medium", "low"]
PassageLabel = Literal["direct", "related", "historical", "supplementary"]

MAX_LIMIT: Final = 1_000
MAX_DISTANCE: Final = 5
MAX_CONTEXT: Final = 1_000_000


class Asking(Section):
    """What every question to the knowledge service may say. What is null is as the settings have it."""

    filters: dict[str, Any] = Field(default={}, description='What must hold for every result, such as {"status": "approved"}.')
    include_history: bool = Field(default=False, description="Whether what was superseded or archived comes too, labelled as history.")
    include_code: bool = Field(default=True, description="Whether code comes too.")
    max_graph_distance: int | None = Field(
        default=None, ge=0, le=MAX_DISTANCE, description="How many edges away from a hit something may be and still come; 0: hits alone."
    )
    min_score: float | None = Field(default=None, ge=0, le=1, description="The least similarity, (1 + cosine) / 2, to be found by meaning.")
    as_of: datetime | None = Field(default=None, description="A time: what was current then.")
    unread: list[str] = Field(
        default=[], description="Words of the question, as it has them, that are to be read neither as an entity nor as a filter."
    )

    @field_validator("as_of", mode="before")
    @classmethod
    def _as_of(cls, value: Any) -> Any:
        return moment(value, "as_of")


class RetrievalQuery(Asking):
    """A question to the knowledge service."""

    text: str = Field(description="What to look for.", json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARS})
    query_type: QueryType | None = Field(default=None, description="By meaning (semantic), by words (exact), or both (hybrid).")
    limit: int | None = Field(
        default=None, ge=1, le=MAX_LIMIT, description="The most results that are found; what the graph adds comes on top."
    )


class RetrievalOptions(Asking):
    """How a context is to be made."""

    search_type: QueryType | None = Field(default=None, description="By meaning (semantic), by words (exact), or both (hybrid).")
    max_results: int | None = Field(default=None, ge=1, le=MAX_LIMIT, description="The most results that are found.")
    max_length: int | None = Field(default=None, ge=1, le=MAX_CONTEXT, description="The most tokens of the whole context.")
    format: ContextFormat | None = Field(default=None, description="How the context is written.")
    include_metadata: bool | None = Field(
        default=None, description="Whether kind, relevance, relationship and headings are written beside a passage."
    )


class AgentRequest(Section):
    """What an agent is about to do, from which its question is made."""

    action: str = Field(min_length=1, max_length=MAX_QUERY_CHARS, description="What it will do, such as 'implement'.")
    target_type: str = Field(default="", max_length=MAX_QUERY_CHARS, description="To what, such as 'payment service'.")
    content: str | None = Field(default=None, description="What it works on; its beginning counts.")
    subsystem: str | None = Field(default=None, description="Only what belongs to this subsystem, where anything does.")


class ResultPassage(Contract):
    """A span of a result that bears on the question: `text` is the item's text from `start` to `end`."""

    text: str = Field(description="The text itself.")
    start: int = Field(description="The character of the item's text at which it begins, from 0.")
    end: int = Field(description="The character before which it ends.")
    line_start: int = Field(description="Its first line, from 1.")
    line_end: int = Field(description="Its last line, which it includes.")
    heading_path: list[str] = Field(default_factory=list, description="The headings it stands under, the outermost first.")
    score: float = Field(description="How well it answers the question.")


class RetrievalResult(Contract):
    """One result: an item that was found, or that the graph leads to from one."""

    node_id: str = Field(description="The item's id.")
    content: str = Field(description="Its passages that bear on the question, in their order; the beginning of its text where none does.")
    score: float = Field(description="How good it is, as a share of the best result: 1 for that.")
    node_type: str = Field(description="Its kind: architecture, design, requirement, decision, code, document...")
    title: str | None = Field(description="Its title.")
    path: str | None = Field(description="Where it came from, such as a path.")
    version: str | None = Field(description="Its version.")
    status: str = Field(description="Whether it is draft, approved, superseded or archived.")
    distance: int = Field(description="How many edges it is away from what was found: 0 where it was found itself.")
    relationship_type: str | None = Field(description="The type of the last edge that led to it; null where it was found itself.")

    via: list[GraphEdge] = Field(default_factory=list, description="The edges that led to it, the first begins at a result that was found.")
    similarity: float | None = Field(
        default=None, description="How near it is by meaning, (1 + cosine) / 2; null where it was found otherwise."
    )
    historical: bool = Field(default=False, description="Whether something else has taken its place, or it is archived.")
    superseded_by: str | None = Field(default=None, description="The id of what took its place.")
    passages: list[ResultPassage] = Field(default_factory=list, description="What in it bears on the question, best first.")
    metadata: dict[str, Any] = Field(default_factory=dict, description="Its own fields.")
    why: Explanation = Field(description="Why it is where it is.")


class Citation(Contract):
    """Where a passage comes from, so that it can be opened."""

    number: int = Field(description="By which the context names it, from 1.")
    node_id: str = Field(description="The item's id.")
    title: str | None = Field(description="Its title.")
    version: str | None = Field(description="Its version.")
    status: str = Field(description="Its status.")
    path: str | None = Field(description="Where it came from, such as a path.")
    line_start: int | None = Field(description="The first line of the passage, from 1; null where it is not known.")
    line_end: int | None = Field(description="The last line, which it includes.")
    start: int | None = Field(
        default=None, description="The character of the item's text at which the passage begins, from 0; null where it is not known."
    )
    end: int | None = Field(default=None, description="The character before which it ends.")


class ContextPassage(Contract):
    """A passage of a context, with its citation."""

    label: PassageLabel = Field(description="Found itself (direct, or supplementary where less so), by the graph (related), or historical.")
    node_type: str = Field(description="The item's kind.")
    citation: Citation = Field(description="Where it comes from.")
    text: str = Field(description="The text, as it stands in the item.")
    heading_path: list[str] = Field(default_factory=list, description="The headings it stands under, the outermost first.")
    cut: bool = Field(default=False, description="Whether it ends before the passage does, at the end of a sentence or a line, to fit.")
    relevance: float = Field(description="The score of its item, as a share of the best.")
    relationship: str | None = Field(
        default=None, description="The edge that led to its item, where one did, such as 'IMPLEMENTS [2]' or '[2] IMPLEMENTS this'."
    )


class ContextSection(Contract):
    """A part of a context."""

    title: str = Field(description="What it is called.")
    relevance: Relevance = Field(description="How much it matters.")
    content: str = Field(description="The section as it is written in the context.")
    passages: list[ContextPassage] = Field(description="What it is made of, in order.")


class LeftOut(Contract):
    """A result that is not, or not wholly, in a context."""

    node_id: str = Field(description="The item's id.")
    title: str | None = Field(description="Its title.")
    reason: str = Field(description="Why, such as 'no room: 512 tokens' or 'the same text as docs/a.md'.")


class AssembledContext(Contract):
    """What an agent should read before it answers, within a length."""

    query: str = Field(description="The question.")
    text: str = Field(description="The whole context, as it is given to a model.")
    format: ContextFormat = Field(description="How it is written.")
    sections: list[ContextSection] = Field(
        description="Its parts: Primary, Supporting, Historical, of which those with nothing in them are left out."
    )
    total_results: int = Field(description="How many results there were.")
    token_count: int = Field(description="How many tokens of the model the text has.")
    max_length: int = Field(description="How many it was allowed to have.")
    truncated: bool = Field(description="Whether anything was left out or cut for want of room.")
    left_out: list[LeftOut] = Field(default_factory=list, description="What was left out, and why.")
    analysis: QueryAnalysis | None = Field(default=None, description="How the question was understood.")
    notes: list[str] = Field(default_factory=list, description="What else a reader should know, such as a filter that nothing passed.")


class GraphNode(Contract):
    """A node that a walk reached: an item, a definition or a section in one, or an entity."""

    node_id: str = Field(description="Its id.")
    node_type: str = Field(description="The item's kind; 'symbol' for something in an item, 'entity' for an entity.")
    title: str | None = Field(description="Its title, or its name.")
    path: str | None = Field(default=None, description="Where the item came from, such as a path.")
    version: str | None = Field(default=None, description="The item's version.")
    status: str | None = Field(default=None, description="The item's status.")
    distance: int = Field(description="How many edges it is away from the start.")
    relationship_type: str | None = Field(description="The type of the last edge that led to it; null for the start.")
    via: list[GraphEdge] = Field(default_factory=list, description="The edges that led to it, from the start.")


class GraphContext(Contract):
    """What is around a node."""

    start_node: str = Field(description="Where the walk began.")
    max_distance: int = Field(description="How far it went.")
    nodes: list[GraphNode] = Field(description="What it reached, nearest first, the start before all.")
    edges: list[GraphEdge] = Field(description="The edges by which each was reached.")
    truncated: bool = Field(description="Whether a node had more edges than were followed, or there were more nodes than are shown.")


class ImpactNode(Contract):
    """Something that depends on a node."""

    id: str = Field(description="Its id.")
    title: str | None = Field(description="Its title.")
    type: str = Field(description="Its kind.")
    path: list[str] = Field(description="The ids from the node to it, both included.")
    relationships: list[str] = Field(description="The types of the edges between them.")


class ImpactContext(Contract):
    """What would have to be looked at if a node changed."""

    node_id: str = Field(description="What would change.")
    direct_impact: list[ImpactNode] = Field(description="What depends on it.")
    indirect_impact: list[ImpactNode] = Field(description="What depends on that, and so on.")
    total_affected: int = Field(description="How many there are of both.")
    truncated: bool = Field(default=False, description="Whether there are more than were followed.")


class StageMetrics(Contract):
    """How long a stage took, of the last searches."""

    count: int = Field(description="How often it ran, of those that are remembered.")
    average_ms: float = Field(description="Its mean.")
    p95_ms: float = Field(description="What 95 of 100 took at most.")


class RetrievalMetrics(Contract):
    """How searches have gone since the library was opened."""

    queries: int = Field(description="How many were asked.")
    avg_retrieval_time: float = Field(description="Milliseconds of a search, on average; answers from the cache count too.")
    p95_retrieval_time: float = Field(description="What 95 of 100 took at most.")
    cache_hit_rate: float = Field(description="The share that the cache answered, of those that asked it; 0 before the first.")
    avg_results: float = Field(description="Results of a search, on average.")
    vector_search_time: float = Field(description="Milliseconds of the search by meaning, on average.")
    graph_time: float = Field(description="Milliseconds of walks through the graph, on average.")
    stages: dict[str, StageMetrics] = Field(description="Every stage by name.")
