"""The JSON Schema of each public contract."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

from .answers import Answer, AnswerSentence, AnswerSources
from .contracts import CandidateItem, EvidenceChunk, QueryAnalysis, RetrievalBundle, RetrievalStats
from .knowledge import (
    AgentRequest,
    AssembledContext,
    GraphContext,
    ImpactContext,
    RetrievalMetrics,
    RetrievalOptions,
    RetrievalQuery,
    RetrievalResult,
)
from .memories import AugmentedContext, Feedback, NewMemory, Recall, Remembered, TuningReport
from .prefs import RetrievalPrefs

TAKEN: Final[tuple[type[BaseModel], ...]] = (RetrievalPrefs, RetrievalQuery, RetrievalOptions, AgentRequest, NewMemory, Recall)
GIVEN: Final[tuple[type[BaseModel], ...]] = (
    CandidateItem,
    EvidenceChunk,
    RetrievalStats,
    RetrievalBundle,
    QueryAnalysis,
    RetrievalResult,
    AssembledContext,
    AnswerSources,
    AnswerSentence,
    Answer,
    GraphContext,
    ImpactContext,
    RetrievalMetrics,
    Remembered,
    AugmentedContext,
    Feedback,
    TuningReport,
)


def json_schemas() -> dict[str, dict[str, Any]]:
    """By name: of what is asked as it is taken, of what is answered as it is given."""
    taken = {model.__name__: model.model_json_schema() for model in TAKEN}
    return taken | {model.__name__: model.model_json_schema(mode="serialization") for model in GIVEN}
