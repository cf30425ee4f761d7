"""A retriever for LangChain: documents that are pieces of evidence, or whole items, by `invoke` and by `ainvoke`."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from pydantic import ConfigDict, Field, SkipValidation, model_validator

from ..errors import MissingExtra
from .access import Access, Given
from .passages import Of, Passage, Wanted, found

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ModuleNotFoundError as missing:
    raise MissingExtra("the LangChain retriever", "langchain") from missing


class RecollectRetriever(BaseRetriever):
    """Asks a library. `k` and `where` may also be given with a question: `retriever.invoke(question, k=3)`.

    Use it as a context, or call `close`, where it was given a URL: it opens the store itself then."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    library: SkipValidation[Given | Access] = Field(repr=False)
    """An open library, or the URL or the folder of a store."""
    scope: str | None = None
    """The library's own, where none is named."""
    k: int = 5
    where: dict[str, Any] | None = None
    """A filter, such as `{"status": "approved"}`."""
    profile: str | None = None
    of: Of = "chunks"
    options: dict[str, Any] = Field(default_factory=dict)
    """Further options of `Library.search`, such as `mode` or `min_score`."""

    @model_validator(mode="after")
    def _reached(self) -> Self:
        """The library within reach. One that is so already is shared: a chain that is configured anew makes its retriever anew."""
        if not isinstance(self.library, Access):
            self.library = Access(self.library)
        self._wanted()
        return self

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None, where: dict[str, Any] | None = None
    ) -> list[Document]:
        wanted = self._wanted(k, where)
        return [_document(each) for each in self._access.ask(lambda library: found(library, query, wanted))]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None, where: dict[str, Any] | None = None
    ) -> list[Document]:
        wanted = self._wanted(k, where)
        return [_document(each) for each in await self._access.ask_async(lambda library: found(library, query, wanted))]

    @property
    def _access(self) -> Access:
        assert isinstance(self.library, Access)
        return self.library

    def _wanted(self, k: int | None = None, where: dict[str, Any] | None = None) -> Wanted:
        return Wanted(
            k=self.k if k is None else k,
            scope=self.scope,
            where=self.where if where is None else where,
            profile=self.profile,
            of=self.of,
            options=self.options,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what it opened itself."""
        self._access.close()


def _document(passage: Passage) -> Document:
    return Document(id=passage.id, page_content=passage.text, metadata=passage.metadata)
