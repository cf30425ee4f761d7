"""The values that flow through Recollect, all frozen: items, chunks, edges, batches, hits and rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from .errors import ModelMismatch

Vector: TypeAlias = npt.NDArray[np.float32]
"""One unit vector, or a matrix with a unit vector per row."""

Format = Literal["code", "markdown", "text"]
Status = Literal["draft", "approved", "superseded", "archived"]
FORMATS: tuple[str, ...] = get_args(Format)
STATUSES: tuple[str, ...] = get_args(Status)
HISTORY: Final = ("superseded", "archived")
"""The statuses of what is not current any more."""


def digest(*parts: str) -> str:
    """A short, stable name for a sequence of strings (128 bits, hexadecimal)."""
    state = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """The canonical thing: a document, a code file, a decision, a memory."""

    scope: str
    id: str
    text: str
    kind: str = "document"
    format: Format = "text"
    source: str = "record"
    source_ref: str | None = None
    title: str | None = None
    summary: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    status: Status = "draft"
    version: str | None = None
    created_at: datetime
    updated_at: datetime
    importance: float = 0.5
    entities: tuple[str, ...] = ()
    stamp: str | None = None
    """What the source looked like when it was read (size and time of a file), so that a re-index can skip it."""
    use_count: int = 0
    last_used_at: datetime | None = None
    content_hash: str = field(init=False)
    """Names all that chunks and vectors are made from, but for the place of a file of code."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "content_hash", digest(self.format, self.title or "", self.text))


@dataclass(frozen=True, slots=True)
class Anchors:
    """Where a chunk stands in its item, so that a citation can be opened. Lines count from 1, both included."""

    line_start: int
    line_end: int
    heading_path: tuple[str, ...] = ()
    symbol: str | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of an item, derived and never canonical: its text is `item.text[start:end]`."""

    ordinal: int
    start: int
    end: int
    token_count: int
    anchors: Anchors

    def id_in(self, item: Item, chunker_id: str) -> str:
        """The chunk's name: the same text chunked again is the same chunk."""
        return digest(item.id, item.content_hash, chunker_id, str(self.start), str(self.end))


MAX_KEY: Final = 128
"""Characters of a symbol's key."""
MAX_NODE: Final = 300
"""Characters of a qualified name in a node: a database indexes edges by their two ends, and takes some 2,700 bytes for that."""


def symbol_key(name: str) -> str:
    """What a name is looked up by: letters and digits in small letters, so that `getUserName` finds `get_user_name`."""
    folded = name.casefold()
    return ("".join(filter(str.isalnum, folded)) or folded)[:MAX_KEY]


@dataclass(frozen=True, slots=True)
class Symbol:
    """Something in an item that has a name: a definition, a section, or the file that the item is. It is a node of the graph."""

    item_id: str
    name: str
    qualified: str
    kind: str
    start: int
    end: int
    line_start: int
    line_end: int
    parent: str | None = None

    @property
    def key(self) -> str:
        return symbol_key(self.name)

    @property
    def node(self) -> str:
        """Its name as an end of edges. A file is its item."""
        return self.item_id if self.kind == "file" else node_of(self.item_id, self.qualified)


def node_of(item_id: str, qualified: str) -> str:
    """The name of something in an item as an end of edges. A very long one is cut, and told apart by a digest."""
    if len(qualified) > MAX_NODE:
        qualified = f"{qualified[:MAX_NODE]}~{digest(qualified)[:16]}"
    return f"{item_id}#{qualified}"


class Edge(NamedTuple):
    """A typed, directed, weighted link between two nodes of one scope: items, symbols of them, or entities."""

    source: str
    type: str
    target: str
    weight: float = 1.0
    origin: str = ""
    """The item whose content says so, with which it changes and goes; empty where somebody else did."""


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody or something that items speak of, by its canonical id, such as `customer:a1b2`. It is a node of the graph."""

    id: str
    type: str
    name: str
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Everything it is called, each once."""
        return tuple(dict.fromkeys((self.name, *self.aliases)))


Direction = Literal["both", "out", "in"]
"""Which edges of a node are followed: all, those that begin at it, or those that lead to it."""
Vectors = Literal["chunks", "items"]
"""What is compared with a question: chunks, or whole items, each by the mean of its chunks' vectors."""

MENTIONS: Final = "MENTIONS"
"""From an item to an entity that it speaks of."""
SUPERSEDES: Final = "SUPERSEDES"
"""From an item to the one whose place it took."""


