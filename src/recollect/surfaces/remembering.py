"""The verbs of memory: remember, recall, forget, and learn from what was used."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ..errors import InvalidInput, NotFound
from . import terminal
from .screen import Screen
from .verbs import BAD_INPUT, NOTHING_FOUND, WORKED, by_options, fail, stdin

if TYPE_CHECKING:
    from ..library import Library
    from ..memories import Outcome, Remembered

OPTIONS: Final = {
    "action": "--then",
    "also": "--also",
    "at": "--at",
    "confidence": "--confidence",
    "context.entities": "--about",
    "context.turns": "--said",
    "covers": "--covers",
    "entities": "--entity",
    "filters": "--where",
    "id": "--id",
    "importance": "--importance",
    "limit": "--limit",
    "max_tokens": "--max-tokens",
    "metadata": "--meta",
    "object": "--object",
    "predicate": "--predicate",
    "subject": "--subject",
    "timezone": "--timezone",
    "title": "--title",
    "trigger": "--when",
    "type": "--type",
    "types": "--type",
    "unread": "--unread",
}
"""What the command calls the library's arguments."""
FIELDS: Final = {
    "type": "type",
    "entity": "entities",
    "at": "at",
    "importance": "importance",
    "id": "id",
    "title": "title",
    "meta": "metadata",
    "subject": "subject",
    "predicate": "predicate",
    "object": "object",
    "confidence": "confidence",
    "also": "also",
    "when": "trigger",
    "then": "action",
    "covers": "covers",
}
"""The fields of a memory by their options."""


async def remember(library: Library, args: Namespace, screen: Screen) -> int:
    """Keep one memory, or those of JSON Lines."""
    if args.from_stdin:
        return await _remember_lines(library, screen)
    given = {FIELDS[name]: value for name, value in vars(args).items() if name in FIELDS and value is not None}
    if args.text:
        given["text"] = " ".join(args.text)
    with by_options(OPTIONS):
        made = await library.memory.remember(given)
    if screen.as_json:
        screen.show_json(made.model_dump(mode="json"))
    elif not screen.quiet:
        screen.show(remembered_text(made))
    return WORKED


def remembered_text(made: Remembered) -> str:
    """What became of something to remember, in one line."""
    match made.outcome:
        case "reinforced":
            said = f"known already; said again or used {'once' if made.use_count == 1 else terminal.count(made.use_count, 'time')}"
        case "kept as history":
            said = f"kept as history: {made.superseded_by} is newer" if made.superseded_by else "kept as history"
        case "changed":
            said = "changed"
        case _:
            said = "remembered"
    replaced = f"; it takes the place of {', '.join(made.supersedes)}" if made.supersedes else ""
    about = f"; about {', '.join(made.entities)}" if made.entities else ""
    return terminal.clean(f"{made.id}: {said}{replaced}{about}")


async def _remember_lines(library: Library, screen: Screen) -> int:
    with screen.progress("memory") as progress:
        made, problems = await library.memory.import_memories(stdin(), name="stdin", report=progress)
    for problem in problems:
        screen.say(f"{problem.ref}: {problem.reason}")
    outcomes = Counter(each.outcome for each in made)
    if screen.as_json:
        screen.show_json({"remembered": [each.model_dump(mode="json") for each in made], "problems": len(problems)})
    elif not screen.quiet:
        replaced = sum(len(each.supersedes) for each in made)
        named: dict[Outcome, str] = {
            "added": "new",
            "changed": "changed",
            "reinforced": "known already",
            "kept as history": "kept as history",
        }
        parts = [f"{outcomes[outcome]} {word}" for outcome, word in named.items() if outcomes[outcome]]
        parts += [f"{terminal.count(replaced, 'older fact')} replaced"] if replaced else []
        screen.show(f"remembered {terminal.count(len(made), 'memory')}{': ' if parts else ''}{', '.join(parts)}")
    return BAD_INPUT if problems else WORKED


