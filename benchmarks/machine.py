"""What the numbers were measured on: the machine, the versions, and how much memory and disk something takes."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar

PACKAGES = ("recollect", "faiss-cpu", "numpy", "onnxruntime", "pydantic", "sqlalchemy", "tantivy", "tokenizers")
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Memory:
    """This process: all that is resident, and what of it is its own and no mapped file."""

    resident_mb: float
    own_mb: float

    @classmethod
    def now(cls) -> Memory:
        """Read from Linux's `/proc`; zero on other systems."""
        status = Path("/proc/self/status")
        lines = status.read_text().splitlines() if status.exists() else []
        kilobytes = {name: float(value.split()[0]) for name, _, value in (line.partition(":") for line in lines) if value.endswith("kB")}
        return cls(round(kilobytes.get("VmRSS", 0) / 1024, 1), round(kilobytes.get("RssAnon", 0) / 1024, 1))

    def since(self, before: Memory) -> Memory:
        return Memory(round(self.resident_mb - before.resident_mb, 1), round(self.own_mb - before.own_mb, 1))


def bytes_in(folder: Path) -> int:
    """What a folder takes on disk."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def described() -> dict[str, object]:
    """The machine and the versions."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_at_start": round(os.getloadavg()[0], 2),
        "versions": {name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    for line in file.read_text().splitlines() if file.exists() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def apart(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run in a process of its own, so that what one part leaves in memory is not counted for the next."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args, **kwargs).result()
