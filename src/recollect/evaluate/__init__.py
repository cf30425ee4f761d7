"""How well a library answers questions whose answers are known.

    from recollect.evaluate import evaluate, load

    evaluation = await evaluate(library, load("scifact"), profile="documents")
    evaluation.values["nDCG@10"]

`prepare` and `ask` are its two halves, for asking the same questions with many settings; `compare` holds two runs against
each other, `worst` shows the questions that went worst.
"""

from __future__ import annotations

from .comparing import Difference, compare
from .datasets import Dataset, Query, half_of, load
from .failures import Failure, worst
from .questions import load_questions, resolved
from .running import Answer, Evaluation, How, ask, check, evaluate, fitting_profile, prepare
from .vectors import CachedEmbedder

__all__ = [
    "Answer",
    "CachedEmbedder",
    "Dataset",
    "Difference",
    "Evaluation",
    "Failure",
    "How",
    "Query",
    "ask",
    "check",
    "compare",
    "evaluate",
    "fitting_profile",
    "half_of",
    "load",
    "load_questions",
    "prepare",
    "resolved",
    "worst",
]
