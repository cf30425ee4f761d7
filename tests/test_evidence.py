"""How evidence is weighed and chosen, how the words of chunks count, and how passages are packed. Pure functions."""

from __future__ import annotations

from collections import Counter
from math import log1p

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.analysis import query_terms, terms
from recollect.evidence.choose import BY_ITEM, Question, choose, weigh
from recollect.evidence.packing import pack, unpack
from recollect.evidence.words import K1, B, matches, words_of
from recollect.model import Anchors, Chunk, Passages

TEXTS = (
    "The backup is encrypted. A backup is a copy.",
    "Soup is served on Mondays.",
    "Keys of the backup are kept in a vault, and the vault is locked by two keys.",
    "",
)


def chunks(count: int) -> tuple[Chunk, ...]:
    return tuple(Chunk(n, 10 * n, 10 * n + 10, 3, Anchors(n + 1, n + 1)) for n in range(count))


def passages(*texts: str, vectors: list[list[float]] | None = None) -> Passages:
    rows = np.array(vectors or [[0.0, 0.0]] * len(texts), np.float32)
    return Passages(chunks(len(texts)), rows, tuple(map(words_of, texts)))


def bm25(query: str, texts: tuple[str, ...]) -> list[float]:
    """The formula as it is usually written, over the telling terms."""
    idle = set(terms("the is a of are in and by on"))
    counted = [Counter(term for term in terms(text) if term not in idle) for text in texts]
    mean = sum(sum(each.values()) for each in counted) / len(texts)
    scores = []
    for own in counted:
        score = 0.0
        for term in set(query_terms(query)):
            holders = sum(term in other for other in counted)
            idf = log1p((len(texts) - holders + 0.5) / (holders + 0.5))
            score += idf * own[term] * (K1 + 1) / (own[term] + K1 * (1 - B + B * sum(own.values()) / mean))
        scores.append(score)
    return scores


@pytest.mark.parametrize("query", ["encrypted backups", "keys", "the vault of the backup keys", "zebra", "the", ""])
def test_words_are_scored_by_bm25_over_the_pool(query: str) -> None:
    assert matches(query_terms(query), [words_of(text) for text in TEXTS]).tolist() == pytest.approx(bm25(query, TEXTS))


def test_no_words_score_nothing() -> None:
    assert matches(["backup"], []).tolist() == []
    assert matches(["backup"], [b"", b""]).tolist() == [0.0, 0.0]
    assert matches([], [words_of("backup")]).tolist() == [0.0]


def test_the_words_of_a_text_are_its_terms_but_for_those_that_say_nothing() -> None:
    assert words_of("The backups of the BACKUP") == words_of("backup backup")
    assert words_of("the of and") == words_of("")
    assert len(words_of("backup backup keys")) == len(words_of("")) + 12
    assert len(words_of("\ud800 東京都")) > 0


def test_chunks_are_weighed_by_meaning_and_by_words() -> None:
    near, far, other = [1.0, 0.0], [0.6, 0.8], [0.0, 1.0]
    pool = [passages("soup", "backup keys", vectors=[near, far]), passages("soup", vectors=[other])]
    vector = np.array([3.0, 0.0], np.float32)

    def order(w_text: float, w_vec: float) -> list[tuple[int, int]]:
        return [(each.place, each.chunk.ordinal) for each in weigh(Question(["backup"], vector, w_text, w_vec), pool, [1.0, 1.0])]

    assert order(0.0, 1.0) == [(0, 0), (0, 1), (1, 0)]
    assert order(1.0, 0.0)[0] == (0, 1)
    assert order(0.5, 0.5)[0] == (0, 1)
    first = weigh(Question(["backup"], vector, 0.0, 1.0), pool, [1.0, 1.0])[0]
    assert (first.cosine, first.text) == (1.0, 0.0)


def test_without_a_vector_words_decide() -> None:
    found = weigh(Question(["soup"], None, 0.2, 0.8), [passages("keys", "soup")], [1.0])
    assert [(each.chunk.ordinal, each.cosine) for each in found] == [(1, None), (0, None)]


def test_a_better_item_lifts_its_chunks() -> None:
    pool = [passages("soup"), passages("soup")]
    found = weigh(Question(["soup"]), pool, [1.0, 5.0])
    assert [each.place for each in found] == [1, 0]
    assert found[0].score - found[1].score == pytest.approx(BY_ITEM * 2)


