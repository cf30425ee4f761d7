"""The server of the Model Context Protocol over a library: it lists tools, calls them, reads items, and tells what is wrong in one line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar
from urllib.parse import unquote

from ... import __version__
from ...cancellation import abandon, looked_at
from ...errors import InvalidInput, MissingExtra, NotFound, RecollectError
from ...library import Library
from ...spans import Span
from ..verbs import got
from .answer import Answer, data_of
from .tools import INSTRUCTIONS, TOOLS, Tool, tool_of

try:
    import mcp_types as types
    from mcp import MCPError
    from mcp.server.lowlevel import Server
except ImportError as error:
    raise MissingExtra("the Model Context Protocol", "mcp") from error

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

R = TypeVar("R")
Request: TypeAlias = "ServerRequestContext[Any, Any]"
Page: TypeAlias = "types.PaginatedRequestParams | None"

ITEMS: Final = "recollect://items/"
MIME: Final[Mapping[str, str]] = {"markdown": "text/markdown", "html": "text/html"}


class ToolServer:
    """The tools of whichever library a request is about, as `of_request` says, and whether it may write there."""

    def __init__(self, of_request: Callable[[Request], tuple[Library, bool]]) -> None:
        self._of_request = of_request
        self._writing: set[asyncio.Future[Any]] = set()
        self.sdk: Server[Any] = Server(
            "recollect",
            version=__version__,
            title="Recollect",
            instructions=INSTRUCTIONS,
            get_tool_input_schema={name: _described(tool).input_schema for name, tool in TOOLS.items()}.get,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=_no_resources,
            on_list_resource_templates=_templates,
            on_read_resource=self._read_resource,
        )
        # The SDK's own spans tell what was asked for where something goes wrong; what is told is ours to say (`telemetry.py`).
        self.sdk.middleware.clear()

    async def settled(self) -> None:
        """Wait for what is being written."""
        if self._writing:
            await asyncio.wait(self._writing)

    async def _list_tools(self, ctx: Request, params: Page) -> types.ListToolsResult:
        _, may_write = self._of_request(ctx)
        return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS.values() if may_write or not tool.writes])

    async def _call_tool(self, ctx: Request, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            library, may_write = self._of_request(ctx)
            tool = tool_of(params.name, may_write=may_write)
            return _result(await self._apart(tool.call(library, params.arguments or {}), writes=tool.writes))
        except (RecollectError, OSError, MemoryError) as error:
            return _failed(error)

    async def _read_resource(self, ctx: Request, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        try:
            library, _ = self._of_request(ctx)
            return await self._apart(_read(library, params.uri), writes=False)
        except (InvalidInput, NotFound) as error:
            raise MCPError(types.INVALID_PARAMS, _one_line(error)) from None
        except (RecollectError, OSError, MemoryError) as error:
            raise MCPError(types.INTERNAL_ERROR, _one_line(error)) from None

    async def _apart(self, work: Coroutine[Any, Any, R], *, writes: bool) -> R:
        """Wait for work on a task of its own. Where the request is cancelled, which the SDK does again and again until it has ended, the
        work is stopped once, so that it lets go of the store in peace; what writes goes on to its end."""
        task = asyncio.ensure_future(work)
        if writes:
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)
            task.add_done_callback(looked_at)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not writes:
                abandon(task)
            raise


# Tools.


@cache
def _described(tool: Tool) -> types.Tool:
    """A tool as a client is told of it, made once: its schemas take milliseconds."""
    hints = types.ToolAnnotations(
        title=tool.title,
        read_only_hint=not tool.writes,
        destructive_hint=False,
        idempotent_hint=not tool.writes,
        open_world_hint=False,
    )
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=hints,
    )


def _result(answer: Answer) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=answer.text)], structured_content=data_of(answer.value))


def _failed(error: Exception) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=_one_line(error))], is_error=True)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


# Items as resources.


async def _no_resources(ctx: Request, params: Page) -> types.ListResourcesResult:
    """None are listed: a store has too many, and `search` finds those that matter."""
    return types.ListResourcesResult(resources=[])


async def _templates(ctx: Request, params: Page) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template=f"{ITEMS}{{id}}",
        name="item",
        title="Item",
        description="The whole text of an item by its id, or of a place such as src/a.py:10-40; what tools give as `id` and `place`.",
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def _read(library: Library, uri: str) -> types.ReadResourceResult:
    name = unquote(uri.removeprefix(ITEMS))
    if not uri.startswith(ITEMS) or not name:
        raise InvalidInput(f"there is no resource {uri!r:.80}: name an item, as {ITEMS}ID")
    found = await got(library, name)
    mime = "text/plain" if isinstance(found, Span) else MIME.get(found.format, "text/plain")
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=mime, text=found.text)])
