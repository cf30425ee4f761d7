"""The stores that the contract is run against, and the command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from recollect.ports import Store
from recollect.settings import CacheSettings, VectorSettings
from recollect.stores.reference import ReferenceStore
from recollect.stores.sqlite.store import SqliteStore
from recollect.surfaces.cli import main

if TYPE_CHECKING:
    from recollect.testing.cases import OpenStore

pytest.register_assert_rewrite("recollect.testing")

STORES: dict[str, Callable[[Path, CacheSettings], Store]] = {
    "sqlite": lambda folder, cache: SqliteStore(folder, cache=cache),
    "sqlite-binary": lambda folder, cache: SqliteStore(folder, cache=cache, vectors=VectorSettings(policy="binary")),
    "sqlite-hnsw": lambda folder, cache: SqliteStore(folder, cache=cache, vectors=VectorSettings(policy="hnsw")),
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
def open_store(request: pytest.FixtureRequest) -> Iterator[OpenStore]:
    """Opens the same store, empty at first, with each call."""
    reference = ReferenceStore()
    with TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None, prefix="recollect-", ignore_cleanup_errors=True) as folder:

        async def open_store(*, cache_bytes: int = 1_000_000) -> Store:
            if request.param == "reference":
                reference.cache_bytes = cache_bytes
                return reference
            return STORES[request.param](Path(folder) / "store", CacheSettings(max_bytes=cache_bytes))

        yield open_store
