"""The public values of memory: what is remembered, what a question to it is understood as, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Annotated, Any, Final, Literal, get_args
from zoneinfo import ZoneInfo

from pydantic import Field, ValidationInfo, field_validator, model_validator

from .errors import InvalidInput
from .filters import period
from .prefs import moment
from .shapes import MAX_QUERY_CHARS, Contract, Section, shown

MemoryType = Literal["episodic", "semantic", "procedural", "summary"]
MEMORY_TYPES: Final[tuple[MemoryType, ...]] = get_args(MemoryType)
"""Each is the kind of the items that hold such memories."""
Category = Literal["factual", "procedural", "exploratory", "analytical"]
Strategy = Literal["factual_entity_focused", "procedural", "exploratory", "analytical"]
Source = Literal["semantic", "text", "entity", "time", "procedural", "summary"]
"""Where a candidate came from: by meaning, by words, by an entity, by time, as a procedure, as a summary."""
Outcome = Literal["added", "changed", "reinforced", "kept as history"]

Share = Annotated[float, Field(ge=0, le=1)]

LOGGED_AS: Final = "recall"
"""The profile by which the log tells recalls from other searches."""
CONFIRMED: Final = "confirmed_at"
"""The field that tells when a fact was last said, where that was after it was first said."""
ZONE: Final = "zone"
"""In the context of a validation, the name of the zone of times that are given without one; UTC where it is not there."""


def last_said(metadata: Mapping[str, Any], at: datetime) -> datetime:
    """When a fact of a time was last said to hold. What was kept there by others, and is no time, does not count."""
    with suppress(ValueError):
        last = datetime.fromisoformat(str(metadata.get(CONFIRMED)))
        return max(last, at) if last.tzinfo else at
    return at


def _zone(info: ValidationInfo) -> tzinfo:
    """Of times without one: that of the value itself, or else of whoever reads it."""
    name = info.data.get("timezone") or (info.context or {}).get(ZONE)
    return ZoneInfo(name) if name else UTC


def _moment(value: Any, zone: tzinfo, *, is_end: bool) -> Any:
    """A time in UTC. Without a zone it is of this one: of a day, a month, a year, or an hour that comes twice, the beginning or the end."""
    if isinstance(value, str):
        with suppress(ValueError, OverflowError):  # What is no time is told of below.
            first, after = period(value)
            local = after - timedelta(microseconds=1) if is_end else first
            value = first if _has_zone(value) else local.replace(tzinfo=zone, fold=is_end)
    elif isinstance(value, datetime) and value.utcoffset() is None:
        value = value.replace(tzinfo=zone)
    return moment(value, "at")


def _has_zone(text: str) -> bool:
    with suppress(ValueError):
        return datetime.fromisoformat(text).tzinfo is not None
    return False


OWN: Final[Mapping[str, MemoryType]] = {
    "subject": "semantic",
    "predicate": "semantic",
    "object": "semantic",
    "confidence": "semantic",
    "trigger": "procedural",
    "action": "procedural",
    "covers": "summary",
}
"""Fields of a memory that those of one type have."""


class NewMemory(Section):
    """Something to remember. What each type needs: a text (episodic, summary); subject, predicate and object (semantic); trigger and
    action (procedural)."""

    type: MemoryType = Field(
        default="episodic",
        description="What happened, a fact, how something is done, or what several come to; by what else is given where it is left out.",
    )
    text: str | None = Field(default=None, max_length=10_000_000, description="What is remembered; of facts and procedures it is made.")
    id: str | None = Field(default=None, min_length=1, max_length=512, description="Its id; made of what it says where none is given.")
    title: str | None = Field(default=None, description="What it is called, where it is called anything.")
    entities: list[str] = Field(default=[], description="Whom and what it is about: canonical ids, such as 'customer:a1b2', or names.")
    at: datetime | None = Field(
        default=None, description="When it was; now where nothing is said. Without a zone it is of the user's, the setting memory.timezone."
    )
    importance: float | None = Field(
        default=None, ge=0, le=1, description="How much it matters; by default as the settings have it for its type."
    )
    metadata: dict[str, Any] = Field(default={}, description="Fields of its own, by which it can be filtered.")
    subject: str | None = Field(default=None, min_length=1, description="Of a fact: whom or what it is about, an id or a name.")
    predicate: str | None = Field(default=None, min_length=1, description="Of a fact: what is said of it, such as 'prefers'.")
    object: str | None = Field(default=None, min_length=1, description="Of a fact: the value.")
    confidence: float | None = Field(default=None, ge=0, le=1, description="Of a fact: how sure it is.")
    also: bool = Field(default=False, description="Of a fact: whether it stands beside others of its subject and predicate.")
    trigger: str | None = Field(default=None, min_length=1, description="Of a procedure: when it applies.")
    action: str | None = Field(default=None, min_length=1, description="Of a procedure: what is done then.")
    covers: str | None = Field(
        default=None, min_length=1, description="Of a summary: what it sums up, such as 'session', 'global' or an entity."
    )

    @model_validator(mode="before")
    @classmethod
    def _typed(cls, values: Any) -> Any:
        """With the type that follows from what is given, where none is."""
        if not isinstance(values, Mapping) or "type" in values:
            return values
        found = next((type_ for name, type_ in OWN.items() if values.get(name) is not None), "episodic")
        return {**values, "type": found}

    @field_validator("at", mode="before")
    @classmethod
    def _at(cls, value: Any, info: ValidationInfo) -> Any:
        # A day, a month or a year is its beginning, so that what is remembered of the present one is not yet to come.
        return _moment(value, _zone(info), is_end=False)

    @model_validator(mode="after")
    def _whole(self) -> NewMemory:
        needed = {"semantic": ("subject", "predicate", "object"), "procedural": ("trigger", "action")}.get(self.type, ("text",))
        for name in needed:
            if not (getattr(self, name) or "").strip():
                raise InvalidInput(f"a memory of type {self.type!r} needs {' and '.join(map(repr, needed))}: {name!r} is missing")
        for name, type_ in OWN.items():
            if getattr(self, name) is not None and type_ != self.type:
                raise InvalidInput(
                    f"{name!r} is of a memory of type {type_!r}, and this is {self.type!r}: leave it out, or change the type"
                )
        return self


class Remembered(Contract):
    """What became of something to remember."""

    id: str = Field(description="The id of the memory.")
    type: MemoryType = Field(description="Its type.")
    outcome: Outcome = Field(
        description="Whether it is new, changed what was under its id, said again what is known, or was true before what is known."
    )
    supersedes: list[str] = Field(default_factory=list, description="Ids of facts whose place it took; they are kept as history.")
    superseded_by: str | None = Field(default=None, description="The id of the fact that is newer than it, where one is.")
    entities: list[str] = Field(default_factory=list, description="Canonical ids of whom and what it is about.")
    use_count: int = Field(default=0, description="How often it was used or said again.")


class ConversationContext(Section):
    """What was said before a question, by which `they` and `the order` are understood."""

    turns: list[str] = Field(default=[], description="What was said, the last at the end.")
    entities: list[str] = Field(default=[], description="Canonical ids of whom and what it was about, the last at the end.")


class QueryType(Contract):
    """What a question is after."""

    category: Category = Field(description="A fact, a way to do something, an overview, or a reason or trend.")
    entity_focused: bool = Field(description="Whether it is about certain entities, or a kind of them.")
    time_focused: bool = Field(description="Whether time matters.")
    procedural: bool = Field(description="Whether it is about how something is done.")
    requires_domain_db: bool = Field(description="Whether it needs current data of the domain database.")


class TimeRange(Contract):
    """A span of time that a question names. Both ends are included."""

    words: str = Field(description="The words that name it.")
    start: datetime | None = Field(description="Its first moment; null where it has none.")
    end: datetime = Field(description="Its last moment.")


class ResolvedEntity(Contract):
    """An entity that a question speaks of."""

    mention_text: str = Field(description="What the question calls it.")
    canonical_id: str = Field(description="Its canonical id.")
    name: str = Field(description="Its name.")
    type: str = Field(description="What it is.")
    match: Literal["exact", "alias", "fuzzy", "context", "domain", "llm"] = Field(
        description="By its name, another name, nearly its name, what was said before, a name in the domain database, or a language model."
    )
    confidence: Share = Field(description="How sure that is.")


class Ambiguity(Contract):
    """A name that several entities have: none of them is guessed."""

    mention_text: str = Field(description="What the question calls it.")
    candidates: list[str] = Field(description="Canonical ids of those that it may be.")


class MemoryQuery(Contract):
    """How a question to memory is understood."""

    query: str = Field(description="The question.")
    query_type: QueryType = Field(description="What it is after.")
    strategy: Strategy = Field(description="Which weights its memories are ranked by.")
    time_range: TimeRange | None = Field(default=None, description="The time that it names.")
    entities: list[ResolvedEntity] = Field(default_factory=list, description="Whom and what it speaks of.")
    entity_types: list[str] = Field(default_factory=list, description="Kinds of entities that it is about, such as 'customer'.")
    ambiguities: list[Ambiguity] = Field(default_factory=list, description="Names in it that several have.")
    notes: list[str] = Field(default_factory=list, description="What else there is to say of it.")


class MemorySignals(Contract):
    """What speaks for a memory, each from 0 to 1."""

    semantic_similarity: float = Field(description="How well it fits the question, by meaning and by words.")
    entity_overlap: float = Field(description="The share of the question's entities that it is about.")
    temporal_relevance: float = Field(description="How near it is to the time of the question.")
    importance: float = Field(description="How much it matters.")
    reinforcement: float = Field(description="How often it proved useful.")


SIGNALS: Final = tuple(MemorySignals.model_fields)
"""Their names, in the order in which they are computed."""


class RecalledMemory(Contract):
    """A memory that bears on a question."""

    id: str = Field(description="Its id.")
    type: MemoryType = Field(description="Its type.")
    text: str = Field(description="What it says: all of it, its summary, or the part of a long one that fits best.")
    excerpt: bool = Field(default=False, description="Whether the text is a part of what is remembered.")
    title: str | None = Field(default=None, description="What it is called.")
    at: datetime = Field(description="When it was.")
    score: float = Field(description="Its signals by their weights, and what its type adds.")
    signals: MemorySignals = Field(description="What speaks for it.")
    weights: dict[str, float] = Field(description="How much each signal counts.")
    boost: float = Field(default=1.0, description="The factor of a summary, as far as it fits, and of being the latest word on its matter.")
    sources: list[Source] = Field(description="How it was found.")
    why: str = Field(description="Why it was recalled, in a sentence.")
    entities: list[str] = Field(default_factory=list, description="Canonical ids of whom and what it is about.")
    importance: float = Field(description="How much it matters.")
    use_count: int = Field(default=0, description="How often it was used or said again.")
    metadata: dict[str, Any] = Field(default_factory=dict, description="Its own fields; those of facts and procedures too.")
    historical: bool = Field(default=False, description="Whether something newer has taken its place.")
    superseded_by: str | None = Field(default=None, description="The id of what took its place.")
    duplicates: list[str] = Field(default_factory=list, description="Ids of memories that say nearly the same, folded into this one.")
    token_count: int = Field(default=0, description="How many tokens it takes in the prompt.")


class KeptMemory(Contract):
    """A memory as it is kept, asked for by nothing but its time."""

    id: str = Field(description="Its id.")
    type: MemoryType = Field(description="Its type.")
    text: str = Field(description="What it says, all of it.")
    title: str | None = Field(default=None, description="What it is called.")
    at: datetime = Field(description="When it was.")
    entities: list[str] = Field(default_factory=list, description="Canonical ids of whom and what it is about.")
    importance: float = Field(description="How much it matters.")
    use_count: int = Field(default=0, description="How often it was used or said again.")
    metadata: dict[str, Any] = Field(default_factory=dict, description="Its own fields; those of facts and procedures too.")
    historical: bool = Field(default=False, description="Whether something newer has taken its place.")
    superseded_by: str | None = Field(default=None, description="The id of what took its place.")


class TimeLine(Contract):
    """Memories by their time, the last first."""

    memories: list[KeptMemory] = Field(description="Some of them.")
    next: str | None = Field(default=None, description="What asks for those that follow; null where none do.")


class SkippedMemory(Contract):
    """A memory that ranked well enough, and is not in the prompt."""

    id: str = Field(description="Its id.")
    reason: str = Field(description="Why, such as 'too long: 812 tokens, 300 were left'.")


class DomainTable(Contract):
    """Rows of the domain database that bear on a question."""

    table: str = Field(description="The table.")
    entity_type: str = Field(description="What its rows are.")
    about: str = Field(description="What was asked for, in words, such as 'order of customer:a1b2, 2024-01-01 to 2024-01-31'.")
    rows: list[dict[str, Any]] = Field(description="The rows, newest first where they have a time.")
    truncated: bool = Field(default=False, description="Whether there are more.")


class DomainResults(Contract):
    """What the domain database says of the entities of a question."""

    tables: list[DomainTable] = Field(default_factory=list, description="Rows by table.")
    problem: str | None = Field(default=None, description="Why there is nothing, or not all, in one line.")


class AugmentedContext(Contract):
    """What an experienced colleague would recall, and a prompt made of it."""

    retrieval_id: str = Field(description="By which feedback names it.")
    query: MemoryQuery = Field(description="How the question was understood.")
    weights: dict[str, float] = Field(description="How much each signal counted.")
    memories: list[RecalledMemory] = Field(description="What was recalled, best first.")
    skipped: list[SkippedMemory] = Field(default_factory=list, description="What would have come, and why it did not.")
    domain: DomainResults | None = Field(default=None, description="What the domain database says; null where it was not asked.")
    prompt: str = Field(description="All of it as a text for a language model.")
    token_count: int = Field(description="How many tokens of the model the prompt has.")
    max_tokens: int = Field(description="How many it was allowed to have.")
    candidates: int = Field(description="How many memories were ranked.")
    timing_ms: dict[str, float] = Field(default_factory=dict, description="Milliseconds by stage.")
    notes: list[str] = Field(default_factory=list, description="What a reader should know, such as that the domain database is away.")


class Recall(Section):
    """A question to memory. What is null is as the settings have it."""

    query: str = Field(description="What to recall.", json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARS})
    limit: int | None = Field(default=None, ge=1, le=1_000, description="The most memories.")
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000, description="The most tokens of the prompt.")
    timezone: str | None = Field(default=None, description="The user's time zone, such as 'Europe/Berlin'.")
    at: datetime | None = Field(
        default=None,
        description="When it is asked; now where nothing is said. What came later is not recalled. Without a zone it is of the user's.",
    )
    context: ConversationContext = Field(default=ConversationContext(), description="What was said before.")
    types: list[MemoryType] = Field(default=[], description="Only memories of these types; all where none is named.")
    filters: dict[str, Any] = Field(default={}, description='What must hold for every memory, such as {"project": "apollo"}.')
    include_history: bool = Field(default=False, description="Whether facts come too whose place was taken.")
    unread: list[str] = Field(
        default=[], description="Words of the question, as it has them, that are to be read neither as an entity nor as a time."
    )

    @field_validator("timezone")
    @classmethod
    def _timezone(cls, value: str | None) -> str | None:
        try:
            return value if value is None else ZoneInfo(value).key
        except (KeyError, OSError, ValueError):
            raise ValueError(f"timezone is {shown(value)}: give one such as 'Europe/Berlin'") from None

    @field_validator("at", mode="before")
    @classmethod
    def _at(cls, value: Any, info: ValidationInfo) -> Any:
        return _moment(value, _zone(info), is_end=True)


class Feedback(Contract):
    """What became of feedback."""

    retrieval_id: str = Field(description="The recall that it is about.")
    used: list[str] = Field(description="Ids of all of its memories that are known to have been used, best first.")
    counted: list[str] = Field(description="Those whose use was counted now: the same feedback twice counts once.")


class TunedStrategy(Contract):
    """What the log says of the weights of one strategy."""

    strategy: Strategy = Field(description="Which.")
    events: int = Field(description="Recalls with feedback that it was told from.")
    lift: dict[str, float] = Field(description="How much more of each signal memories had that were used than those beside them.")
    before: dict[str, float] = Field(description="The weights that count now.")
    after: dict[str, float] = Field(description="The weights that follow.")
    right_before: float | None = Field(description="Of the latest recalls, the share of pairs that had what was used before what was not.")
    right_after: float | None = Field(description="The same with the new weights.")
    changed: bool = Field(description="Whether the weights change.")
    why: str = Field(description="Why they do or do not, in a sentence.")


class TuningReport(Contract):
    """What tuning changed, or would change."""

    strategies: list[TunedStrategy] = Field(description="Each strategy.")
    applied: bool = Field(description="Whether the new weights count from now on.")
    weights: dict[str, dict[str, float]] = Field(description="The weights of this user that are not as configured, by strategy.")
