"""The settings of memory, the section `memory`: the numbers by which memories are found, ranked and fitted, each to be changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator, model_validator

from .retrieval_settings import Section, Share


class SignalWeights(Section):
    """How much each signal counts. They need not add up to 1."""

    semantic_similarity: Share
    entity_overlap: Share
    temporal_relevance: Share
    importance: Share
    reinforcement: Share

    @model_validator(mode="after")
    def _something_counts(self) -> SignalWeights:
        if not any(self.as_dict().values()):
            raise ValueError("give one of the signals more than 0")
        return self

    def as_dict(self) -> dict[str, float]:
        """By name, in the order of `memories.SIGNALS`."""
        return {name: getattr(self, name) for name in type(self).model_fields}


def _weights(*numbers: float) -> SignalWeights:
    return SignalWeights(**dict(zip(SignalWeights.model_fields, numbers, strict=True)))


class StrategySettings(Section):
    """The weights of the four strategies."""

    factual_entity_focused: SignalWeights = _weights(0.25, 0.40, 0.20, 0.10, 0.05)
    procedural: SignalWeights = _weights(0.45, 0.05, 0.05, 0.15, 0.30)
    exploratory: SignalWeights = _weights(0.35, 0.25, 0.15, 0.20, 0.05)
    analytical: SignalWeights = _weights(0.30, 0.15, 0.25, 0.25, 0.05)

    @model_validator(mode="before")
    @classmethod
    def _beside_the_defaults(cls, given: Any) -> Any:
        """What is not said of a strategy is as it is by default."""
        if not isinstance(given, Mapping):
            return given
        defaults = {name: field.default.as_dict() for name, field in cls.model_fields.items()}
        return {name: {**defaults[name], **own} if name in defaults and isinstance(own, Mapping) else own for name, own in given.items()}


class SourceSettings(Section):
    """How many candidates each source gives."""

    semantic: int = Field(default=50, ge=0, le=1_000)
    text: int = Field(default=50, ge=0, le=1_000)
    entity: int = Field(default=30, ge=0, le=1_000)
    time: int = Field(default=30, ge=0, le=1_000)
    procedural: int = Field(default=20, ge=0, le=1_000)
    summary: int = Field(default=5, ge=0, le=1_000)
    most: int = Field(default=200, ge=1, le=5_000)
    """Candidates in all, after those that came twice are one."""
    min_similarity: Share = 0.5
    """The least similarity, (1 + cosine) / 2, to be found by meaning."""


class RankingSettings(Section):
    """How signals are computed and memories chosen."""

    # Measured on the training half of 470 questions about 940 conversations, with the weights of the strategies, each question asked at its
    # own time: recall@10, and the share of corrected facts whose newest telling comes first.
    text_share: Share = 0.45
    """Of how well a memory fits the question, the share of words; the rest is meaning. 0.4 .822 .88, 0.45 .833 .88, 0.5 .834 .88. nDCG@10
    of claims, documentation and tools, training halves, by fit alone: 0.4 .732 .846 .717, 0.45 .731 .843 .709, 0.5 .733 .842 .702; a search
    that fuses both, with 0.6 for words as the profile `memory` has it, .731 .839 .706."""
    unrelated: Share = 0.75
    """The similarity, (1 + cosine) / 2, up to which a memory has nothing in common with a question; lower where a candidate has less.
    With the bundled model, half of all conversations have at most 0.775 with a question, the best 0.85 to 0.95."""
    related: Share = 0.5
    """Entity overlap of a memory about what the ontology leads to from an entity of the question."""
    decay_outside: float = Field(default=0.1, ge=0, le=100)
    """Temporal relevance falls by exp(-this x days) outside the time that a question names."""
    decay_age: float = Field(default=0.01, ge=0, le=100)
    """And with age, where it names none."""
    reinforcement_scale: float = Field(default=5.0, gt=0, le=1_000)
    """Reinforcement is log(1 + uses) / this, at most 1."""
    summary_boost: float = Field(default=1.15, ge=0, le=100)
    summary_behind: Share = 0.25
    """A summary may fit by this less than the best candidate; one further behind counts this / how far it is behind. In a store of 40
    memories with four summaries the best has .54 or more where one answers the question, and others .2 or less; where none does, as of
    `what is new?`, all are within .3 of each other. Of 22 questions what answers came first for 10 without this, and for 21 with it."""
    diversity: Share = 0.7
    """Lambda of maximal marginal relevance: 1 ranks by score alone."""
    alike: Share = 0.8
    """Up to this likeness two memories do not repeat each other. Likeness is how far their cosine is above the usual one of the candidates.
    What answers a question together is alike: recall@10 with 0 .732, 0.6 .795, 0.8 .833, 0.9 .836, without any diversity .838."""
    same_matter: Share = 0.4
    """From this likeness on they are about the same matter, and of two that score nearly the same the newer comes first."""
    nearly: Share = 0.9
    """The share of a score that is nearly the same. Without this rule .823 .69; with it, from a likeness of 0.3 .834 .88, 0.4 .833 .88, 0.5
    .831 .81; with 0.85 for nearly the same .829 .88, with 0.95 .830 .84."""
    same: Share = 0.95
    """Two memories whose vectors have this cosine or more, and the same words nearly, are one. Where none are .798 .88."""
    least: int = Field(default=5, ge=0, le=1_000)
    """Memories that come in any case, where there are so many."""
    min_marginal: float = Field(default=0.3, ge=-1, le=1)
    """Those beyond must be worth so much beside the chosen ones, where the best score counts 1..."""
    sure: Share = 0.9
    """...or have this share of the best score."""


class ImportanceSettings(Section):
    """How much a memory matters where nothing is said."""

    episodic: Share = 0.5
    semantic: Share = 0.5
    procedural: Share = 0.8
    summary: Share = 0.9


class TuningSettings(Section):
    """How far the weights of a user may go, where they are tuned by what was used: nothing is, until somebody says so."""

    min_events: int = Field(default=50, ge=1, le=1_000_000)
    """Recalls with feedback that are needed, for each strategy."""
    max_change: Share = 0.1
    """How far a weight may be from the configured one."""


class DomainSettings(Section):
    """The domain database, of which only is read."""

    url: str | None = Field(default=None, repr=False)
    """Any SQLAlchemy URL."""
    ontology: str | None = None
    """The YAML file that says which entities are in which tables."""
    timeout_s: float = Field(default=2.0, gt=0, le=600)
    per_relation: int = Field(default=10, ge=1, le=1_000)
    depth: int = Field(default=1, ge=0, le=5)
    max_rows: int = Field(default=20, ge=1, le=1_000)
    """Rows of one table in an answer."""

    @model_validator(mode="after")
    def _both_or_none(self) -> DomainSettings:
        if (self.url is None) != (self.ontology is None):
            missing, given = ("url", "ontology") if self.url is None else ("ontology", "url")
            raise ValueError(f"{missing!r} is missing beside {given!r}: give both, or none of them")
        return self


MAX_TOKENS: Final = 3_000


class MemorySettings(Section):
    """Everything that can be set of memory."""

    timezone: str = "UTC"
    """By which `yesterday`, and times without a zone, are told, where a question does not say."""
    max_tokens: int = Field(default=MAX_TOKENS, ge=1, le=1_000_000)
    """Of the whole prompt, in tokens of the model."""
    query_tokens: int = Field(default=100, ge=0, le=1_000_000)
    """Of these, what is left for the question."""
    limit: int = Field(default=15, ge=1, le=1_000)
    excerpt_tokens: int = Field(default=400, ge=16, le=1_000_000)
    """A memory that is longer, and has no summary, comes as the part that fits the question best."""
    recent_days: int = Field(default=7, ge=1, le=36_500)
    """What `recently` means."""
    log: bool = True
    """Whether recalls are logged, so that feedback can name them."""
    max_entries: int = Field(default=10_000, ge=1)
    """How many of them are kept."""
    llm: bool = True
    """Whether a language model that is configured reads questions to memory."""
    llm_timeout_s: float = Field(default=5.0, gt=0, le=600)
    """How long it is waited for; rules read the question then."""
    sources: SourceSettings = SourceSettings()
    ranking: RankingSettings = RankingSettings()
    strategies: StrategySettings = StrategySettings()
    importance: ImportanceSettings = ImportanceSettings()
    tuning: TuningSettings = TuningSettings()
    domain: DomainSettings = DomainSettings()

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (KeyError, OSError, ValueError):
            raise ValueError(f"{value!r} is no time zone: give one such as 'Europe/Berlin'") from None
        return value
