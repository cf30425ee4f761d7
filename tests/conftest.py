"""The stores that the contract is run against, and the command."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from recollect.ports import Store
from recollect.settings import VectorSettings
from recollect.stores.reference import ReferenceStore
from recollect.stores.sqlite.store import SqliteStore
from recollect.surfaces.cli import main

pytest.register_assert_rewrite("recollect.testing")

STORES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda folder: SqliteStore(folder),
    "sqlite-binary": lambda folder: SqliteStore(folder, vectors=VectorSettings(policy="binary")),
    "sqlite-hnsw": lambda folder: SqliteStore(folder, vectors=VectorSettings(policy="hnsw")),
}
VARIANTS = ("sqlite-binary", "sqlite-hnsw")
"""These differ in how vectors are searched and in nothing else, so only laws about that are asked of them."""

ASKED_OF_VARIANTS = ("recollect.testing.filtering", "recollect.testing.nearness", "recollect.testing.twin")

IN_MEMORY = Path("/dev/shm")
"""Where there is a file system in memory it is used: a synced write takes 50 ms there, 200 on a busy disk."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "open_store" in metafunc.fixturenames:
        variants = VARIANTS if metafunc.function.__module__ in ASKED_OF_VARIANTS else ()
        metafunc.parametrize("open_store", ["reference", "sqlite", *variants], indirect=True)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs the command in this process: its exit code, stdout and stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def open_store(request: pytest.FixtureRequest) -> Iterator[Callable[[], Awaitable[Store]]]:
    """Opens the same store, empty at first, with each call."""
    reference = ReferenceStore()
    with TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None, prefix="recollect-") as folder:

        async def open_store() -> Store:
            return reference if request.param == "reference" else STORES[request.param](Path(folder) / "store")

        yield open_store
