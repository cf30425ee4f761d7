"""An answer of a tool: the text that an agent reads, and the same as data. Stored text in it is fenced, names in it are one line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ...assemble.entries import fence_of, fenced
from ...assemble.writing import NOTE
from ...library import Library
from ...shapes import Contract

RESULT_TOKENS: Final = 1_200
"""What a result may take of an agent's attention where nobody says how much."""


class Answer(NamedTuple):
    """What a tool gives back."""

    text: str
    value: Contract


def data_of(value: Contract) -> dict[str, Any]:
    """A value as JSON has it, without what is not known."""
    return value.model_dump(mode="json", exclude_none=True, exclude_defaults=False)


def tokens_of(library: Library, text: str) -> int:
    """How many tokens of the model a text has."""
    return len(library._parts.reader.tokens.starts(text))


def size_of(library: Library, text: str, value: Contract) -> int:
    """The tokens of something as text or as data, whichever has more: some clients show the one, some the other."""
    return max(tokens_of(library, text), tokens_of(library, json.dumps(data_of(value), ensure_ascii=False)))


def as_data(text: str) -> str:
    """Text between fences that it cannot close."""
    return fenced(text.split("\n"), fence_of([text]))


def written(*parts: str, notes: Sequence[str] = (), is_data: bool = True) -> str:
    """The parts of a text, with what is to be said of them all before and after."""
    return "\n\n".join([*([NOTE] if is_data else []), *filter(None, parts), *notes])
