"""Whatever is wrong, the command says it in one clear line, ends with the right code, and loses nothing."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from recollect.stores.sql.schema import VERSION
from recollect.surfaces.cli import main

CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, PR_CAPBSET_DROP = 1, 2, 24
NOISE = bytes(range(256)) * 8
HALF_A_CHARACTER = "# Cats".encode("utf-16")[:-1]

Run = Callable[..., "Said"]


class Said:
    """How a run of the command ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def refused(self, code: int, *words: str) -> None:
        """It ended with this code and said so in one line that has these words."""
        assert self.code == code, self.err
        assert self.err.startswith("recollect: ")
        assert self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.out + self.err
        for word in words:
            assert word in self.err


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of two notes that are found by words alone."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "notes").mkdir()
    (folder / "notes/cats.md").write_text("# Cats\n\nThe cat sleeps.\n", encoding="utf-8")
    (folder / "notes/dogs.md").write_text("# Dogs\n\nThe dog barks at the cat.\n", encoding="utf-8")
    (folder / "recollect.yaml").write_text("embed: {model: none}\n", encoding="utf-8")
    given = ["--store", str(folder / ".recollect"), "--config", str(folder / "recollect.yaml"), "--quiet"]
    assert main(["index", str(folder / "notes"), *given]) == 0
    return folder


@pytest.fixture
def place(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the prepared folder, to stand in."""
    shutil.copytree(prepared, tmp_path / "place")
    monkeypatch.chdir(tmp_path / "place")
    return tmp_path / "place"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in this process."""

    def run(*arguments: str) -> Said:
        capsys.readouterr()
        return Said(main(arguments), *capsys.readouterr())

    return run


def command(*arguments: str | bytes, before: Callable[[], object] | None = None, **options: Any) -> Said:
    """Runs the command in a process of its own, prepared by `before`."""
    started = [sys.executable, "-m", "recollect", *arguments]
    said = subprocess.run(started, capture_output=True, preexec_fn=before, timeout=60, check=False, **options)
    return Said(said.returncode, said.stdout.decode(), said.stderr.decode())


def without_root_powers() -> None:
    """Let permissions count for root too: what is run after this may not pass over them."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "prctl")


def run_where_nothing_may_be_written(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A Python script, given the folder, which it may read and not change."""
    everything = [folder, *folder.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    said = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        cwd=Path(__file__).parent,
        preexec_fn=without_root_powers,
        capture_output=True,
        text=True,
        check=False,
    )
    for path in everything:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return said


def cats(run: Run) -> list[str]:
    """What the store answers when asked for cats."""
    said = run("search", "cat", "--json")
    return sorted(found["item_id"] for found in json.loads(said.out)["candidates"])


BOTH = ["notes/cats.md", "notes/dogs.md"]


# Arguments.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("VERB", "--help")),
        (("serach", "cat"), ("'serach'", "search")),
        (("search",), ("QUERY",)),
        (("search", "cat", "--colour"), ("--colour",)),
        (("search", ""), ("the query is empty",)),
        (("search", " \t"), ("the query is empty",)),
        (("search", "cat", "--k", "0"), ("k is 0", "1 to ")),
        (("search", "cat", "--k", "-3"), ("k is -3", "1 to ")),
        (("search", "cat", "--k", "1000000000"), ("k is 1000000000", "1 to ")),
        (("search", "cat", "--k", "many"), ("--k", "'many'")),
        (("search", "cat", "--mode", "fuzzy"), ("'fuzzy'", "web", "plain", "phrase", "strict")),
        (("search", "cat", "--profile", "novels"), ("'novels'", "documents", "code", "graph")),
        (("search", "cat", "--blend", "smoothie"), ("'smoothie'", "rrf", "linear")),
        (("search", "cat", "--blend", "linear", "--normalize", "loud"), ("'loud'", "minmax", "zscore")),
        (("search", "cat", "--rrf-k", "-1"), ("-1",)),
        (("search", "cat", "--min-score", "nan"), ("min_score is nan", "at least 0")),
        (("search", "cat", "--min-similarity", "7"), ("7", "between 0 and 1")),
        (("search", 'cat AND (dog', "--mode", "strict"), ()),
        (("search", "cat", "--facet", "colour"), ("'colour'",)),
        (("search", "cat", "--scope", ""), ("scope",)),
        (("index",), ("nothing to index",)),
        (("index", ""), ("''",)),
        (("index", "-"), ("--id",)),
        (("index", "notes", "--id", "x"), ("--id",)),
        (("delete",), ("say what to delete",)),
        (("delete", "x", "--all"), ("one of them only",)),
        (("status", "--store", "mysql://host/db"), ("'mysql://host/db'",)),
        (("status", "--config", "nowhere.yaml"), ("nowhere.yaml",)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)  # fmt: skip
def test_bad_arguments(arguments: Sequence[str], words: Sequence[str], place: Path, run: Run) -> None:
    run(*arguments).refused(2, *words)
    assert cats(run) == BOTH


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ('{"status": }', ("--where", "line 1, column 12")),
        ('{"status":\n "draft",,}', ("--where", "line 2, column 10")),
        ("", ("--where", "line 1, column 1")),
        ("[" * 100_000, ("--where",)),
        ("[1]", ("[1]",)),
        ('"draft"', ("'draft'",)),
        ('{"statsu": "draft"}', ("'statsu'", "did you mean 'status'?")),
        ('{"colour": "red"}', ("'colour'", "source_ref")),
        ('{"importance": "high"}', ("'importance'", "number", "'high'")),
        ('{"status": 3}', ("'status'", "3")),
        ('{"status": "done"}', ("'done'", "draft, approved, superseded, archived")),
        ('{"created_at": "yesterday"}', ("'created_at'", "'yesterday'", "2024-05-17")),
        ('{"title": {"like": "x"}}', ("'like'", "prefix")),
        ('{"importance": {"gte": null}}', ("'importance'", "None")),
        ('{"title": "\\ud800"}', ()),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)  # fmt: skip
