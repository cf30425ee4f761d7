"""The tool `search`: sources best first, as many as asked for, and as much of each as a short result has room for."""

from __future__ import annotations

from typing import Any, Final

from ...assemble.writing import NOTE, code_name, escaped
from ...contracts import CandidateItem
from ...library import Library
from ...shapes import shown
from .answer import RESULT_TOKENS, Answer, as_data, size_of, tokens_of, written
from .asked import Search
from .given import DATA, Source, Sources

SNIPPET_CHARS: Final = 200
"""Eight sources with snippets of so many take 700 to 1,150 tokens; of code, which has the shortest tokens, mostly seven fit."""
SPARE: Final = 60
"""Tokens for what is said after the sources."""


async def search(library: Library, asked: Search) -> Answer:
    """What the library finds for the same question, in its order."""
    found = await library.search(
        asked.query,
        k=asked.k,
        where=_filter(asked),
        mode=asked.mode,
        profile=asked.profile,
        include_history=asked.include_history,
        snippet_chars=SNIPPET_CHARS,
    )
    notes = list(found.analysis.notes) if found.analysis else []
    if not found.candidates:
        said = f"Nothing was found for {shown(asked.query)}: try other words, or fewer conditions."
        return Answer(written(said, notes=notes, is_data=False), Sources(sources=[], notes=[said, *notes]))
    whole = [_source(each) for each in found.candidates]
    room = _room_for(library, whole)
    sources = [*whole[:room], *(each.model_copy(update={"why": None, "snippet": None}) for each in whole[room:])]
    if room < len(whole):
        notes.append(f"No room for why and snippet from number {room + 1} on: give their places to `context` as ids.")
    entries = "\n\n".join(_entry(number, each) for number, each in enumerate(sources, 1))
    return Answer(written(entries, notes=notes), Sources(sources=sources, notes=notes))


def _filter(asked: Search) -> dict[str, Any] | None:
    if asked.kind is None:
        return asked.where
    kind = {"kind": asked.kind}
    return {"AND": [asked.where, kind]} if asked.where else kind


def _source(found: CandidateItem) -> Source:
    return Source(
        id=found.item_id,
        place=place_of(found.item_id, found.line_start, found.line_end),
        title=found.title,
        path=found.source_ref if found.source_ref != found.item_id else None,
        kind=found.kind,
        score=round(found.score, 4),
        symbol=found.symbol,
        superseded_by=found.superseded_by,
        why=found.why.sentence,
        snippet=found.snippet,
    )


def place_of(item_id: str, first: int | None, last: int | None) -> str:
    """An id with lines, such as `docs/a.md:10-40`, by which they can be read; the id alone where they are not known."""
    if first is None:
        return item_id
    return f"{item_id}:{first}" if last in (None, first) else f"{item_id}:{first}-{last}"


def _room_for(library: Library, sources: list[Source]) -> int:
    """How many of the sources, from the first, are shown whole; each of the others has a line at least."""
    bare = [each.model_copy(update={"why": None, "snippet": None}) for each in sources]
    short = [size_of(library, _entry(number, each), each) for number, each in enumerate(bare, 1)]
    left = RESULT_TOKENS - SPARE - max(tokens_of(library, NOTE), tokens_of(library, DATA)) - sum(short)
    for number, each in enumerate(sources, 1):
        left -= size_of(library, _entry(number, each), each) - short[number - 1]
        if left < 0:
            return number - 1
    return len(sources)


def _entry(number: int, source: Source) -> str:
    known = ", ".join([escaped(source.kind), f"score {source.score:.3f}", *([code_name(source.symbol)] if source.symbol else [])])
    title = f"{escaped(source.title)} " if source.title else ""
    came = f" from {code_name(source.path)}" if source.path else ""
    lines = [f"{number}. {title}{code_name(source.place)}{came} ({known})"]
    lines += [f"superseded by {code_name(source.superseded_by)}"] if source.superseded_by else []
    lines += [escaped(source.why)] if source.why else []
    lines += [as_data(source.snippet)] if source.snippet else []
    return "\n".join(lines)
