"""How much of the text that answers a question was shown, and how much of what was shown answers it. Pure functions over spans."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from .judgments import Span

CUTOFFS: Final = (1, 5, 10)
FOUND: Final = "span_found"
Stretch: TypeAlias = tuple[int, int]
Starts: TypeAlias = Callable[[str], npt.NDArray[np.int64]]
"""From a document's id to the offsets at which its tokens begin, rising."""


def span_values(
    gold: Sequence[Span], shown: Sequence[Span], starts: Starts | None = None, *, found: Collection[str] = ()
) -> dict[str, float]:
    """Coverage and precision of the first 1, 5 and 10 spans shown, by characters and, where tokens are known, by tokens; and whether
    one of the right spans is shown whole, where a document that has one was found."""
    values: dict[str, float] = {}
    wanted = merged(gold)
    if reachable := [span for span in gold if span[0] in found]:
        whole = merged(shown)
        values[FOUND] = float(any(_inside(span, whole) for span in reachable))
    for cutoff in CUTOFFS:
        seen = merged(shown[:cutoff])
        both = {document: overlap(stretches, seen.get(document, [])) for document, stretches in wanted.items()}
        values |= _shares(cutoff, "", *(_characters(each) for each in (both, wanted, seen)))
        if starts is not None:
            values |= _shares(cutoff, "_tokens", *(_tokens(each, starts) for each in (both, wanted, seen)))
    return values


def _inside(span: Span, shown: Mapping[str, Sequence[Stretch]]) -> bool:
    document, start, end = span
    return any(first <= start and end <= last for first, last in shown.get(document, ()))


def _shares(cutoff: int, unit: str, both: int, wanted: int, seen: int) -> dict[str, float]:
    return {
        f"span_coverage{unit}@{cutoff}": both / wanted if wanted else 0.0,
        f"span_precision{unit}@{cutoff}": both / seen if seen else 0.0,
    }


def merged(spans: Iterable[Span]) -> dict[str, list[Stretch]]:
    """By document, the stretches that the spans cover together: rising, and none touches another."""
    by_document: dict[str, list[Stretch]] = defaultdict(list)
    for document, start, end in sorted(spans):
        stretches = by_document[document]
        if stretches and start <= stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], max(end, stretches[-1][1]))
        else:
            stretches.append((start, end))
    return dict(by_document)


def overlap(first: Sequence[Stretch], second: Sequence[Stretch]) -> list[Stretch]:
    """What two lists of merged stretches have in common."""
    common = [(max(start, begin), min(end, stop)) for start, end in first for begin, stop in second]
    return [(start, end) for start, end in common if start < end]


def _characters(stretches: Mapping[str, Sequence[Stretch]]) -> int:
    return sum(end - start for each in stretches.values() for start, end in each)


def _tokens(stretches: Mapping[str, Sequence[Stretch]], starts: Starts) -> int:
    """How many tokens begin in the stretches."""
    return sum(int(np.diff(np.searchsorted(starts(document), each)).sum()) for document, each in stretches.items() if each)
