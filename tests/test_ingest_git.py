"""What git tracks is what is taken in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.ingest import git
from recollect.ingest.files import survey
from recollect.ingest.folders import UNTRACKED
from recollect.ingest.git import tracked
from recollect.ingest.walk import Found, Skipped, walk
from recollect.settings import environment_of_git

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="needs git")

MIB = 1 << 20


def run_git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always")
    subprocess.run(
        ["git", *identity, "-C", root, *arguments],
        check=True,
        capture_output=True,
        env=environment_of_git() | {"GIT_ALLOW_PROTOCOL": "file"},
    )


def repository(root: Path, files: dict[str, str]) -> Path:
    """A repository that tracks these files, also where its rules would leave them out."""
    write(root, files)
    run_git(root, "init", "-q")
    run_git(root, "add", "-A", "-f", ".")
    run_git(root, "commit", "-q", "--allow-empty", "-m", "first")
    return root


def write(root: Path, files: dict[str, str]) -> None:
    root.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def steps(root: Path, *, base: Path | None = None, untracked: bool = False) -> list[Found | Skipped]:
    return list(walk(root, base=base or root, max_bytes=MIB, untracked=untracked))


def refs(root: Path, *, base: Path | None = None, untracked: bool = False) -> list[str]:
    return [step.ref for step in steps(root, base=base, untracked=untracked) if isinstance(step, Found)]


def reasons(root: Path) -> dict[str, str]:
    return {step.ref: step.reason for step in steps(root) if isinstance(step, Skipped)}


def test_only_what_git_tracks_is_found_and_the_rest_is_counted(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": "a", "src/b.py": "b", ".gitignore": "*.log\nbuild/\n"})
    write(root, {"new.py": "n", "src/new.md": "n", "drafts/deep/c.md": "c", "x.log": "", "build/out.py": "", "logo.png": ""})
    assert refs(root) == ["a.py", "src/b.py"]
    assert {ref for ref, reason in reasons(root).items() if reason == UNTRACKED} == {"new.py", "src/new.md", "drafts/deep/c.md"}
    assert reasons(root)["x.log"] == reasons(root)["build"] == "ignored by .gitignore"
    assert refs(root, untracked=True) == ["a.py", "drafts/deep/c.md", "new.py", "src/b.py", "src/new.md"]
    run_git(root, "add", "new.py")
    assert refs(root) == ["a.py", "new.py", "src/b.py"]


def test_a_survey_counts_what_git_does_not_track_but_for_the_store(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": "a"})
    write(root, {"new.py": "n", "kept/store.txt": "s", "kept/deep/x.txt": "s"})
    found = survey([root], {}, base=root, max_bytes=MIB, never=root / "kept")
    assert ([each.ref for each in found.changed], found.untracked) == (["a.py"], 1)


def test_what_is_tracked_in_spite_of_the_rules_is_found_and_its_neighbours_are_not(tmp_path: Path) -> None:
    root = repository(tmp_path, {".gitignore": "build/\n*.gen\n", "build/kept.py": "k", "one.gen": "1"})
    write(root, {"build/other.py": "o", "build/deep/other.py": "o", "two.gen": "2"})
    assert refs(root) == ["build/kept.py", "one.gen"]
    assert {ref for ref, reason in reasons(root).items() if "ignored" in reason} >= {"build/other.py", "two.gen"}


def test_own_rules_count_before_git(tmp_path: Path) -> None:
    files = {"a.py": "", "secret.md": "", "sub/b.py": "", "node_modules/x.js": "", "logo.png": ""}
    root = repository(tmp_path, {".recollectignore": "secret.md\n!note.md\n!drafts/\n", ".gitignore": "local/\n", **files})
    write(root, {"note.md": "", "other.md": "", "drafts/c.md": "", "local/note.md": ""})
    assert refs(root) == ["a.py", "drafts/c.md", "note.md", "sub/b.py"]


def test_deleted_files_are_gone_whatever_git_says(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": "", "b.py": ""})
    (root / "b.py").unlink()
    assert tracked(root) == ["a.py", "b.py"]
    assert refs(root) == ["a.py"]


def test_a_folder_in_a_repository_has_what_git_tracks_of_it(tmp_path: Path) -> None:
    root = repository(tmp_path, {"src/a.py": "", "src/deep/b.py": "", "c.py": ""})
    write(root, {"src/new.py": "", "src/deep/new.py": ""})
    assert refs(root / "src", base=root) == ["src/a.py", "src/deep/b.py"]


def test_what_is_named_is_taken_also_where_git_tracks_nothing_of_it(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": "", ".gitignore": "ignored/\n"})
    write(root, {"new/b.py": "", "ignored/c.py": ""})
    assert refs(root / "new", base=root) == ["new/b.py"]
    assert refs(root / "new/b.py", base=root) == ["new/b.py"]
    assert refs(root / "ignored", base=root) == ["ignored/c.py"]


def test_a_repository_without_a_tracked_file_is_walked(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q")
    write(tmp_path, {"a.py": "", ".gitignore": "*.log", "x.log": ""})
    assert refs(tmp_path) == ["a.py"]


def test_several_repositories_in_a_folder_each_by_its_own_rules(tmp_path: Path) -> None:
    for name in ("one", "two"):
        repository(tmp_path / name, {"a.py": "", ".gitignore": "x.py\n"})
        write(tmp_path / name, {"new.py": "", "x.py": ""})
    write(tmp_path, {"loose.py": ""})
    assert refs(tmp_path) == ["loose.py", "one/a.py", "two/a.py"]


def test_a_repository_in_another_that_does_not_track_it(tmp_path: Path) -> None:
    root = repository(tmp_path / "outer", {"a.py": "", ".gitignore": "ignored/\n"})
    repository(root / "tools/inner", {"b.py": ""})
    repository(root / "ignored/inner", {"c.py": ""})
    write(root, {"tools/new.py": "", "tools/inner/new.py": ""})
    assert refs(root) == ["a.py", "tools/inner/b.py"]


def test_submodules(tmp_path: Path) -> None:
    part = repository(tmp_path / "part", {"b.py": ""})
    root = repository(tmp_path / "whole", {"a.py": ""})
    run_git(root, "submodule", "add", "-q", str(part), "lib/part")
    write(root, {"lib/part/new.py": ""})
    assert refs(root) == [".gitmodules", "a.py", "lib/part/b.py"]


def test_worktrees(tmp_path: Path) -> None:
    root = repository(tmp_path / "main", {"a.py": ""})
    run_git(root, "worktree", "add", "-q", str(tmp_path / "other"), "-b", "other")
    write(tmp_path / "other", {"b.py": "", "c.py": ""})
    run_git(tmp_path / "other", "add", "b.py")
    assert refs(tmp_path / "other") == ["a.py", "b.py"]
    assert refs(root) == ["a.py"]


def test_links_are_treated_as_in_any_folder(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, {"real/a.md": "a", "hidden/b.md": "b", ".gitignore": "/hidden/\n"})
    write(tmp_path, {"outside.md": ""})
    for name, target in {"file.md": "real/a.md", "folder": "real", "to-hidden": "hidden", "out.md": "../outside.md"}.items():
        (root / name).symlink_to(target)
    run_git(root, "init", "-q")
    run_git(root, "add", "-A")
    (root / "new.md").symlink_to("real/a.md")
    (root / "new-folder").symlink_to("hidden")
    assert refs(root) == ["file.md", "real/a.md", "to-hidden/b.md"]
    assert reasons(root)["new.md"] == reasons(root)["new-folder"] == UNTRACKED
    assert "link out of the folder" in reasons(root)["out.md"]


def test_names_of_every_kind(tmp_path: Path) -> None:
    names = ["with space.md", "new\nline.md", 'quo"te.md', "grüß.md", "日本.md", "-dash.md"]
    root = repository(tmp_path, dict.fromkeys(names, "x"))
    write(root, {"übrig.md": ""})
    assert sorted(refs(root)) == sorted(names)


def test_letters_that_the_file_system_takes_apart(tmp_path: Path) -> None:
    composed = git.Tracked("/r", frozenset(["gr\u00fc\u00df.md"]))
    assert "/r/gru\u0308\u00df.md" in composed
    assert "/r/gru\u00df.md" not in composed


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"])
def test_a_hook_of_another_repository_misleads_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    root = repository(tmp_path / "mine", {"a.py": ""})
    other = repository(tmp_path / "other", {"b.py": ""})
    monkeypatch.setenv(name, str(other / ".git" / ("index" if name == "GIT_INDEX_FILE" else "")))
    assert tracked(root) == ["a.py"]


def test_nothing_that_a_repository_names_is_run(tmp_path: Path) -> None:
    root = repository(tmp_path / "root", {"a.py": ""})
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    program.chmod(0o755)
    for setting in ("core.fsmonitor", "core.pager", "core.editor", "alias.ls-files"):
        run_git(root, "config", setting, f"!{program}" if setting.startswith("alias") else str(program))
    assert tracked(root) == ["a.py"]
    assert not (tmp_path / "was-run").exists()


def test_a_list_of_files_fetches_nothing(tmp_path: Path) -> None:
    """What is missing of a partial clone git would fetch, by any command that the repository names."""
    root = repository(tmp_path / "repo", {"a/x.py": "x = 1", "b/y.py": "y = 1"})
    run_git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "a")
    tree = subprocess.run(["git", "-C", root, "rev-parse", "HEAD:b"], check=True, capture_output=True, text=True).stdout.strip()
    (root / ".git/objects" / tree[:2] / tree[2:]).unlink()
    command = f"touch {tmp_path}/was-run;"
    for setting, value in {
        "core.repositoryformatversion": "1",
        "core.sshCommand": command,
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": str(tmp_path / "nowhere"),
        "remote.origin.uploadpack": command,
    }.items():
        run_git(root, "config", setting, value)
    tracked(root)
    assert not (tmp_path / "was-run").exists()


def no_program(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    monkeypatch.setenv("PATH", str(root / "nowhere"))


def refused(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """As if the repository were somebody else's."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")


