"""An address of a server that speaks OpenAI's protocol: checked, asked, and shown without its key or a password."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from .cancellation import in_thread
from .errors import InvalidInput
from .wire import Answer, Flow, Wire

SERVICES: Final[Mapping[str, str]] = {"ollama": "http://localhost:11434/v1", "openai": "https://api.openai.com/v1"}
"""By the name that a setting has before the model: `ollama:MODEL`."""

BODY_CHARS: Final = 200


def address_of(name: str, *, base_url: str | None, api_key: str | None) -> tuple[str, str] | None:
    """The model and the address that `SERVICE:MODEL` means; None where the name is not of that form."""
    service, _, model = name.partition(":")
    if service not in SERVICES or not model:
        return None
    if service == "openai" and base_url is None and not api_key:
        raise InvalidInput(f"{name!r} needs an API key: give one, or the base_url of a server that asks for none")
    return model, base_url or SERVICES[service]


class Endpoint:
    """One address, asked by `post`, `ask` or `flow`, which raise what `wire` names. Connections are opened with the first question."""

    def __init__(self, base_url: str, path: str, *, api_key: str | None, timeout_s: float, max_bytes: int) -> None:
        self.host, self._url, self.shown = _addresses(base_url, path)
        self._key = _checked_key(api_key)
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._opened: Wire | None = None

    def post(self, payload: Mapping[str, Any]) -> Answer:
        """The answer, for which this thread waits."""
        return self._wire().post(self._url, payload)

    async def ask(self, payload: Mapping[str, Any]) -> Answer:
        """The answer, for which no thread waits."""
        # The certificates are read when it is opened, which takes long enough for others to notice.
        wire = await in_thread(self._wire)
        return await wire.ask(self._url, payload)

    @asynccontextmanager
    async def flow(self, payload: Mapping[str, Any], *, silence_s: float, max_bytes: int) -> AsyncIterator[Flow]:
        """The answer as it comes; it is dropped where the block ends before it does."""
        wire = await in_thread(self._wire)
        async with wire.flow(self._url, payload, silence_s=silence_s, max_bytes=max_bytes) as flow:
            yield flow

    def said(self, answer: Answer) -> str:
        """The beginning of an answer in one line, without the key."""
        return self.quoted(answer.body.decode("utf-8", "replace"))

    def quoted(self, text: str) -> str:
        """The beginning of what a server said, in one line, without the key."""
        return " ".join((text.replace(self._key, "***") if self._key else text).split())[:BODY_CHARS]

    def close(self) -> None:
        """Let go of the connections; the next question opens new ones."""
        with self._lock:
            wire, self._opened = self._opened, None
        if wire is not None:
            wire.close()

    def _wire(self) -> Wire:
        with self._lock:
            if self._opened is None:
                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                self._opened = Wire(headers=headers, timeout_s=self._timeout_s, max_bytes=self._max_bytes)
            return self._opened


def _addresses(base_url: str, path: str) -> tuple[str, str, str]:
    """The host, the address that is asked, and the one that may be shown: it has no password and no query."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidInput(f"the base_url is not an address ({error}): give one such as 'http://localhost:11434/v1'") from error
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidInput(f"the base_url must be an http or https address, not {base_url!r}: give one such as 'http://localhost:11434/v1'")
    path = f"{parts.path.rstrip('/')}/{path}"
    shown = f"{f'[{host}]' if ':' in host else host}{f':{port}' if port else ''}"
    return host, urlunsplit(parts._replace(path=path)), urlunsplit((parts.scheme, shown, path, "", ""))


def _checked_key(api_key: str | None) -> str | None:
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidInput("the api_key has characters that no header can carry: copy it again")
    return key or None
