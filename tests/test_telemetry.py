"""What watchers are told: spans by the real SDK, nested over tasks and threads, without content unless it is wanted; log lines as JSON."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from recollect import Cancellation, Cancelled, DeadlineExceeded, InvalidInput, Library
from recollect.settings import Settings
from recollect.telemetry import JsonLines, Operation, request_id
from served import served
from slow import Slow

SECRET = "xylophone"


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    """Whatever this process is traced by: a provider is set once."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def told(exporter: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    exporter.clear()
    yield exporter
    exporter.clear()


@pytest.fixture
def model() -> Slow:
    return Slow()


def opened(folder: Path, model: Slow, **telemetry: bool) -> Library:
    return Library.open(folder / "store", embedder=model, options=Settings.model_validate({"telemetry": telemetry}), scope=f"of {SECRET}")


def by_name(told: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in told.get_finished_spans()}


def parents(told: InMemorySpanExporter) -> dict[str, str | None]:
    """The name of each span's parent, by its own name."""
    spans = told.get_finished_spans()
    names = {span.context.span_id: span.name for span in spans if span.context}
    return {span.name: names[span.parent.span_id] if span.parent else None for span in spans}


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def everything(told: InMemorySpanExporter) -> str:
    return "\n".join(str(span.to_json()) for span in told.get_finished_spans())


async def filled(library: Library) -> None:
    await library.add_text(f"A {SECRET} is played with mallets.", item_id=f"{SECRET}.md")
    await library.add_text("Trains leave early.", item_id="trains.md")


def test_a_search_is_a_span_with_a_child_for_each_stage(tmp_path: Path, model: Slow, told: InMemorySpanExporter) -> None:
    async def ask() -> None:
        async with opened(tmp_path, model) as library:
            await filled(library)
            told.clear()
            await library.search(SECRET, k=5)

    asyncio.run(ask())
    tree = parents(told)
    assert tree["recollect.retrieve"] is None
    assert tree["recollect.total"] == "recollect.retrieve"
    assert tree["recollect.text"] == tree["recollect.chunks"] == tree["recollect.show"] == "recollect.total"
    # Embedded and weighed on threads of their own.
    assert tree["recollect.embed"] == tree["recollect.vector"] == "recollect.total"
    assert tree["recollect.weigh"] == "recollect.show"
    found = attributes(by_name(told)["recollect.retrieve"])
    assert found["gen_ai.operation.name"] == "retrieval"
    assert found["gen_ai.request.top_k"] == 5.0
    assert (found["recollect.profile"], found["recollect.candidates"]) == ("documents", 2)


def test_two_searches_at_once_keep_their_stages_apart(tmp_path: Path, model: Slow, told: InMemorySpanExporter) -> None:
    async def ask() -> None:
        async with opened(tmp_path, model) as library:
            await filled(library)
            told.clear()
            await asyncio.gather(library.search("mallets"), library.search("trains"))

    asyncio.run(ask())
    spans = told.get_finished_spans()
    traces = [span.context.trace_id for span in spans if span.name == "recollect.retrieve" and span.context]
    assert len(set(traces)) == 2
    for trace_id in traces:
        own = [span.name for span in spans if span.context and span.context.trace_id == trace_id]
        assert own.count("recollect.embed") == own.count("recollect.text") == own.count("recollect.total") == 1


def test_a_search_continues_the_trace_of_its_caller_also_through_plain_calls(
    tmp_path: Path, model: Slow, told: InMemorySpanExporter
) -> None:
    with opened(tmp_path, model).sync() as library:
        library.add_text("Trains leave early.", item_id="trains.md")
        token = request_id.set("r-17")
        with trace.get_tracer("mine").start_as_current_span("answer"):
            library.search("trains")
        request_id.reset(token)
    assert parents(told)["recollect.retrieve"] == "answer"
    assert attributes(by_name(told)["recollect.retrieve"])["recollect.request_id"] == "r-17"


