"""How the database of an older version becomes one of this version, and how it is read where it may not be changed.

A step is history: it makes what its version had, whatever the tables look like today."""

from __future__ import annotations

import sqlite3
from typing import Final

from sqlalchemy import Connection, select, update

from ..sql import mentions, symbols
from ..sql.schema import VERSION, MetaRow

STEPS: Final[dict[int, tuple[str, ...]]] = {
    2: (
        "ALTER TABLE chunks ADD COLUMN words BLOB",
        "ALTER TABLE scopes ADD COLUMN cache_hits BIGINT DEFAULT 0 NOT NULL",
        "ALTER TABLE scopes ADD COLUMN cache_misses BIGINT DEFAULT 0 NOT NULL",
        "CREATE TABLE chunk_cache (scope VARCHAR NOT NULL, item_id VARCHAR NOT NULL, recipe VARCHAR NOT NULL,"
        " content_hash VARCHAR NOT NULL, created_at DATETIME NOT NULL, used BIGINT NOT NULL, bytes INTEGER NOT NULL,"
        " data BLOB NOT NULL, PRIMARY KEY (scope, item_id, recipe))",
        "CREATE INDEX chunk_cache_by_use ON chunk_cache (used, bytes)",
    ),
    3: (
        "CREATE TABLE retrievals (scope VARCHAR NOT NULL, id VARCHAR NOT NULL, at DATETIME NOT NULL, query VARCHAR NOT NULL,"
        " profile VARCHAR NOT NULL, took_ms FLOAT NOT NULL, details JSON NOT NULL, PRIMARY KEY (scope, id))",
        "CREATE INDEX retrievals_by_time ON retrievals (scope, at, id)",
        "CREATE TABLE retrieved (scope VARCHAR NOT NULL, retrieval VARCHAR NOT NULL, rank INTEGER NOT NULL, item_id VARCHAR NOT NULL,"
        " score FLOAT NOT NULL, parts JSON NOT NULL, PRIMARY KEY (scope, retrieval, rank))",
        "CREATE INDEX retrieved_by_item ON retrieved (scope, item_id)",
    ),
    4: (
        "CREATE TABLE outlines (scope VARCHAR NOT NULL, item_id VARCHAR NOT NULL, linked BOOLEAN NOT NULL, data BLOB NOT NULL,"
        " PRIMARY KEY (scope, item_id))",
        "CREATE INDEX outlines_unlinked ON outlines (scope, item_id) WHERE linked = 0",
        "CREATE TABLE symbols (scope VARCHAR NOT NULL, item_id VARCHAR NOT NULL, ordinal INTEGER NOT NULL, key VARCHAR NOT NULL,"
        " name TEXT NOT NULL, qualified TEXT NOT NULL, kind VARCHAR NOT NULL, start_idx INTEGER NOT NULL, end_idx INTEGER NOT NULL,"
        " line_start INTEGER NOT NULL, line_end INTEGER NOT NULL, parent TEXT, node VARCHAR NOT NULL,"
        " PRIMARY KEY (scope, item_id, ordinal))",
        "CREATE INDEX symbols_by_key ON symbols (scope, key, item_id, start_idx, ordinal)",
        "CREATE INDEX symbols_by_node ON symbols (scope, node)",
        "ALTER TABLE edges ADD COLUMN origin VARCHAR DEFAULT '' NOT NULL",
        "CREATE INDEX edges_by_origin ON edges (scope, origin)",
    ),
    5: (
        "CREATE TABLE entities (scope VARCHAR NOT NULL, id VARCHAR NOT NULL, type VARCHAR NOT NULL, name TEXT NOT NULL,"
        " aliases JSON NOT NULL, PRIMARY KEY (scope, id))",
        'CREATE TABLE entity_names (scope VARCHAR NOT NULL, "key" VARCHAR NOT NULL, entity_id VARCHAR NOT NULL,'
        ' PRIMARY KEY (scope, "key", entity_id))',
        "CREATE INDEX entity_names_by_entity ON entity_names (scope, entity_id)",
        "ALTER TABLE scopes ADD COLUMN state VARCHAR DEFAULT '' NOT NULL",
        "CREATE INDEX edges_from ON edges (scope, source, weight DESC, type, target, origin)",
        "CREATE INDEX edges_to ON edges (scope, target, weight DESC, type, source, origin)",
        "DROP INDEX edges_by_target",
        "DROP INDEX edges_by_origin",
        "CREATE INDEX edges_by_origin ON edges (scope, origin, source, type, target)",
        "CREATE INDEX edges_to_superseded ON edges (scope, target, source) WHERE type = 'SUPERSEDES'",
    ),
    6: (
        "CREATE TABLE notes (scope VARCHAR NOT NULL, name VARCHAR NOT NULL, value JSON NOT NULL, PRIMARY KEY (scope, name))",
        "CREATE TABLE mentions (scope VARCHAR NOT NULL, item_id VARCHAR NOT NULL, entity VARCHAR NOT NULL, created_at DATETIME NOT NULL,"
        " PRIMARY KEY (scope, item_id, entity))",
        "CREATE INDEX mentions_by_time ON mentions (scope, entity, created_at DESC, item_id)",
        "DROP INDEX items_by_kind",
        "CREATE INDEX items_by_kind ON items (scope, kind, created_at DESC, id)",
        "DROP INDEX items_by_time",
        "CREATE INDEX items_by_time ON items (scope, created_at DESC, id)",
        "CREATE INDEX retrievals_by_profile ON retrievals (scope, profile, at, id)",
    ),
}
"""What leads to a version from the one before it."""

