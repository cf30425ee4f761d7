"""Takes in files and folders: looks at what is there, reads what changed, writes it, and removes what is gone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from ..cancellation import in_thread
from ..evidence.cutting import Cutter
from ..model import Batch, Known
from ..ports import Store
from . import Progress, Report, files, fill, ingest
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
    survey = await in_thread(files.survey, paths, known, base=base, max_bytes=max_bytes, untracked=untracked, never=never)
    progress = Progress(items_total=len(survey.changed))
    made = await cutter()
    if made:
        await fill(store, scope, cutter=made, progress=progress, report=report)
    before: dict[str, bytes] = {}
    others = await store.known(scope, files.SOURCE, "") if survey.changed else {}
    items = files.items(survey, known, scope=scope, others=others)
    instead = survey.instead
    written = await ingest(store, scope, items, cutter=made, progress=progress, report=report, replaced=before, instead=instead)
    present = {*written.added, *written.changed, *written.unchanged}
    gone = {known[ref].id: ref for ref in survey.gone if known[ref].id not in present}
    before |= {stored.item.id: stored.outline for stored in await store.get(scope, list(gone)) if stored.outline}
    deleted = (await store.write(scope, Batch(delete=list(gone)))).deleted if gone else ()
    moved = {known_id: ref for ref, each in known.items() if (known_id := each.id) in written.deleted}
    ids = {each.id for each in known.values()}
    came = [item_id for item_id in (*written.added, *written.changed) if item_id not in ids]
    await link(store, scope, before, came=came, gone={**moved, **gone})
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
