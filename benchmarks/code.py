"""What code costs and how well it is found: parsing, a repository of 30,000 functions asked in words and by name, a change of ten files,
and questions whose answers are known.

The repositories are made of installed packages: real code of many hands."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from recollect import profiles
from recollect.library import Library
from recollect.model import Item, Vector
from recollect.ports import Embedder
from recollect.profiles import PROFILES, TEXT, VECTOR, Profile
from recollect.settings import Settings
from recollect.sync import SyncLibrary
from recollect.syntax import outline

from .build import SCOPE
from .indexing import AT
from .queries import Samples, percentiles

PACKAGES = (
    *("httpx", "httpcore", "anyio", "h11", "sqlalchemy", "alembic", "pydantic", "_pytest", "hypothesis", "yaml", "packaging", "mako"),
    *("pip", "numpy/lib", "numpy/ma", "scipy/optimize", "scipy/stats"),
)
QUESTIONS = Path(__file__).parent / "code_questions.jsonl"
FUNCTIONS = 30_000
ASKED = 200
NAMES = 100
OTHERS = 150
SMALL_FILES = 5_000
SMALL_LINES = 40
CHANGES = 10
TURNS = 5
SEED = 6
MAX_BYTES = 200_000
DEFINITION = re.compile(r"^\s*(?:async )?def ", re.MULTILINE)
ROOT = Path(sysconfig.get_paths()["purelib"])


class Filler:
    """Gives passages any vectors, quickly, and questions their own: for stores that are only asked how fast they are."""

    def __init__(self, inner: Embedder) -> None:
        self._inner, self._random = inner, np.random.default_rng(SEED)
        self.model_id, self.dim, self.max_tokens, self.tokens = inner.model_id, inner.dim, inner.max_tokens, inner.tokens

    def embed(self, texts: Sequence[str]) -> Vector:
        vectors = self._random.standard_normal((len(texts), self.dim), np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Vector:
        return self._inner.embed_query(text)


def sources(packages: Sequence[str] = PACKAGES) -> Iterator[tuple[str, str]]:
    """Paths and texts of the Python files of packages."""
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.stat().st_size <= MAX_BYTES:
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8", errors="replace")


def some(functions: int) -> list[tuple[str, str]]:
    """Files of all packages, drawn at random, until they have so many functions."""
    files = list(sources())
    random.Random(SEED).shuffle(files)
    found: list[tuple[str, str]] = []
    for each in files:
        if functions <= 0:
            break
        found.append(each)
        functions -= len(DEFINITION.findall(each[1]))
    return found


def items() -> list[Item]:
    """Source files as items."""
    return [
        Item(
            scope=SCOPE,
            id=ref,
            text=text,
            kind="code",
            format="code",
            source_ref=ref,
            metadata={"language": "python"},
            created_at=AT,
            updated_at=AT,
        )
        for ref, text in some(FUNCTIONS // 10)
    ]


def parsing() -> dict[str, float]:
    """Megabytes a second: the parser alone, and with everything that is read from the tree."""
    from tree_sitter import Language, Parser
    from tree_sitter_python import language

    texts = [text for _, text in sources(("sqlalchemy",))]
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


def asking(folder: Path, embedder: Embedder) -> dict[str, Any]:
    """A store of many functions, asked in words and by name."""
    files = some(FUNCTIONS)
    repo = repository(folder / "repo", files)
    with Library.open(repo / ".recollect", embedder=Filler(embedder), options=Settings()).sync() as library:
        library.index(repo, base=repo)
        status = library.status()
        words = _timed(library, [line["question"] for line in _lines()])
        drawn = random.Random(SEED).sample(list(_names(files)), NAMES)
        return {
            "files": status.items,
            "functions": sum(len(DEFINITION.findall(text)) for _, text in files),
            "chunks": status.chunks,
            "edges": status.edges,
            "words_ms": {name: percentiles(samples) for name, samples in words.items()},
            "names_ms": {name: percentiles(samples) for name, samples in _timed(library, [name for name, _ in drawn]).items()},
            "names": NAMES,
            "names_first": sum(_is_first(library, name, name) for name, _ in drawn),
            "qualified_first": sum(_is_first(library, qualified, name) for name, qualified in drawn),
        }


def _names(files: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Every function, method and class, by its name and its qualified name."""
    for _, text in files:
        for each in outline(text, "python").definitions:
            if each.kind in ("function", "method", "class"):
                yield each.name, each.qualified


def _is_first(library: SyncLibrary, asked: str, name: str) -> bool:
    """Whether the first piece of evidence is a definition of that name. Of a long one with decorators it may be the beginning."""
    evidence = library.search(asked, profile="code").evidence
    if not evidence or evidence[0].anchors is None:
        return False
    is_written = re.search(rf"(?:def|class)\s+{re.escape(name)}\b", evidence[0].text) is not None
    return is_written or (evidence[0].anchors.symbol or "").rpartition(".")[2] == name


