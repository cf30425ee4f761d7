"""Reads the answer of a chat as it is streamed by OpenAI's protocol, or sent whole by a server that does not stream."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from typing import Any, Final

from .events import Events

DONE: Final = "[DONE]"
OPENING: Final = "<think>"
CLOSING: Final = "</think>"
CUT_SHORT: Final = {
    "length": "it stopped in the middle, at the most tokens that it writes",
    "content_filter": "its answer was cut off by a filter of the server",
}
"""Ends of an answer that are not its own, by the server's names for them."""

_MAY_BE_WHOLE: Final = re.compile(rb"\s*+(?:\{|\Z)")


class NotToRead(ValueError):
    """What is wrong with an answer, in words that follow the address of the server."""


class Reading:
    """What a stream has said of how it ends."""

    def __init__(self) -> None:
        self.finish: str | None = None
        self.refusal = ""
        self.is_done = False

    def check(self) -> None:
        """Refuse a stream that did not come to its end."""
        if self.refusal:
            raise NotToRead(f"refused to answer: {self.refusal}")
        if self.finish in CUT_SHORT:
            raise NotToRead(f"was not done: {CUT_SHORT[self.finish]}")
        if not self.is_done and self.finish is None:
            raise NotToRead("broke off in the middle of its answer")


async def texts(parts: AsyncIterator[bytes]) -> AsyncGenerator[str]:
    """The pieces of text in the answer of a server. `NotToRead` says what is wrong with it, also after some pieces."""
    reading, begin = Reading(), bytearray()
    events: Events | None = None
    async for part in parts:
        if events is None:
            begin += part
            if _MAY_BE_WHOLE.match(begin):
                continue
            events, part = Events(), bytes(begin)
        for text in _said(events.feed(part), reading):
            yield text
        if reading.is_done:
            break
    for text in _said(events.end() if events else _whole(begin, reading), reading):
        yield text
    reading.check()


def _whole(body: bytearray, reading: Reading) -> list[str]:
    """An answer that was not streamed, as the only event there is."""
    reading.is_done = bool(body.strip())
    return [body.decode("utf-8", "replace")] if reading.is_done else []


def _said(events: Iterable[str], reading: Reading) -> Iterator[str]:
    for data in events:
        if data.strip() == DONE:
            reading.is_done = True
            return
        for chunk in _chunks(data):
            yield from _pieces(chunk, reading)


def _chunks(data: str) -> list[Any]:
    """The object of an event; where servers leave out the blank lines between events, one for each line."""
    try:
        return [_parsed(data)]
    except NotToRead:
        lines = [line for line in data.split("\n") if line.strip() and line.strip() != DONE]
        if len(lines) < 2:
            raise
        return [_parsed(line) for line in lines]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotToRead(f"answered with what is not JSON: {text[:200]}") from error


def _pieces(chunk: Any, reading: Reading) -> Iterator[str]:
    if not isinstance(chunk, dict):
        raise NotToRead(f"answered with what is no object: {json.dumps(chunk)[:200]}")
    if (error := chunk.get("error")) is not None:
        raise NotToRead(f"answered with an error: {_error(error)}")
    choices = chunk.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return
    message = choice.get("delta") or choice.get("message")
    if isinstance(message, dict):
        reading.refusal += _text(message.get("refusal"))
        if text := _text(message.get("content")):
            yield text
    finish = choice.get("finish_reason")
    reading.finish = finish if isinstance(finish, str) else reading.finish


def _text(content: object) -> str:
    """The text of a message, which some servers send in parts, each with its type."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _error(error: object) -> str:
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else json.dumps(error)


class Speech:
    """Takes the pieces of a text, and gives them without what a model thinks aloud before it answers, between the marks that models
    have for that."""

    def __init__(self) -> None:
        self._held = ""
        self._is_begun = False

    def feed(self, piece: str) -> str:
        """What is said by this piece."""
        if self._is_begun:
            return piece
        held = (self._held + piece).lstrip()
        if held.startswith(OPENING):
            _, end, rest = held.partition(CLOSING)
            # Of a thought only that it is one has to be remembered, and how it ends so far.
            self._is_begun, self._held = bool(end), OPENING + held[len(OPENING) :][-len(CLOSING) :]
            return rest
        self._is_begun, self._held = not OPENING.startswith(held), held
        return held if self._is_begun else ""

    def end(self) -> str:
        """What was held back, where it was no thought."""
        return "" if self._is_begun or self._held.startswith(OPENING) else self._held