def test_equal_chunks_keep_the_order_of_the_candidates() -> None:
    pool = [passages("soup", "soup"), passages("soup")]
    found = weigh(Question(["soup"]), pool, [1.0, 1.0])
    assert [(each.place, each.chunk.ordinal) for each in found] == [(0, 0), (0, 1), (1, 0)]


def test_items_without_chunks_are_passed_over() -> None:
    nothing = Passages((), np.empty((0, 0), np.float32))
    found = weigh(Question(["soup"], np.array([1.0, 0.0], np.float32), 0.5, 0.5), [nothing, passages("soup")], [2.0, 1.0])
    assert [each.place for each in found] == [1]
    assert weigh(Question(["soup"]), [nothing], [1.0]) == []


def test_no_item_has_more_chunks_than_it_may() -> None:
    pool = [passages("soup soup soup", "soup soup", "soup"), passages("keys")]
    found = weigh(Question(["soup"]), pool, [1.0, 1.0])
    assert [(each.place, each.chunk.ordinal) for each in choose(found, k=9, per_item=2)] == [(0, 0), (0, 1), (1, 0)]
    assert len(choose(found, k=1, per_item=2)) == 1
    assert choose(found, k=0, per_item=2) == []


ANCHORS = st.builds(
    Anchors,
    line_start=st.integers(1, 10**6),
    line_end=st.integers(1, 10**6),
    heading_path=st.lists(st.text(max_size=8), max_size=3).map(tuple),
    symbol=st.none() | st.text(max_size=8),
    parent=st.none() | st.text(max_size=8),
)


@given(st.lists(st.tuples(ANCHORS, st.integers(0, 2**40), st.binary(max_size=8)), max_size=4), st.integers(0, 3))
def test_packed_passages_come_back_as_they_were(parts: list[tuple[Anchors, int, bytes]], dim: int) -> None:
    own = tuple(Chunk(n, start, start + 5, n, anchors) for n, (anchors, start, _) in enumerate(parts))
    rows = np.arange(len(own) * dim, dtype=np.float32).reshape(len(own), dim)
    found = unpack(pack(Passages(own, rows, tuple(words for _, _, words in parts))))
    assert found is not None
    assert found.chunks == own
    assert found.words == tuple(words for _, _, words in parts)
    assert found.vectors.tolist() == rows.tolist()
    assert found.vectors.shape == rows.shape


@given(st.binary(max_size=80), st.integers(0, 200))
def test_bytes_that_were_not_packed_are_known(noise: bytes, at: int) -> None:
    good = pack(passages(*TEXTS))
    assert unpack(noise) is None
    assert unpack(good[:at]) is None or at >= len(good)
    spoilt = bytearray(good)
    spoilt[at % len(good)] ^= 1
    assert unpack(bytes(spoilt)) is None


def test_neighbours_among_the_best_become_one_piece_within_the_limit() -> None:
    found = weigh(Question(["soup"]), [passages("soup soup", "soup", "keys", "soup", "keys keys")], [1.0])
    ranks = [each.chunk.ordinal for each in found]
    assert ranks[:3] == [0, 1, 3]
    apart = choose(found, k=3, per_item=9)
    assert [(each.chunk.start, each.chunk.end) for each in apart] == [(0, 10), (10, 20), (30, 40)]
    joined = choose(found, k=2, per_item=9, max_tokens=6)
    assert [(each.chunk.start, each.chunk.end, each.chunk.token_count) for each in joined] == [(0, 20, 6), (20, 40, 6)]
    assert joined[0].score == apart[0].score
    assert (joined[0].chunk.anchors.line_start, joined[0].chunk.anchors.line_end) == (1, 2)
    assert [each.chunk.token_count for each in choose(found, k=2, per_item=9, max_tokens=5)] == [3, 3]


def test_what_ranks_far_behind_joins_nothing() -> None:
    texts = ["soup soup soup soup", *("keys " * n + "jam " * (9 - n) for n in range(1, 9))]
    found = weigh(Question(["soup", "key"]), [passages(*texts)], [1.0])
    assert [each.chunk.ordinal for each in found] == [0, 8, 7, 6, 5, 4, 3, 2, 1]
    (piece,) = choose(found, k=2, per_item=1, max_tokens=1_000)
    assert piece.chunk == found[0].chunk
