"""Reads the structure of texts: programs by the grammars of their languages, Markdown by its lines."""

from ..model import Item
from ..outline import Outline
from .markdown import markdown_outline
from .structure import Block, Structure, canonical, outline, structure

__all__ = ["Block", "Structure", "outline", "outline_of", "structure", "structure_of"]


def outline_of(item: Item) -> Outline | None:
    """The outline of an item; None where it has no structure that is known."""
    if item.format == "markdown":
        return markdown_outline(item.text)
    found = structure_of(item)
    return found.outline if found else None


def structure_of(item: Item) -> Structure | None:
    """The structure of an item that is a program in a language whose grammar is known."""
    language = canonical(item.metadata.get("language")) if item.format == "code" else None
    return structure(item.text, language) if language else None
