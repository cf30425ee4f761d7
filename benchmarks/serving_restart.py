"""Restarts under load: clients put items and search while the service is ended and killed, and what was acknowledged is looked up after."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from .serving_client import OK, Connection
from .serving_library import PROCESSES
from .serving_process import Served

WRITERS, ASKERS = 4, 4
BETWEEN_S = 3.0
"""How long the service is up between restarts."""
WAIT_S = 0.05
SIGNALS = (signal.SIGTERM, signal.SIGKILL) * 3


class _Load:
    """Clients that go on until they are told to stop, through every restart."""

    def __init__(self, served: Served, questions: Sequence[str]) -> None:
        self._served, self._questions = served, questions
        self.put: dict[str, str] = {}
        """The text of each item whose keeping was acknowledged."""
        self.cut = self.answered = 0
        """Requests that the service took and did not answer, and questions that it did."""
        self.done = False

    async def write(self, writer: int) -> None:
        connection = Connection(self._served.address)
        number = 0
        while not self.done:
            number += 1
            item_id, text = f"put-{writer}-{number}", f"{self._questions[(writer * 997 + number) % len(self._questions)]} {writer} {number}"
            if await self._ask(connection, "PUT", f"/items/{item_id}", {"text": text}):
                self.put[item_id] = text
        connection.close()

    async def search(self, asker: int) -> None:
        connection = Connection(self._served.address)
        number = asker
        while not self.done:
            number += ASKERS
            self.answered += await self._ask(
                connection, "POST", "/retrieval/search", {"query": self._questions[number % len(self._questions)], "limit": 10}
            )
        connection.close()

    async def _ask(self, connection: Connection, method: str, path: str, body: object) -> bool:
        """Whether there was a good answer; where the service is away, a moment is waited."""
        try:
            status, _ = await connection.ask(method, path, body)
        except (OSError, EOFError) as error:
            self.cut += not isinstance(error, ConnectionRefusedError)
            await asyncio.sleep(WAIT_S)
            return False
        return status == OK


def measure(folder: Path, store: Path, questions: Sequence[str]) -> dict[str, Any]:
    """Of a copy of the store, which is made here and taken away after."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(store, folder)
    try:
        with Served(folder, workers=PROCESSES) as served:
            return asyncio.run(_measure(served, questions))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _measure(served: Served, questions: Sequence[str]) -> dict[str, Any]:
    load = _Load(served, questions)
    clients = [*(load.write(number) for number in range(WRITERS)), *(load.search(number) for number in range(ASKERS))]
    tasks = [asyncio.create_task(client) for client in clients]
    away_s = []
    for sent in SIGNALS:
        await asyncio.sleep(BETWEEN_S)
        begin = perf_counter()
        await asyncio.to_thread(served.stop, sent)
        await asyncio.to_thread(served.start)
        away_s.append(perf_counter() - begin)
    await asyncio.sleep(BETWEEN_S)
    load.done = True
    await asyncio.gather(*tasks)
    return {
        "restarts": len(SIGNALS),
        "acknowledged": len(load.put),
        "lost": len(await _lost(served.address, load.put)),
        "answered": load.answered,
        "cut": load.cut,
        "away_s": round(max(away_s), 2),
    }


async def _lost(address: str, put: dict[str, str]) -> list[str]:
    """Those that are not there, or not as they were put."""
    connection = Connection(address)
    lost = []
    for item_id, text in put.items():
        status, body = await connection.ask("GET", f"/items/{item_id}")
        if status != OK or json.loads(body)["text"] != text:
            lost.append(item_id)
    connection.close()
    return lost
