"""What each verb of the command line does: it asks the library, shows what came of it, and says how it ended."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar

from ..errors import DeadlineExceeded, InvalidInput, NotFound
from . import terminal
from .screen import Screen

if TYPE_CHECKING:
    from ..contracts import RetrievalBundle
    from ..ingest.graph import GraphReport
    from ..ingest.report import IndexReport
    from ..library import Library
    from ..model import Item, Retrieval
    from ..settings import Settings
    from ..spans import Span

WORKED: Final = 0
NOTHING_FOUND: Final = 1
BAD_INPUT: Final = 2
FAILED: Final = 3

STDIN: Final = "-"
OPTIONS: Final = {
    "chunking.max_chunk_tokens": "--chunk-tokens",
    "chunking.overlap_tokens": "--overlap",
    "chunking.pooling": "--pooling",
    "chunking.strategy": "--strategy",
    "chunks": "--chunks",
    "chunks_per_item": "--chunks-per-item",
    "source_types": "--type",
    "file_patterns": "--file",
    "folders": "--folder",
    "router": "--router",
    "as_of": "--as-of",
    "include_history": "--history",
    "max_distance": "--hops",
    "unread": "--unread",
}
"""What the command calls some of a search's arguments."""


async def index(library: Library, args: Namespace, screen: Screen) -> int:
    """Take in files and folders, or one text from stdin."""
    value: dict[str, Any] = {}
    lines: list[str] = []
    code = WORKED
    if args.reembed:
        with screen.progress("item") as progress:
            moved = await library.reembed(report=progress)
        value["reembedded"] = asdict(moved)
        lines.append(terminal.report_text(moved, done="embedded again", noun="item"))
    if args.text is not None:
        report = await library.add_text(args.text, item_id=args.id, title=args.title)
    elif args.paths:
        with screen.progress("file") as progress:
            report = await library.index(args.paths, base=args.base, untracked=args.untracked, report=progress)
        code = _verdict(report, args.paths, screen)
    else:
        return _finished(screen, value, lines, code)
    _tell_problems(report, screen)
    if report.untracked:
        screen.note(f"left out {terminal.count(report.untracked, 'file')} that git does not track: --untracked takes them in too")
    noun = "text" if args.text is not None else "file"
    return _finished(screen, value | asdict(report), [*lines, terminal.report_text(report, done="indexed", noun=noun)], code)


def _verdict(report: IndexReport, paths: list[str], screen: Screen) -> int:
    """A folder may hold nothing to read; a file that was named, or a walk that met nothing but problems, is bad input."""
    if report.added + report.changed + report.unchanged:
        return WORKED
    files = [path for path in paths if not Path(path).is_dir()] if not report.problems else []
    for path in files:
        screen.say(f"{path}: it holds no text that can be read")
    return BAD_INPUT if report.problems or files else WORKED


def _tell_problems(report: IndexReport | GraphReport, screen: Screen) -> None:
    for problem in report.problems:
        screen.say(f"{problem.ref}: {problem.reason}")


def _finished(screen: Screen, value: Mapping[str, Any], lines: list[str], code: int) -> int:
    if screen.as_json:
        screen.show_json(value)
    elif not screen.quiet:
        screen.show("\n".join(lines))
    return code


async def import_records(library: Library, args: Namespace, screen: Screen) -> int:
    """Take in JSON Lines. What is wrong with a line is told by file, line and column."""
    if args.graph:
        return await _import_graph(library, args, screen)
    from ..ingest.report import IndexReport

    total = IndexReport()
    with ExitStack() as opened:
        inputs = [(name, opened.enter_context(_open_input(name))) for name in args.files]
        progress = opened.enter_context(screen.progress("record"))
        for name, lines in inputs:
            report = await library.import_records(lines, name="stdin" if name == STDIN else name, report=progress)
            total = _sum(total, report)
    _tell_problems(total, screen)
    code = BAD_INPUT if total.problems else WORKED
    return _finished(screen, asdict(total), [terminal.report_text(total, done="imported", noun="record")], code)


