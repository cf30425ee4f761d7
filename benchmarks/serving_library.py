"""The library as the service uses it, without the service: as many processes, in each as many askers and turns."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path
from time import perf_counter, process_time

from recollect.library import Library
from recollect.settings import Settings

from .build import SCOPE
from .queries import K
from .serving_client import Answers

CLIENTS = 16
PROCESSES = os.cpu_count() or 1
AT_ONCE = Settings().serve.running
"""Questions that a process looks into at once, as the service does by default."""

_TOGETHER: list[Barrier] = []
"""In a process that asks: where it waits for the others."""


def in_processes(folder: Path, warm: Sequence[str], questions: Sequence[str]) -> Answers:
    """The questions, asked of one store by all processes together, each of its share."""
    spawn = get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, spawn, _TOGETHER.append, (spawn.Barrier(PROCESSES),)) as pool:
        asked = [pool.submit(in_process, folder, warm, questions[place::PROCESSES], CLIENTS // PROCESSES) for place in range(PROCESSES)]
        parts = [each.result() for each in asked]
    return Answers(
        wall_s=max(part.wall_s for part in parts),
        cpu_s=sum(part.cpu_s for part in parts),
        seconds=[seconds for part in parts for seconds in part.seconds],
    )


def in_process(folder: Path, warm: Sequence[str], questions: Sequence[str], askers: int) -> Answers:
    return asyncio.run(_in_process(folder, warm, questions, askers))


async def _in_process(folder: Path, warm: Sequence[str], questions: Sequence[str], askers: int) -> Answers:
    turns, answers, left = asyncio.Semaphore(AT_ONCE), Answers(), iter(questions)
    async with Library.open(folder, scope=SCOPE, options=Settings()) as library:
        for question in warm:
            await library.search(question, k=K)
        for barrier in _TOGETHER:
            barrier.wait()
        begin, cpu = perf_counter(), process_time()
        await asyncio.gather(*(_ask(library, left, turns, answers) for _ in range(askers)))
        answers.wall_s, answers.cpu_s = perf_counter() - begin, process_time() - cpu
    return answers


async def _ask(library: Library, left: Iterator[str], turns: asyncio.Semaphore, answers: Answers) -> None:
    for question in left:
        begin = perf_counter()
        async with turns:
            await library.search(question, k=K)
        answers.seconds.append(perf_counter() - begin)
