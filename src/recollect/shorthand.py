"""The short names that `Library.search` has for the preferences of a search, and what becomes of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from .errors import InvalidInput
from .prefs import RetrievalPrefs
from .profiles import TEXT, VECTOR
from .settings import SearchSettings
from .shapes import is_number

SHORT_NAMES: Final = {
    "query_text": "the query",
    "filters": "where",
    "top_k_items": "k",
    "top_k_chunks": "chunks",
    "per_item_chunk_cap": "chunks_per_item",
    "fts.mode": "mode",
    "vector.min_score": "min_similarity",
    "snippet.max_chars": "snippet_chars",
    "routing.source_types": "source_types",
    "routing.file_patterns": "file_patterns",
    "routing.folders": "folders",
    "routing.router": "router",
    "graph.max_distance": "max_distance",
    "graph.include_history": "include_history",
    "graph.include_code": "include_code",
    "graph.unread": "unread",
    "graph.as_of": "as_of",
}
"""What a search calls some of the prefs."""


def prefs_of(options: SearchSettings, query: str, **given: Any) -> RetrievalPrefs:
    """The prefs of a search by its short names; None stands for what is set."""
    where, similarity = given["where"], given["min_similarity"]
    k, chunks, per_item, mode = given["k"], given["chunks"], given["chunks_per_item"], given["mode"]
    prefs: dict[str, Any] = {
        "query_text": query,
        "filters": dict(where) if isinstance(where, Mapping) else {} if where is None else where,
        "top_k_items": options.k if k is None else k,
        "top_k_chunks": options.chunks if chunks is None else chunks,
        "per_item_chunk_cap": options.chunks_per_item if per_item is None else per_item,
        "fts": {"mode": options.mode if mode is None else mode},
        "vector": {"min_score": similarity},
        "scoring": {**_weights(given["weights"]), **given["scoring"], "min_score": given["min_score"]},
        "chunking": {} if given["chunking"] is None else given["chunking"],
        "cache": {} if given["cache"] is None else given["cache"],
        "snippet": {"max_chars": given["snippet_chars"]},
        "routing": {name: _listed(given[name]) for name in ("source_types", "file_patterns", "folders")} | {"router": given["router"]},
        **{name: given[name] for name in ("expand", "debug", "profile")},
        "graph": {**given["graph"], "unread": _listed(given["unread"])},
        "facets": _listed(given["facets"]),
    }
    if similarity is not None and not (is_number(similarity) and 0 <= similarity <= 1):
        raise InvalidInput(f"min_similarity is {similarity!r}: it lies between 0 and 1")
    try:
        return RetrievalPrefs(**prefs)
    except InvalidInput as error:
        raise InvalidInput(_in_short_names(str(error))) from None


def _listed(names: Sequence[str] | str) -> Any:
    """A list of names, where it may be one alone; anything else as it is, to be told of as such."""
    return [names] if isinstance(names, str) else list(names) if isinstance(names, Sequence) else names


def _in_short_names(message: str) -> str:
    """What is wrong with the prefs of a search, by the names that `search` has for them."""
    path, space, rest = message.partition(" ")
    path = re.sub(r"\.\d+$", "", path)  # the place in a list
    return SHORT_NAMES.get(path, path.removeprefix("scoring.")) + space + rest


def _weights(weights: Mapping[str, float] | None) -> dict[str, Any]:
    """Weights by route as the prefs have them; a route that is not named has no say."""
    if weights is None:
        return {}
    if not isinstance(weights, Mapping):
        raise InvalidInput(f"weights is {weights!r:.80}: give a number for each of {TEXT!r} and {VECTOR!r}")
    if unknown := weights.keys() - {TEXT, VECTOR}:
        raise InvalidInput(f"there is no route {unknown.pop()!r} to weigh: there are {TEXT} and {VECTOR}")
    return {"w_text": weights.get(TEXT, 0.0), "w_vec": weights.get(VECTOR, 0.0)}
