"""Makes the words of every item anew where the analysis that they were made by is another than the present one.

Page by page, each in a transaction of its own, while the store is searched and written; where it is stopped it goes on the next time."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Final

from sqlalchemy import Connection, delete, func, select

from ...analysis import edition
from ..sql.reading import PAGE
from ..sql.rows import page_after
from ..sql.schema import ItemRow, MetaRow, ScopeRow
from ..sql.write import upsert
from .database import Database
from .write import PostgresWriter

EDITION: Final = "edition"
"""Of the words: the name of a fact about the store."""
REACHED: Final = "edition.reached"
"""How far the words are made anew: for which edition, in which scope, after which item."""


def kept_edition(connection: Connection) -> str | None:
    """The edition that all words in the store are of."""
    return _fact(connection, EDITION)


def keep_edition(connection: Connection, name: str) -> None:
    _keep_fact(connection, EDITION, name)


async def make_words_again(db: Database, report: Callable[[int, int], None] | None = None) -> int:
    """Make them anew if they are of another edition; of how many items. `report` is told how many are done, of how many."""
    wanted = edition()
    if await db.read(None, kept_edition) == wanted:
        return 0
    total, done = await db.read(None, _items), 0
    reached = await db.read(None, partial(_reached, wanted=wanted))
    while (scope := await db.read(None, partial(_scope_from, reached=reached))) is not None:
        after = reached[1] if scope == reached[0] else ""
        while page := await db.change(scope, partial(_page_again, scope=scope, after=after, wanted=wanted), patient=True):
            after = page[-1]
            done += len(page)
            if report:
                report(done, total)
        reached = (scope + "\0", "")
    await db.change(None, partial(_finish, wanted=wanted))
    return done


def _items(connection: Connection) -> int:
    return connection.scalar(select(func.count()).select_from(ItemRow)) or 0


def _scope_from(connection: Connection, reached: tuple[str, str]) -> str | None:
    return connection.scalar(select(ScopeRow.scope).where(ScopeRow.scope >= reached[0]).order_by(ScopeRow.scope).limit(1))


def _page_again(connection: Connection, scope: str, after: str, wanted: str) -> list[str]:
    """The ids of the next page. Writers of the scope wait meanwhile."""
    writer = PostgresWriter(connection, scope, None, hnsw=(0, 0))
    page = page_after(connection, scope, None, after, PAGE)
    if not page:
        return []
    items = {entry.item.id: entry.item for entry in page}
    seqs = connection.execute(select(ItemRow.seq, ItemRow.id).where(ItemRow.scope == scope, ItemRow.id.in_(list(items))))
    writer.put_words({seq: items[item_id] for seq, item_id in seqs})
    _keep_fact(connection, REACHED, json.dumps([wanted, scope, page[-1].item.id]))
    return list(items)


def _reached(connection: Connection, wanted: str) -> tuple[str, str]:
    kept = json.loads(_fact(connection, REACHED) or "[null, null, null]")
    return (kept[1], kept[2]) if kept[0] == wanted else ("", "")


def _finish(connection: Connection, wanted: str) -> None:
    keep_edition(connection, wanted)
    connection.execute(delete(MetaRow).where(MetaRow.name == REACHED))


def _fact(connection: Connection, name: str) -> str | None:
    return connection.scalar(select(MetaRow.value).where(MetaRow.name == name))


def _keep_fact(connection: Connection, name: str, value: str) -> None:
    fact = upsert(connection, MetaRow).values(name=name, value=value)
    connection.execute(fact.on_conflict_do_update(index_elements=["name"], set_={"value": value}))
