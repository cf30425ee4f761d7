"""The arguments of the `recollect` command."""

from __future__ import annotations

import os
from argparse import SUPPRESS, ArgumentParser, BooleanOptionalAction, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from .. import __version__
from ..errors import InvalidInput
from . import copying, database, evaluating, verbs
from .answering_arguments import add_ask
from .grammar import add_verb, json_value, time_value
from .knowing_arguments import add_context, add_graph, add_history, add_impact, add_similar
from .mcp_arguments import add_mcp
from .remembering_arguments import (
    add_entities,
    add_feedback,
    add_forget,
    add_recall,
    add_remember,
    add_tune,
    check_entities,
    check_forget,
    check_remember,
)
from .serving import add_key, add_serve

DESCRIPTION = "Find what matters in documents, code and notes: by words and by meaning, on this machine, with the reason for every result."

EPILOG = """\
start with:
  recollect index docs/
  recollect search "how are backups made"
  recollect remember "Acme asked why invoice 789 came late"
  recollect recall "what did Acme ask?"

exit codes:
  0    it worked
  1    nothing was found: a search without results, an id that is not there
  2    bad input: an argument, a filter, a path, a record, a setting
  3    the store or the model cannot do it, or not in time
  130  interrupted by Ctrl-C; the store is usable
  141  whoever read the output stopped reading

With --json a command prints one JSON object on stdout, also when it fails: {"error": {"type": ..., "message": ...}}.
What goes wrong is told in one line on stderr in any case.

Settings come from recollect.yaml (here, or --config), then the environment (RECOLLECT_...), then the options.
"""

SEARCH_EPILOG = """\
a filter is JSON over the fields of an item and of its metadata:
  --where '{"status": "approved", "year": {"gte": 2024}}'
  --where '{"path": {"glob": "docs/**"}}'
  --where '{"OR": [{"kind": "code"}, {"tags": ["api", "http"]}]}'
operators: eq, ne, in, nin, gt, gte, lt, lte, prefix, glob, exists; and AND, OR, NOT.
"""

EVAL_EPILOG = """\
a dataset is indexed into a store that is removed afterwards; with --store it is kept there, in a scope of its own.
a .csv has the columns question and expected (an id or a path); it is asked of the store you have:
  recollect eval questions.csv --worst 10
"""


class _Parser(ArgumentParser):
    """Raises what is wrong, for the caller to tell in one line."""

    def error(self, message: str) -> NoReturn:
        raise _unusable(message, self.prog)


def _unusable(message: str, prog: str) -> InvalidInput:
    hint = (
        "; to leave a word out, put the whole query in quotes after --" if prog.endswith((" search", " context", " ask", " recall")) else ""
    )
    return InvalidInput(f"{message}{hint} (see `{prog} --help`)")


def parse(arguments: Sequence[str]) -> Namespace:
    """The arguments, if they make sense together. `--help` and `--version` end by `SystemExit`."""
    args, unknown = parser().parse_known_args(arguments)
    if unknown:
        raise _unusable(f"unrecognized arguments: {' '.join(unknown)}", f"recollect {args.verb}")
    match args.verb:
        case "index":
            _check_index(args)
        case "import":
            _check_there(args.files)
        case "search":
            _check_search(args)
        case "delete":
            _check_delete(args)
        case "remember":
            check_remember(args)
        case "forget":
            check_forget(args)
        case "entities":
            check_entities(args)
        case "copy":
            _check_copy(args)
        case "log" if args.k < 1:
            raise InvalidInput(f"--k is {args.k}: give at least 1")
        case "db":
            database.check(args)
        case "eval":
            _check_eval(args)
        case "mcp":
            args.creates = not args.read_only
    return args


