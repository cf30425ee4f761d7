"""The verdicts of `make quality`, and the tables it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from benchmarks.quality import PLAN, runs_of
from benchmarks.quality_tables import DRIFT, FAIL, NEW, OK, judged, table_of_profiles, table_of_stages, write_between

from recollect.evaluate.measures import MEASURES
from recollect.profiles import PROFILES


def plan(**more: Any) -> dict[str, Any]:
    return {
        "ok": 0.003,
        "fail": 0.01,
        "sets": {"claims": {"measure": "nDCG@10", "profile": "documents"}},
        "models": {"granite": ["text", "vector", "documents"], "minilm": ["own"]},
        "expected": {"claims": {"granite": {"text": 0.7, "vector": 0.7, "documents": 0.75}}},
    } | more


def marks(**values: float) -> dict[str, str]:
    return {row.run: row.mark for row in judged(plan(), {"claims": {"granite": values}})}


@pytest.mark.parametrize(
    ("value", "mark"), [(0.75, OK), (0.7471, OK), (0.7529, OK), (0.745, DRIFT), (0.76, DRIFT), (0.7395, FAIL), (0.2, FAIL)]
)
def test_a_value_is_held_against_what_is_expected(value: float, mark: str) -> None:
    assert marks(documents=value) == {"documents": mark}


def test_fused_below_a_stage_alone_is_a_failure() -> None:
    assert marks(text=0.7, vector=0.77, documents=0.75)["documents"] == FAIL
    assert marks(text=0.7, vector=0.752, documents=0.75)["documents"] == OK
    assert marks(vector=0.77, documents=0.75)["documents"] == OK


def test_a_value_without_expectation_is_new() -> None:
    assert marks(code=0.1) == {"code": NEW}


def test_the_tables_are_written_between_their_marks(tmp_path: Path) -> None:
    values = {"claims": {"granite": {"text": 0.7, "vector": 0.71, "documents": 0.75}, "minilm": {"documents": 0.69}}}
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a -->\nold\n<!-- /a -->\nafter\n")
    write_between(page, "a", table_of_stages(plan(), values, {"claims": 12}))
    assert page.read_text().startswith("before\n<!-- a -->\n| set |")
    assert "| claims | nDCG@10 | 12 | 0.700 | 0.710 | **0.750** | documents | 0.690 |\n<!-- /a -->\nafter" in page.read_text()
    assert table_of_profiles(plan(), values).endswith("| claims | nDCG@10 | 0.700 | 0.710 | 0.750 | 0.690 |")
    with pytest.raises(SystemExit, match=r"page\.md has no <!-- b -->"):
        write_between(page, "b", "")


def test_the_plan_names_what_there_is() -> None:
    written = yaml.safe_load(PLAN.read_text(encoding="utf-8"))
    assert written["runs"].keys() == {"text", "vector", "recall", *PROFILES}
    for name, options in written["sets"].items():
        assert options["profile"] in {*PROFILES, "recall"}
        assert options["measure"] in {*MEASURES, "better_first"} or options["measure"].startswith("span_")
        for model in written["models"]:
            assert list(written["expected"][name][model]) == runs_of(written, name, model)
