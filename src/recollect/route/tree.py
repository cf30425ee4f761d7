"""What files there are, as a text for a language model: every folder with its number of files, and file names as far as there is room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

MAX_CHARS: Final = 6_000
"""About 1,800 tokens: a second of a small model on a laptop, and the folders of nearly every repository."""

MAX_NAMES: Final = 30
"""Files of one folder that are named: more of them look alike."""

_MAX_NAME_CHARS: Final = 80
_NOTE_CHARS: Final = 60


def tree_text(paths: Iterable[str], *, max_chars: int = MAX_CHARS) -> str:
    """A line for each folder, the outer ones first, with how many files are in it and below, and names of those right in it."""
    files: dict[str, list[str]] = {}
    below: Counter[str] = Counter()
    for path in paths:
        folder, _, name = path.rpartition("/")
        files.setdefault(folder, []).append(name)
        below[""] += 1
        while folder:
            below[folder] += 1
            folder = folder.rpartition("/")[0]
    order = sorted(below, key=lambda folder: (folder.count("/") + bool(folder), folder))
    lines: dict[str, str] = {}
    left = max_chars - _NOTE_CHARS
    for folder in order:
        line = f"{_shown(folder, 300)}/ ({below[folder]} files)" if folder else f"./ ({below[folder]} files)"
        if lines and len(line) + 1 > left:
            lines[""] += f" [{len(order) - len(lines)} deeper folders are not listed]"
            break
        lines[folder] = line
        left -= len(line) + 1
    for folder in lines:
        names = _names(files.get(folder, []), left)
        lines[folder] += names
        left -= len(names)
    return "\n".join(lines.values())


def _names(names: list[str], room: int) -> str:
    """As many of the names as there is room for, and how many more there are."""
    shown = [_shown(name, _MAX_NAME_CHARS) for name in sorted(names)[:MAX_NAMES]]
    while shown:
        more = len(names) - len(shown)
        text = ": " + ", ".join(shown) + (f", +{more}" if more else "")
        if len(text) <= room:
            return text
        shown.pop()
    return ""


def _shown(name: str, most: int) -> str:
    """A name in one line: whoever names files may write anything into it."""
    clean = "".join(each if each.isprintable() else "\ufffd" for each in name)
    return clean if len(clean) <= most else f"{clean[:most]}…"
