"""The command line with a store on Postgres: every verb works as it does with a folder, and no password is ever shown."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from recollect.testing.postgres import LocalPostgres

if TYPE_CHECKING:
    from conftest import Postgres

asyncpg = pytest.importorskip("asyncpg")

Run = Callable[..., tuple[int, str, str]]
NOTES = {
    "backup.md": "# Backups\n\nEvery night the database is copied to another building and encrypted with age.\n",
    "deploy.md": "# Deploying\n\nA release is rolled out to one server first, then to all of them.\n",
    "sub/cats.txt": "The cat sleeps on the warm keyboard.\n",
}
SECRET = "s3cret-word"


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of notes to stand in, whose settings ask for words alone, and for a log."""
    for name, text in NOTES.items():
        (tmp_path / "notes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / name).write_text(text, encoding="utf-8")
    (tmp_path / "recollect.yaml").write_text("embed: {model: none}\nlog: {retrievals: true}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def with_password(url: str) -> str:
    """The same URL with a password, which a server that trusts everybody does not look at."""
    scheme, _, rest = url.partition("://")
    user, _, place = rest.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}:{SECRET}@{place}"


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    with postgres.database() as url:
        yield with_password(url) if not os.environ.get("RECOLLECT_TEST_POSTGRES") else url


@pytest.fixture
def ask(run: Run, url: str) -> Run:
    """Runs the command with the store; the password must be in nothing it says."""

    def ask(*arguments: str) -> tuple[int, str, str]:
        code, out, err = run("--store", url, *arguments)
        assert SECRET not in out + err
        assert "Traceback" not in err
        return code, out, err

    return ask


def test_files_are_indexed_found_shown_changed_and_removed(notes: Path, ask: Run) -> None:
    code, out, err = ask("index", "notes")
    assert (code, err) == (0, "")
    assert out.startswith("indexed 3 files: 3 new")
    code, out, _ = ask("search", "encrypted backups")
    assert code == 0
    assert "notes/backup.md" in out
    code, out, _ = ask("get", "notes/backup.md")
    assert (code, NOTES["backup.md"].strip() in out) == (0, True)
    (notes / "notes" / "sub" / "cats.txt").unlink()
    (notes / "notes" / "deploy.md").write_text("# Deploying\n\nEverything at once.\n", encoding="utf-8")
    code, out, _ = ask("index", "notes", "--json")
    report = json.loads(out)
    assert (code, report["changed"], report["unchanged"], report["deleted"]) == (0, 1, 1, 1)
    assert ask("search", "keyboard")[0] == 1


def test_paths_are_relative_to_the_present_folder(notes: Path, ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ask("index", "notes")
    monkeypatch.chdir(notes / "notes")
    (notes / "notes" / "recollect.yaml").write_text("embed: {model: none}\n", encoding="utf-8")
    code, out, _ = ask("index", "backup.md", "--json")
    assert (code, json.loads(out)["added"]) == (0, 1)
    assert ask("get", "backup.md")[0] == ask("get", "notes/backup.md")[0] == 0
    code, out, _ = ask("index", "--base", "..", "backup.md", "--json")
    assert (code, json.loads(out)["unchanged"]) == (0, 1)


def test_records_come_and_go(notes: Path, ask: Run) -> None:
    records = [{"id": f"r{number}", "text": f"record number {number}", "metadata": {"year": 2020 + number}} for number in range(5)]
    (notes / "records.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    code, out, err = ask("import", "records.jsonl")
    assert (code, err) == (0, "")
    assert out.startswith("imported 5 records: 5 new")
    code, out, _ = ask("search", "record", "--where", '{"year": {"gte": 2023}}', "--json")
    assert {each["item_id"] for each in json.loads(out)["candidates"]} == {"r3", "r4"}
    assert ask("delete", "r1", "r2")[1] == "deleted 2 items\n"
    assert ask("delete", "r1")[0] == 1
    code, _, err = ask("delete", "--all")
    assert (code, "this would delete 3 items: say so with --yes" in err) == (2, True)
    assert ask("delete", "--all", "--yes")[1] == "deleted 3 items\n"
    assert ask("get", "r3")[0] == 1


def test_status_doctor_and_log_say_how_it_stands(notes: Path, ask: Run, url: str) -> None:
    ask("index", "notes")
    ask("search", "encrypted backups")
    code, out, err = ask("status")
    assert (code, err) == (0, "")
    seen = url.replace(f":{SECRET}", "") if SECRET in url else url.partition("://")[0]
    assert seen in out
    code, out, _ = ask("status", "--json")
    status = json.loads(out)
    assert (code, status["items"], status["scope"]) == (0, 3, "default")
    assert status["url"].startswith("postgresql://")
    code, out, _ = ask("doctor", "--json")
    assert (code, json.loads(out)["ok"]) == (0, True)
    assert ask("doctor")[0] == ask("doctor", "--repair")[0] == 0
    code, out, _ = ask("log", "--json")
    assert [each["query"] for each in json.loads(out)["retrievals"]] == ["encrypted backups"]
    assert "encrypted backups" in ask("log")[1]


def test_questions_are_asked_of_the_store(notes: Path, ask: Run) -> None:
    ask("index", "notes")
    (notes / "questions.csv").write_text(
        "question,expected\nhow are backups encrypted,notes/backup.md\nwhere does the cat sleep,notes/sub/cats.txt\n", encoding="utf-8"
    )
    code, out, err = ask("eval", "questions.csv", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)


def test_scopes_see_nothing_of_each_other(notes: Path, ask: Run) -> None:
    ask("--scope", "one", "index", "notes")
    ask("--scope", "two", "index", "notes/sub")
    assert ask("--scope", "two", "search", "backups")[0] == 1
    assert ask("--scope", "two", "search", "keyboard")[0] == 0


def test_a_command_that_is_told_by_its_settings_asks_the_same_store(notes: Path, ask: Run, run: Run, url: str) -> None:
    ask("index", "notes")
    (notes / "recollect.yaml").write_text(f"store: {url}\nembed: {{model: none}}\n", encoding="utf-8")
    assert run("search", "encrypted backups")[0] == 0


def test_a_database_without_tables_has_no_store_until_something_is_indexed(notes: Path, run: Run, postgres: Postgres, url: str) -> None:
    asyncio.run(execute(postgres.superuser(url), "drop schema recollect cascade"))
    code, out, err = run("--store", url, "search", "backups", "--json")
    assert code == 3
    assert json.loads(out)["error"]["type"] == "NotFound"
    assert "there is no store in postgresql://" in err
    assert "make one with `recollect index PATH`" in err
    assert SECRET not in out + err
    assert run("--store", url, "get", "notes/a.md")[0] == 3
    assert run("--store", url, "index", "notes")[0] == 0
    assert run("--store", url, "search", "backups")[0] == 0
    assert run("--store", url, "get", "no such item")[0] == 1


async def execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()


UNUSABLE = [
    (f"postgresql://me:{SECRET}@127.0.0.1:1/notes", 3, "StoreUnreachable", "does not answer"),
    (f"postgresql://me:{SECRET}@nowhere.invalid/notes", 3, "StoreUnreachable", "does not answer"),
    (f"postgresql://me:{SECRET}@localhost:none/notes", 2, "InvalidInput", "is no URL of a database"),
    (f"postgresql://me:{SECRET}/x@localhost/notes", 2, "InvalidInput", "%2F for /"),
    ("postgresql://", 2, "InvalidInput", "names no store on Postgres"),
    (f"mysql://me:{SECRET}@localhost/notes", 2, "InvalidInput", "names no store"),
    (f"postgresql:/me:{SECRET}@localhost/notes", 2, "InvalidInput", "'postgresql:/...@localhost/notes' names no store"),
    (f"postgresql//me:{SECRET}@localhost/notes", 2, "InvalidInput", "names no store"),
]


@pytest.mark.parametrize(
    "verb", [["search", "backups"], ["index", "notes"], ["status"], ["doctor"], ["get", "a"], ["log"]], ids=lambda v: v[0]
)
@pytest.mark.parametrize(("url", "code", "kind", "said"), UNUSABLE)
def test_a_store_that_cannot_be_opened_is_told_in_one_line(
    notes: Path, run: Run, verb: list[str], url: str, code: int, kind: str, said: str
) -> None:
    ended, out, err = run("--store", url, "--json", *verb)
    assert ended == code
    assert json.loads(out)["error"]["type"] == kind
    assert said in json.loads(out)["error"]["message"]
    assert err.count("\n") == 1
    assert SECRET not in out + err


def command(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "recollect", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def test_two_processes_index_into_one_scope_at_once(notes: Path, url: str, run: Run) -> None:
    for name in ("one", "two"):
        (notes / name).mkdir()
        for number in range(40):
            (notes / name / f"{number}.txt").write_text(f"note {number} of {name}", encoding="utf-8")
    running = [command("--store", url, "index", name, "--json") for name in ("one", "two")]
    for each in running:
        out, err = each.communicate(timeout=120)
        assert (each.returncode, err) == (0, "")
        assert json.loads(out)["added"] == 40
    assert json.loads(run("--store", url, "status", "--json")[1])["items"] == 80


def test_ctrl_c_ends_a_command_that_waits_for_the_server_and_the_statement_on_it(
    notes: Path, url: str, postgres: Postgres, run: Run
) -> None:
    assert run("--store", url, "index", "notes")[0] == 0

    async def interrupted() -> tuple[int, str]:
        holder = await asyncpg.connect(postgres.superuser(url))
        waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        holding = holder.transaction()
        await holding.start()
        await holder.execute("lock table recollect.items in access exclusive mode")
        looking = await asyncpg.connect(postgres.superuser(url))
        running = command("--store", url, "search", "backups", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        try:
            deadline = time.monotonic() + 60
            while not await looking.fetchval(waiting):
                assert time.monotonic() < deadline
                await asyncio.sleep(0.02)
            running.send_signal(signal.SIGINT)
            _, err = await asyncio.to_thread(running.communicate, timeout=60)
            while await looking.fetchval(waiting):
                assert time.monotonic() < deadline
                await asyncio.sleep(0.02)
        finally:
            running.kill()
            holder.terminate()
            looking.terminate()
        return running.returncode, err

    assert asyncio.run(interrupted()) == (130, "recollect: stopped\n")


def test_a_server_that_goes_away_amid_a_command_is_told_in_one_line(notes: Path, postgres: Postgres, tmp_path: Path) -> None:
    """Its connections are ended while it waits, and nobody answers when it tries again."""
    from test_testing_postgres import reachable_folder

    async def gone() -> tuple[int, str]:
        with reachable_folder() as folder, LocalPostgres(folder) as server:
            url = server.url(password=SECRET)
            made = command("--store", url, "index", "notes")
            assert await asyncio.to_thread(made.wait, 60) == 0
            holder = await asyncpg.connect(server.url())
            holding = holder.transaction()
            await holding.start()
            await holder.execute("lock table recollect.items in access exclusive mode")
            running = command("--store", url, "search", "backups")
            looking = await asyncpg.connect(server.url())
            deadline = time.monotonic() + 60
            while not await looking.fetchval("select count(*) from pg_stat_activity where wait_event_type = 'Lock'"):
                assert time.monotonic() < deadline
                await asyncio.sleep(0.02)
            server.kill()
            _, err = await asyncio.to_thread(running.communicate, timeout=60)
            holder.terminate()
            looking.terminate()
            return running.returncode, err

    code, err = asyncio.run(gone())
    assert code == 3
    assert err.startswith("recollect: ")
    assert err.count("\n") == 1
    assert "does not answer" in err or "was lost" in err
    assert SECRET not in err
