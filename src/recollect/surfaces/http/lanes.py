"""Which queue a request waits in: questions, answers that a language model writes, and what writes each have their own.

So nobody who only asks waits behind an import, and a model that takes its time holds no question up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from .queue import Turns

LaneName = Literal["asking", "answering", "writing"]
BULK: Final = ("/items", "/memories")
WRITING: Final = (*BULK, "/entities", "/memories/feedback")
"""What is posted there is kept, whoever waits for the answer; so is whatever is put or deleted."""
NDJSON: Final = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")
ANSWERING: Final = "/retrieval/ask"


@dataclass(frozen=True, slots=True)
class Lane:
    """A queue, and how long a request in it may take."""

    name: LaneName
    turns: Turns
    timeout_s: float

    @property
    def setting(self) -> str:
        """What sets how long that is."""
        return {"asking": "serve.timeout_s", "answering": "llm.answer_timeout_s", "writing": "serve.write_timeout_s"}[self.name]


def is_lines(headers: Mapping[str, str]) -> bool:
    """Whether a body is JSON Lines, by what is said of it."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() in NDJSON


def lane_of(method: str, path: str) -> LaneName:
    """The lane of a request."""
    if method in ("PUT", "DELETE") or (method == "POST" and path in WRITING):
        return "writing"
    return "answering" if path == ANSWERING else "asking"
