"""`python -m benchmarks`: measures Recollect beside its bare parts and prints one report.

A run of everything is kept in benchmarks/results.json and docs/benchmarks.md; one of some parts or sizes is only printed, except for
what evidence costs, for code, for graphs, for memory, for Postgres and for the service, which have tables of their own.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import parts
from .machine import apart, described
from .passages import read_texts
from .quality_tables import write_between
from .report import publish, tables

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PAGE = HERE.parent / "docs" / "benchmarks.md"
SIZES = {"10k": 10_000, "100k": 100_000, "1m": 1_000_000}
PARTS = ("query", "evidence", "index", "start", "code", "graph", "memory", "postgres", "serve")
APART = ("evidence", "code", "graph", "memory", "postgres", "serve")
"""What has a place of its own on the page."""
START_SIZE = POSTGRES_SIZE = SERVE_SIZE = SIZES["100k"]


def main() -> None:
    args = _arguments()
    facts: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": described(),
        "model": parts.embedder().model_id,
        "text": read_texts(args.text).source,
    }
    results = dict(facts)
    if "query" in args.parts:
        results["query"] = [_query(size, args) for size in args.sizes]
    if "evidence" in args.parts:
        _say("asking for evidence")
        evidence = {"evidence": apart(parts.evidence, args.text)}
        write_between(PAGE, "evidence", tables(facts | evidence))
        results |= evidence
    if "index" in args.parts:
        _say("indexing")
        results["index"] = {kind: apart(parts.index, kind, args.text) for kind in parts.INDEX_KINDS}
    if "start" in args.parts:
        _build(START_SIZE, args, only_missing=True)
        _say("starting from the shell")
        results["start"] = parts.start(START_SIZE, args.text)
    if "code" in args.parts:
        _say("parsing, indexing and asking code")
        code = {"code": apart(parts.code)}
        write_between(PAGE, "code", tables(facts | code))
        results |= code
    if "graph" in args.parts:
        _say("walking over a graph")
        graph = {"graph": apart(parts.graph)}
        write_between(PAGE, "graph", tables(facts | graph))
        results |= graph
    if "memory" in args.parts:
        results["memory"] = _memory(facts, args)
    if "postgres" in args.parts:
        results["postgres"] = _postgres(facts, args)
    if "serve" in args.parts:
        _build(SERVE_SIZE, args, only_missing=True)
        _say("serving")
        serve = {"serve": parts.serve(SERVE_SIZE, args.text)}
        write_between(PAGE, "serve", tables(facts | serve))
        results |= serve
    print(tables(results))
    if args.parts == list(PARTS) and args.sizes == list(SIZES.values()):
        RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
        publish(PAGE, {name: found for name, found in results.items() if name not in APART})


def _arguments() -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--sizes", type=_sizes, default=list(SIZES.values()), help=f"some of {','.join(SIZES)}, or numbers")
    parser.add_argument("--parts", type=_parts, default=list(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--text", type=Path, default=HERE.parents[1] / "shared" / "data", help="a folder of data sets: */corpus.jsonl")
    parser.add_argument("--reuse", action="store_true", help="ask the stores that an earlier run left, instead of building them again")
    return parser.parse_args()


def _sizes(text: str) -> list[int]:
    return [SIZES[name] if name in SIZES else int(name) for name in text.lower().split(",")]


def _parts(text: str) -> list[str]:
    chosen = text.split(",")
    if unknown := sorted(set(chosen) - set(PARTS)):
        raise ArgumentTypeError(f"there is no part {unknown[0]!r}: use {', '.join(PARTS)}")
    return chosen


def _query(size: int, args: Namespace) -> dict[str, Any]:
    rows_per_s = _build(size, args, only_missing=args.reuse)
    _say(f"asking {size:,} chunks")
    return apart(parts.ask, size, args.text) | {"rows_per_s": rows_per_s}


def _memory(facts: dict[str, Any], args: Namespace) -> dict[str, Any]:
    """Of the largest size, and of so many on Postgres; kept unless it is smaller than it should be."""
    size = max(args.sizes)
    if not (args.reuse and parts.memories_of(size).exists()):
        _say("writing memories")
        apart(parts.memory_build, size, args.text)
    _say("recalling")
    found = {
        "embedded": apart(parts.memory, size, args.text),
        "postgres": apart(parts.memory_postgres, min(POSTGRES_SIZE, size), args.text),
    }
    if size > POSTGRES_SIZE:
        write_between(PAGE, "memory", tables(facts | {"memory": found}))
    return found


def _postgres(facts: dict[str, Any], args: Namespace) -> dict[str, Any]:
    """Kept also where nothing else is measured, unless it is smaller than it should be."""
    _say("loading and asking Postgres")
    largest = max(args.sizes)
    windows = largest if largest > POSTGRES_SIZE else 0
    found = apart(parts.postgres, min(POSTGRES_SIZE, largest), args.text, windows=windows)
    if windows:
        write_between(PAGE, "postgres", tables(facts | {"postgres": found}))
        kept = json.loads(RESULTS.read_text(encoding="utf-8"))
        RESULTS.write_text(json.dumps(kept | {"postgres": facts | found}, indent=2) + "\n", encoding="utf-8")
    return facts | found


def _build(size: int, args: Namespace, *, only_missing: bool) -> float | None:
    """Rows written a second, also by the earlier run that left the store."""
    rate = parts.store_of(size).with_suffix(".rows_per_s")
    if not (only_missing and parts.store_of(size).exists()):
        rate.write_text(str(apart(parts.build, size, args.text)), encoding="utf-8")
    return float(rate.read_text(encoding="utf-8")) if rate.exists() else None


def _say(what: str) -> None:
    print(what, file=sys.stderr)


if __name__ == "__main__":
    main()