def too_slow(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    slow = root.parent / "slow" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(git, "TIMEOUT_S", 0.05)


def damaged(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    (root / ".git/index").write_bytes(b"\0" * 100)


@pytest.mark.parametrize("trouble", [no_program, refused, too_slow, damaged])
def test_where_git_cannot_tell_the_folder_is_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Callable[[pytest.MonkeyPatch, Path], None]
) -> None:
    root = repository(tmp_path / "root", {"a.py": "", ".gitignore": "*.log"})
    write(root, {"new.py": "", "x.log": ""})
    trouble(monkeypatch, root)
    assert tracked(root) is None
    assert refs(root) == ["a.py", "new.py"]


def test_a_folder_outside_of_any_repository_is_not_tracked(tmp_path: Path) -> None:
    assert tracked(tmp_path) is None
    assert tracked(tmp_path / "missing") is None


Run = Callable[..., tuple[int, str, str]]


def test_the_command_tells_what_git_does_not_track_and_takes_it_where_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    repository(tmp_path, {"a.py": "a = 1", "b.py": "b = 2", ".gitignore": "*.log\n.recollect/\n"})
    write(tmp_path, {"new.py": "n = 3", "x.log": "log"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOLLECT_EMBED_MODEL", "none")
    code, out, err = run("index", ".")
    assert (code, err) == (0, "recollect: left out 1 file that git does not track: --untracked takes them in too\n")
    assert out.startswith("indexed 2 files: 2 new")
    code, out, err = run("index", ".", "--untracked", "--json")
    assert (code, err) == (0, "")
    assert [json.loads(out)[name] for name in ("added", "unchanged", "untracked")] == [1, 2, 0]
    assert run("index", ".", "--quiet") == (0, "", "")
    assert run("get", "new.py")[0] == 1
    assert run("index", "new.py")[1].startswith("indexed 1 file: 1 new")
    monkeypatch.setenv("RECOLLECT_INGEST_UNTRACKED", "true")
    assert "3 unchanged" in run("index", ".")[1]


def test_files_have_their_role_by_the_path_inside_of_what_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    home, outside = tmp_path / "home", tmp_path / "tests" / "vendor" / "project"
    write(home, {"tests/test_a.py": "a = 1", "src/a.py": "a = 1"})
    write(outside, {"src/b.py": "b = 1", "tests/c.py": "c = 1"})
    monkeypatch.chdir(home)
    monkeypatch.setenv("RECOLLECT_EMBED_MODEL", "none")
    assert run("index", ".", str(outside))[0] == 0

    def role(item_id: str) -> object:
        return json.loads(run("get", item_id, "--json")[1])["metadata"].get("role")

    assert [role("tests/test_a.py"), role("src/a.py")] == ["test", None]
    assert [role(f"{outside}/src/b.py"), role(f"{outside}/tests/c.py")] == [None, "test"]
