"""The description of the service as a page to read: made of the OpenAPI description, once, with nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final

HEAD: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Recollect: the API</title><link rel="icon" href="/page/icon.svg"><link rel="stylesheet" href="/page/reference.css"></head>
<body><main><h1>The API</h1>
<p>Every address but <code>/health</code> and <code>/metrics</code> takes <code>scope</code>. What goes wrong is
<code>application/problem+json</code>. For programs: <a href="/openapi.json">openapi.json</a>. To look at: <a href="/">the page</a>.</p>
"""


def reference(description: Mapping[str, Any]) -> str:
    """The whole page."""
    schemas: Mapping[str, Any] = description["components"]["schemas"]
    operations = (
        _operation(method, path, each, schemas) for path, methods in description["paths"].items() for method, each in methods.items()
    )
    return HEAD + "".join(operations) + "</main></body></html>\n"


def _operation(method: str, path: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    said = escape(operation.get("description", ""))
    parameters = [each for each in operation.get("parameters", ()) if each["name"] != "scope"]
    rows = [_row(each["name"], each["schema"], each.get("description", ""), required=each["required"]) for each in parameters]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body:
        rows += _fields(body, schemas)
    table = f"<table><thead><tr><th>field<th>type<th>meaning</tr></thead><tbody>{''.join(rows)}</tbody></table>" if rows else ""
    return (
        f"<section><h2><b>{method.upper()}</b> <code>{escape(path)}</code></h2><p>{said}</p>{table}"
        f"<p>Gives {_given(operation['responses'].get('200', {}))}</p></section>\n"
    )


def _given(response: Mapping[str, Any]) -> str:
    kinds = [f"{_type(each.get('schema', {}))} <small>{escape(kind)}</small>" for kind, each in response.get("content", {}).items()]
    return ", ".join(kinds)


def _fields(schema: Mapping[str, Any], schemas: Mapping[str, Any], under: str = "") -> Iterator[str]:
    """A row for each field of a body, those of its sections one by one."""
    found = schemas[schema["$ref"].rpartition("/")[2]]
    for name, field in found.get("properties", {}).items():
        if "$ref" in field and "properties" in schemas[field["$ref"].rpartition("/")[2]]:
            yield from _fields(field, schemas, f"{under}{name}.")
        else:
            yield _row(f"{under}{name}", field, field.get("description", ""), required=name in found.get("required", ()))


def _row(name: str, schema: Mapping[str, Any], said: str, *, required: bool) -> str:
    needed = " <em>required</em>" if required else ""
    return f"<tr><td><code>{escape(name)}</code>{needed}<td>{_type(schema)}{_limits(schema)}<td>{escape(said)}</tr>"


def _limits(schema: Mapping[str, Any]) -> str:
    """The least and the most, and what it is where it is left out."""
    number: Mapping[str, Any] = next((each for each in schema.get("anyOf", [schema]) if "minimum" in each or "maximum" in each), {})
    ends = [f"{word} {number[name]}" for name, word in (("minimum", "from"), ("maximum", "to")) if name in number]
    default = schema.get("default")
    left_out = f"else {escape(str(default))}" if default not in (None, "", [], {}) else ""
    said = ", ".join(filter(None, (" ".join(ends), left_out)))
    return f" <small>{said}</small>" if said else ""


def _type(schema: Mapping[str, Any]) -> str:
    """What a value may be, in few words."""
    if "$ref" in schema:
        return f"<code>{escape(schema['$ref'].rpartition('/')[2])}</code>"
    if "enum" in schema:
        return " ".join(f"<code>{escape(str(each))}</code>" for each in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return escape(str(schema.get("type", "anything")))
