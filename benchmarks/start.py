"""How long `recollect search` takes from the shell, the start of its process included, on a warm disk."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from compileall import compile_dir
from pathlib import Path
from statistics import median
from time import perf_counter

import recollect

RUNS = 11


def measure(folder: Path, queries: Sequence[str]) -> dict[str, float]:
    """Seconds over several runs, after one that warms the disk. The package is compiled first, as an installed one is."""
    compile_dir(Path(recollect.__file__).parent, quiet=2)
    seconds = [_run(folder, query) for query in queries[: RUNS + 1]][1:]
    return {"runs": len(seconds), "p50_s": round(median(seconds), 3), "max_s": round(max(seconds), 3)}


def _run(folder: Path, query: str) -> float:
    command = [str(Path(sys.executable).with_name("recollect")), "search", "--store", str(folder), "--", query]
    begin = perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return perf_counter() - begin
