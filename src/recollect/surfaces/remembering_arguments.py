"""The arguments of the verbs of memory."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from ..errors import InvalidInput
from . import remembering
from .grammar import add_verb, json_value

OWN = {
    "subject": "semantic",
    "predicate": "semantic",
    "object": "semantic",
    "confidence": "semantic",
    "also": "semantic",
    "when": "procedural",
    "then": "procedural",
    "covers": "summary",
}
"""Options of one type alone."""
NEEDED = {"semantic": ("--subject", "--predicate", "--object"), "procedural": ("--when", "--then")}
"""What a type must have; the others a text."""

REMEMBER_EPILOG = """\
what each type needs:
  recollect remember "Acme asked about invoice 789" --entity "Acme Corporation" --at 2024-02-01
  recollect remember --subject "Acme Corporation" --predicate prefers --object "NET30 payment terms"
  recollect remember --when "a rush order comes in" --then "call the warehouse before confirming"
  recollect remember "Acme orders often, mostly hardware" --type summary --covers global
or JSON Lines from stdin, with the fields that `recollect schema NewMemory` tells:
  echo '{"type": "procedural", "trigger": "a rush order comes in", "action": "call the warehouse"}' | recollect remember -
a fact takes the place of all older ones that it contradicts, those with --also too; one with --also takes no place itself.
what is known already is not kept twice.
"""

RECALL_EPILOG = """\
the prompt goes to stdout as it is, what is to be said of it to stderr:
  recollect recall "what did Acme ask about last month?" --max-tokens 2000 > prompt.md
