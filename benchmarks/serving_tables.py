"""What was measured of the service, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .markdown import table


def tables(found: Mapping[str, Any]) -> str:
    """The load, the memory and the restarts."""
    return "\n\n".join((_load(found), _memory(found["memory"]), _restart(found["restart"])))


def _load(found: Mapping[str, Any]) -> str:
    head = f"{found['clients']} clients, {found['questions']:,} questions, {found['chunks']:,} chunks"
    sides = {"service": "**the service**, over loopback", "library": "the library, in as many processes"}
    rows = [
        [what, f"{own['per_s']:.0f}", f"{own['ms']['p50']:.0f} / {own['ms']['p95']:.0f}", f"{own['cpu_ms']:.1f}", str(own["errors"])]
        for side, what in sides.items()
        for own in [found[side]]
    ]
    return "\n\n".join(
        (
            table([head, "searches/s", "p50 / p95 ms", "CPU, ms a search", "errors"], rows),
            f"Throughput of the service: **{found['ratio']:.2f}** of the library's with as many processes, {found['processes']}, "
            f"as many askers, and as many questions that each looks into at once, {found['at_once']}.",
        )
    )


def _memory(memory: Mapping[str, Any]) -> str:
    own = {int(asked): mb for asked, mb in memory["own_mb"].items()}
    places = [at for at in sorted(own) if at in (2_000, 4_000, 6_000, 8_000) or at == max(own)]
    told = ", ".join(f"{own[at]:.0f} MB after {at:,}" for at in places)
    return f"The server's own memory over {memory['requests']:,} requests, of which {memory['errors']} failed: {told}."


def _restart(found: Mapping[str, Any]) -> str:
    return (
        f"{found['restarts']} restarts under load, every second one by SIGKILL: of {found['acknowledged']:,} acknowledged writes "
        f"**{found['lost']}** were lost; {found['cut']:,} requests were cut off, and the longest time away was {found['away_s']:.1f} s."
    )
