"""Memories that are written together: which are new, which say again what is known, which take whose place.

A memory without an id of its own is known by what it says: the same words, case, punctuation and articles aside, about the same
entities, are one memory, which is reinforced each time. An episode that is told again is the same within a day of its time, and
another one beyond that: then it has happened again. A memory with an id is known by that alone, unless it is a fact: of these one
says what holds, whatever its id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from ..errors import InvalidInput
from ..memories import CONFIRMED, Remembered
from ..model import HISTORY, MENTIONS, SUPERSEDES, Edge, Item, Stored, digest
from .remember_drafts import Draft
from .remember_facts import Fact, Slot, placed
from .remember_words import key_of

AGAIN: Final = timedelta(days=1)
"""An episode this much later or earlier is another one."""
MOST_VALUES: Final = 50
"""Values of a field that several tellings of a memory gave."""
OWN: Final = frozenset(("subject", "predicate", "object", "confidence", "also", CONFIRMED, "trigger", "action", "covers"))
"""Fields that a memory has by its type."""


@dataclass(slots=True)
class Held:
    """A memory that there is, or will be with this group."""

    item: Item
    outline: bytes = b""
    is_new: bool = False
    is_changed: bool = False
    uses: int = 0
    """How often it was said again in this group, of one that there was before."""
    is_other: bool = False
    """Whether it says something else than it did."""

    def change(self, **changes: Any) -> None:
        item = replace(self.item, **changes)
        self.is_changed = self.is_changed or item != self.item
        self.item = item


class Group:
    """The state of a group while its memories are taken one after the other, in their order."""

    def __init__(self, now: datetime, stored: Iterable[Stored]) -> None:
        self._now = now
        self.held: dict[str, Held] = {}
        self.edges: list[Edge] = []
        self.unsaid: set[str] = set()
        """Entities that something named which says something else now."""
        self._slots: dict[Slot, list[str]] = {}
        self._by_content: dict[str, list[str]] = {}
        for each in stored:
            self._hold(Held(each.item, each.outline))

    def _hold(self, held: Held) -> None:
        item = held.item
        self.held[item.id] = held
        self._by_content.setdefault(item.content_hash, []).append(item.id)
        if slot := slot_of(item):
            self._slots.setdefault(slot, []).append(item.id)

    def take(self, draft: Draft) -> Remembered:
        """What becomes of a memory."""
        before = self.held.get(draft.item.id) if draft.item.id else None
        if before and before.item.kind != draft.item.kind:
            raise InvalidInput(
                f"the id {draft.item.id!r:.80} is of {_a(before.item.kind)}, and this is {_a(draft.item.kind)}: give it another id"
            )
        if draft.slot:
            return self._fact(draft, draft.slot, before)
        same = before if before and _key(before.item) == draft.key else None if draft.item.id else self._same(draft)
        if same:
            return self._reinforced(same, draft)
        return self._changed(before, draft) if before else self._added(draft, draft.item.id or self._free_id(draft))

    def _fact(self, draft: Draft, slot: Slot, before: Held | None) -> Remembered:
        others = [Fact.of(self.held[each].item) for each in self._slots.get(slot, ())]
        fact = Fact.of(draft.item)
        found = placed(fact, [each for each in others if not before or each.id != before.item.id or each.value == fact.value])
        if found.repeats:
            return self._reinforced(self.held[found.repeats], draft, superseded_by=found.superseded_by)
        if before and (before.item.status in HISTORY or found.superseded_by):
            raise InvalidInput(f"the fact {before.item.id!r:.80} says something else and is history: give another id, or forget it first")
        if before and (left := slot_of(before.item)):
            self._slots[left].remove(before.item.id)
        new_id = draft.item.id or next(each for each in _fact_ids(draft, slot) if each not in self.held)
        for each in found.supersedes:
            self._supersede(each, new_id)
        if found.superseded_by:
            draft = replace(draft, item=replace(draft.item, status="superseded"))
            self.edges.append(Edge(found.superseded_by, SUPERSEDES, new_id))
        done = self._changed(before, draft) if before else self._added(draft, new_id)
        return done.model_copy(update={"supersedes": list(found.supersedes), "superseded_by": found.superseded_by})

    def _same(self, draft: Draft) -> Held | None:
        """A memory that says the same, about the same, and at that time."""
        by_key = ids_of(draft)
        for each in dict.fromkeys((*by_key, *self._by_content.get(draft.item.content_hash, ()))):
            held = self.held.get(each)
            if held is None or held.item.kind != draft.item.kind or not _is_of_time(held.item, draft):
                continue
            # By its key it has just those entities that its text does not name. Of one with an id of its own that is not known.
            if (_is_about_same if each in by_key or draft.gives_entities else _is_about_no_more)(held.item, draft):
                return held
        return None

    def _free_id(self, draft: Draft) -> str:
        ids = ids_of(draft, near=False)
        return next((each for each in ids if each not in self.held), digest(*ids, self._now.isoformat()))

    def _added(self, draft: Draft, new_id: str) -> Remembered:
        self._hold(Held(replace(draft.item, id=new_id), is_new=True, is_changed=True))
        return self._told(new_id, "kept as history" if draft.item.status in HISTORY else "added")

    def _changed(self, before: Held, draft: Draft) -> Remembered:
        """What was kept under an id gives its place to what comes under it now, which is used as often and as old."""
        old, new = before.item, draft.item
        self._by_content[old.content_hash].remove(old.id)
        before.is_other = True
        self.unsaid |= set(old.entities) - set(new.entities)
        before.change(
            text=new.text,
            title=new.title,
            metadata=new.metadata,
            status=new.status,
            created_at=new.created_at if draft.gives_time else old.created_at,
            updated_at=self._now,
            importance=new.importance if draft.gives_importance else old.importance,
            entities=new.entities,
        )
        self._hold(before)
        return self._told(old.id, "changed")

    def _reinforced(self, held: Held, draft: Draft, *, superseded_by: str | None = None) -> Remembered:
        old, new = held.item, draft.item
        metadata = _joined(old.metadata, new.metadata)
        if draft.slot and new.created_at > Fact.of(old).last:
            metadata[CONFIRMED] = new.created_at.isoformat()
        held.change(
            importance=max(old.importance, new.importance) if draft.gives_importance else old.importance,
            entities=tuple(dict.fromkeys((*old.entities, *new.entities))),
            metadata=metadata,
        )
        if held.is_new:
            held.item = replace(held.item, use_count=old.use_count + 1, last_used_at=self._now)
        else:
            held.uses += 1
        is_history = held.item.status in HISTORY
        done = self._told(old.id, "kept as history" if is_history else "reinforced")
        return done.model_copy(update={"superseded_by": superseded_by}) if is_history else done

    def _told(self, item_id: str, outcome: Any) -> Remembered:
        item = self.held[item_id].item
        uses = item.use_count + self.held[item_id].uses
        return Remembered.model_validate(
            {"id": item_id, "type": item.kind, "outcome": outcome, "entities": list(item.entities), "use_count": uses}
        )

    def _supersede(self, old: str, new: str) -> None:
        if self.held[old].item.status not in HISTORY:
            self.held[old].change(status="superseded", updated_at=self._now)
        self.edges.append(Edge(new, SUPERSEDES, old))

    @property
    def changed(self) -> list[Held]:
        """What there is to write."""
        return [each for each in self.held.values() if each.is_changed]

    @property
    def mentions(self) -> list[Edge]:
        """From what is written to the entities that it is about."""
        return [Edge(each.item.id, MENTIONS, entity, origin=each.item.id) for each in self.changed for entity in each.item.entities]

    def count(self) -> None:
        """Let what was said again more than once be written with its uses."""
        for each in self.held.values():
            if each.uses > 1:
                last = max(self._now, each.item.last_used_at or self._now)
                each.change(use_count=each.item.use_count + each.uses, last_used_at=last)
                each.uses = 0

    @property
    def used(self) -> list[str]:
        """The memories that there were and that were said again, each once."""
        return [item_id for item_id, each in self.held.items() if each.uses]


def ids_of(draft: Draft, *, near: bool = True) -> list[str]:
    """The ids that follow from what a memory says, the likeliest first: by its words, then by its entities as well. That of an episode
    also follows from its day, and it may be one of the day before or after."""
    days = [""]
    if draft.item.kind == "episodic":
        day = draft.item.created_at.toordinal()
        days = [str(each) for each in ((day, day - 1, day + 1) if near else (day,))]
    about = dict.fromkeys((draft.unnamed, ("", *sorted(draft.item.entities))))
    return [digest(draft.item.kind, draft.key, day, *each) for each in about for day in days]


def _fact_ids(draft: Draft, slot: Slot) -> Iterator[str]:
    """A fact that holds again, after another one held, has an id of its own."""
    parts = ("semantic", *slot, Fact.of(draft.item).value)
    yield digest(*parts)
    yield from (digest(*parts, draft.item.created_at.isoformat(), str(number)) for number in range(1_000_000))


def slot_of(item: Item) -> Slot | None:
    """What a fact is about; None for what is no fact, or was written as an item of that kind without the fields of one."""
    subject, predicate = item.metadata.get("subject"), item.metadata.get("predicate")
    is_fact = item.kind == "semantic" and isinstance(subject, str) and isinstance(predicate, str)
    return Slot(str(subject), str(predicate)) if is_fact else None


def _key(item: Item) -> str:
    of = item.metadata
    return key_of(item.title, *((of.get("trigger"), of.get("action")) if item.kind == "procedural" else (of.get("covers"), item.text)))


def _is_of_time(item: Item, draft: Draft) -> bool:
    return item.kind != "episodic" or abs(item.created_at - draft.item.created_at) <= AGAIN


def _is_about_same(item: Item, draft: Draft) -> bool:
    old, new = set(item.entities), set(draft.item.entities)
    return not draft.gives_entities or (old >= set(draft.unnamed) and (old <= new or new <= old))


def _is_about_no_more(item: Item, draft: Draft) -> bool:
    return set(item.entities) <= set(draft.item.entities)


def _joined(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of both: where they differ, all values that were given, so that each still finds the memory."""
    joined = {**{name: value for name, value in new.items() if name not in OWN or name == "confidence"}, **old}
    for name in (old.keys() & new.keys()) - OWN:
        if old[name] != new[name]:
            values = [*(old[name] if isinstance(old[name], list) else [old[name]])]
            values += [each for each in (new[name] if isinstance(new[name], list) else [new[name]]) if each not in values]
            joined[name] = values[:MOST_VALUES] if len(values) > 1 else old[name]
    if "confidence" in old and "confidence" in new:
        joined["confidence"] = max(old["confidence"], new["confidence"])
    return joined


def _a(kind: str) -> str:
    return f"a memory of type {kind!r}" if kind in ("episodic", "semantic", "procedural", "summary") else f"an item of kind {kind!r:.80}"
