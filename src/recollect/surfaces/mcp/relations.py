"""The tool `related`: what an item is linked to, what is like it, and what depends on it, nearest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...knowledge import GraphContext, GraphNode, ImpactContext, ImpactNode, RetrievalResult
from ...library import Library
from ..around import graph_text, impact_text, similar_text, steps
from ..terminal import Look
from .answer import RESULT_TOKENS, Answer, as_data, size_of, written
from .asked import Related
from .given import Relation, Relations

LOOK: Final = Look(width=120, colour=False)
HOPS: Final = {"graph": 2, "impact": 3}


async def related(library: Library, asked: Related) -> Answer:
    """What is around an item."""
    hops, types = asked.hops or HOPS.get(asked.how, 1), asked.relationship_types
    match asked.how:
        case "graph":
            return _graph(library, await library.knowledge.graph(asked.id, max_distance=hops, relationship_types=types), asked)
        case "impact":
            return _impact(library, await library.knowledge.impact(asked.id, max_distance=hops, relationship_types=types), asked)
        case _:
            return _similar(library, await library.knowledge.similar(asked.id, limit=asked.k), asked)


def _graph(library: Library, found: GraphContext, asked: Related) -> Answer:
    start, others = found.nodes[:1], found.nodes[1:]

    def text(many: int) -> str:
        return graph_text(found.model_copy(update={"nodes": [*start, *others[:many]]}), LOOK)

    relations = [_linked(node) for node in others]
    return _fitted(library, asked, relations, text, has_more=found.truncated, none=f"Nothing is linked to {asked.id!r}.")


def _linked(node: GraphNode) -> Relation:
    way = [step.begin for step in steps(node.via, node.node_id)[1:]]
    return Relation(
        id=node.node_id, title=node.title, kind=node.node_type, distance=node.distance, relationship=node.relationship_type, via=way
    )


def _impact(library: Library, found: ImpactContext, asked: Related) -> Answer:
    direct, indirect = found.direct_impact, found.indirect_impact

    def text(many: int) -> str:
        shown = {"direct_impact": direct[:many], "indirect_impact": indirect[: max(0, many - len(direct))]}
        return impact_text(found.model_copy(update=shown), LOOK)

    relations = [*(_dependent(each, 1) for each in direct), *(_dependent(each, len(each.path) - 1) for each in indirect)]
    return _fitted(library, asked, relations, text, has_more=found.truncated, none=f"Nothing depends on {asked.id!r}.")


def _dependent(node: ImpactNode, distance: int) -> Relation:
    return Relation(
        id=node.id,
        title=node.title,
        kind=node.type,
        distance=distance,
        relationship=node.relationships[-1] if node.relationships else None,
        via=node.path[1:-1],
    )


def _similar(library: Library, found: Sequence[RetrievalResult], asked: Related) -> Answer:
    def text(many: int) -> str:
        return similar_text(found[:many], LOOK)

    relations = [
        Relation(
            id=each.node_id,
            title=each.title,
            kind=each.node_type,
            similarity=None if each.similarity is None else round(each.similarity, 4),
        )
        for each in found
    ]
    return _fitted(library, asked, relations, text, has_more=False, none=f"Nothing is similar enough to {asked.id!r}.")


def _fitted(
    library: Library, asked: Related, relations: Sequence[Relation], text: Callable[[int], str], *, has_more: bool, none: str
) -> Answer:
    """As many of the relations as were asked for and a short result has room for, and how many there are beside them."""
    if not relations:
        return Answer(none, Relations(id=asked.id, related=[], notes=[none]))
    many = min(asked.k, len(relations))
    made = _made(asked, relations, text, many, has_more=has_more)
    while many > 1 and size_of(library, made.text, made.value) > RESULT_TOKENS:
        many = many * 3 // 4
        made = _made(asked, relations, text, many, has_more=has_more)
    return made


def _made(asked: Related, relations: Sequence[Relation], text: Callable[[int], str], many: int, *, has_more: bool) -> Answer:
    left = len(relations) - many
    fewer = "ask for fewer hops, for some relationship_types, or what is around one of these"
    notes = [f"{left}{' or more' if has_more else ''} are not shown: {fewer}."] if left else []
    notes += ["There may be more: something has more links than are followed."] if has_more and not left else []
    return Answer(written(as_data(text(many)), notes=notes), Relations(id=asked.id, related=list(relations[:many]), notes=notes))
