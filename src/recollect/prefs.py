"""What a caller may ask of a search, as pydantic models. Whatever is wrong with it is told in one line, by an `InvalidInput`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic.fields import FieldInfo

from .contracts import CandidateItem, EvidenceChunk, RetrievalBundle, RetrievalStats
from .errors import InvalidInput
from .nearness import Distance
from .profiles import MAX_DEPTH, Blend, Normalize

TextMode = Literal["web", "any", "plain", "phrase", "strict"]
RankFunction = Literal["ts_rank_cd", "ts_rank", "bm25"]
ChunkStrategy = Literal["late", "precomputed", "mixed"]
Pooling = Literal["plain", "contextual"]

MAX_QUERY_CHARS: Final = 100_000
MAX_ITEMS: Final = 1_000
MAX_CHUNKS: Final = 1_000
MIN_CHUNK_TOKENS: Final = 16
MAX_TTL_S: Final = 1_000_000_000
MAX_SNIPPET_CHARS: Final = 1_000_000
MAX_WEIGHT: Final = 1_000_000


@contextmanager
def _told(model: type[Section]) -> Iterator[None]:
    """Turns pydantic's report of all that is wrong into one line about the first of it."""
    try:
        yield
    except ValidationError as error:
        raise InvalidInput(_refusal(model, error)) from None


class Section(BaseModel):
    """A frozen value with exactly the keys it names. Nothing is converted, except a whole number where any number will do."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    place: ClassVar[str] = ""
    """Its key in `RetrievalPrefs`, so that one built alone is told of by its full path too."""

    def __init__(self, **values: Any) -> None:
        with _told(type(self)):
            super().__init__(**values)

    # Without this mark pydantic calls an __init__ that is not its own for each section inside, too, and buries what it raises.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def model_validate(cls, *args: Any, **options: Any) -> Self:
        with _told(cls):
            return super().model_validate(*args, **options)

    @classmethod
    def model_validate_json(cls, *args: Any, **options: Any) -> Self:
        with _told(cls):
            return super().model_validate_json(*args, **options)


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
            raise ValueError(f"vector.query_vector is {_shown(value)}: give numbers that are not all 0")
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
    """What is kept of chunks that were cut and embedded for a question."""

    place = "cache"

    use_chunk_cache: bool = Field(default=True, description="Whether chunks that were kept are used.")
    write_chunk_cache: bool = Field(default=True, description="Whether new chunks are kept.")
    ttl_seconds: float | None = Field(
        default=None, gt=0, le=MAX_TTL_S, description="How long they are good for; null: until the item changes."
    )


class SnippetPrefs(Section):
    """What is shown of a candidate."""

    place = "snippet"

    max_chars: int = Field(default=360, ge=1, le=MAX_SNIPPET_CHARS, description="The longest snippet.")
    prefer_chunk_snippet: bool = Field(default=True, description="Whether it is taken from the chunk that matches best.")


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
    debug: bool = Field(default=False, description="Whether the stats are filled in.")
    profile: str | None = Field(default=None, description="The name of the profile; null: the one that is set.")
    facets: list[str] = Field(default=[], description="Fields whose values are counted among the hits.")


def json_schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schema of each public contract, by name: of the prefs as they are taken, of all else as it is given."""
    given: tuple[type[BaseModel], ...] = (CandidateItem, EvidenceChunk, RetrievalStats, RetrievalBundle)
    return {
        RetrievalPrefs.__name__: RetrievalPrefs.model_json_schema(),
        **{model.__name__: model.model_json_schema(mode="serialization") for model in given},
    }


# By pydantic's names for what can be wrong with a value.
_WANTED: Final = {
    "bool_type": "true or false",
    "dict_type": "keys and values",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "string_type": "a text",
}
_OUT_OF_RANGE: Final = ("greater_than", "greater_than_equal", "less_than_equal")


def _refusal(model: type[Section], error: ValidationError) -> str:
    problems = error.errors(include_url=False)
    # A key that is misspelt is also missing under its right name, and says more.
    problem = next((each for each in problems if each["type"] == "extra_forbidden"), problems[0])
    kind, loc, context = problem["type"], problem["loc"], problem.get("ctx", {})
    section, field = _reached(model, loc)
    path = ".".join(str(part) for part in (model.place, *loc) if part != "") or model.__name__
    keys = list(section.model_fields)
    match kind:
        case "extra_forbidden" | "invalid_key":
            close = get_close_matches(str(loc[-1]), keys, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            return f"there is no key {loc[-1]!r:.80} in {section.place or section.__name__}: there are {', '.join(keys)}{hint}"
        case "missing":
            return f"{path} is missing: it has no default, so give it"
        case "json_invalid":
            return f"{path} is not JSON: {context['error']}"
        case "value_error":
            return str(context["error"])
        case "literal_error":
            wanted = f"use {context['expected']}".replace("'", "")
        case "model_type":
            wanted = f"give an object with any of {', '.join(keys)}"
        case _ if kind in _OUT_OF_RANGE:
            wanted = f"give {_range(field)}"
        case _ if kind in _WANTED:
            wanted = ", ".join(filter(None, (f"give {_WANTED[kind]}", _range(field))))
        case _:
            wanted = problem["msg"]
    return f"{path} is {_shown(problem['input'])}: {wanted}"


def _reached(model: type[Section], loc: tuple[int | str, ...]) -> tuple[type[Section], FieldInfo | None]:
    """The section that a path leads into, and the last field on it."""
    section, field = model, None
    for part in loc:
        if not isinstance(part, str) or part not in section.model_fields:
            break
        field = section.model_fields[part]
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            section = field.annotation
    return section, field


def _range(field: FieldInfo | None) -> str:
    """Which numbers a field takes, in words; nothing where it takes them all."""
    limits = {name: getattr(each, name) for each in (field.metadata if field else ()) for name in ("ge", "gt", "le") if hasattr(each, name)}
    if "le" in limits:
        return f"{limits['ge']} to {limits['le']}" if "ge" in limits else f"more than {limits['gt']} and at most {limits['le']}"
    return f"at least {limits['ge']}" if "ge" in limits else f"more than {limits['gt']}" if "gt" in limits else ""


def _shown(value: object) -> str:
    return repr(value).replace("\n", " ")[:80]
