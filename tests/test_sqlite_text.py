"""The embedded word index finds what it was given, forgets what it was told to, and says when it is damaged."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.errors import StoreBusy
from recollect.stores.sqlite import text as text_index
from recollect.stores.sqlite.text import MANIFEST, MAX_OVERFETCH, Damaged, TextDoc, TextIndex, TextSettings, _opened
from recollect.textquery import Boolean, Node, Phrase, Prefix, Term
from recollect.understand.text import parse

SMALL = TextSettings(heap_bytes=15_000_000)


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory where there is one: every commit waits for the disk some twenty times."""
    # Tantivy's own thread may still be tidying up in the folder when it is removed.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with TemporaryDirectory(prefix="recollect-", dir=place, ignore_cleanup_errors=True) as folder:
        yield Path(folder) / "text"


def opened(folder: Path) -> TextIndex:
    return TextIndex.open(folder, settings=SMALL)


def doc(seq: int, text: str, title: str | None = None, path: str | None = None) -> TextDoc:
    return TextDoc(seq, title, path, text)


def found(index: TextIndex, query: Node | str, k: int = 10, allowed: list[int] | None = None) -> list[int]:
    return [seq for seq, _ in index.search(parse(query, "web") if isinstance(query, str) else query, k=k, allowed=allowed)]


def test_an_empty_folder_is_an_empty_index_and_stays_untouched(memory: Path) -> None:
    index = opened(memory)
    assert (index.applied, len(index), bytes_in(memory), index.deleted, index.verify()) == (0, 0, 0, 0, [])
    assert found(index, "cat") == []
    assert not index.refresh()
    assert not memory.exists()


def test_what_is_applied_is_found_and_lasts(memory: Path) -> None:
    opened(memory).apply([doc(1, "a cat"), doc(2, "a dog"), doc(2**62, "a cow")], [], 7)
    index = opened(memory)
    assert (index.applied, len(index)) == (7, 3)
    assert found(index, "cats") == [1]
    assert found(index, "cow") == [2**62]
    assert len(index.search(Term("cat dog"), k=100)) == 2
    assert bytes_in(memory) > 0


def test_applying_twice_is_applying_once(memory: Path) -> None:
    index = opened(memory)
    for _ in range(3):
        index.apply([doc(1, "a cat"), doc(2, "a dog"), doc(1, "a cow")], [3], 1)
    assert len(index) == 2
    assert len(index.search(Term("cow cat dog"), k=100)) == 2
    assert found(index, "cat") == []
    assert found(index, "cow") == [1]


def test_the_dead_are_gone(memory: Path) -> None:
    index = opened(memory)
    index.apply([doc(seq, f"cat number {seq}") for seq in range(10)], [], 1)
    index.apply([], [0, 3, 99], 2)
    assert sorted(found(index, "cat", 20)) == [1, 2, 4, 5, 6, 7, 8, 9]
    assert (len(index), index.deleted) == (8, 2)
    index.apply([], list(range(10)), 3)
    assert (len(index), found(index, "cat")) == (0, [])
    assert len(opened(memory)) == 0


def test_title_and_path_are_searched_and_the_title_counts_more(memory: Path) -> None:
    index = opened(memory)
    index.apply(
        [doc(1, "a word about zebras and more"), doc(2, "a word about more", title="Zebras"), doc(3, "word", path="src/zebra_store.py")],
        [],
        1,
    )
    assert found(index, "zebra")[0] == 2
    assert set(found(index, "zebra")) == {1, 2, 3}


def test_phrases_do_not_cross_from_title_to_text(memory: Path) -> None:
    index = opened(memory)
    index.apply(
        [doc(1, "house of cards", title="white", path="over.py"), doc(2, "the white house"), doc(3, "x", title="house white")], [], 1
    )
    assert found(index, Phrase("white house")) == [2]
    assert found(index, Phrase("cards over")) == []
    assert found(index, Phrase("house of cards")) == [1]
    assert found(index, Phrase("¶")) == []


