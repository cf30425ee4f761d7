"""The tools `remember` and `recall`: what an agent keeps for later, and what it is told of that."""

from __future__ import annotations

from typing import Any

from ...assemble.writing import code_name
from ...errors import InvalidInput
from ...library import Library
from ...shapes import shown
from ..remembering import remembered_text
from .answer import Answer
from .asked import Recall, Remember
from .given import Kept, Mark, Missing, Recalled


async def remember(library: Library, asked: Remember) -> Answer:
    """Keep one memory, of the type that its parts are of."""
    given: dict[str, Any] = {name: value for name, value in asked if value is not None}
    _check(asked)
    made = await library.memory.remember(given)
    value = Kept(
        id=made.id,
        type=made.type,
        outcome=made.outcome,
        supersedes=made.supersedes,
        superseded_by=made.superseded_by,
        entities=made.entities,
    )
    return Answer(remembered_text(made), value)


def _check(asked: Remember) -> None:
    """Refuse what is nothing, or several things, in the words of the tool."""
    is_fact = any((asked.subject, asked.predicate, asked.object))
    is_procedure = any((asked.trigger, asked.action))
    if is_fact + is_procedure + (asked.covers is not None) > 1:
        raise InvalidInput("a memory is one thing: give subject, predicate and object, or trigger and action, or text and covers")
    if not (is_fact or is_procedure or asked.text):
        raise InvalidInput("there is nothing to remember: give a text, or subject, predicate and object, or trigger and action")


async def recall(library: Library, asked: Recall) -> Answer:
    """The prompt of what is remembered, and the ids behind its marks."""
    found = await library.memory.recall(
        asked.query,
        max_tokens=asked.max_tokens,
        types=asked.types,
        context={"turns": asked.turns},
        include_history=asked.include_history,
    )
    notes = [*found.query.notes, *found.notes]
    if not found.memories:
        notes.insert(0, f"Nothing is remembered that bears on {shown(asked.query)}.")
    marks = [Mark(mark=f"m{at}", id=each.id, type=each.type, why=each.why) for at, each in enumerate(found.memories, 1)]
    left_out = [Missing(id=each.id, reason=each.reason) for each in found.skipped]
    has_more = bool(found.memories or (found.domain and found.domain.tables))
    listed = ", ".join(f"{each.mark} = {code_name(each.id)}" for each in marks)
    text = "\n\n".join(filter(None, [found.prompt.rstrip() if has_more else "", f"Ids: {listed}" if listed else "", *notes]))
    value = Recalled(prompt=found.prompt, memories=marks, tokens=found.token_count, left_out=left_out, notes=notes)
    return Answer(text, value)
