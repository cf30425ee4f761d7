"""Scores every evaluation set as `quality.yaml` says, holds the values against what is expected, and writes the tables of the docs.

python -m benchmarks.quality [--sets scifact,cosqa_dev] [--models granite] [--accept]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import yaml

from benchmarks.quality_tables import FAIL, Value, judged, table_of_profiles, table_of_stages, write_between
from recollect.embed import configured
from recollect.evaluate import CachedEmbedder, Dataset, ask, load, prepare
from recollect.library import Library
from recollect.settings import Settings
from recollect.settings import load as load_settings

ROOT = Path(__file__).parents[1]
PLAN = Path(__file__).with_suffix(".yaml")
OWN = "own"
Values = dict[str, dict[str, dict[str, float]]]
"""By set, model and run."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--sets", help="only these, with commas between")
    parser.add_argument("--models", help="only these, with commas between")
    parser.add_argument("--accept", action="store_true", help="make what comes out what is expected")
    args = parser.parse_args()
    plan = yaml.safe_load(PLAN.read_text(encoding="utf-8"))
    begin = perf_counter()
    values, counts = asyncio.run(measured(plan, _listed(args.sets, plan["sets"]), _listed(args.models, plan["models"])))
    rows = judged(plan, values)
    print(f"\n{len(rows)} values in {perf_counter() - begin:.0f} s: " + ", ".join(f"{_count(rows, mark)} {mark}" for mark in _marks(rows)))
    if args.accept:
        _accept(plan, values)
    if not args.sets and not args.models and values.keys() == plan["sets"].keys():
        write_between(ROOT / "README.md", "quality", table_of_stages(plan, values, counts))
        write_between(ROOT / "docs" / "evaluation.md", "profiles", table_of_profiles(plan, values))
    return 1 if _count(rows, FAIL) else 0


def _listed(given: str | None, known: Mapping[str, Any]) -> list[str]:
    names = given.split(",") if given else list(known)
    if unknown := set(names) - known.keys():
        sys.exit(f"there is no {unknown.pop()!r}: there are {', '.join(known)}")
    return names


def _marks(rows: Sequence[Value]) -> list[str]:
    return sorted({row.mark for row in rows})


def _count(rows: Sequence[Value], mark: str) -> int:
    return sum(row.mark == mark for row in rows)


async def measured(plan: Mapping[str, Any], sets: Sequence[str], models: Sequence[str]) -> tuple[Values, dict[str, int]]:
    """The value of every set, model and run that can be measured here, and how many questions each set has."""
    values: Values = {name: {} for name in sets}
    counts: dict[str, int] = {}
    folders: dict[str, list[str]] = {}
    for name in sets:
        folders.setdefault(plan["sets"][name].get("folder", name), []).append(name)
    for folder, names in folders.items():
        place = ROOT / plan["data"] / folder
        if not place.is_dir():
            print(f"{', '.join(names)}: skipped, there is no {plan['data']}/{folder}")
            continue
        dataset = load(place)
        for model in models:
            with TemporaryDirectory(prefix="recollect-quality-") as store:
                async with _library(Path(store), model) as library:
                    begin = perf_counter()
                    await prepare(library, dataset)
                    print(f"{folder}, {model}: {len(dataset.documents):,} documents in {perf_counter() - begin:.0f} s", flush=True)
                    for name in names:
                        values[name][model], counts[name] = await _scored(plan, name, dataset, model, library)
    return {name: by_model for name, by_model in values.items() if by_model}, counts


def runs_of(plan: Mapping[str, Any], name: str, model: str) -> list[str]:
    """The runs of a set. Memory is asked only where there are memories."""
    own = plan["sets"][name]["profile"]
    runs = dict.fromkeys(own if run == OWN else run for run in plan["models"][model])
    return [run for run in runs if run == own or not plan["runs"][run].get("recall")]


async def _scored(plan: Mapping[str, Any], name: str, dataset: Dataset, model: str, library: Library) -> tuple[dict[str, float], int]:
    """The values of one set by run, and how many questions have the measure."""
    options = plan["sets"][name]
    values: dict[str, float] = {}
    count = 0
    for run in runs_of(plan, name, model):
        begin = perf_counter()
        how = {"profile": options.get("alone", options["profile"])} | plan["runs"][run] | {"haystacks": bool(options.get("haystacks"))}
        found = await ask(library, dataset, half=plan["half"], k=plan["k"], timed=False, **how)
        values[run] = found.values[options["measure"]]
        count = sum(options["measure"] in answer.values for answer in found.answers)
        last = judged(plan, {name: {model: values}})[-1]
        print(f"  {last.line} {len(found.answers) / (perf_counter() - begin):6.0f} questions/s", flush=True)
    return values, count


def _library(folder: Path, model: str) -> Library:
    """A store of its own. Vectors are kept from run to run, by model and text."""
    settings = load_settings(environ={})
    embedding = settings.embed.model_copy(update={"model": model})
    options = Settings(embed=embedding)
    embedder = configured(embedding)
    assert embedder is not None
    cached = CachedEmbedder(embedder, embedding.cache_dir / "vectors", queries=True)
    return Library.open(folder / "store", options=options, embedder=cached)


def _accept(plan: Mapping[str, Any], values: Values) -> None:
    """Keep the values in the plan, below what people write there."""
    expected = dict(plan["expected"])
    for name, by_model in values.items():
        expected[name] = dict(expected.get(name, {})) | {
            model: {run: round(value, 4) for run, value in by_run.items()} for model, by_run in by_model.items()
        }
    written, _, _ = PLAN.read_text(encoding="utf-8").partition("\nexpected:")
    kept = yaml.safe_dump({"expected": expected}, sort_keys=False, default_flow_style=None, width=140)
    PLAN.write_text(f"{written}\n{kept}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
