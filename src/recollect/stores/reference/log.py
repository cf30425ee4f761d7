"""The retrieval log as the reference store has it: a mapping of which every change makes the next one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from ...model import Retrieval
from ..uses import newly_used, not_logged

Log: TypeAlias = Mapping[str, Retrieval]
"""The entries of one scope, by id."""


def newest_first(log: Log, since: datetime | None = None) -> list[Retrieval]:
    """The entries from a time on."""
    wanted = (each for each in log.values() if since is None or each.at >= since)
    return sorted(wanted, key=lambda each: (each.at, each.id), reverse=True)


def with_entry(log: Log, new: Retrieval, present: Collection[str], max_entries: int) -> Log:
    """With an entry, unless it is there, of what it found that is still there; without the oldest of its profile, if too many."""
    if new.id in log:
        return log
    own = replace(new, found=tuple(each for each in new.found if each.id in present))
    others = {name: each for name, each in log.items() if each.profile != new.profile}
    alike = {name: each for name, each in log.items() if each.profile == new.profile}
    return others | {each.id: each for each in newest_first({**alike, new.id: own})[:max_entries]}


def without_items(log: Log, gone: Collection[str]) -> Log:
    """Without a trace of items that are deleted."""
    return {name: replace(each, found=tuple(found for found in each.found if found.id not in gone)) for name, each in log.items()}


def with_uses(log: Log, scope: str, name: str, ids: Sequence[str]) -> tuple[Log, list[str]]:
    """With items used that an entry found, and those that were not used for it before."""
    if (entry := log.get(name)) is None:
        raise not_logged(scope, name)
    counted, details = newly_used(ids, {each.rank: each.id for each in entry.found}, entry.details)
    return ({**log, name: replace(entry, details=details)} if counted else log), counted