@pytest.mark.parametrize(
    ("mode", "text", "expected"),
    [
        ("web", "cat dog", {1, 2, 3}),
        ("web", "cat -dog", {1}),
        ("web", '"cat dog"', {3}),
        ("web", "-cat", set()),
        ("web", "cat OR cow", {1, 3, 4}),
        ("web", "", set()),
        ("plain", "dog cat", {3}),
        ("phrase", "the cat dog", {3}),
        ("strict", "do:*", {2, 3}),
        ("strict", "(cat | dog) & !(cat & dog)", {1, 2}),
        ("strict", "!cat", set()),
        ("strict", "東:*", {5}),
        ("strict", "3.1:*", {9}),
        ("plain", "getUserName", {6, 7}),
        ("plain", "user name", {6, 7}),
        ("web", "東京都", {5}),
        ("plain", "京都大学", set()),
        ("web", "cafe\u0301", {8}),
    ],
)
def test_modes(memory: Path, mode: str, text: str, expected: set[int]) -> None:
    texts = ["a cat", "a dog", "the cat dog", "a cow", "東京都の大学", "call getUserName()", "def get_user_name():", "Café", "3.14", "351"]
    index = opened(memory)
    index.apply([doc(seq, text) for seq, text in enumerate(texts, 1)], [], 1)
    assert set(found(index, parse(text, mode))) == expected
    assert len(index.search(parse(text, mode), k=100)) == len(expected)


def test_the_exact_word_without_spaces_comes_first(memory: Path) -> None:
    index = opened(memory)
    index.apply([doc(1, "京都と東京"), doc(2, "東京都の話")], [], 1)
    assert found(index, "東京都")[0] == 2


def test_leaves_without_terms(memory: Path) -> None:
    index = opened(memory)
    index.apply([doc(1, "cat")], [], 1)
    assert found(index, Boolean(must=(Term("cat"), Term("???")))) == []
    assert found(index, Boolean(should=(Term("cat"), Phrase("???"), Prefix("?")), must_not=(Term("!"), Phrase("")))) == [1]
    assert found(index, Boolean(must=(Term("cat"),), should=(Term("dog"),))) == [1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.text() | st.text(st.sampled_from("cat +-*?^~:\\/\"'()[]{}AND OR NOT&|!<>")), st.sampled_from(["web", "plain", "phrase"]))
def test_no_text_is_query_syntax(memory: Path, text: str, mode: str) -> None:
    index = opened(memory)
    if not len(index):
        index.apply([doc(1, "cat"), doc(2, "dog")], [], 1)
    index.search(parse(text, mode), k=5)
    index.search(Prefix(text), k=5)


def test_ties_come_whole_and_by_number_however_the_index_was_filled(memory: Path) -> None:
    numbers = list(range(300))
    random.Random(5).shuffle(numbers)
    index = opened(memory)
    for part in (numbers[:120], numbers[120:130], numbers[130:]):
        index.apply([doc(seq, "same cat" if seq != 77 else "cat cat cat") for seq in part], [], 1)
    hits = index.search(Term("cat"), k=5)
    assert [seq for seq, _ in hits] == [77, *(seq for seq in range(300) if seq != 77)]
    assert len({score for _, score in hits}) == 2
    assert [seq for seq, _ in index.search(Term("cat"), k=1)] == [77]


@pytest.mark.parametrize("size", [1, 30, 400, 1999])
def test_a_filter_gives_what_filtering_everything_gives(memory: Path, size: int) -> None:
    chance = random.Random(size)
    words = ["cat", "dog", "cow", *(f"filler{number}" for number in range(30))]
    index = opened(memory)
    index.apply([doc(seq, " ".join(chance.choices(words, k=chance.randint(3, 40)))) for seq in range(2_000)], [], 1)
    query = parse("cat dog cow", "web")
    everything = index.search(query, k=5_000)
    for allowed in (chance.sample(range(2_000), size), sorted(seq for seq, _ in everything[-size:])):
        chosen = set(allowed)
        expected = [seq for seq, _ in everything if seq in chosen]
        assert found(index, query, 5_000, allowed) == expected
        assert dict(index.search(query, k=10, allowed=allowed)).items() <= dict(everything).items()
        assert found(index, query, 10, allowed)[:10] == expected[:10]
        assert len(index.search(query, k=10_000, allowed=allowed)) == len(expected)
    assert found(index, query, 10, []) == []
    assert 10 * 2_000 // 1 > MAX_OVERFETCH > 10 * 2_000 // 400  # both ways of filtering are met


