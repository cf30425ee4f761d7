"""The verbs that ask the knowledge service: a context to read, what is like an item, what is around a node, what depends on it."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any, Final

from ..errors import NotFound
from . import terminal
from .screen import Screen
from .verbs import NOTHING_FOUND, WORKED, by_options, fail

if TYPE_CHECKING:
    from ..knowledge import AssembledContext
    from ..library import Library

OPTIONS: Final = {
    "as_of": "--as-of",
    "filters": "--where",
    "format": "--format",
    "include_code": "--no-code",
    "include_history": "--history",
    "limit": "--k",
    "max_distance": "--hops",
    "max_graph_distance": "--hops",
    "max_length": "--max-length",
    "max_results": "--max-results",
    "min_score": "--min-score",
    "relationship_types": "--rel",
    "search_type": "--type",
    "unread": "--unread",
}
"""What the command calls the library's arguments."""


async def context(library: Library, args: Namespace, screen: Screen) -> int:
    """Print what to read before answering: the text alone on stdout, what is to be said of it on stderr."""
    query = " ".join(args.query)
    written = _given({"format": args.format, "include_metadata": False if args.no_metadata else None})
    with by_options(OPTIONS):
        made = await library.knowledge.context(query, **asked_for(args), **written)
    if screen.as_json:
        screen.show_json(made.model_dump(mode="json"))
    else:
        if made.sections:
            screen.show_raw(made.text)
        _tell(made, screen, explain=args.explain)
    if not made.total_results:
        screen.note(f"nothing was found for {query!r}")
    return WORKED if made.sections else NOTHING_FOUND


def _tell(made: AssembledContext, screen: Screen, *, explain: bool) -> None:
    """What is to be known of a context beside its text."""
    from .around import left_out_text, length_text
    from .understood import analysis_notes, analysis_rows

    if explain and made.analysis:
        for name, value in analysis_rows(made.analysis):
            screen.note(f"{name}: {value}")
    if made.total_results:
        screen.note(length_text(made))
    said = [left_out_text(made), *([] if explain else analysis_notes(made.analysis)), *made.notes]
    for note in dict.fromkeys(filter(None, said)):
        screen.note(note)


async def similar(library: Library, args: Namespace, screen: Screen) -> int:
    """Show the items that are like one."""
    from .around import similar_text

    try:
        with by_options(OPTIONS):
            found = await library.knowledge.similar(
                args.id, include_history=args.history, **_given({"limit": args.k, "min_score": args.min_score})
            )
    except NotFound as error:
        return await _missing(library, error, screen)
    if screen.as_json:
        screen.show_json({"item_id": args.id, "results": [each.model_dump(mode="json") for each in found]})
    elif found:
        screen.show(similar_text(found, screen.look))
    if not found:
        screen.note(f"nothing is similar enough to {args.id!r}: --min-score says how similar it has to be")
    return WORKED if found else NOTHING_FOUND


async def graph(library: Library, args: Namespace, screen: Screen) -> int:
    """Show what is around a node, as a tree."""
    from .around import graph_text

    try:
        with by_options(OPTIONS):
            found = await library.knowledge.graph(args.node, direction=args.direction, **_walk(args))
    except NotFound as error:
        return await _missing(library, error, screen)
    is_alone = len(found.nodes) <= 1
    if screen.as_json:
        screen.show_json(found.model_dump(mode="json"))
    elif not is_alone:
        screen.show(graph_text(found, screen.look))
    if is_alone:
        screen.note(f"nothing is linked to {args.node!r}{_asked_for(args)}")
    elif found.truncated:
        screen.note("there is more: a node has more links than are followed, or there are more nodes than are shown")
    return NOTHING_FOUND if is_alone else WORKED


async def impact(library: Library, args: Namespace, screen: Screen) -> int:
    """Show what depends on a node, with the way to it."""
    from .around import impact_text

    try:
        with by_options(OPTIONS):
            found = await library.knowledge.impact(args.node, **_walk(args))
    except NotFound as error:
        return await _missing(library, error, screen)
    if screen.as_json:
        screen.show_json(found.model_dump(mode="json"))
    elif found.total_affected:
        screen.show(impact_text(found, screen.look))
    if not found.total_affected:
        screen.note(f"nothing depends on {args.node!r}{_asked_for(args)}")
        return NOTHING_FOUND
    if found.truncated:
        screen.note("there is more: a node has more links than are followed, or there are more nodes than are shown")
    direct, indirect = len(found.direct_impact), len(found.indirect_impact)
    screen.note_if_watched(f"{terminal.count(found.total_affected, 'node')} affected: {direct} directly, {indirect} indirectly")
    return WORKED


def asked_for(args: Namespace) -> dict[str, Any]:
    """What a question to the knowledge service says beside its words."""
    given = {
        "search_type": args.type,
        "max_results": args.max_results,
        "max_length": args.max_length,
        "filters": args.where,
        "min_score": args.min_score,
        "max_graph_distance": args.hops,
        "as_of": args.as_of,
        "unread": args.unread,
    }
    return _given(given) | {"include_history": args.history, "include_code": not args.no_code}


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; the library knows the defaults of the rest."""
    return {name: value for name, value in options.items() if value is not None}


def _walk(args: Namespace) -> dict[str, Any]:
    return _given({"max_distance": args.hops, "relationship_types": args.rel})


def _asked_for(args: Namespace) -> str:
    if not args.rel:
        return ""
    hint = "" if all(each == each.upper() for each in args.rel) else "; most types are in capitals, such as IMPLEMENTS"
    return f" by {', '.join(args.rel)}{hint}"


async def _missing(library: Library, error: NotFound, screen: Screen) -> int:
    await library.store.space()  # Where there is no store at all, this says so too, and more is wrong than the id.
    fail(screen, error)
    return NOTHING_FOUND
