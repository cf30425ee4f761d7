"""The public results, as pydantic models: what a search gives back, each choice with its reason."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from .routing import Routing
from .shapes import Contract


class RoutePart(Contract):
    """What one route gave to a score, or what is known of the item. `normalised * weight` is the contribution; contributions add up to
    the score."""

    route: str = Field(description="By words (text), by meaning (vector), by name (symbol); or a reason, such as 'a test file'.")
    rank: int = Field(
        description="The place on that route, from 1; 0 for a reason, which is a factor: `score` times what the others add up to."
    )
    score: float = Field(description="The route's own score.")
    normalised: float = Field(description="The score made comparable with those of other routes.")
    weight: float = Field(description="The share of the route; those of words and meaning add up to 1.")
    contribution: float = Field(description="What it adds to the item's score.")


class Explanation(Contract):
    """Why an item is where it is: a sentence, and the parts that add up to its score."""

    sentence: str = Field(description="The reason in words.")
    parts: list[RoutePart] = Field(description="The reason in numbers, a part for each route that found it.")


class GraphEdge(Contract):
    """An edge of the graph."""

    source: str = Field(description="The node it begins at.")
    type: str = Field(description="What the source is to the target, such as IMPLEMENTS.")
    target: str = Field(description="The node it leads to.")
    weight: float = Field(default=1.0, description="How much it counts.")


class CandidateItem(Contract):
    """A source: an item that matters to the question."""

    item_id: str = Field(description="The item's id in its scope.")
    kind: str = Field(description="What the item is: a document, code, a decision, a memory...")
    source: str = Field(description="Where the item came from, such as file or record.")
    source_ref: str | None = Field(description="Its name there, such as a path.")
    title: str | None = Field(description="The item's title.")
    summary: str | None = Field(description="The item's summary.")
    status: str = Field(description="Whether the item is draft, approved, superseded or archived.")
    metadata: dict[str, Any] = Field(default_factory=dict, description="The item's own fields.")

    score: float = Field(description="How well it answers the question, of all routes together.")
    score_text: float | None = Field(description="How well by words; null where words did not find it.")
    score_vec: float | None = Field(description="How well by meaning; null where meaning did not find it.")
    rank_text: int | None = Field(description="The place by words, from 1.")
    rank_vec: int | None = Field(description="The place by meaning, from 1.")

    snippet: str | None = Field(description="The part of the text that shows best why it is here.")
    snippet_from: Literal["doc", "chunk", "unknown"] = Field(description="Whether the snippet is of the matching chunk or of all the text.")
    snippet_marks: list[tuple[int, int]] = Field(
        default_factory=list, description="Character spans of the snippet that match the question."
    )
    line_start: int | None = Field(
        default=None, description="The first line of the item that matches in the snippet, from 1; its first of all where none does."
    )
    line_end: int | None = Field(
        default=None, description="The last line of the item that matches in the snippet, from 1; its last of all where none does."
    )

    symbol: str | None = Field(default=None, description="The definition in it that matches best, where it is code.")
    version: str | None = Field(default=None, description="The item's version.")
    distance: int = Field(default=0, description="How many edges it is away from what was found: 0 where it was found itself.")
    via: list[GraphEdge] = Field(default_factory=list, description="The edges that led to it, from something that was found.")
    historical: bool = Field(default=False, description="Whether something else has taken its place, or it is archived.")
    superseded_by: str | None = Field(default=None, description="The id of what took its place.")
    duplicates: list[str] = Field(default_factory=list, description="Ids of items with nearly the same text, folded into this one.")
    why: Explanation = Field(description="Why it is where it is.")


class EvidenceAnchors(Contract):
    """Where a chunk stands in its item, so that a citation can be opened."""

    line_start: int = Field(description="Its first line, from 1.")
    line_end: int = Field(description="Its last line, which it includes.")
    symbol: str | None = Field(default=None, description="The definition that it is, where it is code.")
    parent: str | None = Field(default=None, description="What it is a part of.")


ContextLabel = Literal["parent", "sibling", "import", "callee", "caller", "test", "parent section", "child section"]


class ContextSpan(Contract):
    """Something that a reader of a chunk needs beside it: what it is in, what it uses, what uses it."""

    label: ContextLabel = Field(description="What it is to the chunk.")
    item_id: str = Field(description="The item it is a part of.")
    source_ref: str | None = Field(description="The item's name where it came from, such as a path.")
    symbol: str | None = Field(description="The definition or section that it is, with what that is in.")
    text: str = Field(description="The text that tells it: a header, a signature with the first line of its documentation, a title.")
    line_start: int = Field(description="Its first line, from 1.")
    line_end: int = Field(description="Its last line, which it includes.")


class EvidenceChunk(Contract):
    """A span of a source that bears on the question: `text` is `item.text[start_idx:end_idx]`."""

    item_id: str = Field(description="The item it is a part of.")
    chunk_id: str | None = Field(description="Its name: the same text cut again is the same chunk.")
    text: str = Field(description="The text itself.")
    start_idx: int | None = Field(description="The character of the item's text at which it begins, from 0.")
    end_idx: int | None = Field(description="The character before which it ends.")
    token_count: int | None = Field(description="How many tokens of the model it has.")
    score: float = Field(description="How well it answers the question.")
    score_text: float | None = Field(description="How well by words; null where words did not find it.")
    score_vec: float | None = Field(description="How well by meaning; null where meaning did not find it.")
    heading_path: list[str] | None = Field(description="The headings it stands under, the outermost first.")
    anchors: EvidenceAnchors | None = Field(description="Where it stands in its item.")
    context: list[ContextSpan] = Field(default_factory=list, description="What a reader needs beside it, each part labelled.")


class RetrievalStats(Contract):
    """How the answer came about: milliseconds by stage, counts, and the parameters in force. Empty where nobody asked."""

    timing_ms: dict[str, float] = Field(default_factory=dict, description="Milliseconds by stage.")
    counts: dict[str, int] = Field(default_factory=dict, description="How many hits there were at each stage.")
    params: dict[str, Any] = Field(default_factory=dict, description="The parameters in force.")


Intent = Literal["architecture", "implementation", "requirement", "decision", "general"]
EntityMatch = Literal["exact", "alias", "fuzzy"]


class EntityMention(Contract):
    """An entity that a question speaks of."""

    text: str = Field(description="What the question calls it.")
    start: int = Field(description="The character of the question at which that begins, from 0.")
    end: int = Field(description="The character before which it ends.")
    entity_id: str = Field(description="The entity's canonical id.")
    name: str = Field(description="Its name.")
    type: str = Field(description="What it is.")
    match: EntityMatch = Field(description="By its name, by an alias, or by something that is spelt nearly so.")
    others: list[str] = Field(default_factory=list, description="Ids of other entities that are called just so: it may be one of them.")


class SaidFilter(Contract):
    """A filter that a question says in words."""

    words: str = Field(description="The words that say it.")
    filter: dict[str, Any] = Field(description="What they mean, in the form of filters.")
    used: bool = Field(default=True, description="Whether it was held to; false where nothing would have been found with it.")


class QueryAnalysis(Contract):
    """How a question was understood."""

    original_query: str = Field(description="The question.")
    query_type: Intent = Field(description="What it is after.")
    entities: list[EntityMention] = Field(default_factory=list, description="What it speaks of that is known.")
    filters: list[SaidFilter] = Field(default_factory=list, description="The filters that it says in words.")
    suggested_expansions: list[str] = Field(default_factory=list, description="The same question in other words.")
    notes: list[str] = Field(default_factory=list, description="What came of it: filters that nothing passed, expansions that were used.")


class RetrievalBundle(Contract):
    """The answer: sources, evidence, and how it came about."""

    candidates: list[CandidateItem] = Field(description="The sources, best first.")
    evidence: list[EvidenceChunk] = Field(description="What in the sources bears on the question, best first.")
    facets: dict[str, dict[str, int]] = Field(default_factory=dict, description="How often each value of a field occurs among the hits.")
    stats: RetrievalStats = Field(description="How the answer came about.")
    routing: Routing | None = Field(default=None, description="What was searched for and where, in the code profile; null elsewhere.")
    analysis: QueryAnalysis | None = Field(
        default=None, description="How the question was understood, in the graph profile; null elsewhere."
    )
