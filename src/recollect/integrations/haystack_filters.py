"""Haystack's filters as ours: `{"field": "meta.status", "operator": "==", "value": "approved"}` is `{"status": {"eq": "approved"}}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..errors import InvalidInput

RELATIONS: Final = {"==": "eq", "!=": "ne", ">": "gt", ">=": "gte", "<": "lt", "<=": "lte", "in": "in", "not in": "nin"}
LOGICAL: Final = ("AND", "OR", "NOT")
CALLED: Final = {"source": "source_ref", "item_id": "id"}
"""Fields of a document's meta that have another name in the store."""
UNKNOWN: Final = ("id", "content", "blob", "score", "embedding", "sparse_embedding")
"""Fields of a document that no item has: the id of a document is that of a piece of evidence."""


def where_of(filters: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The filter in our form; None where there is none."""
    return _where(filters) if filters else None


def _where(filters: object) -> dict[str, Any]:
    if not isinstance(filters, Mapping) or "operator" not in filters:
        raise InvalidInput(
            f"the filter is {filters!r:.120}: give a field, an operator and a value, "
            'such as {"field": "meta.status", "operator": "==", "value": "approved"}, or an operator and conditions'
        )
    return _comparison(filters) if "field" in filters else _logical(filters)


def _logical(filters: Mapping[str, Any]) -> dict[str, Any]:
    operator, conditions = filters["operator"], filters.get("conditions")
    if operator not in LOGICAL:
        raise InvalidInput(f"the filter's operator is {operator!r:.80}: conditions are joined by {', '.join(LOGICAL)}")
    if not isinstance(conditions, Sequence) or isinstance(conditions, str) or not conditions:
        raise InvalidInput(f"the conditions of {operator} are {conditions!r:.80}: give a list of filters")
    parts = [_where(each) for each in conditions]
    # Haystack's NOT is true where not all of its conditions are.
    return {"NOT": {"AND": parts}} if operator == "NOT" else {operator: parts}


def _comparison(filters: Mapping[str, Any]) -> dict[str, Any]:
    operator = filters["operator"]
    if operator not in RELATIONS:
        raise InvalidInput(f"the filter on {filters['field']!r:.80} has the operator {operator!r:.80}: use {', '.join(RELATIONS)}")
    if "value" not in filters:
        raise InvalidInput(f"the filter on {filters['field']!r:.80} has no value: give one")
    field, value = _field(filters["field"]), filters["value"]
    if value is None and operator in ("==", "!="):
        return {field: {"exists": operator == "!="}}
    return {field: {RELATIONS[operator]: value}}


def _field(name: object) -> str:
    if not isinstance(name, str) or not name.removeprefix("meta."):
        raise InvalidInput(f"the filter's field is {name!r:.80}: give a name, such as 'meta.status'")
    bare = name.removeprefix("meta.")
    if name in UNKNOWN or bare == "id":
        raise InvalidInput(f"the filter's field is {name!r}, which no item has: use one of its own, such as 'meta.item_id'")
    return CALLED.get(bare, bare)
