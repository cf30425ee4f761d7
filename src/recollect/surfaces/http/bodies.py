"""What requests hold, beside the library's own contracts: strict, and told in one line where something is wrong."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

from pydantic import ConfigDict, Field
from starlette.requests import Request

from ...knowledge import MAX_LIMIT, Asking, QueryType, RetrievalOptions
from ...memories import ZONE
from ...model import Direction
from ...prefs import TextMode
from ...shapes import MAX_QUERY_CHARS, Section

S = TypeVar("S", bound=Section)


class SearchBody(Asking):
    """A question."""

    query: str = Field(description="What to look for.", json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARS})
    limit: int | None = Field(default=None, ge=1, le=MAX_LIMIT, description="The most results; null: as it is set.")
    search_type: QueryType = Field(default="hybrid", description="By meaning (semantic), by words (exact), or both (hybrid).")
    profile: str | None = Field(default=None, description="The kind of material; null: the one that is set.")
    mode: TextMode | None = Field(default=None, description="How words are read; null: as it is set.")


class ContextBody(Section):
    """A question, and how its context is to be made."""

    query: str = Field(description="The question.", json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARS})
    options: RetrievalOptions = Field(default=RetrievalOptions(), description="What is not as it is set.")


class SimilarBody(Section):
    """What something is to be similar to."""

    document_id: str = Field(description="The item's id.")
    limit: int = Field(default=10, ge=1, le=MAX_LIMIT, description="The most results.")
    min_score: float = Field(default=0.8, ge=0, le=1, description="The least similarity, (1 + cosine) / 2.")
    include_history: bool = Field(default=False, description="Whether what was superseded or archived comes too.")


class GraphBody(Section):
    """Where a walk begins, and how far it goes."""

    start_node: str = Field(description="An item's id, a definition `item#name`, or an entity's id.")
    max_distance: int = Field(default=2, ge=1, le=10, description="How many edges it goes at the most.")
    relationship_types: list[str] | None = Field(default=None, description="Only edges of these types; null: all.")
    direction: Direction = Field(default="both", description="Which edges are followed.")


class ImpactBody(Section):
    """What would change."""

    node_id: str = Field(description="An item's id, a definition `item#name`, or an entity's id.")
    max_distance: int = Field(default=3, ge=1, le=10, description="How many edges away something may be.")
    relationship_types: list[str] | None = Field(default=None, description="Only edges of these types; null: those that mean dependence.")


class FeedbackBody(Section):
    """Which memories of a recall were of use."""

    retrieval_id: str = Field(min_length=1, description="The recall's id.")
    used: list[str] = Field(description="Ids of its memories, or m1, m2... as its prompt calls them.")


class EntityBody(Section):
    """An entity, or more names of one that is known."""

    name: str = Field(min_length=1, description="Its name.")
    type: str = Field(default="", description="What it is, such as 'customer'.")
    id: str = Field(default="", description="Its canonical id, such as 'customer:a1b2'; made of type and name where it is left out.")
    aliases: list[str] = Field(default=[], description="What else it is called.")


class RecordBody(Section):
    """An item without its id, which the address has, as it is described; records are read where they are taken in."""

    model_config = ConfigDict(extra="allow")

    text: str = Field(description="Its text.")
    title: str | None = Field(default=None, description="What it is called.")
    summary: str | None = Field(default=None, description="What it says, in short.")
    kind: str | None = Field(default=None, description="What it is: a document, a decision, code...")
    format: str | None = Field(default=None, description="code, markdown or text.")
    source_ref: str | None = Field(default=None, description="Its name where it came from, such as a path.")
    status: str | None = Field(default=None, description="draft, approved, superseded or archived.")
    version: str | None = Field(default=None, description="Its version.")
    created_at: datetime | None = Field(default=None, description="When it was made.")
    updated_at: datetime | None = Field(default=None, description="When it was changed last.")
    importance: float | None = Field(default=None, ge=0, le=1, description="How much it matters.")
    entities: list[str] | None = Field(default=None, description="Ids of what it is about.")
    metadata: dict[str, Any] | None = Field(default=None, description="Its own fields.")


async def taken(request: Request, model: type[S], *, zone: str | None = None) -> S:
    """The body of a request as this value; times without a zone are of this one."""
    return model.model_validate_json(await request.body() or b"{}", context={ZONE: zone})