def test_an_item_of_many_windows_is_one_item(memory: Path) -> None:
    index = opened(memory)
    index.apply([doc(1, "cat " * 950), doc(2, "cat"), doc(3, "")], [], 1)
    assert (len(index), index.documents, index.deleted) == (3, 12, 0)
    assert found(index, "cat", 2) == found(index, "cat", 100) == [1, 2]
    index.apply([doc(1, "dog " * 250)], [], 2)
    assert (len(index), index.documents, len(opened(memory))) == (3, 5, 3)
    assert (found(index, "cat"), found(index, "dog")) == ([2], [1])
    index.apply([], [1, 2], 3)
    assert (len(index), index.documents, found(index, "cat dog")) == (1, 1, [])


def test_more_windows_than_are_usually_looked_through_hide_no_item(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_index, "MAX_FETCH", 20)
    index = opened(memory)
    index.apply([doc(1, "cat " * 40_000), *(doc(seq, "a cat among others") for seq in range(2, 9))], [], 1)
    assert found(index, "cat", 8) == list(range(1, 9))


def test_equal_long_items_tie_however_the_index_was_filled(memory: Path) -> None:
    index = opened(memory)
    for part in ([5, 2, 9], [7], [1, 8, 0, 3, 6, 4]):
        index.apply([doc(seq, "cat dog " * 1_000) for seq in part], [], 1)
    for k in (1, 5, 10):
        hits = index.search(Term("cat"), k=k)
        assert [seq for seq, _ in hits] == list(range(10))
        assert len({score for _, score in hits}) == 1


@pytest.mark.parametrize("size", [1, 8, 60, 149])
def test_a_filter_on_long_items_gives_what_filtering_everything_gives(memory: Path, size: int) -> None:
    chance = random.Random(size)
    words = ["cat", "dog", *(f"filler{number}" for number in range(30))]
    index = opened(memory)
    index.apply([doc(seq, " ".join(chance.choices(words, k=chance.choice([5, 300, 2_000])))) for seq in range(150)], [], 1)
    everything = index.search(Term("cat dog"), k=150)
    allowed = chance.sample(range(150), size)
    expected = [hit for hit in everything if hit[0] in set(allowed)]
    for k in (1, 10, 150):
        assert index.search(Term("cat dog"), k=k, allowed=allowed)[:k] == expected[:k]


def test_a_run_without_spaces_counts_where_it_stands_whole_in_a_long_item(memory: Path) -> None:
    filler = " ".join(f"filler{number}" for number in range(300))
    index = opened(memory)
    index.apply([doc(1, f"京都と東京 {filler}"), doc(2, f"{filler} 東京都の話")], [], 1)
    assert found(index, "東京都") == [2, 1]


@pytest.mark.parametrize("k", [0, -1])
def test_nothing_asked_nothing_found(memory: Path, k: int) -> None:
    index = opened(memory)
    index.apply([doc(1, "cat")], [], 1)
    assert found(index, "cat", k) == []


def test_more_asked_than_there_is(memory: Path) -> None:
    index = opened(memory)
    index.apply([doc(1, "cat")], [], 1)
    assert found(index, "cat", 10**12) == [1]


def test_a_reader_takes_up_what_another_applied(memory: Path) -> None:
    writer, reader = opened(memory), opened(memory)
    writer.apply([doc(1, "cat")], [], 1)
    assert found(reader, "cat") == []
    assert reader.refresh()
    assert not reader.refresh()
    assert (found(reader, "cat"), reader.applied) == ([1], 1)
    writer.apply([doc(2, "cat")], [1], 2)
    assert found(reader, "cat") == [1]
    assert reader.refresh()
    assert found(reader, "cat") == [2]
    reader.apply([doc(3, "cat")], [], 3)
    writer.apply([doc(4, "cat")], [], 4)
    assert sorted(found(writer, "cat")) == [2, 3, 4]


