"""What a query demands of an item is what the reference store finds by it: one meaning, written for two uses."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.analysis import terms
from recollect.matching import Parts, holds, only_excludes
from recollect.stores.reference.bm25 import Corpus
from recollect.textquery import Boolean, Node, Phrase, Prefix, Term

WORDS = st.sampled_from(["cat", "dog", "catalogue", "東京都", "getUserName", "the"])
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
LEAVES = st.one_of(TEXTS.map(Term), TEXTS.map(Phrase), WORDS.map(Prefix))


def _boolean(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    some = st.lists(nodes, max_size=2).map(tuple)
    return st.builds(Boolean, must=some, should=some, must_not=some).filter(lambda node: not only_excludes(node))


@given(query=st.recursive(LEAVES, _boolean, max_leaves=6), parts=st.tuples(TEXTS, TEXTS, TEXTS).map(lambda own: tuple(map(terms, own))))
def test_it_holds_where_the_reference_store_finds(query: Node, parts: Parts) -> None:
    assert holds(query, parts) == (Corpus([parts]).score(query, parts) is not None)


def test_exclusions_alone_hold_where_the_words_are_not() -> None:
    assert holds(Boolean(must_not=(Term("dog"),)), (["cat"],))
    assert not holds(Boolean(must_not=(Term("dog"),)), (["cat", "dog"],))