def test_nothing_that_users_wrote_is_told_by_default(tmp_path: Path, model: Slow, told: InMemorySpanExporter) -> None:
    async def ask(library: Library) -> None:
        async with library:
            await filled(library)
            await library.search(SECRET)
            await library.knowledge.context(SECRET)
            await library.memory.remember(f"I bought a {SECRET}.")
            await library.memory.recall(SECRET)
            with pytest.raises(InvalidInput):
                await library.search("mallets", where={"nowhere": SECRET})

    asyncio.run(ask(opened(tmp_path / "a", model)))
    assert {"recollect.retrieve", "recollect.context", "recollect.remember", "recollect.recall", "recollect.ingest"} <= set(by_name(told))
    assert SECRET not in everything(told)
    told.clear()
    asyncio.run(ask(opened(tmp_path / "b", model, content=True)))
    assert SECRET in everything(told)
    asked = [attributes(span) for span in told.get_finished_spans() if span.name == "recollect.retrieve"]
    assert asked[0]["gen_ai.retrieval.query.text"] == SECRET
    assert asked[0]["recollect.scope"] == f"of {SECRET}"
    assert json.loads(asked[0]["gen_ai.retrieval.documents"])[0]["id"] == f"{SECRET}.md"
    recalled = attributes(by_name(told)["recollect.recall"])
    assert recalled["gen_ai.memory.query.text"] == SECRET
    assert len(json.loads(recalled["gen_ai.retrieval.documents"])) == recalled["recollect.memories"] == 1


def test_what_memory_and_contexts_do_is_told(tmp_path: Path, model: Slow, told: InMemorySpanExporter) -> None:
    async def use() -> None:
        async with opened(tmp_path, model) as library:
            await library.memory.remember("I like tea.")
            await library.memory.recall("what do I like?")
            await library.knowledge.context("tea")

    asyncio.run(use())
    spans, tree = by_name(told), parents(told)
    assert attributes(spans["recollect.remember"])["gen_ai.operation.name"] == "upsert_memory"
    assert attributes(spans["recollect.recall"])["gen_ai.operation.name"] == "search_memory"
    assert tree["recollect.batch"] == "recollect.remember"
    assert tree["recollect.understand"] == "recollect.total"
    assert tree["recollect.retrieve"] == tree["recollect.assemble"] == "recollect.context"


def test_indexing_is_told_by_batches(tmp_path: Path, model: Slow, told: InMemorySpanExporter) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# Tea\n\nTea is hot.\n")

    async def index() -> None:
        async with opened(tmp_path, model) as library:
            await library.index(tmp_path / "notes")

    asyncio.run(index())
    tree = parents(told)
    assert tree["recollect.index"] is None
    assert tree["recollect.survey"] == tree["recollect.batch"] == tree["recollect.link"] == "recollect.index"
    assert tree["recollect.passages"] == tree["recollect.write"] == "recollect.batch"
    assert attributes(by_name(told)["recollect.index"])["recollect.added"] == 1


def test_an_error_is_on_the_span_by_its_type(tmp_path: Path, model: Slow, told: InMemorySpanExporter) -> None:
    async def ask() -> None:
        async with opened(tmp_path, model) as library:
            await filled(library)
            await library.search("mallets", where={"nowhere": 1})

    with pytest.raises(InvalidInput):
        asyncio.run(ask())
    span = by_name(told)["recollect.retrieve"]
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description is None
    assert attributes(span)["error.type"] == "InvalidInput"
    assert [dict(event.attributes or {}) for event in span.events] == [{"exception.type": "InvalidInput"}]


@pytest.mark.parametrize("how", ["cancelled", "late", "dropped"])
def test_a_search_that_is_stopped_ends_its_spans(tmp_path: Path, model: Slow, told: InMemorySpanExporter, how: str) -> None:
    async def ask() -> None:
        async with opened(tmp_path, model) as library:
            await filled(library)
            told.clear()
            model.shut()
            cancellation = Cancellation()
            asking = asyncio.ensure_future(library.search("mallets", cancellation=cancellation, deadline_s=0.5 if how == "late" else None))
            await asyncio.to_thread(model.asked.wait)
            if how == "cancelled":
                cancellation.cancel()
            elif how == "dropped":
                asking.cancel()
            error = {"cancelled": Cancelled, "late": DeadlineExceeded, "dropped": asyncio.CancelledError}[how]
            with pytest.raises(error):
                await asking
            async with asyncio.timeout(30):
                while not {"recollect.embed", "recollect.total"} <= set(by_name(told)):
                    await asyncio.sleep(0.001)

    asyncio.run(ask())
    span = by_name(told)["recollect.retrieve"]
    assert (span.status.status_code is StatusCode.ERROR) == (how == "late")
    assert attributes(span).get("recollect.cancelled") == (None if how == "late" else True)
    assert attributes(by_name(told)["recollect.embed"])["recollect.cancelled"] is True


def test_no_span_is_opened_where_traces_are_off(tmp_path: Path, model: Slow, told: InMemorySpanExporter) -> None:
    async def ask() -> None:
        async with opened(tmp_path, model, traces=False) as library:
            await filled(library)
            await library.search("mallets")

    asyncio.run(ask())
    assert not told.get_finished_spans()