def test_a_writer_knows_what_another_began(memory: Path) -> None:
    first, second = opened(memory), opened(memory)
    first.apply([doc(1, "cat")], [], 1)
    second.apply([doc(2, "cat")], [], 2)
    assert found(second, "cat") == [1, 2]


def test_readers_never_fail_while_a_writer_works(memory: Path) -> None:
    writer = opened(memory)
    writer.apply([doc(0, "cat")], [], 1)
    failures: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        reader = opened(memory)
        while not done.is_set():
            try:
                reader.refresh()
                assert len(found(reader, "cat", 1_000)) == len(reader)
            except (Damaged, OSError, AssertionError) as error:
                failures.append(error)
                return

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(1, 25):
        writer.apply([doc(number, "cat"), doc(number // 2, "cat again")], [number // 3] if number % 5 == 0 else [], number)
    done.set()
    for thread in threads:
        thread.join()
    assert not failures


def test_segments_do_not_pile_up(memory: Path) -> None:
    index = opened(memory)
    for number in range(40):
        index.apply([doc(number, f"cat {number}")], [], number)
    assert _opened(memory).searcher().num_segments <= 16
    assert len(list(memory.iterdir())) < 16 * 7 + 5


def test_a_long_document(memory: Path) -> None:
    index = opened(memory)
    index.apply([doc(1, "hello world " * 100_000 + "needle" + "x" * 1_000_000)], [], 1)
    assert found(index, Phrase("world hello")) == [1]


def test_a_failing_source_changes_nothing(memory: Path) -> None:
    def source() -> Iterator[TextDoc]:
        yield doc(2, "dog")
        raise LookupError("the row is gone")

    index = opened(memory)
    index.apply([doc(1, "cat")], [], 1)
    with pytest.raises(LookupError) as kept:
        index.apply(source(), [1], 2)
    assert kept.traceback  # while its frames are alive too, the next writer gets its turn
    assert (found(index, "cat dog"), index.applied) == ([1], 1)
    index.apply([doc(3, "dog")], [], 3)
    assert found(opened(memory), "dog") == [3]


@pytest.mark.parametrize("count", [50, 5_000])
def test_a_full_disk_is_an_os_error_and_leaves_the_index_as_it_was(memory: Path, count: int) -> None:
    chance = random.Random(1)
    docs = [doc(10 + seq, " ".join(str(chance.random()) for _ in range(60))) for seq in range(count)]
    index = opened(memory)
    index.apply([doc(1, "cat")], [], 1)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)) as failure:
            index.apply(docs, [1], 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert failure.value.errno == errno.EFBIG
    assert (found(index, "cat"), index.applied, len(opened(memory))) == ([1], 1, 1)
    index.apply(docs[:50], [1], 2)
    assert len(opened(memory)) == 50


def test_a_second_writer_is_told_to_wait(memory: Path) -> None:
    index = opened(memory)
    index.apply([doc(1, "cat")], [], 1)
    holder = _opened(memory).writer(15_000_000, 1)
    with pytest.raises(StoreBusy):
        index.apply([doc(2, "dog")], [], 2)
    del holder
    index.apply([doc(2, "dog")], [], 2)
    assert len(index) == 2


WRITER = """
import sys
from pathlib import Path
from recollect.stores.sqlite.text import TextDoc, TextIndex, TextSettings
index = TextIndex.open(Path(sys.argv[1]), settings=TextSettings(heap_bytes=15_000_000))
while True:
    number = index.applied + 1
    index.apply([TextDoc(number, None, None, f"cat {number}"), TextDoc(0, None, None, f"cat {number}")], [number - 5], number)
    print(number, flush=True)
"""


def test_killed_at_any_moment_it_opens_again_and_goes_on(memory: Path) -> None:
    opened(memory).apply([doc(0, "cat")], [], 100)
    for delay in (0.0, 0.005, 0.01):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(memory)], stdout=subprocess.PIPE)
        assert process.stdout
        told = int(process.stdout.readline())
        time.sleep(delay)
        process.kill()
        process.wait()
        process.stdout.close()
        index = opened(memory)
        assert index.applied >= told
        again = index.applied + 1
        index.apply([doc(again, f"cat {again}"), doc(0, f"cat {again}")], [again - 5], again)
        assert sorted(found(index, "cat", 50)) == sorted({0, *range(max(101, again - 4), again + 1)})
        assert index.verify() == []


