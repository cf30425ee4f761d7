"""What was measured on Postgres, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .markdown import table

WAYS = {
    "search": "**search**: a question as text, its vector made here",
    "search, vector given": "**search, its vector given**",
    "one after the other": "its two statements by hand, one after the other",
    "side by side": "its two statements by hand, on two connections at once",
    "plain": "`ts_rank_cd` of every match, and `ORDER BY` the distance",
}
SENT = ("by hand", "plain")
STAGES = ("embed", "text", "vector", "fuse", "fold", "chunks", "weigh", "show")


def tables(found: Mapping[str, Any]) -> str:
    """A search, loading, and common words."""
    parts = [_asked(found["items"], found["query"]), _loaded(found["load"])]
    if common := found.get("common"):
        parts.append(_common(common))
    return "\n\n".join(parts)


def _asked(items: int, asked: Mapping[str, Any]) -> str:
    ms, ratio = asked["ms"], asked["ratio"]
    rows = [
        [
            what,
            _pair(ms[way]),
            *(_pair(ratio[way][ours], decimals=2) if way in ratio else "-" for ours in ("search", "search, vector given")),
        ]
        for way, what in WAYS.items()
    ]
    head = [f"{items:,} items, {asked['queries']} questions", "p50 / p95 ms", "a search is so many times that", "and with its vector given"]
    by_hand = ", ".join(
        f"{way}: {_pair(ms[f'{way}, text'])} by words, {_pair(ms[f'{way}, vector'])} by vector" for way in ("by hand", "plain")
    )
    stages = ", ".join(f"{stage} {_pair(ms[stage])}" for stage in STAGES if stage in ms)
    return "\n\n".join(
        (
            table(head, rows),
            f"Stages of a search, p50 / p95 ms: {stages}. The statements, {by_hand}. Vector recall@50: {asked['recall_at_50']:.3f}.",
        )
    )


def _loaded(load: Mapping[str, Any]) -> str:
    rates, own = load["rows_per_s"], load["own_ms_per_row"]
    return (
        f"Loading, {load['batch']} items a transaction: {rates['ours']:,} items/s; bare COPY of the same rows into the same tables with "
        f"the same indexes: {rates['bare']:,}. That is **{load['ratio']:.2f}** of it. Of {load['ms_per_row']['ours']:.2f} ms for an item "
        f"{own['ours']:.2f} are spent outside of the server, {own['analysis']:.2f} of them on its words."
    )


def _common(common: Mapping[str, Any]) -> str:
    rows = [
        [f"`{' '.join(each['words'])}`", f"{each['matching']:,}", f"{each['ms']:.1f}", f"{each['plain_ms']:,.1f}"]
        for each in common["asked"]
    ]
    return table([f"words, of {common['windows']:,} windows", "windows with one of them", "ms", "a rank of every match, ms"], rows)


def _pair(timing: Mapping[str, float], decimals: int = 1) -> str:
    return " / ".join(f"{timing[percentile]:.{decimals}f}" for percentile in ("p50", "p95"))
