"""What a document is, where its front matter does not say it: by its name, its title, and what a decision says of its status."""

from __future__ import annotations

from dataclasses import replace

from ..model import Item
from ..syntax.ids import kind_of, names_of
from ..syntax.relations import is_succeeded, links_in, said_in
from .frontmatter import Front


def described(item: Item, front: Front) -> Item:
    """The item with a kind and a status, where front matter is silent and the document says enough."""
    if item.format != "markdown":
        return item
    kind = front.kind or kind_of(names_of(item)) or item.kind
    status = front.status
    if status is None and kind == "decision" and "status" not in front.metadata:
        status = said_in(item.text).status
    if status is None and is_succeeded(links_in(front.metadata, [])):
        status = "superseded"
    return replace(item, kind=kind, status=status or item.status)
