"""Memory of one scope, which is a user: remember, recall, forget, and learn from what was used."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar
from uuid import uuid4

from .analysis import is_stop_word
from .cancellation import Cancellation
from .errors import InvalidInput, NotFound
from .evidence.cutting import Cutter
from .ingest import Problem, Report
from .ingest.decode import mended
from .ingest.entities import Entities, Named
from .ingest.following import following
from .ingest.remember_drafts import MAX_NAME
from .ingest.remembering import Refuse, forget, forget_all, read_memories, remember
from .learn import weights as learnt
from .learn.events import USED, recall_of, retrieval_of
from .memories import (
    MEMORY_TYPES,
    ZONE,
    AugmentedContext,
    Feedback,
    MemoryType,
    NewMemory,
    Recall,
    Remembered,
    TimeLine,
    TuningReport,
)
from .metrics import Metrics
from .model import Batch, Entity, Retrieval
from .naming import short_name
from .recall.timeline import timeline
from .recalling import Recaller
from .recording import Recorder
from .request import RequestContext, guarded
from .shapes import Section, shown
from .telemetry import Tracing
from .understand.common import is_plain
from .understand.entities import resolve

S = TypeVar("S", bound=Section)

BY_LABEL: Final = "m"
"""A prompt calls its memories m1, m2, and so on."""
MAX_PAGE: Final = 1_000
"""Memories of one page of the time line."""
MARKS: Final = 15
"""How many of these an error names."""


class Memory:
    """What a user's assistant remembers: events, facts, procedures and summaries."""

    def __init__(
        self,
        scope: str,
        recaller: Recaller,
        cutter: Callable[[], Awaitable[Cutter | None]],
        metrics: Metrics,
        recorder: Recorder | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        self._scope = scope
        self._recaller = recaller
        self._cutter = cutter
        self._metrics = metrics
        self._store, self._options, self._clock = recaller.store, recaller.options, recaller.clock
        self._recorder = recorder
        self._tracing = tracing or Tracing()

    # Remembering.

    async def remember(self, memory: NewMemory | Mapping[str, Any] | str | None = None, /, **fields: Any) -> Remembered:
        """Keep a memory. One that says what another says reinforces it; a fact takes the place of the one it contradicts."""
        new = _read(NewMemory, "text", memory, fields, self._options.timezone)
        return (await self.remember_all([new]))[0]

    async def remember_all(self, memories: Iterable[NewMemory | Mapping[str, Any]], *, report: Report | None = None) -> list[Remembered]:
        """Keep memories, one after the other; what became of each, in their order."""
        new = (NewMemory.model_validate(each, context={ZONE: self._options.timezone}) for each in memories)
        with self._tracing.operation("remember", does="upsert_memory", scope=self._scope) as told:
            kept = [each async for each in self._remembered(new, report)]
            told.note(memories=len(kept))
        return kept

    async def import_memories(
        self, lines: Iterable[bytes | str], *, name: str = "memories", report: Report | None = None
    ) -> tuple[list[Remembered], list[Problem]]:
        """Keep memories of JSON Lines, with the fields of `NewMemory`. A bad line is told by number and the rest goes on."""
        problems: dict[int, Problem] = {}
        places: list[tuple[int, str]] = []

        def good() -> Iterable[NewMemory]:
            for number, each in enumerate(read_memories(lines, name=name, zone=self._options.timezone)):
                if isinstance(each, Problem):
                    problems[number] = each
                else:
                    places.append((number, each[0]))
                    yield each[1]

        def refuse(at: int, error: InvalidInput) -> None:
            number, place = places[at]
            problems[number] = Problem(place, str(error))

        with self._tracing.operation("remember", does="upsert_memory", scope=self._scope) as told:
            made = [each async for each in self._remembered(good(), report, refuse)]
            told.note(memories=len(made), problems=len(problems))
        return made, [problems[number] for number in sorted(problems)]

    async def _remembered(
        self, memories: Iterable[NewMemory], report: Report | None, refuse: Refuse | None = None
    ) -> AsyncIterator[Remembered]:
        cutter = await self._cutter()
        async for each in remember(
            self._store,
            self._scope,
            memories,
            cutter=cutter,
            now=self._clock(),
            options=self._options,
            mentions=self._mentions,
            also_called=_also_called,
            report=report,
            refuse=refuse,
        ):
            yield each

    async def _mentions(self, text: str) -> list[str]:
        """Known entities that a text names, as it is written, where there is no doubt which."""
        found = await resolve(self._store, self._scope, text)
        return list(dict.fromkeys(each.entity_id for each in found if each.match != "fuzzy" and not each.others))

    # Recalling.

    async def recall(
        self,
        query: Recall | Mapping[str, Any] | str | None = None,
        /,
        *,
        deadline_s: float | None = None,
        cancellation: Cancellation | None = None,
        **fields: Any,
    ) -> AugmentedContext:
        """What an experienced colleague would recall, each memory with its reasons, and a prompt that fits a number of tokens."""
        asked = _read(Recall, "query", query, fields, self._options.timezone)
        ctx = RequestContext.within(self._scope, uuid4().hex, self._clock, deadline_s, cancellation)
        begin = ctx.now()
        with self._tracing.operation("recall", does="search_memory", scope=self._scope) as told:
            told.asked(asked.query, k=asked.limit)
            context = await guarded(ctx, self._recalled(asked, ctx.request_id))
            told.note(memories=len(context.memories), candidates=context.candidates, tokens=context.token_count)
            told.found((each.id, each.score) for each in context.memories)
        took_ms = (ctx.now() - begin).total_seconds() * 1000
        self._metrics.record(context.timing_ms, len(context.memories), took_ms, None)
        if self._recorder:
            self._recorder.record(self._scope, retrieval_of(context, at=begin, took_ms=round(took_ms, 3)))
        return context

    async def _recalled(self, asked: Recall, retrieval_id: str) -> AugmentedContext:
        weights = await learnt.weights_of(self._store, self._scope, self._options.strategies)
        return await self._recaller.recall(self._scope, asked, retrieval_id=retrieval_id, weights=weights)

    async def timeline(self, *, limit: int = 50, before: str | None = None, types: Sequence[MemoryType] = ()) -> TimeLine:
        """Memories by their time, the last first, history too; `before` is the `next` of the page before, or a time."""
        if not isinstance(limit, int) or not 1 <= limit <= MAX_PAGE:
            raise InvalidInput(f"limit is {limit!r}: give 1 to {MAX_PAGE}")
        if unknown := [each for each in types if each not in MEMORY_TYPES]:
            raise InvalidInput(f"types is {shown(unknown)}: use {', '.join(MEMORY_TYPES)}")
        return await timeline(self._store, self._scope, types or MEMORY_TYPES, limit=limit, before=before)

    # Forgetting.

    async def forget(self, ids: Sequence[str] | str) -> list[str]:
        """Forget memories, or one, and leave nothing of them behind; the ids of those that were there."""
        return await forget(self._store, self._scope, _texts(ids, "ids"))

    async def count(self) -> int:
        """How many memories there are, history too."""
        facets = await self._store.facets(self._scope, ["kind"])
        return sum(many for kind, many in facets.get("kind", {}).items() if kind in MEMORY_TYPES)

    async def forget_all(self) -> int:
        """Forget every memory of the scope, with what was asked of them and learnt from it; how many there were."""
        await self._written()
        return await forget_all(self._store, self._scope)

    # Learning.

    async def feedback(self, retrieval_id: str, used: Sequence[str] | str) -> Feedback:
        """Count which memories of a recall were used: by their ids, or as its prompt calls them, `m1`."""
        given = _texts(used, "used")
        await self._written()
        logged = await recall_of(self._store, self._scope, mended(*_texts([retrieval_id], "retrieval_id")))
        ids = [_meant(logged, each) for each in given]
        counted = set(await self._store.use(self._scope, list(dict.fromkeys(ids)), at=self._clock(), retrieval=retrieval_id))
        before = set(logged.details.get(USED) or ())
        in_order = [each.id for each in logged.found]
        return Feedback(
            retrieval_id=retrieval_id,
            used=[each.id for each in logged.found if each.rank in before or each.id in counted],
            counted=[each for each in in_order if each in counted],
        )

    async def _written(self) -> None:
        """Wait until recalls are in the log."""
        if self._recorder:
            await self._recorder.close()

    async def tune(self, *, apply: bool = False) -> TuningReport:
        """What the weights of this user's signals would be, by what was used; with `apply`, what they are from now on."""
        await self._written()
        return await learnt.tune(self._store, self._scope, self._options.strategies, self._options.tuning, apply=apply)

    async def untune(self) -> bool:
        """Let the configured weights count again; whether others did."""
        return await learnt.reset(self._store, self._scope)

    async def weights(self) -> dict[str, dict[str, float]]:
        """How much each signal counts for this user, by strategy."""
        return await learnt.weights_of(self._store, self._scope, self._options.strategies)

    # Entities.

    async def entities(self, name: str | None = None, *, type: str | None = None, limit: int | None = None) -> list[Entity]:  # noqa: A002
        """Those that are known, in order of id: all, of one type, or those that a name may mean."""
        if limit is not None and limit < 1:
            raise InvalidInput(f"limit is {limit}: give at least 1")
        if name is not None:
            (name,) = _texts([name], "name")
            mentions = await resolve(self._store, self._scope, name)
            ids = dict.fromkeys(each for mention in mentions for each in (mention.entity_id, *mention.others))
            found = await self._store.entities_of(self._scope, sorted(ids))
        else:
            found = [each async for each in self._store.entities(self._scope) if type is None or each.type == type]
        return [each for each in found if type is None or each.type == type][:limit]

    async def know(self, name: str, *, type: str = "", id: str = "", aliases: Sequence[str] | str = ()) -> Entity:  # noqa: A002
        """Keep an entity, or more names of one that is known. A new one is also called by its name without a legal form."""
        given = _named(name, type, id, aliases)
        return await following(self._store, self._scope, partial(self._known, given))

    async def _known(self, given: Named, state: str) -> Entity:
        """The entity, written if the scope is still in this state."""
        entities, bare = Entities(self._store, self._scope, _also_called), Named(given.name)
        await entities.learn([given, bare])
        if given.type and not given.id and entities.called_so(given.name) == [bare.default_id] and entities.is_bare(bare.default_id):
            given = given._replace(id=bare.default_id)  # It was known by its name alone, and now it is known what it is.
        entity_id = entities.id_of(given)
        if entity_id is None:
            raise InvalidInput(f"{given.name!r} is no name: it has neither letters nor digits")
        if new := entities.taken():
            await self._store.write(self._scope, Batch(entities=new, follows=state))
        return (await self._store.entities_of(self._scope, [entity_id]))[0]


def _named(name: str, type_: str, id_: str, aliases: Sequence[str] | str) -> Named:
    """An entity as it is given, where that can be one."""
    texts = {what: mended(each.strip()) for what, given in (("name", name), ("type", type_), ("id", id_)) for each in _texts([given], what)}
    others = tuple(mended(each.strip()) for each in _texts(aliases, "aliases") if each.strip())
    for each in (*texts.values(), *others):
        if len(each) > MAX_NAME:
            raise InvalidInput(f"{shown(each)} has {len(each)} characters, and {MAX_NAME} is the most: give a name alone")
    if texts["id"] and (len(texts["id"].split()) > 1 or "" in texts["id"].split(":", 1)):
        raise InvalidInput(f"id is {shown(texts['id'])}: give TYPE:NAME without spaces, such as 'customer:a1b2'")
    return Named(**texts, aliases=others)


def _also_called(name: str) -> tuple[str, ...]:
    """What somebody of this name is called, too: `Acme Corporation` is `Acme`."""
    short = short_name(name, lambda words: all(map(is_plain, words.split())))
    return (short,) if short and not is_stop_word(short) else ()


def _texts(given: object, what: str) -> list[str]:
    """Texts that were given: one, or several."""
    texts: list[str] = []
    for each in given if isinstance(given, Iterable) and not isinstance(given, str) else [given]:
        if not isinstance(each, str):
            raise InvalidInput(f"{what} is {shown(each)}: give a text")
        texts.append(each)
    return texts


def _read(shape: type[S], first: str, given: Any, fields: Mapping[str, Any], zone: str) -> S:
    """What was given as a text, as fields, or as the thing itself; fields by name count more. Times without a zone are of this one."""
    if isinstance(given, str):
        given = {first: given}
    if not fields:
        return shape.model_validate({} if given is None else given, context={ZONE: zone})
    if given is not None and not isinstance(given, Mapping | shape):
        given = shape.model_validate(given)
    return shape.model_validate({**dict(given or {}), **fields}, context={ZONE: zone})


def _meant(logged: Retrieval, given: str) -> str:
    """The id of a memory that a recall gave back."""
    by_label = {f"{BY_LABEL}{each.rank}": each.id for each in logged.found}
    ids = {each.id for each in logged.found}
    if given in ids:
        return given
    if given.strip("[]") in by_label:
        return by_label[given.strip("[]")]
    marks = ", ".join(list(by_label)[:MARKS]) + (", ..." if len(by_label) > MARKS else "")
    left = f"name some of its ids, or {marks}" if marks else "there is none left"
    raise NotFound(f"the recall {logged.id!r} gave back no memory {given!r}: {left}")
