"""The retriever for LangChain, by the real package: documents, chains, and whichever loop and thread it is asked on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from pydantic import ValidationError

from recollect import InvalidInput, Library, NotFound, RecollectError, SyncLibrary
from recollect.integrations.langchain import RecollectRetriever
from shelf import BACKUP, filled, opened, words_alone
from slow import Slow

QUESTION = "backups of the database"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("shelf") / "store")


@pytest.fixture
def library(folder: Path) -> Iterator[SyncLibrary]:
    with opened(folder).sync() as library:
        yield library


@pytest.fixture
def model() -> Slow:
    return Slow()


@pytest.fixture
def slow(tmp_path: Path, model: Slow) -> Iterator[SyncLibrary]:
    with Library.open(tmp_path / "store", embedder=model, options=words_alone()).sync() as library:
        library.add_text("Lunch is at noon.", item_id="lunch")
        yield library


@pytest.fixture
def by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a retriever opens itself follows the settings."""
    monkeypatch.setenv("RECOLLECT_EMBED_MODEL", "none")


def items(documents: list[Document]) -> list[str]:
    return [each.metadata["item_id"] for each in documents]


def portals() -> int:
    return sum(thread.name == "recollect-portal" for thread in threading.enumerate())


def test_documents_are_pieces_of_evidence_that_can_be_cited(library: SyncLibrary) -> None:
    found = RecollectRetriever(library=library, k=2).invoke("rotating key")
    first = found[0]
    assert len(found) <= 2
    assert first.page_content == BACKUP[first.metadata["start_idx"] : first.metadata["end_idx"]]
    assert "rotating key" in first.page_content
    assert first.id == first.metadata["id"]
    assert (first.metadata["source"], first.metadata["title"], first.metadata["team"]) == ("notes/backup.md", "Backup", "ops")
    assert first.metadata["line_end"] == 7
    assert first.metadata["heading_path"] == ["Backups"]
    assert first.metadata["why"]


def test_what_an_item_says_takes_no_key_of_ours(library: SyncLibrary) -> None:
    (found,) = RecollectRetriever(library=library, k=1).invoke("rotating key")
    assert isinstance(found.metadata["score"], float)


def test_documents_may_be_whole_items(library: SyncLibrary) -> None:
    found = RecollectRetriever(library=library, of="items", k=2).invoke("rotating key")
    assert found[0].page_content == BACKUP
    assert found[0].id == "backup"


def test_a_filter_and_a_number_hold_for_all_questions_or_for_one(library: SyncLibrary) -> None:
    retriever = RecollectRetriever(library=library, k=3, where={"team": "ops"})
    assert set(items(retriever.invoke("database"))) == {"backup", "restore"}
    assert items(retriever.invoke("database", where={"year": {"lt": 2023}})) == ["restore"]
    assert len(retriever.invoke("database", k=1)) == 1


def test_options_of_a_search_are_passed_on(library: SyncLibrary) -> None:
    retriever = RecollectRetriever(library=library, options={"mode": "phrase"})
    assert items(retriever.invoke("lunch at noon")) == ["lunch"]
    assert items(retriever.invoke("noon at lunch")) == []


def test_another_scope_is_asked_for_by_name(library: SyncLibrary) -> None:
    retriever = RecollectRetriever(library=library, scope="other")
    assert items(retriever.invoke("database")) == ["secret"]
    assert "secret" not in items(RecollectRetriever(library=library, k=9).invoke("database"))


def test_it_works_in_a_chain_and_as_a_tool(library: SyncLibrary) -> None:
    retriever = RecollectRetriever(library=library, k=1)

    def written(documents: list[Document]) -> str:
        return "\n".join(f"{each.page_content.strip()} [{each.metadata['source']}]" for each in documents)

    chain = {"context": retriever | RunnableLambda(written), "question": RunnablePassthrough()} | RunnableLambda(lambda both: both)
    assert chain.invoke("lunch")["context"] == "The database team has lunch at noon. [notes/lunch.md]"
    assert asyncio.run(chain.ainvoke("lunch")) == chain.invoke("lunch")
    tool = create_retriever_tool(retriever, "notes", "Searches the notes.")
    assert "lunch at noon" in tool.invoke({"query": "lunch"})


def test_many_questions_at_once_come_back_in_order(library: SyncLibrary) -> None:
    retriever = RecollectRetriever(library=library, k=1)
    questions = ["lunch", "restoring", "rotating key"] * 5
    assert [items(each) for each in retriever.batch(questions)] == [["lunch"], ["restore"], ["backup"]] * 5
    assert asyncio.run(retriever.abatch(questions)) == retriever.batch(questions)


def test_a_chain_that_is_configured_anew_does_not_open_the_store_anew(folder: Path, by_words: None) -> None:
    with RecollectRetriever(library=folder, k=1) as retriever:
        retriever.invoke("database")
        before = portals()
        configured = retriever.configurable_fields(k=ConfigurableField(id="k"), scope=ConfigurableField(id="scope"))
        assert len(configured.with_config(configurable={"k": 3}).invoke("database")) == 3
        assert items(configured.with_config(configurable={"scope": "other"}).invoke("database")) == ["secret"]
        assert portals() == before
    assert portals() == before - 1


