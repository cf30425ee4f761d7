"""What a question calls by its name, looked up in the index of symbols and files: no model, no ranking of words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ..filters import And, Field, Filter, Glob, OneOf
from ..model import NameMatch, Symbol, symbol_key
from ..plan import Plan
from ..ports import Store
from ..routing import NameQuery
from ..stopwatch import Stopwatch

LOOKED_UP: Final = 1_000
"""Symbols of one name that are compared: `__init__` has thousands."""
MATCHES: Final = 50

# How well a name fits, of 1: as written, by the end of its qualified name or path, written another way.
EXACT: Final = 1.0
BY_END: Final = 0.97
OTHER_CASE: Final = 0.9
SECTION: Final = 0.95
"""A heading is said by more questions than are meant by it: it comes after a definition of that name."""
ORDER: Final = ("class", "interface", "enum", "type", "module", "function", "method", "constant", "file", "section")


async def by_names(store: Store, plan: Plan, watch: Stopwatch) -> tuple[NameMatch, ...]:
    """The symbols that are called by name in the question, those that fit best first."""
    names = [reading for name in ([plan.name] if plan.name else plan.mentions) for reading in _readings(name)]
    if plan.profile.code is None or not plan.profile.code.symbols or not names:
        return ()
    by_key: dict[str, list[Symbol]] = {}
    with watch("names"):
        for name in names:
            key = symbol_key(name.name)
            by_key.setdefault(key, []).extend(await _looked_up(store, plan, name, key))
    best: dict[tuple[str, int, str], NameMatch] = {}
    for name in names:
        for match in matching(name, by_key.get(symbol_key(name.name), ())):
            place = (match.symbol.item_id, match.symbol.start, match.symbol.kind)
            if place not in best or best[place].fit < match.fit:
                best[place] = match
    return tuple(sorted(best.values(), key=_order)[:MATCHES])


async def _looked_up(store: Store, plan: Plan, name: NameQuery, key: str) -> list[Symbol]:
    """What has the name of a file or a definition. Of a name that very many have, those in what it is said to be in."""
    found = await store.symbols(plan.scope, [key], limit=LOOKED_UP, where=plan.where)
    if len(found) < LOOKED_UP or not (name.qualifier or name.path):
        return found
    if "/" in name.path:
        inside: Filter = Glob(Field("source_ref", of_item=True), f"**/{name.path.lstrip('/')}")
    elif name.qualifier:
        outer = await store.symbols(plan.scope, [symbol_key(name.qualifier.rpartition(".")[2])], limit=LOOKED_UP, where=plan.where)
        inside = OneOf(Field("id", of_item=True), tuple(dict.fromkeys(symbol.item_id for symbol in outer)))
    else:
        return found
    where = inside if plan.where is None else And((plan.where, inside))
    return await store.symbols(plan.scope, [key], limit=LOOKED_UP, where=where)


def _readings(name: NameQuery) -> Iterable[NameQuery]:
    reading: NameQuery | None = name
    while reading is not None:
        if not reading.is_literal:
            yield reading
        reading = reading.otherwise


def matching(name: NameQuery, symbols: Sequence[Symbol]) -> list[NameMatch]:
    """Those of the symbols that a name is meant for: where one is written just so, those that are written another way are not."""
    fits = [(symbol, _fit(name, symbol)) for symbol in symbols]
    least = OTHER_CASE * max((fit for _, fit in fits), default=0.0)
    line = name.lines[0] if name.lines else None
    return [NameMatch(symbol, fit, line) for symbol, fit in fits if fit > least]


def _fit(name: NameQuery, symbol: Symbol) -> float:
    if name.kind in ("file", "path"):
        return _ends_fit(name.path or name.name, symbol.qualified) if symbol.kind == "file" else 0.0
    if symbol.kind == "file":
        return 0.0
    fit = EXACT if symbol.name == name.name else OTHER_CASE
    if name.path:
        fit *= _ends_fit(name.path, symbol.item_id)
    if name.qualifier:
        fit *= _qualified_fit(name.qualifier, symbol)
    return fit * SECTION if symbol.kind == "section" else fit


def _ends_fit(path: str, ref: str) -> float:
    """How well a path fits the one of a file: the same, or one the end of the other, as in a stack trace of another machine."""
    known = ref.replace("\\", "/")
    for wanted, have, fit in ((path, known, EXACT), (path.casefold(), known.casefold(), OTHER_CASE)):
        if have == wanted:
            return fit
        if have.endswith(f"/{wanted.lstrip('/')}"):
            return fit * BY_END
        if "/" in have and wanted.endswith(f"/{have.lstrip('/')}"):
            return fit * BY_END * BY_END
    return 0.0


def _qualified_fit(qualifier: str, symbol: Symbol) -> float:
    """How well what a name is said to be in fits: its parents, or with them the folders and the file it is in."""
    parents = symbol.qualified.split(".")[:-1]
    file = symbol.item_id.replace("\\", "/").rpartition(".")[0] or symbol.item_id
    whole = [*file.split("/"), *parents]
    # A package is its __init__ file, a crate its mod.rs or lib.rs.
    places = [whole, [*(part for part in file.split("/") if part not in ("__init__", "mod", "lib", "index")), *parents]]
    # Java names a class by its package alone, and a package in Python hands on what its modules define.
    places.append([*file.split("/")[:-1], *parents])
    for fold, fit in ((str, EXACT), (str.casefold, OTHER_CASE)):
        wanted = [fold(part) for part in qualifier.split(".")]
        if [fold(part) for part in parents] == wanted:
            return fit
        if any([fold(part) for part in place][-len(wanted) :] == wanted for place in places):
            return fit * BY_END
    return 0.0


def _order(match: NameMatch) -> tuple[float, int, int, str, int]:
    symbol = match.symbol
    kind = ORDER.index(symbol.kind) if symbol.kind in ORDER else len(ORDER)
    return -match.fit, symbol.qualified.count("."), kind, symbol.item_id, symbol.start
