"""What Recollect needs from the outside, as protocols: a store, an embedder, a language model, a token counter, a clock.

The laws every store keeps are tests in `recollect.testing`; `stores.reference` is their executable specification.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from .filters import Filter
from .model import (
    Batch,
    Direction,
    Edge,
    Entity,
    Finding,
    Head,
    Known,
    Passages,
    Ranking,
    Retrieval,
    Space,
    Stored,
    StoreStatus,
    Symbol,
    Vector,
    Vectors,
    Visit,
    Written,
)
from .textquery import NativeQuery, Node

if TYPE_CHECKING:
    from .contracts import RetrievalBundle
    from .prefs import RetrievalPrefs
    from .request import RequestContext
    from .routing import Routed


class Clock(Protocol):
    """The only source of the current time."""

    def __call__(self) -> datetime: ...


class TokenCounter(Protocol):
    """A real tokenizer, asked only where tokens begin."""

    def starts(self, text: str) -> npt.NDArray[np.int64]:
        """The character offset at which each token of the text begins, rising."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors. `model_id` names the model and the variant: two variants never share a store."""

    @property
    def model_id(self) -> str: ...

    @property
    def dim(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """The longest text the model reads whole."""
        ...

    @property
    def tokens(self) -> TokenCounter: ...

    def embed(self, texts: Sequence[str]) -> Vector:
        """A row for each passage. May block for long: callers run it in a thread."""
        ...

    def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        ...


class Llm(Protocol):
    """A language model that answers with JSON."""

    async def complete(self, system: str, user: str, schema: dict[str, Any]) -> Any:
        """A JSON object for which this schema was asked, which is not checked. An `LlmError` where there is none, or not in time."""
        ...


@runtime_checkable
class SupportsStreaming(Protocol):
    """A language model that can also write a text."""

    @property
    def model(self) -> str: ...

    def stream(self, system: str, user: str) -> AsyncGenerator[str]:
        """The text in pieces, as it is written. An `LlmError` where there is none, or where it breaks off."""
        ...


class Router(Protocol):
    """Turns a question into what is searched for, and where."""

    async def route(self, query: str, tree: Callable[[], Awaitable[Sequence[str]]]) -> Routed:
        """The requests of a question. `tree` gives the paths of all files, and is asked only where they are needed."""
        ...


@runtime_checkable
class SupportsClosing(Protocol):
    """An embedder or a language model that holds something to let go of, such as connections."""

    def close(self) -> None: ...


@runtime_checkable
class SupportsFingerprint(Protocol):
    """An embedder that can tell whether it makes the vectors it made before: a folder's files may change under the same name."""

    @property
    def fingerprint(self) -> str:
        """Everything that its vectors depend on."""
        ...


@runtime_checkable
class SupportsContextualVectors(Protocol):
    """An embedder that can read a whole document and give vectors of its parts, which then know what stands around them."""

    @property
    def contextual_id(self) -> str:
        """Names such vectors, as `model_id` does plain ones: the two never share a store or a cache."""
        ...

    def embed_spans(self, text: str, spans: Sequence[tuple[int, int]]) -> Vector:
        """A unit row for each span of characters of the text, to be compared with `embed_query`. May block for long, as `embed` may."""
        ...


@runtime_checkable
class SupportsBlockingSearch(Protocol):
    """A store that can also be searched on the caller's own thread, which saves a caller that is on one already a hand-over."""

    def search_vectors_here(self, scope: str, vector: Vector, *, k: int, where: Filter | None = None, of: Vectors = "chunks") -> Ranking:
        """What `search_vectors` gives."""
        ...


@runtime_checkable
class SupportsNativeText(Protocol):
    """A store whose server can also read and rank words its own way, by configurations it has for many languages."""

    @property
    def text_config(self) -> str:
        """The configuration where none is named."""
        ...

    async def search_native(
        self, scope: str, query: NativeQuery, *, k: int, rank_func: str, min_rank: float | None = None, where: Filter | None = None
    ) -> Ranking:
        """The k best items by words, of those that score at least so much. A question that only excludes finds nothing."""
        ...

    async def meeting_native(self, scope: str, query: NativeQuery, ids: Sequence[str]) -> set[str]:
        """Those of the items for which the question holds, all where it has no words that count."""
        ...


class Store(Protocol):
    """Keeps items and everything derived from them. Every call names a scope and sees nothing of another."""

    @property
    def url(self) -> str: ...

    async def space(self) -> Space | None:
        """What filled the store's vectors; None while it has none."""
        ...

    async def use_space(self, space: Space) -> None:
        """Make `space` the one that is searched, at once, and drop the vectors of every other.

        Fails while an item that is not blank has no passages in `space` (see `without_passages`)."""
        ...

    async def write(self, scope: str, batch: Batch, *, space: Space | None = None) -> Written:
        """Apply all of the batch or none of it; when this returns it is durable and can be found.

        An entry replaces the item of its id. Writing the same thing twice changes nothing. Passages belong to `space`, which becomes
        the store's own if it has none; to fill another one beside it, see `add_passages`. `StoreChanged` where the batch follows from a
        state that the scope is not in any more."""
        ...

    async def add_passages(
        self, scope: str, space: Space, passages: Mapping[str, Passages], *, contents: Mapping[str, str] | None = None
    ) -> None:
        """Keep passages of another space beside those in use, until `use_space`. By id, as `contents` is, which has the
        content hash each item had when it was cut: one that has changed since is left out."""
        ...

    async def without_passages(self, scope: str, space: Space, limit: int) -> list[Stored]:
        """Some items that have no passages in this space yet, in order of id."""
        ...

    async def drop(self, scope: str, *, follows: str | None = None) -> int:
        """Remove a scope and everything in it; how many items went. `StoreChanged` where this follows from a state that the scope is
        not in any more, and nothing is removed."""
        ...

    async def scopes(self) -> list[str]: ...

    async def get(self, scope: str, ids: Sequence[str]) -> list[Stored]:
        """The items of these ids that there are, in the order asked."""
        ...

    async def heads(self, scope: str, ids: Sequence[str]) -> dict[str, Head]:
        """What is known of these items but their texts, by id, of those that there are. Asked by searches: it must be fast."""
        ...

    def scan(self, scope: str, where: Filter | None = None) -> AsyncIterator[Stored]:
        """Every item, in order of id, by code points. Items are read a few at a time, and fewer where they are long."""
        ...

    def edges(self, scope: str) -> AsyncIterator[Edge]:
        """Every edge, in order of source, type and target, by code points; also one whose ends are no items."""
        ...

    async def symbols(self, scope: str, keys: Sequence[str], *, limit: int, where: Filter | None = None) -> list[Symbol]:
        """What has one of these keys (`model.symbol_key`), of items that pass the filter: in order of key, item and start."""
        ...

    async def symbols_at(self, scope: str, nodes: Sequence[str]) -> list[Symbol]:
        """The symbols that these nodes are, in order of item and start; one name may stand for several of an item."""
        ...

    def outlines(self, scope: str, *, unlinked: bool = False) -> AsyncIterator[tuple[str, bytes]]:
        """The id and the outline of every item that has one, in order of id; or only of those that were written after they were
        last named in `Batch.relink`."""
        ...

    async def passages_of(
        self, scope: str, ids: Sequence[str], *, space: Space | None = None, contents: Mapping[str, str] | None = None
    ) -> dict[str, Passages]:
        """The passages of these items in a space, by default the store's own, in order of ordinal. Asked by every search: it must be fast.

        `contents` has the content hash of each item as the caller knows it: one that has changed since is left out."""
        ...

    async def passages(self, scope: str, content_hashes: Sequence[str], space: Space) -> dict[str, Passages]:
        """Passages the scope already has for these contents, so that nothing is embedded twice."""
        ...

    async def cached(self, scope: str, recipe: str, contents: Mapping[str, str], *, since: datetime | None = None) -> dict[str, bytes]:
        """What the chunk cache has for these items, by id: made by this recipe, from just this content, not before `since`.

        `contents` has the content hash of each item. A look-up never writes: that an entry was used is written with the
        next one that is kept, or on closing."""
        ...

    async def cache(self, scope: str, recipe: str, made: Mapping[str, tuple[str, bytes]], *, at: datetime) -> None:
        """Keep what a recipe made of some items, by id, each with the content hash of what it was made from; all or nothing.

        It replaces what the recipe made of the item before, and is gone with the item or its content. Left out is what was
        made of an item that is gone or has another content by now, and what is larger than the whole cache may be; beyond
        that limit the entries used least recently go. Nobody waits for this: where the store may not be written, is full, or
        is being written just now, nothing is kept."""
        ...

    async def clear_cache(self, scope: str) -> int:
        """Throw away all that the chunk cache has of the scope; how many entries."""
        ...

    async def log(self, scope: str, retrieval: Retrieval, *, max_entries: int) -> bool:
        """Keep a search in the scope's log; beyond so many of its profile the oldest of these go. One whose id is there changes nothing.
        An item that is deleted is gone from every entry; left out is what is gone already, and a search of a scope that holds
        nothing. Nobody waits for this: nothing is kept where the store may not be written, is full, or is being written just now;
        False in this last case, to be tried again."""
        ...

    async def clear_log(self, scope: str, *, profile: str | None = None) -> int:
        """Throw away the scope's log, or the searches of one profile; how many entries."""
        ...

    async def use(self, scope: str, ids: Sequence[str], *, at: datetime, retrieval: str | None = None) -> list[str]:
        """Count one use more of each of these items that there are, and when it was; nothing else of them changes, nor do their passages.
        With the id of a logged search: only of those that it gave back and that were not used for it before, which its details then
        name by rank, rising, under `used`; `NotFound` where it is not in the log. Gives the ids that were counted, in order of id.
        `last_used_at` never goes back. All or nothing, and durable; a use that counts changes the state of the scope."""
        ...

    async def note(self, scope: str, name: str) -> Mapping[str, Any] | None:
        """What was noted of a scope under a name; None where nothing was."""
        ...

    async def notes(self, scope: str) -> dict[str, Mapping[str, Any]]:
        """All that was noted of a scope, by name, in order of name."""
        ...

    async def set_note(self, scope: str, name: str, value: Mapping[str, Any] | None) -> None:
        """Note something small of a scope, as JSON, in place of what was noted under that name; None forgets it. It goes with the scope,
        is copied with it, and is no item: no search finds it, and a scope with notes alone is none that `scopes` names."""
        ...

    def retrievals(self, scope: str, *, since: datetime | None = None) -> AsyncIterator[Retrieval]:
        """The searches that were logged, not before `since`: newest first, of the same time the last id first."""
        ...

    async def retrieval(self, scope: str, retrieval_id: str) -> Retrieval | None:
        """The search that was logged under this id; None where there is none."""
        ...

    async def known(self, scope: str, source: str, under: str) -> dict[str, Known]:
        """What came from `source`, by its reference: the reference `under` itself, or one in the folder of that name."""
        ...

    async def search_text(self, scope: str, query: Node, *, k: int, where: Filter | None = None) -> Ranking:
        """The k best items by words."""
        ...

    async def search_vectors(self, scope: str, vector: Vector, *, k: int, where: Filter | None = None, of: Vectors = "chunks") -> Ranking:
        """The k items nearest to the vector, by their best passage or by the mean of their passages; scores are `(1 + cosine) / 2`."""
        ...

    async def newest(self, scope: str, *, k: int, where: Filter | None = None) -> list[str]:
        """The ids of the k items that were created last, of those that pass the filter, the last first, ties by id. Asked by searches: a
        filter on times, kinds, status or entities must be fast in a scope of a million items."""
        ...

    async def fields(self, scope: str) -> dict[str, frozenset[str]]:
        """The metadata fields there are and what they hold: "text", "number", "boolean"."""
        ...

    async def facets(self, scope: str, names: Sequence[str], where: Filter | None = None) -> dict[str, dict[str, int]]:
        """How many items have each value of each field, most first, ties by value."""
        ...

    async def walk(
        self,
        scope: str,
        starts: Sequence[str],
        *,
        hops: int,
        fan_out: int,
        types: Sequence[str] | None = None,
        direction: Direction = "both",
    ) -> list[Visit]:
        """Breadth-first over edges: each node once, nearest first, ties by id. A node is an item, a symbol of one, or an entity.

        From each node at most `fan_out` edges are followed: heaviest first, ties by type and by the other end's id."""
        ...

    async def links(
        self, scope: str, nodes: Sequence[str], *, fan_out: int, types: Sequence[str] | None = None, direction: Direction = "both"
    ) -> dict[str, tuple[Edge, ...]]:
        """The edges that a walk would follow from each of these nodes, in that order; no key for a node without any. Whether there is
        anything at the other end is not looked at. Asked by searches, for hundreds of nodes: it must be fast."""
        ...

    async def successors(self, scope: str, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The nodes from which an edge SUPERSEDES leads to each of these, by id, in order; no key for one without any. Asked by every
        search, for hundreds of items: it must be fast."""
        ...

    def entities(self, scope: str) -> AsyncIterator[Entity]:
        """Every entity, in order of id, by code points."""
        ...

    async def entities_of(self, scope: str, ids: Sequence[str]) -> list[Entity]:
        """The entities of these ids that there are, in the order asked."""
        ...

    async def entities_named(self, scope: str, keys: Sequence[str], *, limit: int) -> list[Entity]:
        """Those that have one of these keys (`naming.keys_of`), each once, in order of id. Asked by searches: it must be fast."""
        ...

    async def change(self, scope: str) -> str:
        """Names the state of a scope: another one after each write that changed anything in it, by whichever process. It must be fast."""
        ...

    async def status(self, scope: str) -> StoreStatus: ...

    async def doctor(self, *, repair: bool) -> list[Finding]: ...

    async def close(self) -> None: ...


@runtime_checkable
class Retriever(Protocol):
    """Finds evidence for whoever asks; what is done with it is not its business: it streams nothing and emits no events."""

    async def search(self, ctx: RequestContext, prefs: RetrievalPrefs) -> RetrievalBundle:
        """The ranked candidates and the evidence in them: of the request's scope alone, the same for the same material and prefs.

        Ends with `Cancelled` as soon as `ctx.cancellation` is raised, and with `DeadlineExceeded` when the deadline is over."""
        ...
