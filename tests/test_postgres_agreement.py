"""A store that was copied to Postgres answers as the one it was copied from."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recollect.contracts import RetrievalBundle
from recollect.copying import copy
from recollect.library import Library
from recollect.settings import Settings

if TYPE_CHECKING:
    from conftest import Postgres

WAYS = 3
"""In which each question is asked."""
DOCS = Path(__file__).parent.parent / "docs"
QUESTIONS = [
    "how do I filter by a field?",
    "what happens when the server is killed",
    "deadline cancellation",
    "BM25 ranking of words",
    "RECOLLECT_VECTORS_POLICY",
    "exit codes of the command",
    "JSON Lines import with a bad line",
    "的 数据库",
]
DEMANDING = ['"chunk cache" -embedding', "evidence OR sources -snippets", '"exit code"', "-postgres settings"]
"""What is demanded is looked for in whole items, which the embedded store ranks by all of their text and this one by their best part."""


@pytest.fixture(scope="module")
def answers(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[RetrievalBundle]]]:
    """What both stores say to each question, plainly, with a filter, and by words alone."""
    folder = tmp_path_factory.mktemp("copied") / "store"

    async def ask(library: Library) -> list[RetrievalBundle]:
        found = []
        for question in [*QUESTIONS, *DEMANDING]:
            found.append(await library.search(question))
            found.append(await library.search(question, where={"path": {"glob": "*s.md"}}, weights={"text": 1.0}))
            found.append(await library.search(question, profile="memory", k=3))
        return found

    async def both(url: str) -> dict[str, list[RetrievalBundle]]:
        async with Library.open(str(folder), options=Settings()) as embedded, Library.open(url, options=Settings()) as served:
            await embedded.index(DOCS, base=DOCS)
            report = await copy(embedded.store, served.store)
            assert report
            return {"embedded": await ask(embedded), "served": await ask(served)}

    with postgres.database() as url:
        yield asyncio.run(both(url))


def test_the_same_questions_find_the_same_items_in_the_same_order(answers: dict[str, list[RetrievalBundle]]) -> None:
    plain = WAYS * len(QUESTIONS)
    for embedded, served in zip(answers["embedded"][:plain], answers["served"][:plain], strict=True):
        assert [found.item_id for found in served.candidates] == [found.item_id for found in embedded.candidates]
        for one, other in zip(served.candidates, embedded.candidates, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4)
        assert [(each.item_id, each.text) for each in served.evidence] == [(each.item_id, each.text) for each in embedded.evidence]


def test_what_is_demanded_holds_for_the_same_items(answers: dict[str, list[RetrievalBundle]]) -> None:
    demanding = WAYS * len(QUESTIONS)
    for embedded, served in zip(answers["embedded"][demanding::WAYS], answers["served"][demanding::WAYS], strict=True):
        assert {found.item_id for found in served.candidates} == {found.item_id for found in embedded.candidates}
