"""The service's own description: OpenAPI, with the bodies, the scope and the problems that every route has."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from ... import __version__
from . import problems
from .lanes import NDJSON

REF: Final = "#/components/schemas/{model}"
SCOPE: Final = {
    "name": "scope",
    "in": "query",
    "required": False,
    "description": "The scope that the request is about; the key's own, or the one that is set, where it is left out.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 256},
}
WITHOUT_SCOPE: Final = ("/health", "/metrics")


def takes(model: type[BaseModel], *, lines: bool = False) -> dict[str, Any]:
    """That a route takes this body; `lines`: or as many as there are lines."""
    content: dict[str, Any] = {"application/json": {"schema": {"$ref": REF.format(model=model.__name__)}}}
    return {"requestBody": {"required": True, "content": content | (_lines() if lines else {})}}


def takes_lines() -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": _lines()}}


def _lines() -> dict[str, Any]:
    return {NDJSON[0]: {"schema": {"type": "string", "description": "A JSON object on each line."}}}


def gives_events(*names: str) -> dict[int | str, dict[str, Any]]:
    """That a route answers with these server-sent events."""
    said = f"Server-sent events, each with JSON: {', '.join(names)}; `error` where something goes wrong on the way."
    data = {"type": "string", "contentMediaType": "application/json", "description": "JSON."}
    each = {"type": "object", "properties": {"event": {"enum": [*names, "error"]}, "data": data}, "required": ["event", "data"]}
    return {200: {"description": said, "content": {"text/event-stream": {"schema": each}}}}


def describe(app: FastAPI, bodies: tuple[type[BaseModel], ...]) -> dict[str, Any]:
    """The description of all routes, made once."""
    if app.openapi_schema is None:
        said = get_openapi(title="Recollect", version=__version__, description=app.description, routes=app.routes)
        schemas: dict[str, Any] = said.setdefault("components", {}).setdefault("schemas", {})
        models: list[type[BaseModel]] = [*bodies, problems.Problem]
        for model in models:
            own = model.model_json_schema(ref_template=REF)
            schemas |= {**own.pop("$defs", {}), model.__name__: own}
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        said["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": "Where the service has keys."}}
        for path, operations in said["paths"].items():
            for operation in operations.values():
                _complete(path, operation)
        app.openapi_schema = said
    return app.openapi_schema


def _complete(path: str, operation: dict[str, Any]) -> None:
    operation["responses"].pop("422", None)
    content = operation["responses"]["200"].get("content", {})
    if len(content) > 1:
        content.pop("application/json", None)  # FastAPI's default, beside events and plain text.
    operation["responses"]["default"] = {"description": "What went wrong.", "content": problems.schema()}
    operation["security"] = [{"key": []}, {}]
    if path not in WITHOUT_SCOPE:
        operation.setdefault("parameters", []).append(SCOPE)
