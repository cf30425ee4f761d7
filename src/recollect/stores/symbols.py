"""What an item can be found by by name, as every store derives it when it is written."""

from __future__ import annotations

from ..errors import InvalidInput
from ..model import Entry, Symbol
from ..outline import symbols_of


def symbols(entry: Entry) -> list[Symbol]:
    """The symbols of an entry, in the order of its outline, which must be one."""
    try:
        return list(symbols_of(entry.item, entry.outline))
    except (LookupError, TypeError, ValueError) as error:
        raise InvalidInput(f"the outline of item {entry.item.id!r} cannot be read ({error}): give it as `Outline.pack` makes it") from error
