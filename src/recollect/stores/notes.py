"""What every store makes of a note: a small JSON object under a name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import InvalidInput


def checked(name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """The note as JSON gives it back, if it may be kept."""
    try:
        as_json = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
        f"{name}{as_json}".encode()
        kept: dict[str, Any] = json.loads(as_json)
    except (RecursionError, TypeError, ValueError) as error:
        raise InvalidInput(f"the note {name!r} cannot be kept ({error}): use texts, finite numbers, lists and objects") from error
    return kept
