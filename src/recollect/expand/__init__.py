"""Context around evidence: what a reader needs beside a chunk, from its own file and, by the graph of calls, from others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from ..contracts import ContextLabel, ContextSpan, EvidenceChunk
from ..model import Head, Item, Stored, Symbol, Visit, node_of
from ..outline import Definition, Outline, unpack
from ..ports import Store
from . import code, markdown
from .code import MAX_IMPORTS, MAX_SIBLINGS
from .markdown import MAX_CHILDREN
from .spans import Candidate, Shown, declared

EXPANDED: Final = 5
"""Pieces of evidence that have a context. All twelve of a search took 9 ms, as long as everything else but the model."""
MAX_CALLEES: Final = 5
MAX_CALLERS: Final = 5
MAX_TESTS: Final = 3
LIMITS: Final[tuple[tuple[ContextLabel, int], ...]] = (("callee", MAX_CALLEES), ("caller", MAX_CALLERS), ("test", MAX_TESTS))
CALLS: Final = "CALLS"
FAN_OUT: Final = 200
"""Edges followed from each definition, calls in both directions together: a function that is used everywhere has tests as well."""
SPARE: Final = 2
"""For each that is shown so many are looked at, since some are shown already."""
MAX_STARTS: Final = 64
"""Definitions of all chunks together from which calls are followed."""
TEST: Final[ContextLabel] = "test"

_read = lru_cache(maxsize=128)(unpack)
"""An outline takes a third of a millisecond to unpack, and one question after the other is about the same files."""

__all__ = ["MAX_CALLEES", "MAX_CALLERS", "MAX_CHILDREN", "MAX_IMPORTS", "MAX_SIBLINGS", "MAX_TESTS", "expand"]


@dataclass(frozen=True, slots=True)
class _Outlined:
    """A chunk of an item whose structure is known."""

    chunk: EvidenceChunk
    item: Item
    outline: Outline
    start: int
    end: int

    @property
    def starts(self) -> list[str]:
        """The nodes of what it is about."""
        if self.outline.language == "markdown":
            return []
        return [node_of(self.item.id, each.qualified) for each in code.focus(self.outline, self.start, self.end)]


async def expand(store: Store, scope: str, chunks: Sequence[EvidenceChunk], stored: Mapping[str, Stored]) -> list[EvidenceChunk]:
    """The same chunks, the first of them with their context. `stored` has their items. However many chunks there are, the store is
    asked for one walk, one look-up of symbols, one of what is known of their files and one of those files."""
    ids = dict.fromkeys(chunk.item_id for chunk in chunks[:EXPANDED])
    outlines = {item_id: _read(stored[item_id].outline) for item_id in ids if item_id in stored}
    outlined = [_outlined(chunk, stored, outlines) for chunk in chunks[:EXPANDED]]
    if not any(outlined):
        return list(chunks)
    shown = Shown(chunks)
    there = {at: each for at, each in enumerate(outlined) if each}
    calls = await _Calls.read(store, scope, list(there.values()), stored, outlines)
    # Who calls whom says more than who stands beside whom, and nothing is shown twice.
    called = [calls.of(place, shown) for place in range(len(there))]
    context = {at: _here(each, shown) + called[place] for place, (at, each) in enumerate(there.items())}
    return [chunk.model_copy(update={"context": context[at]}) if context.get(at) else chunk for at, chunk in enumerate(chunks)]


def _outlined(chunk: EvidenceChunk, stored: Mapping[str, Stored], outlines: Mapping[str, Outline | None]) -> _Outlined | None:
    outline = outlines.get(chunk.item_id)
    if outline is None or chunk.start_idx is None or chunk.end_idx is None:
        return None
    item = stored[chunk.item_id].item
    text = item.text[chunk.start_idx : chunk.end_idx]
    start = chunk.start_idx + len(text) - len(text.lstrip())
    return _Outlined(chunk, item, outline, start, max(start, chunk.start_idx + len(text.rstrip())))


def _here(each: _Outlined, shown: Shown) -> list[ContextSpan]:
    """The context in the chunk's own file."""
    around = markdown.surroundings if each.outline.language == "markdown" else code.surroundings
    return around(each.item, each.outline, each.start, each.end, shown)


