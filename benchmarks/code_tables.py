"""What was measured of code, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .markdown import table

STAGES = ("names", "embed", "text", "vector", "fuse", "fold", "chunks", "weigh", "show", "expand")
KINDS = ("all", "words", "mentioned", "tests", "places")


def tables(found: Mapping[str, Any]) -> str:
    """Speed, and how well questions are answered."""
    return "\n\n".join((_speed(found), _answered(found["answers"])))


def _speed(found: Mapping[str, Any]) -> str:
    asked, parsing, changing, index = found["asking"], found["parsing"], found["changing"], found["index"]
    repository = f"{asked['files']:,} files, {asked['functions']:,} functions, {asked['chunks']:,} chunks, {asked['edges']:,} edges"
    rows = [
        ["a question in words, p50 / p95 ms", _pair(asked["words_ms"]["total"])],
        ["its stages", _stages(asked["words_ms"])],
        ["a name, p50 / p95 ms", _pair(asked["names_ms"]["total"])],
        [f"definitions that come first, of {asked['names']} names drawn at random", f"**{asked['names_first']}**"],
        ["the same, asked by their qualified names", f"**{asked['qualified_first']}**"],
        [
            "indexing source files, share of the bare embedder's speed",
            f"**{index['ratio']:.2f}** of {index['embedder_chunks_per_s']:,.0f}/s",
        ],
        ["parsing alone · with its outline, MB/s", f"{parsing['parser_mb_per_s']} · {parsing['outline_mb_per_s']}"],
        [
            f"{changing['changed']} of {changing['files']:,} files changed: indexing · the whole command, s",
            f"{changing['seconds']} · {changing['command_seconds']}",
        ],
    ]
    return table([repository, ""], rows)


def _pair(timing: Mapping[str, float]) -> str:
    return f"{timing['p50']:.1f} / {timing['p95']:.1f}"


def _stages(ms: Mapping[str, Mapping[str, float]]) -> str:
    return ", ".join(f"{stage} {ms[stage]['p50']:.1f}" for stage in STAGES if stage in ms)


def _answered(variants: Mapping[str, Mapping[str, float]]) -> str:
    head = ["120 questions, MRR: file · definition", *KINDS]
    rows = [
        [name, *(f"{scores[f'{kind} file']:.3f} · {scores[f'{kind} definition']:.3f}" for kind in KINDS)]
        for name, scores in variants.items()
    ]
    return table(head, rows)
