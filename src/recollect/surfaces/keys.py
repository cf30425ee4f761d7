"""Keys of the service: random, and known by their hash alone."""

from __future__ import annotations

from hashlib import sha256
from secrets import token_urlsafe
from typing import Final

PREFIX: Final = "rk_"
"""Of every key, so that one that got where it does not belong is known for what it is."""


def new_key() -> tuple[str, str]:
    """A key, and the hash by which the settings know it. 256 random bits need no slow hash: nobody can try them all."""
    key = PREFIX + token_urlsafe(32)
    return key, hash_of(key)


def hash_of(key: str) -> str:
    return f"sha256:{sha256(key.encode()).hexdigest()}"
