"""Divides every table with rows of scopes into parts by a hash of the scope, or into another number of parts, in one transaction.

What is read, written and granted stays as it was: the parts are made and filled first, and take the table's name and all it had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Connection, text

from ...errors import InvalidInput, StoreError
from .access import become_owner, quoted

MAX_PARTS: Final = 1_024
LOCKS_OF_AN_INDEX: Final = 1.1
LOCKS_OF_A_TABLE: Final = 4.5
"""What a part of a table takes, and each of its indexes, roughly: where the server has room for 6,400 locks this lets 80 parts pass, of
which 100 went and 200 did not."""

# A table of scopes is one whose primary key begins with the scope.
_TABLES = text("""
  SELECT c.oid, c.relname::text AS name, coalesce(part.reloptions, c.reloptions, '{}') AS options,
    (SELECT count(*) FROM pg_index i WHERE i.indrelid = c.oid) AS indexes
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = :namespace
  JOIN pg_index k ON k.indrelid = c.oid AND k.indisprimary
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.indkey[0] AND a.attname = 'scope'
  LEFT JOIN LATERAL (
    SELECT leaf.reloptions FROM pg_inherits h JOIN pg_class leaf ON leaf.oid = h.inhrelid
    WHERE h.inhparent = c.oid ORDER BY leaf.relname LIMIT 1
  ) AS part ON true
  WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 2
""")
_COLUMNS = text("""
  SELECT attname::text AS name, attidentity <> '' AS counts, pg_get_serial_sequence(attrelid::regclass::text, attname) AS sequence
  FROM pg_attribute WHERE attrelid = :oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum
""")
_KEYS = text("""
  SELECT conname::text AS name, pg_get_constraintdef(oid) AS definition FROM pg_constraint
  WHERE conrelid = :oid AND contype IN ('p', 'u') ORDER BY contype, conname
""")
_INDEXES = text("""
  SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i
  WHERE i.indrelid = :oid AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.conrelid = :oid) ORDER BY 1
""")
_POLICIES = text("""
  SELECT polname::text AS name, pg_get_expr(polqual, polrelid) AS seen, pg_get_expr(polwithcheck, polrelid) AS written
  FROM pg_policy WHERE polrelid = :oid ORDER BY 1
""")
_GRANTS = text("""
  SELECT r.rolname::text AS role, g.privilege_type AS privilege, g.is_grantable AS passes_on
  FROM pg_class c, aclexplode(c.relacl) AS g LEFT JOIN pg_roles r ON r.oid = g.grantee
  WHERE c.oid = :oid AND g.grantee <> c.relowner ORDER BY 1, 2
""")
_LOCKS = text("""
  SELECT current_setting('max_locks_per_transaction')::bigint * (
    current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint
  )
""")


def partition(connection: Connection, namespace: str, parts: int, *, report: Callable[[int, int], None] | None = None) -> list[str]:
    """Divide the tables into so many parts; their names. Nobody else reads or writes them meanwhile. `report` is told how many are
    divided, of how many."""
    if not 1 <= parts <= MAX_PARTS:
        raise InvalidInput(f"--parts is {parts}: give 1 to {MAX_PARTS}")
    home = quoted(namespace)
    become_owner(connection, namespace)
    found = connection.execute(_TABLES, {"namespace": namespace}).all()
    _check_locks(connection, parts, sum(LOCKS_OF_A_TABLE + LOCKS_OF_AN_INDEX * table.indexes for table in found))
    connection.exec_driver_sql(f"LOCK TABLE {', '.join(f'{home}.{quoted(table.name)}' for table in found)} IN ACCESS EXCLUSIVE MODE")
    for done, table in enumerate(found, 1):
        for statement in _statements(connection, home, table, parts):
            connection.exec_driver_sql(statement)
        if report:
            report(done, len(found))
    return [table.name for table in found]


def _check_locks(connection: Connection, parts: int, of_each: float) -> None:
    """The server holds a lock on each part, and ends a transaction that needs more of them than it has room for."""
    room = connection.scalar(_LOCKS) or 0
    if parts * of_each > room:
        setting = connection.scalar(text("SELECT current_setting('max_locks_per_transaction')::bigint")) or 64
        needed = round(setting * parts * of_each / room) + 1
        raise StoreError(
            f"{parts} parts take about {parts * of_each:.0f} locks at once, and the server has room for {room}: "
            f"ask for at most {int(room / of_each)}, or set its max_locks_per_transaction to {needed}"
        )


def _statements(connection: Connection, home: str, table: Any, parts: int) -> list[str]:
    """What makes a table one in parts."""
    of = {"oid": table.oid}
    old, new, name = f"{home}.{quoted(table.name)}", f"{home}.{quoted(table.name + '__new')}", quoted(table.name)
    columns = connection.execute(_COLUMNS, of).all()
    listed = ", ".join(quoted(column.name) for column in columns)
    options = f" WITH ({', '.join(table.options)})" if table.options else ""
    statements = [f"CREATE TABLE {new} (LIKE {old} INCLUDING ALL EXCLUDING INDEXES EXCLUDING STATISTICS) PARTITION BY HASH (scope)"]
    for at in range(parts):
        part = f"{home}.{quoted(f'{table.name}__new_{at}')}"
        statements.append(f"CREATE TABLE {part} PARTITION OF {new} FOR VALUES WITH (MODULUS {parts}, REMAINDER {at}){options}")
        # Nobody is let into a part but through the whole.
        statements.append(f"ALTER TABLE {part} ENABLE ROW LEVEL SECURITY")
    statements.append(f"INSERT INTO {new} ({listed}) OVERRIDING SYSTEM VALUE SELECT {listed} FROM {old}")
    for column in columns:
        if column.counts:
            last = f"(SELECT last_value, is_called FROM {column.sequence})"
            place = f"pg_get_serial_sequence('{_literal(new)}', '{_literal(column.name)}')"
            statements.append(f"SELECT setval({place}, last_value, is_called) FROM {last} AS before")
    keys, indexes = connection.execute(_KEYS, of).all(), connection.scalars(_INDEXES, of).all()
    policies, grants = connection.execute(_POLICIES, of).all(), connection.execute(_GRANTS, of).all()
    statements += [f"DROP TABLE {old}", f"ALTER TABLE {new} RENAME TO {name}"]
    for at in range(parts):
        statements.append(f"ALTER TABLE {home}.{quoted(f'{table.name}__new_{at}')} RENAME TO {quoted(f'{table.name}_{at}')}")
    statements += [f"ALTER TABLE {old} ADD CONSTRAINT {quoted(key.name)} {key.definition}" for key in keys]
    statements += [index.replace(" ON ONLY ", " ON ", 1) for index in indexes]
    statements.append(f"ALTER TABLE {old} ENABLE ROW LEVEL SECURITY")
    for policy in policies:
        check = f" WITH CHECK ({policy.written})" if policy.written else ""
        statements.append(f"CREATE POLICY {quoted(policy.name)} ON {old} USING ({policy.seen}){check}")
    for grant in grants:
        whom = "PUBLIC" if grant.role is None else quoted(grant.role)
        statements.append(f"GRANT {grant.privilege} ON {old} TO {whom}{' WITH GRANT OPTION' if grant.passes_on else ''}")
    return [*statements, f"ANALYZE {old}"]


def _literal(name: str) -> str:
    return name.replace("'", "''")
