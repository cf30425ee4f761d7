"""How the graph changes with a batch: what comes and goes of edges and entities, worked out before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...model import Batch, Edge, Entity, digest, node_of
from ..entities import keys as names_of
from .connecting import Transaction
from .keys import checked_key, key_of, keys_of

_LINKS: Final = "startNode(r).id, r.type, endNode(r).id, r.weight, r.origin"
_SAID: Final = f"UNWIND $rows AS said MATCH ()-[r:LINK {{said: said}}]->() RETURN {_LINKS}"
_KEPT: Final = f"UNWIND $rows AS key MATCH ()-[r:LINK {{key: key}}]->() RETURN {_LINKS}"
_ENDS: Final = "UNWIND $rows AS key MATCH ()-[r:LINK {key: key}]->() UNWIND [startNode(r), endNode(r)] AS n RETURN DISTINCT n.key"
_CUT: Final = "UNWIND $rows AS key MATCH ()-[r:LINK {key: key}]->() DELETE r"
_BEYOND: Final = """
  UNWIND $rows AS key MATCH (:Node {key: key})-[:LINK]-(m:Node) WHERE NOT m:Item AND NOT m:Entity RETURN DISTINCT m.key
"""
_DETACH: Final = "UNWIND $rows AS key MATCH (:Node {key: key})-[r:LINK]-() DELETE r"
_TIDY: Final = """
  UNWIND $rows AS key MATCH (n:Node {key: key}) WHERE NOT n:Item AND NOT n:Entity AND NOT EXISTS { (n)-[:LINK]-() } DELETE n
"""
_WITHIN: Final = """
  UNWIND $rows AS begins MATCH (n:Node)
  WHERE n.key STARTS WITH begins AND NOT n:Item AND NOT n:Entity AND NOT EXISTS { MATCH (:Symbol {node: n.key}) }
  RETURN DISTINCT n.key
"""
_NODES: Final = "UNWIND $rows AS row MERGE (n:Node {key: row.key}) ON CREATE SET n.scope = $scope, n.id = row.id"
_LINK: Final = """
  UNWIND $rows AS row MATCH (a:Node {key: row.source}) MATCH (b:Node {key: row.target}) CREATE (a)-[r:LINK]->(b) SET r = row.link
