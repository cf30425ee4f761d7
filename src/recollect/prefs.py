"""What a caller may ask of a search, as pydantic models. Whatever is wrong with it is told in one line, by an `InvalidInput`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from .filters import period
from .nearness import Distance
from .profiles import MAX_DEPTH, Blend, Normalize
from .routing import MAX_PLACES, Place, SourceType
from .shapes import MAX_QUERY_CHARS, Section, shown

TextMode = Literal["web", "any", "plain", "phrase", "strict"]
RankFunction = Literal["ts_rank_cd", "ts_rank", "bm25"]
ChunkStrategy = Literal["late", "precomputed", "mixed"]
Pooling = Literal["plain", "contextual"]
RouterName = Literal["auto", "llm", "rules", "none"]

MAX_ITEMS: Final = 1_000
MAX_CHUNKS: Final = 1_000
MIN_CHUNK_TOKENS: Final = 16
MAX_TTL_S: Final = 1_000_000_000
MAX_SNIPPET_CHARS: Final = 1_000_000
MAX_WEIGHT: Final = 1_000_000


class TextPrefs(Section):
    """How the words of the question are searched."""

    place = "fts"

    mode: TextMode = Field(
        default="web",
        description="web: as in a web search; any: any word counts; plain: every word; phrase: side by side; strict: an expression.",
    )
    config: str | None = Field(default=None, description="A text search configuration of the server, such as 'german'; null: our own.")
    rank_func: RankFunction | None = Field(default=None, description="How words are ranked; null: bm25, or ts_rank with a config.")
    min_rank: float | None = Field(default=None, ge=0, description="The least score by words; what has less is not found by words.")


class VectorPrefs(Section):
    """How the meaning of the question is searched."""

    place = "vector"

    embed_query: bool = Field(default=True, description="Whether the model makes a vector of the question.")
    query_vector: list[float] | None = Field(default=None, description="A vector the caller made, by the store's own model, to search by.")
    distance: Distance = Field(default="cosine", description="How near two vectors are.")
    min_score: float | None = Field(default=None, description="The least similarity; what has less is not found by meaning.")

    @field_validator("query_vector", mode="before")
    @classmethod
    def _from_array(cls, value: Any) -> Any:
        """An embedder gives an array."""
        return value.tolist() if hasattr(value, "tolist") else value

    @field_validator("query_vector")
    @classmethod
    def _has_a_direction(cls, value: list[float] | None) -> list[float] | None:
        if value is not None and not any(value):
            raise ValueError(f"vector.query_vector is {shown(value)}: give numbers that are not all 0")
        return value


class ScoringPrefs(Section):
    """How the rankings become one. What is null is as the profile has it, whose numbers are the measured ones."""

    place = "scoring"

    blend: Blend | None = Field(default=None, description="By ranks (rrf) or by scores (linear); null: as the profile has it.")
    w_text: float | None = Field(default=None, ge=0, le=MAX_WEIGHT, description="The weight of the words; null: as the profile has it.")
    w_vec: float | None = Field(default=None, ge=0, le=MAX_WEIGHT, description="The weight of the meaning; null: as the profile has it.")
    normalize: Normalize | None = Field(default=None, description="How scores are made comparable for linear; null: as the profile has it.")
    rrf_k: int | None = Field(default=None, ge=0, description="How little the first ranks stand out in rrf; null: as the profile has it.")
    depth: int | None = Field(default=None, ge=1, le=MAX_DEPTH, description="Hits asked of each route; null: as the profile has it.")
    min_score: float | None = Field(default=None, ge=0, description="The least score of the one ranking; what has less is left out.")

    @model_validator(mode="after")
    def _something_counts(self) -> Self:
        if self.w_text == 0 and self.w_vec == 0:
            raise ValueError("scoring.w_text and scoring.w_vec are both 0: give one of them more")
        return self


class ChunkingPrefs(Section):
    """How candidates are cut into evidence."""

    place = "chunking"

    strategy: ChunkStrategy = Field(default="late", description="Cut when asked (late), use what was cut at ingest (precomputed), or both.")
    chunker_id: str = Field(default="auto", description="Which chunker cuts; 'auto': the one of the item's format.")
    include_headers: bool = Field(default=True, description="Whether title and headings stand before a chunk when it is embedded.")
    max_chunk_tokens: int | None = Field(default=None, ge=MIN_CHUNK_TOKENS, description="The longest chunk; null: as at ingest.")
    overlap_tokens: int | None = Field(default=None, ge=0, description="How much of the chunk before each one repeats; null: as at ingest.")
    pooling: Pooling = Field(default="plain", description="Whether a chunk is embedded alone (plain) or in its item (contextual).")

    @property
    def left_open(self) -> bool:
        """Whether nothing is said of how items are cut, so that the chunks of the ingest will do."""
        return self.model_copy(update={"strategy": "late"}) == ChunkingPrefs()

    @model_validator(mode="after")
    def _overlap_is_less_than_the_chunk(self) -> Self:
        if self.max_chunk_tokens and (self.overlap_tokens or 0) > self.max_chunk_tokens // 2:
            raise ValueError(
                f"chunking.overlap_tokens is {self.overlap_tokens}: give 0 to {self.max_chunk_tokens // 2}, half of max_chunk_tokens"
            )
        return self


class CachePrefs(Section):
    """What is kept of questions: the chunks that were cut and embedded for them, and the answers."""

    place = "cache"

    use_chunk_cache: bool = Field(default=True, description="Whether chunks that were kept are used.")
    write_chunk_cache: bool = Field(default=True, description="Whether new chunks are kept.")
    use_result_cache: bool = Field(
        default=False, description="Whether an answer may be one that was given before, while nothing in its scope has changed since."
    )
    ttl_seconds: float | None = Field(
        default=None, gt=0, le=MAX_TTL_S, description="How long they are good for; null: until the item changes."
    )


class SnippetPrefs(Section):
    """What is shown of a candidate."""

    place = "snippet"

    max_chars: int = Field(default=360, ge=1, le=MAX_SNIPPET_CHARS, description="The longest snippet.")
    prefer_chunk_snippet: bool = Field(default=True, description="Whether it is taken from the chunk that matches best.")


class RoutingPrefs(Section):
    """Where to look, and who decides that: what is named here is not left to a router."""

    place = "routing"

    source_types: list[SourceType] = Field(default=[], description="Only items of these formats; none: all.")
    file_patterns: list[Place] = Field(default=[], max_length=MAX_PLACES, description="Only files whose path matches one of these globs.")
    folders: list[Place] = Field(default=[], max_length=MAX_PLACES, description="Folders whose files count more; none is left out.")
    router: RouterName = Field(
        default="auto", description="Who reads this from the question, in the code profile: llm, rules, none; auto: llm where one is set."
    )

    @property
    def names_places(self) -> bool:
        """Whether the caller says where to look."""
        return bool(self.source_types or self.file_patterns or self.folders)


def moment(value: Any, name: str) -> Any:
    """A time. A day as text, such as 2024-05-17, is meant whole: the end of it. What is neither is left to be told of as such."""
    if isinstance(value, str):
        try:
            return period(value)[1] - timedelta(microseconds=1)
        except (ValueError, OverflowError):
            raise ValueError(f"{name} is {shown(value)}: give a day or a time, such as 2024-05-17") from None
    if isinstance(value, datetime):
        try:
            return value.replace(tzinfo=UTC) if value.utcoffset() is None else value.astimezone(UTC)
        except OverflowError:
            raise ValueError(f"{name} is {value.isoformat()}, which no calendar has in UTC: give another time") from None
    return value


class GraphPrefs(Section):
    """What the graph, status and time have to say."""

    place = "graph"

    max_distance: int | None = Field(
        default=None, ge=0, le=5, description="How many edges away from a hit something may be and still come; null: no more than hits."
    )
    include_history: bool = Field(default=False, description="Whether what was superseded or archived comes too, labelled as history.")
    include_code: bool = Field(default=True, description="Whether code comes too.")
    as_of: datetime | None = Field(default=None, description="A time: what was current then.")
    understand: bool | None = Field(
        default=None, description="Whether the question is read for entities and filters said in words; null: as the profile has it."
    )

    unread: list[str] = Field(
        default=[], description="Words of the question, as it has them, that are to be read neither as an entity nor as a filter."
    )

    @field_validator("as_of", mode="before")
    @classmethod
    def _as_of(cls, value: Any) -> Any:
        return moment(value, "graph.as_of")


class RetrievalPrefs(Section):
    """A question and how it is to be answered."""

    query_text: str = Field(description="What to look for.", json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARS})
    filters: dict[str, Any] = Field(default={}, description='What must hold for every candidate, such as {"status": "approved"}.')
    top_k_items: int = Field(default=20, ge=1, le=MAX_ITEMS, description="How many candidates are wanted.")
    top_k_chunks: int = Field(default=12, ge=0, le=MAX_CHUNKS, description="How many chunks of evidence are wanted; 0: none.")
    per_item_chunk_cap: int = Field(default=3, ge=1, description="The most chunks of one candidate.")
    fts: TextPrefs = TextPrefs()
    vector: VectorPrefs = VectorPrefs()
    scoring: ScoringPrefs = ScoringPrefs()
    chunking: ChunkingPrefs = ChunkingPrefs()
    cache: CachePrefs = CachePrefs()
    snippet: SnippetPrefs = SnippetPrefs()
    routing: RoutingPrefs = RoutingPrefs()
    graph: GraphPrefs = GraphPrefs()
    expand: bool | None = Field(default=None, description="Whether evidence comes with what surrounds it; null: as the profile has it.")
    debug: bool = Field(default=False, description="Whether the stats are filled in.")
    profile: str | None = Field(default=None, description="The name of the profile; null: the one that is set.")
    facets: list[str] = Field(default=[], description="Fields whose values are counted among the hits.")