ALONE = """
import asyncio, sys, tempfile
{before}
from recollect import Library
from recollect.settings import Settings

async def main():
    with tempfile.TemporaryDirectory() as folder:
        async with Library.open(folder, options=Settings.model_validate({{"embed": {{"model": "none"}}}})) as library:
            await library.add_text("Trains leave early.", item_id="trains.md")
            print([each.item_id for each in (await library.search("trains")).candidates])

asyncio.run(main())
print([name for name in sys.modules if name.startswith("opentelemetry")][:1])
"""


@pytest.mark.parametrize(
    ("before", "imported"),
    [
        ("", []),
        ("sys.modules['opentelemetry'] = None", ["opentelemetry"]),  # As where it is not installed: an import of it fails.
        ("import opentelemetry.trace", ["opentelemetry"]),
    ],
    ids=["not imported", "not installed", "not set up"],
)
def test_a_search_is_the_same_where_nobody_watches(before: str, imported: list[str]) -> None:
    ran = subprocess.run([sys.executable, "-c", ALONE.format(before=before)], capture_output=True, text=True)
    assert ran.stdout.splitlines() == ["['trains.md']", str(imported)], ran.stderr


def line(record: logging.LogRecord, **options: bool) -> dict[str, Any]:
    text = JsonLines(**options).format(record)
    assert "\n" not in text
    made: dict[str, Any] = json.loads(text)
    return made


def record(message: str, *args: object, **fields: object) -> logging.LogRecord:
    return logging.makeLogRecord({"name": "recollect.serve", "levelname": "INFO", "msg": message, "args": args, "created": 0.5, **fields})


def test_a_log_line_is_json_with_its_extra_fields() -> None:
    made = line(record("served %s\nin %d ms", "a question", 7, status=200, path=Path("/x"), color_message="again"))
    assert made == {
        "at": "1970-01-01T00:00:00.500+00:00",
        "level": "info",
        "logger": "recollect.serve",
        "message": "served a question\nin 7 ms",
        "status": 200,
        "path": "/x",
    }


def test_a_log_line_has_the_ids_of_its_request_and_of_its_span(exporter: InMemorySpanExporter) -> None:
    token = request_id.set("r-1")
    with trace.get_tracer("mine").start_as_current_span("serve") as span:
        made = line(record("hello", request_id="of a field"))
    request_id.reset(token)
    assert made["request_id"] == "r-1"
    assert made["trace_id"] == trace.format_trace_id(span.get_span_context().trace_id)
    assert made["span_id"] == trace.format_span_id(span.get_span_context().span_id)
    assert not {"request_id", "trace_id", "span_id"} & set(line(record("hello")))


def test_a_log_line_says_where_an_error_came_from_and_what_it_says_only_if_wanted() -> None:
    try:
        raise InvalidInput(f"the query is {SECRET!r}: give another")
    except InvalidInput as error:
        failed = record("failed", exc_info=(type(error), error, error.__traceback__))
    made = line(failed)
    assert made["error"] == "InvalidInput"
    assert "test_telemetry.py" in made["traceback"][-1]
    assert SECRET not in json.dumps(made)
    assert line(failed, content=True)["error_message"] == f"the query is {SECRET!r}: give another"


def test_facts_of_an_operation_that_nobody_watches_go_nowhere(tmp_path: Path, model: Slow) -> None:
    operation = opened(tmp_path, model, traces=False)._parts.tracing.operation("retrieve", scope="a")
    with operation as same:
        same.note(candidates=3)
        same.found([("a", 1.0)])
    assert isinstance(same, Operation)
    assert same.span is None


def test_a_request_goes_on_with_the_trace_of_its_caller(tmp_path: Path, told: InMemorySpanExporter) -> None:
    caller = "4bf92f3577b34da6a3ce929d0e0e4736"
    with served(tmp_path / "store", embedder=None) as running, running.client() as client:
        client.put("/items/a", json={"text": f"A {SECRET}."})
        told.clear()
        client.post(
            "/retrieval/search", json={"query": SECRET}, headers={"traceparent": f"00-{caller}-00f067aa0ba902b7-01", "X-Request-ID": "r-1"}
        )
        client.post("/retrieval/search", json={"query": SECRET})
    searches = [span for span in told.get_finished_spans() if span.name == "recollect.retrieve"]
    assert [f"{span.context.trace_id:032x}" == caller for span in searches if span.context] == [True, False]
    assert attributes(searches[0])["recollect.request_id"] == "r-1"
    assert SECRET not in everything(told)
