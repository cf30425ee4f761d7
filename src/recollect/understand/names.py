"""Tells whether a question is a name, and which names stand in a longer one. Any text is read in time that grows as it does."""

from __future__ import annotations

import re
from typing import Final

from ..kinds import is_file_name
from ..routing import NameQuery

MAX_NAME_CHARS: Final = 300
"""A longer stretch without spaces is data."""

MAX_MESSAGE_CHARS: Final = 1_000

MAX_MENTIONS: Final = 8

MIN_NUMBERED: Final = 3
"""Characters of a word with digits that may be a name: `utf8`, and neither `v2` nor `3d`."""

_QUOTES: Final = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»"}
_AROUND: Final = ".,;:!?\"'“”‘’«»()[]{}<>*|…"
"""What stands around a word in a sentence."""

_HEX = re.compile(r"0[xX][0-9A-Fa-f][0-9A-Fa-f_]*")
_LINES = re.compile(r"(?::(\d{1,9})(?:-(\d{1,9})|:\d{1,9})?|#L(\d{1,9})(?:C\d{1,9})?(?:-L?(\d{1,9})(?:C\d{1,9})?)?)")
_SEGMENT = re.compile(r"[\w.@+~$()\[\]{}=,%-]+")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_JOINTS = re.compile(r"::|->|[.#\\]")
_PLURAL = re.compile(r"[A-Z]+s")
_EMPHASIS = re.compile(r"_[^_]+_")
_TICKED = re.compile(r"`([^`\n]+)`")


def recognise(query: str) -> NameQuery | None:
    """What a question is that is nothing but a name; None for any other."""
    text = query.strip()
    if len(text) > MAX_MESSAGE_CHARS:
        return None
    if (message := _message(text)) is not None:
        return NameQuery(kind="error", name=message)
    text = text.rstrip(".,;!?").strip("`").strip()
    if not text or len(text) > MAX_NAME_CHARS:
        return None
    if _HEX.fullmatch(text):
        return NameQuery(kind="hex", name=text)
    return _place(text) or _defined_in(text) or _symbol(text)


def mentioned(query: str) -> tuple[str, ...]:
    """Names that stand in a question among other words, as they are written there, each of which `recognise` knows: those in backticks,
    then those that no plain word looks like."""
    found: dict[str, None] = {}
    for inside in dict.fromkeys(_TICKED.findall(query)):
        name = inside.strip().removesuffix("()")
        if recognise(name) is not None and any(map(str.isalnum, name)):
            found[name] = None
        if len(found) == MAX_MENTIONS:
            return tuple(found)
    for token in dict.fromkeys(_TICKED.sub(" ", query).split()):
        if len(token) <= MAX_NAME_CHARS and (name := _mention(token)) and recognise(name) is not None:
            found[name] = None
        if len(found) == MAX_MENTIONS:
            break
    return tuple(found)


def _message(text: str) -> str | None:
    """What is in quotes, where that is all there is."""
    closing = _QUOTES.get(text[:1])
    if closing is None or len(text) < 3 or text[-1] != closing:
        return None
    inside = text[1:-1].strip()
    return inside if inside and closing not in inside and text[0] not in inside else None


def _place(text: str) -> NameQuery | None:
    """A file or a path, with the lines that are named."""
    path, lines = _without_lines(text)
    path = path.replace("\\", "/") if _is_windows_path(path) else path
    if "/" not in path:
        return _file(path, lines) if is_file_name(path) else None
    if "://" in path or "//" in path or any(each.isspace() for each in path):
        return None
    segments = path.split("/")
    named = [each for each in segments if each]
    # Dots alone are the folder here and the one above.
    if not named or not all(map(_SEGMENT.fullmatch, named)) or not any(map(str.isalnum, path)):
        return None
    is_marked = lines is not None or is_file_name(named[-1]) or not segments[0] or segments[0] in (".", "..", "~") or not segments[-1]
    return NameQuery(kind="path", name=named[-1], path=path.removeprefix("./"), lines=lines, is_plain=not is_marked)


def _defined_in(text: str) -> NameQuery | None:
    """A name with the file that it is in: `src/a.py#Store.write`."""
    path, _, name = text.rpartition("#")
    place, symbol = _place(path), _symbol(name)
    if place is None or symbol is None or place.lines or not is_file_name(place.name):
        return None
    return NameQuery(kind="qualified", name=symbol.name, qualifier=symbol.qualifier, path=place.path)


