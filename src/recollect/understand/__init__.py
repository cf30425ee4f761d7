"""Turns a question and its options into a plan. Whatever is wrong with them is said here, before any work is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..analysis import terms
from ..errors import InvalidInput
from ..filters import And, Compare, Field, Filter, Not, OneOf, Or, field_named
from ..filters import parse as parse_filter
from ..model import HISTORY
from ..plan import Plan
from ..prefs import GraphPrefs, RetrievalPrefs
from ..profiles import TEXT, VECTOR, Profile, adjusted
from ..routing import NameQuery
from ..textquery import TEXT_CONFIG, Boolean, Node
from .names import mentioned, recognise
from .native import native_text
from .text import parse as parse_text
from .words import checked


def understand(prefs: RetrievalPrefs, *, scope: str, profile: Profile, text_config: str | None = None) -> Plan:
    """The plan of a question, by this profile with the numbers that the question has of its own.

    `text_config` is how the store's server reads words, where it can do so and nothing else is said."""
    text, mode = checked(prefs.query_text), prefs.fts.mode
    if text_config is None and prefs.fts.config not in (None, TEXT_CONFIG):
        raise InvalidInput(f"fts.config is {prefs.fts.config!r}: this store reads words as {TEXT_CONFIG!r}, so use that or null")
    native = None if text_config is None else native_text(text, prefs.fts, text_config)
    query = parse_text(text, mode) if native is None else Boolean()
    name = recognise(text) if profile.code and native is None else None
    asked = parse_filter(prefs.filters or None)
    where = _where(asked, prefs.graph)
    return Plan(
        scope=scope,
        prefs=prefs,
        query=query,
        demand=_demand(query, mode),
        native=native,
        where=where,
        profile=_profile(prefs, profile),
        facets=tuple(field_named(each).name if field_named(each).of_item else each for each in prefs.facets),
        name=name,
        mentions=_mentions(text) if profile.code and name is None else (),
        folders=tuple(prefs.routing.folders),
        roles=_roles(prefs) if profile.code else frozenset(),
        expand=profile.code is not None if prefs.expand is None else prefs.expand,
        history=prefs.graph.include_history or _asks_for_history(asked),
        as_of=prefs.graph.as_of,
        hops=prefs.graph.max_distance or 0,
    )


def _where(asked: Filter | None, graph: GraphPrefs) -> Filter | None:
    """What must hold: what was asked for, and what follows from the other preferences."""
    parts = [] if asked is None else [asked]
    if not graph.include_code:
        parts += [Not(OneOf(Field("kind", of_item=True), ("code",))), Not(OneOf(Field("format", of_item=True), ("code",)))]
    if graph.as_of is not None:
        parts.append(Compare(Field("created_at", of_item=True), "lte", graph.as_of))
    return None if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))


def _asks_for_history(where: Filter | None) -> bool:
    """Whether a filter asks for a status that only history has."""
    match where:
        case And(parts) | Or(parts):
            return any(map(_asks_for_history, parts))
        case Compare(Field("status", True), "eq", value):
            return value in HISTORY
        case OneOf(Field("status", True), values):
            return not set(HISTORY).isdisjoint(values)
    return False


ROLES: Final[Mapping[str, str]] = {
    "test": "test tests testing tested spec specs fixture fixtures conftest",
    "generated": "generated codegen",
    "vendored": "vendor vendored vendoring third-party",
}
"""The words by which a question asks for files that are rarely meant."""


def _roles(prefs: RetrievalPrefs) -> frozenset[str]:
    """The roles of files that the question asks for, by its words or by where it wants to look."""
    places = prefs.routing
    said = set(terms(" ".join((prefs.query_text, *places.folders, *places.file_patterns, str(prefs.filters or "")))))
    return frozenset(role for role, words in ROLES.items() if not said.isdisjoint(terms(words)))


def _mentions(text: str) -> tuple[NameQuery, ...]:
    return tuple(name for each in mentioned(text) if (name := recognise(each)) is not None)


def _profile(prefs: RetrievalPrefs, profile: Profile) -> Profile:
    own = prefs.scoring
    given = {route: weight for route, weight in ((TEXT, own.w_text), (VECTOR, own.w_vec)) if weight is not None}
    weights = {**profile.weights, **given} if given else None
    return adjusted(profile, weights=weights, blend=own.blend, normalize=own.normalize, rrf_k=own.rrf_k, depth=own.depth)


def _demand(query: Node, mode: str) -> Node | None:
    """What the user insists on. Plain words only say what to look for, and a text that means the same may use others."""
    if query == Boolean() or mode in ("any", "plain"):
        return None
    if mode != "web":
        return query
    if isinstance(query, Boolean) and (query.must or query.must_not):
        return Boolean(must=query.must, must_not=query.must_not)
    return None
