"""What an import stands for: the files it takes, and which names it gives to them here. One rule for each language."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..outline import Import
from .modules import Files, folder_of, is_index, joined, name_of, nearest, stem_of

EVERYTHING: Final = "*"
"""The name by which all names of a module are taken."""
WORD: Final = re.compile(r"\w+")
LONGEST: Final = 400
"""Characters of a module or a name. What is longer is none that somebody wrote, and would take a time that grows with its square."""

PYTHON: Final = (".py", ".pyi", ".pyx")
JAVASCRIPT: Final = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".d.ts", ".vue", ".svelte", ".json")
JVM: Final = (".java", ".kt", ".scala")
COMPILED: Final = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
"""A module may be named by what it is compiled to."""
GO_STANDARD: Final = frozenset(
    WORD.findall(
        "archive bufio bytes cmp compress container context crypto database debug embed encoding errors expvar flag fmt go hash "
        "html image index io iter log maps math mime net os path plugin reflect regexp runtime slices sort strconv strings structs "
        "sync syscall testing text time unicode unique unsafe"
    )
)
C_STANDARD: Final = frozenset(
    WORD.findall(
        "assert complex ctype dirent dlfcn errno fcntl fenv float getopt inttypes iso646 limits locale malloc math netdb poll pthread pwd "
        "regex sched semaphore setjmp signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings "
        "syslog termios tgmath threads time uchar unistd utime wchar wctype"
    )
)
"""Headers that come with the compiler, which a library that is indexed along may have as well."""
RUBY_ROOTS: Final = frozenset(("", "lib", "app", "spec", "test"))
"""Folders that Ruby, Rails and what runs their tests look for files in; empty is the root."""


@dataclass(slots=True)
class Taken:
    """All that a file takes from others, by path."""

    files: dict[str, None] = field(default_factory=dict)
    """Those that it surely imports, in order."""
    modules: dict[str, dict[str, None]] = field(default_factory=dict)
    """The files behind a name that stands for a module here."""
    names: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    """What a name here is called there, and the files it may be defined in."""
    open: dict[str, None] = field(default_factory=dict)
    """Files all of whose names can be used here."""
    folders: list[list[str]] = field(default_factory=list)
    """The files of packages, of which those are imported that define what is used."""

    @property
    def reach(self) -> set[str]:
        """Every file that the imports lead to."""
        named = (path for paths in self.modules.values() for path in paths)
        from_names = (path for _, paths in self.names.values() for path in paths)
        return {*self.files, *self.open, *named, *from_names, *(path for folder in self.folders for path in folder)}

    def outside(self, imports: Iterable[Import]) -> set[str]:
        """Names that were imported from outside of the scope."""
        found: set[str] = set()
        for each in imports:
            found.update(here or there for there, here in each.names)
            if each.alias or not each.names:
                found.add(each.alias or each.module.split(".")[0])
                found.update(WORD.findall(each.module)[-1:])
        return found - {*self.names, *self.modules, *(name.split(".")[0] for name in self.modules)}

    def file(self, path: str | None, each: Import, *, module: str = "", is_open: bool = False) -> None:
        """An import of one file, with all that the import names."""
        if path is None:
            return
        self.files[path] = None
        if is_open:
            self.open[path] = None
        if called := each.alias or module:
            self.module(called, path)
        self.named(each.names, [path])

    def module(self, called: str, *paths: str) -> None:
        """A name that stands for a module. The same import may be in every function of a file."""
        self.modules.setdefault(called, {}).update(dict.fromkeys(paths))

    def named(self, names: Iterable[tuple[str, str]], paths: Sequence[str]) -> None:
        for there, here in names:
            if there == EVERYTHING:
                self.open.update(dict.fromkeys(paths))
            else:
                self.names[here or there] = (there, [*paths])


Rule = Callable[[Files, str, Import, Taken], None]


def taken(files: Files, path: str, language: str, imports: Sequence[Import]) -> Taken:
    """What the imports of a file stand for."""
    found = Taken()
    if rule := RULES.get(language):
        for each in imports:
            if max(map(len, (each.module, *(there for there, _ in each.names)))) <= LONGEST:
                rule(files, path, each, found)
    found.files.pop(path, None)
    return found


def _python(files: Files, path: str, each: Import, found: Taken) -> None:
    rest = each.module.lstrip(".")
    levels, parts = len(each.module) - len(rest), rest.split(".") if rest else []

    def module(parts: Sequence[str]) -> str | None:
        tail = "/".join(parts)
        if not levels:
            key = folder_of(path), tail
            if key not in files.python:
                files.python[key] = _absolute_python(files, path, tail) if tail else None
            return files.python[key]
        folder = joined(folder_of(path), "../" * (levels - 1) or ".")
        if folder is None:
            return None
        base = "/".join(filter(None, (folder, tail)))
        own = [base + suffix for suffix in PYTHON] if tail else []
        return files.first(*own, *(f"{base}/__init__{suffix}".lstrip("/") for suffix in PYTHON))

    whole = module(parts)
    if not each.names:
        found.file(whole, each, module=each.module)
        for end in range(1, len(parts)):
            if not each.alias and (package := module(parts[:end])):
                found.module(".".join(parts[:end]), package)
        return
    for there, here in each.names:
        inner = module([*parts, there]) if there != EVERYTHING and (whole is None or is_index(whole)) else None
        if inner and inner != path:
            found.files[inner] = None
            found.module(here or there, inner)
        elif whole:
            found.files[whole] = None
        if whole:
            found.named([(there, here)], [whole])


def _absolute_python(files: Files, path: str, tail: str) -> str | None:
    """A module can only be found from a folder that is no package itself. What the standard library has as well is only found from
    above the importer."""
    above = set(files.above(path))
    is_standard = tail.split("/")[0] in sys.stdlib_module_names
    fitting = []
    for suffix in PYTHON:
        for ending in (f"{tail}{suffix}", f"{tail}/__init__{suffix}"):
            for candidate in files.ending(ending):
                root = candidate[: -len(ending)].rstrip("/")
                is_package = bool(files.first(*(f"{root}/__init__{kind}".lstrip("/") for kind in PYTHON)))
                if candidate.endswith(ending) and not is_package and (root in above or not is_standard):
                    fitting.append(candidate)
    return nearest(path, fitting)


def _javascript(files: Files, path: str, each: Import, found: Taken) -> None:
    if each.module.startswith("."):
        found.file(_javascript_file(files, joined(folder_of(path), each.module)), each)


def _javascript_file(files: Files, base: str | None) -> str | None:
    if base is None:
        return None
    compiled = [base[: -len(suffix)] + source for suffix, sources in COMPILED.items() if base.endswith(suffix) for source in sources]
    beside = [base + suffix for suffix in JAVASCRIPT] if base else []
    return files.first(base, *compiled, *beside, *(f"{base}/index{suffix}".lstrip("/") for suffix in JAVASCRIPT))


def _go(files: Files, path: str, each: Import, found: Taken) -> None:
    parts = each.module.strip('"').split("/")
    if parts[0] in GO_STANDARD:
        return
    if len(parts) > 1 and re.fullmatch(r"v\d+", parts[-1]):
        parts.pop()
    fitting = [
        folder for folder in files.folders_named(parts[-1]) if folder and _is_tail(parts, folder) and files.of_kind(folder, (".go",))
    ]
    longest = max((folder.count("/") for folder in fitting), default=0)
    folder = nearest(path, [folder for folder in fitting if folder.count("/") == longest])
    own = [one for one in files.of_kind(folder, (".go",)) if not one.endswith("_test.go")] if folder else []
    if not own:
        return
    found.folders.append(own)
    if each.alias == ".":
        found.open.update(dict.fromkeys(own))
    elif each.alias != "_":
        found.module(each.alias or parts[-1], *own)


def _is_tail(parts: Sequence[str], folder: str) -> bool:
    """Whether an import path ends with all of a folder, or, where what is indexed lies around the module, the other way round."""
    own = folder.split("/")
    shared = min(len(own), len(parts))
    return own[-shared:] == list(parts[-shared:])


def _rust(files: Files, path: str, each: Import, found: Taken) -> None:
    whole, rest = rust_module(files, path, each.module.split("::"))
    if whole is None:
        return
    if not each.names:
        last = rest[-1] if rest else each.module.split("::")[-1]
        if last == EVERYTHING:
            found.file(whole, each, is_open=True)
        elif rest:
            found.files[whole] = None
            found.named([(last, each.alias or last)], [whole])
        else:
            found.file(whole, each, module=last)
        return
    for there, here in each.names:
        inner, left = rust_module(files, path, [*each.module.split("::"), *there.split("::")])
        if there == "self":
            found.file(whole, Import(module=each.module, start=0, end=0), module=each.module.split("::")[-1] if here == "self" else here)
        elif inner and not left:
            found.file(inner, Import(module=there, start=0, end=0), module=here or there)
        else:
            found.files[inner or whole] = None
            found.named([(there.split("::")[-1], here)], [inner or whole])


def rust_module(files: Files, path: str, parts: Sequence[str]) -> tuple[str | None, list[str]]:
    """The file that a path of names leads to, and the names that are left, which stand in it."""
    rest = list(parts)
    inside = folder_of(path) if stem_of(path) in ("mod", "lib", "main") else f"{folder_of(path)}/{stem_of(path)}".lstrip("/")
    at: str | None = path
    head = rest[0]
    if head == "crate":
        roots = (root for folder in files.above(path) if (root := _rust_root(files, folder)))
        at = next(roots, None)
        inside, rest = folder_of(at) if at else inside, rest[1:]
    elif head in ("self", "super"):
        while rest and rest[0] in ("self", "super"):
            if rest.pop(0) == "super":
                inside = folder_of(inside)
                at = files.first(f"{inside}.rs", *(f"{inside}/{stem}.rs".lstrip("/") for stem in ("mod", "lib", "main")))
    elif not _rust_child(files, inside, head):
        crates = [folder for name in {head, head.replace("_", "-")} for folder in files.folders_named(name)]
        at = nearest(path, [root for folder in crates if (root := files.first(f"{folder}/src/lib.rs"))])
        inside, rest = folder_of(at) if at else inside, rest[1:]
    while at and rest and (child := _rust_child(files, inside, rest[0])):
        at, inside = child, f"{inside}/{rest.pop(0)}".lstrip("/")
    return at, rest


def _rust_root(files: Files, folder: str) -> str | None:
    return files.first(*(f"{folder}/{stem}.rs".lstrip("/") for stem in ("lib", "main")))


def _rust_child(files: Files, folder: str, name: str) -> str | None:
    return files.first(f"{folder}/{name}.rs".lstrip("/"), f"{folder}/{name}/mod.rs".lstrip("/"))


def _jvm(files: Files, path: str, each: Import, found: Taken) -> None:
    parts = [part for part in each.module.split(".") if part]
    wild = parts[-1:] in ([EVERYTHING], ["_"])
    names = each.names or (((parts[-1], each.alias or parts[-1]),) if not wild and parts else ())
    prefix = parts if each.names else parts[:-1]
    if wild or any(there == EVERYTHING for there, _ in names):
        _jvm_all(files, path, [part for part in prefix if part not in (EVERYTHING, "_")], found)
    for there, here in names:
        if there == EVERYTHING:
            continue
        if own := files.nearest(path, *("/".join([*prefix, there]) + suffix for suffix in JVM)):
            found.files[own] = None
            found.named([(there, here)], [own])
        elif owner := files.nearest(path, *("/".join(prefix) + suffix for suffix in JVM)) if len(prefix) > 1 else None:
            found.files[owner] = None
            found.named([(there, here)], [owner])
        elif folder := files.folder(path, "/".join(prefix), JVM) if prefix else None:
            inside = files.of_kind(folder, JVM)
            found.folders.append(inside)
            found.named([(there, here)], inside)


def _jvm_all(files: Files, path: str, prefix: Sequence[str], found: Taken) -> None:
    """All of a package, or all that is static in a class."""
    if owner := files.nearest(path, *("/".join(prefix) + suffix for suffix in JVM)) if len(prefix) > 1 else None:
        found.files[owner] = None
        found.open[owner] = None
    elif folder := files.folder(path, "/".join(prefix), JVM) if prefix else None:
        inside = files.of_kind(folder, JVM)
        found.folders.append(inside)
        found.open.update(dict.fromkeys(inside))


def _c(files: Files, path: str, each: Import, found: Taken) -> None:
    written = each.module.strip('<>" ')
    header = files.first(joined(folder_of(path), written))
    if header is None and "/" not in written and stem_of(written) in C_STANDARD:
        header = files.first(*(f"{folder}/include/{written}".lstrip("/") for folder in files.above(path)))
    elif header is None:
        header = files.nearest(path, written.removeprefix("./"))
    if header is None or header == path:
        return
    found.file(header, each, is_open=True)
    # What a header declares, the file of the same stem beside it defines.
    for beside in files.of_kind(folder_of(header), (".c", ".cc", ".cpp", ".cxx", ".m", ".mm")):
        if stem_of(beside) == stem_of(header):
            found.open[beside] = None


def _ruby(files: Files, path: str, each: Import, found: Taken) -> None:
    written = f"{each.module.removesuffix('.rb')}.rb"
    if written.startswith((".", "/")):
        found.file(files.first(joined(folder_of(path), written)), each, is_open=True)
        return
    roots = {one: one[: -len(written)].rstrip("/") for one in files.ending(written)}
    fitting = [one for one, root in roots.items() if name_of(root) in RUBY_ROOTS]
    found.file(nearest(path, fitting), each, is_open=True)


def _php(files: Files, path: str, each: Import, found: Taken) -> None:
    if each.module.endswith((".php", ".inc")):
        written = each.module.strip("'\" ").lstrip("/")
        found.file(files.first(joined(folder_of(path), written)) or files.nearest(path, written.lstrip("./")), each, is_open=True)
        return
    prefix = [part for part in each.module.split("\\") if part]
    for there, here in each.names or ((prefix[-1], each.alias or prefix[-1]),) if prefix else ():
        parts = [*prefix, there] if each.names else prefix
        parts = [part for one in parts for part in one.split("\\")]
        # A namespace is mapped to some folder, so that only the end of it can be compared.
        ends = ["/".join(parts[at:]) + ".php" for at in range(max(1, len(parts) - 1))]
        own = next((one for end in ends if (one := files.nearest(path, end))), None)
        if own is None and len(only := files.ending(f"{parts[-1]}.php")) == 1:
            own = only[0]
        if own:
            found.files[own] = None
            found.named([(parts[-1], here or parts[-1])], [own])


def _shell(files: Files, path: str, each: Import, found: Taken) -> None:
    # A folder that is worked out when the script runs is taken for the script's own.
    written = each.module.strip().strip("\"'")
    if written.startswith("$") and (slash := written.find("/", max(map(written.rfind, "$)}")))) >= 0:
        written = written[slash + 1 :].strip("\"'")
    found.file(files.first(joined(folder_of(path), written)) or files.nearest(path, written.lstrip("./")), each, is_open=True)


RULES: Final[Mapping[str, Rule]] = {
    "python": _python,
    **dict.fromkeys(("javascript", "typescript", "tsx"), _javascript),
    "go": _go,
    "rust": _rust,
    **dict.fromkeys(("java", "kotlin", "scala"), _jvm),
    **dict.fromkeys(("c", "cpp"), _c),
    "ruby": _ruby,
    "php": _php,
    **dict.fromkeys(("shell", "bash"), _shell),
}
"""C# and Swift import names of which no file tells where they are."""


def called(path: str) -> str:
    """The name that other files call a file by: its stem, or of one that stands for its folder the folder's name."""
    return name_of(folder_of(path)) if is_index(path) else stem_of(path)
