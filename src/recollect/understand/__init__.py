"""Turns a question and its options into a plan. Whatever is wrong with them is said here, before any work is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..errors import InvalidInput
from ..filters import field_named
from ..filters import parse as parse_filter
from ..plan import Plan
from ..profiles import Profile
from ..textquery import Boolean, Node
from .text import parse as parse_text

MAX_K: Final = 1_000
MAX_QUERY_CHARS: Final = 100_000


def understand(
    text: str,
    *,
    scope: str,
    k: int,
    where: Mapping[str, Any] | None = None,
    mode: str,
    profile: Profile,
    min_score: float | None = None,
    min_similarity: float | None = None,
    facets: Sequence[str] = (),
    snippet_chars: int = 360,
) -> Plan:
    """The plan of a question."""
    if not isinstance(text, str):
        raise InvalidInput(f"the query is {text!r:.80}: give a text")
    if not text.strip():
        raise InvalidInput("the query is empty: say what to look for")
    if len(text) > MAX_QUERY_CHARS:
        raise InvalidInput(f"the query has {len(text)} characters, at most {MAX_QUERY_CHARS} are read: shorten it")
    if not 1 <= k <= MAX_K:
        raise InvalidInput(f"k is {k}: ask for 1 to {MAX_K} results")
    if min_similarity is not None and not 0.0 <= min_similarity <= 1.0:
        raise InvalidInput(f"min_similarity is {min_similarity}: it lies between 0 and 1")
    if min_score is not None and not min_score >= 0.0:
        raise InvalidInput(f"min_score is {min_score}: scores are 0 or more")
    if snippet_chars < 1:
        raise InvalidInput(f"snippet_chars is {snippet_chars}: give a positive number")
    query = parse_text(text, mode)
    return Plan(
        scope=scope,
        text=text,
        mode=mode,
        query=query,
        demand=_demand(query, mode),
        where=parse_filter(where),
        profile=profile,
        k=k,
        min_score=min_score,
        min_similarity=min_similarity,
        facets=tuple(field_named(name).name if field_named(name).of_item else name for name in facets),
        snippet_chars=snippet_chars,
    )


def _demand(query: Node, mode: str) -> Node | None:
    """What the user insists on. Plain words only say what to look for, and a text that means the same may use others."""
    if query == Boolean() or mode in ("any", "plain"):
        return None
    if mode != "web":
        return query
    if isinstance(query, Boolean) and (query.must or query.must_not):
        return Boolean(must=query.must, must_not=query.must_not)
    return None
