"""Finds in a question where its answer is to be looked for: types of sources, files and folders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ..kinds import LANGUAGES, READERS, is_file_name
from ..routing import MAX_PLACE_CHARS, MAX_PLACES, SourceType
from .parts import says_something, unquoted

Span = tuple[int, int]

_IN = r"(?:in|inside|within|under|below|across)"
_THE = r"(?:(?:the|our|your|its|all|any)\s+){0,2}"
_ENDS = r"(?=\s*(?:$|[?,.;:)]|\s(?:is|are|was|were|do|does|did|how|where|what|why|when|which|who|that|and|or|we|it|the|for|to)\b))"
"""A place ends here: `in the docs folder` and `in the code review` are others."""

_WORD = re.compile(r"\S+")
_BEFORE = re.compile(rf"\b{_IN}\s+{_THE}(?:files?\s+)?$", re.IGNORECASE)
_DOCS_WORD = r"(?:docs?|documentation|readmes?|markdown(?:\s+files)?)"
_CODE_WORD = r"(?:source(?:\s+code)?|code)"
_DOCS = re.compile(rf"\b(?:{_IN}|according to|from)\s+{_THE}{_DOCS_WORD}{_ENDS}", re.IGNORECASE)
_DOCS_SAY = re.compile(
    r"\b(?:docs?|documentation|readme)\s+(?:say|says|mention|mentions|explain|explains|describe|describes|about|on|of|for)\b", re.IGNORECASE
)
_CODE = re.compile(rf"\b{_IN}\s+{_THE}{_CODE_WORD}{_ENDS}", re.IGNORECASE)
_AND = rf"\s*(?:,|&|/|\b(?:and|or|as\s+well\s+as)\b)\s*(?:also\s+)?(?:{_IN}\s+)?{_THE}"
_BOTH = re.compile(rf"\b(?:{_CODE_WORD}{_AND}{_DOCS_WORD}|{_DOCS_WORD}{_AND}{_CODE_WORD}){_ENDS}", re.IGNORECASE)
_DEFINED = re.compile(
    r"\bfunctions?\s+(?:that|which|to|for|where)\b"
    r"|\b(?:class(?:es)?|methods?|structs?|interfaces?|traits?|macros?|decorators?|constructors?)\s+(?:that|which)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|except|but|outside)\s+$", re.IGNORECASE)
_FILES = r"\s+(?:source\s+)?(?:files|modules|scripts|sources)(?:\s+only)?\b"
_OF_LANGUAGE = re.compile(
    rf"(?:\b(?:{_IN}|only)\s+{_THE}|[,(]\s*)(\.?[\w+#]+){_FILES}|(?<!\S)(\.\w+){_FILES}(?=\W*$)",
    re.IGNORECASE,
)
_NOUN = r"(?:sub)?(?:folder|directory|dir|package|module|crate)"
_FOLDER = re.compile(rf"\b{_IN}\s+{_THE}(?:`?([\w.@+/-]+)`?\s+{_NOUN}\b|{_NOUN}\s+(?:called\s+|named\s+)?`?([\w.@+/-]+)`?)", re.IGNORECASE)
_PATH = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*/?")
_GLOB = re.compile(r"[\w.*?@+/-]+")
_GLOB_SUFFIX = re.compile(r"\.\w*[A-Za-z]\w*")

_NEAR: Final = 40
"""Characters before a place in which the words stand that say it is one."""

_DOC_TYPES: Final[tuple[SourceType, ...]] = ("markdown", "text")
"""Documentation is Markdown, and text where it is written in another markup."""

_SPOKEN: Final = {"c++": "cpp", "c#": "csharp", "f#": "fsharp", "golang": "go", "bash": "shell", "yml": "yaml"}
_SAME: Final = {"yaml": (".yaml", ".yml"), "typescript": (".ts", ".mts", ".cts", ".tsx"), "json": (".json", ".jsonl")}
"""What is meant together, where the suffixes of files do not tell."""


@dataclass(frozen=True, slots=True)
class Hints:
    """Where to look, and what in the question says so."""

    source_types: tuple[SourceType, ...] = ()
    folders: tuple[str, ...] = ()
    file_patterns: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    """What the question does without."""
    is_leading: bool = False
    """Whether the question begins with it."""
    reasons: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.source_types or self.folders or self.file_patterns)


def folder_words(query: str) -> bool:
    """Whether it takes the paths of all files to understand the question."""
    return bool(_FOLDER.search(query)) or "/" in query


def hints_of(part: str, paths: Sequence[str]) -> Hints:
    """The hints of one question."""
    text = unquoted(part)
    folders, in_folders = _folders(text, paths)
    # A folder may be called `docs`, or have a dot in its name.
    rest = _blanked(text, in_folders)
    patterns, in_files = _patterns(rest)
    types, in_types = _source_types(_blanked(rest, in_files))
    spans = sorted([*in_folders, *in_files, *in_types])
    reasons = [
        *(f"in the folder {folder}" for folder in folders[:3]),
        *([f"only {', '.join(patterns)}"] if patterns else []),
        *([f"only {' and '.join(types)}"] if types else []),
    ]
    is_leading = bool(spans) and not part[: spans[0][0]].strip()
    return Hints(types, folders, patterns, tuple(spans), is_leading, tuple(reasons))


def without(part: str, spans: Sequence[Span]) -> str:
    """The question without what only says where to look; all of it where too little would be left."""
    if not spans:
        return part
    left = _tidy("".join(part[end:start] for end, start in _between(part, spans)))
    return left if says_something(left) else part


def _between(part: str, spans: Sequence[Span]) -> Iterator[Span]:
    at = 0
    for start, end in spans:
        yield at, max(at, start)
        at = max(at, end)
    yield at, len(part)


def _tidy(text: str) -> str:
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\(\s*\)", "", text)
    text = re.sub(r"(?:\s(?:and|or))+(\W*)$", r"\1", text)
    return re.sub(r"\s+([?!,.;:)])", r"\1", text).strip(" ,;:")


def _blanked(part: str, spans: Iterable[Span]) -> str:
    for start, end in spans:
        part = part[:start] + " " * (end - start) + part[end:]
    return part


def _source_types(part: str) -> tuple[tuple[SourceType, ...], list[Span]]:
    docs = [found.span() for found in _DOCS.finditer(part) if not _NEGATED.search(part[: found.start()])]
    code = [found.span() for found in _CODE.finditer(part) if not _NEGATED.search(part[: found.start()])]
    wants_docs = bool(docs) or bool(_DOCS_SAY.search(part))
    wants_code = bool(code) or bool(_DEFINED.search(part))
    if wants_docs == wants_code or _BOTH.search(part):
        return (), []
    return (_DOC_TYPES, docs) if wants_docs else (("code",), code)


def _patterns(part: str) -> tuple[tuple[str, ...], list[Span]]:
    found: dict[str, None] = {}
    spans: list[Span] = []
    for of_language in _OF_LANGUAGE.finditer(part):
        if suffixes := _suffixes(of_language[1] or of_language[2]):
            found |= dict.fromkeys(f"*{suffix}" for suffix in suffixes)
            start = of_language.start() + (of_language[0][0] == "(")
            spans.append((start, of_language.end()))
    for name, is_located, span in _placed(_blanked(part, spans)):
        is_place = is_located and is_file_name(name.rsplit("/", 1)[-1]) and bool(_PATH.fullmatch(name))
        if is_place or _is_glob(name):
            found[name.removeprefix("./")] = None
            spans.append(span)
    return _fitting(found), spans


def _placed(part: str) -> Iterator[tuple[str, bool, Span]]:
    """The words of a question without what stands around them, whether each is said to be where to look, and all that says so."""
    for word in _WORD.finditer(part):
        name = word[0].strip("`'\"(),;:!?").rstrip(".")
        if 0 < len(name) <= MAX_PLACE_CHARS:
            start = word.start() + word[0].find(name)
            end = start + len(name)
            before = _BEFORE.search(part, max(0, word.start() - _NEAR), word.start())
            yield name, before is not None, (before.start() if before else start, end + part.startswith("`", end))


def _fitting(places: Iterable[str]) -> tuple[str, ...]:
    """Those that a request takes."""
    return tuple(place for place in places if len(place) <= MAX_PLACE_CHARS and place.isprintable())[:MAX_PLACES]


def _is_glob(name: str) -> bool:
    """`*.py`, `src/**`, `test_*.ts`; and neither `**kwargs` nor `2*3.5`."""
    if "*" not in name or not _GLOB.fullmatch(name) or not any(map(str.isalpha, name)):
        return False
    stem, dot, suffix = name.rpartition(".")
    return ("/" in name and not name.startswith("/")) or bool(dot and "*" in stem and _GLOB_SUFFIX.fullmatch(dot + suffix))


def _suffixes(word: str) -> tuple[str, ...]:
    """The suffixes of the files that a word names: `python`, `.rs`, `yaml`."""
    lowered = word.lower()
    spoken = _SPOKEN.get(lowered, lowered)
    if spoken in _SAME:
        return _SAME[spoken]
    if of_language := tuple(suffix for suffix, language in LANGUAGES.items() if language == spoken):
        return of_language
    suffix = f".{lowered.removeprefix('.')}"
    is_known = suffix in LANGUAGES or READERS.get(suffix, "binary") != "binary"
    return (suffix,) if is_known else ()


def _folders(part: str, paths: Sequence[str]) -> tuple[tuple[str, ...], list[Span]]:
    found: dict[str, None] = {}
    spans: list[Span] = []
    for named in _FOLDER.finditer(part):
        if folders := folders_named(named[1] or named[2], paths):
            found |= dict.fromkeys(folders)
            spans.append(named.span())
    for name, is_located, span in _placed(_blanked(part, spans)):
        if "/" not in name or not _PATH.fullmatch(name) or is_file_name(name.rsplit("/", 1)[-1]):
            continue
        is_marked = name.endswith("/") and any(map(str.isalpha, name))
        folders = folders_named(name, paths) if is_located or is_marked else []
        if is_marked and not folders:
            folders = [name.strip("/").removeprefix("./")]
        if folders:
            found |= dict.fromkeys(folders)
            spans += [span] if is_located else []
    return _fitting(found), spans


def folders_named(name: str, paths: Iterable[str]) -> list[str]:
    """The folders of that name, or whose path ends so, among those of the files: the outermost of each branch."""
    wanted = f"/{name.strip('/').removeprefix('./').lower()}/"
    found: dict[str, None] = {}
    for path in paths:
        at = f"/{path}".lower().find(wanted) if len(wanted) > 2 else -1
        if at >= 0:
            found[path[: at + len(wanted) - 2]] = None
            if len(found) == MAX_PLACES:
                break
    return list(found)
