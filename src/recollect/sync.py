"""The library for code that is not async: the same methods, run on one event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from .consult import Knowledge
from .errors import RecollectError
from .knowledge import RetrievalMetrics
from .library import Library
from .memory import Memory

P = ParamSpec("P")
R = TypeVar("R")


class Portal:
    """An event loop in a thread, and a way to run something on it and wait."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="recollect-portal", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        if self.closed:
            work.close()
            raise RecollectError("the library is closed: open it again")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    @property
    def closed(self) -> bool:
        return self._loop.is_closed()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _waiting(method: Callable[Concatenate[Library, P], Coroutine[Any, Any, R]]) -> Callable[Concatenate[SyncLibrary, P], R]:
    def call(self: SyncLibrary, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._portal.run(method(self.library, *args, **kwargs))

    return update_wrapper(call, method)


def _knowing(method: Callable[Concatenate[Knowledge, P], Coroutine[Any, Any, R]]) -> Callable[Concatenate[SyncKnowledge, P], R]:
    def call(self: SyncKnowledge, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._portal.run(method(self.knowledge, *args, **kwargs))

    return update_wrapper(call, method)


class SyncKnowledge:
    """A `Knowledge` whose methods wait for their result."""

    def __init__(self, knowledge: Knowledge, portal: Portal) -> None:
        self.knowledge = knowledge
        self._portal = portal

    agent_context = _knowing(Knowledge.agent_context)
    context = _knowing(Knowledge.context)
    find = _knowing(Knowledge.find)
    forget = _knowing(Knowledge.forget)
    graph = _knowing(Knowledge.graph)
    impact = _knowing(Knowledge.impact)
    similar = _knowing(Knowledge.similar)


def _recalling(method: Callable[Concatenate[Memory, P], Coroutine[Any, Any, R]]) -> Callable[Concatenate[SyncMemory, P], R]:
    def call(self: SyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._portal.run(method(self.memory, *args, **kwargs))

    return update_wrapper(call, method)


class SyncMemory:
    """A `Memory` whose methods wait for their result."""

    def __init__(self, memory: Memory, portal: Portal) -> None:
        self.memory = memory
        self._portal = portal

    count = _recalling(Memory.count)
    entities = _recalling(Memory.entities)
    feedback = _recalling(Memory.feedback)
    forget = _recalling(Memory.forget)
    forget_all = _recalling(Memory.forget_all)
    import_memories = _recalling(Memory.import_memories)
    know = _recalling(Memory.know)
    recall = _recalling(Memory.recall)
    remember = _recalling(Memory.remember)
    remember_all = _recalling(Memory.remember_all)
    timeline = _recalling(Memory.timeline)
    tune = _recalling(Memory.tune)
    untune = _recalling(Memory.untune)
    weights = _recalling(Memory.weights)


class SyncLibrary:
    """A `Library` whose methods wait for their result. Use it as a context, or call `close`."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._portal = Portal()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store and of the thread."""
        if not self._portal.closed:
            self._portal.run(self.library.close())
            self._portal.close()

    @property
    def portal(self) -> Portal:
        """Where the library lives: for callers who wait in a way of their own."""
        return self._portal

    @property
    def knowledge(self) -> SyncKnowledge:
        """The library as a knowledge service."""
        return SyncKnowledge(self.library.knowledge, self._portal)

    @property
    def memory(self) -> SyncMemory:
        """The library as the memory of a user."""
        with self._lock:  # It is made with the first use: once, whoever is first.
            return SyncMemory(self.library.memory, self._portal)

    def metrics(self) -> RetrievalMetrics:
        """How searches have gone since the library was opened."""
        return self.library.metrics()

    add = _waiting(Library.add)
    add_text = _waiting(Library.add_text)
    ask = _waiting(Library.ask)
    delete = _waiting(Library.delete)
    doctor = _waiting(Library.doctor)
    drop = _waiting(Library.drop)
    get = _waiting(Library.get)
    import_graph = _waiting(Library.import_graph)
    import_records = _waiting(Library.import_records)
    index = _waiting(Library.index)
    link = _waiting(Library.link)
    reembed = _waiting(Library.reembed)
    retrieve = _waiting(Library.retrieve)
    search = _waiting(Library.search)
    span = _waiting(Library.span)
    status = _waiting(Library.status)
    walk = _waiting(Library.walk)