def _file(name: str, lines: tuple[int, int] | None) -> NameQuery:
    member = None if lines else _symbol(name)
    otherwise = member if member is not None and member.kind == "qualified" else None
    return NameQuery(kind="file", name=name, path=name, lines=lines, is_plain=lines is None and _is_plain(name), otherwise=otherwise)


def _is_windows_path(path: str) -> bool:
    """`src\\a.py`, and not the `App\\Models\\User` of PHP."""
    return "\\" in path and "/" not in path and is_file_name(path.rsplit("\\", 1)[1])


def _without_lines(text: str) -> tuple[str, tuple[int, int] | None]:
    """A place without the lines behind it: `:42`, `:42-60`, `:42:7` with a column, `#L42-L60`."""
    at = max(text.rfind("#L"), text.find(":", 2))
    found = _LINES.fullmatch(text, at) if at > 0 else None
    if found is None:
        return text, None
    first = int(found[1] or found[3])
    last = int(found[2] or found[4] or first)
    return (text[:at], (min(first, last), max(first, last))) if first else (text, None)


def _symbol(text: str) -> NameQuery | None:
    """A name by itself, or with what it is in."""
    bare, is_called = _uncalled(text)
    parts = _parts(bare.lstrip("\\"))
    if not all(map(str.isidentifier, parts)):
        return None
    *outer, name = parts
    if outer:
        whole = None if is_called or not _SEGMENT.fullmatch(bare) else NameQuery(kind="file", name=bare, path=bare)
        is_file = is_file_name(bare) and not is_called
        return NameQuery(kind="qualified", name=name, qualifier=".".join(outer), otherwise=None if is_file else whole)
    is_class = name[0].isupper() and "_" not in name and not (name.isupper() and len(name) > 1)
    is_plain = not is_called and _is_plain(name)
    return NameQuery(kind="class" if is_class and not is_called else "function", name=name, is_plain=is_plain)


def _parts(name: str) -> list[str]:
    """A name and what it is in, without the marks that some languages put to names."""
    return [part.strip("$@&*~!?") for part in _JOINTS.split(name)]


def _uncalled(text: str) -> tuple[str, bool]:
    """A call without its parentheses: `write()`, `write(item, 3)`."""
    if not text.endswith(")"):
        return text, False
    name, _, arguments = text.partition("(")
    is_call = bool(name) and not name[-1].isspace() and "(" not in arguments and ")" not in arguments[:-1]
    return (name, True) if is_call else (text, False)


def _is_plain(word: str) -> bool:
    """Whether it is a word of letters, written as words are: small, with a capital at its beginning, or all of capitals."""
    return word.isalpha() and (word[1:] == word[1:].lower() or word == word.upper())


def _mention(token: str) -> str | None:
    """The name that a word of a sentence is, without what stands around it; None for a plain word."""
    word = token.strip(_AROUND)
    if not any(map(str.isalpha, word)):
        return None
    before, _, after = token.partition(word)
    # What was taken off may be its own: the dot of a hidden file, the brackets of a call.
    if before.endswith(".") and word.islower() and is_file_name(f".{word}"):
        return f".{word}"
    if after.startswith("()"):
        return word
    word = word.removesuffix("'s").removesuffix("’s")
    return word if not _is_plain(word) and _stands_out(word) else None


def _stands_out(word: str) -> bool:
    """Whether no plain word is written so: not `e.g.`, `and/or`, `PDFs`, `_this_`."""
    if _HEX.fullmatch(word):
        return True
    bare, is_called = _uncalled(word)
    parts = _parts(bare)
    if all(len(part) < 2 for part in parts):
        return False
    if _defined_in(word) is not None:
        return True
    place = _place(word)
    if place is not None and (place.lines or is_file_name(place.name) or word.startswith(".")):
        return True
    if not all(map(str.isidentifier, parts)):
        return False
    if is_called or len(parts) > 1:
        return True
    if "_" in word:
        return bool(word.strip("_")) and not _EMPHASIS.fullmatch(word)
    if _HUMP.search(word):
        return not _PLURAL.fullmatch(word)
    return len(word) >= MIN_NUMBERED and any(map(str.isdigit, word)) and sum(map(str.isalpha, word)) > 1
