"""Asks a library the questions of a dataset, one at a time, and holds the answers against the judgments.

`prepare` takes the documents in, `ask` asks; `evaluate` is both. Asking again with other numbers needs no second `prepare`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from ..contracts import RetrievalBundle
from ..errors import InvalidInput
from ..ingest import Progress
from ..ingest.report import IndexReport
from ..library import Library
from ..profiles import Blend, Normalize
from ..settings import SearchSettings
from . import recalls
from .datasets import GRAPH, Dataset, Half, Query, chosen, mostly_code, mostly_episodes
from .judgments import Span
from .measures import means, ranking_values, require_measures
from .recalls import better_first, recall
from .spans import Starts, span_values
from .vectors import CachedEmbedder

DEFAULT_K: Final = 100
DEFAULT_CHUNKS: Final = 12
DIGITS: Final = 6
TIMED: Final = 200
"""Questions asked once more, for as many results as a person sees, to time them."""
RECALLED: Final = 15
"""Memories that a recall gives back, where it is timed."""
MODE: Final = "any"
"""A question of a dataset is a text, not something typed into a search box: its quotes and hyphens are no operators."""

Report = Callable[[Progress], None]


class How(TypedDict, total=False):
    """How the questions are asked, and which of them. What is left out is as the settings, or the profile, have it."""

    k: int
    mode: str
    profile: str | None
    weights: Mapping[str, float] | None
    blend: Blend | None
    normalize: Normalize | None
    rrf_k: int | None
    depth: int | None
    chunks: int
    chunks_per_item: int
    chunking: Mapping[str, Any]
    half: Half | None
    limit: int | None
    haystacks: bool
    recall: bool
    timed: bool


_CHOICES = ("half", "limit", "haystacks", "recall", "timed")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one question. A question without judgments has no values."""

    query: Query
    expected: Mapping[str, int]
    ranking: tuple[str, ...]
    values: Mapping[str, float]
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How well the questions of a dataset were answered: the means over its judged questions, and each question."""

    dataset: str
    documents: int
    """How many there are in the scope that was asked."""
    profile: str
    profile_reason: str
    model: str | None
    how: How
    values: Mapping[str, float]
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    answers: tuple[Answer, ...]
    notes: tuple[str, ...] = ()
    indexing: IndexReport | None = None

    @property
    def judged(self) -> int:
        return sum(bool(answer.expected) for answer in self.answers)

    def flat(self) -> dict[str, Any]:
        """The numbers in one object."""
        facts = {
            "dataset": self.dataset,
            "documents": self.documents,
            "questions": len(self.answers),
            "judged": self.judged,
            "profile": self.profile,
            "profile_reason": self.profile_reason,
            "model": self.model,
            **self.values,
            "latency_p50_ms": self.latency_p50_ms,
            "latency_p95_ms": self.latency_p95_ms,
            "index_seconds": self.indexing.seconds if self.indexing else None,
            "notes": list(self.notes),
        }
        return {name: round(value, DIGITS) if isinstance(value, float) else value for name, value in facts.items()}


async def evaluate(library: Library, dataset: Dataset, *, report: Report | None = None, **how: Unpack[How]) -> Evaluation:
    """Take the documents of the dataset into the library's scope, and ask its questions."""
    await check(library, dataset, **how)
    indexed = await prepare(library, dataset, report=report)
    return replace(await ask(library, dataset, report=report, **how), indexing=indexed)


async def check(library: Library, dataset: Dataset, **how: Unpack[How]) -> None:
    """Tell what is wrong with the options before hours of indexing."""
    require_measures()
    queries = _questions(dataset, how)
    await library.search(queries[0].text, **search_options(library, dataset, how))


