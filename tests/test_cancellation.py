"""Work ends where nobody waits for it, wherever it is, and leaves everything as usable as it was."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import Connection

from recollect import analysis, ingest
from recollect.analysis import query_terms, spans, terms, unspaced_runs, words
from recollect.cancellation import Cancellation, checkpoint, current, in_pool, in_thread, shielded, stoppable, under, within
from recollect.errors import Cancelled
from recollect.evidence import boundaries, formats
from recollect.evidence.boundaries import line_starts, paragraph_starts, sentence_cuts
from recollect.evidence.chunkers import ChunkerRegistry, ChunkSettings, Piece, Ruler, Splitter, chunk
from recollect.matching import holds
from recollect.model import Anchors, Batch, Chunk, Entry, Format, Hit, Item, Passages, Space
from recollect.stores.sqlite import store as sqlite_store
from recollect.stores.sqlite.collect import Allowed, Collector, Found
from recollect.stores.sqlite.database import Database
from recollect.stores.sqlite.derived import ScopeIndexes
from recollect.stores.sqlite.lock import WriterLock
from recollect.stores.sqlite.store import SqliteStore
from recollect.syntax.blocks import outline
from recollect.textquery import Phrase, Prefix, Term

NOW = datetime(2024, 1, 1, tzinfo=UTC)
SPACE = Space("model", 4, "chunker")
PATIENCE_S = 10
"""After so long a test gives up waiting for a thread that should have ended long ago."""


class StopsAt(Cancellation):
    """A flag that is raised when it is looked at for the n-th time."""

    def __init__(self, looks: int | None = None) -> None:
        super().__init__()
        self.at = looks
        self.looks = 0

    def check(self) -> None:
        self.looks += 1
        if self.looks == self.at:
            self.cancel()
        super().check()


def looks_of(work: Callable[[], object]) -> int:
    """How many checkpoints it passes."""
    flag = StopsAt()
    with under(flag):
        work()
    return flag.looks


# The flag.


def test_a_flag_stays_raised_and_ends_what_looks_at_it() -> None:
    flag = Cancellation()
    flag.check()
    flag.cancel()
    flag.cancel()
    assert flag.cancelled
    with pytest.raises(Cancelled):
        flag.check()
    with pytest.raises(Cancelled):
        flag.sleep(PATIENCE_S)


def test_who_listens_is_told_once_and_only_while_listening() -> None:
    flag, told = Cancellation(), []
    with flag.telling(lambda: told.append("too early")):
        pass
    with flag.telling(lambda: told.append("in time")):
        flag.cancel()
        flag.cancel()
    with flag.telling(lambda: told.append("late")):
        pass
    assert told == ["in time", "late"]


def test_without_a_task_nothing_is_ever_stopped() -> None:
    checkpoint()
    assert not current().cancelled


def test_what_others_need_too_goes_on() -> None:
    flag = Cancellation()
    flag.cancel()
    with under(flag):
        with shielded():
            checkpoint()
        with pytest.raises(Cancelled):
            checkpoint()


def test_what_may_only_be_brief_ends_when_its_time_is_up() -> None:
    with within(PATIENCE_S):
        checkpoint()
    with within(0), pytest.raises(Cancelled):
        checkpoint()
    checkpoint()


@given(st.lists(st.integers()), st.integers(1, 5))
def test_things_are_the_same_with_checkpoints_between_them(things: list[int], every: int) -> None:
    assert list(stoppable(things, every)) == things
    assert looks_of(lambda: list(stoppable(things, every))) >= len(things) / every


@pytest.mark.parametrize("every", [1, 10])
def test_few_things_come_after_the_flag(every: int) -> None:
    passed: list[int] = []

    def draw() -> None:
        for thing in stoppable(count(), every):
            passed.append(thing)
            if thing == 95:
                current().cancel()

    with under(Cancellation()), pytest.raises(Cancelled):
        draw()
    assert 95 < len(passed) <= 95 + every


# Threads.


class Endless:
    """Work with hardly an end, and what became of it."""

    def __init__(self) -> None:
        self.began, self.ended = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.began.set()
        try:
            for _ in range(1_000 * PATIENCE_S):
                current().sleep(0.001)
        except Cancelled:
            self.ended.set()
            raise


async def begun(work: Endless) -> None:
    assert await asyncio.to_thread(work.began.wait, PATIENCE_S)


def test_a_thread_ends_when_the_task_that_waits_for_it_is_cancelled() -> None:
    async def main() -> None:
        work, other = Endless(), Endless()
        task, unrelated = asyncio.create_task(in_thread(work)), asyncio.create_task(in_thread(other))
        await begun(work)
        await begun(other)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(work.ended.wait, PATIENCE_S)
        assert not other.ended.is_set()
        unrelated.cancel()

    asyncio.run(main())


def test_a_deadline_of_the_loop_ends_a_thread_too() -> None:
    async def main() -> None:
        work = Endless()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await in_thread(work)
        if work.began.is_set():
            assert await asyncio.to_thread(work.ended.wait, PATIENCE_S)

    asyncio.run(main())


def test_work_that_waits_for_a_thread_is_never_begun() -> None:
    async def main() -> None:
        work, later = Endless(), Endless()
        with ThreadPoolExecutor(1) as pool:
            first = asyncio.create_task(in_pool(pool, work))
            second = asyncio.create_task(in_pool(pool, later))
            await begun(work)
            for task in (second, first):
                task.cancel()
            await asyncio.gather(first, second, return_exceptions=True)
        assert work.ended.is_set()
        assert not later.began.is_set()

    asyncio.run(main())


def test_results_and_errors_come_back_from_a_thread() -> None:
    def divide(a: int, *, by: int) -> float:
        checkpoint()
        return a / by

    assert asyncio.run(in_thread(divide, 6, by=3)) == 2
    with pytest.raises(ZeroDivisionError):
        asyncio.run(in_thread(divide, 6, by=0))


# The store.


def item(item_id: str, text: str, format_: Format = "text") -> Item:
    return Item(scope="s", id=item_id, text=text, format=format_, created_at=NOW, updated_at=NOW)


def entry(at: int) -> Entry:
    vectors = np.array([[1, at, at % 7, at % 3]], np.float32)
    chunks = (Chunk(0, 0, 4, 1, Anchors(1, 1)),)
    return Entry(item(f"item{at}", f"word{at % 10} common text"), Passages(chunks, vectors / np.linalg.norm(vectors)))


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "store")
    asyncio.run(store.write("s", Batch([entry(at) for at in range(100)]), space=SPACE))
    yield store
    asyncio.run(store.close())


ALL_NUMBERS = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 30000000) SELECT count(*) FROM numbers"


def test_a_long_query_ends_and_its_connection_can_be_used_again(tmp_path: Path) -> None:
    Database.create(tmp_path)
    database = Database(tmp_path)
    outcome: list[BaseException] = []
    flag, began = Cancellation(), threading.Event()

    def read() -> None:
        try:
            with under(flag), database.read() as connection:
                began.set()
                connection.exec_driver_sql(ALL_NUMBERS).scalar()
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    assert began.wait(PATIENCE_S)
    flag.cancel()
    thread.join()
    assert [type(error) for error in outcome] == [Cancelled]
    assert "interrupted" in str(outcome[0].__cause__)
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM items").scalar() == 0
    database.close()


def test_rows_end_too_however_few_steps_they_take(filled: SqliteStore) -> None:
    database = Database(filled.folder)
    seen: list[object] = []

    def one_by_one() -> None:
        with database.read() as connection:
            for row in connection.exec_driver_sql("SELECT id FROM items"):
                seen.append(row)
                if len(seen) == 3:
                    current().cancel()

    def all_at_once() -> int:
        with database.read() as connection:
            return len(connection.exec_driver_sql("SELECT id FROM items").all())

    with under(Cancellation()), pytest.raises(Cancelled):
        one_by_one()
    assert len(seen) == 3
    with under(StopsAt(1)), pytest.raises(Cancelled):
        all_at_once()
    assert all_at_once() == 100
    database.close()


def test_a_filter_that_few_pass_is_not_asked_about_any_further(filled: SqliteStore) -> None:
    asked: list[int] = []

    def ask(n: int, allowed: Allowed) -> list[Found]:
        asked.append(n)
        current().cancel()
        return [Found(1, 1.0)] * n

    with under(Cancellation()), pytest.raises(Cancelled), Database(filled.folder).read() as connection:
        Collector(connection, "s", None).best(ask, 5)
    assert len(asked) == 1


def near(store: SqliteStore) -> tuple[Hit, ...]:
    return store.search_vectors_here("s", np.array([1, 1, 0, 0], np.float32), k=20)


def answers(store: SqliteStore) -> tuple[tuple[Hit, ...], tuple[Hit, ...]]:
    return near(store), asyncio.run(store.search_text("s", Term("word3 common"), k=20))


@pytest.mark.parametrize("damaged", [False, True])
def test_a_search_that_is_cut_short_anywhere_leaves_the_store_as_it_was(filled: SqliteStore, damaged: bool) -> None:
    before = answers(filled)
    assert all(before)
    for looks in count(1):
        if damaged:
            shutil.rmtree(filled.folder / "scopes")
        store = SqliteStore(filled.folder)
        flag = StopsAt(looks)
        with under(flag), suppress(Cancelled):
            near(store)
        assert answers(store) == before
        asyncio.run(store.close())
        if not flag.cancelled:
            break
    assert looks > 3


def test_a_search_whose_task_is_cancelled_leaves_the_store_as_it_was(filled: SqliteStore) -> None:
    before = answers(filled)

    async def main() -> None:
        for _ in range(20):
            task = asyncio.create_task(filled.search_text("s", Term("word3 common"), k=20))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert answers(filled) == before


def test_a_reader_ends_when_the_task_that_waits_for_it_is_cancelled(filled: SqliteStore) -> None:
    async def main() -> None:
        work = Endless()
        task = asyncio.create_task(filled._run(work))
        await begun(work)
        task.cancel()
        await filled.close()  # which waits for it
        assert work.ended.is_set()

    asyncio.run(main())


def test_an_index_is_mended_for_all_when_the_one_who_searches_goes(filled: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, flag, mend = next((filled.folder / "scopes").iterdir()), Cancellation(), ScopeIndexes.mend

    def cancelled_meanwhile(self: ScopeIndexes, connection: Connection, space: Space | None) -> None:
        flag.cancel()
        mend(self, connection, space)

    monkeypatch.setattr(ScopeIndexes, "mend", cancelled_meanwhile)
    shutil.rmtree(folder)
    store = SqliteStore(filled.folder)
    with under(flag), pytest.raises(Cancelled):
        near(store)
    asyncio.run(store.close())
    assert sorted(each.name.partition("-")[0] for each in folder.iterdir()) == ["text", "vectors"]


def test_a_write_that_nobody_waits_for_is_done(filled: SqliteStore) -> None:
    async def main() -> None:
        with WriterLock(filled.folder / "lock").held(PATIENCE_S):
            task = asyncio.create_task(filled.write("s", Batch([entry(200)]), space=SPACE))
            other = asyncio.create_task(filled.write("s", Batch([entry(201)]), space=SPACE))
            await asyncio.sleep(0.05)  # for the first to be begun, and not only waiting for its thread
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await other
        assert [stored.item.id for stored in await filled.get("s", ["item200", "item201"])] == ["item200", "item201"]

    asyncio.run(main())


def test_what_turns_out_to_be_much_is_read_on_a_thread(filled: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    async def read() -> list[str]:
        found = await filled.get("s", ["item3", "item1", "none"])
        return [stored.item.id for stored in found]

    here = asyncio.run(read())
    monkeypatch.setattr(sqlite_store, "BRIEF_S", 0)
    assert asyncio.run(read()) == here == ["item3", "item1"]


def test_taking_in_that_is_cancelled_leaves_whole_batches(filled: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "BATCH_ITEMS", 10)
    drawn = count()

    def items() -> Iterator[Item]:
        for at in drawn:
            yield item(f"new{at}", f"text number {at}")

    async def main() -> int:
        progress = ingest.Progress()

        def report(progress: ingest.Progress) -> None:
            if progress.items_done == 30:
                task.cancel()

        task = asyncio.create_task(ingest.ingest(filled, "s", items(), cutter=None, progress=progress, report=report))
        with pytest.raises(asyncio.CancelledError):
            await task
        return (await filled.status("s")).items - 100

    taken = asyncio.run(main())
    asyncio.run(filled.close())  # which waits for what is still being written
    assert taken in (10, 20, 30)
    assert next(drawn) <= 60
    again = SqliteStore(filled.folder)
    assert (asyncio.run(again.status("s")).items - 100) % 10 == 0
    asyncio.run(again.close())


# Cutting.


class Characters:
    """A token for each fourth character."""

    def starts(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.arange(0, len(text), 4)


LONG: dict[str, tuple[Format, str]] = {
    "paragraphs": ("text", "One sentence of some words. Another one!\n\n" * 8_000),
    "one line": ("text", "One sentence of some words. Another one! " * 8_000),
    "no stops": ("text", "one sentence of some words and another one " * 8_000),
    "letters": ("text", "a" * 300_000),
    "blank lines": ("text", "x" + "\n" * 300_000 + "x"),
    "no blanks": ("text", "这是一个很长的中文句子，没有空格。下一句在这里！" * 12_000),
    "sections": ("markdown", "# A\n\nSome text.\n\n## B\n\n- one\n- two\n\n" * 8_000),
    "list": ("markdown", "- an item of a list\n" * 15_000),
    "table": ("markdown", "| a | b |\n" * 30_000),
    "fence": ("markdown", "```\n" + "x = 1\n" * 50_000),
    "front matter": ("markdown", "---\n" + "key: value\n" * 30_000),
    "functions": ("code", "def one():\n    return 1\n\n\n" * 12_000),
    "lines": ("code", "a = 1\n" * 50_000),
    "CRLF": ("markdown", "Some text of a line.\r\n" * 15_000),
}


@pytest.mark.parametrize("shape", LONG)
def test_cutting_passes_checkpoints_all_the_way(shape: str) -> None:
    format_, text = LONG[shape]
    cut = item("a", text, format_)
    every = looks_of(lambda: chunk(cut, Characters(), ChunkSettings(200)))
    assert every > len(text) / boundaries.SLICE
    for looks in (1, every // 3, every // 2, every):
        flag = StopsAt(looks)
        with under(flag), pytest.raises(Cancelled):
            chunk(cut, Characters(), ChunkSettings(200))
        assert flag.looks == looks


def ruler(text: str) -> Ruler:
    return Ruler(Characters().starts(text), len(text), max_tokens=200, overlap_tokens=0)


SECTIONS = "# A\n.\n" * 10_000
LINES_OF_TEXT = "- some words\n\n" * 20_000
EVERY_LINE: dict[str, Callable[[str, Sequence[int]], object]] = {
    "lines": lambda text, lines: line_starts(text),
    "paragraphs": paragraph_starts,
    "outline": outline,
    "front matter": lambda text, lines: outline(f"---\n{text}", [0, *(4 + at for at in lines)]),
    "sentences": lambda text, lines: sentence_cuts(text, 0, len(text)),
    "windows": lambda text, lines: list(formats.tokens(text, lines, ruler(text))),
    "prose": lambda text, lines: list(formats.prose(text, lines, ruler(text))),
    "markdown": lambda text, lines: list(formats.markdown(text, lines, ruler(text))),
    "code": lambda text, lines: list(formats.code(text, lines, ruler(text))),
    "sections": lambda text, lines: list(formats.markdown(SECTIONS, line_starts(SECTIONS), ruler(SECTIONS))),
    "overlap": lambda text, lines: Splitter(text, Ruler(np.arange(0, len(text), 4), len(text), max_tokens=20, overlap_tokens=5)).split(
        0, len(text)
    ),
}
LEAST = {"lines": 5, "paragraphs": 40, "outline": 40, "front matter": 40, "sentences": 5, "windows": 350, "prose": 100, "markdown": 100}
LEAST |= {"code": 100, "overlap": 5_000, "sections": 32}
"""A pass over the 40,000 lines has a checkpoint for every thousand of them, one with a pattern for every slice, windows for each."""


@pytest.mark.parametrize("stage", EVERY_LINE)
def test_every_stage_of_cutting_passes_checkpoints(stage: str) -> None:
    lines = line_starts(LINES_OF_TEXT)
    assert looks_of(lambda: EVERY_LINE[stage](LINES_OF_TEXT, lines)) >= LEAST[stage]


def test_few_pieces_of_a_chunker_come_after_the_flag() -> None:
    given: list[Piece] = []

    def single(text: str, lines: object, ruler: Ruler) -> Iterator[Piece]:
        for at in range(len(text)):
            given.append(Piece(at, at + 1))
            if at == 10:
                current().cancel()
            yield given[-1]

    registry = ChunkerRegistry()
    registry.register("single", single)
    with under(Cancellation()), pytest.raises(Cancelled):
        registry.chunk(item("a", "x" * 1_000), Characters(), ChunkSettings(200, 0, "single"))
    assert len(given) == 11


LINES = st.lists(st.sampled_from(["a", "\r", "\n", "\r\n", " ", ".", "1"]), max_size=80).map("".join)


@given(LINES, st.integers(1, 5))
def test_lines_are_the_same_in_slices(text: str, size: int) -> None:
    whole = list(line_starts(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boundaries, "SLICE", size)
        assert list(line_starts(text)) == whole


SENTENCES = st.lists(
    st.sampled_from(
        ["One two.", " Three!", "\n\n", "\r\n", "\n- item", "\n12. step", " 3.5", " Dr. Who", " etc.", ' "Yes."', "句子。", "1,2", " "]
    ),
    max_size=60,
).map("".join)


@given(SENTENCES)
def test_sentences_are_the_same_in_slices(text: str) -> None:
    whole = sentence_cuts(text, 0, len(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boundaries, "SLICE", 70)
        assert sentence_cuts(text, 0, len(text)) == whole


BEFORE_A_SEAM = ["\n12. step", ".   Then", "...\r\n\r\n New", ") 3. So", "\n - item", "。）  句", '!" 7) No']


@pytest.mark.parametrize("text", BEFORE_A_SEAM)
def test_a_slice_ends_where_nothing_reaches_across(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundaries, "SLICE", 40)
    for before in range(30, 42):
        whole = "x" * before + text + " words" * 40
        cuts = sentence_cuts(whole, 0, len(whole))
        monkeypatch.setattr(boundaries, "SLICE", len(whole))
        assert cuts == sentence_cuts(whole, 0, len(whole))
        monkeypatch.setattr(boundaries, "SLICE", 40)


# Words.

TRICKY = (
    st.text(st.sampled_from("aAbB1 9.,-'’_é\u0301ß東京都ガｶﾞ한\u1112\u1161\u11abไทยำหिक्שָ½㈱\u200d\u00ad\ud800\n¶‐/🙂，。\u3000")) | st.text()
)


@given(TRICKY, st.integers(1, 8))
@example("x 1,000,000.50 y", 2)
@example("株式㈱会社", 1)
@example("e-mail, l'eau ‐‑ 2024-05-17", 1)
def test_a_text_has_the_same_words_in_slices(text: str, size: int) -> None:
    def found() -> tuple[object, ...]:
        return terms(text), words(text), query_terms(text), unspaced_runs(text), list(spans(text))

    whole = found()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analysis, "SLICE", size)
        assert found() == whole


@pytest.mark.parametrize(
    ("text", "least"), [("some words of a text " * 4_000, 3), ("这是一个很长的中文句子没有空格" * 4_000, 60), ("这是，没有。" * 15_000, 3)]
)
@pytest.mark.parametrize("work", [terms, query_terms, lambda text: list(spans(text))], ids=["terms", "query_terms", "spans"])
def test_words_pass_checkpoints_all_the_way(work: Callable[[str], object], text: str, least: int) -> None:
    every = looks_of(lambda: work(text))
    assert every >= least
    for looks in (1, every // 2, every):
        with under(StopsAt(looks)), pytest.raises(Cancelled):
            work(text)


@pytest.mark.parametrize("query", [Term("none"), Phrase("none there"), Prefix("none")])
def test_looking_for_words_passes_checkpoints(query: Term | Phrase | Prefix) -> None:
    parts = (["title"], ["word"] * 10_000, ["path"])
    assert looks_of(lambda: holds(query, parts)) > 10
    with under(StopsAt(8)), pytest.raises(Cancelled):
        holds(query, parts)


def test_who_waits_for_the_writers_lock_can_be_stopped(tmp_path: Path) -> None:
    lock, flag = WriterLock(tmp_path / "lock"), Cancellation()
    flag.cancel()
    with lock.held(0):
        for other in (lock, WriterLock(tmp_path / "lock")):  # of this process, and of another one
            with under(flag), pytest.raises(Cancelled), other.held(60):
                pass
    with lock.held(0):
        pass
