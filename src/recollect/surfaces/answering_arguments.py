"""The arguments of the verb that lets a language model answer."""

from __future__ import annotations

from typing import Any

from . import answering
from .grammar import add_verb
from .knowing_arguments import add_asking

ASK_EPILOG = """\
the answer goes to stdout as it is written, then the passages that it rests on; what was left out is told on stderr:
  recollect ask "why did we choose a queue"
a language model has to be set: llm.model in recollect.yaml, or RECOLLECT_LLM_MODEL; without one the context is printed.
"""


def add_ask(each: Any) -> None:
    verb = add_verb(each, "ask", "let a language model answer from what is found alone", model=True, epilog=ASK_EPILOG)
    verb.add_argument("query", metavar="QUESTION", nargs="+", help="the question")
    verb.add_argument("--max-length", metavar="N", type=int, help="the most tokens that the model is given to read (default: 8000)")
    add_asking(verb)
    verb.set_defaults(run=answering.ask)