async def _import_graph(library: Library, args: Namespace, screen: Screen) -> int:
    """Take in the JSON Lines of a graph."""
    from ..ingest.graph import GraphReport

    total = GraphReport()
    with ExitStack() as opened:
        for name, lines in [(name, opened.enter_context(_open_input(name))) for name in args.files]:
            total = _sum(total, await library.import_graph(lines, name="stdin" if name == STDIN else name))
    _tell_problems(total, screen)
    said = (
        f"{terminal.count(total.entities, 'new entity')} and {terminal.count(total.edges, 'edge')} of {terminal.count(total.items, 'item')}"
    )
    skipped = f", skipped {total.skipped} names or triples that say nothing" if total.skipped else ""
    return _finished(screen, asdict(total), [f"imported {said} in {total.seconds:.1f} s{skipped}"], BAD_INPUT if total.problems else WORKED)


R = TypeVar("R", "IndexReport", "GraphReport")


def _sum(first: R, second: R) -> R:
    return type(first)(**{each.name: getattr(first, each.name) + getattr(second, each.name) for each in fields(first)})


def _open_input(name: str) -> BinaryIO:
    if name == STDIN:
        return stdin()
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise InvalidInput(f"cannot read {name!r}: {error.strerror}; check the path") from None


def stdin() -> BinaryIO:
    """The bytes that come in, where anything can."""
    if sys.stdin is None:
        raise InvalidInput("standard input is closed: '-' has nothing to read")
    return sys.stdin.buffer


def stdin_text() -> str:
    """What comes in, as text."""
    try:
        return stdin().read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"standard input is not UTF-8 (byte {error.start}): convert it first") from None


async def search(library: Library, args: Namespace, screen: Screen) -> int:
    """Ask."""
    from ..analysis import query_terms
    from .answers import Wanted, bundle_text
    from .surroundings import routing_text
    from .understood import analysis_notes

    query = " ".join(args.query)
    begin = perf_counter()
    with by_options(OPTIONS):
        bundle = await _asked(library, query, args)
    took_ms = (perf_counter() - begin) * 1000
    wanted = Wanted(query_terms(query), full=args.full, explain=args.explain, debug=args.debug)
    if screen.as_json:
        # Timings differ from run to run; without them the same question gives the same bytes.
        screen.show_json({"query": query} | bundle.model_dump(mode="json", exclude=None if args.debug else {"stats"}))
    elif text := bundle_text(bundle, screen.look, wanted):
        screen.show(text)
    for said in (routing_text(bundle.routing), *analysis_notes(None if args.explain else bundle.analysis)):
        if said:
            screen.note(said)
    if not bundle.candidates:
        screen.note(f"nothing was found for {query!r}")
        return NOTHING_FOUND
    screen.note_if_watched(f"{terminal.count(len(bundle.candidates), 'result')} in {took_ms:.0f} ms")
    return WORKED


@contextmanager
def by_options(names: Mapping[str, str]) -> Iterator[None]:
    """Tell what is wrong by the option that says it, where the library begins with its own name for it."""
    try:
        yield
    except InvalidInput as error:
        name, space, rest = str(error).partition(" ")
        of_list = name.rstrip("0123456789").removesuffix(".")
        raise InvalidInput(f"{names.get(name) or names.get(of_list, name)}{space}{rest}") from None


async def _asked(library: Library, query: str, args: Namespace) -> RetrievalBundle:
    chunking = {
        "strategy": args.strategy,
        "chunker_id": args.chunker,
        "max_chunk_tokens": args.chunk_tokens,
        "overlap_tokens": args.overlap,
        "pooling": args.pooling,
    }
    try:
        return await library.search(
            query,
            k=args.k,
            where=args.where,
            mode=args.mode,
            profile=args.profile,
            min_score=args.min_score,
            min_similarity=args.min_similarity,
            facets=args.facet,
            chunks=args.chunks,
            chunks_per_item=args.chunks_per_item,
            chunking={name: value for name, value in chunking.items() if value is not None},
            cache={"use_chunk_cache": False, "write_chunk_cache": False} if args.no_cache else None,
            source_types=args.type,
            file_patterns=args.file,
            folders=args.folder,
            router=args.router,
            expand=args.expand,
            debug=args.debug,
            deadline_s=args.deadline,
            blend=args.blend,
            normalize=args.normalize,
            rrf_k=args.rrf_k,
            include_history=args.history,
            as_of=args.as_of,
            max_distance=args.hops,
            unread=args.unread or (),
        )
    except DeadlineExceeded:
        raise DeadlineExceeded(f"there was no answer within {args.deadline:g} s: give --deadline more time") from None


