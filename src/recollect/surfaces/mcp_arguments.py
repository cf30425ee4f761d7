"""The arguments of the verb that serves agents over stdin and stdout."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from .grammar import add_verb

if TYPE_CHECKING:
    from ..library import Library
    from .screen import Screen

MCP_EPILOG = """\
it is started by an agent's client, which is told of it once:
  claude mcp add recollect -- recollect mcp
  codex mcp add recollect -- recollect mcp --read-only
"""


def add_mcp(each: Any) -> None:
    verb = add_verb(each, "mcp", "serve agents over stdin and stdout, by the Model Context Protocol", model=True, epilog=MCP_EPILOG)
    verb.add_argument("--read-only", action="store_true", help="offer nothing that writes: no `remember`")
    verb.set_defaults(run=_serve, creates=True)


async def _serve(library: Library, args: Namespace, screen: Screen) -> int:
    from .mcp.stdio import serve  # The SDK takes half a second to import.

    return await serve(library, args, screen)
