"""Words of documentation and software that are said for others, and their forms. Data, and the little grammar that it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

NOUNS: Final[Mapping[str, tuple[str, ...]]] = {
    "design": ("architecture", "structure", "pattern"),
    "architecture": ("design", "structure"),
    "requirement": ("constraint", "specification", "must have"),
    "specification": ("requirement", "definition"),
    "implementation": ("code", "realization"),
    "decision": ("choice", "resolution"),
    "rationale": ("reason", "justification"),
    "alternative": ("option",),
}
"""What may be said for a word, but not the other way round."""

NOUNS_ALIKE: Final = (
    ("error", "exception", "failure"),
    ("authentication", "login", "sign-in"),
    ("authorization", "permission", "access control"),
    ("config", "settings", "configuration"),
    ("bug", "defect", "issue"),
    ("documentation", "docs", "manual"),
    ("outage", "incident", "downtime"),
    ("deployment", "rollout", "release"),
    ("performance", "speed", "latency"),
    ("quota", "limit"),
    ("folder", "directory"),
    ("function", "method"),
    ("argument", "parameter"),
    ("dependency", "library"),
    ("database", "data store"),
    ("job", "task"),
    ("backup", "snapshot"),
    ("secret", "credential"),
    ("customer", "client"),
    ("metric", "measurement"),
    ("endpoint", "route"),
)
"""Any of them may be said for any other."""

VERBS: Final[Mapping[str, tuple[str, ...]]] = {
    "implement": ("build", "develop", "create"),
    "build": ("implement", "create"),
    "develop": ("implement", "build"),
    "encrypt": ("protect",),
    "deploy": ("release", "roll out"),
    "handle": ("process", "manage"),
}

VERBS_ALIKE: Final = (
    ("delete", "remove"),
    ("update", "change", "modify"),
    ("fetch", "retrieve", "get"),
    ("store", "save", "persist"),
    ("start", "launch"),
    ("stop", "terminate"),
    ("configure", "set up"),
    ("validate", "verify", "check"),
    ("fix", "resolve", "repair"),
    ("choose", "select", "pick"),
    ("migrate", "move"),
    ("restrict", "limit", "throttle"),
    ("authenticate", "log in", "sign in"),
)

_PAST: Final[Mapping[str, str]] = {"build": "built", "get": "got", "choose": "chosen", "stop": "stopped", "set": "set"}
_DOUBLED: Final = ("get", "stop", "set")
_ONLY_ONE: Final = frozenset({"documentation", "authentication", "authorization", "downtime", "performance", "speed", "code"})
_CONSONANTS: Final = frozenset("bcdfghjklmnpqrstvwxz")


@cache
def synonyms() -> Mapping[str, tuple[str, ...]]:
    """Every form of a word, with the same form of what may be said for it. A word that is a noun and a verb is taken for a noun."""
    found: dict[str, tuple[str, ...]] = {}
    for of_nouns, table, groups in ((False, VERBS, VERBS_ALIKE), (True, NOUNS, NOUNS_ALIKE)):
        alike = [(word, tuple(other for other in group if other != word)) for group in groups for word in group if " " not in word]
        for word, others in (*alike, *table.items()):
            made = [_noun_forms(each) if of_nouns else _verb_forms(each) for each in (word, *others)]
            found |= {form: tuple(other[at] for other in made[1:]) for at, form in reversed(list(enumerate(made[0])))}
    return found


def _noun_forms(word: str) -> tuple[str, str]:
    return (word, word) if word in _ONLY_ONE or word.endswith("s") else (word, _with_s(word))


def _verb_forms(verb: str) -> tuple[str, ...]:
    """`move`, `moves`, `moved`, `moving`; of two words the first changes, as in `sets up`."""
    first, _, rest = verb.partition(" ")
    return tuple(f"{form} {rest}".strip() for form in _forms(first))


def _forms(verb: str) -> Iterator[str]:
    stem = verb + verb[-1] if verb in _DOUBLED else verb.removesuffix("e")
    yield verb
    yield _with_s(verb)
    yield _PAST.get(verb) or (verb[:-1] + "ied" if verb.endswith("y") and verb[-2] in _CONSONANTS else f"{verb.removesuffix('e')}ed")
    yield f"{stem}ing"


def _with_s(word: str) -> str:
    if word.endswith("y") and word[-2] in _CONSONANTS:
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")
