"""By which names a file depends on the definitions of others: where one of these comes or goes, its edges may be others. Pure."""

from __future__ import annotations

from dataclasses import replace

from ..outline import Outline, Use
from .linking_edges import COMMON, INHERITED, LOOSE, OWN, PACKAGED, SPREAD
from .linking_names import WORD, last_of, wanted
from .modules import is_index
from .modules_imports import Taken


def is_frugal(language: str) -> bool:
    """Whether a file of the language knows only what it imports and what is in its folder."""
    return language not in LOOSE and language not in ("rust", "markdown")


def knows_folder(language: str) -> bool:
    """Whether a file of the language knows what is in its folder without an import."""
    return language in PACKAGED or language in SPREAD or not is_frugal(language)


class Depends:
    """What one outline depends on."""

    def __init__(self, outline: Outline, taken: Taken) -> None:
        self._outline, self._taken, self._language = outline, taken, outline.language
        self._foreign = taken.outside(outline.imports)
        self._heirs = {each.qualified for each in outline.definitions if each.bases}
        own = {each.name for each in outline.definitions}
        self._known = {*own, *taken.names, *(word for module in taken.modules for word in WORD.findall(module))}
        self._uses = tuple(use for use in outline.uses if self._can_link(use))

    def names(self) -> set[str]:
        """All names that may stand for something of another file."""
        found = wanted(replace(self._outline, uses=self._uses, imports=() if is_frugal(self._language) else self._outline.imports))
        return found | {there for there, _ in self._taken.names.values()}

    def far_names(self) -> set[str]:
        """Those of them that may be others by what is neither imported nor close by: where a name is only one if it is the only one."""
        if not is_frugal(self._language):
            return self.names()
        passed_on = {there for there, paths in self._taken.names.values() if any(map(is_index, paths))}
        own = {each.qualified for each in self._outline.definitions}
        outer = {last_of(each.parent) for each in self._outline.definitions if each.parent and each.parent not in own}
        return passed_on | outer | {use.name for use in self._uses if use.receiver}

    def _can_link(self, use: Use) -> bool:
        taken, language = self._taken, self._language
        if not use.receiver:
            return bool(knows_folder(language) or taken.open or use.name in taken.names or use.name in taken.modules)
        words = WORD.findall(use.receiver)
        if use.receiver in OWN or use.receiver in INHERITED:
            return bool(self._heirs) or language in SPREAD
        if words and words[0] in self._foreign:
            return False
        # A common name is only looked for in what is known: something imported or defined here, or what looks like a class or a module.
        is_known = bool(taken.open) or not self._known.isdisjoint(words)
        is_named = knows_folder(language) and bool("::" in use.receiver or "\\" in use.receiver or (words and words[-1][0].isupper()))
        return use.name not in COMMON or is_known or is_named or language == "go"
