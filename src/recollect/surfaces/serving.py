"""The verbs of the service: serve a store, and make a key for somebody who is to use it."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput, MissingExtra, RecollectError
from .grammar import add_verb
from .screen import Screen
from .verbs import WORKED

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from ..library import Library
    from ..settings import Settings

SERVE_EPILOG = """\
the page is at /, the description of the API at /openapi.json, MCP at /mcp. It ends with Ctrl-C, once what is under way is answered.
others than this machine need a key: `recollect key NAME` makes one, and the setting serve.keys has its hash.
"""
KEY_EPILOG = """\
the key itself goes to stderr, once, and is kept nowhere; what the settings keep of it, its hash, goes to stdout, as recollect.yaml has it:
  recollect key ci --scope docs --scope notes --write
a further one goes under the same `keys:`, as one more entry of the list.
"""


def add_serve(each: Any) -> None:
    verb = add_verb(each, "serve", "serve the store: REST, MCP and a page", writes=True, model=True, epilog=SERVE_EPILOG)
    verb.add_argument("--host", metavar="HOST", help="the address to listen at (default: 127.0.0.1, this machine only)")
    verb.add_argument("--port", metavar="PORT", type=int, help="the port; 0 takes any that is free (default: 8377)")
    verb.add_argument("--workers", metavar="N", type=int, help="how many processes answer, about one for each core (default: 1)")
    verb.set_defaults(run=serve, creates=True, loop=fast_loop)


def add_key(each: Any) -> None:
    verb = add_verb(each, "key", "make a key for somebody who uses the service", opens=False, epilog=KEY_EPILOG)
    verb.add_argument("name", metavar="NAME", help="by which the settings and the log call it")
    verb.add_argument("--write", action="store_true", help="it may write, too")
    verb.set_defaults(run=key)


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the event loop of a service: uvloop, where it is installed. A request takes 19.2 ms of CPU with it, 20.0 without."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return None
    return new_event_loop


async def serve(library: Library, args: Namespace, screen: Screen) -> int:
    """Serve until somebody says to end."""
    from ..serve_settings import MAX_WORKERS

    given = {name: value for name, value in (("host", args.host), ("port", args.port), ("workers", args.workers)) if value is not None}
    if not 0 <= given.get("port", 0) <= 65_535:
        raise InvalidInput(f"--port is {args.port}: give 0 to 65535")
    if not 1 <= given.get("workers", 1) <= MAX_WORKERS:
        raise InvalidInput(f"--workers is {args.workers}: give 1 to {MAX_WORKERS}")
    try:
        from .http import running
    except MissingExtra:
        raise
    except ImportError as error:
        raise MissingExtra(f"`recollect serve` ({error.name})", "serve") from None
    options = library.settings.serve.model_copy(update=given)

    with suppress(RecollectError):  # A database that is away may come back: requests are told until then.
        if not (await library.status()).items:
            screen.note(
                f"scope {library.scope!r} of {library.store.url} is empty: `recollect index PATH` fills it, also while it is served"
            )

    def told(address: str) -> None:
        screen.note(f"serving {library.store.url} at {address}: the page is {address}/, MCP {address}/mcp; Ctrl-C ends it")
        if screen.as_json:
            screen.show_json({"address": address})

    with running.logged(options.log, content=library.settings.telemetry.content):
        await running.serve(library, options, told=told)
    return WORKED


async def key(settings: Settings, args: Namespace, screen: Screen) -> int:
    """Show a new key, and what the settings keep of it."""
    from ..request import check_scope
    from ..serve_settings import MAX_NAME, KeySettings
    from .keys import new_key

    if not 0 < len(args.name) <= MAX_NAME:
        raise InvalidInput(f"the name is {args.name!r:.80}: give 1 to {MAX_NAME} characters")
    made, kept = new_key()
    scopes = [args.scope] if isinstance(args.scope, str) else args.scope or [settings.scope]
    for scope in scopes:
        check_scope(scope)
    entry = KeySettings(name=args.name, hash=kept, scopes=scopes, may="write" if args.write else "read")
    if screen.as_json:
        screen.show_json({"key": made, "entry": entry.model_dump(exclude_none=True)})
        return WORKED
    screen.say(f"the key of {args.name!r}, which is shown only now: {made}")
    lines = (f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in entry.model_dump(exclude_none=True).items())
    screen.show("serve:\n  keys:\n    - " + "\n      ".join(lines))
    return WORKED