@pytest.mark.parametrize("verb", [("search", "cat"), ("delete", "--yes")], ids=["search", "delete"])
def test_bad_filters(verb: Sequence[str], where: str, words: Sequence[str], place: Path, run: Run) -> None:
    run(*verb, "--where", where).refused(2, *words)
    assert cats(run) == BOTH


def test_errors_are_json_too(place: Path, run: Run) -> None:
    said = run("search", "", "--json")
    said.refused(2)
    assert json.loads(said.out) == {"error": {"type": "InvalidInput", "message": said.err.removeprefix("recollect: ").rstrip("\n")}}


def test_an_argument_that_is_not_utf8(place: Path, run: Run) -> None:
    command("search", b"caf\xe9").refused(2, "'caf\\udce9'", "UTF-8")
    command("index", b"notes/caf\xe9.md").refused(2, "UTF-8")
    assert cats(run) == BOTH


# What is to be taken in.


def test_a_missing_path(place: Path, run: Run) -> None:
    run("index", "notes", "nots").refused(2, "'nots'")
    (place / "dangling").symlink_to("nowhere")
    run("index", "dangling").refused(2, "'dangling'")
    run("import", "nothing.jsonl").refused(2, "'nothing.jsonl'")
    run("import", "notes").refused(2, "'notes'")
    assert cats(run) == BOTH


def test_an_unreadable_file_is_told_and_the_rest_taken_in(place: Path, run: Run) -> None:
    (place / "notes/new.md").write_text("A new cat.", encoding="utf-8")
    (place / "notes/cats.md").write_text("Nobody may read this.", encoding="utf-8")
    (place / "notes/cats.md").chmod(0)
    command("index", "notes", before=without_root_powers).refused(0, "notes/cats.md: ", "ermission")
    assert cats(run) == [*BOTH, "notes/new.md"]
    command("index", "notes/cats.md", before=without_root_powers).refused(2, "notes/cats.md: ", "ermission")


