"""The settings of the knowledge service, the section `retrieval`: each default is a number that somebody may want to change."""

from __future__ import annotations

import json
import re
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from .errors import InvalidInput
from .profiles import TEXT, VECTOR, Authority, Expansion

INDEX_NAME: Final = "doc_content_search"
OTHER_INDEXES: Final = ("window_content_search", "chunk_embedding", "doc_embedding")
OWN_INDEXES: Final = "recollect_"
"""Indexes of a store that are not that of words, and what the names of all its further ones begin with."""
STANDARD: Final = "standard"
"""The analyzer that is our own: stemmed words, parts of names, windows of text, alike on every store."""
OTHER: Final = "other"
"""In the map of weights it stands for every type of edge that the map does not name."""

VectorIndex = Literal["chunk_embedding", "doc_embedding"]
Share = Annotated[float, Field(ge=0, le=1)]
Factor = Annotated[float, Field(ge=0, le=1_000)]


class Section(BaseModel):
    """A part of the settings with exactly the keys it names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def listed(value: Any) -> Any:
    """A list, also where a variable of the environment holds one: as JSON, or as names between commas."""
    if not isinstance(value, str):
        return value
    return _json(value) if value.lstrip().startswith("[") else [name.strip() for name in value.split(",") if name.strip()]


def mapped(value: Any) -> Any:
    """A map, also where a variable of the environment holds one: as JSON."""
    return _json(value) if isinstance(value, str) else value


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON at column {error.colno}: {error.msg.lower()}") from None


class VectorSearchSettings(Section):
    """What is compared with the question, and how."""

    indices: list[VectorIndex] = Field(default=["chunk_embedding", "doc_embedding"], min_length=1)
    similarity_function: Literal["cosine", "dot", "euclidean"] = "cosine"

    _from_environment = field_validator("indices", mode="before")(listed)

    @property
    def vectors(self) -> tuple[Literal["chunks", "items"], ...]:
        """The indices as stores call them."""
        names: dict[VectorIndex, Literal["chunks", "items"]] = {"chunk_embedding": "chunks", "doc_embedding": "items"}
        return tuple(dict.fromkeys(names[index] for index in self.indices))

    @property
    def distance(self) -> Literal["cosine", "l2", "ip"]:
        """The function as searches call it."""
        names: dict[str, Literal["cosine", "l2", "ip"]] = {"cosine": "cosine", "dot": "ip", "euclidean": "l2"}
        return names[self.similarity_function]


class KeywordSearchSettings(Section):
    """What is asked by words. A name that a store knows nothing of is refused when it is opened."""

    index_name: str = INDEX_NAME
    analyzer: str = Field(default=STANDARD, min_length=1, max_length=63)

    @field_validator("index_name")
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", value):
            raise ValueError("give a name of letters, digits and _, which begins with a letter, of at most 63")
        if value in OTHER_INDEXES or value.startswith(OWN_INDEXES):
            raise ValueError(f"another index has that name: give one that is none of {', '.join(OTHER_INDEXES)} and {OWN_INDEXES}...")
        return value

    @property
    def config(self) -> str | None:
        """A text search configuration of the server; None for our own analysis."""
        return None if self.analyzer == STANDARD else self.analyzer

    def check(self, url: str) -> None:
        """Refuse what the store at a URL cannot honour."""
        scheme = url.partition("://")[0].partition("+")[0] if "://" in url else ""
        if self.index_name != INDEX_NAME and scheme not in ("neo4j", "bolt"):
            raise InvalidInput(
                f"setting 'retrieval.search.keyword_search.index_name' is {self.index_name!r}: this store has one index of words, "
                f"{INDEX_NAME!r}; only on Neo4j can it have another name"
            )
        if self.analyzer != STANDARD and scheme not in ("postgres", "postgresql"):
            raise InvalidInput(
                f"setting 'retrieval.search.keyword_search.analyzer' is {self.analyzer!r}: this store has {STANDARD!r}; only Postgres has "
                "others, its text search configurations, such as 'german'"
            )


class HybridSettings(Section):
    """How much meaning and words count where both are asked."""

    vector_weight: Factor = 0.7
    keyword_weight: Factor = 0.3

    @model_validator(mode="after")
    def _something_counts(self) -> HybridSettings:
        if not self.vector_weight and not self.keyword_weight:
            raise ValueError("give one of vector_weight and keyword_weight more than 0")
        return self

    @property
    def weights(self) -> dict[str, float]:
        """By route, as profiles have them."""
        return {TEXT: self.keyword_weight, VECTOR: self.vector_weight}


class KnowledgeSearchSettings(Section):
    """Defaults of a question to the knowledge service."""

    default_type: Literal["semantic", "exact", "hybrid"] = "hybrid"
    default_limit: int = Field(default=10, ge=1, le=1_000)
    min_score_threshold: Share = 0.7
    """The least similarity, (1 + cosine) / 2, to be found by meaning."""
    vector_search: VectorSearchSettings = VectorSearchSettings()
    keyword_search: KeywordSearchSettings = KeywordSearchSettings()
    hybrid: HybridSettings = HybridSettings()


class PrioritizationSettings(Section):
    """What status, time and kind add to a score: factors, of which 1 changes nothing."""

    approved_boost: Factor = 1.5
    recent_boost: Factor = 1.2
    recent_days: int = Field(default=90, ge=0, le=100_000)
    architecture_weight: Factor = 2.0
    design_weight: Factor = 1.5
    code_weight: Factor = 1.0

    @property
    def authority(self) -> Authority:
        """The same as profiles have it."""
        kinds = {"architecture": self.architecture_weight, "design": self.design_weight, "code": self.code_weight}
        return Authority(self.approved_boost, self.recent_boost, self.recent_days, MappingProxyType(kinds))


class ContextSettings(Section):
    """How a context is made."""

    max_length: int = Field(default=8_000, ge=1, le=1_000_000)
    """In tokens of the model, of the whole context."""
    include_metadata: bool = True
    format: Literal["markdown", "xml", "json"] = "markdown"
    prioritization: PrioritizationSettings = PrioritizationSettings()


WEIGHTS: Final = {"IMPLEMENTS": 1.0, "SATISFIES": 0.9, "REFERENCES": 0.7, "SUPERSEDES": 0.5, OTHER: 0.3}


class GraphSettings(Section):
    """How the graph is followed from what was found."""

    max_distance: int = Field(default=2, ge=0, le=5)
    max_expanded_nodes: int = Field(default=20, ge=0, le=1_000)
    fan_out: int = Field(default=20, ge=1, le=1_000)
    relationship_weights: dict[str, Share] = WEIGHTS
    """Those that are given stand beside these, or in their place."""

    @field_validator("relationship_weights", mode="before")
    @classmethod
    def _beside_the_defaults(cls, value: Any) -> Any:
        given = mapped(value)
        if not isinstance(given, dict):
            return given
        for name in given:
            if meant := next((each for each in WEIGHTS if each.casefold() == str(name).casefold() and each != name), None):
                raise ValueError(f"write {meant!r} for {name!r}")
        return WEIGHTS | given

    @property
    def expansion(self) -> Expansion:
        """The same as profiles have it."""
        weights = {name: weight for name, weight in self.relationship_weights.items() if name != OTHER}
        other = self.relationship_weights[OTHER]
        return Expansion(self.max_expanded_nodes, self.fan_out, MappingProxyType(weights), other)


class ResultCacheSettings(Section):
    """How long answers are kept while nothing in their scope changes, and how many."""

    enabled: bool = True
    ttl: float = Field(default=300, gt=0, le=1_000_000_000)
    """In seconds."""
    max_size: int = Field(default=1_000, ge=1, le=1_000_000)


class RetrievalSettings(Section):
    """Everything that can be set of the knowledge service."""

    search: KnowledgeSearchSettings = KnowledgeSearchSettings()
    context: ContextSettings = ContextSettings()
    graph: GraphSettings = GraphSettings()
    cache: ResultCacheSettings = ResultCacheSettings()
