"""The verbs of `recollect db`, which administer a store on Postgres, with neither a model nor a library."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial as with_arguments
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from .screen import ProgressLine, Screen
from .terminal import count
from .verbs import WORKED

if TYPE_CHECKING:
    from ..settings import Settings
    from ..stores.postgres.store import PostgresStore


def check(args: Namespace) -> None:
    """What makes no sense is told before anything is connected to."""
    if args.action != "grant":
        return
    # Before the verb it is one name, as everywhere; after it there may be several.
    args.scopes = [args.scope] if isinstance(args.scope, str) else args.scope
    if bool(args.scopes) == args.every_scope:
        raise InvalidInput("say which scopes the role may use: --scope NAME, which may be repeated, or --every-scope")
    if args.scopes and "" in args.scopes:
        raise InvalidInput("--scope is '': name a scope")


async def migrate(options: Settings, args: Namespace, screen: Screen) -> int:
    """Make the tables, or bring them up to date."""
    async with _opened(args, options) as store:
        with screen.progress("item") as progress:
            before, after, reworded = await store.migrate(report=_telling(progress))
        url = store.url
    lines = [f"made the tables in {url}, revision {after}"]
    if before is not None:
        lines = [f"the tables in {url} are of revision {after}" + (" already" if before == after else f", {before} before")]
    if reworded:
        lines.append(f"made the words of {count(reworded, 'item')} anew")
    return _told(screen, {"store": url, "before": before, "after": after, "reworded": reworded}, "\n".join(lines))


async def grant(options: Settings, args: Namespace, screen: Screen) -> int:
    """Let a role use some scopes."""
    from ..stores.postgres import access

    scopes = None if args.every_scope else args.scopes
    async with _opened(args, options) as store:
        namespace = options.postgres.namespace
        had = await store.administer(
            with_arguments(access.grant, namespace=namespace, role=args.role, scopes=scopes, read_only=args.read_only)
        )
    what = "every scope" if scopes is None else ", ".join(scopes)
    if scopes is not None and (others := [scope for scope in had if scope not in scopes]):
        what += f", and as before {', '.join(others)}"
    may = "read" if args.read_only else "read and write"
    value = {"role": args.role, "scopes": scopes, "every_scope": args.every_scope, "read_only": args.read_only}
    return _told(screen, value, f"{args.role} may {may} {what}")


async def revoke(options: Settings, args: Namespace, screen: Screen) -> int:
    """Take everything from a role."""
    from ..stores.postgres import access

    async with _opened(args, options) as store:
        had = await store.administer(with_arguments(access.revoke, namespace=options.postgres.namespace, role=args.role))
    return _told(screen, {"role": args.role, "revoked": had}, f"{args.role} may use nothing here any more, {count(had, 'grant')} before")


async def partition(options: Settings, args: Namespace, screen: Screen) -> int:
    """Divide the tables into parts."""
    from ..stores.postgres.partition import partition as divide

    async with _opened(args, options) as store:
        with screen.progress("table") as progress:
            tables = await store.administer(
                with_arguments(divide, namespace=options.postgres.namespace, parts=args.parts, report=_telling(progress))
            )
    text = f"divided {count(len(tables), 'table')} into {count(args.parts, 'part')} each, by {args.by}"
    return _told(screen, {"by": args.by, "parts": args.parts, "tables": tables}, text)


@asynccontextmanager
async def _opened(args: Namespace, options: Settings) -> AsyncIterator[PostgresStore]:
    from ..stores import is_postgres
    from ..stores.postgres.address import shown
    from ..stores.postgres.store import PostgresStore

    url = options.store if args.store is None else args.store
    if not is_postgres(url):
        raise InvalidInput(f"{shown(url)!r} is no store on Postgres: name one with --store postgresql://USER:PASSWORD@HOST/DATABASE")
    store = PostgresStore(url, create=False, options=options.postgres, cache=options.cache, lock_timeout_s=options.lock_timeout_s)
    try:
        yield store
    finally:
        await store.close()


def _telling(line: ProgressLine) -> Callable[[int, int], None]:
    from ..ingest import Progress

    progress = Progress()

    def tell(done: int, total: int) -> None:
        progress.items_done, progress.items_total = done, total
        line(progress)

    return tell


def _told(screen: Screen, value: dict[str, object], text: str) -> int:
    if screen.as_json:
        screen.show_json(value)
    elif not screen.quiet:
        screen.show(text)
    return WORKED
