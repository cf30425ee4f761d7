"""Clients of the service that cost little, since they share the cores with it: HTTP/1.1 by hand over connections that stay open."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from urllib.parse import urlsplit

OK = 200


class Connection:
    """One connection to the service, opened at the first request and again where it was lost."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._host, self._port = parts.hostname or "", parts.port or 0
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """The status and the body of an answer. A connection that is lost raises `OSError` or `EOFError`, and is opened anew next time."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        sent = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: {self._host}:{self._port}\r\ncontent-type: application/json\r\ncontent-length: {len(sent)}"
        )
        try:
            writer.write(f"{head}\r\n\r\n".encode() + sent)
            status, *lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
            length = next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:"))
            return int(status.split()[1]), await reader.readexactly(length)
        except (OSError, EOFError):
            self.close()
            raise

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@dataclass(slots=True)
class Answers:
    """What a number of requests came to: how long all took, the seconds of each, and those that were not answered well."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    seconds: list[float] = field(default_factory=list)
    errors: int = 0

    @property
    def per_s(self) -> float:
        return len(self.seconds) / self.wall_s


def search(address: str, questions: Sequence[str], clients: int, k: int) -> Answers:
    """Ask so many questions at a time, each client its next one as soon as it has an answer."""
    return asyncio.run(_search(address, questions, clients, k))


async def _search(address: str, questions: Sequence[str], clients: int, k: int) -> Answers:
    answers, left = Answers(), iter(questions)
    begin = perf_counter()
    await asyncio.gather(*(_client(address, left, k, answers) for _ in range(clients)))
    answers.wall_s = perf_counter() - begin
    return answers


async def _client(address: str, left: Iterator[str], k: int, answers: Answers) -> None:
    connection = Connection(address)
    for question in left:
        begin = perf_counter()
        status, _ = await connection.ask("POST", "/retrieval/search", {"query": question, "limit": k})
        answers.seconds.append(perf_counter() - begin)
        answers.errors += status != OK
    connection.close()
