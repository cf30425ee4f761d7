"""Weighs the chunks of all candidates in one pool, and chooses the evidence: by meaning and by words, the best of each item. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from ..cancellation import checkpoint, stoppable
from ..model import Chunk, Passages, Vector
from ..syntax.blocks import common
from .words import Scores, matches

MAX_TOKENS: Final = 350
"""The longest piece of evidence that chunks are joined to, where the question does not say how long a chunk may be. Chunks of 200 tokens,
the first five of twelve pieces, 472 questions about long documents: to 300 tokens they cover .901 of what is right with 182 tokens a
piece, to 350 .914 with 216, to 400 .936 with 282; apart .884 with 166."""
BY_ITEM: Final = 0.3
"""How much the score of its item gives to a chunk, beside 1 for its own. Claims of scientific abstracts, training half: all the right
sentences are in the evidence of .92 of the questions without it, .93 with 0.3 and with 1; one at least in .96, .98 and .98."""


class Weighed(NamedTuple):
    """A chunk as evidence, with its scores. `place` is the place of its item among the candidates, from 0."""

    place: int
    chunk: Chunk
    score: float
    text: float | None
    cosine: float | None
    joined: int = 0
    """How many further chunks have become one with it."""


@dataclass(frozen=True, slots=True)
class Question:
    """What chunks are weighed against: its terms, its vector where there is one, and how much each counts."""

    terms: Sequence[str]
    vector: Vector | None = None
    w_text: float = 1.0
    w_vec: float = 0.0


def weigh(question: Question, pool: Sequence[Passages], standing: Sequence[float]) -> list[Weighed]:
    """Every chunk of the candidates, best first; ties go to the better candidate, then to the chunk that stands first.

    A score counts standard deviations above the lowest of the pool: by words and by meaning, each by its share, and a little by how
    well the item itself stands. Words count because meaning alone does not find everything (span coverage of the first five chunks,
    training half, chunks of 200 tokens: .815 by meaning, .827 by words, .860 by both)."""
    chunks = [(place, chunk) for place, passages in enumerate(pool) for chunk in passages.chunks]
    if not chunks:
        return []
    text = matches(question.terms, [words for passages in pool for words in passages.words])
    checkpoint()
    cosines = _cosines(question.vector, pool) if question.vector is not None and _compare(question.vector, pool) else None
    items = _deviations(np.array([standing[place] for place, _ in chunks]))
    scores = (_blended(question, text, cosines) + BY_ITEM * items).round(9)
    order = np.argsort(-scores, kind="stable")
    nearest = [None] * len(chunks) if cosines is None else cosines.tolist()
    by_words, totals = text.round(6).tolist(), scores.tolist()
    return [Weighed(place, chunk, totals[at], by_words[at], nearest[at]) for at in order.tolist() for place, chunk in [chunks[at]]]


def named_first(weighed: Sequence[Weighed], places: Sequence[Sequence[tuple[int, str | None]]]) -> list[Weighed]:
    """The chunks, where what the question calls by its name comes first, under that name: `places` has, for each item, where such
    things begin, and their qualified names."""
    ahead = 1.0 + max((each.score for each in weighed), default=0.0)
    found: list[Weighed] = []
    for each in weighed:
        offsets = places[each.place]
        at = next((at for at, (offset, _) in enumerate(offsets) if each.chunk.start <= offset < each.chunk.end), None)
        if at is None:
            found.append(each)
            continue
        name = offsets[at][1]
        chunk = each.chunk if name is None else replace(each.chunk, anchors=replace(each.chunk.anchors, symbol=name))
        # The first of several of one item a little before the next.
        found.append(each._replace(chunk=chunk, score=each.score + ahead * (1.0 + 1.0 / (1 + at))))
    return sorted(found, key=lambda each: (-each.score, each.place, each.chunk.ordinal))


def choose(weighed: Sequence[Weighed], *, k: int, per_item: int, max_tokens: int = 0) -> list[Weighed]:
    """The k best pieces of evidence, at most so many of one item.

    A chunk beside one that was chosen makes it longer instead of being a piece of its own, as long as both have at most `max_tokens`
    together: what was cut apart is read in one."""
    chosen: list[Weighed] = []
    beside: dict[tuple[int, int], list[int]] = {}
    """By item and ordinal, the pieces that a chunk would make longer."""
    taken: Counter[int] = Counter()
    passed_over = 0
    for each in stoppable(weighed):
        near = beside.get((each.place, each.chunk.ordinal), ()) if len(chosen) + passed_over <= k else ()
        at = next((at for at in near if _go_together(chosen[at].chunk, each.chunk, max_tokens)), None)
        if at is not None:
            chosen[at] = _joined(chosen[at], each)
        elif taken[each.place] >= per_item:
            passed_over += 1
            continue
        elif len(chosen) < k:
            taken[each.place] += 1
            at = len(chosen)
            chosen.append(each)
        else:
            break
        first = chosen[at].chunk.ordinal
        for ordinal in (first - 1, first + chosen[at].joined + 1):
            beside.setdefault((each.place, ordinal), []).append(at)
    return chosen


def _go_together(piece: Chunk, other: Chunk, max_tokens: int) -> bool:
    """Whether two chunks are read as one: two definitions never are."""
    return piece.token_count + other.token_count <= max_tokens and piece.anchors.symbol == other.anchors.symbol


def _joined(piece: Weighed, other: Weighed) -> Weighed:
    """Both as one chunk, with the scores of the better; its headings are those of both."""
    first, last = sorted((piece.chunk, other.chunk), key=lambda chunk: chunk.ordinal)
    anchors = replace(
        first.anchors,
        line_end=last.anchors.line_end,
        heading_path=common(first.anchors.heading_path, last.anchors.heading_path),
        symbol=first.anchors.symbol if first.anchors.symbol == last.anchors.symbol else None,
        parent=first.anchors.parent if first.anchors.parent == last.anchors.parent else None,
    )
    chunk = Chunk(first.ordinal, first.start, last.end, first.token_count + last.token_count, anchors)
    return piece._replace(chunk=chunk, joined=piece.joined + 1)


def _compare(vector: Vector, pool: Sequence[Passages]) -> bool:
    """Whether every chunk has a vector to be compared with; where some were cut without a model, all are weighed by words."""
    return all(passages.vectors.shape[1] == len(vector) for passages in pool if passages.chunks)


def _cosines(vector: Vector, pool: Sequence[Passages]) -> Scores:
    """By einsum, whose sums do not depend on a row's place among the others, and rounded: the same chunk has the same score always."""
    unit = vector / np.linalg.norm(vector)
    rows = np.concatenate([passages.vectors for passages in pool if passages.chunks])
    cosines: Scores = np.einsum("ij,j->i", rows, unit).astype(np.float64).round(6)
    return np.clip(cosines, -1.0, 1.0)


def _blended(question: Question, text: Scores, cosines: Scores | None) -> Scores:
    if cosines is None or not question.w_vec:
        return _deviations(text)
    if not question.w_text:
        return _deviations(cosines)
    total = question.w_text + question.w_vec
    return (question.w_text * _deviations(text) + question.w_vec * _deviations(cosines)) / total


def _deviations(scores: Scores) -> Scores:
    spread = float(scores.std())
    return (scores - scores.min()) / spread if spread else np.zeros(len(scores))
