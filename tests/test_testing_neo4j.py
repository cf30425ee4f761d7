"""A private Neo4j says in one line what it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import InvalidInput, StoreError
from recollect.testing import neo4j
from recollect.testing.neo4j import LocalNeo4j


def test_a_machine_without_java_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreError, match=r"needs Java 17 or newer and Maven, and here is no 'java': install them"):
        LocalNeo4j(tmp_path / "data", cache=tmp_path / "cache").start()


def test_what_maven_cannot_fetch_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, body in {"java": "exit 1", "javac": "exit 1", "mvn": "echo 'cannot resolve it'; exit 1"}.items():
        (programs / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/bin:/usr/bin")
    with pytest.raises(StoreError, match=rf"Neo4j {neo4j.VERSION} cannot be fetched by Maven: cannot resolve it"):
        LocalNeo4j(tmp_path / "data", cache=tmp_path / "cache").start()


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "something").touch()
    with pytest.raises(InvalidInput, match="is not empty: give a private Neo4j a folder of its own"):
        LocalNeo4j(tmp_path, cache=tmp_path / "cache").start()


def test_a_server_that_was_not_started_has_no_address(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="it has not been started"):
        _ = LocalNeo4j(tmp_path, cache=tmp_path).url