@dataclass(frozen=True, slots=True)
class Space:
    """What made a store's vectors: a model and a chunker. Vectors of two spaces are never compared."""

    model: str
    dim: int
    chunker: str

    @property
    def id(self) -> str:
        return digest(self.model, str(self.dim), self.chunker)

    def require(self, model: str, dim: int) -> None:
        """Refuse vectors of another model."""
        if (self.model, self.dim) != (model, dim):
            how = "set 'embed.model' to that one, or move the store with `recollect index --reembed`"
            raise ModelMismatch(f"the store was filled by the model {self.model!r} and this is {model!r}: {how}")


@dataclass(frozen=True, slots=True)
class Passages:
    """The chunks of one item and a unit vector for each, row by row."""

    chunks: tuple[Chunk, ...]
    vectors: Vector
    words: tuple[bytes, ...] = ()
    """The words of each chunk, in a form that stores keep and do not read; none where they were not made."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An item with its passages, as a store writes them. Without passages it is found by text alone."""

    item: Item
    passages: Passages | None = None
    fingerprint: bytes = b""
    """A sketch of the words (`rank.duplicates.sketch`), by which near-duplicates are told."""
    outline: bytes = b""
    """Its structure (`outline.Outline`, packed), from which its symbols follow. Stores keep it as it is."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One atomic change of a scope: what comes, what goes."""

    entries: Sequence[Entry] = ()
    edges: Sequence[Edge] = ()
    delete: Sequence[str] = ()
    relink: Sequence[str] = ()
    """Items whose content was read for edges anew: those it gave before go, those among `edges` with it as their origin come."""
    entities: Sequence[Entity] = ()
    """Each takes the place of the entity of its id."""
    forget: Sequence[str] = ()
    """Ids of entities that go, with every edge of theirs."""
    follows: str | None = None
    """The state of the scope (`Store.change`) that this follows from: where it has another one by now, nothing is written."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did, by item id."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One item of a ranking. `chunk` is the ordinal of the chunk that matched, where the route knows it."""

    id: str
    score: float
    chunk: int | None = None


Ranking: TypeAlias = tuple[Hit, ...]
"""Best first, ties by id. Scores of one ranking only compare within it."""


class Part(NamedTuple):
    """What one route gave to a result: `contribution == weight * normalised`. Weights are shares that sum to 1, ranks count from 1."""

    route: str
    rank: int
    score: float
    normalised: float
    weight: float
    contribution: float


class Fused(NamedTuple):
    """One result, with a part for each route that found it, by name of route: its score is the sum of their contributions."""

    id: str
    score: float
    parts: tuple[Part, ...]


class Returned(NamedTuple):
    """An item that a logged search gave back. Its rank, from 1, stays the same when others are deleted: by it the rest of the log can
    name the item without leaving a trace of it."""

    rank: int
    id: str
    score: float
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """A search as it is logged: what was asked, when and how, and what came of it."""

    id: str
    at: datetime
    query: str
    profile: str
    took_ms: float
    found: tuple[Returned, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else is known of it, as JSON. It names items by their rank, such as {"used": [1, 3]}, and never by id."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An item as a store hands it back, with what was derived from it at ingest."""

    item: Item
    fingerprint: bytes = b""
    outline: bytes = b""


class Head(NamedTuple):
    """What a ranking asks of an item: all that is known of it but its text."""

    id: str
    kind: str
    format: str
    source_ref: str | None
    status: str
    created_at: datetime
    updated_at: datetime
    importance: float
    use_count: int
    metadata: Mapping[str, Any]
    title: str | None = None
    version: str | None = None
    entities: tuple[str, ...] = ()


class NameMatch(NamedTuple):
    """Something that a question calls by its name, and how well that fits, up to 1."""

    symbol: Symbol
    fit: float
    line: int | None = None
    """The line that was asked for, where one was."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a store remembers of an item that came from a source: enough to tell whether it changed."""

    id: str
    source_ref: str
    stamp: str | None
    content_hash: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Visit:
    """A node reached by a graph walk, at its shortest distance, with the edges that led there."""

    id: str
    hops: int
    path: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing `doctor` looked at."""

    check: str
    ok: bool
    detail: str
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class CacheStatus:
    """What the chunk cache holds of a scope, and how often what was looked up there was found."""

    entries: int
    bytes: int
    max_bytes: int
    """The limit, which is for all scopes of the store together."""
    hits: int
    misses: int

    @property
    def hit_rate(self) -> float | None:
        """The share of look-ups that found something; None before the first."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else None


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """How a store stands, as `status` shows it."""

    url: str
    version: int
    scope: str
    scopes: int
    items: int
    chunks: int
    edges: int
    entities: int
    space: Space | None
    vector_index: str
    bytes_on_disk: int
    pending: int
    """Changes of the scope that the derived indexes have not applied yet."""
    cache: CacheStatus