def test_an_undecodable_file_is_told_and_the_rest_taken_in(place: Path, run: Run) -> None:
    (place / "notes/half.md").write_bytes(HALF_A_CHARACTER)
    (place / "notes/new.md").write_text("A new cat.", encoding="utf-8")
    said = run("index", "notes")
    said.refused(0, "notes/half.md: ")
    assert "1 problem told above" in said.out
    assert cats(run) == [*BOTH, "notes/new.md"]
    run("index", "notes/half.md").refused(2, "notes/half.md: ")


def test_a_file_without_text_is_left_out_of_a_folder_but_refused_by_name(place: Path, run: Run) -> None:
    (place / "notes/noise.md").write_bytes(NOISE)
    said = run("index", "notes")
    assert (said.code, said.err) == (0, "")
    assert "1 left out by rule" in said.out
    run("index", "notes/noise.md").refused(2, "notes/noise.md: ")
    assert cats(run) == BOTH


def test_a_folder_that_may_not_be_entered_is_not_taken_for_empty(place: Path, run: Run) -> None:
    (place / "notes").chmod(0)
    try:
        command("index", "notes", before=without_root_powers).refused(2, "notes", "ermission")
    finally:
        (place / "notes").chmod(0o755)
    assert cats(run) == BOTH


def test_bad_lines_of_a_record_file_are_told_by_place_and_the_rest_taken_in(place: Path, run: Run) -> None:
    good = json.dumps({"id": "good", "text": "A good cat."})
    lines = [
        good,
        '{"id": "bad", "text": }',
        '["no", "object"]',
        '{"id": "none", "title": "no text"}',
        json.dumps({"id": "last", "text": "The last cat."}),
    ]
    (place / "records.jsonl").write_text("\n".join(lines), encoding="utf-8")
    said = run("import", "records.jsonl")
    told = said.err.splitlines()
    assert said.code == 2
    assert told[0].startswith("recollect: records.jsonl:2:23: ")
    assert [line.split(":")[2] for line in told] == ["2", "3", "4"]
    assert "2 new" in said.out
    assert "3 problems told above" in said.out
    assert cats(run) == ["good", "last", *BOTH]


def test_a_record_file_that_is_not_utf8(place: Path, run: Run) -> None:
    (place / "records.jsonl").write_bytes(b'{"id": "x", "text": "caf\xe9"}\n')
    run("import", "records.jsonl").refused(2, "records.jsonl:1:")
    assert cats(run) == BOTH


def test_stdin_that_is_not_utf8(place: Path, run: Run) -> None:
    command("index", "-", "--id", "x", input=b"caf\xe9").refused(2, "standard input is not UTF-8")
    command("index", "-", "--id", "x", before=lambda: os.close(0)).refused(2, "standard input is closed")
    assert cats(run) == BOTH


# Settings.


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("embed: {model: none\nscope: x\n", ("line 2, column 6",)),
        ("embed: [1\n", ("line 2, column 1",)),
        ("just words", ("recollect.yaml",)),
        ("embde: {model: none}\n", ("'embde'", "did you mean 'embed'?")),
        ("search: {k: many}\n", ("'search.k'", "'many'")),
        ("embed: none\n", ("'embed'", "'embed.model'")),
        ("vectors: {policy: magic}\n", ("'vectors.policy'", "'magic'")),
        ("embed: {model: nothing-like-it}\n", ("'nothing-like-it'", "'granite'")),
        ("scope: ''\n", ("'scope'",)),
        ("store: ['postgresql://me:hidden@host/notes']\n", ("setting 'store' is list",)),
    ],
    ids=lambda value: value.strip() if isinstance(value, str) else None,
)  # fmt: skip
def test_bad_settings(text: str, words: Sequence[str], place: Path, run: Run) -> None:
    good = (place / "recollect.yaml").read_text(encoding="utf-8")
    (place / "recollect.yaml").write_text(text, encoding="utf-8")
    run("search", "cat").refused(2, *words)
    (place / "recollect.yaml").write_text(good, encoding="utf-8")
    assert cats(run) == BOTH


