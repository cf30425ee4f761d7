"""What is taken in again is embedded only where it is new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from recollect import Library, SyncLibrary, ingest
from recollect.embed import open_embedder
from recollect.ingest import Progress
from recollect.model import Item, Vector
from recollect.ports import Embedder, TokenCounter
from recollect.settings import Settings

AT = datetime(2026, 3, 1, tzinfo=UTC)


def function(name: str, number: int) -> str:
    """A function of about fifty tokens: small enough for a chunk, too large to be one with its neighbours."""
    lines = [f"    total_{number}_{step} = first + second * {number * 100 + step}" for step in range(4)]
    return "\n".join(
        [
            f"def {name}(first, second):",
            f'    """Work out what number {number} stands for."""',
            *lines,
            f"    return total_{number}_0",
            "",
            "",
        ]
    )


class Listening:
    """The model, and the texts it was given."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.model_id, self.dim, self.max_tokens = inner.model_id, inner.dim, inner.max_tokens
        self.tokens: TokenCounter = inner.tokens
        self.heard: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vector:
        self.heard += texts
        return self._inner.embed(texts)

    def embed_query(self, text: str) -> Vector:
        return self._inner.embed_query(text)


@pytest.fixture(scope="module")
def model() -> Embedder:
    return open_embedder("granite", cache_dir=Settings().embed.cache_dir)


@pytest.fixture
def listening(model: Embedder) -> Listening:
    return Listening(model)


@pytest.fixture
def library(tmp_path: Path, listening: Listening) -> Iterator[SyncLibrary]:
    with Library.open(tmp_path / ".recollect", embedder=listening, options=Settings()).sync() as opened:
        yield opened


def test_a_changed_function_is_the_only_one_embedded(library: SyncLibrary, listening: Listening, tmp_path: Path) -> None:
    file = tmp_path / "thirty.py"
    before = "\n".join(function(f"number_{number}", number) for number in range(30))
    file.write_text(before)
    first = library.index(file)
    assert first.chunks_embedded >= 30
    listening.heard.clear()
    file.write_text(before.replace("return total_17_0", "return total_17_0 + 1"))
    again = library.index(file)
    assert (again.changed, again.chunks_embedded, again.chunks_reused) == (1, 1, first.chunks_embedded - 1)
    assert [text for text in listening.heard if "total_17_0 + 1" not in text] == []


def test_vectors_taken_over_are_those_of_their_texts(library: SyncLibrary, model: Embedder, tmp_path: Path) -> None:
    file = tmp_path / "few.py"
    file.write_text("\n".join(function(f"number_{number}", number) for number in range(4)))
    library.index(file)
    file.write_text("\n".join(function(f"number_{number}", number) for number in (3, 2, 9, 0)))
    report = library.index(file)
    assert report.chunks_reused == 3
    [passages] = library._portal.run(library.library.store.passages_of("default", ["few.py"])).values()
    cutter = library.library._parts.reader.cutter()
    texts = cutter.texts(library.get("few.py"), passages.chunks)
    vectors, words = cutter.made_of(texts)
    np.testing.assert_allclose(passages.vectors, vectors, atol=1e-3)
    assert list(passages.words) == words


def test_a_text_that_many_items_share_is_embedded_once(library: SyncLibrary, listening: Listening) -> None:
    shared = function("shared", 1)
    items = [
        Item(
            scope="default",
            id=f"item-{number}",
            text=shared + "\n" + function(f"own_{number}", number),
            format="code",
            metadata={"language": "python"},
            created_at=AT,
            updated_at=AT,
        )
        for number in range(2, 6)
    ]
    report = library.add(items)
    assert sum("def shared" in text for text in listening.heard) == 1
    assert (report.added, report.chunks_reused) == (4, 3)
    assert len(listening.heard) == len(set(listening.heard)) == report.chunks_embedded


def test_the_outlines_that_were_replaced_are_told(library: SyncLibrary, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def first(): ...\n")
    (tmp_path / "b.py").write_text("def same(): ...\n")
    library.index(tmp_path)
    [a, b] = library._portal.run(library.library.store.get("default", ["a.py", "b.py"]))
    assert b'"first"' in a.outline
    assert b'"same"' in b.outline
    replaced: dict[str, bytes] = {}
    items = [replace(a.item, text="def second(): ...\n"), b.item]
    work = ingest.ingest(library.library.store, "default", items, cutter=None, progress=Progress(), replaced=replaced)
    library._portal.run(work)
    assert replaced == {"a.py": a.outline, "b.py": b.outline}
    [now] = library._portal.run(library.library.store.get("default", ["a.py"]))
    assert b'"second"' in now.outline


def test_a_changed_section_is_the_only_one_embedded(library: SyncLibrary, tmp_path: Path) -> None:
    file = tmp_path / "long.md"
    sections = [f"## Part {number}\n\n" + f"What part {number} says is said here, at some length. " * 12 for number in range(8)]
    file.write_text("# Parts\n\n" + "\n\n".join(sections))
    first = library.index(file)
    file.write_text("# Parts\n\n" + "\n\n".join([*sections[:5], sections[5].replace("at some length", "in short", 1), *sections[6:]]))
    again = library.index(file)
    assert again.chunks_embedded <= first.chunks_embedded // 8 + 1
    assert again.chunks_embedded + again.chunks_reused == first.chunks_embedded + first.chunks_reused
