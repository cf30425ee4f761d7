"""Parses what a user typed into a text query; every mode but `strict` takes any text there is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn, TypeGuard

from ..analysis import is_stop_word, terms, unspaced_runs, words
from ..errors import InvalidInput
from ..textquery import Boolean, Node, Phrase, Prefix, Term

MAX_CHARS: Final = 16_384
"""Characters of a query that are read: some 2,500 words. What a longer one adds changes its ranking little and its time much."""

MAX_DEPTH: Final = 32
"""Parentheses and exclamation marks inside one another in a strict expression."""

# A run of three characters has two pairs, which may also stand apart from each other.
RUN_PHRASE: Final = 3

STRAIGHT = str.maketrans("“”", '""')
# A quote opens a phrase only where a word could begin: 5" and 7" are inches.
_WEB = re.compile(r'(?:(?<!\S)(?P<excluded>-))?(?<!\w)"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+)|"')
_STRICT = re.compile(
    r"\s*(?:(?P<operator><->|[&|!()])"
    r"|'(?P<quoted>(?:[^']|'')*)'(?P<quoted_prefix>:\*)?"
    r"|(?P<word>(?!')(?:(?!<->|:\*)[^\s&|!()])+)(?P<word_prefix>:\*)?)"
)


def parse(text: str, mode: str) -> Node:
    """The query that a text means in a mode. One without a word finds nothing.

    web     words are ranked, "a phrase" is required, -word and -"a phrase" are excluded, `a OR b` requires one of them;
            exclusions alone find nothing
    any     words are ranked; no operators
    plain   every word must occur, but for words like "the" among others; no operators
    phrase  the words, side by side
    strict  an expression of words, word:*, 'a phrase', <->, !, &, | and parentheses, tightest first; ! alone finds nothing"""
    if mode not in _PARSERS:
        raise InvalidInput(f"unknown text mode {mode!r}: use one of {', '.join(MODES)}")
    return _PARSERS[mode](text)


def _any(text: str) -> Node:
    return Boolean(should=_ranked(" ".join(words(text[:MAX_CHARS]))))


def _plain(text: str) -> Node:
    found = dict.fromkeys(words(text[:MAX_CHARS]))
    telling = [word for word in found if not is_stop_word(word)]
    return Boolean(must=tuple(_exact(word) for word in telling or found))


def _phrase(text: str) -> Node:
    text = text[:MAX_CHARS]
    return Phrase(text) if terms(text) else Boolean()


def _exact(text: str) -> Node:
    """All of the text, where it is one word of several terms too: getUserName, 東京都."""
    return Term(text) if len(terms(text)) == 1 else Phrase(text)


@dataclass(frozen=True, slots=True)
class _Part:
    """A word or a phrase of a web query."""

    text: str
    quoted: bool = False
    excluded: bool = False

    @property
    def is_or(self) -> bool:
        return self.text == "OR" and not self.quoted and not self.excluded

    @property
    def node(self) -> Node:
        return Phrase(self.text) if self.quoted else _exact(self.text)


def _web(text: str) -> Node:
    must: list[Node] = []
    must_not: list[Node] = []
    ranked: list[str] = []
    for group in _groups(_parts(text[:MAX_CHARS])):
        first = group[0]
        if len(group) > 1:
            must.append(Boolean(should=tuple(part.node for part in group)))
        elif first.excluded:
            must_not.append(first.node)
        elif first.quoted:
            must.append(first.node)
        else:
            ranked.append(first.text)
    return Boolean(tuple(must), _ranked(" ".join(ranked)), tuple(must_not))


def _ranked(text: str) -> tuple[Node, ...]:
    """Any word counts; a run without spaces counts once more where it stands whole, so that the exact word comes first."""
    runs = dict.fromkeys(run for run in unspaced_runs(text) if len(terms(run)) >= RUN_PHRASE - 1)
    return (Term(text), *map(Phrase, runs)) if text else ()


def _parts(text: str) -> list[_Part]:
    """The words and phrases of a web query that have a term; a hyphen excludes only directly before a word that it does not join."""
    parts: list[_Part] = []
    text = text.translate(STRAIGHT)
    for found in _WEB.finditer(text):
        phrase, word = found["phrase"], found["word"] or ""
        if phrase is not None:
            parts.append(_Part(phrase, quoted=True, excluded=found["excluded"] is not None))
        elif re.match(r"-[^-]", word) and not text[found.start() - 1 : found.start()].strip():
            parts.append(_Part(word[1:], excluded=True))
        else:
            parts.append(_Part(word))
    return [part for part in parts if terms(part.text)]


def _groups(parts: list[_Part]) -> list[list[_Part]]:
    """Parts joined by OR together, each other one by itself. An OR that does not stand between two is a word."""
    groups: list[list[_Part]] = []
    joined = False
    for place, part in enumerate(parts):
        beside = parts[place - 1 : place] + parts[place + 1 : place + 2]
        if part.is_or and len(beside) == 2 and not any(other.is_or or other.excluded for other in beside):
            joined = True
        elif joined:
            groups[-1].append(part)
            joined = False
        else:
            groups.append([part])
    return groups


@dataclass(frozen=True, slots=True)
class _Token:
    """A sign or a text of a strict expression. `at` counts characters from 1."""

    at: int
    sign: str = ""
    text: str = ""
    quoted: bool = False
    prefix: bool = False

    @property
    def shown(self) -> str:
        return repr(self.sign or self.text) if self.sign or self.text else "the end"


def _strict(text: str) -> Node:
    if len(text) > MAX_CHARS:
        raise InvalidInput(f"the expression has {len(text)} characters: write at most {MAX_CHARS}")
    return _Strict(_tokens(text)).whole()


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    place, end = 0, len(text.rstrip())
    while place < end:
        found = _STRICT.match(text, place, end)
        if not found:
            place += len(text[place:]) - len(text[place:].lstrip())
            what = "a quote that is not closed" if text[place] == "'" else f"{text[place]!r} without a word before it"
            raise InvalidInput(f"the expression {text!r} has {what} at character {place + 1}")
        kind = found.lastgroup or ""
        at = max(found.start(name) for name in ("operator", "quoted", "word")) + 1
        quoted = found["quoted"]
        tokens.append(
            _Token(
                at, found["operator"] or "", (quoted or "").replace("''", "'") or found["word"] or "", quoted is not None, "prefix" in kind
            )
        )
        place = found.end()
    return [*tokens, _Token(end + 1)]


class _Strict:
    """Reads a strict expression from left to right: `|` of `&` of operands."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    def whole(self) -> Node:
        found = self._either()
        if self._next.sign or self._next.text or self._next.quoted:
            self._refuse("&, |, <-> or the end")
        return found

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _refuse(self, expected: str) -> NoReturn:
        raise InvalidInput(f"the expression has {self._next.shown} at character {self._next.at}, where {expected} was expected")

    def _accept(self, sign: str) -> bool:
        accepted = self._next.sign == sign
        self._place += accepted
        return accepted

    def _either(self) -> Node:
        at = self._next.at
        parts = [self._both()]
        while self._accept("|"):
            parts.append(self._both())
        if len(parts) == 1:
            return parts[0]
        if any(_excludes(part) for part in parts):
            raise InvalidInput(f"an alternative after character {at} only excludes: join it by & to something that is looked for")
        return Boolean(should=tuple(parts))

    def _both(self) -> Node:
        parts = [self._operand()]
        while self._accept("&"):
            parts.append(self._operand())
        if len(parts) == 1:
            return parts[0]
        wanted = tuple(part for part in parts if not _excludes(part))
        return Boolean(must=wanted, must_not=tuple(node for part in parts if _excludes(part) for node in part.must_not))

    def _operand(self) -> Node:
        if self._next.sign not in ("!", "("):
            return self._text()
        if self._depth == MAX_DEPTH:
            self._refuse(f"no more than {MAX_DEPTH} of ! and ( inside one another")
        self._depth += 1
        if self._accept("!"):
            found = _negated(self._operand())
        else:
            self._place += 1
            found = self._either()
            if not self._accept(")"):
                self._refuse("&, |, <-> or )")
        self._depth -= 1
        return found

    def _text(self) -> Node:
        first = self._word()
        texts = [first.text]
        prefix = first.prefix
        while self._accept("<->"):
            following = self._word()
            texts.append(following.text)
            prefix = prefix or following.prefix
        if prefix:
            return self._beginning(texts, first.at)
        return Phrase(" ".join(texts)) if first.quoted or len(texts) > 1 else _exact(first.text)

    def _word(self) -> _Token:
        token = self._next
        if token.sign or not (token.text or token.quoted):
            self._refuse("a word, 'a phrase', ! or (")
        if not terms(token.text):
            raise InvalidInput(f"{token.text!r} at character {token.at} has no letter and no digit")
        self._place += 1
        return token

    def _beginning(self, texts: list[str], at: int) -> Node:
        if len(words(" ".join(texts))) != 1:
            raise InvalidInput(f"the :* at or after character {at} must follow a single word, and cannot be part of a phrase")
        # A run without spaces is found by its pairs of characters, whatever follows it.
        return Phrase(texts[0]) if unspaced_runs(texts[0]) and len(terms(texts[0])) > 1 else Prefix(texts[0])


def _excludes(node: Node) -> TypeGuard[Boolean]:
    """Whether a node says only what must not be."""
    return isinstance(node, Boolean) and bool(node.must_not) and not node.must and not node.should


def _negated(node: Node) -> Node:
    if not _excludes(node):
        return Boolean(must_not=(node,))
    return node.must_not[0] if len(node.must_not) == 1 else Boolean(should=node.must_not)


_PARSERS: Final[dict[str, Callable[[str], Node]]] = {"web": _web, "any": _any, "plain": _plain, "phrase": _phrase, "strict": _strict}
MODES: Final = tuple(_PARSERS)