def spoil(folder: Path, suffix: str, how: Callable[[Path], object]) -> None:
    how(max((path for path in folder.iterdir() if path.name.endswith(suffix)), key=lambda path: path.stat().st_size))


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def scramble(path: Path) -> None:
    path.write_bytes(b"{ this is not what was written" + path.read_bytes()[30:])


@pytest.fixture
def filled(memory: Path) -> Path:
    index = opened(memory)
    index.apply([doc(seq, " ".join(f"cat{number}" for number in range(seq))) for seq in range(60)], [], 1)
    index.apply([], [5, 6], 2)
    return memory


@pytest.mark.parametrize("how", [Path.unlink, truncate], ids=["removed", "truncated"])
@pytest.mark.parametrize("suffix", [".idx", ".term", ".pos", ".fast", ".fieldnorm", ".store", ".del", "meta.json"])
def test_missing_and_truncated_files_are_damage(filled: Path, suffix: str, how: Callable[[Path], object]) -> None:
    spoil(filled, suffix, how)
    with pytest.raises(Damaged):
        opened(filled)


@pytest.mark.parametrize("name", ["meta.json", MANIFEST, ".managed.json"])
def test_garbage_in_what_describes_the_index_is_damage(filled: Path, name: str) -> None:
    spoil(filled, name, scramble)
    with pytest.raises(Damaged):
        opened(filled)


@pytest.mark.parametrize("suffix", [".idx", ".term", ".pos", ".fast", ".fieldnorm", ".store", ".del"])
def test_garbage_in_any_file_is_seen_by_verify(filled: Path, suffix: str) -> None:
    index = opened(filled)
    assert index.verify() == []
    spoil(filled, suffix, scramble)
    assert len(index.verify()) == 1


def test_a_search_that_meets_garbage_says_damaged(filled: Path) -> None:
    index = opened(filled)
    spoil(
        filled, ".idx", lambda path: path.write_bytes(bytes(byte * 7 % 256 for byte in path.read_bytes()[:-120]) + path.read_bytes()[-120:])
    )
    with pytest.raises(Damaged):
        index.search(Boolean(should=tuple(Phrase(f"cat{number} cat{number + 1}") for number in range(58))), k=5)


@pytest.mark.parametrize("change", [{"docs": 57}, {"opstamp": 10**6}, {"format": 0}, {"analysis": "other"}, {"unknown": 1}], ids=str)
def test_a_manifest_that_does_not_fit_is_damage(filled: Path, change: dict[str, object]) -> None:
    manifest = json.loads((filled / MANIFEST).read_text())
    (filled / MANIFEST).write_text(json.dumps(manifest | change))
    with pytest.raises(Damaged):
        opened(filled)


def vanish(folder: Path) -> None:
    """Remove it, whatever a thread of Tantivy still writes into it meanwhile."""
    for _ in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
    raise AssertionError(f"{folder} does not go away")


def test_no_manifest_is_damage_and_so_is_a_vanished_index(filled: Path) -> None:
    index = opened(filled)
    (filled / MANIFEST).unlink()
    with pytest.raises(Damaged):
        opened(filled)
    vanish(filled)
    assert not index.refresh()
    assert found(index, "cat3")
    with pytest.raises(Damaged):
        index.apply([doc(1, "cat")], [], 9)


def test_a_rebuilt_index_is_taken_up(filled: Path) -> None:
    reader = opened(filled)
    vanish(filled)
    opened(filled).apply([doc(1, "new")], [], 3)
    assert reader.refresh()
    assert (found(reader, "new"), len(reader), reader.applied) == ([1], 1, 3)
