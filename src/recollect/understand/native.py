"""Whether words are read by the store's own server, and what a question demands of every result then."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..errors import InvalidInput
from ..plan import NativeText
from ..prefs import TextPrefs
from ..textquery import TEXT_CONFIG, Boolean, NativeQuery, Node, Phrase, Term
from .text import STRAIGHT, parse

RANK_FUNCTION: Final = "ts_rank"
"""How a server ranks where a configuration of it is named and nothing else. nDCG@10 of questions in whole sentences, any word of which
counts: .71 on anthropic_docs and .55 on scifact, with ts_rank_cd .19 and .43."""


def native_text(text: str, prefs: TextPrefs, text_config: str) -> NativeText | None:
    """The question for the server, which reads words as `text_config` where no other is named; None where words are read here."""
    if prefs.rank_func == "bm25":
        if prefs.config not in (None, TEXT_CONFIG):
            raise InvalidInput(
                f"fts.rank_func is 'bm25', which is for words read as {TEXT_CONFIG!r}: "
                f"with fts.config {prefs.config!r} use ts_rank, ts_rank_cd or null"
            )
        return None
    if prefs.config is None and prefs.rank_func is None:
        return None
    config = text_config if prefs.config is None else prefs.config
    query = NativeQuery(text.translate(STRAIGHT) if prefs.mode == "web" else text, prefs.mode, config)
    return NativeText(query, prefs.rank_func or RANK_FUNCTION, tuple(_demands(query)))


def _demands(query: NativeQuery) -> Iterable[NativeQuery]:
    """As for words that are read here: plain ones say only what to look for, and a quoted phrase that is nowhere is not insisted on."""
    if query.mode in ("phrase", "strict"):
        return [query]
    asked = parse(query.text, query.mode)
    if query.mode != "web" or not isinstance(asked, Boolean) or not (asked.must or asked.must_not):
        return []
    unwanted = [f"-{_quoted(node)}" for node in asked.must_not]
    # A server joins by OR all that stands on its two sides: what holds then is the question as a whole.
    has_or = any(isinstance(node, Boolean) for node in asked.must)
    wanted = query.text if has_or else " ".join([*map(_quoted, asked.must), *unwanted])
    texts = [wanted, " ".join(unwanted)] if asked.must else [wanted]
    return [NativeQuery(each, query.mode, query.config) for each in texts]


def _quoted(node: Node) -> str:
    """A word or a phrase of a web query, neither of which has a quote in it."""
    assert isinstance(node, Term | Phrase)
    return f'"{node.text}"'
