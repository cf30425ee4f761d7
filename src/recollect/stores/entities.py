"""What every store makes of an entity: how it is kept, and the keys by which it is found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..errors import InvalidInput
from ..model import Entity
from ..naming import keys_of


def checked(entities: Iterable[Entity]) -> dict[str, Entity]:
    """Entities by id, the last of each, if they may be kept."""
    found: dict[str, Entity] = {}
    for entity in entities:
        if not entity.id:
            raise InvalidInput(f"the entity {entity.name!r} has an empty id: give it one, such as 'person:a1b2'")
        for text in (entity.id, entity.type, *entity.names):
            _refuse_surrogates(text)
        found[entity.id] = replace(entity, aliases=tuple(entity.aliases))
    return found


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the text has a lone surrogate ({text[error.start]!r}), which is not a character: remove it") from error


def keys(entity: Entity) -> list[str]:
    """Every key of every name of an entity, each once."""
    return list(dict.fromkeys(key for name in entity.names for key in keys_of(name)))
