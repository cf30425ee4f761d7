"""Ignore rules mean what git means by them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.ingest.ignore import Rules

PIECES = (
    "a",
    "b",
    "ab",
    "x.y",
    "*",
    "?",
    "**",
    "***",
    "[ab]",
    "[!a]",
    "[^a]b",
    "a*",
    "*b",
    "a?b",
    "*a*",
    "[a-b]c",
    "*.y",
    "\\a",
    "\\*",
    "a ",
)
PIECES += ("[[:alpha:]]", "[]a]", "[a-]", "[\\]]", "[b-a]", "[", "a\\ ", "#", "[[:nope:]]")
NAMES = ("a", "b", "ab", "aab", "x.y", "c", "ac", "a b", "]", "bb", "a ", "#a", "*")

globs = st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("/".join)
rule_lines = st.builds(
    lambda *parts: "".join(parts), st.sampled_from(("", "", "!")), st.sampled_from(("", "/")), globs, st.sampled_from(("", "/", " "))
)


def left_out(text: str, entries: list[tuple[str, bool]]) -> set[str]:
    """What the rules leave out of a tree, asked from the top down."""
    rules, out = Rules(text), set[str]()
    for path, folder in sorted(entries):
        parent, _, name = path.rpartition("/")
        if parent in out or rules.verdict(path, name, folder=folder):
            out.add(path)
    return out


@pytest.mark.parametrize(
    ("rules", "path", "folder", "verdict"),
    [
        ("*.log", "deep/down/x.log", False, True),
        ("*.log\n!keep.log", "keep.log", False, False),
        ("build/", "build", False, None),
        ("build/", "sub/build", True, True),
        ("/build", "sub/build", True, None),
        ("docs/*.md", "docs/sub/a.md", False, None),
        ("docs/**/*.md", "docs/a.md", False, True),
        ("docs/**", "docs", True, None),
        ("docs/**", "docs/a/b", False, True),
        ("# comment", "# comment", False, None),
        ("\\#x", "#x", False, True),
        ("a.md\r\nb.md\r\n", "a.md", False, True),
        ("trailing   ", "trailing", False, True),
        ("\ufeffa.md", "a.md", False, True),
        ("a[", "a[", False, None),
        ("名前*", "名前.md", False, True),
    ],
)
def test_verdict(rules: str, path: str, folder: bool, verdict: bool | None) -> None:
    assert Rules(rules).verdict(path, path.rpartition("/")[2], folder=folder) is verdict


@pytest.mark.parametrize("glob", ["*a" * 60 + "*b", "**/a/" * 60 + "b", "[" * 500, "a" + "*" * 500 + "b"])
def test_no_glob_takes_long(glob: str) -> None:
    # Tried one after another, the ways to match the first two are more than can be counted: this would never end.
    assert not Rules(glob).verdict("/".join("a" * 200), "a" * 250, folder=False)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[str, bool]]]:
    if not shutil.which("git"):
        pytest.skip("needs git to compare with")
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", root], check=True)
    for first in NAMES:
        (root / first).mkdir()
        for number, second in enumerate(NAMES):
            if number % 3:
                (root / first / second).touch()
            else:
                (root / first / second).mkdir()
                (root / first / second / NAMES[-number]).touch()
    entries = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        below = Path(folder).relative_to(root)
        entries += [((below / name).as_posix(), name in folders) for name in [*folders, *files]]
    return root, entries


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(rule_lines, min_size=1, max_size=6).map("\n".join))
def test_agrees_with_git(repository: tuple[Path, list[tuple[str, bool]]], text: str) -> None:
    root, entries = repository
    (root / ".gitignore").write_text(text)
    names = "\0".join(path for path, _ in entries).encode()
    command = ["git", "-c", "core.excludesFile=/dev/null", "-C", root, "check-ignore", "--no-index", "-z", "--stdin"]
    answer = subprocess.run(command, input=names, capture_output=True, check=False).stdout.decode()
    assert left_out(text, entries) == set(answer.split("\0")) - {""}
