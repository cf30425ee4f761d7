"""What a search finds as frameworks take it: passages, each a text with its score and its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from ..contracts import CandidateItem, EvidenceChunk
from ..errors import InvalidInput
from ..library import Library
from ..model import Item

Of: TypeAlias = Literal["chunks", "items"]
"""Whether passages are pieces of evidence, or whole items."""

OWN: Final = frozenset({"self", "query", "k", "where", "profile", "chunks", "cancellation"})
"""What `Library.search` takes that is no further option here."""


class Passage(NamedTuple):
    """A piece of evidence, or a whole item."""

    id: str
    item_id: str
    text: str
    score: float
    metadata: dict[str, Any]
    start: int | None
    """The character of the item's text at which it begins."""
    end: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked for with every question: so many passages, of this scope, that pass this filter."""

    k: int
    scope: str | None = None
    where: Mapping[str, Any] | None = None
    profile: str | None = None
    of: Of = "chunks"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.of not in get_args(Of):
            raise InvalidInput(f"of is {self.of!r:.80}: use {' or '.join(get_args(Of))}")
        known = [name for name in signature(Library.search).parameters if name not in OWN]
        if unknown := [name for name in self.options if name not in known]:
            raise InvalidInput(f"a search has no option {unknown[0]!r}: there are {', '.join(known)}")


async def found(library: Library, query: str, wanted: Wanted) -> list[Passage]:
    """The passages for a question, best first."""
    own = library if wanted.scope is None else library.within(wanted.scope)
    chunks = wanted.k if wanted.of == "chunks" else None
    bundle = await own.search(query, k=wanted.k, chunks=chunks, where=wanted.where, profile=wanted.profile, **wanted.options)
    if wanted.of == "chunks":
        sources = {each.item_id: each for each in bundle.candidates}
        return [_of_chunk(chunk, sources[chunk.item_id]) for chunk in bundle.evidence if chunk.item_id in sources]
    stored = {each.item.id: each.item for each in await own.store.get(own.scope, [each.item_id for each in bundle.candidates])}
    return [_of_item(stored[each.item_id], each) for each in bundle.candidates if each.item_id in stored]


def _of_chunk(chunk: EvidenceChunk, source: CandidateItem) -> Passage:
    own = {
        "score": chunk.score,
        "line_start": chunk.anchors.line_start if chunk.anchors else None,
        "line_end": chunk.anchors.line_end if chunk.anchors else None,
        "start_idx": chunk.start_idx,
        "end_idx": chunk.end_idx,
        "heading_path": chunk.heading_path,
        "symbol": chunk.anchors.symbol if chunk.anchors else None,
    }
    name = chunk.chunk_id or f"{chunk.item_id}:{chunk.start_idx}-{chunk.end_idx}"
    return Passage(name, chunk.item_id, chunk.text, chunk.score, _metadata(name, source, own), chunk.start_idx, chunk.end_idx)


def _of_item(item: Item, source: CandidateItem) -> Passage:
    own = {
        "score": source.score,
        "line_start": source.line_start,
        "line_end": source.line_end,
        "start_idx": 0,
        "end_idx": len(item.text),
        "heading_path": None,
        "symbol": source.symbol,
    }
    return Passage(item.id, item.id, item.text, source.score, _metadata(item.id, source, own), 0, len(item.text))


def _metadata(name: str, source: CandidateItem, own: Mapping[str, Any]) -> dict[str, Any]:
    """Ours, and under its own keys what the item has beside them; what we do not know takes the place of nothing."""
    ours = {
        "id": name,
        "item_id": source.item_id,
        "source": source.source_ref or source.item_id,
        "title": source.title,
        "kind": source.kind,
        "status": source.status,
        "why": source.why.sentence,
        **own,
    }
    return {**ours, **source.metadata, **{key: value for key, value in ours.items() if value is not None}}
