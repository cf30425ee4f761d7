"""What each tool takes, with the words by which an agent chooses. A wrong argument is told in one line, by an `InvalidInput`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from ...memories import MemoryType
from ...prefs import TextMode
from ...shapes import MAX_QUERY_CHARS, Section

MAX_K: Final = 50
MAX_IDS: Final = 50
MAX_TOKENS: Final = 100_000

Query = Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARS})]
MaxTokens = Annotated[int, Field(ge=100, le=MAX_TOKENS)]


class Search(Section):
    """The arguments of `search`."""

    place = "search"

    query: Query = Field(description="What to look for: a question, words, a name such as `Store.write`, or a path.")
    k: int = Field(default=8, ge=1, le=MAX_K, description="How many sources, at the most.")
    kind: str | None = Field(default=None, description="Only items of this kind, such as document, code or decision.")
    where: dict[str, Any] | None = Field(
        default=None,
        description='Only items that pass this filter over their fields: {"status": "approved"}, {"path": {"glob": "src/**"}}, '
        '{"year": {"gte": 2024}}; with AND, OR, NOT.',
    )
    mode: TextMode | None = Field(
        default=None, description='How words are read; web, the default, knows "phrases", -not and OR; strict takes an expression.'
    )
    profile: str | None = Field(default=None, description="The kind of material, where it is not as set: documents, code, graph or memory.")
    include_history: bool = Field(default=False, description="Whether what was superseded or archived comes too.")


class Context(Section):
    """The arguments of `context`."""

    place = "context"

    query: Query | None = Field(default=None, description="A question: the passages to read before answering it are chosen.")
    ids: list[str] | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_IDS,
        description="Instead of a question, what to read: ids from other results, or places: src/a.py:10-40, src/a.py#Store.write.",
    )
    max_tokens: MaxTokens = Field(default=2000, description="The most tokens of the text.")


class Remember(Section):
    """The arguments of `remember`."""

    place = "remember"

    text: str | None = Field(default=None, min_length=1, description="What happened, or what is worth knowing later.")
    subject: str | None = Field(default=None, min_length=1, description="Of a fact: whom or what it is about.")
    predicate: str | None = Field(default=None, min_length=1, description="Of a fact: what is said of it, such as prefers.")
    object: str | None = Field(default=None, min_length=1, description="Of a fact: the value. It takes the place of an older one.")
    also: bool = Field(default=False, description="Of a fact: it stands beside others of its subject and predicate.")
    trigger: str | None = Field(default=None, min_length=1, description="Of a procedure: when it applies.")
    action: str | None = Field(default=None, min_length=1, description="Of a procedure: what is done then.")
    covers: str | None = Field(default=None, min_length=1, description="The text is a summary of this: session, global, or an entity.")
    entities: list[str] = Field(default=[], description="Whom and what it is about: names, or ids such as customer:a1b2.")
    at: str | None = Field(default=None, description="When it was, such as 2024-05-17 or 2024-05-17T12:30:00Z; now by default.")
    importance: float | None = Field(default=None, ge=0, le=1, description="How much it matters, 0 to 1.")


class Recall(Section):
    """The arguments of `recall`."""

    place = "recall"

    query: Query = Field(description="What to recall, such as: what did Acme ask last month?")
    max_tokens: MaxTokens = Field(default=1500, description="The most tokens of the prompt that is made.")
    types: list[MemoryType] = Field(default=[], description="Only memories of these types; all where none is named.")
    turns: list[str] = Field(default=[], description="What was said before, the last at the end, so that `they` is understood.")
    include_history: bool = Field(default=False, description="Whether facts come too whose place was taken.")


class Related(Section):
    """The arguments of `related`."""

    place = "related"

    id: str = Field(
        min_length=1, description="An id that another result has: of an item, an entity, or a definition, src/a.py#Store.write."
    )
    how: Literal["graph", "similar", "impact"] = Field(
        default="graph", description="graph: what it is linked to; similar: items like it; impact: what depends on it."
    )
    hops: int | None = Field(default=None, ge=1, le=10, description="How many links away, for graph (default 2) and impact (default 3).")
    relationship_types: list[str] | None = Field(
        default=None, description="Only links of these types, for graph and impact, such as IMPORTS, CALLS, REFERENCES or IMPLEMENTS."
    )
    k: int = Field(default=20, ge=1, le=MAX_K, description="How many, at the most; the nearest come first.")
