"""Jupyter notebooks to Markdown: text cells as they are, code cells fenced; outputs are left out."""

from __future__ import annotations

import json
import re
from typing import Any

from .decode import Unreadable, mended


def notebook_to_markdown(source: str) -> tuple[str, str | None]:
    """The cells as Markdown, and the language of the code."""
    try:
        notebook = json.loads(source)
    except (json.JSONDecodeError, RecursionError) as error:
        raise Unreadable(f"not a notebook: {error}") from None
    if not isinstance(notebook, dict):
        raise Unreadable("not a notebook: it is no JSON object")
    language = _language(notebook)
    blocks = [block for cell in _cells(notebook) if (block := _block(cell, language or ""))]
    text = mended("\n\n".join(blocks))
    return text + "\n" * bool(text), language


def _cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    cells = notebook.get("cells")
    if cells is None:  # before format 4 the cells were in worksheets
        sheets = notebook.get("worksheets")
        cells = [cell for sheet in _objects(sheets) for cell in _objects(sheet.get("cells"))]
    return _objects(cells)


def _objects(value: object) -> list[dict[str, Any]]:
    return [element for element in value if isinstance(element, dict)] if isinstance(value, list) else []


def _language(notebook: dict[str, Any]) -> str | None:
    metadata = notebook.get("metadata")
    for section in ("language_info", "kernelspec"):
        about = metadata.get(section) if isinstance(metadata, dict) else None
        name = (about.get("name") if section == "language_info" else about.get("language")) if isinstance(about, dict) else None
        if isinstance(name, str) and name:
            return mended(name.lower())
    return None


def _block(cell: dict[str, Any], language: str) -> str:
    source = cell.get("source", cell.get("input", ""))
    text = (
        "".join(part for part in source if isinstance(part, str)) if isinstance(source, list) else source if isinstance(source, str) else ""
    )
    text = text.strip("\n")
    if not text.strip() or cell.get("cell_type") != "code":
        return text if text.strip() else ""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"
