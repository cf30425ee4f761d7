"""Says in a sentence why a memory was recalled: what counted most in its score, and nothing that does not hold for it. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from ..memories import SIGNALS, MemorySignals, MemoryType, Source, TimeRange
from .ago import time_ago
from .writing import name

MOST: Final = 3
"""Reasons in a sentence."""
LEAST_PART: Final = 0.1
"""A reason that counted less than this part of the strongest is left out."""
NAMED: Final = 3
"""Entities that are named; of others it is told how many there are."""
FITTING: Final = 0.5
"""A memory that was found neither by words nor by meaning fits the question from here on, and one is near a time."""
FITTING_AS_FOUND: Final = 0.25
"""One that was found by either fits from here on: being found says little, since there is always something nearest. What seven questions
recall of 40 memories has .25 or more where it was found by words too, and at most .23 where by meaning alone and others by words."""
IMPORTANT: Final = 0.7
"""Above what memories have where nothing is said of how much they matter, but for procedures and summaries."""
RECENT: Final = timedelta(days=7)

_LEFT_OUT: Final = ("in ", "on ", "at ", "during ", "from ", "within ", "over ")
_NO_NOUNS: Final = ("since ", "before ", "after ", "until ", "till ", "by ", "up to ", "ever ", "as of ")
_RECENTLY: Final = ("recent", "recently", "lately", "most recently")


class _Reason(NamedTuple):
    counted: float
    words: str


def why(
    type_: MemoryType,
    signals: MemorySignals,
    weights: Mapping[str, float],
    *,
    sources: Collection[Source],
    entities: Sequence[str],
    within: TimeRange | None,
    at: datetime,
    now: datetime,
    zone: tzinfo,
    use_count: int,
    boost: float = 1.0,
    about: str = "",
) -> str:
    """Such as: Recalled because it mentions Acme Corporation and is from last month (2 weeks ago).

    `entities` are the names of those of the question that it is about, `about` is what it is about where these are none, `within` is the
    time that the question names."""
    counted = {signal: getattr(signals, signal) * weights.get(signal, 0.0) for signal in SIGNALS}
    ago = time_ago(at, now, zone)
    said = {
        "semantic_similarity": _fits(signals.semantic_similarity, sources),
        "entity_overlap": f"mentions {_listed(_few(entities))}" if entities else f"is about {name(about)}" if about else "",
        "temporal_relevance": _from(within, at, signals.temporal_relevance, ago) if within else _recent(at, now, ago),
        "importance": "is important" if signals.importance >= IMPORTANT else "",
        "reinforcement": f"was used or said again {_times(use_count)}" if use_count > 0 else "",
    }
    reasons = [_Reason(counted[signal], said[signal]) for signal in SIGNALS if said[signal]]
    if type_ == "summary":
        reasons.append(_Reason((boost - 1) * sum(counted.values()), "is a summary"))
    best = sorted((reason for reason in reasons if reason.counted > 0), key=lambda reason: -reason.counted)
    words = [reason.words for reason in best[:MOST] if reason.counted >= LEAST_PART * best[0].counted]
    words += list(_as_found(type_, sources, words))[: MOST - len(words)]
    return f"Recalled because it {_listed(words)}." if words else f"Recalled although little speaks for it ({ago})."


def _fits(signal: float, sources: Collection[Source]) -> str:
    ways = [way for source, way in (("text", "words"), ("semantic", "meaning")) if source in sources]
    if signal < (FITTING_AS_FOUND if ways else FITTING):
        return ""
    return f"fits the question by its {_listed(ways)}" if ways else "fits the question"


def _from(within: TimeRange, at: datetime, signal: float, ago: str) -> str:
    """Whether it is from the time that the question names, or from near it."""
    words = name(within.words)
    behind = "" if ago == words.casefold() else f" ({ago})"
    if at <= within.end and (within.start is None or at >= within.start):
        return f"is recent{behind}" if words.casefold() in _RECENTLY else f"is from {_time(words)}{behind}"
    return f"is from near the time of “{words}”{behind}" if signal >= FITTING else ""


def _time(words: str) -> str:
    """The words for a time, such that something can be from it."""
    small = words.casefold()
    preposition = next((each for each in _LEFT_OUT if small.startswith(each)), "")
    return f"the time of “{words}”" if small.startswith(_NO_NOUNS) else words[len(preposition) :]


def _recent(at: datetime, now: datetime, ago: str) -> str:
    return f"is recent ({ago})" if timedelta() <= now - at <= RECENT else ""


def _as_found(type_: MemoryType, sources: Collection[Source], said: Collection[str]) -> Iterator[str]:
    """What is no part of the score, and yet why it was looked at."""
    if type_ == "procedural" and "procedural" in sources:
        yield "tells how something is done"
    if type_ == "summary" and "summary" in sources and "is a summary" not in said:
        yield "is a summary"


def _few(names: Sequence[str]) -> list[str]:
    shown = [name(each) for each in names]
    return shown if len(shown) <= NAMED + 1 else [*shown[:NAMED], f"{len(shown) - NAMED} more"]


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _listed(words: Sequence[str]) -> str:
    """Such as: a, b and c."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