def _check_index(args: Namespace) -> None:
    from_stdin = verbs.STDIN in args.paths
    if "" in args.paths:
        raise InvalidInput("a path is '': give a file or a folder")
    if from_stdin and (len(args.paths) > 1 or not args.id):
        raise InvalidInput("'-' takes one text from stdin: it stands alone and needs an --id")
    if not from_stdin and (args.id is not None or args.title is not None):
        raise InvalidInput("--id and --title are for a text from stdin: give '-' as the path")
    if not args.paths and not args.reembed:
        raise InvalidInput("there is nothing to index: name a file or a folder, such as `recollect index .`")
    _check_there(args.paths)
    args.creates = bool(args.paths)
    args.text = verbs.stdin_text() if from_stdin else None


def _check_there(paths: Sequence[str]) -> None:
    """A slip in a path is told before a store is made for it."""
    for path in paths:
        if path != verbs.STDIN and not os.path.lexists(path):
            raise InvalidInput(f"there is no {path!r}: check the path")


def _check_search(args: Namespace) -> None:
    from ..request import MAX_DEADLINE_S  # With it comes asyncio, which `--help` does without.

    if args.deadline is not None and not 0 < args.deadline <= MAX_DEADLINE_S:
        raise InvalidInput(f"--deadline is {args.deadline:g}: give seconds, more than 0 and at most {MAX_DEADLINE_S}")


def _check_delete(args: Namespace) -> None:
    if bool(args.ids) + (args.where is not None) + args.all != 1:
        raise InvalidInput("say what to delete: ids, or --where, or --all, and one of them only")
    if args.where == {}:
        raise InvalidInput("an empty filter passes every item: use --all to delete them all")


def _check_copy(args: Namespace) -> None:
    if args.store is not None:
        raise InvalidInput("--store names no part of a copy: give the two stores as `recollect copy FROM TO`")
    # Before the verb it is one name, as everywhere; after it there may be several.
    args.scopes = [args.scope] if isinstance(args.scope, str) else args.scope


def _check_eval(args: Namespace) -> None:
    _check_there([args.dataset, *map(str, args.compare or [])])
    if args.compare and (args.worst is not None or args.questions is not None):
        raise InvalidInput("--compare shows two runs beside each other: ask for --worst and --questions of one at a time")
    if args.recall and args.worst is not None:
        raise InvalidInput("--worst tells why a search went wrong: leave out --recall, or look at --questions")
    if args.worst is not None and args.worst < 1:
        raise InvalidInput(f"--worst is {args.worst}: ask for at least 1 question")
    if args.questions is not None and not args.questions.absolute().parent.is_dir():
        raise InvalidInput(f"--questions is {str(args.questions)!r}: there is no such folder to write it in")
    if args.weights is not None and not _are_weights(args.weights):
        raise InvalidInput(f'--weights is {args.weights!r:.80}: give a number for each route, such as {{"text": 0.3, "vector": 0.7}}')


def _are_weights(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(each, int | float) and not isinstance(each, bool) for each in value.values())


def parser() -> ArgumentParser:
    """The whole grammar. Each verb sets `run`, and whether it opens the store, writes, creates one, or needs a model."""
    root = _Parser(
        prog="recollect", description=DESCRIPTION, epilog=EPILOG, formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False
    )
    root.add_argument("--version", action="version", version=f"recollect {__version__}")
    _add_common(root, first=True)
    each = root.add_subparsers(dest="verb", metavar="VERB", required=True)
    knowledge = (add_context, add_ask, add_similar, add_graph, add_impact)
    memory = (add_remember, add_recall, add_forget, add_feedback, add_tune, add_entities)
    service = (add_serve, add_mcp, add_key)
    rest = (_get, _delete, _log, _status, _doctor, _copy, _db, _schema, _eval)
    for add in (_index, _import, _search, *knowledge, *memory, *service, *rest):
        add(each)
    for name, verb in each.choices.items():
        _add_common(verb, first=False, names_store=name != "copy", several=name in ("copy", "key"))
    return root


