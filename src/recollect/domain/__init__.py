"""A database of the user's own beside the memories: any that SQLAlchemy can open, only read, by what an ontology in YAML says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..memory_settings import DomainSettings

if TYPE_CHECKING:
    from ..domains import Domain


def open_domain(settings: DomainSettings) -> Domain | None:
    """The domain database of the settings; None where they name none. Nothing is connected before it is asked.

    An `InvalidInput` says what is wrong with the URL or the ontology."""
    if settings.url is None or settings.ontology is None:
        return None
    from .database import DomainDatabase
    from .ontology import read_ontology

    return DomainDatabase(settings, read_ontology(settings.ontology))
