"""A version of a document that a question says in words: `version 2 of the retention policy`, `the billing design v2`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from .nouns import Noun, Token
from .said import ENDS_CLAUSE, VERBS, Said, denied, token_at

MAX_VERSIONS: Final = 4
"""Versions in a question that are looked at."""
MAX_BETWEEN: Final = 6
"""Words between a version and what it is of."""

_VERSION: Final = re.compile(r"(?:version|v\.?|revision|rev\.?)\s*(\d+(?:\.\d+){0,3})\b", re.IGNORECASE)


def versions_in(read: str, tokens: Sequence[Token], nouns: Sequence[Noun]) -> Iterator[Said]:
    """`version 2 of the retention policy`, `the billing design v2`: of documents, not of what they are about."""
    for found in islice(_VERSION.finditer(read), MAX_VERSIONS):
        after = [token for token in tokens if token.start >= found.end()]
        if denied(tokens, token_at(tokens, found.start())):
            continue
        for noun in (noun for noun in nouns if noun.is_known):
            between = [token.small for token in after if token.end <= noun.span[0]]
            is_of = noun.span[0] > found.end() and len(after) > 1 and after[0].small == "of" and len(between) <= MAX_BETWEEN
            is_behind = not read[noun.span[1] : found.start()].strip(" ,(") and noun.span[1] < found.start()
            if is_behind or (is_of and not set(between) & VERBS and not ENDS_CLAUSE & set(between)):
                yield Said(found.span(), "version", tuple(_spellings(found[1])))
                break


def _spellings(version: str) -> Iterator[str]:
    """How a version may be written: `2` as `v2`, `2.0` and `2.0.0` too."""
    parts = version.split(".")
    while len(parts) > 1 and parts[-1] == "0":
        parts.pop()
    while len(parts) <= 3:
        yield ".".join(parts)
        yield "v" + ".".join(parts)
        parts.append("0")
