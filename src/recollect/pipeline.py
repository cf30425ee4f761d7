"""The read path on one screen: candidates, reach, gather, weigh, show. One value goes in one direction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from .analysis import query_terms
from .assemble.results import Result, candidate, evidence
from .assemble.stats import stats
from .cancellation import checkpoint, in_thread
from .candidates import Kept, candidates
from .contracts import CandidateItem, EvidenceChunk, RetrievalBundle
from .evidence.choose import MAX_TOKENS, Question, Weighed, choose, named_first, weigh
from .evidence.cutting import Reader
from .evidence.gather import Gathered, Gatherer
from .evidence.snippets import Snippet, line_of, line_starts, snippet
from .expand import expand
from .expand.graph import reach
from .filters import And, Exists, Field, Filter, OneOf, check, field_named
from .model import Edge, Fused, Head, Item, NameMatch, Passages
from .plan import Plan
from .ports import Clock, Store
from .profiles import TEXT, VECTOR
from .rank.history import CURRENT, Lineage, behind
from .recall import Recalled
from .recall.versions import successors_of
from .stopwatch import Stopwatch

SHOWN_HERE_CHARS: Final = 50_000
SHOWN_HERE_CHUNKS: Final = 100
"""What is shown on the caller's own thread: 1 to 2 ms. Handing it to another and back takes .2 to .4, and longer where many search."""
NOTHING = Passages((), np.empty((0, 0), np.float32))


async def search(store: Store, reader: Reader, plan: Plan, clock: Clock) -> RetrievalBundle:
    """The answer to a plan."""
    watch = Stopwatch(clock)
    with watch("total"):
        named = [*([plan.where] if plan.where is not None else []), *(Exists(field_named(name)) for name in plan.facets)]
        if named:
            check(And(tuple(named)), await store.fields(plan.scope))
        found = await candidates(store, reader, plan, clock, watch)
        kept = found.kept
        if plan.hops and kept:
            with watch("graph_reach"):
                kept = await _with_reached(store, plan, kept)
        gathered, question = await _gather(store, reader, plan, found.recalled, [each.stored.item for each in kept], clock, watch)
        with watch("show"):
            show = partial(_show, plan, question, found.recalled, kept, gathered, watch)
            shown, proof = show() if _is_brief(kept, gathered) else await in_thread(show)
            facets = await _facets(store, plan, found.fused)
        if plan.expand and proof:
            with watch("expand"):
                proof = await expand(store, plan.scope, proof, {each.stored.item.id: each.stored for each in kept})
    counts = {
        **{route: len(ranking) for route, ranking in found.recalled.rankings.items()},
        "fused": len(found.fused),
        "candidates": len(found.kept),
        **({"reached": len(kept) - len(found.kept)} if plan.hops else {}),
        "chunks_from_index": gathered.from_index,
        "chunks_from_cache": gathered.from_cache,
        "chunks_embedded": gathered.embedded,
        "evidence": len(proof),
    }
    return RetrievalBundle(
        candidates=shown,
        evidence=proof,
        facets=facets,
        stats=stats(plan, gathered.cutter, timing_ms=watch.ms, counts=counts),
    )


async def _with_reached(store: Store, plan: Plan, kept: Sequence[Kept]) -> tuple[Kept, ...]:
    """The candidates and what the graph leads to from them, best first. Near-duplicates of a candidate are there already."""
    lineage = Lineage(as_of=plan.as_of)

    async def past(heads: Mapping[str, Head]) -> Collection[str]:
        nonlocal lineage
        lineage = lineage.with_more(*await successors_of(store, plan.scope, list(heads)))
        return [] if plan.history else [item_id for item_id, head in heads.items() if lineage.is_history(item_id, head.status)]

    folded = {item_id for each in kept for item_id in each.folded}
    found = {each.fused.id: each.fused.score for each in kept}
    reached = {each.fused.id: each for each in await reach(store, plan, found, past) if each.fused.id not in folded}
    statuses = {item_id: each.stored.item.status for item_id, each in reached.items()}
    both = [*(each.fused for each in kept), *(each.fused for each in reached.values())]
    ranked = {each.id: each for each in behind(both, lineage, statuses) if each.id in reached}
    added = [
        Kept(
            ranked[item_id],
            each.stored,
            via=each.path,
            historical=lineage.is_history(item_id, each.stored.item.status),
            successor=lineage.successor(item_id),
        )
        for item_id, each in reached.items()
    ]
    return tuple(sorted((*kept, *added), key=lambda each: (-each.fused.score, len(each.via), each.fused.id)))


async def _gather(
    store: Store, reader: Reader, plan: Plan, recalled: Recalled, items: Sequence[Item], clock: Clock, watch: Stopwatch
) -> tuple[Gathered, Question]:
    """The passages of the candidates, and what they are weighed against."""
    prefs, weights = plan.prefs, plan.profile.weights
    terms = query_terms(prefs.query_text)
    if not prefs.top_k_chunks:
        return Gathered(), Question(terms)
    made = partial(reader.cutter, prefs.chunking, with_vectors=recalled.vector is not None)
    # Where the model was not asked before, it has to open its tokenizer now, or its endpoint to say how long its vectors are.
    cutter = await in_thread(made) if prefs.vector.query_vector else made()
    with watch("chunks"):
        gathered = await Gatherer(store, plan.scope, cutter, recalled.space, prefs.chunking, prefs.cache, clock(), watch).gather(items)
    return gathered, Question(terms, recalled.vector, weights.get(TEXT, 0.0), weights.get(VECTOR, 0.0))


