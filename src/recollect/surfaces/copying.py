"""The verb `copy`: one store into another, with neither a model nor a library."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from ..errors import InvalidInput, NotFound
from . import terminal
from .screen import Screen
from .verbs import WORKED

if TYPE_CHECKING:
    from ..ports import Store
    from ..settings import Settings


async def copy(options: Settings, args: Namespace, screen: Screen) -> int:
    """Copy a store. What is wrong with FROM is told before TO is made."""
    from ..copying import copy as copied
    from ..copying import scopes_to_copy

    async with _opened(args.source, options, create=False) as source:
        await scopes_to_copy(source, args.scopes)
        if _is_same_place(args.source, args.target):
            raise InvalidInput(f"FROM and TO are the same store, {source.url!r}: name another one to copy into")
        async with _opened(args.target, options, create=True) as target:
            with screen.progress("item", terminal.copying_text) as progress:
                report = await copied(source, target, scopes=args.scopes, mirror=args.mirror, report=progress)
    if screen.as_json:
        screen.show_json(asdict(report))
    elif not screen.quiet:
        screen.show(terminal.copied_text(report))
    return WORKED


@asynccontextmanager
async def _opened(url: str, options: Settings, *, create: bool) -> AsyncIterator[Store]:
    from ..stores import folder_of, open_store

    try:
        store = open_store(url, options, create=create)
    except NotFound:
        if folder_of(url) is None:
            raise
        raise NotFound(f"there is no store in {url!r} to copy: check FROM") from None
    try:
        yield store
    finally:
        await store.close()


def _is_same_place(source: str, target: str) -> bool:
    from ..stores import folder_of

    folder, other = folder_of(source), folder_of(target)
    return source == target if folder is None or other is None else other.exists() and other.samefile(folder)
