"""One writer across processes and threads: an advisory lock on a file, let go by the system when its holder dies."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...cancellation import checkpoint, current
from ...errors import StoreBusy

POLL_S = 0.01


class WriterLock:
    """The right to change a store. Held for one change at a time, so writers take turns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = threading.Lock()

    @contextmanager
    def held(self, timeout_s: float) -> Iterator[None]:
        """Hold the lock, or raise `StoreBusy` when another holds it for longer than this."""
        deadline = time.monotonic() + timeout_s
        while not self._threads.acquire(timeout=max(0.001, min(POLL_S, deadline - time.monotonic()))):
            checkpoint()
            if time.monotonic() < deadline:
                continue
            raise StoreBusy(f"another thread has been writing to {self._path.parent} for {timeout_s:g} s: try again later")
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                self._lock(descriptor, deadline, timeout_s)
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, str(os.getpid()).encode(), 0)
                yield
            finally:
                os.close(descriptor)
        finally:
            self._threads.release()

    def _lock(self, descriptor: int, deadline: float, timeout_s: float) -> None:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
            if time.monotonic() >= deadline:
                holder = os.pread(descriptor, 32, 0).decode("ascii", "replace") or "unknown"
                raise StoreBusy(
                    f"another process (pid {holder}) has been writing to {self._path.parent} for {timeout_s:g} s: wait for it, or try again"
                )
            current().sleep(POLL_S)