async def recall(library: Library, args: Namespace, screen: Screen) -> int:
    """Print the prompt: it alone on stdout, what is to be said of it on stderr."""
    from .recalled import doubts, explained, summary_text

    query = " ".join(args.query)
    given = {
        "limit": args.limit,
        "max_tokens": args.max_tokens,
        "types": args.type,
        "filters": args.where,
        "at": args.at,
        "timezone": args.timezone,
        "context": {name: value for name, value in (("turns", args.said), ("entities", args.about)) if value} or None,
        "include_history": args.history or None,
        "unread": args.unread,
    }
    with by_options(OPTIONS):
        found = await library.memory.recall(query, **{name: value for name, value in given.items() if value is not None})
    if screen.as_json:
        screen.show_json(found.model_dump(mode="json"))
    elif found.memories or (found.domain and found.domain.tables):
        screen.show_raw(found.prompt.removesuffix("\n"))
    for note in (*(explained(found) if args.explain else doubts(found.query)), *found.notes):
        screen.note(note)
    if not found.memories:
        screen.note(f"nothing is remembered that bears on {query!r}")
        return NOTHING_FOUND
    screen.note(summary_text(found, is_logged=library.settings.memory.log))
    return WORKED


async def forget(library: Library, args: Namespace, screen: Screen) -> int:
    """Forget memories: those named, or all of the scope."""
    if not args.all:
        gone = await library.memory.forget(args.ids)
        missing = sorted(set(args.ids) - set(gone))
        for each in missing:
            screen.say(f"there is no memory {each!r} in scope {library.scope!r}")
        _tell(screen, {"forgotten": len(gone), "missing": missing}, f"forgot {terminal.count(len(gone), 'memory')}")
        return WORKED if gone and not missing else NOTHING_FOUND
    there = await library.memory.count()
    if there and not args.yes:
        raise InvalidInput(f"this would forget {terminal.count(there, 'memory')}: say so with --yes")
    forgotten = await library.memory.forget_all()
    _tell(screen, {"forgotten": forgotten, "missing": []}, f"forgot {terminal.count(forgotten, 'memory')}")
    return WORKED if forgotten else NOTHING_FOUND


async def feedback(library: Library, args: Namespace, screen: Screen) -> int:
    """Count which memories were used."""
    try:
        made = await library.memory.feedback(args.retrieval_id, args.used)
    except NotFound as error:
        fail(screen, error)
        return NOTHING_FOUND
    again = len(made.used) - len(made.counted)
    said = f"counted {terminal.count(len(made.counted), 'use')}" + (f"; {again} had been counted before" if again else "")
    _tell(screen, made.model_dump(mode="json"), said)
    return WORKED


async def tune(library: Library, args: Namespace, screen: Screen) -> int:
    """Show what was learnt, let it count, or go back."""
    from .recalled import tuning_text

    if args.reset:
        had = await library.memory.untune()
        _tell(screen, {"reset": had}, "the weights of the settings count again" if had else "the weights of the settings count already")
        return WORKED
    report = await library.memory.tune(apply=args.apply)
    _tell(screen, report.model_dump(mode="json"), tuning_text(report, applies=args.apply))
    return WORKED


async def entities(library: Library, args: Namespace, screen: Screen) -> int:
    """Show entities, or add one."""
    if args.add:
        with by_options(OPTIONS):
            found = [await library.memory.know(args.name, type=args.type or "", id=args.id or "", aliases=args.alias or ())]
    else:
        found = await library.memory.entities(args.name, type=args.type, limit=args.k)
    if screen.as_json:
        screen.show_json(
            {"entities": [{"id": each.id, "type": each.type, "name": each.name, "aliases": list(each.aliases)} for each in found]}
        )
    elif found:
        screen.show("\n".join(_entity_text(each.id, each.type, each.names) for each in found))
    if not found:
        of_type = f" of type {args.type!r}" if args.type else ""
        screen.note(f"no entity is known{of_type}{f' that {args.name!r} may mean' if args.name else ''}")
    return WORKED if found else NOTHING_FOUND


def _entity_text(entity_id: str, type_: str, names: Sequence[str]) -> str:
    also = f", also {', '.join(names[1:])}" if names[1:] else ""
    return terminal.clean(f"{entity_id}  {names[0]} ({type_}){also}")


def _tell(screen: Screen, value: dict[str, Any], said: str) -> None:
    if screen.as_json:
        screen.show_json(value)
    elif not screen.quiet:
        screen.show(said)
