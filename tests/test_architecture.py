"""The import law: surfaces -> library -> pipeline -> (stages | stores | embed, blind to each other) -> ports -> values."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "recollect"

VALUES = {
    "errors",
    "model",
    "outline",
    "textquery",
    "filters",
    "globs",
    "profiles",
    "plan",
    "contracts",
    "prefs",
    "request",
    "nearness",
    "stopwatch",
}
VALUES |= {"kinds", "routing", "shapes", "naming", "knowledge", "answers", "memories", "memory_settings", "domains"}
SHARED = VALUES | {"ports", "analysis", "matching", "cancellation", "endpoint", "wire"}
ALLOWED = {
    "errors": set(),
    "cancellation": {"errors"},
    "model": {"errors"},
    "outline": {"model"},
    "textquery": set(),
    "filters": {"errors", "globs", "model"},
    "globs": set(),
    "profiles": {"errors", "model"},
    "nearness": {"model"},
    "stopwatch": set(),
    "telemetry": {"errors", "stopwatch"},
    "kinds": set(),
    "shapes": {"errors"},
    "routing": {"shapes"},
    "plan": {"filters", "prefs", "profiles", "routing", "textquery"},
    "contracts": {"routing", "shapes"},
    "prefs": {"filters", "nearness", "profiles", "routing", "shapes"},
    "knowledge": {"contracts", "prefs", "shapes"},
    "answers": {"knowledge", "shapes"},
    "memories": {"errors", "filters", "prefs", "shapes"},
    "memory_settings": {"retrieval_settings"},
    "domains": {"memories", "model"},
    "naming": set(),
    "schemas": {"answers", "contracts", "knowledge", "memories", "prefs"},
    "request": {"cancellation", "errors", "shapes"},
    "analysis": {"cancellation", "errors"},
    "matching": {"analysis", "cancellation", "model", "textquery"},
    "ports": VALUES,
    "settings": {"errors", "memory_settings", "profiles", "retrieval_settings", "serve_settings"},
    "retrieval_settings": {"errors", "profiles"},
    "serve_settings": {"retrieval_settings"},
    "resultcache": set(),
    "metrics": {"knowledge"},
    "wire": {"cancellation"},
    "endpoint": {"cancellation", "errors", "wire"},
    "understand": SHARED,
    "route": SHARED,
    "recall": SHARED,
    "rank": SHARED,
    "syntax": SHARED,
    "evidence": SHARED | {"syntax"},
    "assemble": SHARED | {"evidence", "rank"},
    "embed": SHARED | {"settings"},
    "llm": SHARED | {"settings"},
    "stores": SHARED | {"settings"},
    # The write path is one pipeline: it cuts and sketches what it takes in.
    "ingest": SHARED | {"evidence", "rank", "settings", "syntax"},
    "expand": SHARED,
    "cite": {"answers", "evidence"},
    "answering": {"answers", "cancellation", "cite", "errors", "knowledge", "ports", "request"},
    "domain": SHARED,
    "learn": SHARED,
    # The read path of memories, and the service around it and around what is remembered.
    "recalling": SHARED | {"understand", "recall", "rank", "evidence", "expand", "assemble"},
    "memory": SHARED | {"recall", "recalling", "ingest", "evidence", "learn", "metrics", "recording", "telemetry", "understand"},
    "pipeline": SHARED | {"candidates", "understand", "recall", "rank", "evidence", "expand", "assemble"},
    "candidates": SHARED | {"recall", "rank", "evidence"},
    "consult": SHARED | {"assemble", "rank", "recall", "retrieval_settings", "shorthand", "similar", "syntax", "telemetry"},
    "asking": SHARED | {"pipeline", "understand", "evidence", "expand"},
    "recording": SHARED,
    "similar": SHARED,
    "spans": SHARED | {"evidence"},
    "retriever": SHARED
    | {"settings", "retrieval_settings", "metrics", "resultcache", "asking", "understand", "evidence", "recording"}
    | {"telemetry"},
    "shorthand": SHARED | {"settings"},
    "wiring": SHARED | {"settings", "metrics", "recording", "retriever", "recalling", "route", "evidence", "embed", "domain", "telemetry"},
    "library": SHARED
    | {"answering", "settings", "shorthand", "ingest", "embed", "llm", "stores", "sync", "spans", "consult", "memory", "wiring"},
    "sync": {"consult", "errors", "knowledge", "library", "memory"},
    "integrations": {"contracts", "errors", "library", "model", "stores", "sync"},
    "likeness": SHARED,
    "copying": SHARED | {"ingest", "likeness"},
    "evaluate": SHARED | {"settings", "library", "ingest", "stores"},
    "testing": SHARED | {"understand", "stores"},
}


def package_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0]


def imports(path: Path) -> set[str]:
    """The packages of recollect that a module imports, wherever in it."""
    depth = len(path.relative_to(SOURCE).parts)
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            found |= {node.module.split(".")[0]} if node.module else {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").startswith("recollect."):
            found.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("recollect.")}
    return found


MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE or path.stem not in ("__init__", "__main__")]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_a_module_imports_only_what_its_layer_may(path: Path) -> None:
    package = package_of(path)
    if package == "surfaces":
        return
    assert imports(path) - {package} <= ALLOWED[package]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_a_module_says_what_it_does_and_stays_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "a module opens with a sentence"
    assert text.count("\n") <= 400


def test_only_settings_reads_the_environment() -> None:
    readers = [path.name for path in MODULES if "os.environ" in (text := path.read_text(encoding="utf-8")) or "getenv" in text]
    assert readers == ["settings.py"]


def test_only_the_command_line_prints() -> None:
    printers = {package_of(path) for path in MODULES if re.search(r"\bprint\(", path.read_text(encoding="utf-8"))}
    assert printers <= {"surfaces"}
