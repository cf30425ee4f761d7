"""What code costs: parsing it, taking in a repository, asking it in words and by name, and taking in a change of ten files.

The repository is made of installed packages: real code of many hands, up to a number of functions."""

from __future__ import annotations

import ast
import random
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from recollect.library import Library
from recollect.model import Symbol
from recollect.ports import Embedder
from recollect.settings import Settings
from recollect.sync import SyncLibrary

from .queries import Samples, percentiles

FUNCTIONS = 30_000
QUESTIONS = 200
NAMES = 100
SMALL_FILES = 5_000
SMALL_LINES = 40
CHANGES = 10
SEED = 6
MAX_BYTES = 200_000
DEFINITION = re.compile(r"^\s*(?:async )?def ", re.MULTILINE)


def sources(functions: int = FUNCTIONS) -> Iterator[tuple[str, str]]:
    """Paths and texts of installed Python files, until they have so many functions."""
    root = Path(sysconfig.get_paths()["purelib"])
    for path in sorted(root.rglob("*.py")):
        if functions <= 0:
            return
        if path.stat().st_size > MAX_BYTES:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        functions -= len(DEFINITION.findall(text))
        yield path.relative_to(root).as_posix(), text


def parsing() -> dict[str, float]:
    """Megabytes a second: the parser alone, and with everything that is read from the tree."""
    from tree_sitter import Language, Parser
    from tree_sitter_python import language

    from recollect.syntax import outline

    texts = [text for _, text in sources(5_000)]
    size = sum(len(text.encode()) for text in texts) / 1e6
    parser = Parser(Language(language()))
    outline("pass", "python")
    begin = perf_counter()
    for text in texts:
        parser.parse(text.encode())
    parsed = perf_counter()
    for text in texts:
        outline(text, "python")
    return {
        "megabytes": round(size, 1),
        "parser_mb_per_s": round(size / (parsed - begin), 1),
        "outline_mb_per_s": round(size / (perf_counter() - parsed), 1),
    }


def repository(folder: Path, files: Sequence[tuple[str, str]]) -> Path:
    """The files as a git repository."""
    shutil.rmtree(folder, ignore_errors=True)
    for ref, text in files:
        path = folder / ref
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for command in (["init", "-q"], ["add", "-A", "-f"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def asking(folder: Path, embedder: Embedder, *, reuse: bool) -> dict[str, Any]:
    """Build a repository and a store of it, and ask it in words and by name."""
    repo = folder / "repo"
    if not (reuse and (repo / ".recollect").exists()):
        repository(repo, list(sources()))
    with Library.open(repo / ".recollect", embedder=embedder, options=Settings()).sync() as library:
        begin = perf_counter()
        report = library.index(repo, base=repo)
        took = perf_counter() - begin
        status = library.status()
        words = _timed(library, list(questions(repo))[:QUESTIONS])
        drawn = random.Random(SEED).sample(_named(library), NAMES)
        names = _timed(library, [symbol.name for symbol in drawn])
        first = sum(_is_first(library, symbol.name) for symbol in drawn)
        qualified = sum(_is_first(library, symbol.qualified) for symbol in drawn)
    return {
        "files": status.items,
        "functions": sum(len(DEFINITION.findall(path.read_text(encoding="utf-8"))) for path in repo.rglob("*.py")),
        "chunks": status.chunks,
        "edges": status.edges,
        "chunks_per_s": round(report.chunks_embedded / took, 1) if report.chunks_embedded else None,
        "words_ms": {name: percentiles(samples) for name, samples in words.items()},
        "names_ms": {name: percentiles(samples) for name, samples in names.items()},
        "names_first": first,
        "qualified_names_first": qualified,
    }


def questions(repo: Path) -> Iterator[str]:
    """What is said of functions in the first line of their docstrings, drawn at random."""
    paths = sorted(repo.rglob("*.py"))
    random.Random(SEED).shuffle(paths)
    for path in paths:
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):
            continue
        said = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        lines = [doc.strip().splitlines()[0] for doc in said if doc and doc.strip()]
        yield from [line for line in lines if 20 < len(line) < 120][:1]


def _timed(library: SyncLibrary, queries: Sequence[str]) -> Samples:
    for query in queries[:30]:
        library.search(query, profile="code")
    found: Samples = {}
    for query in queries:
        begin = perf_counter()
        bundle = library.search(query, profile="code", debug=True)
        found.setdefault("total", []).append((perf_counter() - begin) * 1000)
        for stage, took in bundle.stats.timing_ms.items():
            if stage != "total":
                found.setdefault(stage, []).append(took)
    return found


def _named(library: SyncLibrary) -> list[Symbol]:
    """Every function, method and class that the index has."""
    from recollect.outline import symbols_of

    stored = [(item, library.outline(item.id)) for item in library.items()]
    return [symbol for item, outline in stored for symbol in symbols_of(item, outline) if symbol.kind in ("function", "method", "class")]


def _is_first(library: SyncLibrary, name: str) -> bool:
    """Whether the first piece of evidence is a definition of that name."""
    evidence = library.search(name, profile="code").evidence
    if not evidence:
        return False
    last = name.rpartition(".")[2]
    return re.search(rf"(?:def|class)\s+{re.escape(last)}\b", evidence[0].text) is not None


def changing(folder: Path, embedder_name: str) -> dict[str, float]:
    """The time of `recollect index .` after ten of five thousand files changed, by the clock: p50 of five."""
    repo = repository(folder / "small", [(ref, "\n".join(text.splitlines()[:SMALL_LINES])) for ref, text in sources(10**9)][:SMALL_FILES])
    command = [sys.executable, "-m", "recollect", "index", ".", "--quiet"]
    environment = {"RECOLLECT_EMBED_MODEL": embedder_name}
    subprocess.run(command, cwd=repo, check=True, env=_environment(environment))
    paths = sorted(repo.rglob("*.py"))
    times = []
    for turn in range(5):
        for path in random.Random(turn).sample(paths, CHANGES):
            path.write_text(
                path.read_text(encoding="utf-8") + f"\n\ndef added_{turn}(value):\n    return value + {turn}\n", encoding="utf-8"
            )
        begin = perf_counter()
        subprocess.run(command, cwd=repo, check=True, env=_environment(environment))
        times.append(perf_counter() - begin)
    return {"files": len(paths), "changed": CHANGES, "seconds": round(sorted(times)[len(times) // 2], 2)}


def _environment(more: dict[str, str]) -> dict[str, str]:
    import os

    return {**os.environ, **more}
