"""Takes in files and folders: looks at what is there, reads what changed, writes it, and removes what is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from ..cancellation import checkpoint, in_thread
from ..evidence.cutting import Cutter
from ..model import Batch, Known
from ..ports import Store
from ..stopwatch import staged
from . import Progress, Report, files, fill, ingest
from .facts import Kept
from .linking import link
from .report import IndexReport


async def index(
    store: Store,
    scope: str,
    paths: Sequence[Path],
    *,
    cutter: Callable[[], Awaitable[Cutter | None]],
    base: Path,
    max_bytes: int,
    untracked: bool,
    never: Path | None,
    report: Report | None,
) -> IndexReport:
    """Bring the scope to what the paths hold now; see `files.survey`. A cutter is asked for when it is known what there is to do."""
    known: dict[str, Known] = {}
    for ref in files.refs(paths, base):
        known |= await store.known(scope, files.SOURCE, ref)
    with staged("survey"):
        survey = await in_thread(files.survey, paths, known, base=base, max_bytes=max_bytes, untracked=untracked, never=never)
    others = await store.known(scope, files.SOURCE, "") if survey.changed else {}
    files.put_back(survey, others, base)
    progress, kept = Progress(items_total=len(survey.changed)), Kept()
    made = await cutter()
    if made:
        await fill(store, scope, cutter=made, progress=progress, report=report, kept=kept)
    before: dict[str, bytes] = {}
    items = files.items(survey, known, scope=scope, others=others, is_there=_looked_up(store, scope))
    written = await ingest(
        store, scope, items, cutter=made, progress=progress, report=report, replaced=before, instead=survey.instead, kept=kept
    )
    present = {*written.added, *written.changed, *written.unchanged}
    gone = {known[ref].id: ref for ref in survey.gone if known[ref].id not in present}
    going = await store.get(scope, list(gone))
    kept.note((), {stored.item.id: stored.item for stored in going})
    before |= {stored.item.id: stored.outline for stored in going if stored.outline}
    deleted = (await store.write(scope, Batch(delete=list(gone)))).deleted if gone else ()
    known |= others
    moved = {known_id: ref for ref, each in known.items() if (known_id := each.id) in written.deleted}
    ids = {each.id for each in known.values()}
    came = [item_id for item_id in (*written.added, *written.changed) if item_id not in ids]
    owners = {ref: each.id for ref, each in others.items()} if others else None
    with staged("link"):
        await link(store, scope, before, came=came, gone={**moved, **gone}, owners=owners, kept=kept)
    await kept.forget(store, scope)
    return IndexReport.of(
        progress,
        added=len(written.added) - len(written.deleted),
        changed=len(written.changed) + len(written.deleted),
        unchanged=len(survey.unchanged) + len(written.unchanged),
        deleted=len(deleted),
        left_out=survey.left_out,
        untracked=survey.untracked,
        problems=survey.problems,
    )


def _looked_up(store: Store, scope: str) -> Callable[[str], bool]:
    """Whether the store has an item of an id, for the thread that reads the files."""
    loop = asyncio.get_running_loop()

    def is_there(item_id: str) -> bool:
        checkpoint()
        return bool(asyncio.run_coroutine_threadsafe(store.heads(scope, [item_id]), loop).result())

    return is_there
