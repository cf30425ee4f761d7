"""`recollect serve` as a process of its own: started, told to end, killed, and looked at from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import sleep
from types import TracebackType
from typing import Self

TICKS = os.sysconf("SC_CLK_TCK")
ENDS_WITHIN_S = 60
LOOK_S = 0.02
LISTENS = "0A"


class Served:
    """The service over a store, from the beginning of the block to its end. `end` and `kill` may come before, and `start` again."""

    def __init__(self, folder: Path, *, workers: int) -> None:
        self._folder = folder
        self._workers = workers
        self.port = 0
        self.address = ""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop(signal.SIGTERM)

    def start(self) -> None:
        """Begin, and come back once every worker listens."""
        asked = {"--store": self._folder, "--port": self.port, "--workers": self._workers}
        command = [Path(sys.executable).with_name("recollect"), "serve", *(part for pair in asked.items() for part in pair)]
        # Where no settings file is, so that everything is as by default.
        self._process = subprocess.Popen(
            [*map(str, command), "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=self._folder.parent
        )
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"`recollect serve` does not start: exit code {self._process.wait()}")
        self.address = json.loads(line)["address"]
        self.port = int(self.address.rpartition(":")[2])
        while _listening(self.port) < self._workers:
            sleep(LOOK_S)

    def stop(self, sent: signal.Signals) -> None:
        """Send a signal, and wait until the process is gone. A kill is of all its processes at once, as when the machine fails."""
        if self._process is not None:
            for pid in self.pids() if sent is signal.SIGKILL else [self._process.pid]:
                with suppress(ProcessLookupError):
                    os.kill(pid, sent)
            self._process.wait(ENDS_WITHIN_S)
            self._process = None

    def pids(self) -> list[int]:
        """The process and those that it started."""
        assert self._process
        found = [self._process.pid]
        for pid in found:
            found += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        return found

    def own_mb(self) -> float:
        """Memory that is no mapped file, of all its processes."""
        return sum(_kilobytes(pid, "RssAnon") for pid in self.pids()) / 1024

    def cpu_s(self) -> float:
        """The processor's time that all of its processes have had."""
        return sum(sum(map(int, _stat(pid)[11:13])) for pid in self.pids()) / TICKS


def _kilobytes(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def _stat(pid: int) -> list[str]:
    """The fields behind the name, which may hold blanks."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _listening(port: int) -> int:
    """How many sockets listen at a port, one for each worker."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == LISTENS for row in rows)
