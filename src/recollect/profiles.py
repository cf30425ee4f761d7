"""Profiles: how a search is done for one kind of material, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from .errors import InvalidInput

if TYPE_CHECKING:
    from .model import Vectors

Blend = Literal["rrf", "linear"]
Normalize = Literal["minmax", "zscore", "sigmoid", "none"]

TEXT: Final = "text"
VECTOR: Final = "vector"
SYMBOL: Final = "symbol"
"""What the question calls by its name, in the code profile."""
GRAPH: Final = "graph"
"""What the graph leads to from what the other routes found, and from entities of the question."""
MAX_DEPTH: Final = 10_000


# How the numbers below were chosen: on the training halves of six sets, each by its usual measure (scientific claims, documentation,
# encyclopaedia, tools; code; conversations). The mean of all, with 0.35 for words, 0.65 for meaning and 100 hits of each:
#
# - alone: words .657, meaning .702. Linear by zscore .736, minmax .733, sigmoid .720; rrf with 0.3 for words and k 2, 10, 60: .723, .721,
#   .715; with 0.5: .725, .721, .714.
# - hits of each route: 50 .736, 100 .736, 200 .734. A search for 100 results has to ask for 100.
# - share of words, mean of the four sets of documents: 0.2 .753, 0.3 .761, 0.35 .764, 0.4 .764, 0.5 .758.
# - code, MRR: 0 .587, 0.05 .584, 0.1 .596, 0.15 .588, 0.3 .576; where a function's name is the question: 0 .932, 0.1 .958, 0.3 .973.
# - conversations, recall@10: 0.35 .789, 0.4 .794, 0.5 .794, 0.6 .805, alone .770.


@dataclass(frozen=True, slots=True)
class CodeRanking:
    """What a ranking of code knows beside words and meaning. A factor of 1, or False, leaves that out."""

    symbols: bool = True
    """Whether what the question calls by its name comes first: the definition, before whatever uses it."""
    folder: float = 1.3
    """What lies in a folder that the question speaks of."""
    test: float = 0.8
    generated: float = 0.6
    vendored: float = 0.6
    """Files of these roles, unless the question asks for such."""

    def of_role(self, role: object) -> float:
        """The factor for a file of this role."""
        return {"test": self.test, "generated": self.generated, "vendored": self.vendored}.get(str(role), 1.0)


@dataclass(frozen=True, slots=True)
class Authority:
    """What status, time and kind add to a score, each a factor. One of 1 leaves that out."""

    approved: float = 1.5
    recent: float = 1.2
    recent_days: int = 90
    """How long ago something may have changed to be recent."""
    kinds: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({"architecture": 2.0, "design": 1.5, "code": 1.0}))


@dataclass(frozen=True, slots=True)
class Expansion:
    """How the graph is followed from what was found, and what it counts. How far is said by the question."""

    nodes: int = 20
    """The most that is added."""
    fan_out: int = 20
    """Edges followed from each node."""
    weights: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({"IMPLEMENTS": 1.0, "SATISFIES": 0.9, "REFERENCES": 0.7, "SUPERSEDES": 0.5})
    )
    other: float = 0.3
    """The weight of every other type."""
    kinds: frozenset[str] = frozenset({"architecture", "design", "requirement", "decision", "document"})
    """What makes context. Everything else is only passed through."""


@dataclass(frozen=True, slots=True)
class GraphRanking:
    """How items are found by a walk over entities, and how much that counts."""

    weight: float = 0.6
    """Its share of a score; words and meaning have the rest, by their weights. Recall@5 of questions of two steps, training half: 0 .703,
    0.5 .922, 0.6 .944, 0.7 .954, 0.85 .957. nDCG@10 of claims and of documentation, questions of one step over a graph of rare words:
    0 .718 .844, 0.5 .732 .866, 0.7 .716 .860, 0.85 .708 .840."""
    seeds: int = 5
    """Hits of the other routes from which the walk starts."""
    sharpness: float = 8.0
    """How much more the best hit counts than the next: the power of its score. Recall@5 with 0.7 for the graph:
    1 .871, 4 .940, 8 .954, 12 .957."""
    entities: float = 1.0
    """What the entities of the question count together, beside all hits together. Without them .928 in place of .954."""
    unconfirmed: float = 0.1
    """What such an entity counts of which none of these hits speaks. Counted like the others .904."""
    titled: float = 10.0
    """What a mention counts more where the item's title is the entity's name; each thing the item says of the entity counts 1.
    Without it .945."""
    asked: float = 5.0
    """What a relation counts more that the question has a word of. Without it .946."""
    restart: float = 0.15
    steps: int = 10
    fan_out: int = 50
    """Edges followed from each node, at most."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The numbers of a search: which routes count how much, and how their rankings become one."""

    name: str
    weights: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({TEXT: 0.35, VECTOR: 0.65}))
    blend: Blend = "linear"
    normalize: Normalize = "zscore"
    rrf_k: int = 10
    depth: int = 100
    """Hits asked of each route, at least; a search for more than this asks for as many as it returns."""
    indices: tuple[Vectors, ...] = ("chunks",)
    """What is compared with the question by meaning; where that is both, an item counts by whichever is nearer."""
    code: CodeRanking | None = None
    """Where it is code that is searched."""
    authority: Authority | None = None
    """Where status, time and kind count."""
    expansion: Expansion = Expansion()
    """How the graph is followed, where somebody asks for it."""
    graph: GraphRanking | None = None
    """Where a walk over entities is a route of its own."""
    analyse: bool = False
    """Whether a question is read for entities, and for filters that it says in words."""


PROFILES: Final[Mapping[str, Profile]] = {
    profile.name: profile
    for profile in (
        Profile("documents"),
        Profile("code", weights=MappingProxyType({TEXT: 0.1, VECTOR: 0.9}), code=CodeRanking()),
        Profile("code-rrf", MappingProxyType({TEXT: 0.4, VECTOR: 1.0}), blend="rrf", rrf_k=60, depth=50, code=CodeRanking()),
        Profile(
            "graph",
            weights=MappingProxyType({TEXT: 0.3, VECTOR: 0.7}),
            authority=Authority(),
            indices=("chunks", "items"),
            graph=GraphRanking(),
            analyse=True,
        ),
        Profile("memory", weights=MappingProxyType({TEXT: 0.6, VECTOR: 0.4})),
    )
}


def named(name: str) -> Profile:
    """The profile of this name."""
    if name not in PROFILES:
        raise InvalidInput(f"there is no profile {name!r}: use one of {', '.join(PROFILES)}")
    return PROFILES[name]


def adjusted(profile: Profile, **numbers: Any) -> Profile:
    """The profile, with other numbers where they are given."""
    profile = replace(profile, **{key: value for key, value in numbers.items() if value is not None})
    if unknown := set(profile.weights) - {TEXT, VECTOR}:
        raise InvalidInput(f"there is no route {unknown.pop()!r} to weigh: there are {TEXT} and {VECTOR}")
    if not all(isfinite(weight) and weight >= 0 for weight in profile.weights.values()) or not any(profile.weights.values()):
        raise InvalidInput(f"the weights are {dict(profile.weights)}: give numbers of at least 0, one of them above it")
    if not 1 <= profile.depth <= MAX_DEPTH:
        raise InvalidInput(f"depth is {profile.depth}: ask each route for 1 to {MAX_DEPTH} hits")
    return profile
