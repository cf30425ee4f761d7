"""What a document mentions: files by their paths, and definitions by their names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..model import node_of
from ..outline import CONTAINERS, Outline
from .linking_documents import file_named, is_document
from .linking_names import Names, Place
from .modules import stem_of

SHORTEST_NAME: Final = 3
QUALIFIED: Final = re.compile(r"[\w$]+(?:(?:\.|::|#|->|/)[\w$]+)*(?:\(.*\))?[!?]?", re.DOTALL)
PLAIN: Final = re.compile(r"[A-Z]?[a-z]+")
JOINTS: Final = re.compile(r"\.|::|#|->|/")


def references(item_id: str, outline: Outline, names: Names) -> Iterator[tuple[str, str]]:
    """The section each mention stands in, and the node that is meant. A name that could mean two things means neither. What is mentioned
    of documents is mentioned by the whole of this one, so that one step leads from a document to another."""
    path = names.files.path_of(item_id)
    for use in outline.uses:
        written = f"{use.receiver}.{use.name}" if use.receiver else use.name
        if file := file_named(use.name, path, names.files) or file_named(written, path, names.files):
            yield "" if is_document(file) else use.within, names.files.ids[file]
        elif place := _definition(written, names):
            yield use.within, node_of(place.item_id, place.qualified)


def _definition(written: str, names: Names) -> Place | None:
    if not QUALIFIED.fullmatch(written):
        return None
    parts = JOINTS.split(re.sub(r"\(.*$|[!?]$", "", written, flags=re.DOTALL))
    name = parts[-1]
    if len(name) < SHORTEST_NAME:
        return None
    if len(parts) == 1:
        found = names.all(name)
        # A class and its constructor, or a name and a thing inside of it that is called the same, are one thing.
        outer = [place for place in found if not place.parent]
        # A plain word, which may be meant as such, is no method.
        if len(found) == 1 and (outer or not PLAIN.fullmatch(name)):
            return found[0]
        return outer[0] if len(outer) == 1 and outer[0].kind in CONTAINERS else None
    found = list(names.qualified(parts[-2], name))
    if not found:
        found = [place for place in names.all(name) if not place.parent and stem_of(names.files.path_of(place.item_id)) == parts[-2]]
    return found[0] if len(found) == 1 else None