@pytest.mark.parametrize("text", ["embed: 3\n", "embed: [none]\n"])
def test_a_section_that_is_none(text: str, place: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
    (place / "bad.yaml").write_text(text, encoding="utf-8")
    run("search", "cat", "--config", "bad.yaml").refused(2, "'embed'")
    (place / "bad.yaml").write_text("embed:\n", encoding="utf-8")
    assert run("status", "--config", "bad.yaml").code == 0


def test_a_bad_setting_of_the_environment(place: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_SEARCH_K", "many")
    run("search", "cat").refused(2, "'many'", "RECOLLECT_SEARCH_K")
    monkeypatch.delenv("RECOLLECT_SEARCH_K")
    assert cats(run) == BOTH


# The store.


def test_a_store_from_a_newer_version(place: Path, run: Run) -> None:
    set_version(place / ".recollect/recollect.db", "99")
    for arguments in (("search", "cat"), ("index", "notes"), ("delete", "--all", "--yes"), ("doctor", "--repair")):
        run(*arguments).refused(3, "99", "newer")
    set_version(place / ".recollect/recollect.db", str(VERSION))
    assert cats(run) == BOTH


def set_version(database: Path, version: str) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'version'", (version,))
    connection.close()


def test_a_file_that_is_no_store(place: Path, run: Run) -> None:
    (place / "other").mkdir()
    (place / "other/recollect.db").write_bytes(NOISE)
    for arguments in (("search", "cat"), ("index", "notes")):
        run(*arguments, "--store", "other").refused(3, "other/recollect.db")
    assert (place / "other/recollect.db").read_bytes() == NOISE
    run("index", "notes", "--store", "notes/cats.md").refused(3, "notes/cats.md")
    assert cats(run) == BOTH


def test_a_full_disk(place: Path, run: Run) -> None:
    def small_files_only() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))

    (place / "notes/large.md").write_text("\n".join(f"cat number {number}" for number in range(10_000)), encoding="utf-8")
    said = command("index", "notes", before=small_files_only)
    said.refused(3, "no space left")
    assert cats(run) == BOTH
    assert run("index", "notes").code == 0
    assert cats(run) == [*BOTH, "notes/large.md"]
    assert run("doctor").code == 0


def test_a_folder_that_may_not_be_written(place: Path, run: Run) -> None:
    store = place / ".recollect"
    (place / "notes/new.md").write_text("A new cat.", encoding="utf-8")
    everything = [store, *store.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        found = command("search", "cat", "--json", before=without_root_powers)
        assert (found.code, found.err) == (0, "")
        assert sorted(each["item_id"] for each in json.loads(found.out)["candidates"]) == BOTH
        assert command("status", before=without_root_powers).code == 0
        command("index", "notes", before=without_root_powers).refused(3, ".recollect", "may not be written")
        command("delete", "notes/cats.md", before=without_root_powers).refused(3, ".recollect", "may not be written")
    finally:
        for path in everything:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert cats(run) == BOTH


def test_a_store_cannot_be_made_where_nothing_may_be_written(place: Path, run: Run) -> None:
    (place / "closed").mkdir(mode=0o555)
    command("index", "notes", "--store", "closed/store", before=without_root_powers).refused(3, "closed", "may not be written")
    assert cats(run) == BOTH


def test_a_store_that_another_process_writes_to(place: Path, run: Run) -> None:
    (place / "recollect.yaml").write_text("embed: {model: none}\nlock_timeout_s: 0.1\n", encoding="utf-8")
    with (place / ".recollect/lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run("delete", "notes/cats.md").refused(3, "another process", "try again")
        assert cats(run) == BOTH
    assert run("delete", "notes/cats.md").code == 0
