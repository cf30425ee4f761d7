"""Reads the structure of texts: programs by the grammars of their languages, Markdown by its lines."""

from dataclasses import replace
from itertools import islice

from ..model import SUPERSEDES, Item
from ..outline import REFERENCES, Alias, Link, Outline
from . import ids
from .blocks import LONGEST_TITLE
from .markdown import markdown_outline
from .relations import links_in, said_in
from .structure import Block, Structure, canonical, outline, structure

__all__ = ["Block", "Structure", "outline", "outline_of", "structure", "structure_of"]


def outline_of(item: Item) -> Outline | None:
    """The outline of an item; None where nothing is known of its structure, nor that it is linked to others."""
    names = ids.names_of(item)
    if item.format == "markdown":
        found = markdown_outline(item.text)
    else:
        known = structure_of(item)
        found = known.outline if known else Outline(language="")
        found = replace(found, links=_mentioned(item.text))
    stated = list(links_in(item.metadata, names))
    if item.format == "markdown" and item.kind == "decision" and all(link.type != SUPERSEDES for link in stated):
        stated[:0] = said_in(item.text).links
    links = [*stated, *found.links]
    aliases = dict.fromkeys((*map(Alias, names), *found.aliases))
    if item.format == "markdown" and item.title and all(item.title != each.name for each in found.definitions if each.parent is None):
        aliases[Alias(item.title[:LONGEST_TITLE])] = None
    if not (found.language or links or aliases):
        return None
    return replace(found, links=tuple(dict.fromkeys(links)), aliases=tuple(aliases))


def _mentioned(text: str) -> tuple[Link, ...]:
    """The ids of known kinds in a text that is no document."""
    found = {name: written for _, written, name in ids.mentioned(text) if ids.is_known(name)}
    return tuple(Link(REFERENCES, written) for written in islice(found.values(), ids.MOST_IDS))


def structure_of(item: Item) -> Structure | None:
    """The structure of an item that is a program in a language whose grammar is known."""
    language = canonical(item.metadata.get("language")) if item.format == "code" else None
    return structure(item.text, language) if language else None
