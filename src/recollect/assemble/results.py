"""The public result of one ranked item: its source, its evidence, and the reason it is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..contracts import CandidateItem, EvidenceAnchors, EvidenceChunk, Explanation, GraphEdge, RoutePart
from ..evidence.choose import Weighed
from ..evidence.snippets import Snippet
from ..model import Edge, Fused, Item, Part
from ..nearness import Distance, nearness
from ..profiles import GRAPH, SYMBOL, TEXT, VECTOR


@dataclass(frozen=True, slots=True)
class Result:
    """A ranked item with everything that is said of it."""

    fused: Fused
    item: Item
    folded: tuple[str, ...]
    snippet: Snippet
    snippet_from_chunk: bool
    lines: tuple[int, int]
    """The first and the last line of what matches in the snippet, or of the snippet where nothing does."""
    symbol: str | None = None
    """The definition that the snippet is of."""
    via: tuple[Edge, ...] = ()
    """The edges that led to it, where it was not found itself."""
    walked: tuple[Edge, ...] = ()
    """The edges by which the graph found it, as one of its routes."""
    historical: bool = False
    successor: str | None = None

    def part(self, route: str) -> Part | None:
        return next((part for part in self.fused.parts if part.route == route), None)


def graph_edge(edge: Edge) -> GraphEdge:
    """An edge."""
    return GraphEdge(source=edge.source, type=edge.type, target=edge.target, weight=edge.weight)


def candidate(result: Result) -> CandidateItem:
    """The source."""
    item, snippet = result.item, result.snippet
    text, vector = result.part(TEXT), result.part(VECTOR)
    return CandidateItem(
        item_id=item.id,
        kind=item.kind,
        source=item.source,
        source_ref=item.source_ref,
        title=item.title,
        summary=item.summary,
        status=item.status,
        metadata=dict(item.metadata),
        score=result.fused.score,
        score_text=text.score if text else None,
        score_vec=vector.score if vector else None,
        rank_text=text.rank if text else None,
        rank_vec=vector.rank if vector else None,
        snippet=snippet.text or None,
        snippet_from="unknown" if not snippet.text else "chunk" if result.snippet_from_chunk else "doc",
        snippet_marks=list(snippet.marks),
        line_start=result.lines[0] if snippet.text else None,
        line_end=result.lines[1] if snippet.text else None,
        symbol=result.symbol,
        version=item.version,
        distance=len(result.via),
        via=list(map(graph_edge, result.via)),
        historical=result.historical,
        superseded_by=result.successor,
        duplicates=list(result.folded),
        why=Explanation(sentence=_sentence(result), parts=[_part(part) for part in result.fused.parts]),
    )


def evidence(
    results: Sequence[Result], chosen: Sequence[Weighed], *, chunkers: Mapping[str, str], distance: Distance
) -> list[EvidenceChunk]:
    """The chunks that were chosen, best first; `chunkers` has what each item was cut by."""
    return [_evidence(results[each.place].item, each, chunkers, distance) for each in chosen]


def _evidence(item: Item, found: Weighed, chunkers: Mapping[str, str], distance: Distance) -> EvidenceChunk:
    chunk, anchors = found.chunk, found.chunk.anchors
    return EvidenceChunk(
        item_id=item.id,
        chunk_id=chunk.id_in(item, chunkers[item.id]),
        text=item.text[chunk.start : chunk.end],
        start_idx=chunk.start,
        end_idx=chunk.end,
        token_count=chunk.token_count,
        score=found.score,
        score_text=found.text,
        score_vec=None if found.cosine is None else nearness(found.cosine, distance),
        heading_path=list(anchors.heading_path) or None,
        anchors=EvidenceAnchors(line_start=anchors.line_start, line_end=anchors.line_end, symbol=anchors.symbol, parent=anchors.parent),
    )


def _part(part: Part) -> RoutePart:
    return RoutePart(
        route=part.route,
        rank=part.rank,
        score=part.score,
        normalised=part.normalised,
        weight=part.weight,
        contribution=part.contribution,
    )


_BY_ROUTE = {TEXT: "by its words", VECTOR: "by its meaning", SYMBOL: "by its name", GRAPH: "by the graph"}


def _routes(result: Result) -> list[Part]:
    return [part for part in result.fused.parts if part.rank]


def _way(part: Part, result: Result) -> str:
    """How the graph came to it."""
    return f": {', '.join(map(_step, result.walked))}" if part.route == GRAPH and result.walked else ""


def _step(edge: Edge) -> str:
    return f"{edge.source} {edge.type} {edge.target}"


def _sentence(result: Result) -> str:
    """Why the item is here, in words."""
    if result.via:
        sentence = f"reached by {', '.join(map(_step, result.via))}"
    else:
        found = [f"{_BY_ROUTE.get(part.route, f'by {part.route}')} (rank {part.rank}{_way(part, result)})" for part in _routes(result)]
        sentence = f"found {' and '.join(found)}" if found else "found"
    for part in result.fused.parts:
        if not part.rank:
            sentence += f"; {'raised' if part.score >= 1 else 'lowered'} as it is {part.route}"
    if result.successor:
        sentence += f"; superseded by {result.successor}"
    if result.folded:
        sentence += f"; {len(result.folded)} nearly the same folded in"
    return sentence
