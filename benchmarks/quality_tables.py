"""What became of each value, and the tables that show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OK, DRIFT, FAIL, NEW = "OK", "drift", "FAIL", "new"
ALONE = ("text", "vector")


@dataclass(frozen=True, slots=True)
class Value:
    """A measured value, what was expected, and the verdict."""

    set: str
    model: str
    run: str
    value: float
    expected: float | None
    mark: str

    @property
    def line(self) -> str:
        told = "" if self.expected is None else f" expected {self.expected:.3f}"
        return f"{self.mark:5} {self.set} {self.model} {self.run:9} {self.value:.3f}{told}"


def judged(plan: Mapping[str, Any], values: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[Value]:
    """Every value with its verdict."""
    rows: list[Value] = []
    for name, by_model in values.items():
        for model, by_run in by_model.items():
            for run, value in by_run.items():
                expected = plan["expected"].get(name, {}).get(model, {}).get(run)
                rows.append(Value(name, model, run, value, expected, _mark(plan, name, run, value, expected, by_run)))
    return rows


def _mark(plan: Mapping[str, Any], name: str, run: str, value: float, expected: float | None, others: Mapping[str, float]) -> str:
    options = plan["sets"][name]
    must_pay = options.get("rank", True) and run == options["profile"] and others.keys() >= set(ALONE)
    if must_pay and value < max(others[each] for each in ALONE) - plan["ok"]:
        return FAIL
    if expected is None:
        return NEW
    if value < expected - plan["fail"]:
        return FAIL
    return OK if abs(value - expected) <= plan["ok"] else DRIFT


def table_of_stages(plan: Mapping[str, Any], values: Mapping[str, Any], counts: Mapping[str, int]) -> str:
    """For each set: words alone, meaning alone, both; and the other model."""
    lines = [
        "| set | measure | questions | words | meaning | **both** | profile | both, `minilm` |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, by_model in values.items():
        options, ours = plan["sets"][name], by_model["granite"]
        other = by_model.get("minilm", {}).get(options["profile"])
        shown = [ours["text"], ours["vector"], ours[options["profile"]], other]
        text, vector, both, theirs = ("-" if value is None else f"{value:.3f}" for value in shown)
        lines.append(
            f"| {name} | {options['measure']} | {counts[name]} | {text} | {vector} | **{both}** | {options['profile']} | {theirs} |"
        )
    return "\n".join(lines)


def table_of_profiles(plan: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """For each set: every run of every model."""
    columns = [(model, run) for model, runs in plan["models"].items() for run in runs]
    lines = [
        "| set | measure | " + " | ".join(f"{model}: {run}" if model != "granite" else run for model, run in columns) + " |",
        "|---" * (len(columns) + 2) + "|",
    ]
    for name, by_model in values.items():
        options = plan["sets"][name]
        cells = [by_model[model].get(options["profile"] if run == "own" else run) for model, run in columns]
        lines.append(f"| {name} | {options['measure']} | " + " | ".join("-" if cell is None else f"{cell:.3f}" for cell in cells) + " |")
    return "\n".join(lines)


def write_between(page: Path, mark: str, text: str) -> None:
    """Put the text between `<!-- mark -->` and `<!-- /mark -->`."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(f"<!-- {mark} -->")
    _, end, after = rest.partition(f"<!-- /{mark} -->")
    if not begin or not end:
        raise SystemExit(f"{page.name} has no <!-- {mark} --> and <!-- /{mark} --> to write between")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")
