"""Profiles: how a search is done for one kind of material, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal

from .errors import InvalidInput

Blend = Literal["rrf", "linear"]
Normalize = Literal["minmax", "zscore", "sigmoid", "none"]

TEXT: Final = "text"
VECTOR: Final = "vector"
MAX_DEPTH: Final = 10_000


@dataclass(frozen=True, slots=True)
class Profile:
    """The numbers of a search: which routes count how much, and how their rankings become one."""

    name: str
    weights: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({TEXT: 0.35, VECTOR: 0.65}))
    blend: Blend = "rrf"
    normalize: Normalize = "minmax"
    rrf_k: int = 60
    depth: int = 50
    """Hits asked of each route, at least; a search for more than this asks for as many as it returns."""


PROFILES: Final[Mapping[str, Profile]] = {
    profile.name: profile
    for profile in (
        Profile("documents"),
        Profile("code", weights=MappingProxyType({TEXT: 0.4, VECTOR: 1.0})),
        Profile("graph", weights=MappingProxyType({TEXT: 0.3, VECTOR: 0.7})),
    )
}


def adjusted(name: str, **numbers: Any) -> Profile:
    """The profile of this name, with other numbers where they are given."""
    if name not in PROFILES:
        raise InvalidInput(f"there is no profile {name!r}: use one of {', '.join(PROFILES)}")
    profile = replace(PROFILES[name], **{key: value for key, value in numbers.items() if value is not None})
    if unknown := set(profile.weights) - {TEXT, VECTOR}:
        raise InvalidInput(f"there is no route {unknown.pop()!r} to weigh: there are {TEXT} and {VECTOR}")
    if not 1 <= profile.depth <= MAX_DEPTH:
        raise InvalidInput(f"depth is {profile.depth}: ask each route for 1 to {MAX_DEPTH} hits")
    return profile
