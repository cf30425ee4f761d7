"""The settings of the service, the section `serve`: where it listens, who may use it, and how much it takes on."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import Field, field_validator

from .retrieval_settings import Section, listed, mapped

EVERY_SCOPE: Final = "*"
MAX_NAME: Final = 64
MAX_WORKERS: Final = 64
HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")

Right = Literal["read", "write"]
LogFormat = Literal["auto", "text", "json"]


class KeySettings(Section):
    """A key: by its hash, so that whoever reads the settings cannot use it. `recollect key` makes one."""

    name: str = Field(min_length=1, max_length=MAX_NAME)
    hash: str = Field(repr=False)
    scopes: list[Annotated[str, Field(min_length=1, max_length=256)]] = Field(min_length=1)
    """The scopes it is for; `*` stands for every one."""
    may: Right = "read"
    requests_per_s: float | None = Field(default=None, gt=0)
    """Where it is not `serve.requests_per_s`."""

    @field_validator("hash")
    @classmethod
    def _is_a_hash(cls, value: str) -> str:
        if not HASH.fullmatch(value):
            raise ValueError("give the hash of a key, 'sha256:' and 64 hexadecimal digits: `recollect key NAME` makes both")
        return value


class ServeSettings(Section):
    """Everything that can be set of the service."""

    host: str = Field(default="127.0.0.1", min_length=1)
    """The address it listens at. Any but this machine's own needs a key."""
    port: int = Field(default=8377, ge=0, le=65_535)
    keys: list[KeySettings] = Field(default=[], repr=False)
    """Who may use it. Without any, everybody on this machine may, and nobody else."""
    requests_per_s: float = Field(default=50.0, gt=0)
    """Of one key, on average, to each process; a burst may have four seconds' worth."""
    workers: int = Field(default=1, ge=1, le=MAX_WORKERS)
    """Processes that answer at the same address. One is bound to little more than one core."""
    running: int = Field(default=3, ge=1)
    """Questions that a process looks into at once: a search takes both cores for itself most of the time, and more of them only get in each
    other's way (16 at once: 33 ms of CPU each, 2 to 4: 25)."""
    answering: int = Field(default=16, ge=1)
    """Answers that a language model writes at once."""
    writing: int = Field(default=2, ge=1)
    """Requests that write at once."""
    waiting: int = Field(default=128, ge=0)
    """Requests of each kind that wait for their turn; one more is told to come again."""
    timeout_s: float = Field(default=30.0, gt=0, le=86_400)
    """How long a question may take."""
    write_timeout_s: float = Field(default=600.0, gt=0, le=86_400)
    """How long a request may take that writes."""
    max_body_bytes: int = Field(default=10_000_000, ge=1)
    max_bulk_bytes: int = Field(default=1_000_000_000, ge=1)
    """Of a body of JSON Lines."""
    hosts: list[str] = Field(default=[])
    """Names by which the service may be called, beside those of this machine, where there are no keys."""
    origins: list[str] = Field(default=[])
    """Pages of other origins that may call it from a browser, such as https://tools.example.org."""
    log: LogFormat = "auto"
    """Plain lines, JSON Lines, or by whether somebody watches."""

    _from_environment = field_validator("hosts", "origins", mode="before")(listed)

    @field_validator("keys", mode="before")
    @classmethod
    def _keys(cls, value: Any) -> Any:
        return mapped(value)

    @field_validator("keys")
    @classmethod
    def _told_apart(cls, value: list[KeySettings]) -> list[KeySettings]:
        for what in ("name", "hash"):
            held = [getattr(key, what) for key in value]
            if len(set(held)) < len(held):
                raise ValueError(f"two keys have the same {what}: give each its own")
        return value