"""
_CHANGE: Final = "UNWIND $rows AS row MATCH ()-[r:LINK {key: row.link.key}]->() SET r = row.link"
_ENTITIES: Final = "UNWIND $rows AS key MATCH (e:Entity {key: key}) RETURN e.id, e.type, e.name, e.aliases"
_UNNAME: Final = "UNWIND $rows AS key MATCH (e:Entity {key: key})<-[:NAMES]-(n:Name) DETACH DELETE n"
_ENTITY: Final = (
    "UNWIND $rows AS row MATCH (n:Node {key: row.key}) SET n:Entity, n.type = row.type, n.name = row.name, n.aliases = row.aliases"
)
_NAME: Final = "UNWIND $rows AS row MATCH (e:Entity {key: row.entity}) CREATE (:Name {key: row.key})-[:NAMES]->(e)"
_FORGET: Final = "UNWIND $rows AS key MATCH (e:Entity {key: key}) SET e.type = null, e.name = null, e.aliases = null REMOVE e:Entity"


def link_key(scope: str, edge: Edge) -> str:
    """Names an edge of a scope by its ends and its type."""
    return digest(scope, edge.source, edge.type, edge.target)


class Linker:
    """Changes the graph of a scope within a transaction, and knows whether anything did change."""

    def __init__(self, transaction: Transaction, scope: str) -> None:
        self._transaction = transaction
        self._scope = scope
        self.changed = False

    async def detach(self, ids: Sequence[str]) -> None:
        """Leave no edge of these nodes."""
        keys = keys_of(self._scope, ids)
        beyond = [key for (key,) in await self._transaction.each(_BEYOND, keys)]
        await self._transaction.each(_DETACH, keys)
        await self._tidy(beyond)

    async def detach_within(self, ids: Sequence[str]) -> None:
        """Leave no edge of anything in these items that is not also something else."""
        begins = keys_of(self._scope, (node_of(item_id, "") for item_id in ids))
        within = [key for (key,) in await self._transaction.each(_WITHIN, begins)]
        beyond = [key for (key,) in await self._transaction.each(_BEYOND, within)]
        await self._transaction.each(_DETACH, within)
        await self._tidy([*within, *beyond])

    async def entities(self, known: Mapping[str, Entity], forget: Sequence[str]) -> None:
        """Put these entities in the place of those of their ids, and let others go with their edges."""
        rows = await self._transaction.each(_ENTITIES, keys_of(self._scope, [*known, *forget]))
        present = {row[0]: Entity(row[0], row[1], row[2], tuple(row[3])) for row in rows}
        gone = [name for name in dict.fromkeys(forget) if name in present and name not in known]
        fresh = [entity for entity in known.values() if present.get(entity.id) != entity]
        self.changed = self.changed or bool(gone or fresh)
        await self._transaction.each(_UNNAME, keys_of(self._scope, [*gone, *(entity.id for entity in fresh)]))
        if gone:
            await self.detach(gone)
            await self._transaction.each(_FORGET, keys_of(self._scope, gone))
            await self._tidy(keys_of(self._scope, gone))
        await self._nodes([entity.id for entity in fresh])
        own = [
            {"key": key_of(self._scope, entity.id), "type": entity.type, "name": entity.name, "aliases": list(entity.aliases)}
            for entity in fresh
        ]
        await self._transaction.each(_ENTITY, own)
        names = [
            {"entity": key_of(self._scope, entity.id), "key": key_of(self._scope, name)} for entity in fresh for name in names_of(entity)
        ]
        await self._transaction.each(_NAME, names)

    async def link(self, batch: Batch, silent: Sequence[str]) -> None:
        """Let what items say take the place of what they said before, and what somebody gives, which an item never changes. What was said
        by those that are silent now goes."""
        said = [item_id for item_id in dict.fromkeys((*silent, *batch.relink)) if item_id]
        new = {link_key(self._scope, edge) for edge in batch.edges}
        rows = await self._transaction.each(_SAID, keys_of(self._scope, said))
        rows += await self._transaction.each(_KEPT, list(new))
        before = {link_key(self._scope, edge): edge for edge in (Edge(*row) for row in rows)}
        after = {key: edge for key, edge in before.items() if not edge.origin or edge.origin not in set(said)}
        for edge in batch.edges:
            key = link_key(self._scope, edge)
            if key not in after or after[key].origin or not edge.origin:
                after[key] = edge
        gone = [key for key in before if key not in after]
        fresh = {key: edge for key, edge in after.items() if key not in before}
        other = {key: edge for key, edge in after.items() if key in before and before[key] != edge}
        self.changed = self.changed or bool(gone or fresh or other)
        if gone:
            ends = [key for (key,) in await self._transaction.each(_ENDS, gone)]
            await self._transaction.each(_CUT, gone)
            await self._tidy(ends)
        await self._nodes([end for edge in fresh.values() for end in (edge.source, edge.target)])
        await self._transaction.each(_LINK, [self._row(key, edge) for key, edge in fresh.items()])
        await self._transaction.each(_CHANGE, [self._row(key, edge) for key, edge in other.items()])

    def _row(self, key: str, edge: Edge) -> dict[str, Any]:
        link = {"key": key, "type": edge.type, "weight": float(edge.weight), "origin": edge.origin}
        if edge.origin:
            link["said"] = key_of(self._scope, edge.origin)
        return {"source": key_of(self._scope, edge.source), "target": key_of(self._scope, edge.target), "link": link}

    async def _nodes(self, ids: Sequence[str]) -> None:
        """Make sure that there is a node for each."""
        rows = [{"id": name, "key": checked_key(self._scope, name, "the node")} for name in dict.fromkeys(ids)]
        await self._transaction.each(_NODES, rows, scope=self._scope)

    async def _tidy(self, keys: Sequence[str]) -> None:
        """Leave no node that is nothing, and that no edge leads to."""
        await self._transaction.each(_TIDY, list(dict.fromkeys(keys)))
