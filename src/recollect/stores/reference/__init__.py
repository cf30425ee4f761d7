"""The store in plain Python that says what every other store must do."""

from .store import ReferenceStore

__all__ = ["ReferenceStore"]
