"""A retriever for Haystack: a component that gives documents, in a pipeline that can be written to a file and read again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeAlias
from urllib.parse import urlsplit

from ..errors import InvalidInput, MissingExtra
from ..library import Library
from ..stores import folder_of
from ..sync import SyncLibrary
from .access import Access, Given
from .haystack_filters import where_of
from .passages import Of, Passage, Wanted, found

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.document_stores.types import FilterPolicy
    from haystack.document_stores.types.filter_policy import apply_filter_policy
    from haystack.utils import Secret
except ModuleNotFoundError as missing:
    raise MissingExtra("the Haystack retriever", "haystack") from missing

Reachable: TypeAlias = Given | Secret


@component
class RecollectRetriever:
    """Asks a library: one that is open, or the URL or the folder of a store, which is opened when the pipeline warms up.

    A URL with a password is given as `Secret.from_env_var("NAME")`."""

    def __init__(
        self,
        library: Reachable,
        *,
        scope: str | None = None,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        filter_policy: FilterPolicy | str = FilterPolicy.REPLACE,
        profile: str | None = None,
        of: Of = "chunks",
        options: dict[str, Any] | None = None,
    ) -> None:
        """`scope` is the library's own, where none is named. `filters` are Haystack's; `options` are further ones of `Library.search`,
        such as `mode` or `min_score`."""
        self._given = library
        self._filters = filters
        self._filter_policy = FilterPolicy.from_str(filter_policy) if isinstance(filter_policy, str) else filter_policy
        self._wanted = Wanted(k=top_k, scope=scope, where=where_of(filters), profile=profile, of=of, options=options or {})
        self._access: Access | None = None if isinstance(library, Secret) else Access(library)

    def warm_up(self) -> None:
        """Open the store."""
        self._reached().opened()

    async def warm_up_async(self) -> None:
        """Open the store, beside the loop that runs."""
        await asyncio.to_thread(self.warm_up)

    def close(self) -> None:
        """Let go of what it opened itself."""
        if self._access:
            self._access.close()

    async def close_async(self) -> None:
        """The same, beside the loop that runs."""
        await asyncio.to_thread(self.close)

    @component.output_types(documents=list[Document])
    def run(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, list[Document]]:
        """The documents for a question, best first. `filters` take the place of the component's own, or join them, by its policy."""
        wanted = self._asked(filters, top_k)
        passages = self._reached().ask(lambda library: found(library, query, wanted)) if wanted.k else []
        return {"documents": [_document(each) for each in passages]}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, list[Document]]:
        """The same, awaited."""
        wanted = self._asked(filters, top_k)
        passages = await self._reached().ask_async(lambda library: found(library, query, wanted)) if wanted.k else []
        return {"documents": [_document(each) for each in passages]}

    def to_dict(self) -> dict[str, Any]:
        """What a file has to say to make it again: of an open library its folder and its scope."""
        wanted = self._wanted
        return default_to_dict(
            self,
            library=_written(self._given),
            scope=wanted.scope or _scope_of(self._given),
            top_k=wanted.k,
            filters=self._filters,
            filter_policy=self._filter_policy.value,
            profile=wanted.profile,
            of=wanted.of,
            options=dict(wanted.options),
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """What `to_dict` wrote, as a component again."""
        made: Self = default_from_dict(cls, data)
        return made

    def _reached(self) -> Access:
        if self._access is None:
            assert isinstance(self._given, Secret)
            self._access = Access(str(self._given.resolve_value()))
        return self._access

    def _asked(self, filters: Mapping[str, Any] | None, top_k: int | None) -> Wanted:
        both = apply_filter_policy(self._filter_policy, self._filters, dict(filters) if filters else None)
        return replace(self._wanted, where=where_of(both), k=self._wanted.k if top_k is None else top_k)


def _written(given: Reachable) -> str | dict[str, Any]:
    """What names the store in a file, without a password."""
    if isinstance(given, Secret):
        return given.to_dict()
    url = _library(given).store.url if isinstance(given, Library | SyncLibrary) else str(given)
    if isinstance(given, Library | SyncLibrary) and folder_of(url) is None:
        raise InvalidInput(f"the open library of {url} cannot be written to a file: give its URL by `Secret.from_env_var(...)`")
    if not isinstance(given, Path) and urlsplit(url).password:
        raise InvalidInput("the URL of the store has a password, which is not for a file: give it by `Secret.from_env_var(...)`")
    return url


def _scope_of(given: Reachable) -> str | None:
    return _library(given).scope if isinstance(given, Library | SyncLibrary) else None


def _library(given: Library | SyncLibrary) -> Library:
    return given.library if isinstance(given, SyncLibrary) else given


def _document(passage: Passage) -> Document:
    return Document(id=passage.id, content=passage.text, meta=passage.metadata, score=passage.score)