def _add_common(to: ArgumentParser, *, first: bool, names_store: bool = True, several: bool = False) -> None:
    """What every verb takes, before or after its name; what stands after it wins. A copy names its stores itself, and some take several
    scopes."""
    missing, off = (None, False) if first else (SUPPRESS, SUPPRESS)
    group = to.add_argument_group("everywhere")
    place = SUPPRESS if not names_store else "the folder or URL of the store (default: ./.recollect)"
    group.add_argument("--store", metavar="PLACE", default=missing, help=place)
    if several:
        group.add_argument("--scope", metavar="NAME", action="append", default=missing, help="only this scope (may be repeated)")
    else:
        group.add_argument("--scope", metavar="NAME", default=missing, help="the part of the store to work in (default: default)")
    group.add_argument("--config", metavar="FILE", type=Path, default=missing, help="the settings file (default: ./recollect.yaml)")
    group.add_argument("--json", action="store_true", default=off, help="print one JSON object")
    group.add_argument("--quiet", "-q", action="store_true", default=off, help="no progress and no summary")


def _index(each: Any) -> None:
    verb = add_verb(each, "index", "take in files and folders; only what changed is read again", writes=True, model=True)
    verb.add_argument("paths", metavar="PATH", nargs="*", help="a file or folder; '-' takes one text from stdin, under --id")
    verb.add_argument("--base", metavar="DIR", type=Path, help="the folder that paths are kept relative to (default: the store's parent)")
    verb.add_argument(
        "--untracked", action="store_true", default=None, help="in a git repository, files that git does not track too (default: not)"
    )
    verb.add_argument("--id", metavar="ID", help="the id of the text from stdin")
    verb.add_argument("--title", metavar="TEXT", help="the title of the text from stdin")
    verb.add_argument("--reembed", action="store_true", help="first move the whole store to the model and chunking now set")
    verb.set_defaults(run=verbs.index)


def _import(each: Any) -> None:
    verb = add_verb(each, "import", "take in records: JSON Lines, an object with at least a text on each", writes=True, model=True)
    verb.add_argument("files", metavar="FILE", nargs="+", help="a .jsonl file; '-' is stdin")
    verb.add_argument("--graph", action="store_true", help="the lines are of a graph: entities, edges, or what documents say of entities")
    verb.set_defaults(run=verbs.import_records, creates=True)


def _search(each: Any) -> None:
    verb = add_verb(each, "search", "find the items that answer a question", model=True, epilog=SEARCH_EPILOG)
    verb.add_argument("query", metavar="QUERY", nargs="+", help="what to look for")
    verb.add_argument("--k", "-k", metavar="N", type=int, help="how many results (default: 10)")
    verb.add_argument("--where", metavar="JSON", type=json_value, help="only items that pass this filter")
    verb.add_argument("--mode", help='how words are read: web ("phrases", -not, OR), any, plain, phrase or strict (default: web)')
    verb.add_argument("--profile", help="the kind of material: documents, code, code-rrf, graph or memory (default: documents)")
    verb.add_argument("--min-score", metavar="X", type=float, help="leave out results below this score")
    verb.add_argument("--min-similarity", metavar="X", type=float, help="leave out what is less similar by meaning, 0 to 1")
    verb.add_argument("--facet", metavar="FIELD", action="append", default=[], help="count the values of a field (may be repeated)")
    verb.add_argument("--blend", help="how rankings become one: rrf or linear")
    verb.add_argument("--normalize", help="how scores are made comparable for a linear blend")
    verb.add_argument("--rrf-k", metavar="N", type=int, help="the constant of reciprocal rank fusion (default: 10)")
    verb.add_argument("--deadline", metavar="SECONDS", type=float, help="give up when there is no answer by then")
    verb.add_argument("--explain", action="store_true", help="show what each route gave to each score, and how the question was read")
    verb.add_argument("--debug", action="store_true", help="show timings, counts and parameters")
    _add_places(verb.add_argument_group("where to look"))
    add_history(verb.add_argument_group("graph and time"))
    _add_evidence(verb.add_argument_group("evidence"))
    verb.set_defaults(run=verbs.search)


