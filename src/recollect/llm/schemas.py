"""JSON Schemas as endpoints with strict answers take them."""

from __future__ import annotations

from typing import Any, Final

KEYWORDS: Final = frozenset(
    {"$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "items", "properties", "type"}
)
"""What OpenAI's strict mode knows for certain. Limits of length are not among it: whoever asks checks the answer anyway."""

_OF_SCHEMAS: Final = frozenset({"$defs", "properties"})


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with those keywords alone, and every key of an object required."""
    kept: dict[str, Any] = {key: _inside(key, value) for key, value in schema.items() if key in KEYWORDS}
    if "properties" in kept:
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept


def _inside(key: str, value: Any) -> Any:
    if key in _OF_SCHEMAS:
        return {name: strict(each) for name, each in value.items()}
    if isinstance(value, dict):
        return strict(value)
    return [strict(each) if isinstance(each, dict) else each for each in value] if isinstance(value, list) else value
