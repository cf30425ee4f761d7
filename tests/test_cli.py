"""The command line, as people and scripts use it."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from recollect.contracts import CandidateItem, EvidenceChunk
from recollect.schemas import json_schemas

HEAVY = ("numpy", "faiss", "sqlalchemy", "pydantic", "onnxruntime", "tokenizers", "tantivy", "asyncio", "yaml")
NOTES = {
    "backup.md": "# Backups\n\nEvery night the database is copied to another building and encrypted with age.\n",
    "deploy.md": "# Deploying\n\nA release is rolled out to one server first, then to all of them.\n",
    "sub/cats.txt": "The cat sleeps on the warm keyboard.\n",
}

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of notes to stand in, whose settings ask for words alone."""
    for name, text in NOTES.items():
        (tmp_path / "notes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / name).write_text(text, encoding="utf-8")
    (tmp_path / "recollect.yaml").write_text("embed: {model: none}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own."""
    return subprocess.run([sys.executable, "-m", "recollect", *arguments], capture_output=True, timeout=60, check=False, **options)


def allow_interrupts() -> None:
    """A suite that runs in the background inherits "ignore"."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def loads_once(text: str) -> Any:
    """The one JSON value on the one line of a text."""
    assert text.count("\n") == 1
    return json.loads(text)


# Starting.


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(flag: str) -> None:
    code = f"import sys; from recollect.surfaces.cli import main; assert main([{flag!r}]) == 0; "
    code += f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout
    assert said.stderr.strip() == "[]"


@pytest.mark.parametrize("verb", ["index", "import", "search", "get", "delete", "log", "status", "doctor", "schema"])
def test_every_verb_has_help(verb: str, run: Run) -> None:
    code, out, err = run(verb, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: recollect {verb}")


@pytest.mark.parametrize("order", [("--json", "--scope", "team", "status"), ("status", "--json", "--scope", "team")])
def test_options_stand_before_or_after_the_verb(order: Sequence[str], notes: Path, run: Run) -> None:
    run("index", "notes", "--scope", "team")
    code, out, _ = run(*order)
    assert code == 0
    assert (loads_once(out)["scope"], loads_once(out)["items"]) == ("team", 3)


@pytest.mark.parametrize(
    "arguments", [("search", "cat"), ("get", "x"), ("delete", "x"), ("log",), ("status",), ("doctor",), ("index", "--reembed")]
)
def test_a_verb_that_needs_a_store_does_not_make_one(arguments: Sequence[str], notes: Path, run: Run) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (3, "")
    assert "there is no store" in err
    assert not (notes / ".recollect").exists()


def test_a_slip_in_a_path_does_not_make_a_store(notes: Path, run: Run) -> None:
    assert run("index", "nots")[0] == 2
    assert run("import", "records.jsonl")[0] == 2
    assert not (notes / ".recollect").exists()


# Taking in.


def test_index_tells_what_is_new_changed_gone_and_unchanged(notes: Path, run: Run) -> None:
    code, out, err = run("index", "notes")
    assert (code, err) == (0, "")
    assert out.startswith("indexed 3 files: 3 new; ")
    (notes / "notes/backup.md").write_text("# Backups\n\nThere are none.\n", encoding="utf-8")
    (notes / "notes/deploy.md").unlink()
    assert run("index", "notes")[1].startswith("indexed 1 file: 1 changed, 1 gone, 1 unchanged; ")
    assert run("search", "server")[0] == 1
    assert run("search", "keyboard")[0] == 0


def test_quiet_says_nothing_of_what_went_well(notes: Path, run: Run) -> None:
    assert run("index", "notes", "--quiet") == (0, "", "")
    assert run("delete", "notes/backup.md", "-q") == (0, "", "")


def test_index_reports_in_json(notes: Path, run: Run) -> None:
    report = loads_once(run("index", "notes", "--json")[1])
    assert {name: report[name] for name in ("added", "changed", "unchanged", "deleted", "problems")} == {
        "added": 3, "changed": 0, "unchanged": 0, "deleted": 0, "problems": []
    }  # fmt: skip


def test_base_is_what_paths_are_relative_to(notes: Path, run: Run) -> None:
    run("index", "notes", "--base", "notes")
    assert run("get", "sub/cats.txt")[0] == 0


def test_one_text_comes_from_stdin(notes: Path) -> None:
    said = command("index", "-", "--id", "memo", "--title", "A memo", input="Ο γάτος sleeps.\n".encode())
    assert (said.returncode, said.stderr) == (0, b"")
    item = loads_once(command("get", "memo", "--json").stdout.decode())
    assert (item["id"], item["title"], item["text"]) == ("memo", "A memo", "Ο γάτος sleeps.\n")


def test_records_come_from_files_and_from_stdin(notes: Path, run: Run) -> None:
    (notes / "a.jsonl").write_text('{"id": "one", "text": "first"}\n', encoding="utf-8")
    (notes / "b.jsonl").write_text('{"id": "two", "text": "second"}\n', encoding="utf-8")
    code, out, _ = run("import", "a.jsonl", "b.jsonl")
    assert (code, out.split(";")[0]) == (0, "imported 2 records: 2 new")
    said = command("import", "-", input=b'{"id": "three", "text": "third", "metadata": {"year": 2024}}\n')
    assert said.returncode == 0
    assert loads_once(run("get", "three", "--json")[1])["metadata"] == {"year": 2024}


def test_an_interrupted_import_keeps_what_was_written_and_goes_on(notes: Path, run: Run) -> None:
    records = [json.dumps({"id": f"r{number:04}", "text": f"record {number}"}) + "\n" for number in range(1_500)]
    with subprocess.Popen(
        [sys.executable, "-m", "recollect", "import", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=allow_interrupts,
    ) as process:
        assert process.stdin
        assert process.stderr
        process.stdin.write("".join(records[:1_200]).encode())
        process.stdin.flush()
        _wait_for_items(notes / ".recollect" / "recollect.db", 1)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.stdin.close()
        assert process.wait(timeout=30) == 130
        said = process.stderr.read().decode()
    assert said == "recollect: stopped: the store is usable, and the same command goes on where this one ended\n"
    kept = loads_once(run("status", "--json")[1])["items"]
    assert 0 < kept < 1_500
    (notes / "all.jsonl").write_text("".join(records), encoding="utf-8")
    run("import", "all.jsonl")
    assert loads_once(run("status", "--json")[1])["items"] == 1_500
    assert run("doctor")[0] == 0


def _wait_for_items(database: Path, at_least: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            with sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True) as connection:
                if connection.execute("SELECT count(*) FROM items").fetchone()[0] >= at_least:
                    return
        except sqlite3.OperationalError:
            pass
        time.sleep(0.02)
    raise AssertionError("nothing was written")


# Asking.


def test_search_shows_rank_title_place_and_snippet(notes: Path, run: Run) -> None:
    run("index", "notes")
    code, out, err = run("search", "encrypted", "database")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(" 1. Backups  ")
    assert lines[1] == "    notes/backup.md:3  lines 1-3"
    assert "      Every night the database is copied" in out
    assert "\x1b" not in out


def test_search_json_has_every_field_and_no_timings(notes: Path, run: Run) -> None:
    run("index", "notes")
    answer = loads_once(run("search", "cat", "--json")[1])
    assert list(answer) == ["query", "candidates", "evidence", "facets", "routing", "analysis"]
    assert answer["query"] == "cat"
    assert list(answer["candidates"][0]) == list(CandidateItem.model_fields)
    assert "stats" in loads_once(run("search", "cat", "--json", "--debug")[1])


def test_the_same_question_gives_the_same_bytes_in_two_processes(notes: Path) -> None:
    (notes / "recollect.yaml").unlink()
    indexed = command("index", "notes")
    assert b"chunks embedded in" in indexed.stdout
    first = command("search", "how is data kept safe", "--json", "--facet", "kind")
    second = command("search", "how is data kept safe", "--json", "--facet", "kind")
    assert first.returncode == 0
    assert first.stdout == second.stdout
    answer = loads_once(first.stdout.decode())
    assert answer["candidates"][0]["source_ref"] == "notes/backup.md"
    assert answer["candidates"][0]["score_vec"] is not None
    assert list(answer["evidence"][0]) == list(EvidenceChunk.model_fields)
    assert sum(answer["facets"]["kind"].values()) == len(answer["candidates"])


def test_explain_shows_what_each_route_gave(notes: Path, run: Run) -> None:
    run("index", "notes")
    out = run("search", "cat", "--explain")[1]
    assert "found by its words (rank 1)" in out
    assert "text  1.000000  rank 1, score " in out
    assert "sum   1.000000" in out


def test_debug_and_facets_stand_below_the_results(notes: Path, run: Run) -> None:
    run("index", "notes")
    out = run("search", "cat", "--debug", "--facet", "kind")[1]
    assert "\n\nkind\n" in out
    assert re.search(r"^ms +text [\d.]+, fuse ", out, flags=re.MULTILINE)
    assert re.search(r"^scoring +blend linear, ", out, flags=re.MULTILINE)


def test_filters_options_and_limits_reach_the_search(notes: Path, run: Run) -> None:
    run("index", "notes")
    found = loads_once(run("search", "the", "--where", '{"path": {"prefix": "notes/sub/"}}', "--json")[1])
    assert [each["item_id"] for each in found["candidates"]] == ["notes/sub/cats.txt"]
    assert len(loads_once(run("search", "the", "--k", "1", "--json")[1])["candidates"]) == 1
    asked = ("--blend", "linear", "--normalize", "zscore", "--rrf-k", "5", "--profile", "code", "--mode", "plain", "--min-score", "0.01")
    params = loads_once(run("search", "cat", *asked, "--min-similarity", "0.3", "--json", "--debug")[1])["stats"]["params"]
    expected = {"blend": "linear", "normalize": "zscore", "rrf_k": 5, "min_score": 0.01}
    assert {name: params["scoring"][name] for name in expected} == expected
    assert (params["profile"], params["fts"]["mode"], params["vector"]["min_score"]) == ("code", "plain", 0.3)


# Evidence.


@pytest.fixture
def handbook(notes: Path, run: Run) -> Path:
    """The notes, and a long one among them, indexed."""
    sections = [f"## Part {number}\n\n" + f"Vault {number} is opened by two people. " * 8 for number in range(1, 7)]
    (notes / "notes/handbook.md").write_text("# Handbook\n\n" + "\n\n".join(sections) + "\n", encoding="utf-8")
    run("index", "notes")
    return notes


def evidence(answer: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = loads_once(answer)["evidence"]
    return found


def test_evidence_is_shown_under_its_source(handbook: Path, run: Run) -> None:
    out = run("search", "vault 3", "--chunk-tokens", "128", "--chunks-per-item", "2")[1]
    assert re.fullmatch(
        r" 1\. Handbook  [\d.]+\n"
        r"    notes/handbook\.md:11  lines 11-13 · Part 3\n"
        r"(      .+\n){2,}"
        r"    lines \d+-\d+ · Part \d\n"
        r"      Vault \d is opened by two people\. Vault \d is opened by two people\.\n",
        out,
    )


def test_full_evidence_can_be_opened_at_its_lines(handbook: Path, run: Run) -> None:
    out = run("search", "vault 3", "--chunk-tokens", "128", "--full", "--chunks", "1")[1]
    place, first, last = re.findall(r"^    (notes/handbook\.md):(\d+)-(\d+) · Part 3$", out, flags=re.MULTILINE)[0]
    lines = (handbook / place).read_text(encoding="utf-8").splitlines()[int(first) - 1 : int(last)]
    assert "".join(out.split("Part 3\n", 1)[1].split()) == "".join("".join(lines).split())


def test_the_options_of_evidence_reach_the_search(handbook: Path, run: Run) -> None:
    asked = (
        "--chunks",
        "5",
        "--chunks-per-item",
        "4",
        "--chunker",
        "prose",
        "--chunk-tokens",
        "64",
        "--overlap",
        "8",
        "--strategy",
        "late",
    )
    answer = loads_once(run("search", "vault", *asked, "--pooling", "plain", "--no-cache", "--deadline", "60", "--json", "--debug")[1])
    params = answer["stats"]["params"]
    assert (params["top_k_chunks"], params["per_item_chunk_cap"]) == (5, 4)
    assert params["chunking"] == {
        "strategy": "late", "chunker_id": "prose", "include_headers": True, "max_chunk_tokens": 64, "overlap_tokens": 8, "pooling": "plain"
    }  # fmt: skip
    assert params["cache"] == {"use_chunk_cache": False, "write_chunk_cache": False, "ttl_seconds": None, "use_result_cache": False}
    assert len(answer["evidence"]) == 4


def test_no_chunks_means_a_snippet_and_no_evidence(handbook: Path, run: Run) -> None:
    assert evidence(run("search", "vault", "--chunks", "0", "--json")[1]) == []
    out = run("search", "vault", "--chunks", "0")[1]
    assert "Vault 1 is opened" in out
    assert "lines" not in out


def test_a_search_keeps_its_chunks_unless_told_not_to(handbook: Path, run: Run) -> None:
    def kept() -> int:
        entries: int = loads_once(run("status", "--json")[1])["cache"]["entries"]
        return entries

    first = run("search", "vault", "--chunk-tokens", "64", "--no-cache", "--json")
    assert kept() == 0
    assert run("search", "vault", "--chunk-tokens", "64", "--json") == first
    assert kept() == 1


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--chunks", "-1", "--chunks is -1: give 0 to 1000"),
        ("--chunks-per-item", "0", "--chunks-per-item is 0: give at least 1"),
        ("--chunk-tokens", "5", "--chunk-tokens is 5: give at least 16"),
        ("--overlap", "-2", "--overlap is -2: give at least 0"),
        ("--strategy", "early", "--strategy is 'early': use late, precomputed or mixed"),
        ("--pooling", "max", "--pooling is 'max': use plain or contextual"),
        ("--chunker", "scissors", "there is no chunker 'scissors': use auto, markdown, prose, code, tokens"),
        ("--deadline", "0", "--deadline is 0: give seconds, more than 0 and at most 86400"),
        ("--deadline", "nan", "--deadline is nan: give seconds, more than 0 and at most 86400"),
    ],
)
def test_a_bad_value_for_evidence_is_told(option: str, value: str, said: str, handbook: Path, run: Run) -> None:
    assert run("search", "vault", option, value) == (2, "", f"recollect: {said}\n")


def test_a_deadline_that_passes_is_told(handbook: Path, run: Run) -> None:
    said = "there was no answer within 1e-06 s: give --deadline more time"
    assert run("search", "vault", "--deadline", "0.000001") == (3, "", f"recollect: {said}\n")
    out = run("search", "vault", "--deadline", "0.000001", "--json")[1]
    assert loads_once(out) == {"error": {"type": "DeadlineExceeded", "message": said}}
    assert run("search", "vault", "--deadline", "600")[0] == 0


@contextmanager
def unanswering_endpoint() -> Iterator[tuple[str, threading.Event]]:
    """An endpoint that makes a vector of a question and never one of passages, and what it sets when it is asked for those."""
    asked, over = threading.Event(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            if texts != ["vault"]:
                asked.set()
                over.wait(60)
                return
            body = json.dumps({"data": [{"index": 0, "embedding": [1.0, 2.0]}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
        over.set()
        server.shutdown()


def test_an_interrupt_while_chunks_are_embedded_ends_the_search(handbook: Path, run: Run) -> None:
    with unanswering_endpoint() as (url, asked):
        given = {**os.environ, "RECOLLECT_EMBED_MODEL": "openai:slow", "RECOLLECT_EMBED_BASE_URL": url}
        with subprocess.Popen(
            [sys.executable, "-m", "recollect", "--config", os.devnull, "search", "vault", "--chunk-tokens", "64"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=given,
            preexec_fn=allow_interrupts,
        ) as process:
            assert asked.wait(60)
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=30) == (b"", b"recollect: stopped\n")
            assert process.returncode == 130
    assert run("search", "vault")[0] == 0


def test_an_interrupt_ends_the_command_though_a_thread_hangs() -> None:
    code = """
import os, signal, sys, threading
from recollect import settings
from recollect.surfaces.cli import main

def load(file):
    threading.Thread(target=threading.Event().wait).start()
    os.kill(os.getpid(), signal.SIGINT)

settings.load, sys.argv = load, ["recollect", "status"]
sys.exit(main())
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False, preexec_fn=allow_interrupts)
    assert (said.returncode, said.stdout, said.stderr) == (130, b"", b"recollect: stopped\n")


# The contracts.


def test_schema_shows_every_contract_and_makes_no_store(notes: Path, run: Run) -> None:
    code, out, err = run("schema")
    assert (code, err) == (0, "")
    assert json.loads(out) == json_schemas() == loads_once(run("schema", "--json")[1])
    assert loads_once(run("schema", "EvidenceChunk", "--json")[1]) == json_schemas()["EvidenceChunk"]
    assert not (notes / ".recollect").exists()


def test_schema_of_an_unknown_contract_tells_which_there_are(run: Run) -> None:
    code, out, err = run("schema", "Prefs")
    assert (code, out) == (2, "")
    assert err == f"recollect: there is no contract 'Prefs': there are {', '.join(json_schemas())}\n"


def test_a_search_that_finds_nothing_ends_with_one(notes: Path, run: Run) -> None:
    run("index", "notes")
    code, out, err = run("search", "zebra")
    assert (code, out) == (1, "")
    assert err == "recollect: nothing was found for 'zebra'\n"
    assert loads_once(run("search", "zebra", "--json")[1])["candidates"] == []


def test_get_shows_the_whole_item(notes: Path, run: Run) -> None:
    run("index", "notes")
    out = run("get", "notes/backup.md")[1]
    assert out.endswith("\n\n" + NOTES["backup.md"] + "\n")
    code, out, err = run("get", "notes/none.md")
    assert (code, out) == (1, "")
    assert "there is no item 'notes/none.md'" in err


# Removing, and the state of the store.


def test_delete_by_id_tells_which_are_not_there(notes: Path, run: Run) -> None:
    run("index", "notes")
    code, out, err = run("delete", "notes/backup.md", "nobody")
    assert (code, out) == (1, "deleted 1 item\n")
    assert err == "recollect: there is no item 'nobody' in scope 'default'\n"
    assert run("get", "notes/backup.md")[0] == 1
    assert run("delete", "notes/deploy.md") == (0, "deleted 1 item\n", "")


@pytest.mark.parametrize(("what", "items"), [(("--all",), 3), (("--where", '{"path": {"glob": "*.md"}}'), 2)])
def test_deleting_many_needs_a_yes(what: Sequence[str], items: int, notes: Path, run: Run) -> None:
    run("index", "notes")
    code, out, err = run("delete", *what)
    assert (code, out) == (2, "")
    assert err == f"recollect: this would delete {items} items: say so with --yes\n"
    assert loads_once(run("status", "--json")[1])["items"] == 3
    assert loads_once(run("delete", *what, "--yes", "--json")[1]) == {"deleted": items, "missing": []}
    assert loads_once(run("status", "--json")[1])["items"] == 3 - items


def test_an_empty_filter_does_not_delete_everything(notes: Path, run: Run) -> None:
    run("index", "notes")
    assert run("delete", "--where", "{}", "--yes")[0] == 2
    assert loads_once(run("status", "--json")[1])["items"] == 3


def test_status_tells_how_the_store_stands(notes: Path, run: Run) -> None:
    run("index", "notes")
    out = run("status")[1]
    assert re.search(r"^items +3$", out, flags=re.MULTILINE)
    assert "up to date" in out


def test_doctor_finds_and_repairs(notes: Path, run: Run) -> None:
    run("index", "notes")
    for file in [
        path for path in (notes / ".recollect").rglob("*") if path.is_file() and path.name.split(".")[0] not in ("recollect", "lock")
    ]:
        file.write_bytes(b"damaged")
    code, out, err = run("doctor")
    assert code == 3
    assert "WRONG" in out
    assert "doctor --repair" in err
    assert run("doctor", "--repair")[0] == 0
    assert loads_once(run("doctor", "--json")[1])["ok"] is True
    assert run("search", "cat")[0] == 0


# What reaches a terminal.


def test_nothing_stored_reaches_the_screen_with_control_characters(notes: Path, run: Run) -> None:
    evil = "title \x1b]0;owned\x07\x9b31m \u202egnp.exe \x08\x08"
    (notes / "evil.jsonl").write_text(json.dumps({"id": "evil\x1b[2J", "title": evil, "text": f"payload {evil}"}) + "\n", encoding="utf-8")
    run("import", "evil.jsonl")
    shown = [run("search", "payload", "--explain"), run("search", "payload", "--json"), run("get", "evil\x1b[2J")]
    shown += [run("get", "evil\x1b[2J", "--json"), run("get", "none\x1b[2J"), run("delete", "none\x1b[2J")]
    shown += [run("search", "payload", "--full"), run("search", "payload", "--chunk-tokens", "16", "--debug")]
    for _, out, err in shown:
        assert not set("\x1b\x07\x08\x9b\u202e") & set(out + err)
    assert loads_once(shown[1][1])["candidates"][0]["title"] == evil
    assert "payload title \N{REPLACEMENT CHARACTER}]0;owned" in shown[0][1]


@pytest.mark.parametrize(
    ("environment", "coloured"), [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_a_terminal_gets_colours_unless_they_are_unwanted(environment: dict[str, str], coloured: bool, notes: Path, run: Run) -> None:
    run("index", "notes")
    ours, theirs = pty.openpty()
    given = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")} | environment
    said = subprocess.run([sys.executable, "-m", "recollect", "search", "cat"], stdout=theirs, stderr=theirs, env=given, check=False)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    os.close(theirs)
    assert said.returncode == 0
    assert ("\x1b[1;33mcat\x1b[0m" in shown) is coloured
    assert ("\x1b" in shown) is coloured
    assert "1 result in " in shown


def test_a_reader_that_has_seen_enough_ends_it_in_silence(notes: Path, run: Run) -> None:
    run("index", "notes")
    ours, theirs = os.pipe()
    os.close(ours)
    said = subprocess.run([sys.executable, "-m", "recollect", "search", "cat"], stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    assert (said.returncode, said.stderr) == (141, b"")


@pytest.mark.parametrize("how", ["closed", "/dev/full"])
def test_an_output_that_cannot_be_written_is_told(how: str, notes: Path, run: Run) -> None:
    run("index", "notes")
    with open(os.devnull if how == "closed" else how, "wb") as out:
        said = subprocess.run(
            [sys.executable, "-m", "recollect", "search", "cat"],
            stdout=out,
            stderr=subprocess.PIPE,
            preexec_fn=(lambda: os.close(1)) if how == "closed" else None,
            check=False,
        )
    assert said.returncode == 3
    assert said.stderr.startswith(b"recollect: the output cannot be written: ")
    assert said.stderr.count(b"\n") == 1


def test_json_is_utf8_whatever_the_locale(notes: Path) -> None:
    command("index", "-", "--id", "memo", input="Straße".encode())
    said = command("get", "memo", "--json", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert loads_once(said.stdout.decode("utf-8"))["text"] == "Straße"
    assert command("get", "memo", env={**os.environ, "PYTHONIOENCODING": "ascii"}).returncode == 0
