"""What surrounds a piece of evidence, and how a question was routed, as a person reads it. Functions from values to text."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from .terminal import Look, clean, count, shortened

if TYPE_CHECKING:
    from ..contracts import ContextSpan, EvidenceChunk
    from ..routing import RoutedRequest, Routing

SAID: Final = {
    "parent": "in",
    "sibling": "beside",
    "import": "imports",
    "callee": "calls",
    "caller": "called by",
    "test": "tested by",
    "parent section": "under",
    "child section": "holds",
}
"""How each label is said before what it is of."""


def context_lines(chunk: EvidenceChunk, look: Look, indent: str, *, full: bool) -> list[str]:
    """A line for each label; with `full` the text of everything, under where it stands."""
    lines: list[str] = []
    for label, spans in groupby(chunk.context, key=lambda span: span.label):
        own = list(spans)
        said = SAID.get(label, label)
        if full:
            lines += [line for span in own for line in _whole(said, span, look, indent)]
        else:
            names = ", ".join(_name(span, chunk) for span in own)
            lines.append(indent + look.faint(shortened(f"{said} {names}", look.columns - len(indent))))
    return lines


def _name(span: ContextSpan, chunk: EvidenceChunk) -> str:
    """A definition by its name, and by its place where that is another file."""
    name = clean(span.symbol or " ".join(span.text.split()))
    return name if span.item_id == chunk.item_id else f"{name} ({_place(span)})"


def _whole(said: str, span: ContextSpan, look: Look, indent: str) -> list[str]:
    head = " ".join(filter(None, (said, clean(span.symbol or ""), f"({_place(span)})")))
    text = [f"{indent}  {clean(line)}" for line in span.text.rstrip().splitlines()]
    return [indent + look.faint(head), *(look.faint(shortened(line, look.columns)) for line in text)]


def _place(span: ContextSpan) -> str:
    return f"{clean(span.source_ref or span.item_id)}:{span.line_start}"


def routing_text(routing: Routing | None) -> str:
    """What is to be said of how a question was read: nothing where it was searched as it was asked."""
    if routing is None:
        return ""
    notes = [routing.note] if routing.note else []
    if len(routing.requests) == 1 and routing.router in ("rules", "llm") and (places := _places(routing.requests[0])):
        notes.append(
            f"looked only{places}" if routing.requests[0].source_types or routing.requests[0].file_patterns else f"preferred{places}"
        )
    if len(routing.requests) > 1:
        notes.append(f"asked as {count(len(routing.requests), 'question')}: {'; '.join(_asked(each) for each in routing.requests)}")
    notes += [_given_up(each) for each in routing.requests if each.answered_by != "strict" and each.found]
    return "\n".join(notes)


def _asked(request: RoutedRequest) -> str:
    return f"{clean(request.query)}{_places(request)}"


def _places(request: RoutedRequest) -> str:
    places = [*request.source_types, *request.file_patterns, *request.folders]
    return f" (in {clean(', '.join(places))})" if places else ""


def _given_up(request: RoutedRequest) -> str:
    asked = clean(", ".join([*request.source_types, *request.file_patterns]))
    searched = "everything" if request.answered_by == "all types" or not request.source_types else "all files of that type"
    return f"nothing was found in {asked}: {searched} was searched instead"
