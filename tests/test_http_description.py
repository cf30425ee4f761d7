"""The service's description of itself: it names every route, its documentation does too, and nothing that fits it is ever a 500."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import BaseSchema, Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance

from recollect.serve_settings import ServeSettings
from served import Served, put_notes, served

DOCS = Path(__file__).parents[1] / "docs"
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]


@schemathesis.serializer("application/x-ndjson")
def as_lines(_: object, value: object) -> bytes:
    """What is generated is one text; a lone surrogate goes as the bytes that it would be."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    # By words alone: what is tried here is what bodies may hold, a few hundred times.
    with served(tmp_path_factory.mktemp("api") / "store", embedder=None, options=ServeSettings(timeout_s=60)) as running:
        with running.client() as client:
            put_notes(client)
            client.post("/memories", json={"text": "Acme asked about invoice 789."})
        yield running


@pytest.fixture(scope="module")
def description(service: Served) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{service.url}/openapi.json").json()
    return found


@pytest.fixture(scope="module")
def api(description: dict[str, Any], service: Served) -> BaseSchema:
    schema = schemathesis.openapi.from_dict(description)
    schema.config.update(base_url=service.url)
    return schema


TRIED = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_nothing_that_fits_the_description_or_nearly_so_fails_the_service(api: BaseSchema, mode: GenerationMode) -> None:
    operations = [each.ok() for each in api.get_all_operations()]
    assert len(operations) > 20
    for operation in operations:
        try:
            cases = operation.as_strategy(generation_mode=mode)
        except Unsatisfiable:
            continue

        @TRIED
        @given(case=cases)
        def answered(case: Case) -> None:
            case.call_and_validate(checks=CHECKS, timeout=60)

        with suppress(Unsatisfiable):  # What takes anything, nothing is wrong for.
            answered()


def test_every_route_is_documented_and_no_other(description: dict[str, Any]) -> None:
    told = set(re.findall(r"`(GET|PUT|POST|DELETE) (/[^`]*)`", (DOCS / "service.md").read_text(encoding="utf-8")))
    there = {(method.upper(), re.sub(r"\{\w+\}", "{id}", path)) for path, each in description["paths"].items() for method in each}
    assert told == there


def test_every_route_says_what_it_is_for_and_what_goes_wrong(description: dict[str, Any]) -> None:
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            assert operation["description"].strip(), (method, path)
            assert "application/problem+json" in operation["responses"]["default"]["content"]
            assert path in ("/health", "/metrics") or "scope" in {each["name"] for each in operation["parameters"]}


def test_every_reference_in_the_description_leads_somewhere(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    named = set(re.findall(r"#/components/schemas/([\w-]+)", str(description)))
    assert named <= set(schemas)