def _is_brief(kept: Sequence[Kept], gathered: Gathered) -> bool:
    """Whether what is to be shown is read in a moment."""
    chunks = gathered.from_index + gathered.from_cache + gathered.embedded
    return chunks <= SHOWN_HERE_CHUNKS and sum(len(each.stored.item.text) for each in kept) <= SHOWN_HERE_CHARS


def _show(
    plan: Plan, question: Question, recalled: Recalled, kept: Sequence[Kept], gathered: Gathered, watch: Stopwatch
) -> tuple[list[CandidateItem], list[EvidenceChunk]]:
    """The candidates as they are shown, and the evidence in them."""
    names, walked = recalled.names, recalled.walked.via if recalled.walked else {}
    with watch("weigh"):
        pool = [gathered.passages.get(each.stored.item.id, NOTHING) for each in kept]
        weighed = weigh(question, pool, [each.fused.score for each in kept])
        if names:
            weighed = named_first(weighed, [_of(each.stored.item, names) for each in kept])
        # Who says how items are cut gets these very pieces.
        longest = MAX_TOKENS if plan.prefs.chunking.left_open else 0
        chosen = choose(weighed, k=plan.prefs.top_k_chunks, per_item=plan.prefs.per_item_chunk_cap, max_tokens=longest)
        best: dict[int, Weighed] = {}
        for each in weighed:
            best.setdefault(each.place, each)
    called = {match.symbol.item_id: match for match in reversed(names)}
    results = [_result(plan, question.terms, found, best.get(place), called, walked) for place, found in enumerate(kept)]
    proof = evidence(results, chosen, chunkers=gathered.chunkers, distance=plan.prefs.vector.distance)
    return [candidate(result) for result in results], proof


def _of(item: Item, names: Sequence[NameMatch]) -> tuple[tuple[int, str | None], ...]:
    """Where what the question names stands in an item, the best first, and what it is called; a file is called nothing."""
    found = [match for match in names if match.symbol.item_id == item.id]
    return tuple((_begin(item, match), None if match.symbol.kind == "file" else match.symbol.qualified) for match in found)


def _begin(item: Item, match: NameMatch) -> int:
    if match.line is None:
        return match.symbol.start
    lines = line_starts(item.text)
    return lines[min(match.line, len(lines)) - 1]


def _result(
    plan: Plan,
    words: Sequence[str],
    found: Kept,
    best: Weighed | None,
    called: Mapping[str, NameMatch],
    walked: Mapping[str, tuple[Edge, ...]],
) -> Result:
    checkpoint()
    fused, item = found.fused, found.stored.item
    match = called.get(item.id)
    by_words = any(part.route == TEXT for part in fused.parts)
    cut, from_chunk = _named_snippet(plan, words, item, best, match) if match else _snippet(plan, words, item, best, by_words=by_words)
    first, last = (cut.marks[0][0], cut.marks[-1][1]) if cut.marks else (0, cut.end - cut.start)
    lines = line_of(item.text, cut.start + first), line_of(item.text, max(cut.start, cut.start + last - 1))
    symbol = best.chunk.anchors.symbol if best and from_chunk else None
    named = match.symbol.qualified if match and match.symbol.kind != "file" else symbol
    return Result(
        fused,
        item,
        found.folded,
        cut,
        from_chunk,
        lines,
        named,
        via=found.via,
        walked=walked.get(item.id, ()),
        historical=found.historical,
        successor=found.successor,
    )


def _named_snippet(plan: Plan, words: Sequence[str], item: Item, best: Weighed | None, match: NameMatch) -> tuple[Snippet, bool]:
    """The beginning of what the question names, or of the line; and whether it is of the best chunk."""
    if match.symbol.kind == "file" and match.line is None:
        return _snippet(plan, words, item, best, by_words=False)
    begin = _begin(item, match)
    end = max(begin, match.symbol.end) if match.line is None else len(item.text)
    cut = snippet(item.text, words, start=begin, end=min(end, begin + plan.prefs.snippet.max_chars), max_chars=plan.prefs.snippet.max_chars)
    return cut, best is not None and best.chunk.start <= begin < best.chunk.end


def _snippet(plan: Plan, words: Sequence[str], item: Item, best: Weighed | None, *, by_words: bool) -> tuple[Snippet, bool]:
    """A part of the best chunk, unless the item was found by words and that chunk has none of them; and whether it is that."""
    prefs = plan.prefs.snippet
    if best and prefs.prefer_chunk_snippet:
        cut = snippet(item.text, words, start=best.chunk.start, end=best.chunk.end, max_chars=prefs.max_chars)
        if cut.marks or not by_words:
            return cut, True
    return snippet(item.text, words, max_chars=prefs.max_chars), False


async def _facets(store: Store, plan: Plan, fused: Sequence[Fused]) -> dict[str, dict[str, int]]:
    """How often each value occurs among the hits of all routes."""
    if not plan.facets or not fused:
        return {}
    among: Filter = OneOf(Field("id", of_item=True), tuple(result.id for result in fused))
    conditions = [among, *([] if plan.where is None else [plan.where]), *([] if plan.takes_history or plan.as_of else [CURRENT])]
    return await store.facets(plan.scope, plan.facets, And(tuple(conditions)))
