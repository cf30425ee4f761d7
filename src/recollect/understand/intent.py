"""Tells what a question is after: architecture, implementation, a requirement, a decision, or nothing of these."""

from __future__ import annotations

import re
from typing import Final

from ..contracts import Intent
from .words import Word, vocabulary, words_of

CERTAIN: Final = 3
PLAIN: Final = 2
WEAK: Final = 1
"""How much a cue says: a way to ask, a word for the thing itself, a word that is often used for something else."""

_CUES: Final[tuple[tuple[int, Intent, str], ...]] = (
    (PLAIN, "architecture", "architecture architectures architectural architecturally architected design designs designed topology"),
    (WEAK, "architecture", "designing pattern patterns structure structures structured structural layering subsystems"),
    (PLAIN, "implementation", "implement implements implemented implementing implementation implementations implementer implementers"),
    (WEAK, "implementation", "code coded coding codebase develop develops developed developing build builds building built function class"),
    (PLAIN, "requirement", "requirement requirements required shall must prerequisite prerequisites"),
    (WEAK, "requirement", "require requires requiring should need needs needed constraint constraints mandatory obligatory"),
    (PLAIN, "decision", "decision decisions decide decides decided deciding choice choices choose chooses chose chosen choosing rationale"),
    (PLAIN, "decision", "adr adrs tradeoff tradeoffs justification"),
    (WEAK, "decision", "why alternatives rejected"),
)
_OF_WORD: Final[dict[str, tuple[int, Intent]]] = {word: (weight, intent) for weight, intent, words in _CUES for word in words.split()}

_FILLED = r"(?:\W+\w+){0,12}?\W+"
_PATTERNS: Final[tuple[tuple[Intent, str], ...]] = (
    (
        "decision",
        rf"\bwhy{_FILLED}(?:choose|chose|chosen|choosing|pick|picked|select|selected|adopt|adopted|decide|decided|prefer|preferred|reject|"
        r"rejected|opt|opted|switch|switched|instead|rather|over)\b",
    ),
    ("decision", r"\bwhy\W+(?:(?:do|did|does|have|had|are|were|was)\W+)?(?:we|our)\b"),
    ("decision", r"\b(?:reasons?|reasoning|rationale|motivation)\W+(?:for|behind|why|to)\b|\btrade\W?offs?\b"),
    ("implementation", rf"\bhow{_FILLED}(?:implemented|coded|programmed|built)\b|\bhow{_FILLED}(?:implement|implements)\b"),
    ("implementation", r"\b(?:where\W+(?:is|are)|show(?:\W+me)?|find)\W+(?:the\W+)?(?:source\W+)?code\b|\bsource\W+code\b"),
    ("implementation", r"\bthe\W+code\W+(?:for|of|that|which|behind)\b"),
    ("requirement", r"\bacceptance\W+criteri(?:a|on)\b|\b(?:must|shall)\W+(?:not|never|always|be|have|support)\b|\bmust\W?haves?\b"),
    ("architecture", rf"\bhow{_FILLED}(?:architected|structured|organi[sz]ed|fit{_FILLED}together)\b"),
)
_WAYS: Final = tuple((intent, re.compile(pattern, re.IGNORECASE)) for intent, pattern in _PATTERNS)
_NUMBERED_CODE: Final = vocabulary("error exit status response return country zip postal area qr bar dress promo discount morse")
"""What a code is of that is no program."""
_THINGS: Final = vocabulary(
    "architecture architectures design designs implementation implementations requirement requirements decision decisions choice choices "
    "rationale adr adrs"
)


def intent_of(text: str) -> Intent:
    """What the strongest cue says, the first of those; of words that stand together the last, as in `design decisions`."""
    words = words_of(text)
    if not words:
        return "general"
    read = text[: words[-1].end]
    found: list[tuple[int, int, Intent]] = [
        (-CERTAIN, way.start(), intent) for intent, pattern in _WAYS if (way := pattern.search(read)) is not None
    ]
    for place, word in enumerate(words):
        cue = _cue(words, place)
        if cue is not None and not _is_part_of_name(words, place, cue):
            found.append((-cue[0], word.start, cue[1]))
    return min(found)[2] if found else "general"


def _cue(words: list[Word], place: int) -> tuple[int, Intent] | None:
    if words[place].small == "code" and place and words[place - 1].small in _NUMBERED_CODE:
        return None
    return _OF_WORD.get(words[place].small)


def _is_part_of_name(words: list[Word], place: int, cue: tuple[int, Intent]) -> bool:
    """Whether the next word names what it is all about: `design decisions` are decisions."""
    if place + 1 == len(words) or words[place + 1].start != words[place].end + 1 or words[place].small not in _THINGS:
        return False
    following = _cue(words, place + 1)
    return words[place + 1].small in _THINGS and following is not None and following[0] >= cue[0]
