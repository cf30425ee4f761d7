"""What was imported about items stays as long as their content does, however often they are written anew."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from recollect import Library
from recollect.settings import EmbedSettings, Settings
from recollect.stores.reference import ReferenceStore

OPTIONS = Settings(embed=EmbedSettings(model="none"))
Work = Callable[[Library, Path], Awaitable[None]]


def lines(*records: Any) -> list[bytes]:
    return [json.dumps(record).encode() for record in records]


async def edges(library: Library) -> set[str]:
    return {f"{edge.source} {edge.type} {edge.target}" async for edge in library.store.edges("default") if edge.type != "DEFINES"}


async def say(library: Library, *ids: str) -> set[str]:
    """Import something about items; the edges that there are then."""
    await library.import_graph(lines(*({"item_id": each, "entities": ["Cid"], "triples": [["Ann", "knows", "Ben"]]} for each in ids)))
    return await edges(library)


def run(path: Path, work: Work) -> None:
    async def opened() -> None:
        async with Library.open(path / ".recollect", options=OPTIONS) as library:
            await work(library, path)
        await work(Library(ReferenceStore(), embedder=None), path / "other")

    (path / "other").mkdir()
    asyncio.run(opened())


def later(path: Path, text: str | None = None) -> None:
    """Write a file, or leave it as it is, at a later time than before."""
    at = path.stat().st_mtime_ns + 1_000_000_000 if path.exists() else None
    if text is not None:
        path.write_text(text)
    if at:
        os.utime(path, ns=(at, at))


def test_a_file_that_was_touched_keeps_it(tmp_path: Path) -> None:
    async def work(library: Library, path: Path) -> None:
        later(path / "a.md", "# A\n\nAnn.\n")
        later(path / "b.txt", "Ann.\n")
        await library.index([path / "a.md", path / "b.txt"], base=path)
        before = await say(library, "a.md", "b.txt")
        assert len(before) == 7
        later(path / "a.md")
        later(path / "b.txt")
        assert (await library.index([path / "a.md", path / "b.txt"], base=path)).changed == 2
        assert await edges(library) == before
        later(path / "a.md", "# A\n\nSomebody else.\n")
        later(path / "b.txt", "Somebody else.\n")
        await library.index([path / "a.md", path / "b.txt"], base=path)
        assert await edges(library) == set()

    run(tmp_path, work)


def test_a_file_keeps_it_when_only_its_front_matter_changes(tmp_path: Path) -> None:
    async def work(library: Library, path: Path) -> None:
        text = "---\nstatus: {}\nentities: [{}]\n---\n# A\n\nAnn.\n"
        later(path / "a.md", text.format("draft", "Dora, Ann"))
        await library.index(path / "a.md", base=path)
        before = await say(library, "a.md")
        assert "a.md MENTIONS entity:dora" in before
        later(path / "a.md", text.format("approved", "Eve"))
        await library.index(path / "a.md", base=path)
        assert await edges(library) == before - {"a.md MENTIONS entity:dora"} | {"a.md MENTIONS entity:eve"}
        later(path / "a.md", text.format("approved", "Eve").replace("Ann", "Nobody"))
        await library.index(path / "a.md", base=path)
        assert await edges(library) == {"a.md MENTIONS entity:eve"}

    run(tmp_path, work)


@pytest.mark.parametrize("more", [{}, {"implements": "r"}, {"entities": ["Dora"]}])
def test_a_record_of_another_status_keeps_it(tmp_path: Path, more: dict[str, Any]) -> None:
    async def work(library: Library, path: Path) -> None:
        await library.import_records(lines({"id": "r", "text": "Ann.", "status": "draft"}))
        before = await say(library, "r")
        assert len(before) == 4
        await library.import_records(lines({"id": "r", "text": "Ann.", "status": "approved", **more}))
        assert before <= await edges(library)
        await library.import_records(lines({"id": "r", "text": "Nobody.", "status": "approved"}))
        assert await edges(library) == set()

    run(tmp_path, work)


def test_a_file_with_an_id_keeps_it_when_it_is_renamed(tmp_path: Path) -> None:
    async def work(library: Library, path: Path) -> None:
        folder = path / "docs"
        folder.mkdir()
        later(folder / "a.md", "---\nid: X\n---\n# A\n\nAnn.\n")
        await library.index(folder, base=path)
        before = await say(library, "X")
        assert len(before) == 4
        (folder / "a.md").rename(folder / "b.md")
        await library.index(folder, base=path)
        assert await edges(library) == before

    run(tmp_path, work)


def test_what_was_taken_in_without_a_model_keeps_it_when_it_gets_vectors(tmp_path: Path) -> None:
    async def work() -> None:
        later(tmp_path / "a.md", "# A\n\nAnn.\n")
        later(tmp_path / "b.txt", "Ann.\n")
        async with Library.open(tmp_path / ".recollect", options=OPTIONS) as library:
            await library.index(tmp_path, base=tmp_path)
            before = await say(library, "a.md", "b.txt")
        async with Library.open(tmp_path / ".recollect") as library:
            await library.index(tmp_path, base=tmp_path)
            assert (await library.status()).chunks == 2
            assert await edges(library) == before

    asyncio.run(work())
