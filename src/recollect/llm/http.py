"""Asks a chat model through an OpenAI-compatible endpoint (OpenAI, Ollama, vLLM): for a JSON object that fits a schema, or for a text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from typing import Any, Final

from ..endpoint import Endpoint
from ..errors import InvalidInput, LlmError
from ..wire import Answer, Closed, NoAnswer, Silent, TooLong
from .schemas import strict
from .streaming import NotToRead, Speech, texts

MAX_BYTES: Final = 1_000_000
"""An answer is a few thousand characters; a model that reasons aloud may take ten times as many."""

REFUSABLE: Final = {
    "json_schema": ("response_format", "json_schema", "schema"),
    "json_object": ("response_format", "json_object", "json_schema"),
    "temperature": ("temperature",),
    "stream": ("stream",),
}
"""What some servers and models do not take, by words with which they say so: a schema, being told to answer with an object at all,
being told how free to be, or being asked for an answer in pieces."""
OF_OBJECTS: Final = ("json_schema", "json_object", "temperature")
OF_TEXTS: Final = ("temperature", "stream")

MAX_STREAM_BYTES: Final = 8_000_000
"""A streamed answer takes some 250 bytes for each token: so much is 30,000 of them."""


class HttpLlm:
    """A model behind an endpoint. What it refused once is not sent to it again."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str | None = None,
        timeout_s: float = 10.0,
        answer_timeout_s: float = 300.0,
        silence_timeout_s: float = 60.0,
    ) -> None:
        limits = {"timeout_s": timeout_s, "answer_timeout_s": answer_timeout_s, "silence_timeout_s": silence_timeout_s}
        for name, seconds in limits.items():
            if seconds <= 0:
                raise InvalidInput(f"the {name} of a language model is {seconds}: give more than 0")
        self._model = model
        self._timeout_s = timeout_s
        self._answer_timeout_s = answer_timeout_s
        self._silence_timeout_s = silence_timeout_s
        self._endpoint = Endpoint(base_url, "chat/completions", api_key=api_key, timeout_s=timeout_s, max_bytes=MAX_BYTES)
        self._refused: frozenset[str] = frozenset()

    @property
    def model(self) -> str:
        return self._model

    async def complete(self, system: str, user: str, schema: dict[str, Any]) -> Any:
        """The JSON object that the model answers with; whether it fits the schema is for the caller to see."""
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._answer(system, user, strict(schema))
        except TimeoutError:
            raise LlmError(f"{self._endpoint.shown} did not answer within {self._timeout_s:g} s") from None
        except (NoAnswer, TooLong, Closed) as error:
            raise self._unanswered(error, MAX_BYTES) from error
        try:
            return read_object(answer.body)
        except ValueError as error:
            shown, said = self._endpoint.shown, self._endpoint.said(answer)
            raise LlmError(f"{shown} answered with {error}: {said}", is_wrong_answer=True) from error

    async def stream(self, system: str, user: str) -> AsyncGenerator[str]:
        """The text as the model writes it, without what it thinks aloud before. The time that its reader takes counts, too."""
        end, speech = asyncio.get_running_loop().time() + self._answer_timeout_s, Speech()
        async with aclosing(self._texts(system, user)) as pieces:
            while (piece := await self._next(pieces, end)) is not None:
                if said := speech.feed(piece):
                    yield said
        if said := speech.end():
            yield said

    def close(self) -> None:
        """Let go of the connections; the next question opens new ones."""
        self._endpoint.close()

    async def _answer(self, system: str, user: str, schema: dict[str, Any]) -> Answer:
        while True:
            left_out = self._refused
            payload = self._payload(system, user, schema, left_out)
            answer = await self._endpoint.ask(payload)
            if answer.is_success:
                return answer
            self._leave_out(answer, OF_OBJECTS, left_out)

    async def _next(self, pieces: AsyncGenerator[str], end: float) -> str | None:
        """The next piece; None where there is none, and an `LlmError` where something is wrong."""
        try:
            async with asyncio.timeout_at(end):
                return await anext(pieces, None)
        except TimeoutError:
            raise LlmError(f"{self._endpoint.shown} was not done within {self._answer_timeout_s:g} s") from None
        except Silent as error:
            raise LlmError(f"{self._endpoint.shown} went silent: {error}") from error
        except (NoAnswer, TooLong, Closed) as error:
            raise self._unanswered(error, MAX_STREAM_BYTES) from error
        except NotToRead as error:
            raise LlmError(f"{self._endpoint.shown} {self._endpoint.quoted(str(error))}") from error

    async def _texts(self, system: str, user: str) -> AsyncGenerator[str]:
        while True:
            left_out = self._refused
            payload: dict[str, Any] = {"model": self._model, "stream": "stream" not in left_out}
            if "temperature" not in left_out:
                payload["temperature"] = 0
            payload["messages"] = _messages(system, user)
            async with self._endpoint.flow(payload, silence_s=self._silence_timeout_s, max_bytes=MAX_STREAM_BYTES) as flow:
                if flow.is_success:
                    async with aclosing(texts(flow)) as found:
                        async for text in found:
                            yield text
                    return
                answer = await flow.whole()
            self._leave_out(answer, OF_TEXTS, left_out)

    def _leave_out(self, answer: Answer, names: Collection[str], left_out: frozenset[str]) -> None:
        """Remember what the server refused, for the next try; an error where it did not say, or nothing is left to leave out."""
        refused = _refusal(answer, [name for name in names if name not in left_out])
        if refused is None:
            raise LlmError(f"{self._endpoint.shown} answered {answer.status}: {self._endpoint.said(answer)}")
        self._refused |= {refused}

    def _unanswered(self, error: Exception, max_bytes: int) -> LlmError:
        """What is told of a failure of the wire."""
        match error:
            case TooLong():
                return LlmError(f"{self._endpoint.shown} answered with more than {max_bytes} bytes")
            case Closed():
                return LlmError("the language model was closed before there was an answer: ask it again")
            case _:
                return LlmError(f"{self._endpoint.shown} does not answer ({error})")

    def _payload(self, system: str, user: str, schema: dict[str, Any], left_out: frozenset[str]) -> dict[str, Any]:
        payload: dict[str, Any] = {"model": self._model}
        if "json_schema" not in left_out:
            payload["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        else:
            system = f"{system}\n\nAnswer with one JSON object that fits this JSON Schema, and nothing else:\n{json.dumps(schema)}"
            if "json_object" not in left_out:
                payload["response_format"] = {"type": "json_object"}
        if "temperature" not in left_out:
            payload["temperature"] = 0
        return payload | {"messages": _messages(system, user)}


def _messages(system: str, user: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": _sendable(system)}, {"role": "user", "content": _sendable(user)}]


def _refusal(answer: Answer, names: Collection[str]) -> str | None:
    """What the server does not take of what it was sent, where it says so."""
    if answer.status not in (400, 422):
        return None
    body = answer.body.decode("utf-8", "replace").lower()
    return next((name for name in names if any(word in body for word in REFUSABLE[name])), None)


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object in the answer of a chat; a ValueError says what the answer is instead."""
    answer = _parsed(body)
    choices = answer.get("choices") if isinstance(answer, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str):
        raise ValueError("no text under 'choices'")
    try:
        found = _parsed(content)
    except ValueError:
        found = _parsed(_without_talk(content))
    if not isinstance(found, dict):
        raise ValueError("JSON that is no object")
    return found


def _parsed(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("what is not JSON") from error


def _without_talk(text: str) -> str:
    """The object alone: models that know no schema think aloud before it, introduce it, or put it in a block of code."""
    said = text.rpartition("</think>")[2]
    return said[said.find("{") : said.rfind("}") + 1]


def _sendable(text: str) -> str:
    """The text with each lone surrogate, which UTF-8 cannot carry, replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")
