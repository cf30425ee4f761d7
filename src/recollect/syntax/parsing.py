"""Runs the parsers: one for each language and thread, made when it is first needed, and stopped where a text keeps it too long."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import groupby
from operator import attrgetter
from time import thread_time
from typing import TYPE_CHECKING, Any, Final

from ..cancellation import checkpoint
from ..errors import Stopped
from .languages import javascript, jvm, others, python, systems

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser, Query, Tree

    from .grammar import Grammar

GRAMMARS: Final[dict[str, Grammar]] = {
    "python": python.PYTHON,
    "javascript": javascript.JAVASCRIPT,
    "typescript": javascript.TYPESCRIPT,
    "tsx": javascript.TSX,
    "java": jvm.JAVA,
    "kotlin": jvm.KOTLIN,
    "scala": jvm.SCALA,
    "c": systems.C,
    "cpp": systems.CPP,
    "go": systems.GO,
    "rust": systems.RUST,
    "swift": systems.SWIFT,
    "csharp": others.CSHARP,
    "ruby": others.RUBY,
    "php": others.PHP,
    "shell": others.SHELL,
}

BLOCK: Final = 4096
"""Bytes that a parser is given at a time. Between two it can be stopped."""
# What is not of its language at all can take a parser time by the square of its length: 64,000 quotes are 23 s of JavaScript.
# Of code it reads 8 MB/s, so that this is more than twenty times what code takes. Seconds of the thread's own time.
PATIENCE: Final = 0.5
PATIENCE_PER_BYTE: Final = 1 / 300_000
# A query cannot be stopped: in tree-sitter 0.26.0 its progress callback crashes at the first match, as a parser's does. At each node it
# looks for the next sibling that has a name, and what nothing could be made of has all in one row: 40,000 open brackets are 3.4 s.
# A step is 2 to 5 ns, so that this is at most .5 s, and 14,000 brackets.
MOST_STEPS: Final = 100_000_000


@dataclass(frozen=True, slots=True)
class Loaded:
    """A grammar that has been loaded: what its rules are for, and their query."""

    grammar: Grammar
    language: Language
    roles: list[str]
    query: Query


@cache
def loaded(language: str) -> Loaded:
    """The grammar of a language. 20 to 60 ms, once."""
    from tree_sitter import Language, Query

    grammar = GRAMMARS[language]
    found = Language(getattr(import_module(grammar.package), grammar.entry)())
    roles, queries = grammar.parsed()
    return Loaded(grammar, found, roles, Query(found, queries))


_own: Any = threading.local()


def _parser(language: str) -> Parser:
    """This thread's parser: two threads must not share one."""
    from tree_sitter import Parser

    parsers: dict[str, Parser] = vars(_own).setdefault("parsers", {})
    if language not in parsers:
        parsers[language] = Parser(loaded(language).language)
    return parsers[language]


def parse(data: bytes, language: str) -> Tree | None:
    """The tree of a text; None where it is so far from its language that reading it would take too long."""
    checkpoint()
    end = thread_time() + PATIENCE + len(data) * PATIENCE_PER_BYTE
    is_late = False

    def read(offset: int, _: object) -> bytes:
        nonlocal is_late
        is_late = is_late or thread_time() > end or _is_stopped()
        return b"" if is_late else data[offset : offset + BLOCK]

    tree = _parser(language).parse(read)
    checkpoint()
    return None if is_late or is_tangled(tree.root_node) else tree


def is_tangled(root: Node) -> bool:
    """Whether errors in a tree would keep a query too long."""
    steps, waiting = 0, [root] if root.has_error else []
    while waiting and steps <= MOST_STEPS:
        checkpoint()
        children = waiting.pop().children
        rows = (len(list(row)) for is_named, row in groupby(children, key=attrgetter("is_named")) if not is_named)
        steps += sum(length * length // 2 for length in rows)
        waiting += [child for child in children if child.has_error]
    return steps > MOST_STEPS


def _is_stopped() -> bool:
    """Whether the work was cancelled. A parser must not be left by an exception."""
    try:
        checkpoint()
    except Stopped:
        return True
    return False
