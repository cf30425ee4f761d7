"""Two runs over the same questions, held against each other: is the difference more than chance?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from .running import DIGITS, Evaluation

ROUNDS: Final = 10_000
BLOCK: Final = 1_000
"""Rounds drawn at a time, to bound the memory."""
SEED: Final = 20_000
ALPHA: Final = 0.05
ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure in two runs: the means, how likely chance alone gives means at least so far apart, and how many
    questions the second run answers better, worse and the same."""

    measure: str
    first: float
    second: float
    p: float
    better: int
    worse: int
    same: int

    @property
    def difference(self) -> float:
        return self.second - self.first

    @property
    def counts(self) -> bool:
        """Whether the difference is more than chance would give once in twenty times."""
        return self.p < ALPHA

    def flat(self) -> dict[str, Any]:
        return {
            "first": round(self.first, DIGITS),
            "second": round(self.second, DIGITS),
            "difference": round(self.difference, DIGITS),
            "p": round(self.p, DIGITS),
            "better": self.better,
            "worse": self.worse,
            "same": self.same,
        }


def compare(first: Evaluation, second: Evaluation, *, rounds: int = ROUNDS, seed: int = SEED) -> list[Difference]:
    """The difference of every measure, by a paired randomisation test over the questions that both runs were asked."""
    ours, theirs = ({answer.query.id: answer.values for answer in run.answers} for run in (first, second))
    if ours.keys() != theirs.keys():
        raise InvalidInput(f"the runs over {first.dataset!r} and {second.dataset!r} asked other questions: compare runs over the same ones")
    names = [name for name in first.values if name in second.values]
    before, after = _table(ours, names), _table(theirs, names)
    differences = after - before
    chances = randomisation_test(np.nan_to_num(differences), rounds=rounds, seed=seed)
    with_value = ~np.isnan(differences)
    return [
        Difference(
            name,
            float(np.nanmean(before[:, column])),
            float(np.nanmean(after[:, column])),
            float(chances[column]),
            int((differences[:, column] > ROUNDING).sum()),
            int((differences[:, column] < -ROUNDING).sum()),
            int((np.abs(differences[with_value[:, column], column]) <= ROUNDING).sum()),
        )
        for column, name in enumerate(names)
    ]


def _table(answers: Mapping[str, Mapping[str, float]], names: list[str]) -> npt.NDArray[np.float64]:
    """A row for each question, a column for each measure; not a number where a question has no value."""
    return np.array([[values.get(name, np.nan) for name in names] for _, values in sorted(answers.items())])


def randomisation_test(differences: npt.NDArray[np.float64], *, rounds: int = ROUNDS, seed: int = SEED) -> npt.NDArray[np.float64]:
    """For each column of differences between pairs, the share of random flips of sign that give a sum at least as far from 0.

    Two-sided. The differences as they are count as one more round, so that no chance is 0. A difference of 0 has no say."""
    generator = np.random.default_rng(seed)
    seen = np.abs(differences.sum(axis=0)) - ROUNDING
    reached = np.zeros(differences.shape[1])
    for begin in range(0, rounds, BLOCK):
        signs = generator.integers(0, 2, size=(min(BLOCK, rounds - begin), len(differences))) * 2.0 - 1.0
        reached += (np.abs(signs @ differences) >= seen).sum(axis=0)
    return (reached + 1) / (rounds + 1)
