"""What came of taking something in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from . import Problem, Progress


@dataclass(frozen=True, slots=True)
class IndexReport:
    """How many items came, changed, stayed or went, what was not taken in, and how much was embedded for it."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    deleted: int = 0
    left_out: int = 0
    untracked: int = 0
    """How many of those left out are files that git does not track."""
    chunks_embedded: int = 0
    chunks_reused: int = 0
    seconds: float = 0.0
    problems: list[Problem] = field(default_factory=list)

    @classmethod
    def of(cls, progress: Progress, **counts: Any) -> Self:
        """The report of work that is done."""
        return cls(chunks_embedded=progress.chunks_embedded, chunks_reused=progress.chunks_reused, seconds=progress.seconds, **counts)
