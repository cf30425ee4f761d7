"""The arguments of the verbs that ask the knowledge service, and of the graph and of time in a search."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from . import knowing
from .grammar import add_verb, json_value

CONTEXT_EPILOG = """\
the context goes to stdout as it is, what is to be said of it to stderr:
  recollect context "why did we choose a queue" --max-length 4000 > prompt.md
"""


def add_history(group: Any) -> None:
    """What the graph and time have to say in a search."""
    group.add_argument("--history", action="store_true", help="what was superseded or archived too, labelled so")
    group.add_argument("--as-of", metavar="DATE", help="what was current then: 2024, 2024-05-17 or 2024-05-17T12:30:00Z")
    group.add_argument(
        "--unread", metavar="WORDS", action="append", help="words of the question that name no entity and say no filter (may be repeated)"
    )
    group.add_argument(
        "--hops", metavar="N", type=int, help="add what is up to N links away from a result, 0 to 5 (default: 0, for a context 2)"
    )


def add_asking(verb: ArgumentParser) -> None:
    """What is looked for, and where, of every question to the knowledge service."""
    verb.add_argument("--type", help="search by meaning (semantic), by words (exact), or both (hybrid; the default)")
    verb.add_argument(
        "--max-results", "-k", metavar="N", type=int, help="how many results are found, before the graph adds to them (default: 10)"
    )
    verb.add_argument("--min-score", metavar="X", type=float, help="the least similarity, 0 to 1, to be found by meaning (default: 0.7)")
    verb.add_argument("--where", metavar="JSON", type=json_value, help="only items that pass this filter, as in a search")
    verb.add_argument("--no-code", action="store_true", help="leave out code")
    add_history(verb.add_argument_group("graph and time"))


def add_context(each: Any) -> None:
    verb = add_verb(each, "context", "print what a model should read before it answers a question", model=True, epilog=CONTEXT_EPILOG)
    verb.add_argument("query", metavar="QUERY", nargs="+", help="the question")
    verb.add_argument("--max-length", metavar="N", type=int, help="the most tokens of the whole context (default: 8000)")
    verb.add_argument("--format", help="how it is written: markdown, xml or json (default: markdown)")
    add_asking(verb)
    verb.add_argument("--no-metadata", action="store_true", help="write no kind, relevance, relationship or headings beside a passage")
    verb.add_argument("--explain", action="store_true", help="show on stderr how the question was read")
    verb.set_defaults(run=knowing.context)


def add_similar(each: Any) -> None:
    verb = add_verb(each, "similar", "find items that are like one, as a whole")
    verb.add_argument("id", metavar="ID", help="the id of an item")
    verb.add_argument("--k", "-k", metavar="N", type=int, help="how many results (default: 10)")
    verb.add_argument("--min-score", metavar="X", type=float, help="leave out what is less similar, 0 to 1 (default: 0.8)")
    verb.add_argument("--history", action="store_true", help="what was superseded or archived too")
    verb.set_defaults(run=knowing.similar)


def add_graph(each: Any) -> None:
    verb = add_verb(each, "graph", "show what a node is linked to, and how")
    _add_walk(verb, hops="how many links away something may be (default: 2)")
    direction = verb.add_mutually_exclusive_group()
    direction.add_argument(
        "--in", dest="direction", action="store_const", const="in", default="both", help="only links that lead to a node"
    )
    direction.add_argument(
        "--out", dest="direction", action="store_const", const="out", default="both", help="only links that begin at one"
    )
    verb.set_defaults(run=knowing.graph)


def add_impact(each: Any) -> None:
    verb = add_verb(each, "impact", "show what depends on a node, directly and indirectly")
    _add_walk(verb, hops="how many links away something may be (default: 3)")
    verb.set_defaults(run=knowing.impact)


def _add_walk(verb: ArgumentParser, *, hops: str) -> None:
    verb.add_argument("node", metavar="NODE", help="the id of an item or of an entity; or something in an item: src/a.py#Store.write")
    verb.add_argument("--hops", metavar="N", type=int, help=hops)
    verb.add_argument("--rel", metavar="TYPE", action="append", help="only links of this type, such as IMPLEMENTS (may be repeated)")