def _timed(library: SyncLibrary, queries: Sequence[str]) -> Samples:
    for query in queries[:30]:
        library.search(query, profile="code")
    found: Samples = {}
    for query in queries[:ASKED]:
        begin = perf_counter()
        bundle = library.search(query, profile="code", debug=True)
        found.setdefault("total", []).append(perf_counter() - begin)
        for stage, took in bundle.stats.timing_ms.items():
            if stage != "total":
                found.setdefault(stage, []).append(took / 1000)
    return found


def changing(folder: Path, embedder: Embedder) -> dict[str, Any]:
    """`recollect index .` after ten of five thousand files changed: what it says it took, and the whole command by the clock."""
    files = [(ref, "\n".join(text.splitlines()[:SMALL_LINES])) for ref, text in sources([path.name for path in sorted(ROOT.iterdir())])]
    repo = repository(folder / "small", files[:SMALL_FILES])
    with Library.open(repo / ".recollect", embedder=Filler(embedder), options=Settings()).sync() as library:
        library.index(repo, base=repo)
    command = [str(Path(sys.executable).with_name("recollect")), "index", ".", "--json"]
    paths = sorted(repo.rglob("*.py"))
    clock, said = [], []
    for turn in range(TURNS):
        for path in random.Random(turn).sample(paths, CHANGES):
            path.write_text(
                f"{path.read_text(encoding='utf-8')}\n\ndef added_{turn}(value):\n    return value + {turn}\n", encoding="utf-8"
            )
        begin = perf_counter()
        ran = subprocess.run(command, cwd=repo, check=True, capture_output=True, text=True, env=dict(os.environ))
        clock.append(perf_counter() - begin)
        said.append(json.loads(ran.stdout)["seconds"])
    middle = TURNS // 2
    return {
        "files": len(paths),
        "changed": CHANGES,
        "seconds": round(sorted(said)[middle], 2),
        "command_seconds": round(sorted(clock)[middle], 2),
    }


def _lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]


def answers(folder: Path, embedder: Embedder) -> dict[str, dict[str, float]]:
    """How well questions are answered whose answers are known, as ranked and with each thing left out: the mean reciprocal rank of
    the right file, and of the right definition among the evidence."""
    asked = _lines()
    wanted = {answer["path"] for line in asked for answer in line["answers"]}
    files = dict(sources())
    others = random.Random(SEED).sample(sorted(files.keys() - wanted), OTHERS)
    chosen = [(path, files[path]) for path in sorted({*(wanted & files.keys()), *others})]
    repo = repository(folder / "answers", chosen)
    spans = {path: _spans(text) for path, text in chosen}
    with Library.open(repo / ".recollect", embedder=embedder, options=Settings()).sync() as library:
        library.index(repo, base=repo)
        return {name: _scores(library, asked, spans, profile) for name, profile in _variants().items()}


def _variants() -> dict[str, Profile]:
    code = PROFILES["code"]
    ranking = code.code
    assert ranking is not None
    without = {
        "without names": replace(ranking, symbols=False),
        "without folders": replace(ranking, folder=1.0),
        "without roles": replace(ranking, test=1.0, generated=1.0, vendored=1.0),
    }
    return {
        "code": code,
        **{name: replace(code, code=each) for name, each in without.items()},
        "meaning alone": replace(code, weights={TEXT: 0.0, VECTOR: 1.0}),
        "words alone": replace(code, weights={TEXT: 1.0, VECTOR: 0.0}),
        "code-rrf": PROFILES["code-rrf"],
        "documents": PROFILES["documents"],
    }


def _spans(text: str) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for each in outline(text, "python").definitions:
        found.setdefault(each.qualified, []).append((each.start, each.end))
    return found


def _scores(
    library: SyncLibrary, asked: Sequence[Mapping[str, Any]], spans: Mapping[str, Mapping[str, list[tuple[int, int]]]], profile: Profile
) -> dict[str, float]:
    known = dict(PROFILES)
    profiles.PROFILES["asked"] = replace(profile, name="asked")  # type: ignore[index]
    ranks: dict[str, list[float]] = {}
    try:
        for line in asked:
            bundle = library.search(line["question"], profile="asked", k=10, chunks=20, expand=False)
            right = [(each["path"], *span) for each in line["answers"] for span in spans.get(each["path"], {}).get(each["symbol"], [])]
            paths = {each["path"] for each in line["answers"]}
            file = next((1 / rank for rank, found in enumerate(bundle.candidates, 1) if found.item_id in paths), 0.0)
            proof = ((chunk.item_id, chunk.start_idx or 0, chunk.end_idx or 0) for chunk in bundle.evidence)
            hit = (any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for b in right) for a in proof)
            definition = next((1 / rank for rank, is_right in enumerate(hit, 1) if is_right), 0.0)
            for kind in ("all", line["kind"]):
                ranks.setdefault(f"{kind} file", []).append(file)
                ranks.setdefault(f"{kind} definition", []).append(definition)
    finally:
        profiles.PROFILES.clear()  # type: ignore[attr-defined]
        profiles.PROFILES.update(known)  # type: ignore[attr-defined]
    return {name: round(sum(values) / len(values), 3) for name, values in ranks.items()}
