"""A private Neo4j server by Java and Maven, on loopback, for tests and benchmarks; it ends with its process."""

from __future__ import annotations

import fcntl
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from ..errors import InvalidInput, StoreError

VERSION = "5.26.30"
"""The last of the long-term release 5.26, by which it comes; its licence is its own, and nothing of it is part of Recollect."""
HOST = "127.0.0.1"
JAVA = 17
SOURCE = Path(__file__).with_name("Neo4jServer.java")
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>recollect</groupId><artifactId>server</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>{VERSION}</version></dependency>
  </dependencies>
</project>
"""
OPTIONS = ("-Xmx700m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+IgnoreUnrecognizedVMOptions")
"""Compiled quickly rather than well: a test asks each question a few times."""
RESOLVE_S = 600
WAIT_S = 120.0


class LocalNeo4j:
    """One server with its data in an empty folder. Whoever can reach the loopback address may do anything there."""

    def __init__(self, folder: Path | str, *, cache: Path | str) -> None:
        """The programs, some 150 MB, are kept in the folder `cache`, and fetched when they are not there."""
        self.folder = Path(folder).absolute()
        self.log = self.folder / "server.log"
        self._cache = Path(cache).absolute() / f"neo4j-{VERSION}"
        self._port = 0
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    @property
    def url(self) -> str:
        if self._port == 0:
            raise StoreError(f"the Neo4j server in {str(self.folder)!r} has no address: it has not been started")
        return f"bolt://{HOST}:{self._port}"

    def start(self) -> Self:
        """Returns when the server answers. After a stop or a kill it is the same data at the same port."""
        if self._server is not None:
            raise StoreError(f"the Neo4j server in {str(self.folder)!r} runs already: stop it first")
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._port == 0 and any(self.folder.iterdir()):
            raise InvalidInput(f"{str(self.folder)!r} is not empty: give a private Neo4j a folder of its own")
        java, classes = _program("java"), self._programs()
        self._port = self._port or _free_port()
        command = [java, *OPTIONS, "-cp", classes, "Neo4jServer", str(self.folder / "data"), str(self._port)]
        with self.log.open("ab") as log:
            # It ends when its input does, which only our process holds: it ends with us, however we end.
            self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + WAIT_S
        while not _answers(self._port):
            if self._server.poll() is not None or time.monotonic() > deadline:
                said = _said(self.log)
                self.kill()
                raise StoreError(f"the Neo4j server in {str(self.folder)!r} did not start: {said}")
            time.sleep(0.05)
        return self

    def stop(self) -> None:
        """Stops it if it runs."""
        if self._server is None:
            return
        assert self._server.stdin is not None
        with suppress(OSError):
            self._server.stdin.close()
        try:
            self._server.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._server = None

    def kill(self) -> None:
        """A crash."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            if self._server.stdin is not None:
                self._server.stdin.close()
            self._server = None

    def _programs(self) -> str:
        """The class path of the server, with ours on it. Two processes that need it at once fetch it once."""
        java, maven = _program("javac"), _program("mvn")
        self._cache.mkdir(parents=True, exist_ok=True)
        made, classes = self._cache / "classpath.txt", self._cache / "classes"
        with (self._cache / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists() or not all(map(_is_there, made.read_text(encoding="utf-8").split(":"))):
                self._resolve(maven, made)
            if not (classes / "Neo4jServer.class").exists() or (classes / "Neo4jServer.class").stat().st_mtime < SOURCE.stat().st_mtime:
                _run([java, "-cp", made.read_text(encoding="utf-8"), "-d", str(classes), str(SOURCE)], "cannot be compiled")
        return f"{classes}:{made.read_text(encoding='utf-8')}"

    def _resolve(self, maven: str, made: Path) -> None:
        with TemporaryDirectory(prefix="recollect-") as folder:
            (Path(folder) / "pom.xml").write_text(POM, encoding="utf-8")
            told = Path(folder) / "classpath.txt"
            repository = f"-Dmaven.repo.local={self._cache / 'repository'}"
            command = [maven, "-B", "-q", repository, "dependency:build-classpath", f"-Dmdep.outputFile={told}", "-f", f"{folder}/pom.xml"]
            _run(command, "cannot be fetched by Maven")
            made.write_text(told.read_text(encoding="utf-8").strip(), encoding="utf-8")


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise StoreError(f"a private Neo4j needs Java {JAVA} or newer and Maven, and here is no {name!r}: install them")
    return found


def _run(command: list[str], what: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, timeout=RESOLVE_S)
    except subprocess.TimeoutExpired:
        raise StoreError(f"Neo4j {VERSION} {what}: it took longer than {RESOLVE_S} s") from None
    if done.returncode != 0:
        said = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
        raise StoreError(f"Neo4j {VERSION} {what}: {said[0] if said else 'nothing was said'}")


def _is_there(part: str) -> bool:
    return Path(part).exists()


def _answers(port: int) -> bool:
    """As a driver greets it: the server says which version of Bolt it speaks."""
    try:
        with socket.create_connection((HOST, port), 1) as probe:
            probe.sendall(bytes.fromhex("6060b017 00000404 00000000 00000000 00000000"))
            return len(probe.recv(4)) == 4
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _said(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-6:]
    return "; ".join(line.strip() for line in lines if line.strip()) or "it said nothing"