async def prepare(library: Library, dataset: Dataset, *, report: Report | None = None) -> IndexReport:
    """Take in the documents that the library's scope does not have yet, and their graph. A scope with other things in it is refused."""
    documents = {item.id: replace(item, scope=library.scope) for item in dataset.documents}
    present = {item.id: item async for item in library.items()}
    if strangers := present.keys() - documents.keys():
        raise InvalidInput(
            f"scope {library.scope!r} holds {len(strangers)} items that are not of {dataset.name!r}, such as {min(strangers)!r}: "
            "name another with --scope"
        )
    space = await library.store.space()
    complete = library.embedder is None or (space and not await library.store.without_passages(library.scope, space, 1))
    fresh = [item for item in documents.values() if not complete or present.get(item.id) != item]
    kept = _reused(library)
    indexed = await library.add(fresh, report=report)
    kept = _reused(library) - kept
    graph = await library.import_graph(dataset.graph, name=GRAPH) if dataset.graph else None
    return replace(
        indexed,
        problems=[*indexed.problems, *(graph.problems if graph else ())],
        unchanged=indexed.unchanged + len(documents) - len(fresh),
        chunks_embedded=indexed.chunks_embedded - kept,
        chunks_reused=indexed.chunks_reused + kept,
    )


def _reused(library: Library) -> int:
    return library.embedder.reused if isinstance(library.embedder, CachedEmbedder) else 0


async def ask(library: Library, dataset: Dataset, *, report: Report | None = None, **how: Unpack[How]) -> Evaluation:
    """Ask the questions of the dataset, of what the library's scope holds."""
    require_measures()
    queries = _questions(dataset, how)
    options = search_options(library, dataset, how)
    starts = _token_starts(library, dataset)
    progress = Progress(items_total=len(queries))
    times = await _times(library, dataset, queries[:TIMED] if how.get("timed", True) else (), how)
    answers: list[Answer] = []
    for query in queries:
        where = haystack(dataset, query, how)
        if how.get("recall"):
            context = await recall(library, query, limit=options["k"], where=where)
            answers.append(Answer(query, dataset.expected(query.id), recalls.ranking_of(context), {}, context.timing_ms["total"]))
        else:
            bundle = await library.search(query.text, **options, where=where)
            gold = dataset.evidence.get(query.id, ())
            spans = span_values(gold, shown_spans(bundle), starts, found=ranking_of(bundle)) if gold else {}
            answers.append(Answer(query, dataset.expected(query.id), ranking_of(bundle), spans, bundle.stats.timing_ms["total"]))
        progress.items_done += 1
        if report:
            report(progress)
    items = (await library.status()).items
    return _evaluation(library, dataset, items, _measured(dataset, answers, k=options["k"], chunks=options["chunks"]), times, how)


async def _times(library: Library, dataset: Dataset, queries: Sequence[Query], how: How) -> list[float]:
    """Milliseconds that a search takes, for as many results as the settings say; the first one also opens model and indexes."""
    defaults = library.settings.search
    shown = {"k": defaults.k, "chunks": defaults.chunks, "chunks_per_item": defaults.chunks_per_item}
    options = search_options(library, dataset, how) | shown
    times: list[float] = []
    for query in (*queries[:1], *queries):
        where = haystack(dataset, query, how)
        if how.get("recall"):
            times.append((await recall(library, query, limit=RECALLED, where=where)).timing_ms["total"])
        else:
            times.append((await library.search(query.text, **options, where=where)).stats.timing_ms["total"])
    return times[1:]


def _questions(dataset: Dataset, how: How) -> tuple[Query, ...]:
    queries = chosen(dataset.queries, half=how.get("half"), limit=how.get("limit"))
    if not any(dataset.expected(query.id) for query in queries):
        raise InvalidInput(f"none of the {len(queries)} questions to ask of {dataset.name!r} has a judgment: ask more of them")
    if how.get("haystacks") and dataset.haystacks is None:
        raise InvalidInput(f"the dataset {dataset.name!r} has no haystacks.jsonl: ask without haystacks")
    if how.get("haystacks") and (without := [query.id for query in queries if query.id not in (dataset.haystacks or {})]):
        raise InvalidInput(
            f"haystacks.jsonl of {dataset.name!r} has no documents for {len(without)} questions, such as {without[0]!r}: add them"
        )
    return queries


def search_options(library: Library, dataset: Dataset, how: How) -> dict[str, Any]:
    """What each search of a run is given."""
    numbers = {name: value for name, value in how.items() if name not in _CHOICES}
    # Evidence is asked for where there is something to hold it against; as much of one document as there is.
    chunks = how.get("chunks", DEFAULT_CHUNKS if dataset.evidence else 0)
    evidence: dict[str, Any] = {"chunks": chunks, "chunks_per_item": max(1, chunks), "debug": True}
    if not dataset.documents:  # the store is the user's own, and measuring leaves it as it was
        evidence["cache"] = {"use_chunk_cache": False, "write_chunk_cache": False}
    chosen_mode = library.settings.search.mode if "mode" in library.settings.search.model_fields_set else MODE
    return {"k": DEFAULT_K, "mode": chosen_mode} | evidence | numbers | {"profile": profile_of(library, dataset, how)[0]}