def test_a_store_is_opened_by_its_folder_or_its_url_and_closed_again(folder: Path, by_words: None) -> None:
    before = portals()
    for given in (folder, str(folder), f"sqlite:///{folder}"):
        with RecollectRetriever(library=given) as retriever:
            assert portals() == before
            assert items(retriever.invoke("lunch"))[0] == "lunch"
            assert items(asyncio.run(retriever.ainvoke("lunch")))[0] == "lunch"
        assert portals() == before
    assert items(retriever.invoke("lunch"))[0] == "lunch"
    retriever.close()


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, by_words: None) -> None:
    retriever = RecollectRetriever(library=tmp_path / "nowhere")
    with pytest.raises(NotFound, match="nowhere"):
        retriever.invoke("lunch")
    assert not (tmp_path / "nowhere").exists()


def test_a_library_is_asked_on_its_own_loop_and_from_other_threads(folder: Path) -> None:
    async def ask() -> None:
        async with opened(folder) as library:
            retriever = RecollectRetriever(library=library, k=1)
            assert items(await retriever.ainvoke("lunch")) == ["lunch"]
            # As frameworks do that call plain code from their loop.
            assert items(await asyncio.to_thread(retriever.invoke, "lunch")) == ["lunch"]
            # Another loop, in another thread.
            assert items(await asyncio.to_thread(asyncio.run, retriever.ainvoke("lunch"))) == ["lunch"]
            with pytest.raises(RecollectError, match="would block the event loop"):
                retriever.invoke("lunch")
            retriever.close()
            assert (await library.search("lunch")).candidates

    asyncio.run(ask())


def test_a_library_that_was_given_where_no_loop_runs_is_asked_on_any(folder: Path) -> None:
    library = opened(folder)
    retriever = RecollectRetriever(library=library, k=1)
    assert items(retriever.invoke("lunch")) == ["lunch"]
    for _ in range(2):
        assert items(asyncio.run(retriever.ainvoke("lunch"))) == ["lunch"]

    async def plainly() -> list[Document]:
        return retriever.invoke("lunch")

    assert items(asyncio.run(plainly())) == ["lunch"]
    retriever.close()
    asyncio.run(library.close())


def test_a_library_whose_loop_has_ended_says_so(folder: Path) -> None:
    async def given() -> RecollectRetriever:
        async with opened(folder) as library:
            return RecollectRetriever(library=library)

    retriever = asyncio.run(given())
    with pytest.raises(RecollectError, match="closed: open it again"):
        retriever.invoke("lunch")


def test_the_loop_that_waits_is_not_blocked(slow: SyncLibrary, model: Slow) -> None:
    """The question is answered once another task of the loop goes on, which it does not where the loop is blocked."""
    model.shut()

    async def ask() -> list[str]:
        asking = asyncio.ensure_future(RecollectRetriever(library=slow).ainvoke("lunch"))
        while not model.asked.is_set():
            await asyncio.sleep(0.001)
        assert not model.gave_up
        model.gate.set()
        return items(await asking)

    assert asyncio.run(ask()) == ["lunch"]


def test_a_question_that_nobody_waits_for_is_stopped_on_the_other_loop(slow: SyncLibrary, model: Slow) -> None:
    model.shut()

    async def ask() -> None:
        asking = asyncio.ensure_future(RecollectRetriever(library=slow).ainvoke("lunch"))
        await asyncio.to_thread(model.asked.wait)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(ask())
    assert model.stopped.wait(20)


def test_what_is_wrong_is_told_at_once(library: SyncLibrary) -> None:
    with pytest.raises(ValidationError, match="give an open one, or the URL or the folder"):
        RecollectRetriever(library=3)  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="a search has no option 'modus'"):
        RecollectRetriever(library=library, options={"modus": "web"})
    with pytest.raises(ValidationError, match="Extra inputs"):
        RecollectRetriever(library=library, top_k=3)  # type: ignore[call-arg]
    with pytest.raises(InvalidInput, match="k "):
        RecollectRetriever(library=library, k=-1).invoke("lunch")
    with pytest.raises(InvalidInput, match="nowhere"):
        RecollectRetriever(library=library, where={"nowhere": 1}).invoke("lunch")


def test_a_password_is_not_shown() -> None:
    assert "hidden" not in repr(RecollectRetriever(library="postgresql://me:hidden@db/notes"))


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [("langchain", "langchain_core", "langchain"), ("llama_index", "llama_index", "llamaindex"), ("haystack", "haystack", "haystack")],
)
def test_a_framework_that_is_not_installed_is_named(module: str, package: str, extra: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; import recollect.integrations.{module}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"pip install 'recollect[{extra}]'" in ran.stderr.splitlines()[-1]
