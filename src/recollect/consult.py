"""The knowledge service of one scope: results, contexts, what is similar, what is around a node, and what depends on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar, get_args

from .assemble.context import assemble
from .assemble.knowledge import results_of
from .assemble.likeness import similar_results
from .assemble.results import graph_edge
from .cancellation import in_thread
from .contracts import RetrievalBundle
from .errors import InvalidInput, NotFound
from .knowledge import (
    MAX_LIMIT,
    AgentRequest,
    Asking,
    AssembledContext,
    GraphContext,
    GraphNode,
    ImpactContext,
    ImpactNode,
    QueryType,
    RetrievalOptions,
    RetrievalQuery,
    RetrievalResult,
)
from .model import Batch, Direction, Visit, symbol_key
from .nearness import nearness
from .ports import Store, TokenCounter
from .prefs import MAX_CHUNKS, CachePrefs, GraphPrefs, RetrievalPrefs, ScoringPrefs, TextMode, TextPrefs, VectorPrefs
from .profiles import TEXT, VECTOR
from .rank.history import CURRENT, Lineage
from .recall.versions import successors_of
from .retrieval_settings import RetrievalSettings
from .shapes import is_number
from .similar import similar
from .stopwatch import staged
from .syntax.ids import spellings
from .telemetry import Tracing

PROFILE: Final = "graph"
PASSAGES: Final = 3
"""Of one result, at the most."""
DEPENDS: Final = ("IMPLEMENTS", "SATISFIES", "REFERENCES", "IMPORTS", "CALLS", "DEPENDS_ON", "USES")
"""Edges whose source has to be looked at when their target changes."""
DEFINES: Final = "DEFINES"
NESTING: Final = 5
"""How deep definitions lie in each other."""
DEPENDENTS: Final = 500
"""Edges followed from one node when asking what depends on it."""
CALLED: Final = 20
"""Items of one name that are looked at, to know whether it means one."""
FARTHEST: Final = 10
VERSIONS: Final = 20
"""So many more are looked at, since some may have been superseded."""
SHOWN: Final = 500
"""Nodes of a graph that are shown."""
AGENT_RESULTS: Final = 15
AGENT_CHARS: Final = 100
"""Of what an agent works on, so much counts as its question."""
WEIGHTS: Final[Mapping[str, Mapping[str, float]]] = {"semantic": {TEXT: 0.0, VECTOR: 1.0}, "exact": {TEXT: 1.0, VECTOR: 0.0}}


A = TypeVar("A", RetrievalQuery, RetrievalOptions, AgentRequest)


class Retrieving(Protocol):
    """Finds what prefs ask for, in the scope."""

    async def __call__(self, prefs: RetrievalPrefs) -> RetrievalBundle: ...


class Knowledge:
    """What a library knows, for agents: every answer with its citations and its reasons."""

    def __init__(
        self,
        store: Store,
        scope: str,
        retrieve: Retrieving,
        tokens: TokenCounter,
        options: RetrievalSettings,
        tracing: Tracing | None = None,
    ) -> None:
        self._store = store
        self._scope = scope
        self._retrieve = retrieve
        self._tokens = tokens
        self._options = options
        self._tracing = tracing or Tracing()

    async def find(self, query: RetrievalQuery | Mapping[str, Any] | str, /, **options: Any) -> list[RetrievalResult]:
        """The results of a question, best first: what was found, and what the graph leads to from there."""
        asked = _given(RetrievalQuery, {"text": query} if isinstance(query, str) else query, options)
        found = await self._retrieve(self._prefs(asked.text, asked, asked.query_type, asked.limit))
        return results_of(found)

    async def context(self, query: str, options: RetrievalOptions | Mapping[str, Any] | None = None, /, **more: Any) -> AssembledContext:
        """What an agent should read before it answers, within a length."""
        return await self._context(query, _given(RetrievalOptions, options or {}, more), notes=())

    async def agent_context(self, request: AgentRequest | Mapping[str, Any] | None = None, /, **more: Any) -> AssembledContext:
        """The context of what an agent is about to do: what was approved, of its subsystem where anything is of one."""
        asked = _given(AgentRequest, request or {}, more)
        query = " ".join(filter(None, (asked.action, asked.target_type, (asked.content or "")[:AGENT_CHARS]))).strip()
        filters: dict[str, Any] = {"status": "approved"}
        notes: list[str] = []
        if asked.subsystem is not None:
            counted = await self._store.facets(self._scope, ["subsystem"])
            if asked.subsystem in counted.get("subsystem", {}):
                filters["subsystem"] = asked.subsystem
            else:
                notes.append(f"nothing belongs to a subsystem {asked.subsystem!r}: all were searched")
        options = RetrievalOptions(search_type="hybrid", max_results=AGENT_RESULTS, filters=filters)
        found = await self._context(query, options, notes, mode="any")
        if found.total_results:
            return found
        notes.append("nothing that fits is approved: what is not was searched, too")
        filters.pop("status")
        return await self._context(query, options.model_copy(update={"filters": filters}), notes, mode="any")

    async def similar(
        self, item_id: str, *, limit: int = 10, min_score: float = 0.8, include_history: bool = False
    ) -> list[RetrievalResult]:
        """The items whose meaning is nearest to that of an item, by the mean of its passages."""
        if not (is_number(min_score) and 0 <= min_score <= 1):
            raise InvalidInput(f"min_score is {min_score!r}: it lies between 0 and 1")
        if not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
            raise InvalidInput(f"limit is {limit!r}: give 1 to {MAX_LIMIT}")
        item_id = await self._meant(item_id)
        where = None if include_history else CURRENT
        found = await similar(self._store, self._scope, item_id, limit=limit + VERSIONS, min_score=min_score, where=where)
        ids = [hit.id for hit in found]
        lineage = Lineage(*await successors_of(self._store, self._scope, ids))
        stored = {each.item.id: each.item for each in await self._store.get(self._scope, ids)}
        kept = [(hit, stored[hit.id]) for hit in found if hit.id in stored and (include_history or lineage.successor(hit.id) is None)]
        return similar_results(item_id, kept[:limit], lineage)

    async def graph(
        self, node: str, *, max_distance: int = 2, relationship_types: Sequence[str] | None = None, direction: Direction = "both"
    ) -> GraphContext:
        """What is around a node: each other node once, at its shortest distance, with the path that leads there."""
        node = await self._meant(node)
        fan_out = self._options.graph.fan_out
        visits = await self._walk([node], max_distance, fan_out, relationship_types, direction)
        if not visits:
            raise self._unknown(node)
        more = len(visits) > SHOWN or await self._has_more(visits, max_distance, fan_out, relationship_types, direction)
        shown = visits[:SHOWN]
        edges = dict.fromkeys(visit.path[-1] for visit in shown if visit.path)
        return GraphContext(
            start_node=node,
            max_distance=max_distance,
            nodes=await self._nodes(shown),
            edges=[graph_edge(edge) for edge in edges],
            truncated=more,
        )

    async def impact(self, node: str, *, max_distance: int = 3, relationship_types: Sequence[str] | None = None) -> ImpactContext:
        """What depends on a node, or on anything that it defines: directly, and through others."""
        node = await self._meant(node)
        within = await self._walk([node], NESTING, DEPENDENTS, [DEFINES], "out")
        if not within:
            raise self._unknown(node)
        inside = {visit.id: visit for visit in within}
        types = DEPENDS if relationship_types is None else relationship_types
        visits = await self._walk(list(inside), max_distance, DEPENDENTS, types, "in")
        dependents = [visit for visit in visits if visit.hops]
        more = len(dependents) > SHOWN or await self._has_more(visits, max_distance, DEPENDENTS, types, "in")
        titles = {each.node_id: each for each in await self._nodes(dependents[:SHOWN])}
        found = [(visit, _impact(visit, inside, titles[visit.id])) for visit in dependents[:SHOWN]]
        return ImpactContext(
            node_id=node,
            direct_impact=[each for visit, each in found if visit.hops == 1],
            indirect_impact=[each for visit, each in found if visit.hops > 1],
            total_affected=len(dependents),
            truncated=more,
        )

    async def forget(self, ids: Sequence[str] | str) -> list[str]:
        """Remove entities, or one, with every edge of theirs; the ids of those that were there."""
        found = await self._store.entities_of(self._scope, [ids] if isinstance(ids, str) else list(ids))
        there = [entity.id for entity in found]
        if there:
            await self._store.write(self._scope, Batch(forget=there))
        return there

    # How it is done.

    async def _context(self, query: str, options: RetrievalOptions, notes: Sequence[str], *, mode: TextMode = "web") -> AssembledContext:
        with self._tracing.operation("context", scope=self._scope) as told:
            found = await self._retrieve(self._prefs(query, options, options.search_type, options.max_results, mode))
            with staged("assemble"):
                made = await self._assembled(found, query, options, notes)
            told.note(results=made.total_results, tokens=made.token_count)
        return made

    async def _assembled(self, found: RetrievalBundle, query: str, options: RetrievalOptions, notes: Sequence[str]) -> AssembledContext:
        own = self._options.context
        return await in_thread(
            assemble,
            results_of(found),
            query,
            self._tokens,
            max_length=options.max_length or own.max_length,
            format=options.format or own.format,
            include_metadata=own.include_metadata if options.include_metadata is None else options.include_metadata,
            analysis=found.analysis,
            notes=[*(found.analysis.notes if found.analysis else ()), *notes],
        )

    def _prefs(self, text: str, asked: Asking, query_type: QueryType | None, limit: int | None, mode: TextMode = "web") -> RetrievalPrefs:
        own = self._options
        limit = limit or own.search.default_limit
        hops = own.graph.max_distance if asked.max_graph_distance is None else asked.max_graph_distance
        least = own.search.min_score_threshold if asked.min_score is None else asked.min_score
        distance = own.search.vector_search.distance
        weights = WEIGHTS.get(query_type or own.search.default_type)
        return RetrievalPrefs(
            query_text=text,
            filters=asked.filters,
            top_k_items=limit,
            top_k_chunks=min(MAX_CHUNKS, PASSAGES * (limit + own.graph.max_expanded_nodes)),
            per_item_chunk_cap=PASSAGES,
            profile=PROFILE,
            fts=TextPrefs(mode=mode, config=own.search.keyword_search.config),
            vector=VectorPrefs(
                min_score=nearness(2 * least - 1, distance),
                distance=distance,
            ),
            scoring=ScoringPrefs(w_text=weights[TEXT], w_vec=weights[VECTOR]) if weights else ScoringPrefs(),
            cache=CachePrefs(use_result_cache=own.cache.enabled),
            graph=GraphPrefs(
                max_distance=hops,
                include_history=asked.include_history,
                include_code=asked.include_code,
                as_of=asked.as_of,
                unread=asked.unread,
            ),
        )

    async def _walk(self, starts: Sequence[str], hops: int, fan_out: int, types: Sequence[str] | None, direction: Direction) -> list[Visit]:
        if not isinstance(hops, int) or not 1 <= hops <= FARTHEST:
            raise InvalidInput(f"max_distance is {hops!r}: give 1 to {FARTHEST} edges")
        if direction not in get_args(Direction):
            raise InvalidInput(f"direction is {direction!r:.80}: use {', '.join(get_args(Direction))}")
        if types is not None and (isinstance(types, str) or not all(isinstance(each, str) for each in types)):
            raise InvalidInput(f"relationship_types is {types!r:.80}: give a list of types, such as ['IMPLEMENTS']")
        return await self._store.walk(self._scope, starts, hops=hops, fan_out=fan_out, types=types, direction=direction)

    async def _has_more(self, visits: Sequence[Visit], hops: int, fan_out: int, types: Sequence[str] | None, direction: Direction) -> bool:
        """Whether some node has more edges than were followed."""
        inner = [visit.id for visit in visits if visit.hops < hops]
        links = await self._store.links(self._scope, inner, fan_out=fan_out + 1, types=types, direction=direction)
        return any(len(edges) > fan_out for edges in links.values())

    async def _meant(self, name: str) -> str:
        """The node that a name means: its id; or the path of a file that has an id of its own, or what else an item is called."""
        if not isinstance(name, str):
            raise InvalidInput(f"the node is {name!r:.80}: give its id, a text")
        if not name or await self._store.walk(self._scope, [name], hops=0, fan_out=0):
            return name
        if (known := (await self._store.known(self._scope, "file", name)).get(name)) is not None:
            return known.id
        called = await self._store.symbols(self._scope, [symbol_key(each) for each in spellings(name)], limit=CALLED)
        items = {symbol.item_id for symbol in called if symbol.kind == "file"}
        return items.pop() if len(items) == 1 else name

    def _unknown(self, node: str) -> NotFound:
        return NotFound(f"there is no node {node!r} in scope {self._scope!r}: name an item's id, a definition `item#name`, or an entity")

    async def _nodes(self, visits: Sequence[Visit]) -> list[GraphNode]:
        """What is known of the nodes, in their order."""
        ids = [visit.id for visit in visits]
        heads = await self._store.heads(self._scope, ids)
        others = [node for node in ids if node not in heads]
        named = {each.id: each for each in await self._store.entities_of(self._scope, others)} if others else {}
        symbols = {each.node: each for each in await self._store.symbols_at(self._scope, [each for each in others if each not in named])}
        nodes: list[GraphNode] = []
        for visit in visits:
            head, entity, symbol = heads.get(visit.id), named.get(visit.id), symbols.get(visit.id)
            nodes.append(
                GraphNode(
                    node_id=visit.id,
                    node_type=head.kind if head else "entity" if entity else "symbol",
                    title=head.title if head else entity.name if entity else symbol.qualified if symbol else None,
                    path=head.source_ref if head else None,
                    version=head.version if head else None,
                    status=head.status if head else None,
                    distance=visit.hops,
                    relationship_type=visit.path[-1].type if visit.path else None,
                    via=[graph_edge(edge) for edge in visit.path],
                )
            )
        return nodes


def _given(model: type[A], values: object, more: Mapping[str, Any]) -> A:
    """A value of the model; what is given by name comes before what is in it."""
    if isinstance(values, model):
        return model.model_validate({**values.model_dump(exclude_unset=True), **more}) if more else values
    if not isinstance(values, Mapping):
        raise InvalidInput(f"{values!r:.80} is no {model.__name__}: give one, or its fields by name")
    return model.model_validate({**values, **more})


def _impact(visit: Visit, inside: Mapping[str, Visit], node: GraphNode) -> ImpactNode:
    """What depends on a node, with the way from it."""
    steps = [edge.source for edge in visit.path]
    start = inside[visit.path[0].target]
    way = [start.path[0].source, *(edge.target for edge in start.path)] if start.path else [start.id]
    types = [*(edge.type for edge in start.path), *(edge.type for edge in visit.path)]
    return ImpactNode(id=visit.id, title=node.title, type=node.node_type, path=[*way, *steps], relationships=types)
