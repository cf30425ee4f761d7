"""A retriever for LlamaIndex: nodes that are pieces of evidence, or whole items, by `retrieve` and by `aretrieve`."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

from ..errors import MissingExtra
from .access import Access, Given
from .passages import Of, Passage, Wanted, found

try:
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
except ModuleNotFoundError as missing:
    raise MissingExtra("the LlamaIndex retriever", "llamaindex") from missing

NOT_READ: Final = ("id", "item_id", "score", "line_start", "line_end", "start_idx", "end_idx", "kind", "symbol", "why")
"""Metadata that a model does not get to read with the text: LlamaIndex writes all the rest before it."""


class RecollectRetriever(BaseRetriever):
    """Asks a library: one that is open, or the URL or the folder of a store, which it opens itself.

    Use it as a context, or call `close`, where it was given a URL."""

    def __init__(
        self,
        library: Given,
        *,
        scope: str | None = None,
        k: int = 5,
        where: Mapping[str, Any] | None = None,
        profile: str | None = None,
        of: Of = "chunks",
        options: Mapping[str, Any] | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        """`scope` is the library's own, where none is named. `where` is a filter, such as `{"status": "approved"}`; `options` are
        further ones of `Library.search`, such as `mode` or `min_score`."""
        super().__init__(callback_manager=callback_manager)
        self._access = Access(library)
        self._wanted = Wanted(k=k, scope=scope, where=where, profile=profile, of=of, options=options or {})

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str
        return [_node(each) for each in self._access.ask(lambda library: found(library, query, self._wanted))]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str
        return [_node(each) for each in await self._access.ask_async(lambda library: found(library, query, self._wanted))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what it opened itself."""
        self._access.close()


def _node(passage: Passage) -> NodeWithScore:
    node = TextNode(
        id_=passage.id,
        text=passage.text,
        metadata=passage.metadata,
        start_char_idx=passage.start,
        end_char_idx=passage.end,
        excluded_llm_metadata_keys=list(NOT_READ),
        excluded_embed_metadata_keys=list(NOT_READ),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=passage.item_id)},
    )
    return NodeWithScore(node=node, score=passage.score)
