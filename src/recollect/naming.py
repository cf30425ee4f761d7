"""Names of entities: how they are folded, by which keys one is found, and by which one that is nearly the same. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise
from typing import Final

MAX_KEY: Final = 120
"""Characters of a folded name that count."""
ONE_EDIT: Final = 5
"""Letters from which a name may be written with one edit and still be meant."""
TWO_EDITS: Final = 10

# Words, and the parts that capitals make of them: `My` and `SQL`.
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W_A-Z]+|[A-Z]+")


# Letters whose marks are accents: Latin, Greek and Cyrillic. Elsewhere a mark is a vowel, or makes another letter.
_ACCENTED: Final = re.compile(
    "[a-zA-Z\u00c0-\u02af\u0370-\u052f\u1c80-\u1c8f\u1d00-\u1dbf\u1e00-\u1fff\u2c60-\u2c7f\ua640-\ua69f\ua720-\ua7ff\uab30-\uab6f]"
)
_SIGNS: Final = frozenset("+#")
_TELLING: Final = re.compile("[+#.]")
_OTHERS: Final = re.compile("[^a-z0-9]+")
_VARIANTS: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""They choose how a letter looks, and make no other one."""

_FORMS: Final = frozenset(["corporation", "corp", "inc", "incorporated", "ltd", "llc", "llp", "gmbh", "sarl", "plc"])
"""Legal forms of companies, with or without dots, in whatever letters."""
_CAPITALS: Final = frozenset(("AG", "KG", "SE", "SA", "BV", "NV", "AB", "OY", "Oy"))
"""Those that are such only in capitals."""
_LOOSE: Final = frozenset(["company", "co", "group", "holding", "holdings", "limited"])
"""Words that are one of a company's name where they have a capital, and its name is no plain word."""
_LAST: Final = re.compile(r"(?P<name>.*\S)[\s,]+(?P<form>[^\s,]+)", re.DOTALL)
_OPEN_END: Final = re.compile(r"(?:[\s,&+]|(?<=\s)(?i:and|und|et))+$")
_ARTICLE: Final = re.compile(r"(?i:the)(?:\s+|$)")


def folded(name: str) -> str:
    """Letters and digits in small letters, without accents: `Łódź, St.` is `łodzst`, `Ödön` is `odon`, `㎒` is `mhz`. What tells names
    apart stays: `C#` is `c#`, `Java 1.1` is `java1.1`, and a mark of a script in which marks are no accents."""
    if name.isascii() and not _TELLING.search(name):
        return _OTHERS.sub("", name.lower())[:MAX_KEY]
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
    kept: list[str] = []
    last = ""  # What a mark or sign is at; empty where that is left out itself.
    for at, char in enumerate(plain):
        if char.isalnum():
            kept.append(last := char)
        elif is_mark(char):
            if last.isalpha() and not _ACCENTED.match(last) and not _VARIANTS.match(char):
                kept.append(char)
        elif (char in _SIGNS and (last.isalpha() or last in _SIGNS)) or (
            char == "." and last.isdecimal() and plain[at + 1 : at + 2].isdecimal()
        ):
            kept.append(last := char)
        else:
            last = ""
    return unicodedata.normalize("NFC", "".join(kept))[:MAX_KEY]


def is_mark(char: str) -> bool:
    """Whether a character belongs to the one before it."""
    return char > "\x7f" and unicodedata.category(char)[0] == "M"


def breaks(name: str) -> set[int]:
    """After how many letters of its folded form a name goes on with another word: 2 for `My SQL` and `MySQL`, none for `Island`."""
    return {len(folded(name[: part.start()])) for part in _PART.finditer(name)} - {0}


def allowed_edits(key: str) -> int:
    """How many letters of a folded name may be wrong, missing, or too many."""
    return 2 if len(key) >= TWO_EDITS else 1 if len(key) >= ONE_EDIT else 0


def exact_key(name: str) -> str:
    """What a name is looked up by; empty where it has neither letters nor digits."""
    key = folded(name)
    return f"={key}" if key else ""


def keys_of(name: str) -> list[str]:
    """All keys of a name: its own, and one for each of the parts of which at least one is left whole by the edits that are allowed."""
    key = folded(name)
    if not key:
        return []
    return [f"={key}", *(f"{len(key)}.{part}.{key[start:end]}" for part, (start, end) in enumerate(_parts(len(key))))]


def near_keys(name: str) -> list[str]:
    """The keys under which every name is found that is at most the allowed edits away, or has two letters swapped; others are, too, so
    `edits` must be asked."""
    key = folded(name)
    most = allowed_edits(key)
    found = {f"={key[:place]}{key[place + 1]}{key[place]}{key[place + 2 :]}": None for place in range(len(key) - 1)}
    for length in range(len(key) - most, len(key) + most + 1):
        for part, (start, end) in enumerate(_parts(length)):
            for shift in range(-most, most + 1):
                if start + shift >= 0 and end + shift <= len(key):
                    found[f"{length}.{part}.{key[start + shift : end + shift]}"] = None
    return list(found) if most else []


def _parts(length: int) -> list[tuple[int, int]]:
    """A name of this length in one part more than edits are allowed in it: none where no edit is."""
    count = 0 if length < ONE_EDIT - 1 else 3 if length >= TWO_EDITS - 2 else 2
    bounds = [length * part // count for part in range(count + 1)] if count else []
    return list(pairwise(bounds))


def edits(first: str, second: str, most: int) -> int | None:
    """How many letters have to change, come, go, or swap with the next to make one folded name the other; None where more than `most`."""
    if abs(len(first) - len(second)) > most:
        return None
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        above, before, row = before, row, [i]
        for j, b in enumerate(second, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                best = min(best, above[j - 2] + 1)
            row.append(best)
        if min(row) > most:
            return None
    return row[-1] if row[-1] <= most else None


def short_name(name: str, is_word: Callable[[str], bool] = lambda _: False) -> str:
    """The name of a company without its legal form: `Acme` of `Acme Corporation`, `The Acme Co., Inc.` or `Acme GmbH & Co. KG`; empty where
    it has none. A `Group` is no company where all that stands before it `is_word`, of plain words: `Study Group`."""
    short = name.strip()
    is_sure = False
    while (last := _LAST.fullmatch(short)) and (form := _form(last["form"])):
        is_sure |= form not in _LOOSE
        short = _OPEN_END.sub("", last["name"])
    if short == name.strip():
        return ""
    short = _ARTICLE.sub("", short, count=1) if _ARTICLE.match(short) else short
    key = folded(short)
    is_name = len(key) > 1 and any(map(str.isalpha, key)) and (is_sure or not is_word(short))
    return short if is_name else ""


def _form(word: str) -> str:
    """The legal form that a word is, in small letters and without dots; empty where it is none."""
    plain = word.replace(".", "")
    small = plain.casefold()
    is_one = small in _FORMS or plain in _CAPITALS or (small in _LOOSE and word[0].isupper())
    return small if is_one else ""
