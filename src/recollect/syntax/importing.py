"""What is imported, by the text of a statement that imports. One rule for each language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

Taken = tuple[str, tuple[tuple[str, str], ...], str]
"""The module, what is taken of it under which name, and the name of the whole of it here."""

COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
QUOTED: Final = re.compile(r"""(["'`])([^"'`\n]+)\1""")
FROM: Final = re.compile(r"from ?([.\w ]+?)\bimport\b(.*)")
ALL: Final = (("*", "*"),)


def imports_in(language: str, written: str) -> list[Taken]:
    """All that one statement takes."""
    return [taken for taken in RULES[language](written) if taken[0]]


def _pairs(written: str, joint: str) -> tuple[tuple[str, str], ...]:
    """`a, b as c`: the names there and here."""
    found = []
    for part in written.split(","):
        there, _, here = (word.strip() for word in part.strip().partition(joint))
        if there:
            found.append((there, here or there))
    return tuple(found)


def _python(written: str) -> Iterator[Taken]:
    line = " ".join((re.sub(r"#[^\n]*|\\\r?\n", " ", written) if "#" in written or "\\" in written else written).split())
    if found := FROM.match(line):
        names = found[2].strip(" ()")
        yield found[1].replace(" ", ""), ALL if names == "*" else _pairs(names, " as "), ""
    else:
        for module, alias in _pairs(line.removeprefix("import "), " as "):
            yield module, (), "" if alias == module else alias


JAVASCRIPT_NAMES: Final = re.compile(r"\{([^{}]*)\}")
ATTRIBUTES: Final = re.compile(r"\b(?:with|assert)\s*\{[^{}]*\}[\s;]*$")
REQUIRED: Final = re.compile(
    r"""\s*(?:([\w$]+)|\{([^{}]*)\})\s*(?::[^=]*)?=\s*require\s*\(\s*(["'`])([^"'`\n]+)\3\s*\)\s*(?:\??\.\s*([\w$]+))?"""
)


def _javascript(written: str) -> Iterator[Taken]:
    text = COMMENT.sub("", written) if "*/" in written or "// " in written else written
    if found := re.match(r"\s*(import|export)\b(?!\s*\()(.*)", text, re.DOTALL):
        statement = ATTRIBUTES.sub("", found[2])
        source = [*QUOTED.finditer(statement)]
        if not source:
            return
        module, clause = source[-1][2], statement[: source[-1].start()]
        braces = JAVASCRIPT_NAMES.search(clause)
        names = [(_word(there), _word(here)) for there, here in _pairs(_spaced(braces[1]), " as ")] if braces else []
        bare = JAVASCRIPT_NAMES.sub("", clause)
        alias = re.search(r"\*\s*as\s+([\w$]+)|([\w$]+)\s*=\s*require", bare)
        default = re.match(r"\s*(?:type\s+)?(?!from\b|type\b)([\w$]+)\s*(?:,|from\b)", bare)
        if default and found[1] == "import":
            names.insert(0, ("default", default[1]))
        if found[1] == "export" and "*" in bare and not alias:
            names.append(ALL[0])
        yield module, tuple(names), (alias[1] or alias[2]) if alias else ""
    elif found := REQUIRED.match(text):
        whole, inside, _, module, member = found.groups()
        if member:
            yield module, ((member, whole),) if whole else (), ""
        else:
            yield module, _pairs(inside, ":") if inside else (), whole or ""
    elif (found := re.match(r"\s*(?:require|import)\s*\(", text)) and (called := QUOTED.search(text, found.end())):
        yield called[2], (), ""


def _word(name: str) -> str:
    return name.removeprefix("type ").strip()


def _spaced(written: str) -> str:
    return " ".join(written.split())


def _go(written: str) -> Iterator[Taken]:
    if found := re.match(r"""\s*([\w.]+)?\s*["`]([^"`]+)["`]""", written):
        yield found[2], (), found[1] or ""


def _rust(written: str) -> Iterator[Taken]:
    line = _spaced(COMMENT.sub("", written)).rstrip("; ")
    line = re.sub(r"^(?:#\[[^\]]*\] ?)*(?:pub ?(?:\([^)]*\))? ?)?", "", line)
    if found := re.match(r"mod (\w+)$", line):
        yield f"self::{found[1]}", (), ""
    elif found := re.match(r"extern crate (\w+)(?: as (\w+))?", line):
        yield found[1], (), found[2] or ""
    elif line.startswith("use "):
        yield from _rust_tree(line[4:])


def _rust_tree(path: str) -> Iterator[Taken]:
    """`a::{b, c::{d, e as f}}` is of a: b, and of a::c: d and e. A stack, so that no text is nested too deeply."""
    prefixes: list[str] = []
    names: dict[str, list[tuple[str, str]]] = {}
    at = "".join(prefixes)
    for token in re.findall(r"[{},]|[^{},]+", path):
        part = token.strip()
        if part == "{":
            prefixes.append(at)
        elif part == "}":
            prefixes = prefixes[:-1]
            at = ""
        elif part == ",":
            at = ""
        elif part.endswith("::"):
            at = part
        elif part:
            there, _, here = part.partition(" as ")
            module, _, name = ("".join(prefixes) + there.strip()).rpartition("::")
            names.setdefault(module, []).append((name, here.strip() or name))
    for module, taken in names.items():
        if module:
            yield module.removeprefix("::"), tuple(taken), ""
        else:
            yield from ((name, (), "" if here == name else here) for name, here in taken)


def _dotted(written: str) -> Iterator[Taken]:
    """Java, Kotlin, Swift: the whole path, or all that is in it."""
    line = _spaced(COMMENT.sub("", written)).rstrip("; ")
    line = re.sub(r"^(?:@\w+ )*import (?:static |typealias |struct |class |enum |protocol |func |var |let )?", "", line)
    path, _, alias = line.partition(" as ")
    if path.endswith(".*"):
        yield path[:-2].strip(), ALL, ""
    else:
        yield path.replace(" ", ""), (), alias.strip()


def _scala(written: str) -> Iterator[Taken]:
    line = _spaced(COMMENT.sub("", written)).removeprefix("import ")
    for path in re.findall(r"(?:[^,{]|\{[^}]*\})+", line):
        if found := re.match(r"\s*([\w.$]+)\.\{(.*)\}", path):
            names = [(there, here) for there, here in _pairs(re.sub(r"=>|\bas\b", "=>", found[2]), "=>")]
            yield found[1], tuple(("*", "*") if there in ("_", "*", "given") else (there, here) for there, here in names), ""
        elif found := re.match(r"\s*([\w.$]+)\.[_*]\s*$", path):
            yield found[1], ALL, ""
        else:
            whole, _, alias = path.strip().partition(" as ")
            yield whole, (), alias


def _c(written: str) -> Iterator[Taken]:
    if found := re.search(r"""include(?:_next)?\s*[<"]([^>"\n]+)""", written):
        yield found[1].strip(), (), ""


def _csharp(written: str) -> Iterator[Taken]:
    line = re.sub(r"^(?:global )?using (?:static |unsafe )?", "", _spaced(COMMENT.sub("", written)).rstrip("; "))
    alias, joint, path = line.partition("=")
    yield (path.strip(), (), alias.strip()) if joint else (line.strip(), (), "")


def _ruby(written: str) -> Iterator[Taken]:
    if found := re.match(r"""(require|require_relative|load)\b[\s(]*["']([^"'#]+)["']""", written):
        relative = found[1] == "require_relative" and not found[2].startswith((".", "/"))
        yield f"./{found[2]}" if relative else found[2], (), ""


def _php(written: str) -> Iterator[Taken]:
    line = _spaced(COMMENT.sub("", written)).rstrip("; ")
    if not line.startswith("use "):
        if source := QUOTED.findall(line):
            yield source[-1][1], (), ""
        return
    line = re.sub(r"^use (?:function |const )?", "", line)
    if found := re.match(r"([\w\\ ]+?)\\? ?\{(.*)\}", line):
        yield found[1].strip(), _pairs(re.sub(r"\b(?:function|const) ", "", found[2]), " as "), ""
        return
    for path, alias in _pairs(line, " as "):
        yield path.strip("\\"), (), "" if alias == path else alias


def _shell(written: str) -> Iterator[Taken]:
    """With the first argument alone, of which a part may be worked out when the script runs: `"$(dirname "$0")/lib.sh"`."""
    if found := re.match(r"(?:source|\.)\s+(.+)", written, re.DOTALL):
        yield re.sub("[\"']", "", found[1]), (), ""


RULES: Final[Mapping[str, Callable[[str], Iterator[Taken]]]] = {
    "python": _python,
    **dict.fromkeys(("javascript", "typescript", "tsx"), _javascript),
    "go": _go,
    "rust": _rust,
    **dict.fromkeys(("java", "kotlin", "swift"), _dotted),
    "scala": _scala,
    **dict.fromkeys(("c", "cpp"), _c),
    "csharp": _csharp,
    "ruby": _ruby,
    "php": _php,
    "shell": _shell,
}
