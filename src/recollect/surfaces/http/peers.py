"""Several processes that answer at one address: each tells the others its numbers, so that /metrics tells those of all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import parent_process
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from .watching import Watching

PATIENCE_S: Final = 2.0
"""How long a process is waited for that does not tell its numbers."""


@dataclass(slots=True)
class Peer:
    """One of the processes. Alone, where there is no folder for their sockets."""

    folder: Path | None = None
    number: int = 0
    of: int = 1
    _own: Watching | None = None

    def watching(self, own: Watching) -> Callable[[], Awaitable[bytes]]:
        """What tells the numbers of all processes, by the name of each, or of this one where it is alone."""
        self._own = own
        return partial(_alone, own) if self.folder is None else self._together

    @asynccontextmanager
    async def reachable(self) -> AsyncIterator[None]:
        """While it is entered, others are told this one's numbers."""
        if self.folder is None:
            yield
            return
        async with await asyncio.start_unix_server(self._tell, self._socket(self.number)):
            yield

    @contextmanager
    def left_alone(self, then: Callable[[], None]) -> Iterator[None]:
        """While it is entered, `then` is called when the process that began this one is gone, however it went."""
        parent = parent_process()
        if parent is None:
            yield
            return
        loop = asyncio.get_running_loop()

        def gone() -> None:
            loop.remove_reader(parent.sentinel)
            then()

        loop.add_reader(parent.sentinel, gone)
        try:
            yield
        finally:
            loop.remove_reader(parent.sentinel)

    def _socket(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{number}.sock"

    async def _tell(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._own is not None:
            writer.write(self._own.text())
        with suppress(OSError):
            await writer.drain()
        writer.close()

    async def _together(self) -> bytes:
        texts = await asyncio.gather(*(self._told_by(number) for number in range(self.of)))
        registry = CollectorRegistry()
        registry.register(_All({str(number): text for number, text in enumerate(texts) if text}))
        return generate_latest(registry)

    async def _told_by(self, number: int) -> str:
        """The numbers of another process; none where it has just gone."""
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                reader, writer = await asyncio.open_unix_connection(self._socket(number))
                text = await reader.read()
                writer.close()
                return text.decode()
        return ""


async def _alone(own: Watching) -> bytes:
    return own.text()


class _All(Collector):
    """The numbers of several processes, each with the label `worker`."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def collect(self) -> Iterable[Metric]:
        families: dict[str, Metric] = {}
        for worker, text in self._texts.items():
            for found in text_string_to_metric_families(text):
                family = families.setdefault(found.name, Metric(found.name, found.documentation, found.type))
                for sample in found.samples:
                    family.samples.append(sample._replace(labels={**sample.labels, "worker": worker}))
        return families.values()
