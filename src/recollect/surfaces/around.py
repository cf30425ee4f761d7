"""Contexts, likenesses, graphs and what depends on what, as a person reads them. Functions from values to text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from .terminal import INDENT, Look, clean, columns_of, count, shortened

if TYPE_CHECKING:
    from ..contracts import GraphEdge
    from ..knowledge import AssembledContext, GraphContext, GraphNode, ImpactContext, ImpactNode, RetrievalResult

NAMED: Final = 5
"""How many of what was left out are told by name."""
MIN_TITLE: Final = 20
DEFINES: Final = "DEFINES"


# Contexts.


def length_text(made: AssembledContext) -> str:
    """How long a context is, and what is in it."""
    parts = [f"{section.title}: {count(len(section.passages), 'passage')}" for section in made.sections]
    return f"{made.token_count} of {made.max_length} tokens; {', '.join(parts) or 'nothing fits'}"


def left_out_text(made: AssembledContext) -> str:
    """What is not, or not wholly, in a context, and why."""
    told = [f"{each.title or each.node_id} ({each.reason})" for each in made.left_out[:NAMED]]
    more = len(made.left_out) - len(told)
    return f"left out or cut: {'; '.join(told)}{f'; and {more} more' if more else ''}" if told else ""


# Likenesses.


def similar_text(found: Sequence[RetrievalResult], look: Look) -> str:
    """The items, the most similar first."""
    return "\n".join(_similar(place, each, look) for place, each in enumerate(found, 1))


def _similar(place: int, found: RetrievalResult, look: Look) -> str:
    heading, score = f"{place:>2}. ", f"{found.score if found.similarity is None else found.similarity:.4f}"
    where = found.path or found.node_id
    title = shortened(clean(found.title or where), look.columns - len(heading) - len(score) - 2)
    notes = [where] if found.title else []
    notes += [f"id {found.node_id}"] if found.path not in (None, found.node_id) else []
    notes += [f"{found.node_type}, {found.status}"]
    return f"{heading}{look.strong(title)}  {look.faint(score)}\n{INDENT}{look.faint(clean('  '.join(notes)))}"


# Ways through the graph.


class Step(NamedTuple):
    """An edge on a way, as it is gone along: an arrow against it points back."""

    begin: str
    edge: GraphEdge
    end: str

    @property
    def text(self) -> str:
        arrow = "→" if self.edge.target == self.end else "←"
        return f" {arrow} {self.edge.type} {arrow} {self.end}"


def steps(via: Sequence[GraphEdge], end: str) -> list[Step]:
    """The edges that lead to a node, in order. An edge may be followed against its direction."""
    found: list[Step] = []
    for edge in reversed(via):
        forwards = edge.target == end or edge.source != end
        found.append(Step(edge.source, edge, edge.target) if forwards else Step(edge.target, edge, edge.source))
        end = found[-1].begin
    return found[::-1]


def way_text(via: Sequence[GraphEdge], end: str) -> str:
    """`docs/a.md → IMPLEMENTS → docs/b.md ← REFERENCES ← docs/c.md`."""
    way = steps(via, end)
    return clean("".join([way[0].begin, *(step.text for step in way)])) if way else ""


# The graph around a node.


def graph_text(found: GraphContext, look: Look) -> str:
    """A tree: under each node what it led to, with the type of the link, which points as its arrow does."""
    known = {node.node_id for node in found.nodes}
    under: dict[str, list[tuple[GraphNode, Step]]] = {}
    for node in found.nodes:
        if node.via and node.node_id != found.start_node:
            step = steps(node.via, node.node_id)[-1]
            under.setdefault(step.begin if step.begin in known else found.start_node, []).append((node, step))
    start = next((node for node in found.nodes if node.node_id == found.start_node), None)
    head = _node(start, look, 0) if start else look.strong(clean(found.start_node))
    return "\n".join([head, *_branches(found.start_node, under, look, "")])


def _branches(parent: str, under: dict[str, list[tuple[GraphNode, Step]]], look: Look, indent: str) -> Iterator[str]:
    own = under.pop(parent, [])
    for place, (node, step) in enumerate(own, 1):
        is_last = place == len(own)
        arrow = "→" if step.edge.target == step.end else "←"
        lead = f"{indent}{'└─' if is_last else '├─'} {arrow} {clean(step.edge.type)}  "
        yield f"{look.faint(lead)}{_node(node, look, len(lead))}"
        yield from _branches(node.node_id, under, look, f"{indent}{'   ' if is_last else '│  '}")


def _node(node: GraphNode, look: Look, used: int) -> str:
    kind = ", ".join(filter(None, (node.node_type, node.status)))
    return _named(node.node_id, node.title, kind, look, used)


def _named(node_id: str, title: str | None, kind: str, look: Look, used: int) -> str:
    """The id whole, since it is what other commands take; the title, where the id does not end with it, as far as there is room."""
    name, kind = clean(node_id), clean(f"({kind})")
    room = look.columns - used - sum(map(columns_of, name + kind)) - 4
    called = shortened(clean(title), max(MIN_TITLE, room)) if title and not node_id.endswith(title) else ""
    return "  ".join(filter(None, (look.strong(name), called, look.faint(kind))))


# What depends on a node.


def impact_text(found: ImpactContext, look: Look) -> str:
    """What depends on it directly, and what depends on that, each with its way there."""
    parts = (("direct", found.direct_impact), ("indirect", found.indirect_impact))
    return "\n".join("\n".join([look.strong(name), *(_affected(each, look) for each in nodes)]) for name, nodes in parts if nodes)


def _affected(node: ImpactNode, look: Look) -> str:
    """From the dependent one to what would change."""
    way = node.path[::-1]
    links = zip(way, reversed(node.relationships), way[1:], strict=False)
    told = clean("".join([way[0], *(_dependence(begin, kind, end) for begin, kind, end in links)]))
    return f"  {_named(node.id, node.title, node.type, look, 2)}\n{INDENT}{look.faint(told)}"


def _dependence(begin: str, kind: str, end: str) -> str:
    """A link points to what is depended on; only what something defines is defined by it."""
    arrow = "←" if kind == DEFINES and begin.startswith(end) else "→"
    return f" {arrow} {kind} {arrow} {end}"
