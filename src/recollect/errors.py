"""Every error Recollect raises on purpose; each message says what is wrong, with the value, and what to do.

RecollectError
├── InvalidInput          what the caller gave is wrong: a query, a filter, a path, a record, a setting
├── NotFound              a named thing that is not there
├── MissingExtra          an optional dependency that is not installed
├── EmbedderError         a model that cannot be loaded or does not answer
├── LlmError              a language model that does not answer, or not as it was asked to
├── DomainUnavailable     the domain database does not answer, or not as its ontology says
├── Stopped               a search that did not come to its end
│   ├── Cancelled         whoever asked does not wait for it any more
│   └── DeadlineExceeded  its time was up
└── StoreError            the store cannot do what was asked
    ├── StoreBusy         another process is writing
    ├── StoreChanged      what a write follows from is not so any more
    ├── StoreDamaged      the truth itself cannot be read
    ├── StoreFull         no space left
    ├── StoreReadOnly     the folder may not be written
    ├── StoreTooNew       written by a newer version
    ├── StoreUnreachable  its server does not answer
    └── ModelMismatch     filled by another embedding model
"""

from __future__ import annotations


class RecollectError(Exception):
    """The root: catching it catches everything Recollect raises on purpose."""


class InvalidInput(RecollectError, ValueError):
    """What the caller gave is wrong."""


class NotFound(RecollectError, LookupError):
    """A named thing is not there."""


class MissingExtra(RecollectError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency: pip install 'recollect[{extra}]'")


class EmbedderError(RecollectError):
    """A model cannot be loaded, or does not answer."""


class LlmError(RecollectError):
    """A language model does not answer, or not as it was asked to: then it may do better when it is told so."""

    def __init__(self, message: str, *, is_wrong_answer: bool = False) -> None:
        super().__init__(message)
        self.is_wrong_answer = is_wrong_answer


class DomainUnavailable(RecollectError):
    """The domain database does not answer, or is not as its ontology says."""


class Stopped(RecollectError):
    """A search did not come to its end."""


class Cancelled(Stopped):
    """Whoever asked does not wait for the answer any more."""


class DeadlineExceeded(Stopped):
    """The time for the answer was up."""


class StoreError(RecollectError):
    """The store cannot do what was asked."""


class StoreBusy(StoreError):
    """Another process is writing to the store."""


class StoreChanged(StoreError):
    """The scope was changed since that was read which a write follows from."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"scope {scope!r} was changed meanwhile, and nothing was written: read it again, and write what follows then")


class StoreDamaged(StoreError):
    """The truth itself cannot be read."""


class StoreFull(StoreError):
    """No space is left where the store lives."""


class StoreReadOnly(StoreError):
    """The store's folder may not be written."""


class StoreTooNew(StoreError):
    """The store was written by a newer version of Recollect."""


class StoreUnreachable(StoreError):
    """The store's server does not answer."""


class ModelMismatch(StoreError):
    """The store was filled by another embedding model."""
