"""Profiles: how a search is done for one kind of material, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from types import MappingProxyType
from typing import Any, Final, Literal

from .errors import InvalidInput

Blend = Literal["rrf", "linear"]
Normalize = Literal["minmax", "zscore", "sigmoid", "none"]

TEXT: Final = "text"
VECTOR: Final = "vector"
SYMBOL: Final = "symbol"
"""What the question calls by its name, in the code profile."""
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
class Profile:
    """The numbers of a search: which routes count how much, and how their rankings become one."""

    name: str
    weights: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({TEXT: 0.35, VECTOR: 0.65}))
    blend: Blend = "linear"
    normalize: Normalize = "zscore"
    rrf_k: int = 10
    depth: int = 100
    """Hits asked of each route, at least; a search for more than this asks for as many as it returns."""
    code: CodeRanking | None = None
    """Where it is code that is searched."""


PROFILES: Final[Mapping[str, Profile]] = {
    profile.name: profile
    for profile in (
        Profile("documents"),
        Profile("code", weights=MappingProxyType({TEXT: 0.1, VECTOR: 0.9}), code=CodeRanking()),
        Profile("code-rrf", MappingProxyType({TEXT: 0.4, VECTOR: 1.0}), blend="rrf", rrf_k=60, depth=50, code=CodeRanking()),
        Profile("graph", weights=MappingProxyType({TEXT: 0.3, VECTOR: 0.7})),
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
