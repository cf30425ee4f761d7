"""The arguments of the verb that lets a language model answer."""

from __future__ import annotations

from typing import Any

from . import answering
from .grammar import add_verb, json_value
from .knowing_arguments import add_history

ASK_EPILOG = """\
the answer goes to stdout as it is written, then the passages that it rests on; what was left out is told on stderr:
  recollect ask "why did we choose a queue"
a language model has to be set: llm.model in recollect.yaml, or RECOLLECT_LLM_MODEL; without one the context is printed.
"""


def add_ask(each: Any) -> None:
    verb = add_verb(each, "ask", "let a language model answer from what is found alone", model=True, epilog=ASK_EPILOG)
    verb.add_argument("query", metavar="QUESTION", nargs="+", help="the question")
    verb.add_argument("--max-length", metavar="N", type=int, help="the most tokens that the model is given to read (default: 8000)")
    verb.add_argument("--type", help="search by meaning (semantic), by words (exact), or both (hybrid; the default)")
    verb.add_argument(
        "--max-results", "-k", metavar="N", type=int, help="how many results are found, before the graph adds to them (default: 10)"
    )
    verb.add_argument("--min-score", metavar="X", type=float, help="the least similarity, 0 to 1, to be found by meaning (default: 0.7)")
    verb.add_argument("--where", metavar="JSON", type=json_value, help="only items that pass this filter, as in a search")
    verb.add_argument("--no-code", action="store_true", help="leave out code")
    add_history(verb.add_argument_group("graph and time"))
    verb.set_defaults(run=answering.ask)
