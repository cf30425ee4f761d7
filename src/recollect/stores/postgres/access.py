"""Who may do what in a store on Postgres: a role has privileges on the tables, and row security lets it see the scopes it was granted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import Connection, text

from ...errors import InvalidInput, NotFound
from ..sql.types import escaped, unescaped

OF_FUNCTIONS: Final = "windows"
"""The table that is only read by functions, and by who writes it; of every other with row security a role reads what is of its scopes."""
FACTS: Final = ("revision", "spaces")
"""Tables of the store as a whole, which everybody may read."""
OF_EVERY_SCOPE: Final = "meta"
"""The one that may name a scope and an item, while words are made anew."""
OF_WRITERS: Final = ("keep_space", "forget_spaces")
OF_THE_OWNER: Final = ("index_space", "add_words")
"""Functions that not everybody may call."""

_ROLE = text("""
  SELECT r.rolsuper OR r.rolbypassrls AS unbound, pg_has_role(r.oid, n.nspowner, 'USAGE') AS owns
  FROM pg_roles r, pg_namespace n WHERE r.rolname = :role AND n.nspname = :namespace
""")
_OWNER = text("""
  SELECT pg_get_userbyid(c.relowner) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = :namespace AND c.relname = 'items' AND pg_get_userbyid(c.relowner) <> current_user AND pg_has_role(c.relowner, 'MEMBER')
""")
_TABLES = text("""
  SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = :namespace AND c.relkind IN ('r', 'p') AND c.relrowsecurity AND NOT c.relispartition ORDER BY 1
""")
_FUNCTIONS = text("""
  SELECT p.proname, p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
  WHERE n.nspname = :namespace ORDER BY 2
""")
_GRANTED = text("""
  SELECT a.role::text, bool_or(a.scope IS NULL) AS every, has_table_privilege(a.role, 'items', 'INSERT') AS writes
  FROM access a JOIN pg_roles r ON r.rolname = a.role GROUP BY a.role
""")


def grant(connection: Connection, namespace: str, role: str, scopes: Sequence[str] | None, *, read_only: bool) -> list[str]:
    """Let a role see these scopes too, or with None every one, and write in all it sees unless it may only read; those it had before.

    What a role may do is the same in all its scopes: a grant of one thing never changes another silently."""
    _check(connection, namespace, role)
    had = connection.scalars(text("SELECT scope FROM access WHERE role = :role AND scope IS NOT NULL ORDER BY scope"), {"role": role}).all()
    _check_alike(connection, role, read_only=read_only)
    for scope in [None] if scopes is None else scopes:
        connection.execute(
            text("INSERT INTO access (role, scope) VALUES (:role, :scope) ON CONFLICT DO NOTHING"),
            {"role": role, "scope": None if scope is None else escaped(scope)},
        )
    every = connection.scalar(text("SELECT bool_or(scope IS NULL) FROM access WHERE role = :role"), {"role": role})
    _give(connection, namespace, role, every=bool(every), writes=not read_only)
    return [unescaped(scope) for scope in had]


def revoke(connection: Connection, namespace: str, role: str) -> int:
    """Take everything from a role; how many grants it had. A role that is gone is forgotten."""
    had = connection.execute(text("DELETE FROM access WHERE role = :role"), {"role": role}).rowcount
    if connection.scalar(_ROLE, {"role": role, "namespace": namespace}) is None:
        if not had:
            raise NotFound(f"there is no role {role!r}: check its name")
        return had
    _take(connection, namespace, role)
    return had


def renew(connection: Connection, namespace: str) -> None:
    """Let every role that was granted something have the same of the tables and functions that there are now."""
    for role, every, writes in connection.execute(_GRANTED).all():
        _give(connection, namespace, role, every=every, writes=writes)


def become_owner(connection: Connection, namespace: str) -> None:
    """Let the owner of the tables own what else is made in this transaction, also where an administrator makes it: functions that run as
    the owner are to reach it."""
    if (owner := connection.scalar(_OWNER, {"namespace": namespace})) is not None:
        connection.exec_driver_sql(f"SET LOCAL ROLE {quoted(owner)}")


def _check(connection: Connection, namespace: str, role: str) -> None:
    found = connection.execute(_ROLE, {"role": role, "namespace": namespace}).first()
    if found is None:
        raise NotFound(f"there is no role {role!r}: make it with CREATE ROLE ... LOGIN, then this again")
    if found.unbound or found.owns:
        what = "is a superuser or bypasses row security" if found.unbound else "has the rights of the owner"
        raise InvalidInput(f"role {role!r} {what}, so that it sees every scope in any case: grant to another role")


def _check_alike(connection: Connection, role: str, *, read_only: bool) -> None:
    writes = {each.role: each.writes for each in connection.execute(_GRANTED)}.get(role)
    if writes is not None and writes == read_only:
        has, asked = ("may read and write", "only read") if writes else ("may only read", "read and write")
        raise InvalidInput(
            f"role {role!r} {has} in its scopes and cannot {asked} in another: take back all it has with `recollect db revoke {role}` "
            "first, or grant to another role"
        )


def _give(connection: Connection, namespace: str, role: str, *, every: bool, writes: bool) -> None:
    """Exactly this, whatever it had."""
    _take(connection, namespace, role)
    home, to = quoted(namespace), f"TO {quoted(role)}"
    scoped = list(connection.scalars(_TABLES, {"namespace": namespace}))
    read = [name for name in (*scoped, *FACTS, *([OF_EVERY_SCOPE] if every else [])) if name != OF_FUNCTIONS]
    statements = [f"GRANT USAGE ON SCHEMA {home} {to}", f"GRANT SELECT ON {_listed(home, read)} {to}"]
    if writes:
        statements.append(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {_listed(home, scoped)} {to}")
        if every:
            statements.append(f"GRANT INSERT, UPDATE, DELETE ON {home}.spaces {to}")
    withheld = OF_THE_OWNER if writes else (*OF_WRITERS, *OF_THE_OWNER)
    for name, signature in connection.execute(_FUNCTIONS, {"namespace": namespace}):
        if name not in withheld:
            statements.append(f"GRANT EXECUTE ON FUNCTION {signature} {to}")
    for statement in statements:
        connection.exec_driver_sql(statement)


def _take(connection: Connection, namespace: str, role: str) -> None:
    home, whom = quoted(namespace), f"FROM {quoted(role)}"
    for what in ("ALL TABLES IN SCHEMA", "ALL FUNCTIONS IN SCHEMA", "SCHEMA"):
        connection.exec_driver_sql(f"REVOKE ALL ON {what} {home} {whom}")


def _listed(home: str, tables: Iterable[str]) -> str:
    return ", ".join(f"{home}.{quoted(table)}" for table in tables)


def quoted(name: str) -> str:
    """A name in a statement."""
    return '"' + name.replace('"', '""') + '"'
