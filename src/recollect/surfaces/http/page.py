"""The page and the description of the service, as files that were read once: what a caller names is looked up, never opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .problems import Refused
from .reference import reference

FOLDER: Final = "page"
INDEX: Final = "index.html"
TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class File(NamedTuple):
    """A file of the page."""

    content: bytes
    media_type: str
    tag: str


def routes(description: Callable[[], Mapping[str, Any]]) -> list[Route]:
    """`/`, the files that it names under `/page`, and the description of the service to read."""
    found = read()

    async def docs(request: Request) -> Response:
        return _given(request, _file(reference(description()).encode(), TYPES[".html"]))

    async def index(request: Request) -> Response:
        return _given(request, found[INDEX])

    async def part(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in found:
            raise Refused(404, f"the page has no file {name!r:.80}")
        return _given(request, found[name])

    return [Route("/", index), Route("/page/{name}", part), Route("/docs", docs)]


def read() -> Mapping[str, File]:
    """Every file of the page, by its name."""
    folder = files("recollect.surfaces") / FOLDER
    found: dict[str, File] = {}
    for entry in folder.iterdir():
        kind = TYPES.get(f".{entry.name.rpartition('.')[2]}")
        if kind:
            found[entry.name] = _file(entry.read_bytes(), kind)
    return found


def _file(content: bytes, kind: str) -> File:
    return File(content, kind, f'"{sha256(content).hexdigest()[:16]}"')


def _given(request: Request, file: File) -> Response:
    headers = {**HEADERS, "ETag": file.tag}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)
