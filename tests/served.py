"""A service on a loopback port in a thread of its own, over a real store, for tests that speak HTTP to it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import uvicorn

from recollect.cancellation import current
from recollect.embed import open_embedder
from recollect.errors import Cancelled
from recollect.library import Library
from recollect.model import Vector
from recollect.ports import Embedder, Llm, Store, TokenCounter
from recollect.serve_settings import KeySettings, ServeSettings
from recollect.settings import Settings
from recollect.surfaces.http.app import application
from recollect.surfaces.http.connections import Connection
from recollect.surfaces.http.running import bind
from recollect.surfaces.keys import hash_of

PATIENCE_S = 20
NOTES = {
    "docs/backups.md": "# Backups\n\nEvery night the database is copied.\n\n## Keys\n\nBackups are encrypted with a rotating key.\n",
    "docs/travel.md": "# Travel\n\nBook trains early. The office pays for second class within the country.\n",
    "src/retry.py": "def retry(call, attempts):\n    for _ in range(attempts):\n        call()\n",
}


def model() -> Embedder:
    """The bundled model."""
    return open_embedder("granite", cache_dir=Settings().embed.cache_dir)


def key(name: str, *scopes: str, may: str = "read", **more: float) -> tuple[str, KeySettings]:
    """A key and what the settings have of it."""
    secret = f"rk_{name}"
    return secret, KeySettings.model_validate({"name": name, "hash": hash_of(secret), "scopes": scopes, "may": may, **more})


@dataclass
class Held:
    """An embedder that holds a question, if it says so, until it is let go or nobody waits for it."""

    inner: Embedder
    asked: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def model_id(self) -> str:
        return self.inner.model_id

    @property
    def dim(self) -> int:
        return self.inner.dim

    @property
    def max_tokens(self) -> int:
        return self.inner.max_tokens

    @property
    def tokens(self) -> TokenCounter:
        return self.inner.tokens

    def embed(self, texts: Sequence[str]) -> Vector:
        return self.inner.embed(texts)

    def embed_query(self, text: str) -> Vector:
        if "hold" in text:
            self.asked.set()
            try:
                while not self.released.wait(0.005):
                    current().check()
            except Cancelled:
                self.stopped.set()
                raise
        return self.inner.embed_query(text)


@dataclass
class Served:
    """A service that runs, its library, and the loop that both are on."""

    url: str
    library: Library
    loop: asyncio.AbstractEventLoop

    def client(self, key: str | None = None, **options: object) -> httpx.Client:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE_S, **options)  # type: ignore[arg-type]


@contextmanager
def served(
    store: Path | str | Store,
    *,
    embedder: Embedder | None,
    options: ServeSettings | None = None,
    llm: Llm | None = None,
    **settings: object,
) -> Iterator[Served]:
    """A service over the store in a folder or at a URL, or over a store. `settings` beside those of the service."""
    options = (options or ServeSettings()).model_copy(update={"port": 0})
    configured = Settings.model_validate({"serve": options, "embed": {"model": "none"}, **settings})
    running: list[Served] = []
    ready, ended = threading.Event(), threading.Event()
    listening = bind(options)

    async def run() -> None:
        if isinstance(store, Path | str):
            library = Library.open(store, embedder=embedder, llm=llm, options=configured)
        else:
            library = Library(store, embedder=embedder, llm=llm, options=configured)
        async with library:
            server = uvicorn.Server(uvicorn.Config(application(library, options), http=Connection, log_config=None, lifespan="on"))
            running.append(Served(f"http://127.0.0.1:{listening.getsockname()[1]}", library, asyncio.get_running_loop()))
            task = asyncio.ensure_future(server.serve([listening]))
            while not server.started and not task.done():
                await asyncio.sleep(0.01)
            ready.set()
            await asyncio.get_running_loop().run_in_executor(None, ended.wait)
            server.should_exit = True
            await task

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert ready.wait(PATIENCE_S), "the service did not start"
        yield running[0]
    finally:
        ended.set()
        thread.join()
        listening.close()


def put_notes(client: httpx.Client) -> None:
    """Fill the store with a few documents."""
    for path, text in NOTES.items():
        is_code = path.endswith(".py")
        own = {"format": "code", "kind": "code", "language": "python"} if is_code else {"format": "markdown"}
        answer = client.put(f"/items/{path}", json={"text": text, "source_ref": path, **own})
        assert answer.status_code == 200, answer.text


def used(service: Served) -> None:
    """Everything once, over whichever store."""
    with service.client() as client:
        put_notes(client)
        found = client.post("/retrieval/search", json={"query": "how are backups encrypted?", "limit": 1}).json()
        assert [each["node_id"] for each in found] == ["docs/backups.md"]
        assert "rotating key" in client.post("/retrieval/context", json={"query": "how are backups encrypted?"}).json()["text"]
        assert client.post("/retrieval/graph", json={"start_node": "docs/backups.md"}).json()["nodes"]
        kept = client.post("/memories", params={"scope": "ann"}, json={"text": "Acme asked why invoice 789 came late."}).json()
        recalled = client.post("/memories/recall", params={"scope": "ann"}, json={"query": "what did Acme ask?"}).json()
        assert [each["id"] for each in recalled["memories"]] == [kept["id"]]
        assert client.get("/memories").json()["memories"] == []
        assert client.get("/status").json()["scopes"] == ["ann", "default"]
        assert client.delete("/items/docs/backups.md").status_code == 200
        left = client.post("/retrieval/search", json={"query": "how are backups encrypted?"}).json()
        assert "docs/backups.md" not in [each["node_id"] for each in left]
