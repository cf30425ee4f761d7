"""Recalls, and what was learnt of them, as a person reads them. Functions from values to text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .terminal import count

if TYPE_CHECKING:
    from ..memories import AugmentedContext, MemoryQuery, TuningReport

SHORT: Final = {
    "semantic_similarity": "fit",
    "entity_overlap": "entities",
    "temporal_relevance": "time",
    "importance": "importance",
    "reinforcement": "use",
}
"""The signals in a word."""
MATTERS: Final = {"entity_focused": "about entities", "time_focused": "about a time", "requires_domain_db": "needs current data"}
"""What a question is beside its category."""


def summary_text(found: AugmentedContext, *, is_logged: bool) -> str:
    """How much was recalled, and how to tell what was of use."""
    skipped = f"; {count(len(found.skipped), 'memory')} left out" if found.skipped else ""
    chosen = f"{count(len(found.memories), 'memory')} of {count(found.candidates, 'candidate')}"
    said = f"{chosen}, {found.token_count} of {found.max_tokens} tokens{skipped}"
    return f"{said}; tell what was used: `recollect feedback {found.retrieval_id} m1 ...`" if is_logged else said


def doubts(query: MemoryQuery) -> list[str]:
    """Names in a question that several have."""
    return [
        f"{each.mention_text!r} may be {' or '.join(each.candidates)}, and none was taken for it: say which with --about"
        for each in query.ambiguities
    ]


def explained(found: AugmentedContext) -> list[str]:
    """How a question was read, and why each memory came."""
    query = found.query
    also = ["procedural"] if query.query_type.procedural and query.query_type.category != "procedural" else []
    also += [said for name, said in MATTERS.items() if getattr(query.query_type, name)]
    lines = [f"question: {', '.join((query.query_type.category, *also))}"]
    if query.time_range:
        start = query.time_range.start.isoformat(timespec="seconds") if query.time_range.start else "the beginning"
        lines.append(f"time: {query.time_range.words!r} is {start} to {query.time_range.end.isoformat(timespec='seconds')}")
    lines += [
        f"entity: {each.mention_text!r} is {each.canonical_id} ({_matched(each.match)}, {each.confidence:.2f})" for each in query.entities
    ]
    lines += [f"kind: {each}" for each in query.entity_types]
    lines += [f"entity: {each}" for each in doubts(query)]
    lines.append(f"weights: {query.strategy}: " + ", ".join(f"{SHORT[name]} {weight:g}" for name, weight in found.weights.items()))
    for place, each in enumerate(found.memories, 1):
        signals = ", ".join(f"{SHORT[name]} {value:.2f}" for name, value in each.signals.model_dump().items())
        lines.append(f"m{place} {each.id} {each.score:.3f} ({signals}): {each.why}")
    lines += [f"left out {each.id}: {each.reason}" for each in found.skipped]
    return lines


def _matched(match: str) -> str:
    """How an entity was known."""
    return {
        "exact": "by its name",
        "alias": "by an alias",
        "fuzzy": "spelt nearly so",
        "context": "by what was said before",
        "domain": "by the domain database",
        "llm": "by the language model",
    }[match]


def tuning_text(report: TuningReport, *, applies: bool) -> str:
    """What the log says of the weights."""
    lines = []
    for each in report.strategies:
        lines.append(f"{each.strategy}: {each.why}")
        if each.changed:
            moves = [
                f"{SHORT[name]} {each.before[name]:g} to {after:g}" for name, after in each.after.items() if after != each.before[name]
            ]
            lines.append(f"    {', '.join(moves)}")
    if report.applied:
        lines.append("these weights count from now on; `recollect tune --reset` goes back")
    elif any(each.changed for each in report.strategies) and not applies:
        lines.append("nothing was changed: `recollect tune --apply` lets these weights count")
    return "\n".join(lines)
