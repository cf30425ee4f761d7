"""The results as tables: for the terminal, and for the page `docs/benchmarks.md`, whose tables stand between two marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .code_tables import tables as code_tables
from .graph import tables as graph_tables
from .markdown import table
from .memory import tables as memory_tables
from .postgres_tables import tables as postgres_tables
from .serving_tables import tables as serving_tables

BEGIN, END = "<!-- results -->", "<!-- end of results -->"
Row = tuple[str, Callable[[Any], str]]


def tables(results: Mapping[str, Any]) -> str:
    """Everything that was measured, as Markdown."""
    parts = [_measured_on(results)]
    if sizes := results.get("query"):
        parts.append(
            table(["", *(f"{size['chunks']:,} chunks" for size in sizes)], [[name, *map(show, sizes)] for name, show in QUERY_ROWS])
        )
    if found := results.get("evidence"):
        parts.append(_evidence(found))
    if kinds := results.get("index"):
        parts.append(table(INDEX_HEADER, [_index_row(name, kind) for name, kind in kinds.items()]))
    if start := results.get("start"):
        parts.append(
            f"`recollect search` from the shell, {start['chunks']:,} chunks: {start['p50_s']:.2f} s (p50 of {start['runs']} runs)."
        )
    if found := results.get("code"):
        parts.append(code_tables(found))
    if found := results.get("graph"):
        parts.append(graph_tables(found))
    if found := results.get("memory"):
        parts.append(memory_tables(found))
    if found := results.get("postgres"):
        parts.append(postgres_tables(found))
    if found := results.get("serve"):
        parts.append(serving_tables(found))
    return "\n\n".join(parts)


def _measured_on(results: Mapping[str, Any]) -> str:
    machine = results["machine"]
    return (
        f"Measured on {results['date']}: {machine['processor']}, {machine['cores']} cores, Python {machine['python']}, "
        f"load {machine['load_at_start']} at the start. Text: {results['text']}. Model: {results['model']}."
    )


def _evidence(found: Mapping[str, Any]) -> str:
    """What evidence costs, and how soon a search ends."""
    cold, ms = found["cold_ms"], found["ms"]
    ways = {"without": "without evidence", "index": "from the index", "cache": "from the chunk cache, 128 tokens a chunk"}
    rows = [[what, *(_pair(ms, f"{way}{part}") for part in ("", ", above", ", chunks", ", weigh", ", show"))] for way, what in ways.items()]
    head = f"a query for {found['candidates']} of {found['documents']} documents, {found['chunks']:,} chunks"
    stops = "; ".join(f"{what}: {wait:.0f} ms" for what, wait in found["stop_ms"].items())
    return "\n\n".join(
        (
            table([head, "p50 / p95 ms", "**above the first**", "chunks", "weigh", "show"], rows),
            f"Cold, with nothing in the cache: {cold['total']:,.0f} ms, of them {cold['cut']:,.0f} to cut "
            f"and {cold['embed_chunks']:,.0f} to embed {cold['chunks']:,.0f} chunks.",
            f"A search that is cancelled, the longest wait of {found['cancelled']}: {stops}.",
        )
    )


def _both(stage: str) -> Callable[[Any], str]:
    return lambda size: f"{_pair(size['ms'], stage)} · {_pair(size['limit_ms'], stage)}"


def _ours(stage: str) -> Callable[[Any], str]:
    return lambda size: _pair(size["ms"], stage)


def _pair(timing: Mapping[str, Mapping[str, float]], stage: str) -> str:
    return f"{timing[stage]['p50']:.1f} / {timing[stage]['p95']:.1f}" if stage in timing else "-"


def ratio(size: Mapping[str, Any], percentile: str) -> float:
    """A query's time as a multiple of the limit's."""
    return float(size["ms"]["total"][percentile] / size["limit_ms"]["total"][percentile])


QUERY_ROWS: Sequence[Row] = (
    ("**query**, p50 / p95 ms", _ours("total")),
    ("the limit: bare embedder + Tantivy + FAISS", lambda size: _pair(size["limit_ms"], "total")),
    ("**times the limit**, p50 / p95", lambda size: f"{ratio(size, 'p50'):.2f} / {ratio(size, 'p95'):.2f}"),
    ("embed · bare", _both("embed")),
    ("text (beside embed) · bare", _both("text")),
    ("vector · bare", _both("vector")),
    ("fuse", _ours("fuse")),
    ("fold: look-up, near-duplicates", _ours("fold")),
    ("chunks of the candidates", _ours("chunks")),
    ("show: evidence, snippets", _ours("show")),
    ("rest: parsing, threads, contracts", _ours("rest")),
    ("vector recall@50", lambda size: f"{size['recall_at_50']:.3f}"),
    ("vectors", lambda size: size["vectors"]),
    ("written, rows/s", lambda size: f"{size['rows_per_s']:,.0f}" if size["rows_per_s"] else "-"),
    ("memory, MB: own + mapped files", lambda size: _memory(size["memory_mb"])),
    ("disk, bytes/chunk", lambda size: f"{size['disk_bytes_per_chunk']:,}"),
)
INDEX_HEADER = ["indexing", "items", "chunks", "chunks/s", "bare embedder, chunks/s", "share of it"]


def _memory(memory: Mapping[str, float]) -> str:
    return f"{memory['own']:,.0f} + {memory['with_mapped_files'] - memory['own']:,.0f}"


def _index_row(name: str, kind: Mapping[str, float]) -> list[str]:
    rates = [f"{kind[key]:,.0f}" for key in ("items", "chunks", "chunks_per_s", "embedder_chunks_per_s")]
    return [name, *rates, f"**{kind['ratio']:.2f}**"]


def publish(page: Path, results: Mapping[str, Any]) -> None:
    """Put the tables into the page."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{tables(results)}\n\n{END}{after}", encoding="utf-8")