def _add_places(group: Any) -> None:
    group.add_argument("--type", metavar="TYPE", action="append", default=[], help="only code, markdown or text (may be repeated)")
    group.add_argument("--file", metavar="GLOB", action="append", default=[], help="only files like '*.py' or 'src/**' (may be repeated)")
    group.add_argument(
        "--folder", metavar="DIR", action="append", default=[], help="what lies there counts more, with --profile code (may be repeated)"
    )
    group.add_argument(
        "--router", default="auto", help="who reads this from the question, with --profile code: auto, llm, rules or none (default: auto)"
    )


def _add_evidence(group: Any) -> None:
    group.add_argument("--full", action="store_true", help="show the whole text of each piece of evidence")
    group.add_argument(
        "--expand", action=BooleanOptionalAction, help="show what surrounds the evidence: parents, imports, callers... (default: for code)"
    )
    group.add_argument("--chunks", metavar="N", type=int, help="how many pieces of evidence, 0 for none (default: 12)")
    group.add_argument("--chunks-per-item", metavar="N", type=int, help="how many of them of one item, at most (default: 3)")
    group.add_argument(
        "--strategy", help="late: cut as asked here; precomputed: as indexed; mixed: as indexed where possible (default: late)"
    )
    group.add_argument("--chunker", metavar="ID", help="what cuts: auto, markdown, prose, code or tokens (default: auto, by format)")
    group.add_argument(
        "--chunk-tokens", metavar="N", type=int, help="the longest piece, at least 16; embeds anew the first time (default: as indexed)"
    )
    group.add_argument("--overlap", metavar="N", type=int, help="tokens that a piece repeats of the one before (default: 0)")
    group.add_argument("--pooling", help="plain: a piece is embedded alone; contextual: within its text (default: plain)")
    group.add_argument("--no-cache", action="store_true", help="neither use nor keep pieces that were cut and embedded for a search")


def _get(each: Any) -> None:
    verb = add_verb(each, "get", "show one item whole, or some lines of it")
    verb.add_argument("id", metavar="ID", help="an id; or a place: src/a.py:10-40, src/a.py:10, src/a.py#Store.write")
    verb.set_defaults(run=verbs.get)


def _delete(each: Any) -> None:
    verb = add_verb(each, "delete", "remove items and everything made from them", writes=True)
    verb.add_argument("ids", metavar="ID", nargs="*")
    verb.add_argument("--where", metavar="JSON", type=json_value, help="remove what passes this filter; needs --yes")
    verb.add_argument("--all", action="store_true", help="remove everything in the scope; needs --yes")
    verb.add_argument("--yes", action="store_true", help="do it; without this, only how many items it would be is told")
    verb.set_defaults(run=verbs.delete)


def _log(each: Any) -> None:
    verb = add_verb(each, "log", "show the last searches, where they are logged")
    verb.add_argument("--k", "-k", metavar="N", type=int, default=20, help="how many (default: 20)")
    verb.add_argument("--since", metavar="DATE", type=time_value, help="none before this: 2024, 2024-05-17 or 2024-05-17T12:30:00Z")
    verb.set_defaults(run=verbs.log)


def _status(each: Any) -> None:
    verb = add_verb(each, "status", "show how the store stands")
    verb.set_defaults(run=verbs.status)


def _doctor(each: Any) -> None:
    verb = add_verb(each, "doctor", "look the store over for damage")
    verb.add_argument("--repair", action="store_true", help="mend what can be mended")
    verb.set_defaults(run=verbs.doctor)


def _copy(each: Any) -> None:
    # It opens two stores.
    verb = add_verb(each, "copy", "copy a store into another, and check that they are the same", opens=False, writes=True)
    verb.add_argument("source", metavar="FROM", help="the folder or URL of the store to copy")
    verb.add_argument("target", metavar="TO", help="the folder or URL to copy it into; it is made if it is not there")
    verb.add_argument("--mirror", action="store_true", help="remove from the copied scopes of TO what FROM has not")
    verb.set_defaults(run=copying.copy)


