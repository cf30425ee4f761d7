"""What the service answers with, beside the library's own contracts, and how values go over the wire."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, Field, TypeAdapter
from starlette.responses import Response

from ...ingest.report import IndexReport
from ...knowledge import RetrievalMetrics, RetrievalResult
from ...memories import Remembered
from ...model import Entity, Item
from ...shapes import Contract

JSON: Final = "application/json"
RESULTS: Final = TypeAdapter(list[RetrievalResult])


class ItemAnswer(Contract):
    """An item, whole."""

    id: str = Field(description="Its id in its scope.")
    text: str = Field(description="Its text.")
    kind: str = Field(description="What it is: a document, code, a decision, a memory...")
    format: str = Field(description="code, markdown or text.")
    source: str = Field(description="Where it came from, such as file or record.")
    source_ref: str | None = Field(description="Its name there, such as a path.")
    title: str | None = Field(description="Its title.")
    summary: str | None = Field(description="Its summary.")
    metadata: dict[str, Any] = Field(description="Its own fields.")
    status: str = Field(description="Whether it is draft, approved, superseded or archived.")
    version: str | None = Field(description="Its version.")
    created_at: datetime = Field(description="When it was made.")
    updated_at: datetime = Field(description="When it was changed last.")
    importance: float = Field(description="How much it matters.")
    entities: list[str] = Field(description="Ids of what it is about.")
    use_count: int = Field(description="How often it was used.")
    content_hash: str = Field(description="Another one where its text, title or format is another.")


class SpanAnswer(Contract):
    """Some lines of an item."""

    item_id: str = Field(description="The item.")
    line_start: int = Field(description="The first, from 1.")
    line_end: int = Field(description="The last, which is included.")
    text: str = Field(description="The text.")
    symbol: str | None = Field(default=None, description="The innermost definition that they are in.")


class PutAnswer(Contract):
    """What became of an item that was put."""

    id: str = Field(description="Its id.")
    outcome: Literal["added", "changed", "unchanged"] = Field(description="Whether it is new, other than before, or the same.")


class BadLine(Contract):
    """What is wrong with a line."""

    ref: str = Field(description="Which: body:LINE, or body:LINE:COLUMN.")
    reason: str = Field(description="What is wrong, and what to do.")


class BulkAnswer(Contract):
    """What became of many items."""

    added: int = Field(description="How many are new.")
    changed: int = Field(description="How many are other than before.")
    unchanged: int = Field(description="How many are as they were.")
    problems: list[BadLine] = Field(description="The lines that were not taken in.")


class RememberedAnswer(Contract):
    """What became of many memories."""

    remembered: list[Remembered] = Field(description="Each, in their order.")
    problems: list[BadLine] = Field(description="The lines that were not taken in.")


class DeletedAnswer(Contract):
    """What is gone."""

    deleted: list[str] = Field(description="The ids of those that were there.")


class EntityAnswer(Contract):
    """An entity."""

    id: str = Field(description="Its canonical id.")
    type: str = Field(description="What it is.")
    name: str = Field(description="Its name.")
    aliases: list[str] = Field(description="What else it is called.")


class EntitiesAnswer(Contract):
    """Entities."""

    entities: list[EntityAnswer] = Field(description="In order of id.")


class StatusAnswer(Contract):
    """How the service and the caller's scope stand."""

    version: str = Field(description="Of Recollect.")
    caller: str = Field(description="Who asks: the name of the key, or 'local'.")
    scope: str = Field(description="Which scope this is about.")
    scopes: list[str] = Field(description="Those that the caller may use and that hold anything, this one among them.")
    may_write: bool = Field(description="Whether the caller may write.")
    store: str = Field(description="What it is kept in: sqlite, postgresql or neo4j.")
    items: int = Field(description="How many items the scope has.")
    kinds: dict[str, int] = Field(description="How many of each kind.")
    chunks: int = Field(description="How many chunks the index has of them.")
    edges: int = Field(description="How many edges lead from one to another.")
    entities: int = Field(description="How many entities are known.")
    model: str | None = Field(description="The model that made the vectors; null where there are none.")
    vector_index: str = Field(description="How vectors are searched.")
    pending: int = Field(description="Changes that the indexes have not applied yet.")
    has_llm: bool = Field(description="Whether a language model is configured, so that questions can be answered.")
    profile: str = Field(description="The profile of a search that names none.")
    metrics: RetrievalMetrics = Field(description="How searches have gone since the service was started.")


class HealthAnswer(Contract):
    """Whether the service is well."""

    status: Literal["ok"] = "ok"


def answered(value: BaseModel) -> Response:
    """A value as JSON."""
    return Response(value.__pydantic_serializer__.to_json(value), media_type=JSON)


def listed(results: Sequence[RetrievalResult]) -> Response:
    return Response(RESULTS.dump_json(list(results)), media_type=JSON)


def item_answer(item: Item) -> ItemAnswer:
    fields = {name: getattr(item, name) for name in ItemAnswer.model_fields if name not in ("metadata", "entities")}
    return ItemAnswer(**fields, metadata=dict(item.metadata), entities=list(item.entities))


def bulk_answer(report: IndexReport) -> BulkAnswer:
    problems = [BadLine(ref=each.ref, reason=each.reason) for each in report.problems]
    return BulkAnswer(added=report.added, changed=report.changed, unchanged=report.unchanged, problems=problems)


def entity_answer(entity: Entity) -> EntityAnswer:
    return EntityAnswer(id=entity.id, type=entity.type, name=entity.name, aliases=list(entity.aliases))
