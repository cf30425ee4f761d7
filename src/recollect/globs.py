"""Globs: `*` and `?` stay within a component of a path, `**` crosses them; a pattern without `/` is for the last component.

`**/` is nothing, or anything up to a slash. Patterns come from questions and from language models, so no pattern may take long: none
is matched by trying every way to share a text out among its stars.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import Final

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_SIGNS: Final = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
MOST_ALTERNATIVES: Final = 16


def regex_of(pattern: str) -> str:
    """The regular expression of a glob, for a whole text and for an engine that does not backtrack."""
    return "".join(_SIGNS.get(token) or re.escape(token) for token in _tokens(pattern))


def backtracking_regexes_of(pattern: str) -> list[str] | None:
    """Regular expressions for a whole text, one of which matches where the glob does, for an engine that does backtrack, and has atomic
    groups: none takes long. None where that would take too many of them."""
    alternatives: list[tuple[str, ...]] = [()]
    for before, token in pairwise(("/", *_tokens(pattern))):
        loose = token == "**/" and not before.endswith("/")
        alternatives = [(*one, *more) for one in alternatives for more in (((), ("**", "/")) if loose else ((token,),))]
        if len(alternatives) > MOST_ALTERNATIVES:
            return None
    return [_committed(one) for one in alternatives]


@lru_cache(maxsize=256)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Tells whether a text is as the glob says."""
    tokens = _tokens(pattern)
    if _has_loose_folders(tokens):
        return lambda text: _follows(tokens, text)
    fullmatch = re.compile(_committed(tokens), re.DOTALL).fullmatch
    return lambda text: fullmatch(text) is not None


def _tokens(pattern: str) -> tuple[str, ...]:
    """Its signs and what is between them, without signs that say nothing beside a `**`."""
    found = [] if "/" in pattern else ["**/"]
    for token in _TOKEN.findall(pattern):
        last = found[-1] if found else ""
        if last == "**/" and token in ("**", "**/"):
            found[-1] = token
        elif last != "**" or token not in ("**", "**/", "*"):
            found.append(token)
    return tuple(found)


def _has_loose_folders(tokens: Sequence[str]) -> bool:
    """Whether a `**/` begins within a component, as in `a**/b`: it may be left out there, which `a**` with `/b` may not."""
    return any(token == "**/" and not before.endswith("/") for before, token in pairwise(tokens))


def _committed(tokens: Sequence[str]) -> str:
    """A regular expression that takes what is between two stars where it comes first, and never tries another place.

    Another place would be further on, from where no more can be reached: the next star goes on from the first as well. That holds within
    a component for `*`, and for all that is between two `**`, each of which is a `**/` and a `*`."""
    runs: list[tuple[str, list[str]]] = [("", [""])]
    for token in tokens:
        if token in ("**/", "**"):
            runs.append((token, [""] if token == "**/" else ["", ""]))
        elif token == "*":
            runs[-1][1].append("")
        else:
            runs[-1][1][-1] += _SIGNS.get(token) or re.escape(token)
    *others, (folders, (first, *rest)) = runs
    made = [f"(?>{'(?:.*?/)??' if opening else ''}{head}{_each_first(tail)})" for opening, (head, *tail) in others]
    # The last star goes on to the end of the text, or there is no match.
    end = f"{_each_first(rest[:-1])}[^/]*{rest[-1]}" if rest else ""
    return f"{''.join(made)}{'(?:.*/)?' if folders else ''}{first}{end}"


def _each_first(parts: Sequence[str]) -> str:
    return "".join(f"(?>[^/]*?{part})" for part in parts)


def _follows(tokens: Sequence[str], text: str) -> bool:
    """Whether the text is as the tokens say, by all the places at once at which each token may end: a bit for each place."""
    size = len(text)
    places = cache(partial(_places, text))
    slashes = places("/")
    within = ~slashes & ((1 << size) - 1)
    here = 1
    for token in tokens:
        onwards = -(here & -here)
        if token == "**/":
            here |= (slashes & onwards) << 1
        elif token == "**":
            here = onwards & ((1 << size + 1) - 1)
        elif token == "*":
            # A sum carries each place on to the end of its component.
            here |= ((here & within) + within) ^ within
        elif token == "?":
            here = (here & within) << 1
        else:
            for character in token:
                here = (here & places(character)) << 1
        if not here:
            return False
    return bool(here >> size & 1)


def _places(text: str, character: str) -> int:
    """A bit for each place at which the character stands."""
    return int("0" + "".join("1" if each == character else "0" for each in reversed(text)), 2)
