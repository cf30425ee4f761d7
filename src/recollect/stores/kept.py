"""What was made lately, kept to be used again: conditions and statements, which take longer to put together than to run."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from ..filters import Filter

SHORT: Final = 500
"""Filters that take more characters, such as one of a hundred ids, come once."""

T = TypeVar("T")


class Kept(Generic[T]):
    """So many things, the last used ones, by their keys."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made for a key, or is made now."""
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key]
        made = make()
        with self._lock:
            self._made[key] = made
            while len(self._made) > self._most:
                self._made.popitem(last=False)
        return made

    def known(self, where: Filter | None, *more: Hashable) -> T | None:
        """What was made for a filter and something more, if it is still there."""
        with self._lock:
            return self._made.get((repr(where), *more))

    def of_filter(self, where: Filter | None, *more: Hashable, make: Callable[[], T]) -> T:
        """The same for a filter and something more. As text, in which 1, 1.0 and True are not the same."""
        name = repr(where)
        return self.of((name, *more), make) if len(name) <= SHORT else make()
