"""The service under load: clients over loopback beside the library in processes, its memory over many requests, and restarts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from . import serving_restart
from .machine import apart
from .queries import K, percentiles
from .serving_client import Answers, search
from .serving_library import AT_ONCE, CLIENTS, PROCESSES, in_processes
from .serving_process import Served

ROUNDS = 4
PER_ROUND = 500
"""Questions of a round, each asked of both sides once and of neither again: no cache has an answer."""
REQUESTS = 10_000
"""All requests to one server over which its memory is looked at."""
PER_LOOK = 500
WARM_UP = 100
QUESTIONS = WARM_UP + REQUESTS


@dataclass(slots=True)
class Side:
    """What one side came to: a rate for each round, and the seconds of every request."""

    rates: list[float]
    seconds: list[float]
    cpu_s: float = 0.0
    errors: int = 0

    @classmethod
    def empty(cls) -> Side:
        return cls([], [])

    def add(self, answers: Answers) -> None:
        self.rates.append(answers.per_s)
        self.seconds += answers.seconds
        self.cpu_s += answers.cpu_s
        self.errors += answers.errors

    def figures(self) -> dict[str, Any]:
        return {
            "per_s": round(float(np.median(self.rates)), 1),
            "ms": percentiles(self.seconds),
            "cpu_ms": round(self.cpu_s / len(self.seconds) * 1000, 2),
            "errors": self.errors,
        }


def measure(folder: Path, copy: Path, questions: Sequence[str]) -> dict[str, Any]:
    """Everything that is said of the service over the store in a folder; `copy` is where one is restarted."""
    warm, rest = questions[:WARM_UP], iter(questions[WARM_UP:])
    sides = {"service": Side.empty(), "library": Side.empty()}
    with Served(folder, workers=PROCESSES) as served:
        _served(served, warm)
        for turn in range(ROUNDS):
            asked = _some(rest, PER_ROUND)
            _say(f"{CLIENTS} clients, round {turn + 1} of {ROUNDS}")
            # The other first every second time.
            for side in list(sides)[:: 1 if turn % 2 else -1]:
                found = _served(served, asked) if side == "service" else in_processes(folder, warm, asked)
                sides[side].add(found)
        memory = _memory(served, rest, ROUNDS * PER_ROUND)
    _say("restarting under load")
    return {
        "clients": CLIENTS,
        "questions": ROUNDS * PER_ROUND,
        "processes": PROCESSES,
        "at_once": AT_ONCE,
        **{name: side.figures() for name, side in sides.items()},
        "ratio": round(_ratio(sides["service"].rates, sides["library"].rates), 3),
        "memory": memory,
        "restart": serving_restart.measure(copy, folder, warm),
    }


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median over rounds, so that what else the machine did in one of them counts little."""
    return float(np.median(np.divide(ours, theirs)))


def _some(questions: Iterator[str], number: int) -> list[str]:
    return list(islice(questions, number))


def _served(served: Served, questions: Sequence[str]) -> Answers:
    before = served.cpu_s()
    answers = apart(search, served.address, questions, CLIENTS, K)
    answers.cpu_s = served.cpu_s() - before
    return answers


def _memory(served: Served, questions: Iterator[str], asked: int) -> dict[str, Any]:
    """The server's own memory by the number of requests that it has answered."""
    own_mb = {asked: round(served.own_mb(), 1)}
    errors = 0
    while some := _some(questions, PER_LOOK):
        errors += _served(served, some).errors
        asked += len(some)
        own_mb[asked] = round(served.own_mb(), 1)
        _say(f"{asked:,} requests, {own_mb[asked]} MB")
    return {"requests": asked, "errors": errors, "own_mb": own_mb}


def _say(what: str) -> None:
    print(what, file=sys.stderr)