`Acme` is Acme Corporation, once something is remembered of that; other names: recollect entities "Acme Corporation" --add --alias ACM
"""


def add_remember(each: Any) -> None:
    verb = add_verb(
        each, "remember", "keep a memory: an event, a fact, a procedure or a summary", writes=True, model=True, epilog=REMEMBER_EPILOG
    )
    verb.add_argument("text", metavar="TEXT", nargs="*", help="what to remember; '-' takes JSON Lines from stdin")
    verb.add_argument("--type", help="episodic, semantic, procedural or summary (default: by the other options, else episodic)")
    verb.add_argument("--entity", metavar="NAME", action="append", help="whom or what it is about: an id or a name (may be repeated)")
    verb.add_argument(
        "--at",
        metavar="DATE",
        help="when it was: 2024, 2024-05-17 or 2024-05-17T12:30:00Z; without a zone, of memory.timezone (default: now)",
    )
    verb.add_argument("--importance", metavar="X", type=float, help="how much it matters, 0 to 1 (default: by its type)")
    verb.add_argument("--id", metavar="ID", help="its id (default: made of what it says)")
    verb.add_argument("--title", metavar="TEXT", help="what it is called")
    verb.add_argument("--meta", metavar="JSON", type=json_value, help="fields of its own, to filter by")
    fact = verb.add_argument_group("a fact")
    fact.add_argument("--subject", metavar="NAME", help="whom or what it is about: an id or a name")
    fact.add_argument("--predicate", metavar="TEXT", help="what is said of it, such as prefers")
    fact.add_argument("--object", metavar="TEXT", help="the value")
    fact.add_argument("--confidence", metavar="X", type=float, help="how sure it is, 0 to 1")
    fact.add_argument(
        "--also", action="store_true", default=None, help="it stands beside others of its subject and predicate, and takes no place"
    )
    how = verb.add_argument_group("a procedure")
    how.add_argument("--when", metavar="TEXT", help="when it applies")
    how.add_argument("--then", metavar="TEXT", help="what is done then")
    verb.add_argument_group("a summary").add_argument(
        "--covers", metavar="NAME", help="what it sums up: session, global, an entity, or any word"
    )
    verb.set_defaults(run=remembering.remember, creates=True)


def check_remember(args: Namespace) -> None:
    """What comes from stdin says all by itself; what is given is of one type, and whole."""
    from . import verbs

    given = {name: value for name, value in vars(args).items() if name in remembering.FIELDS and value is not None}
    args.from_stdin = args.text == [verbs.STDIN]
    if args.from_stdin and given:
        raise InvalidInput(f"'-' takes JSON Lines from stdin, which say all: leave out --{next(iter(given)).replace('_', '-')}")
    if args.from_stdin:
        return
    if not args.text and not given:
        raise InvalidInput("there is nothing to remember: give a text, or --subject, --predicate and --object, or --when and --then")
    own = {name: OWN[name] for name in given if name in OWN}
    args.type = args.type or next(iter(own.values()), "episodic")
    for name, type_ in own.items():
        if type_ != args.type:
            raise InvalidInput(f"--{name} is for a memory of type {type_!r}, and this is {args.type!r}: leave it out, or change --type")
    needed = NEEDED.get(args.type, ())
    if missing := [each for each in needed if not (given.get(each[2:]) or "").strip()]:
        raise InvalidInput(f"a memory of type {args.type!r} needs {' and '.join((', '.join(needed[:-1]), needed[-1]))}: give {missing[0]}")
    if not needed and not " ".join(args.text).strip():
        raise InvalidInput("the text is empty: say what to remember")


def add_recall(each: Any) -> None:
    verb = add_verb(each, "recall", "print what memory has to say to a question, as a prompt", model=True, epilog=RECALL_EPILOG)
    verb.add_argument("query", metavar="QUERY", nargs="+", help="the question")
    verb.add_argument("--limit", "-k", metavar="N", type=int, help="the most memories (default: 15)")
    verb.add_argument("--max-tokens", metavar="N", type=int, help="the most tokens of the prompt (default: 3000)")
    verb.add_argument("--type", action="append", help="only memories of this type (may be repeated)")
    verb.add_argument("--where", metavar="JSON", type=json_value, help="only memories that pass this filter, as in a search")
    verb.add_argument("--at", metavar="DATE", help="as it would have been asked then; what came later is not recalled (default: now)")
    verb.add_argument("--timezone", metavar="ZONE", help="by which `yesterday`, and --at without a zone, are told, such as Europe/Berlin")
    verb.add_argument("--said", metavar="TEXT", action="append", help="what was said before the question, in order (may be repeated)")
    verb.add_argument("--about", metavar="ID", action="append", help="an entity that was spoken of before, in order (may be repeated)")
    verb.add_argument("--history", action="store_true", help="facts too whose place was taken, labelled so")
    verb.add_argument(
        "--unread", metavar="WORDS", action="append", help="words of the question that name no entity and no time (may be repeated)"
    )
    verb.add_argument("--explain", action="store_true", help="show on stderr how the question was read, and why each memory came")
    verb.set_defaults(run=remembering.recall)


def add_forget(each: Any) -> None:
    verb = add_verb(each, "forget", "forget memories, and leave nothing of them behind", writes=True)
    verb.add_argument("ids", metavar="ID", nargs="*")
    verb.add_argument("--all", action="store_true", help="every memory of the scope, and what was learnt from them; needs --yes")
    verb.add_argument("--yes", action="store_true", help="do it; without this, only how many memories it would be is told")
    verb.set_defaults(run=remembering.forget)


def check_forget(args: Namespace) -> None:
    if bool(args.ids) == args.all:
        raise InvalidInput("say what to forget: ids, or --all, and one of them only")


def add_feedback(each: Any) -> None:
    verb = add_verb(each, "feedback", "tell which memories of a recall were of use", writes=True)
    verb.add_argument("retrieval_id", metavar="RECALL", help="the id that `recall` told")
    verb.add_argument("used", metavar="ID", nargs="+", help="a memory's id, or m1, m2... as the prompt calls it")
    verb.set_defaults(run=remembering.feedback)


def add_tune(each: Any) -> None:
    verb = add_verb(each, "tune", "show which weights would follow from what was used, and let them count", writes=True)
    what = verb.add_mutually_exclusive_group()
    what.add_argument("--apply", action="store_true", help="let them count from now on, for this scope")
    what.add_argument("--reset", action="store_true", help="go back to the weights of the settings")
    verb.set_defaults(run=remembering.tune)


def add_entities(each: Any) -> None:
    verb = add_verb(each, "entities", "show whom and what memories and documents are about", writes=True)
    verb.add_argument("name", metavar="NAME", nargs="?", help="only those that this name may mean, also misspelt")
    verb.add_argument("--type", help="only those of this type, such as customer; with --add, its type")
    verb.add_argument("--k", "-k", metavar="N", type=int, help="how many (default: all)")
    more = verb.add_argument_group("to add one")
    more.add_argument(
        "--add", action="store_true", help="keep NAME as an entity, or give one that is known more names; --id of a known one renames it"
    )
    more.add_argument("--id", metavar="ID", help="its canonical id, such as customer:a1b2 (default: made of type and name)")
    more.add_argument("--alias", metavar="NAME", action="append", help="what else it is called (may be repeated)")
    verb.set_defaults(run=remembering.entities)


def check_entities(args: Namespace) -> None:
    if args.add and not args.name:
        raise InvalidInput("--add needs a NAME: `recollect entities 'Acme Corporation' --add --type customer`")
    if not args.add and (args.id is not None or args.alias):
        raise InvalidInput("--id and --alias are for an entity to add: say so with --add")
    if args.id is not None and not args.id.strip():
        raise InvalidInput(f"--id is {args.id!r}: give TYPE:NAME, such as customer:a1b2, or leave it out")
    if args.k is not None and args.k < 1:
        raise InvalidInput(f"--k is {args.k}: give at least 1")
    args.creates = args.add
