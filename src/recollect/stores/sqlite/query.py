"""A text query as Tantivy takes it: asked of windows where it only ranks, of whole items where it also demands."""

from __future__ import annotations

import re

from tantivy import Occur, Query, Schema

from ...analysis import MAX_QUERY_TERMS, beginnings, query_terms, terms
from ...textquery import Boolean, Node, Phrase, Prefix, Term
from ..windows import only_ranks

TEXT, WINDOW = "text", "window"
"""The fields with the words of an item, and with those of one of its windows."""


def compile_query(node: Node, schema: Schema) -> Query:
    """The query as Tantivy takes it."""
    return _compiled(node, schema, WINDOW if only_ranks(node) else TEXT)


def _compiled(node: Node, schema: Schema, field: str) -> Query:
    match node:
        case Phrase(text):
            words = terms(text)[:MAX_QUERY_TERMS]
            return Query.phrase_query(schema, field, list(words)) if len(words) > 1 else _compiled(Term(text), schema, field)
        case Boolean(must, should, must_not):
            wanted = [(Occur.Must, _compiled(part, schema, field)) for part in must]
            wanted += [(Occur.Should, query) for part in should for query in _alternatives(part, schema, field)]
            if not wanted:
                return Query.empty_query()
            return Query.boolean_query([*wanted, *((Occur.MustNot, _compiled(part, schema, field)) for part in must_not)])
        case _:
            return Query.boolean_query([(Occur.Should, query) for query in _alternatives(node, schema, field)])


def _alternatives(node: Node, schema: Schema, field: str) -> list[Query]:
    """The queries of which one must match, side by side: Tantivy is fastest on a flat list of terms."""
    match node:
        case Term(text):
            return [Query.term_query(schema, field, term) for term in query_terms(text)]
        case Prefix(text):
            return [Query.regex_query(schema, field, re.escape(beginning) + ".*") for beginning in beginnings(text)]
        case Boolean(must=(), should=should, must_not=()):
            return [query for part in should for query in _alternatives(part, schema, field)]
        case _:
            return [_compiled(node, schema, field)]
