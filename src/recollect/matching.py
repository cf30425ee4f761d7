"""Whether a text query holds for an item, by its terms alone: what a phrase, an exclusion or an expression demands of every result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from .analysis import beginnings, query_terms, terms
from .cancellation import stoppable
from .model import Item
from .textquery import Boolean, Node, Phrase, Prefix, Term

Parts: TypeAlias = tuple[list[str], ...]
"""The terms of an item's title, text and path. A phrase lies within one of them."""


def parts_of(item: Item) -> Parts:
    """The terms under which an item is found."""
    return terms(item.title or ""), terms(item.text), terms(item.source_ref or "")


def only_excludes(query: Node) -> bool:
    """Whether a query asks for nothing, but for some words not to be there."""
    return isinstance(query, Boolean) and not query.must and not query.should


def holds(query: Node, parts: Parts) -> bool:
    """Whether the query holds. One without `must` and `should` only excludes."""
    match query:
        case Term(text):
            return any(_times(parts, [term]) for term in query_terms(text))
        case Phrase(text):
            return _times(parts, terms(text)) > 0
        case Prefix(text):
            starts = tuple(beginnings(text))
            return bool(starts) and any(term.startswith(starts) for part in parts for term in stoppable(part))
        case Boolean(must, should, must_not):
            needed = must or not should or any(holds(node, parts) for node in should)
            return bool(needed) and all(holds(node, parts) for node in must) and not any(holds(node, parts) for node in must_not)


def _times(parts: Parts, sought: Sequence[str]) -> int:
    """How often the terms stand side by side."""
    if not sought:
        return 0
    first, length = sought[0], len(sought)
    return sum(part[at : at + length] == list(sought) for part in parts for at, term in enumerate(stoppable(part)) if term == first)