def _db(each: Any) -> None:
    verb = add_verb(each, "db", "administer a store on Postgres: its tables, who may use them, and their parts", opens=False)
    actions = verb.add_subparsers(dest="action", metavar="ACTION", required=True)
    action = partial(add_verb, actions, opens=False, writes=True)
    action("migrate", "make the tables, or bring those of an older version up to date").set_defaults(run=database.migrate)
    grant = action("grant", "let a role use some scopes, or every one, beside those it has")
    grant.add_argument("role", metavar="ROLE")
    grant.add_argument("--every-scope", action="store_true", help="every scope, also those to come")
    grant.add_argument("--read-only", action="store_true", help="it may not write, in none of its scopes")
    grant.set_defaults(run=database.grant)
    revoke = action("revoke", "take everything from a role")
    revoke.add_argument("role", metavar="ROLE")
    revoke.set_defaults(run=database.revoke)
    parts = action("partition", "divide the tables into parts, or into another number of them; nobody may use them meanwhile")
    parts.add_argument("--by", choices=["scope"], required=True, help="what decides in which part a row is: scope")
    parts.add_argument("--parts", metavar="N", type=int, required=True, help="how many, 1 to 1024")
    parts.set_defaults(run=database.partition)
    for name, each_action in actions.choices.items():
        _add_common(each_action, first=False, several=name == "grant")


def _schema(each: Any) -> None:
    verb = add_verb(each, "schema", "show what a search takes and gives, as JSON Schema", opens=False)
    verb.add_argument("name", metavar="NAME", nargs="?", help="one contract, such as RetrievalPrefs (default: all of them, by name)")
    verb.set_defaults(run=verbs.schema)


def _eval(each: Any) -> None:
    # It opens stores of its own.
    verb = add_verb(each, "eval", "measure how well questions with known answers are answered", opens=False, model=True, epilog=EVAL_EPILOG)
    verb.add_argument("dataset", metavar="DATASET", help="a folder with corpus.jsonl, queries.jsonl and qrels.tsv, or a .csv of questions")
    verb.add_argument("--split", metavar="NAME", help="which judgments of the folder: qrels/NAME.tsv (default: qrels.tsv or test)")
    verb.add_argument("--half", help="only the questions of one half, train or test: tune on the one, judge on the other")
    verb.add_argument("--limit", metavar="N", type=int, help="only so many questions, always the same ones")
    verb.add_argument("--haystacks", action="store_true", default=None, help="search each question in its own documents (haystacks.jsonl)")
    verb.add_argument("--recall", action="store_true", default=None, help="ask memory, each question at its own time, not a search")
    verb.add_argument("--k", "-k", metavar="N", type=int, help="how many results to look at (default: 100)")
    verb.add_argument("--mode", help="how words are read: any, web, plain, phrase or strict (default: any)")
    verb.add_argument("--profile", help="the kind of material (default: by the settings, or what most documents are)")
    verb.add_argument("--weights", metavar="JSON", type=json_value, help="how much each route counts, in place of the profile's weights")
    verb.add_argument("--blend", help="how rankings become one: rrf or linear")
    verb.add_argument("--normalize", help="how scores are made comparable for a linear blend")
    verb.add_argument("--rrf-k", metavar="N", type=int, help="the constant of reciprocal rank fusion")
    verb.add_argument("--depth", metavar="N", type=int, help="how many hits each route is asked for, at least")
    verb.add_argument("--questions", metavar="FILE", type=Path, help="write what came of each question, as JSON Lines")
    verb.add_argument("--worst", metavar="N", type=int, help="show the questions that went worst, and why")
    verb.add_argument("--compare", metavar=("A.yaml", "B.yaml"), nargs=2, type=Path, help="run two settings files, and test the difference")
    verb.set_defaults(run=evaluating.evaluate)
