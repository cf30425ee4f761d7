"""What a text route is asked: a small tree over the user's own words. Each store analyses the words its own way.

A leaf holds text as the user typed it, never query syntax; only `understand.text` parses one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

TEXT_CONFIG: Final = "english"
"""How words are read by our own analysis: English endings are taken off, and every other language is searched as it is written."""


@dataclass(frozen=True, slots=True)
class Term:
    """Any of the words in the text counts."""

    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """The words of the text, in this order, side by side."""

    text: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """A word that begins like this."""

    text: str


@dataclass(frozen=True, slots=True)
class Boolean:
    """Every `must`, no `must_not`; `should` adds to the score, and where there is no `must` one of them is needed."""

    must: tuple[Node, ...] = ()
    should: tuple[Node, ...] = ()
    must_not: tuple[Node, ...] = ()


Node: TypeAlias = Term | Phrase | Prefix | Boolean


@dataclass(frozen=True, slots=True)
class NativeQuery:
    """A question as it was typed, for a store whose server reads words by itself: in a mode, by a configuration of the server's."""

    text: str
    mode: str
    config: str