def profile_of(library: Library, dataset: Dataset, how: How) -> tuple[str, str]:
    """The profile of a run, and why it is this one."""
    if asked := how.get("profile"):
        return asked, "as asked"
    return fitting_profile(dataset, library.settings.search)


def fitting_profile(dataset: Dataset, options: SearchSettings) -> tuple[str, str]:
    """The profile that the settings name, or else the one that fits the documents; and why."""
    if "profile" in options.model_fields_set:
        return options.profile, "by the settings"
    if dataset.graph:
        return "graph", "it comes with a graph"
    if dataset.documents and mostly_code(dataset.documents):
        return "code", "most documents are code"
    if dataset.documents and mostly_episodes(dataset.documents):
        return "memory", "most documents are episodes"
    return options.profile, "the default"


def haystack(dataset: Dataset, query: Query, how: How) -> dict[str, Any] | None:
    """The filter that keeps a question to its own documents, where that is asked for."""
    if not how.get("haystacks") or not dataset.haystacks or query.id not in dataset.haystacks:
        return None
    return {"id": {"in": list(dataset.haystacks[query.id])}}


def ranking_of(bundle: RetrievalBundle) -> tuple[str, ...]:
    """The ids in order, each followed by those that were folded into it."""
    return tuple(dict.fromkeys(item_id for each in bundle.candidates for item_id in (each.item_id, *each.duplicates)))


def shown_spans(bundle: RetrievalBundle) -> list[Span]:
    """The evidence in order."""
    found = [(each.item_id, each.start_idx, each.end_idx) for each in bundle.evidence]
    return [(item_id, start, end) for item_id, start, end in found if start is not None and end is not None]


def _token_starts(library: Library, dataset: Dataset) -> Starts | None:
    """Where the tokens of a document begin, by the model that embeds; None without one."""
    if library.embedder is None or not dataset.evidence:
        return None
    starts = library.embedder.tokens.starts
    texts = {item.id: item.text for item in dataset.documents}
    return lambda item_id: _kept(starts, texts[item_id])


@lru_cache(maxsize=2_000)
def _kept(starts: Starts, text: str) -> npt.NDArray[np.int64]:
    """From run to run: the tokens of a long document take 10 ms, as long as a search."""
    return starts(text)


def _measured(dataset: Dataset, answers: Sequence[Answer], *, k: int, chunks: int) -> tuple[Answer, ...]:
    """The answers with their values; what looks at more results, or chunks, than were asked for is not among them."""
    judged = [answer for answer in answers if answer.expected]
    values = ranking_values(
        {answer.query.id: dataset.qrels[answer.query.id] for answer in judged}, {answer.query.id: answer.ranking for answer in judged}
    )

    def kept(by_name: Mapping[str, float], limit: int) -> dict[str, float]:
        return {name: value for name, value in by_name.items() if int(name.partition("@")[2] or 0) <= limit}

    def ordered(answer: Answer) -> dict[str, float]:
        share = better_first(answer.expected, answer.ranking)
        return {} if share is None else {"better_first": share}

    def all_of(answer: Answer) -> dict[str, float]:
        return kept(values.get(answer.query.id, {}), k) | ordered(answer) | kept(answer.values, chunks)

    return tuple(replace(answer, values=all_of(answer)) for answer in answers)


def _evaluation(
    library: Library, dataset: Dataset, documents: int, answers: tuple[Answer, ...], times: Sequence[float], how: How
) -> Evaluation:
    profile, reason = profile_of(library, dataset, how)
    p50, p95 = (float(each) for each in np.percentile(times, [50, 95])) if times else (None, None)
    return Evaluation(
        dataset=dataset.name,
        documents=documents,
        profile=profile,
        profile_reason=reason,
        model=library.embedder.model_id if library.embedder else None,
        how=how,
        values=means(answer.values for answer in answers),
        latency_p50_ms=p50,
        latency_p95_ms=p95,
        answers=answers,
        notes=dataset.notes,
    )
