"""Reads from the words of a question what is asked for and where, without a model. A plain question stays as it is.

What narrows a search down is believed only where the words can hardly mean anything else: "in client.py" names a place, while "how is
config.toml read" names a subject, whose answer is elsewhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from ..routing import RetrievalRequest, Routed, RouterOutput
from .hints import Hints, folder_words, hints_of, without
from .parts import parts_of

MAX_CHARS: Final = 2_000
"""A longer question is a pasted text, in which nothing is looked for."""


class RuleRouter:
    """Routes by the words of the question alone."""

    async def route(self, query: str, tree: Callable[[], Awaitable[Sequence[str]]]) -> Routed:
        paths = await tree() if len(query) <= MAX_CHARS and folder_words(query) else ()
        return Routed(by_rules(query, paths), "rules")


def by_rules(query: str, paths: Sequence[str]) -> RouterOutput:
    """The requests of a question about the files of these paths."""
    if len(query) > MAX_CHARS:
        return RouterOutput(requests=[RetrievalRequest(query=query, reasoning="a long text, as it is")])
    parts = parts_of(query)
    found = [hints_of(part, paths) for part in parts]
    # "In src/store: how is ..., and how is ..." says it of all that follows.
    shared = found[0] if len(parts) > 1 and found[0].is_leading else Hints()
    requests = [
        _request(part, own, shared if place else Hints(), len(parts)) for place, (part, own) in enumerate(zip(parts, found, strict=True))
    ]
    return RouterOutput(requests=list({request.query: request for request in requests}.values()))


def _request(part: str, own: Hints, shared: Hints, count: int) -> RetrievalRequest:
    hints = own if own else shared
    return RetrievalRequest(
        query=without(part, own.spans),
        source_types=list(hints.source_types),
        folders=list(hints.folders),
        file_patterns=list(hints.file_patterns),
        reasoning="; ".join([*([f"one of {count} questions"] if count > 1 else []), *hints.reasons]) or "as it was asked",
    )
