"""What is said of an item beside its text that links it to others: `implements: REQ-12` in its metadata, `Superseded by` in a decision."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from ..model import SUPERSEDES, Status
from ..outline import IMPLEMENTS, REFERENCES, SATISFIES, Link, LinkForm
from . import ids
from .blocks import outline
from .front import front_end
from .source import Source

RELATIONS: Final[Mapping[str, tuple[str, bool]]] = {
    "implements": (IMPLEMENTS, False),
    "satisfies": (SATISFIES, False),
    "references": (REFERENCES, False),
    "supersedes": (SUPERSEDES, False),
    **dict.fromkeys(("superseded_by", "superseded-by", "supersededBy"), (SUPERSEDES, True)),
}
"""Keys of metadata that link, the type of their edges, and whether these lead from what is named to the item."""

NOBODY: Final = frozenset(
    ("none", "nobody", "nothing", "no", "nil", "null", "n/a", "na", "-", "--", "\u2013", "\u2014", "?", "tbd", "tba", "todo")
)
"""What is written where there is nobody to name."""

STATUSES: Final[Mapping[str, Status]] = {
    **dict.fromkeys(("draft", "proposed", "proposal", "pending", "wip"), "draft"),
    **dict.fromkeys(("approved", "accepted", "adopted", "final", "implemented", "active", "current"), "approved"),
    **dict.fromkeys(("superseded", "superceded", "replaced"), "superseded"),
    **dict.fromkeys(("archived", "deprecated", "rejected", "withdrawn", "obsolete", "retired"), "archived"),
}
"""What a status is called elsewhere."""

MOST_TARGETS: Final = 1_000
LONGEST_TARGET: Final = 400
WIKI: Final = re.compile(r"\[\[([^\[\]|\n]{1,400})(?:\|[^\[\]\n]{0,400})?\]\]")
INLINE: Final = re.compile(r"\[[^\[\]\n]{0,400}\]\(\s*<?([^\s()<>]{1,400})>?\s*\)")
STATUS_LINE: Final = re.compile(r"^[ \t]*(?:[-*+>|][ \t]+)?[*_]{0,2}status[*_]{0,2}[ \t]*:[*_]{0,2}[ \t]*(\S[^\n]*)", re.I | re.M)
HEAD_CHARS: Final = 4_000
"""A decision says its status first."""
SUCCEEDS: Final = re.compile(r"(?<!\bbe )(?<!\bnot )(?<!\bnever )\b((?:super[sc]ed|replac)(?:ed\s+by|es))\b[ \t:]*", re.I)
SUCCEEDING_LINE: Final = re.compile(r"^[ \t]*(?:[-*+>][ \t]+)?[*_]{0,2}(?:super[sc]ed|replac)(?:ed[ \t]+by|es)\b[^\n]*", re.I | re.M)


def status_of(word: str) -> Status | None:
    """The status that a word stands for."""
    return STATUSES.get(word.strip().casefold())


class Said(NamedTuple):
    """What a decision says of itself in its text."""

    status: Status | None = None
    links: tuple[Link, ...] = ()


def said_in(text: str) -> Said:
    """The status in the text of a decision, under a heading `Status` or after `Status:`, and what took its place or lost it."""
    front = front_end(text)
    head = Source(text[front : front + HEAD_CHARS])
    found = outline(head.text, head.lines)
    prose = head.text
    for start, end in found.fences:
        prose = prose[:start] + re.sub(r"[^\n]", " ", prose[start:end]) + prose[end:]
    ends = [*(heading.start for heading in found.headings[1:]), len(prose)]
    for heading, end in zip(found.headings, ends, strict=False):
        if heading.title.strip(" \t:*_").casefold() == "status" and (section := prose[heading.body : end].strip()):
            # What is said further down counts where it begins a line, as tools write it; the rest explains.
            first, *others = re.split(r"\n[ \t\r]*\n", section, maxsplit=1)
            return said_of("\n".join((first, *(line for other in others for line in SUCCEEDING_LINE.findall(other)))))
    line = STATUS_LINE.search(prose)
    return said_of(line[1]) if line else Said()


def said_of(phrase: str) -> Said:
    """What a phrase such as `Accepted` or `superseded by [ADR-2](0002.md)` says; what names its successor is superseded, whatever else."""
    links: list[Link] = []
    verbs = list(SUCCEEDS.finditer(phrase))
    for verb, end in zip(verbs, [*(each.start() for each in verbs[1:]), len(phrase)], strict=False):
        is_reverse = verb[1].lower().endswith("by")
        links += [Link(SUPERSEDES, target, form, is_reverse) for target, form in _targets_in(phrase[verb.end() : end])]
    word = re.search(r"[^\W\d_]+", phrase)
    status = "superseded" if is_succeeded(links) else status_of(word[0]) if word else None
    return Said(status, tuple(links))


def is_succeeded(links: Iterable[Link]) -> bool:
    """Whether one of the links of an item leads to it from what took its place."""
    return any(link.type == SUPERSEDES and link.is_reverse for link in links)


def _targets_in(phrase: str) -> Iterator[tuple[str, LinkForm]]:
    """The documents that a phrase names: by links, or else by ids."""
    linked: list[tuple[str, LinkForm]] = [(found[1], "path") for found in INLINE.finditer(phrase)]
    linked += [(found[1], "name") for found in WIKI.finditer(phrase)]
    yield from linked or ((written, "name") for _, written, _ in ids.mentioned(phrase))


def links_in(metadata: Mapping[str, Any], names: list[str]) -> Iterator[Link]:
    """The links that metadata names. A bare number is meant as one of the item's own kind: `supersedes: 3` of ADR-7 is ADR-3."""
    kind = names[0].rpartition("-")[0] if names else ""
    for key, (type_, is_reverse) in RELATIONS.items():
        for target in _targets(metadata.get(key)):
            path = INLINE.fullmatch(target)
            wiki = WIKI.fullmatch(target)
            written = path[1] if path else wiki[1] if wiki else target
            if kind and written.isdecimal() and written.isascii():
                written = f"{kind}-{int(written)}"
            yield Link(type_, written.strip(), "path" if path else "name", is_reverse)
    if isinstance(status := metadata.get("status"), str):
        yield from said_of(status).links


def _targets(value: Any) -> list[str]:
    """The texts in a value, however lists are nested: `[[a page]]` is a list in a list to YAML."""
    found: list[str] = []
    left = [value]
    while left and len(found) < MOST_TARGETS:
        each = left.pop(0)
        if isinstance(each, list | tuple):
            left[:0] = each
        elif isinstance(each, str):
            parts = [part.strip() for part in each.split(",")]
            found += parts if all(part and not re.search(r"\s", part) for part in parts) else [each.strip()]
        elif isinstance(each, int) and not isinstance(each, bool):
            found.append(str(each))
    return [each for each in dict.fromkeys(found) if 0 < len(each) <= LONGEST_TARGET and each.casefold() not in NOBODY]
