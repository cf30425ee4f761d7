"""How a question to the knowledge service was understood, as a person reads it. Functions from values to text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .terminal import Look, clean

if TYPE_CHECKING:
    from ..contracts import EntityMention, QueryAnalysis, SaidFilter


def analysis_text(analysis: QueryAnalysis, look: Look) -> str:
    """Everything, a line each."""
    rows = analysis_rows(analysis)
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{look.faint(f'{name:<{width}}')}  {clean(value)}" for name, value in rows)


def analysis_rows(analysis: QueryAnalysis) -> list[tuple[str, str]]:
    """What it was taken to ask, whom and what it names, the filters it says, other words for it, and what came of all that."""
    return [
        ("intent", analysis.query_type),
        *(("entity", _entity(each)) for each in analysis.entities),
        *(("filter" if each.used else "left out", _filter(each)) for each in analysis.filters),
        *(("in other words", each) for each in analysis.suggested_expansions),
        *(("note", each) for each in analysis.notes),
    ]


def analysis_notes(analysis: QueryAnalysis | None) -> list[str]:
    """What is to be said of it in any case: nothing where the question was searched as it was asked."""
    if analysis is None:
        return []
    several = [each for each in analysis.entities if each.others]
    return [
        *(f"read as a filter: {_filter(each)}" for each in analysis.filters if each.used),
        *(f"several are called so: {_entity(each)}" for each in several),
        *analysis.notes,
    ]


def _entity(mention: EntityMention) -> str:
    how = (
        ""
        if mention.match == "exact"
        else f", by an alias of {mention.name}"
        if mention.match == "alias"
        else f", spelt nearly as {mention.name}"
    )
    others = f"; or {', '.join(mention.others)}" if mention.others else ""
    return f"{mention.text!r} is {mention.entity_id} ({mention.type}{how}){others}"


def _filter(said: SaidFilter) -> str:
    return f"{said.words!r} is {json.dumps(said.filter, ensure_ascii=False, default=str)}"