SEEN_AS: Final[dict[int, tuple[str, ...]]] = {
    2: (
        "CREATE TEMP VIEW chunks AS SELECT *, NULL AS words FROM main.chunks",
        "CREATE TEMP VIEW scopes AS SELECT *, 0 AS cache_hits, 0 AS cache_misses, '' AS state FROM main.scopes",
        "CREATE TEMP TABLE chunk_cache (scope, item_id, recipe, content_hash, created_at, used, bytes, data)",
    ),
    3: (
        "CREATE TEMP TABLE retrievals (scope, id, at, query, profile, took_ms, details)",
        "CREATE TEMP TABLE retrieved (scope, retrieval, rank, item_id, score, parts)",
    ),
    4: (
        "CREATE TEMP TABLE outlines (scope, item_id, linked, data)",
        "CREATE TEMP TABLE symbols (scope, item_id, ordinal, key, name, qualified, kind, start_idx, end_idx, line_start, line_end,"
        " parent, node)",
        "CREATE TEMP VIEW edges AS SELECT *, '' AS origin FROM main.edges",
    ),
    5: (
        "CREATE TEMP TABLE entities (scope, id, type, name, aliases)",
        "CREATE TEMP TABLE entity_names (scope, key, entity_id)",
        "CREATE TEMP VIEW IF NOT EXISTS scopes AS SELECT *, '' AS state FROM main.scopes",
    ),
    6: (
        "CREATE TEMP TABLE notes (scope, name, value)",
        "CREATE TEMP VIEW mentions AS SELECT i.scope, i.id AS item_id, own.value AS entity, i.created_at"
        " FROM main.items AS i, json_each(i.entities) AS own",
    ),
}
"""What makes a database of the version before look like one of a version to a connection that only reads."""


def upgrade(connection: Connection) -> None:
    """Take every step that is missing. The caller holds the writer's lock, and all of it is one transaction."""
    version = int(connection.scalar(select(MetaRow.value).where(MetaRow.name == "version")) or VERSION)
    if version >= VERSION:
        return
    for step in range(version + 1, VERSION + 1):
        for statement in STEPS[step]:
            connection.exec_driver_sql(statement)
    symbols.make_missing(connection)
    mentions.make_missing(connection)
    connection.execute(update(MetaRow).where(MetaRow.name == "version").values(value=str(VERSION)))


def look_like_present(connection: sqlite3.Connection) -> None:
    """Let a connection that only reads see what a database of an older version would hold if it were of this one."""
    version = connection.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
    if version and version[0].isdigit():
        for step in range(int(version[0]) + 1, VERSION + 1):
            for statement in SEEN_AS[step]:
                connection.execute(statement)
