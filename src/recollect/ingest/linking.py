"""Edges from code and documents: written for what is new, and again for whatever names something that came or went.

What is linked bit by bit is linked as if all of it had been at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence, Set
from typing import Final

from ..cancellation import checkpoint, in_thread
from ..model import Batch, Edge, symbol_key
from ..outline import Outline, unpack
from ..ports import Store
from .facts import Kept, facts_of
from .files import SOURCE
from .linking_changes import Changes, Search
from .linking_documents import ids_wanted_by
from .linking_edges import IMPORTS, edges_of
from .linking_names import Names, wanted
from .modules import Files

GROUP_ITEMS: Final = 256
"""Items whose edges are worked out and written together."""
KEYS: Final = 400
"""Names looked up at once."""
MOST_SYMBOLS: Final = 20_000
"""Symbols that one look-up gives at most."""
MOST_IMPORTERS: Final = 100_000


async def link(
    store: Store,
    scope: str,
    before: Mapping[str, bytes],
    *,
    came: Iterable[str] = (),
    gone: Mapping[str, str] | None = None,
    owners: Mapping[str, str] | None = None,
    kept: Kept | None = None,
) -> int:
    """Write the edges of what was not linked yet, and of what is affected by it; of how many items.

    `before` has the outlines of items that were replaced or deleted since they were linked, `came` the ids of those that are new, and
    `gone` the references of those that were deleted, by id: a file may be named by others though it has no outline itself. `owners` has the
    ids that all files had before, by their references, where these may be others now. Of what was replaced, `kept` knows what keeps all
    that was imported about it."""
    came, gone, kept = tuple(came), gone or {}, kept or Kept()
    if not (before or came or gone) and await anext(store.outlines(scope, unlinked=True), None) is None:
        return 0
    linker = await Linker.of(store, scope)
    changes = Changes(linker.names.files, came, gone, owners)
    new: set[str] = set()
    async for group in _groups(store.outlines(scope, unlinked=True)):
        await in_thread(changes.note, group, before)
        new.update(item_id for item_id, _ in group)
    await in_thread(changes.note, [(item_id, b"") for item_id in before.keys() - new], before)
    # What is new comes last: until then it counts as not linked, so that a run which was interrupted is made up for by the next.
    count = await _link_affected(store, scope, changes, linker, new) if changes else 0
    async for group in _groups(store.outlines(scope, unlinked=True)):
        await linker.link(await in_thread(_unpacked, group), await kept.facts(store, scope, [item_id for item_id, _ in group]))
    return count + len(new)


async def _link_affected(store: Store, scope: str, changes: Changes, linker: Linker, new: Set[str]) -> int:
    """Write the edges of items that are linked and may mean something else by now; of how many."""
    count = 0
    affected: Search | None = None
    async for group in _groups(store.outlines(scope)):
        if others := [(item_id, packed) for item_id, packed in group if item_id not in new]:
            affected = affected or await _search(store, scope, changes, linker)
            if outlines := await in_thread(affected, others):
                await linker.link(outlines, await facts_of(store, scope, list(outlines)))
                count += len(outlines)
    return count


async def _search(store: Store, scope: str, changes: Changes, linker: Linker) -> Search:
    """What finds the items that the changes affect, by their names and by who imports what has changed, as far as that is linked."""
    await linker.learn(changes.open_names)
    starts = changes.passing_on()
    walked = await store.walk(scope, starts, hops=1, fan_out=MOST_IMPORTERS, types=[IMPORTS]) if starts else []
    return await in_thread(changes.search, linker.names, {visit.id for visit in walked})


async def _groups(outlines: AsyncIterator[tuple[str, bytes]]) -> AsyncIterator[list[tuple[str, bytes]]]:
    group: list[tuple[str, bytes]] = []
    async for each in outlines:
        group.append(each)
        if len(group) == GROUP_ITEMS:
            yield group
            group = []
    if group:
        yield group


def _unpacked(group: Iterable[tuple[str, bytes]]) -> dict[str, Outline]:
    """Outlines by id. One that another version packed says nothing."""
    return {item_id: unpack(packed) or Outline(language="") for item_id, packed in group}


class Linker:
    """Works out edges and writes them. A name is looked up once."""

    @classmethod
    async def of(cls, store: Store, scope: str) -> Linker:
        """A linker that knows the files of a scope."""
        return cls(store, scope, Files({ref: known.id for ref, known in (await store.known(scope, SOURCE, "")).items()}))

    def __init__(self, store: Store, scope: str, files: Files) -> None:
        self._store, self._scope = store, scope
        self.names = Names(files)
        self._asked: set[str] = set()
        self._known: set[str] = set(files.paths)

    async def link(self, outlines: Mapping[str, Outline], facts: Sequence[Edge] = ()) -> None:
        await self._store.write(self._scope, Batch(edges=[*await self.edges(outlines), *facts], relink=list(outlines)))

    async def edges(self, outlines: Mapping[str, Outline]) -> list[Edge]:
        """What these outlines say, as edges."""
        await self.learn(await in_thread(_all_wanted, list(outlines.values())))
        wanted = {name for each in outlines.values() for link in each.links for name in ids_wanted_by(link)} - self._known
        self._known |= wanted
        if wanted:
            self.names.documents.know(await self._store.heads(self._scope, sorted(wanted)))
        return await in_thread(_all_edges, outlines, self.names)

    async def learn(self, names: Iterable[str]) -> None:
        """Look up what is not known yet of these names."""
        keys = sorted({key for name in names if (key := symbol_key(name))} - self._asked)
        self._asked.update(keys)
        for begin in range(0, len(keys), KEYS):
            left = keys[begin : begin + KEYS]
            while left:
                found = await self._store.symbols(self._scope, left, limit=MOST_SYMBOLS)
                if len(found) < MOST_SYMBOLS:
                    self.names.learn(found)
                    break
                last = found[-1].key
                if found[0].key == last:  # It has more definitions than anything here could tell apart.
                    self.names.learn(found)
                    left = [key for key in left if key > last]
                else:
                    self.names.learn(symbol for symbol in found if symbol.key != last)
                    left = [key for key in left if key >= last]


def _all_wanted(outlines: Sequence[Outline]) -> set[str]:
    return set().union(*map(wanted, outlines))


def _all_edges(outlines: Mapping[str, Outline], names: Names) -> list[Edge]:
    edges: list[Edge] = []
    for item_id, outline in outlines.items():
        checkpoint()
        edges += edges_of(item_id, outline, names)
    return edges