Related: TypeAlias = dict[ContextLabel, list[Symbol]]
"""What a chunk calls, who calls it, and the tests among those."""


@dataclass(frozen=True, slots=True)
class _Calls:
    """Who calls what, one step around some definitions."""

    related: Sequence[Related]
    """For each chunk, a few more than are shown."""
    items: Mapping[str, Stored]
    outlines: dict[str, Outline | None]

    @classmethod
    async def read(
        cls, store: Store, scope: str, outlined: Sequence[_Outlined], stored: Mapping[str, Stored], outlines: Mapping[str, Outline | None]
    ) -> _Calls:
        """Of a function that hundreds call, only the names of those are read, and the files of the few that are shown."""
        starts = list(dict.fromkeys(node for each in outlined for node in each.starts))[:MAX_STARTS]
        walked = await store.walk(scope, starts, hops=1, fan_out=FAN_OUT, types=[CALLS]) if starts else []
        visits = [visit for visit in walked if visit.hops == 1]
        found = await store.symbols_at(scope, [visit.id for visit in visits]) if visits else []
        symbols = {symbol.node: symbol for symbol in reversed(found)}
        heads = await store.heads(scope, list({symbol.item_id for symbol in found})) if found else {}
        related = [_related(each, visits, symbols, heads) for each in outlined]
        wanted = dict.fromkeys(symbol.item_id for own in related for symbols_of in own.values() for symbol in symbols_of)
        missing = [item_id for item_id in wanted if item_id not in stored]
        others = {each.item.id: each for each in (await store.get(scope, missing) if missing else [])}
        return cls(related, {**stored, **others}, dict(outlines))

    def of(self, place: int, shown: Shown) -> list[ContextSpan]:
        """The context of a chunk in other places."""
        return [span for label, most in LIMITS for span in shown.choose(self._candidates(label, self.related[place][label]), most)]

    def _candidates(self, label: ContextLabel, symbols: Sequence[Symbol]) -> Iterator[Candidate]:
        """One after the other, since to read an outline takes a third of a millisecond and few are shown."""
        for symbol in symbols:
            if symbol.item_id in self.items and (definition := self._definition(symbol)):
                yield declared(label, self.items[symbol.item_id].item, definition)

    def _definition(self, symbol: Symbol) -> Definition | None:
        if symbol.item_id not in self.outlines:
            self.outlines[symbol.item_id] = _read(self.items[symbol.item_id].outline)
        outline = self.outlines[symbol.item_id]
        fitting = (
            (each for each in outline.definitions if (each.qualified, each.start) == (symbol.qualified, symbol.start)) if outline else ()
        )
        return next(iter(fitting), None)


def _related(each: _Outlined, visits: Sequence[Visit], symbols: Mapping[str, Symbol], heads: Mapping[str, Head]) -> Related:
    """What a chunk calls, in other files first, who calls it, and the tests among those."""
    own = set(each.starts)
    found: Related = {label: [] for label, _ in LIMITS}
    for visit in visits:
        edge, symbol = visit.path[-1], symbols.get(visit.id)
        if symbol and symbol.item_id in heads and own & {edge.source, edge.target}:
            is_test = edge.source not in own and _is_test(symbol, heads[symbol.item_id], edge.target)
            found["callee" if edge.source in own else TEST if is_test else "caller"].append(symbol)
    found["callee"].sort(key=lambda symbol: symbol.item_id == each.item.id)
    return {label: found[label][: SPARE * most] for label, most in LIMITS}


def _is_test(symbol: Symbol, head: Head, of: str) -> bool:
    """Whether a caller is a test, by its file or by its name."""
    name = of.rpartition("#")[2].rpartition(".")[2].casefold()
    called = symbol.name.casefold()
    return head.metadata.get("role") == TEST or called.startswith(f"test_{name}") or called in (f"{name}test", f"test{name}")
