"""`recollect serve` as a process: where it listens, how it ends, and that nothing it acknowledged is ever lost."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep

import httpx
import pytest
import yaml

from recollect.library import Library
from recollect.serve_settings import ServeSettings
from recollect.settings import Settings, load
from recollect.surfaces.http.workers import PAUSE_S, Place, Workers
from recollect.surfaces.keys import hash_of

IN_MEMORY = Path("/dev/shm")
Run = Callable[..., tuple[int, str, str]]
PATIENCE_S = 60


@contextmanager
def serving(folder: Path, *options: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and where it is."""
    command = [sys.executable, "-m", "recollect", "serve", "--json", "--port", str(port), "--store", str(folder / "store"), *options]
    environment = os.environ | {"RECOLLECT_EMBED_MODEL": "none"}
    with subprocess.Popen(
        command, cwd=folder, start_new_session=True, stdout=subprocess.PIPE, stderr=(folder / "log").open("a"), text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said, (folder / "log").read_text()
            yield process, json.loads(said)["address"]
        finally:
            process.kill()


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a thing: what is told here is not how long a disk takes."""
    in_memory = IN_MEMORY if IN_MEMORY.is_dir() else None
    with TemporaryDirectory(dir=in_memory, prefix="recollect-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def test_it_serves_an_empty_folder_and_ends_when_told(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, address):
        assert httpx.get(f"{address}/status").json()["items"] == 0
        assert httpx.put(f"{address}/items/a", json={"text": "Kept."}).json()["outcome"] == "added"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines() if line.startswith("{")]
    assert [(line["route"], line["status"]) for line in lines] == [("/status", 200), ("/items/{item_id:path}", 200)]
    assert all(line["request_id"] for line in lines)
    assert "is empty: `recollect index PATH` fills it" in (tmp_path / "log").read_text()


def test_it_ends_by_ctrl_c_too(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, address):
        assert httpx.get(f"{address}/health").status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    assert "Traceback" not in (tmp_path / "log").read_text()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_under_load_loses_no_acknowledged_write(folder: Path, how: signal.Signals) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    acknowledged: list[str] = []
    numbers, done, enough = count(), threading.Event(), threading.Event()

    def write() -> None:
        client = httpx.Client(timeout=PATIENCE_S)
        while not done.is_set():
            name = f"item-{next(numbers)}"
            try:
                answer = client.put(f"http://127.0.0.1:{port}/items/{name}", json={"text": f"The text of {name}."})
            except httpx.HTTPError:
                sleep(0.02)
                continue
            if answer.status_code == 200:
                acknowledged.append(name)
                if len(acknowledged) % 8 == 0:
                    enough.set()

    writers = [threading.Thread(target=write) for _ in range(3)]
    with serving(folder, port=port) as (process, _):
        for writer in writers:
            writer.start()
        assert enough.wait(PATIENCE_S)
        process.send_signal(how)
        process.wait(PATIENCE_S)
    before = len(acknowledged)
    enough.clear()
    with serving(folder, port=port) as (_, address):
        assert enough.wait(PATIENCE_S)
        done.set()
        for writer in writers:
            writer.join()
        with httpx.Client(base_url=address) as client:
            missing = [name for name in acknowledged if client.get(f"/items/{name}").status_code != 200]
    assert 8 <= before < len(acknowledged)
    assert not missing


def test_several_processes_answer_as_one_and_end_as_one(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as (process, address):
        client = httpx.Client(base_url=address, limits=httpx.Limits(max_keepalive_connections=0), timeout=PATIENCE_S)
        seen: set[str] = set()
        for number in count():
            # Each request is a connection of its own, which either of the two may get.
            assert client.put(f"/items/{number}", json={"text": f"Number {number}."}).status_code == 200
            assert client.get(f"/items/{number}").status_code == 200
            found = client.post("/retrieval/search", json={"query": f"number {number}", "limit": 1}).json()
            assert [each["node_id"] for each in found] == [str(number)]
            seen |= set(re.findall(r'requests_total\{.*worker="(\d)"', client.get("/metrics").text))
            if seen == {"0", "1"}:
                break
            assert number < 200, "one of the two never answered"
        process.kill()
        process.wait(PATIENCE_S)
        for _ in range(PATIENCE_S * 10):
            try:
                client.get("/health")
            except httpx.HTTPError:
                return
            sleep(0.1)
        raise AssertionError("a process went on without the one that began it")


def test_a_process_that_cannot_begin_says_why_in_a_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    library = Library.open(tmp_path / "store", options=Settings.model_validate({"embed": {"model": "none"}}))
    with socket.socket() as taken, ExitStack() as stack:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        options = ServeSettings(port=taken.getsockname()[1], workers=2)
        stack.enter_context(Workers(library, options))
        said = ""
        for _ in range(PATIENCE_S * 10):
            said += capfd.readouterr().err
            if "cannot go on" in said:
                break
            sleep(0.1)
    said += capfd.readouterr().err
    asyncio.run(library.close())
    assert "worker 1 cannot go on: " in said
    assert "Traceback" not in said


def test_ctrl_c_ends_all_processes_in_peace_while_one_of_them_begins(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as (process, _):
        os.killpg(process.pid, signal.SIGINT)  # As a terminal does.
        assert process.wait(PATIENCE_S) == 0
    said = (tmp_path / "log").read_text()
    assert "Traceback" not in said
    assert "takes its place" not in said


def test_whoever_dies_young_is_followed_ever_later() -> None:
    process = get_context("spawn").Process()
    pauses = [PAUSE_S]
    for _ in range(8):
        pauses.append(Place(process, began=100.0, pause_s=pauses[-1]).pause_after(101.0))
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert Place(process, began=100.0, pause_s=60.0).pause_after(200.0) == PAUSE_S


def test_a_port_that_is_taken_is_told(tmp_path: Path, run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, said = run("serve", "--store", str(tmp_path / "store"), "--port", str(taken.getsockname()[1]))
    assert code == 2
    assert "cannot be listened at" in said
    assert "name another with --port" in said


def test_others_are_refused_without_a_key(tmp_path: Path, run: Run) -> None:
    code, _, said = run("serve", "--store", str(tmp_path / "store"), "--host", "0.0.0.0")
    assert code == 2
    assert "the host is '0.0.0.0', which others can reach, and there is no key" in said
    assert run("serve", "--store", str(tmp_path / "store"), "--port", "70000")[0] == 2


def test_a_key_is_made_and_its_hash_is_what_the_settings_take(tmp_path: Path, run: Run) -> None:
    code, shown, said = run("key", 'ci: "quoted"', "--scope", "ann", "--scope", "bob", "--write")
    assert code == 0
    key = said.rpartition(" ")[2].strip()
    (tmp_path / "recollect.yaml").write_text(shown)
    (kept,) = load(tmp_path / "recollect.yaml").serve.keys
    assert (kept.name, kept.hash, kept.scopes, kept.may) == ('ci: "quoted"', hash_of(key), ["ann", "bob"], "write")
    assert key not in shown
    told = json.loads(run("key", "other", "--json")[1])
    assert told["entry"] == {"name": "other", "hash": hash_of(told["key"]), "scopes": ["default"], "may": "read"}
    assert run("key", "x" * 65)[0] == 2
    assert run("key", "other", "--scope", "")[0] == 2


def test_settings_with_keys_that_cannot_be_are_told(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "recollect.yaml"
    entry = {"name": "a", "hash": hash_of("rk_a"), "scopes": ["x"]}
    for keys, said in (
        ([entry | {"hash": "secret"}], "give the hash of a key"),
        ([entry, entry], "two keys have the same name"),
        ([entry, entry | {"name": "b"}], "two keys have the same hash"),
        ([entry | {"scopes": []}], "serve.keys"),
    ):
        file.write_text(yaml.safe_dump({"serve": {"keys": keys}}))
        code, _, told = run("status", "--config", str(file))
        assert code == 2
        assert said in told
        assert "rk_a" not in told
        assert entry["hash"] not in told
