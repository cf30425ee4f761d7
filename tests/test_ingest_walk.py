"""The walk finds what should be read, in one order, and names what it leaves out."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.errors import InvalidInput
from recollect.ingest.walk import READER_VERSION, Found, Skipped, reference, walk

MIB = 1024 * 1024


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def steps(root: Path, *, base: Path | None = None, max_bytes: int = MIB) -> list[Found | Skipped]:
    return list(walk(root, base=base or root, max_bytes=max_bytes))


def refs(root: Path, *, base: Path | None = None) -> list[str]:
    return [step.ref for step in steps(root, base=base) if isinstance(step, Found)]


def skipped(root: Path, *, base: Path | None = None, max_bytes: int = MIB) -> dict[str, Skipped]:
    return {step.ref: step for step in steps(root, base=base, max_bytes=max_bytes) if isinstance(step, Skipped)}


def test_files_in_order_with_stamps(tmp_path: Path) -> None:
    tree(tmp_path, {"b.md": "b", "a/z.md": "zz", "a/y/x.md": "x", "c.txt": ""})
    found = [step for step in steps(tmp_path) if isinstance(step, Found)]
    assert [each.ref for each in found] == ["a/y/x.md", "a/z.md", "b.md", "c.txt"]
    status = (tmp_path / "a/z.md").stat()
    assert found[1].stamp == f"2:{status.st_mtime_ns}:{READER_VERSION}"
    assert found[1].path.read_text() == "zz"


def test_references_are_relative_inside_the_base_and_absolute_outside(tmp_path: Path) -> None:
    tree(tmp_path, {"in/docs/a.md": "a", "out/b.md": "b"})
    assert refs(tmp_path / "in/docs", base=tmp_path / "in") == ["docs/a.md"]
    assert refs(tmp_path / "out", base=tmp_path / "in") == [(tmp_path / "out/b.md").as_posix()]
    assert reference(tmp_path / "in/docs", tmp_path / "in") == "docs"
    (tmp_path / "alias").symlink_to(tmp_path / "in")
    assert refs(tmp_path / "alias/docs", base=tmp_path / "in") == ["docs/a.md"]


def test_ignore_files_at_every_level(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            ".gitignore": "*.log\n/build/\n",
            "a.log": "",
            "build/x.md": "",
            "sub/build/x.md": "",
            "sub/.gitignore": "!keep.log\nsecret.md",
            "sub/keep.log": "",
            "sub/secret.md": "",
            "secret.md": "",
        },
    )
    assert refs(tmp_path) == ["secret.md", "sub/build/x.md", "sub/keep.log"]
    assert skipped(tmp_path)["build"] == Skipped("build", "ignored by .gitignore", problem=False)


def test_own_ignore_file_counts_before_git_s_at_any_level(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {".recollectignore": "!notes.log\ndrafts/", "sub/.gitignore": "*.log", "sub/notes.log": "", "sub/b.log": "", "drafts/a.md": ""},
    )
    assert refs(tmp_path) == ["sub/notes.log"]


@pytest.mark.parametrize("git", ["folder", "file"])
def test_rules_of_the_enclosing_repository_count(tmp_path: Path, git: str) -> None:
    repository = tree(
        tmp_path / "repo", {".gitignore": "/docs/private/\n", "docs/.recollectignore": "old.md", "docs/en/old.md": "", "docs/en/a.md": ""}
    )
    tree(repository, {"docs/private/p.md": "", "docs/en/local.md": ""})
    if git == "folder":
        tree(repository, {".git/info/exclude": "local.md"})
    else:
        tree(tmp_path, {"main/.git/info/exclude": "local.md", "main/.git/worktrees/w/commondir": "../.."})
        (repository / ".git").write_text("gitdir: ../main/.git/worktrees/w\n")
    tree(tmp_path, {".gitignore": "*"})
    assert refs(repository / "docs/en", base=repository) == ["docs/en/a.md"]
    assert refs(repository / "docs", base=repository) == ["docs/en/a.md"]


def test_a_folder_named_by_the_user_is_read_even_if_ignored(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {".git/HEAD": "", ".gitignore": "build/\n*.md", "build/out/a.md": "", "build/out/.gitignore": "b.*", "build/out/b.txt": ""},
    )
    assert refs(tmp_path / "build/out", base=tmp_path) == ["build/out/a.md"]
    assert refs(tmp_path / "build/out/b.txt", base=tmp_path) == ["build/out/b.txt"]


def test_tool_folders_and_binary_kinds_are_left_out_by_rule(tmp_path: Path) -> None:
    tree(tmp_path, {".git/config": "", "sub/node_modules/x.js": "", ".venv/a.py": "", "logo.PNG": "", "venv.md": "", ".recollect/x.md": ""})
    assert refs(tmp_path) == ["venv.md"]
    out = skipped(tmp_path)
    assert out.keys() == {".git", "sub/node_modules", ".venv", "logo.PNG", ".recollect"}
    assert not any(each.problem or each.unseen for each in out.values())


def test_links_inside_are_followed_and_links_out_are_told(tmp_path: Path) -> None:
    root = tree(tmp_path / "root", {"real/a.md": "a", "hidden/b.md": "b", ".gitignore": "/hidden/", ".git/config": ""})
    tree(tmp_path, {"secret.md": "s", "outside/c.md": "c"})
    (root / "a-file.md").symlink_to("real/a.md")
    (root / "a-folder").symlink_to("real")
    (root / "b-folder").symlink_to("hidden")
    (root / "loop").symlink_to(root)
    (root / "out.md").symlink_to(tmp_path / "secret.md")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "nowhere.md").symlink_to("missing.md")
    (root / "self.md").symlink_to("self.md")
    (root / "config.md").symlink_to(".git/config")
    assert refs(root) == ["a-file.md", "real/a.md", "b-folder/b.md"]
    out = skipped(root)
    assert {ref for ref, each in out.items() if each.problem} == {"out.md", "out", "nowhere.md", "self.md"}
    assert {ref for ref, each in out.items() if each.unseen} == {"nowhere.md", "self.md"}
    assert "link out of the folder" in out["out"].reason
    assert {"a-folder", "loop", "config.md"} <= out.keys()


def test_a_root_that_is_a_link_is_followed(tmp_path: Path) -> None:
    tree(tmp_path, {"real/a.md": "a"})
    (tmp_path / "link").symlink_to("real")
    assert refs(tmp_path / "link", base=tmp_path) == ["link/a.md"]


def test_special_files_are_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    os.mkfifo(tmp_path / ".gitignore")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s.md"))
        assert refs(tmp_path) == []
    with pytest.raises(InvalidInput, match="neither a file nor a folder"):
        steps(tmp_path / "pipe.md")


def test_too_large_is_told(tmp_path: Path) -> None:
    tree(tmp_path, {"big.md": "x" * 11, "fits.md": "x" * 10})
    out = skipped(tmp_path, max_bytes=10)
    assert out["big.md"].problem
    assert "11 bytes, the limit is 10" in out["big.md"].reason
    assert out.keys() == {"big.md"}
    assert [type(step) for step in steps(tmp_path / "big.md", max_bytes=10)] == [Skipped]


def test_a_missing_root_is_refused_at_once(tmp_path: Path) -> None:
    for name in ("missing", "zero\0byte"):
        with pytest.raises(InvalidInput, match="cannot index"):
            walk(tmp_path / name, base=tmp_path, max_bytes=MIB)


@pytest.mark.skipif(sys.platform == "darwin", reason="the file system refuses such names")
def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    tree(tmp_path, {"gr\u00fc\u00df.md": "", "\u65e5\u672c.md": ""})
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.md")).write_text("x")
    assert refs(tmp_path) == ["gr\u00fc\u00df.md", "\u65e5\u672c.md"]
    assert skipped(tmp_path)["bad\\xff.md"].problem


def test_a_tree_deeper_than_python_recurses(tmp_path: Path) -> None:
    tree(tmp_path, {"d/" * 400 + "a.md": ""})
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(300)
    try:
        found = refs(tmp_path)
    finally:
        sys.setrecursionlimit(limit)
    assert found == ["d/" * 400 + "a.md"]


@pytest.mark.parametrize(
    ("ref", "hidden"), [("docs", True), ("docs/a.md", True), ("docs/deep/b.md", True), ("docs2/a.md", False), ("other.md", False)]
)
def test_what_an_unseen_folder_hides(ref: str, hidden: bool) -> None:
    assert Skipped("docs", "", problem=True, unseen=True).hides(ref) is hidden
    assert Skipped(".", "", problem=True, unseen=True).hides(ref)
    assert not Skipped("docs", "", problem=True).hides(ref)


def without_override() -> None:
    """Take from root the right to read what permissions forbid (PR_CAPBSET_DROP of CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH)."""
    libc = ctypes.CDLL(None)
    for capability in (1, 2):
        libc.prctl(24, capability, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="drops a right of root's the Linux way")
def test_an_unreadable_folder_is_told_and_the_walk_goes_on(tmp_path: Path) -> None:
    tree(tmp_path, {"a/x.md": "", "locked/y.md": "", "locked/.gitignore": "", "z/.gitignore": "*", "z/w.md": ""})
    (tmp_path / "locked").chmod(0)
    (tmp_path / "z/.gitignore").chmod(0)
    program = (
        "import sys, json; from pathlib import Path; from recollect.ingest.walk import Found, walk\n"
        "root = Path(sys.argv[1])\n"
        "steps = list(walk(root, base=root, max_bytes=10**6))\n"
        "print(json.dumps([[type(s).__name__, s.ref, getattr(s, 'problem', None), getattr(s, 'unseen', None)] for s in steps]))"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, check=True, preexec_fn=without_override).stdout
    (tmp_path / "locked").chmod(0o755)
    assert json.loads(answer) == [
        ["Found", "a/x.md", None, None],
        ["Skipped", "locked", True, True],
        ["Skipped", "z/.gitignore", True, False],
        ["Skipped", "z/.gitignore", False, False],
        ["Found", "z/w.md", None, None],
    ]
