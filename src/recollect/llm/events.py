"""Reads server-sent events from bytes that are cut anywhere. Pure: it is fed parts, and gives the data of each event."""

from __future__ import annotations

import re
from typing import Final

_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_MARK: Final = b"\xef\xbb\xbf"


class Events:
    """Takes the parts of one answer in turn."""

    def __init__(self) -> None:
        self._line = bytearray()
        """The line that has no end yet."""
        self._data: list[str] = []
        self._after_cr = False
        self._begun = False

    def feed(self, part: bytes) -> list[str]:
        """The data of the events that this part completes."""
        if not part:
            return []
        if self._after_cr and part.startswith(b"\n"):
            part = part[1:]
            self._after_cr = False
            if not part:
                return []
        self._after_cr = part.endswith(b"\r")
        first, *rest = _LINE_END.split(part)
        self._line += first
        found: list[str] = []
        for line in rest:
            found += self._ended()
            self._line += line
        return found

    def end(self) -> list[str]:
        """The data of an event that nothing came after: some servers leave out its blank line."""
        return [*self._ended(), *self._dispatched()]

    def _ended(self) -> list[str]:
        line = bytes(self._line)
        self._line.clear()
        if not self._begun:
            line = line.removeprefix(_MARK)
            self._begun = True
        if not line:
            return self._dispatched()
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
        return []

    def _dispatched(self) -> list[str]:
        data, self._data = self._data, []
        return ["\n".join(data)] if data else []
