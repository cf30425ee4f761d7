"""Entities as they are named by what is taken in: by an id, or by a name that one of them may have already."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final, NamedTuple, TypeAlias

from ..model import Batch, Entity
from ..naming import exact_key, short_name
from ..ports import Store
from .following import following

ANY: Final = "entity"
"""The type of what is only known by its name."""
AN_ID: Final = re.compile(r"[a-z][a-z0-9_-]*:\S{1,300}")
_BETWEEN: Final = re.compile(r"[-_:/]+|\.(?!\d)|(?<!\d)\.")
"""What stands for a space in an id."""
PAGE: Final = 400
"""Names looked up at once."""
SHARED: Final = 50
"""How many entities may have one name, on average, to be looked up with the others at once."""

AlsoCalled: TypeAlias = Callable[[str], Sequence[str]]
"""What somebody of this name is called, too."""


class Named(NamedTuple):
    """An entity as it is given: by its name, or with all that is known of it."""

    name: str
    type: str = ""
    id: str = ""
    aliases: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> Named:
        """What is meant by a text alone: an id such as `customer:a1b2`, or a name."""
        text = text.strip()
        if not AN_ID.fullmatch(text):
            return cls(text)
        rest = text.partition(":")[2]
        return cls(" ".join(filter(None, _BETWEEN.split(rest))) or rest, "", text)

    @property
    def default_id(self) -> str:
        """The id that follows from type and name; empty where the name has neither letters nor digits."""
        key = _key(self.name)
        return f"{_slug(self.type) if self.type else ANY}:{key[1:]}" if key else ""


_key = lru_cache(maxsize=65_536)(exact_key)
"""Of 100,000 names of a graph, most come again and again."""


def _slug(type_: str) -> str:
    return "-".join(re.findall(r"[^\W_]+", type_.casefold())) or ANY


class Entities:
    """The entities of a scope, of the names and ids that were looked up, and those that are new: these with the names that follow from
    the one they are given."""

    def __init__(self, store: Store, scope: str, also_called: AlsoCalled | None = None) -> None:
        self._store, self._scope, self._also_called = store, scope, also_called
        self._asked: set[str] = set()
        self._known: dict[str, Entity] = {}
        self._by_key: dict[str, dict[str, None]] = {}
        self._new: dict[str, Entity] = {}
        self._ids: dict[Named, str | None] = {}
        """What was asked for already: names come again and again."""
        self._are_any: bool | None = None
        """Whether there were entities in the beginning."""

    async def learn(self, given: Iterable[Named]) -> None:
        """Look up what is not known yet of these."""
        new = {each: each.id or each.default_id for each in dict.fromkeys(given) if each not in self._ids}
        if self._are_any is None and new:
            self._are_any = await anext(self._store.entities(self._scope), None) is not None
        if not self._are_any:
            return
        ids = set(new.values()) - self._asked - {""}
        for page in _pages(sorted(ids)):
            self._keep(await self._store.entities_of(self._scope, page))
        unknown = (each for each, default in new.items() if not each.id and default and default not in self._known)
        keys = {_key(each.name) for each in unknown} - self._asked
        for page in _pages(sorted(keys)):
            self._keep(await self._store.entities_named(self._scope, page, limit=SHARED * PAGE))
        self._asked |= ids | keys

    def _keep(self, found: Iterable[Entity]) -> None:
        for entity in found:
            self._known.setdefault(entity.id, entity)
            for key in filter(None, map(_key, entity.names)):
                self._by_key.setdefault(key, {})[entity.id] = None

    def called(self, text: str) -> str | None:
        """The id of an entity that a text is the id or a name of, which is new where none is known."""
        return text if text in self._known else self.id_of(Named.of(text))

    def id_of(self, given: Named) -> str | None:
        """The id of an entity, which is new where none is meant that is known; None for a name without letters and digits."""
        if given in self._ids:
            return self._ids[given]
        entity_id = given.id or given.default_id
        if entity_id not in self._known and not given.id:
            entity_id = self._meant(given) or entity_id
        if not entity_id or not given.name:
            entity_id = ""
        else:
            before = self._known.get(entity_id)
            after = _joined(before, given) if before else self._made(entity_id, given)
            if after != before:
                self._new[entity_id] = self._known[entity_id] = after
                self._keep([after])
                if given.id or after.aliases:
                    self._ids.clear()  # Another name may mean it from now on.
        self._ids[given] = entity_id or None
        return self._ids[given]

    def _made(self, entity_id: str, given: Named) -> Entity:
        """A new entity. A name that is made of an id says nothing of how it is called."""
        made = _made(entity_id, given)
        if self._also_called is None or given.name == Named.of(given.id).name:
            return made
        known = set(map(_key, made.names))
        return replace(made, aliases=(*made.aliases, *(each for each in self._also_called(made.name) if _key(each) not in known)))

    def is_bare(self, entity_id: str) -> bool:
        """Whether nothing but its name is known of an entity that is known."""
        return (known := self._known.get(entity_id)) is not None and _is_bare(known)

    def called_so(self, name: str) -> list[str]:
        """The ids of those that are known to have this name."""
        return list(self._by_key.get(_key(name), ()))

    def _meant(self, given: Named) -> str | None:
        """The entity of that name, and of that type where one is said; where several are, none."""
        found = self._by_key.get(_key(given.name), {})
        fitting = [each for each in found if not given.type or self._known[each].type.casefold() == given.type.casefold()]
        return fitting[0] if len(fitting) == 1 else None

    def taken(self) -> list[Entity]:
        """What is new or has changed since this was asked last."""
        found, self._new = list(self._new.values()), {}
        return found


async def forget_unused(store: Store, scope: str, ids: Iterable[str]) -> None:
    """Let go of those entities that are known by nothing but their name, and that nothing names any more."""
    await forget_unlinked(store, scope, [each for each in ids if each.startswith(f"{ANY}:")], _is_bare)


async def forget_unlinked(store: Store, scope: str, ids: Iterable[str], is_bare: Callable[[Entity], bool]) -> None:
    """Let go of those entities of which too little is known, and that nothing names any more."""
    for page in _pages(sorted(set(ids))):
        await following(store, scope, partial(_forget_unlinked, store, scope, page, is_bare))


async def _forget_unlinked(store: Store, scope: str, ids: Sequence[str], is_bare: Callable[[Entity], bool], state: str) -> None:
    linked = await store.links(scope, ids, fan_out=1)
    left = await store.entities_of(scope, [each for each in ids if each not in linked])
    if unused := [each.id for each in left if is_bare(each)]:
        await store.write(scope, Batch(forget=unused, follows=state))


def _is_bare(entity: Entity) -> bool:
    """Whether nothing is known of it but its name, and what follows from that."""
    named = Named(entity.name)
    return replace(entity, aliases=()) == _made(named.default_id, named) and set(entity.aliases) <= {short_name(entity.name)}


def _made(item_id: str, given: Named) -> Entity:
    return Entity(item_id, given.type or item_id.partition(":")[0] or ANY, given.name, tuple(dict.fromkeys(given.aliases)))


def _joined(known: Entity, given: Named) -> Entity:
    """An entity with what is said of it now. A bare name or id says nothing more."""
    if not (given.type or given.aliases):
        return known
    names = tuple(dict.fromkeys((*known.names, given.name, *given.aliases)))
    return Entity(known.id, given.type or known.type, given.name, tuple(each for each in names if each != given.name))


def _pages(keys: Sequence[str]) -> Iterable[Sequence[str]]:
    return (keys[begin : begin + PAGE] for begin in range(0, len(keys), PAGE))