async def schema(_: Settings, args: Namespace, screen: Screen) -> int:
    """Show what a search takes and gives, as JSON Schema."""
    from ..schemas import json_schemas

    schemas = json_schemas()
    if args.name is not None and args.name not in schemas:
        raise InvalidInput(f"there is no contract {args.name!r:.80}: there are {', '.join(schemas)}")
    value = schemas if args.name is None else schemas[args.name]
    if screen.as_json:
        screen.show_json(value)
    else:
        screen.show(json.dumps(value, indent=2))
    return WORKED


async def get(library: Library, args: Namespace, screen: Screen) -> int:
    """Show one item whole, or what a place names of one. What is an id is no place."""
    from ..spans import Span

    try:
        item = await got(library, args.id)
    except NotFound as error:
        await library.store.space()  # Where there is no store at all, this says so too, and more is wrong than the id.
        fail(screen, error)
        return NOTHING_FOUND
    if isinstance(item, Span):
        if screen.as_json:
            screen.show_json(asdict(item))
        else:
            screen.show(terminal.clean(item.text, lines=True))
    elif screen.as_json:
        screen.show_json({each.name: _plain(getattr(item, each.name)) for each in fields(item)})
    else:
        screen.show(terminal.item_text(item, screen.look))
    return WORKED


async def got(library: Library, name: str) -> Item | Span:
    """An item, or what a place names of one."""
    from ..spans import is_place

    try:
        return await library.get(name)
    except NotFound:
        if not is_place(name):
            raise
    return await library.span(name)


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else dict(value) if isinstance(value, Mapping) else value


async def delete(library: Library, args: Namespace, screen: Screen) -> int:
    """Remove items: those named, those a filter finds, or all of the scope."""
    missing: list[str] = []
    if args.all:
        _confirmed(args, (await library.status()).items)
        gone = await library.drop()
    else:
        ids = args.ids or [item.id async for item in library.items(args.where)]
        if args.where is not None:
            _confirmed(args, len(ids))
        deleted = await library.delete(ids)
        gone = len(deleted)
        missing = sorted(set(args.ids) - set(deleted))
    for item_id in missing:
        screen.say(f"there is no item {item_id!r} in scope {library.scope!r}")
    code = WORKED if gone and not missing else NOTHING_FOUND
    return _finished(screen, {"deleted": gone, "missing": missing}, [f"deleted {terminal.count(gone, 'item')}"], code)


def _confirmed(args: Namespace, items: int) -> None:
    if not args.yes and items:
        raise InvalidInput(f"this would delete {terminal.count(items, 'item')}: say so with --yes")


async def log(library: Library, args: Namespace, screen: Screen) -> int:
    """Show the last searches that were logged."""
    found: list[Retrieval] = []
    async for entry in library.retrievals(since=args.since):
        if len(found) == args.k:
            break
        found.append(entry)
    if screen.as_json:
        screen.show_json({"retrievals": [terminal.retrieval_json(entry) for entry in found]})
    elif found:
        screen.show("\n".join(terminal.retrieval_text(entry, screen.look) for entry in found))
    if not found:
        screen.note(f"no search of scope {library.scope!r} is logged: the setting 'log.retrievals' says whether searches are")
        return NOTHING_FOUND
    return WORKED


async def status(library: Library, _: Namespace, screen: Screen) -> int:
    """Show how the store stands."""
    found = await library.status()
    if screen.as_json:
        screen.show_json(asdict(found))
    else:
        screen.show(terminal.status_text(found, screen.look))
    return WORKED


async def doctor(library: Library, args: Namespace, screen: Screen) -> int:
    """Look the store over, and mend it where asked."""
    findings = await library.doctor(repair=args.repair)
    sound = all(finding.ok for finding in findings)
    if screen.as_json:
        screen.show_json({"ok": sound, "findings": [asdict(finding) for finding in findings]})
    else:
        screen.show(terminal.findings_text(findings, screen.look))
    if not sound:
        screen.say("something is wrong with the store" + ("" if args.repair else ": `recollect doctor --repair` mends what can be mended"))
    return WORKED if sound else FAILED


def fail(screen: Screen, error: Exception) -> None:
    """Say what went wrong, and say it to a program too."""
    message = "there is not enough memory" if isinstance(error, MemoryError) else str(error)
    screen.say(message)
    if screen.as_json:
        screen.show_json({"error": {"type": type(error).__name__, "message": message}})
