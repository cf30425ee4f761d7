"""Edges from outlines: what files import, define, call and refer to, in every language, and what is never linked. By hand-made outlines."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import pytest

from recollect.errors import StoreFull
from recollect.ingest.linking import link
from recollect.ingest.linking_edges import WEIGHTS, edges_of
from recollect.ingest.linking_names import Names
from recollect.ingest.modules import Files
from recollect.model import Batch, Edge, Entry, Item, Space, Written
from recollect.outline import Definition, Import, Outline, Use, symbols_of
from recollect.stores.reference import ReferenceStore

AT = datetime(2024, 5, 1, tzinfo=UTC)


def outline(
    language: str,
    definitions: str = "",
    imports: Iterable[Import] = (),
    uses: Iterable[tuple[str, str, str]] = (),
    bases: Mapping[str, Sequence[str]] | None = None,
    signatures: Mapping[str, str] | None = None,
) -> Outline:
    """Definitions as words: `C:Store` a class, `Store.write` a method of it, `open` a function, `N:app` a namespace."""
    kinds = {"C": "class", "N": "module"}
    made: list[Definition] = []
    holders: set[str] = set()
    for at, word in enumerate(definitions.split()):
        letter, _, rest = word.partition(":")
        qualified = rest or letter
        parent, _, name = qualified.rpartition(".")
        if rest:
            holders.add(qualified)
        kind = kinds[letter] if rest else "method" if parent and (parent in holders or parent[0].isupper()) else "function"
        made.append(
            Definition(
                name=name,
                qualified=qualified,
                kind=kind,  # type: ignore[arg-type]
                start=at,
                end=at + 1,
                line_start=at + 1,
                line_end=at + 1,
                body=at,
                parent=parent or None,
                bases=tuple((bases or {}).get(qualified, ())),
                signature=(signatures or {}).get(qualified, ""),
            )
        )
    return Outline(language=language, definitions=tuple(made), imports=tuple(imports), uses=tuple(Use(*use) for use in uses))


def imp(module: str, *names: str, alias: str = "") -> Import:
    """An import; `a=b` is the name there and here."""
    pairs = tuple((there, here or there) for there, _, here in (name.partition("=") for name in names))
    return Import(module=module, names=pairs, alias=alias, start=0, end=0)


def item(path: str) -> Item:
    return Item(scope="s", id=path, text="x", source="file", source_ref=path, created_at=AT, updated_at=AT)


def names_of(project: Mapping[str, Outline | None]) -> Names:
    names = Names(Files({path: path for path in project}))
    for path, one in project.items():
        names.learn(symbols_of(item(path), one.pack() if one else b""))
    return names


def edges(project: Mapping[str, Outline | None], path: str, *kinds: str) -> set[str]:
    """The edges that one file gives, as `source KIND target` with the file's own name left out."""
    own = project[path]
    assert own is not None
    found = edges_of(path, own, names_of(project))
    assert len({(edge.source, edge.type, edge.target) for edge in found}) == len(found), "each edge once"
    assert all(edge.source != edge.target and edge.origin == path and edge.weight == WEIGHTS[edge.type] for edge in found)
    return {f"{edge.source.removeprefix(path)} {edge.type} {edge.target}" for edge in found if not kinds or edge.type in kinds}


PYTHON = {
    "src/app/__init__.py": outline("python", imports=[imp(".store", "Store")]),
    "src/app/store.py": outline(
        "python",
        "C:Base Base.check C:Store Store.write Store.flush open_store",
        [imp(".", "rows"), imp("..outside", "gone"), imp("json")],
        [
            ("check", "self", "Store.write"),
            ("flush", "self", "Store.write"),
            ("missing", "self", "Store.write"),
            ("insert_row", "rows", "Store.write"),
            ("dumps", "json", "Store.write"),
            ("Store", "", "open_store"),
            ("append", "items", "Store.flush"),
            ("write", "", "Store.flush"),
        ],
        bases={"Store": ["Base"]},
    ),
    "src/app/rows.py": outline("python", "insert_row C:Row Row.of Row.columns", [imp("app.store", "Base")]),
    "src/app/text/__init__.py": outline("python"),
    "src/app/text/words.py": outline(
        "python",
        "count Special.append",
        [imp("..", "Store", "rows=r"), imp("app.store", alias="s"), imp("app.text"), imp("numpy", alias="np")],
        [
            ("Store", "", "count"),
            ("of", "r.Row", "count"),
            ("open_store", "s", "count"),
            ("columns", "row", "count"),
            ("insert_row", "np", "count"),
            ("insert_row", "", "count"),
            ("count", "", "count"),
            ("check", "unknown", ""),
        ],
    ),
    "src/app/logging.py": outline("python", "getLogger"),
    "tests/test_store.py": outline(
        "python",
        "test_write",
        [imp("app.store", "*"), imp("logging"), imp("app", "Store", "store")],
        [("open_store", "", "test_write"), ("getLogger", "logging", "test_write"), ("open_store", "store", "")],
    ),
    "tools/run.py": outline("python", "", [imp("lib"), imp("app.rows", "Row")], [("go", "lib", ""), ("of", "Row", "")]),
    "tools/lib.py": outline("python", "go"),
}


def test_python_imports_are_resolved_by_level_by_package_and_by_path() -> None:
    assert edges(PYTHON, "src/app/__init__.py", "IMPORTS") == {" IMPORTS src/app/store.py"}
    assert edges(PYTHON, "src/app/store.py", "IMPORTS") == {" IMPORTS src/app/rows.py"}
    assert edges(PYTHON, "src/app/text/words.py", "IMPORTS") == {
        " IMPORTS src/app/__init__.py",
        " IMPORTS src/app/rows.py",
        " IMPORTS src/app/store.py",
        " IMPORTS src/app/text/__init__.py",
    }
    # `logging` is the standard one: a package's own folder is never searched.
    assert edges(PYTHON, "tests/test_store.py", "IMPORTS") == {" IMPORTS src/app/store.py", " IMPORTS src/app/__init__.py"}
    assert edges(PYTHON, "tools/run.py", "IMPORTS") == {" IMPORTS tools/lib.py", " IMPORTS src/app/rows.py"}


def test_python_calls_are_resolved_where_the_name_is_known() -> None:
    assert edges(PYTHON, "src/app/store.py", "CALLS") == {
        "#Store.write CALLS src/app/store.py#Base.check",
        "#Store.write CALLS src/app/store.py#Store.flush",
        "#Store.write CALLS src/app/rows.py#insert_row",
        "#open_store CALLS src/app/store.py#Store",
    }
    assert edges(PYTHON, "src/app/text/words.py", "CALLS") == {
        "#count CALLS src/app/store.py#Store",
        "#count CALLS src/app/rows.py#Row.of",
        "#count CALLS src/app/store.py#open_store",
        "#count CALLS src/app/rows.py#Row.columns",
        " CALLS src/app/store.py#Base.check",
    }
    assert edges(PYTHON, "tests/test_store.py", "CALLS") == {
        "#test_write CALLS src/app/store.py#open_store",
        " CALLS src/app/store.py#open_store",
    }
    assert edges(PYTHON, "tools/run.py", "CALLS") == {" CALLS tools/lib.py#go", " CALLS src/app/rows.py#Row.of"}


def test_a_file_defines_what_is_at_its_top_and_a_class_its_members() -> None:
    assert edges(PYTHON, "src/app/rows.py", "DEFINES") == {
        " DEFINES src/app/rows.py#insert_row",
        " DEFINES src/app/rows.py#Row",
        "#Row DEFINES src/app/rows.py#Row.of",
        "#Row DEFINES src/app/rows.py#Row.columns",
    }


LANGUAGES: dict[str, tuple[dict[str, Outline | None], str, set[str]]] = {
    "typescript": (
        {
            "web/src/api/index.ts": outline("typescript", "", [imp("./client", "Client")]),
            "web/src/api/client.ts": outline("typescript", "C:Client Client.send"),
            "web/src/view.tsx": outline("tsx", "View"),
            "web/src/old.js": outline("javascript", "legacy"),
            "web/src/main.ts": outline(
                "typescript",
                "start",
                [imp("./api", "Client"), imp("./view.js", "default=View"), imp("./old", alias="old"), imp("react", "useState")],
                [
                    ("Client", "", "start"),
                    ("send", "Client", "start"),
                    ("View", "", "start"),
                    ("legacy", "old", "start"),
                    ("useState", "", "start"),
                ],
            ),
        },
        "web/src/main.ts",
        {
            " IMPORTS web/src/api/index.ts",
            " IMPORTS web/src/view.tsx",
            " IMPORTS web/src/old.js",
            " DEFINES web/src/main.ts#start",
            "#start CALLS web/src/api/client.ts#Client",
            "#start CALLS web/src/api/client.ts#Client.send",
            "#start CALLS web/src/view.tsx#View",
            "#start CALLS web/src/old.js#legacy",
        },
    ),
    "go": (
        {
            "internal/store/store.go": outline("go", "C:Store Open"),
            "internal/store/rows.go": outline(
                "go",
                "Store.Write Store.flush helper",
                [imp("fmt")],
                [("flush", "s", "Store.Write"), ("helper", "", "Store.Write"), ("Open", "", "helper"), ("Println", "fmt", "helper")],
                signatures={"Store.Write": "func (s *Store) Write(row Row) error"},
            ),
            "internal/store/store_test.go": outline("go", "TestOpen"),
            "json/json.go": outline("go", "Marshal"),
            "cmd/main.go": outline(
                "go",
                "main",
                [imp("example.com/app/internal/store"), imp("encoding/json")],
                [("Open", "store", "main"), ("Marshal", "json", "main"), ("Write", "st", "main")],
            ),
        },
        "cmd/main.go",
        {
            " IMPORTS internal/store/store.go",
            " IMPORTS internal/store/rows.go",
            " DEFINES cmd/main.go#main",
            "#main CALLS internal/store/store.go#Open",
            "#main CALLS internal/store/rows.go#Store.Write",
        },
    ),
    "rust": (
        {
            "src/lib.rs": outline("rust", "", [imp("self::rows"), imp("self::store")]),
            "src/rows.rs": outline("rust", "C:Row Row.new load"),
            "src/store/mod.rs": outline(
                "rust",
                "C:Store Store.write Store.check",
                [imp("crate::rows", "Row", "load=load_rows"), imp("super::rows"), imp("self::disk"), imp("std::fs")],
                [
                    ("new", "Row", "Store.write"),
                    ("load_rows", "", "Store.write"),
                    ("load", "rows", "Store.write"),
                    ("load", "crate::rows", "Store.write"),
                    ("check", "self", "Store.write"),
                    ("check", "Self", "Store.write"),
                    ("sync", "disk", "Store.check"),
                    ("read", "fs", "Store.check"),
                ],
            ),
            "src/store/disk.rs": outline("rust", "sync", [imp("super", "Store")], [("write", "Store", "sync")]),
        },
        "src/store/mod.rs",
        {
            " IMPORTS src/rows.rs",
            " IMPORTS src/store/disk.rs",
            " DEFINES src/store/mod.rs#Store",
            "#Store DEFINES src/store/mod.rs#Store.write",
            "#Store DEFINES src/store/mod.rs#Store.check",
            "#Store.write CALLS src/rows.rs#Row.new",
            "#Store.write CALLS src/rows.rs#load",
            "#Store.write CALLS src/store/mod.rs#Store.check",
            "#Store.check CALLS src/store/disk.rs#sync",
        },
    ),
    "java": (
        {
            "src/main/java/org/app/Store.java": outline("java", "C:Store Store.write"),
            "src/main/java/org/app/util/Texts.java": outline("java", "C:Texts Texts.fold"),
            "src/main/java/org/app/util/Lists.java": outline("java", "C:Lists Lists.first"),
            "src/main/java/org/app/util/Unused.java": outline("java", "C:Unused"),
            "src/main/java/org/app/Main.java": outline(
                "java",
                "C:Main Main.run Main.helper",
                [imp("org.app.util.*"), imp("java.util.List")],
                [
                    ("Store", "", "Main.run"),
                    ("helper", "", "Main.run"),
                    ("helper", "this", "Main.run"),
                    ("fold", "Texts", "Main.run"),
                    ("of", "List", "Main.run"),
                ],
            ),
        },
        "src/main/java/org/app/Main.java",
        {
            " IMPORTS src/main/java/org/app/util/Texts.java",
            " DEFINES src/main/java/org/app/Main.java#Main",
            "#Main DEFINES src/main/java/org/app/Main.java#Main.run",
            "#Main DEFINES src/main/java/org/app/Main.java#Main.helper",
            "#Main.run CALLS src/main/java/org/app/Store.java#Store",
            "#Main.run CALLS src/main/java/org/app/Main.java#Main.helper",
            "#Main.run CALLS src/main/java/org/app/util/Texts.java#Texts.fold",
        },
    ),
    "kotlin": (
        {
            "src/org/app/model/Models.kt": outline("kotlin", "C:User User.rename load"),
            "src/org/app/Main.kt": outline(
                "kotlin",
                "main",
                [imp("org.app.model.User"), imp("org.app.model.load"), imp("org.app.Other")],
                [("User", "", "main"), ("load", "", "main"), ("rename", "user", "main"), ("inform", "", "main")],
            ),
            "src/org/app/Other.kt": outline("kotlin", "inform"),
        },
        "src/org/app/Main.kt",
        {
            " IMPORTS src/org/app/model/Models.kt",
            " IMPORTS src/org/app/Other.kt",
            " DEFINES src/org/app/Main.kt#main",
            "#main CALLS src/org/app/model/Models.kt#User",
            "#main CALLS src/org/app/model/Models.kt#load",
            "#main CALLS src/org/app/model/Models.kt#User.rename",
            "#main CALLS src/org/app/Other.kt#inform",
        },
    ),
    "c": (
        {
            "include/list.h": outline("c", ""),
            "src/list.c": outline("c", "list_new grow", [imp("list.h")], [("grow", "", "list_new")]),
            "src/util.h": outline("c", "min_of"),
            "lib/deep/hash.h": outline("c", ""),
            "lib/deep/hash.c": outline("c", "mix"),
            "src/main.c": outline(
                "c",
                "main",
                [imp("list.h"), imp("util.h"), imp("deep/hash.h"), imp("stdio.h")],
                [("list_new", "", "main"), ("min_of", "", "main"), ("mix", "", "main"), ("printf", "", "main")],
            ),
        },
        "src/main.c",
        {
            " IMPORTS include/list.h",
            " IMPORTS src/util.h",
            " IMPORTS lib/deep/hash.h",
            " DEFINES src/main.c#main",
            "#main CALLS src/list.c#list_new",
            "#main CALLS src/util.h#min_of",
            "#main CALLS lib/deep/hash.c#mix",
        },
    ),
    "cpp": (
        {
            "src/store.hpp": outline("cpp", "N:app C:app.Store"),
            "src/store.cpp": outline(
                "cpp",
                "app.Store.write app.Store.flush",
                [imp("store.hpp")],
                [("flush", "", "app.Store.write"), ("flush", "this", "app.Store.write")],
            ),
            "src/main.cpp": outline("cpp", "main", [imp("store.hpp")], [("Store", "app", "main"), ("write", "app::Store", "main")]),
        },
        "src/store.cpp",
        {
            " IMPORTS src/store.hpp",
            "src/store.hpp#app.Store DEFINES src/store.cpp#app.Store.write",
            "src/store.hpp#app.Store DEFINES src/store.cpp#app.Store.flush",
            "#app.Store.write CALLS src/store.cpp#app.Store.flush",
        },
    ),
    "csharp": (
        {
            "Model/User.cs": outline("csharp", "N:App.Model C:App.Model.User App.Model.User.Rename"),
            "Program.cs": outline(
                "csharp",
                "C:Program Program.Main Program.Help",
                [imp("System"), imp("App.Model")],
                [("User", "", "Program.Main"), ("Rename", "User", "Program.Main"), ("Help", "", "Program.Main")],
            ),
        },
        "Program.cs",
        {
            " IMPORTS Model/User.cs",
            " DEFINES Program.cs#Program",
            "#Program DEFINES Program.cs#Program.Main",
            "#Program DEFINES Program.cs#Program.Help",
            "#Program.Main CALLS Model/User.cs#App.Model.User",
            "#Program.Main CALLS Model/User.cs#App.Model.User.Rename",
            "#Program.Main CALLS Program.cs#Program.Help",
        },
    ),
    "ruby": (
        {
            "lib/app/store.rb": outline("ruby", "N:App C:App.Store App.Store.write"),
            "lib/app/text.rb": outline("ruby", "squeeze_text"),
            "lib/app.rb": outline(
                "ruby",
                "boot",
                [imp("app/store"), imp("./app/text"), imp("json")],
                [("new", "App::Store", "boot"), ("squeeze_text", "", "boot"), ("write", "Store", "boot"), ("Store", "App", "boot")],
            ),
        },
        "lib/app.rb",
        {
            " IMPORTS lib/app/store.rb",
            " IMPORTS lib/app/text.rb",
            " DEFINES lib/app.rb#boot",
            "#boot CALLS lib/app/text.rb#squeeze_text",
            "#boot CALLS lib/app/store.rb#App.Store.write",
            "#boot CALLS lib/app/store.rb#App.Store",
        },
    ),
    "php": (
        {
            "app/Models/User.php": outline("php", "C:User User.find"),
            "app/helpers.php": outline("php", "format_name"),
            "app/Http/Page.php": outline(
                "php",
                "C:Page Page.show Page.render",
                [imp("App\\Models\\User"), imp("../helpers.php"), imp("Vendor\\Thing")],
                [
                    ("find", "User", "Page.show"),
                    ("render", "$this", "Page.show"),
                    ("render", "self", "Page.show"),
                    ("format_name", "", "Page.show"),
                    ("User", "", "Page.render"),
                ],
            ),
        },
        "app/Http/Page.php",
        {
            " IMPORTS app/Models/User.php",
            " IMPORTS app/helpers.php",
            " DEFINES app/Http/Page.php#Page",
            "#Page DEFINES app/Http/Page.php#Page.show",
            "#Page DEFINES app/Http/Page.php#Page.render",
            "#Page.show CALLS app/Models/User.php#User.find",
            "#Page.show CALLS app/Http/Page.php#Page.render",
            "#Page.show CALLS app/helpers.php#format_name",
            "#Page.render CALLS app/Models/User.php#User",
        },
    ),
    "swift": (
        {
            "Sources/App/Store.swift": outline("swift", "C:Store Store.write Store.flush", [], [("flush", "", "Store.write")]),
            "Sources/App/main.swift": outline("swift", "boot", [imp("Foundation")], [("Store", "", "boot"), ("write", "Store", "boot")]),
        },
        "Sources/App/main.swift",
        {
            " DEFINES Sources/App/main.swift#boot",
            "#boot CALLS Sources/App/Store.swift#Store",
            "#boot CALLS Sources/App/Store.swift#Store.write",
        },
    ),
    "scala": (
        {
            "src/org/app/Store.scala": outline("scala", "C:Store Store.write"),
            "src/org/tool/Main.scala": outline("scala", "C:Main Main.run", [imp("org.app", "Store")], [("Store", "", "Main.run")]),
        },
        "src/org/tool/Main.scala",
        {
            " IMPORTS src/org/app/Store.scala",
            " DEFINES src/org/tool/Main.scala#Main",
            "#Main DEFINES src/org/tool/Main.scala#Main.run",
            "#Main.run CALLS src/org/app/Store.scala#Store",
        },
    ),
    "shell": (
        {
            "bin/lib/log.sh": outline("shell", "log_line"),
            "bin/env.sh": outline("shell", "set_up"),
            "bin/run.sh": outline(
                "shell",
                "main",
                [imp("./env.sh"), imp('$(dirname "$0")/lib/log.sh'), imp("${HERE}/env.sh"), imp("/etc/profile")],
                [("log_line", "", "main"), ("set_up", "", ""), ("echo", "", "main")],
            ),
        },
        "bin/run.sh",
        {
            " IMPORTS bin/env.sh",
            " IMPORTS bin/lib/log.sh",
            " DEFINES bin/run.sh#main",
            "#main CALLS bin/lib/log.sh#log_line",
            " CALLS bin/env.sh#set_up",
        },
    ),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_small_project_has_just_these_edges(language: str) -> None:
    project, path, expected = LANGUAGES[language]
    assert edges(project, path) == expected


def test_members_of_a_class_may_be_spread_over_the_files_of_a_package() -> None:
    project, _, _ = LANGUAGES["go"]
    assert edges(project, "internal/store/rows.go") == {
        "internal/store/store.go#Store DEFINES internal/store/rows.go#Store.Write",
        "internal/store/store.go#Store DEFINES internal/store/rows.go#Store.flush",
        " DEFINES internal/store/rows.go#helper",
        "#Store.Write CALLS internal/store/rows.go#Store.flush",
        "#Store.Write CALLS internal/store/rows.go#helper",
        "#helper CALLS internal/store/store.go#Open",
    }
    assert edges(LANGUAGES["cpp"][0], "src/main.cpp", "CALLS") == {
        "#main CALLS src/store.hpp#app.Store",
        "#main CALLS src/store.cpp#app.Store.write",
    }
    assert edges(LANGUAGES["rust"][0], "src/store/disk.rs") == {
        " IMPORTS src/store/mod.rs",
        " DEFINES src/store/disk.rs#sync",
        "#sync CALLS src/store/mod.rs#Store.write",
    }


@pytest.mark.parametrize(
    "uses",
    [
        [("append", "x", "f")],  # A list's, whatever class has one.
        [("compute_total", "", "f")],  # A bare name of Python that nobody imported is a variable or built in.
        [("compute_total", "np", "f")],  # Of a module from outside.
        [("far_method", "x", "f")],  # The only one, but of a file that is not imported.
        [("twice", "x", "f")],  # Two classes have it.
        [("twice", "self", "f")],  # Outside of a class.
        [("f", "", "f")],  # Itself.
    ],
)
def test_a_name_that_does_not_resolve_is_not_linked(uses: list[tuple[str, str, str]]) -> None:
    project = {
        "a/one.py": outline("python", "f", [imp("numpy", alias="np"), imp("b.near")], uses),
        "b/near.py": outline("python", "C:Near Near.append Near.twice"),
        "c/far.py": outline("python", "C:Far Far.far_method Far.twice compute_total"),
    }
    assert edges(project, "a/one.py", "CALLS") == set()


def test_bases_that_build_on_each_other_come_to_an_end() -> None:
    project = {"a.py": outline("python", "C:A A.go C:B", [], [("gone", "self", "A.go")], bases={"A": ["B"], "B": ["A"]})}
    assert edges(project, "a.py", "CALLS") == set()


DOCUMENTS: dict[str, Outline | None] = {
    "docs/guide.md": outline("markdown", uses=[]),
    "README.md": outline("markdown", uses=[]),
    "src/app/store.py": outline("python", "C:Store Store.write open_store"),
    "src/app/other.py": outline("python", "C:Other Other.write Other.flush Other.flush_all twice"),
    "src/web/twice.py": outline("python", "twice"),
    "config.toml": None,
}


@pytest.mark.parametrize(
    ("mention", "target"),
    [
        ("../README.md", "README.md"),
        ("../README.md#install", "README.md"),
        ("README.md", "README.md"),
        ("src/app/store.py", "src/app/store.py"),
        ("src/app/store.py:12-40", "src/app/store.py"),
        ("app/store.py", "src/app/store.py"),
        ("config.toml", "config.toml"),
        ("Store", "src/app/store.py#Store"),
        ("Store.write", "src/app/store.py#Store.write"),
        ("app.Store.write()", "src/app/store.py#Store.write"),
        ("Store#write", "src/app/store.py#Store.write"),
        ("store.open_store", "src/app/store.py#open_store"),
        ("open_store(url, k=1)", "src/app/store.py#open_store"),
        ("write", None),
        ("flush", None),
        ("flush_all", "src/app/other.py#Other.flush_all"),
        ("twice", None),
        ("web.twice", None),
        ("missing.md", None),
        ("https://example.com/store.py", None),
        ("a sentence", None),
        ("", None),
        ("..", None),
        ("/", None),
    ],
)
def test_a_document_refers_to_the_files_and_the_names_it_mentions(mention: str, target: str | None) -> None:
    section = Definition(name="Use", qualified="Guide > Use", kind="section", start=0, end=9, line_start=1, line_end=2, body=3)
    uses = (Use(mention, "", "Guide > Use"), Use(mention, "", "gone"))
    project = {**DOCUMENTS, "docs/guide.md": Outline(language="markdown", definitions=(section,), uses=uses)}
    # Documents are referred to by the whole, what is in code by the section.
    sections = {f"#Guide > Use REFERENCES {target}"} if target and (".py" in target or "#" in target) else set()
    expected = sections | ({f" REFERENCES {target}"} if target else set())
    assert edges(project, "docs/guide.md") == expected | {" DEFINES docs/guide.md#Guide > Use"}


# Linking a store.


async def _written(store: ReferenceStore, project: Mapping[str, Outline | None], before: dict[str, bytes]) -> None:
    """Make the store hold the project and link it, as an index run does."""
    old = {stored.item.id: stored async for stored in store.scan("s")}
    for path, stored in old.items():
        if stored.outline and (path not in project or project[path] is None or project[path].pack() != stored.outline):  # type: ignore[union-attr]
            before[path] = stored.outline
    entries = [Entry(item(path), outline=one.pack() if one else b"") for path, one in project.items()]
    await store.write("s", Batch(entries, delete=[path for path in old if path not in project]))


async def _edges(store: ReferenceStore) -> list[Edge]:
    return [edge async for edge in store.edges("s")]


def test_linking_writes_the_edges_of_a_scope_once() -> None:
    async def run() -> None:
        store = ReferenceStore()
        await _written(store, PYTHON, {})
        assert await link(store, "s", {}) == len(PYTHON)
        expected = {edge for path, one in PYTHON.items() if one for edge in edges_of(path, one, names_of(PYTHON))}
        assert set(await _edges(store)) == expected
        assert await link(store, "s", {}) == 0, "nothing is left to do"
        assert set(await _edges(store)) == expected

    asyncio.run(run())


def test_a_file_that_comes_later_is_linked_from_those_that_name_it() -> None:
    async def run() -> None:
        store = ReferenceStore()
        user = outline("python", "f", [imp("lib", "helper_one")], [("helper_one", "", "f")])
        guide = outline("markdown", uses=[("helper_one", "", "")])
        other = outline("python", "g", [imp("json")], [("dumps", "json", "g")])
        await _written(store, {"user.py": user, "guide.md": guide, "other.py": other}, {})
        await link(store, "s", {})
        await _written(store, {"user.py": user, "guide.md": guide, "other.py": other, "lib.py": outline("python", "helper_one")}, {})
        assert await link(store, "s", {}) == 3, "the new file and the two that name it"
        assert {(edge.source, edge.type, edge.target) for edge in await _edges(store)} >= {
            ("user.py", "IMPORTS", "lib.py"),
            ("user.py#f", "CALLS", "lib.py#helper_one"),
            ("guide.md", "REFERENCES", "lib.py#helper_one"),
        }

    asyncio.run(run())


def test_a_run_that_was_interrupted_is_made_up_for_by_the_next() -> None:
    class Full(ReferenceStore):
        left = 0

        async def write(self, scope: str, batch: Batch, *, space: Space | None = None) -> Written:
            if batch.relink and not self.left:
                raise StoreFull("the disk is full")
            self.left -= bool(batch.relink)
            return await super().write(scope, batch, space=space)

    async def run(writes: int) -> None:
        store = Full()
        store.left = 99
        user = outline("python", "f", [imp("lib", "helper_one")], [("helper_one", "", "f")])
        await _written(store, {"user.py": user}, {})
        await link(store, "s", {})
        await _written(store, {"user.py": user, "lib.py": outline("python", "helper_one")}, {})
        store.left = writes
        with pytest.raises(StoreFull):
            await link(store, "s", {})
        store.left = 99
        await link(store, "s", {})
        assert ("user.py#f", "lib.py#helper_one") in {(edge.source, edge.target) for edge in await _edges(store)}

    for writes in range(2):
        asyncio.run(run(writes))


NAMES = ("open_it", "close_it", "Store", "Row", "get", "run")
PATHS = ("a/__init__.py", "a/one.py", "a/two.py", "a/b/__init__.py", "a/b/three.py", "tool.py", "index.ts", "web/x.ts", "web/y.ts")


def drawn(chance: random.Random, path: str) -> Outline:
    """Some file."""
    names = chance.sample(NAMES, chance.randint(0, 3))
    words = [f"C:{name} {name}.{chance.choice(NAMES).lower()}" if name[0].isupper() else name for name in names]
    within = words[0].split()[-1] if words else ""
    modules = (
        ("./x", "./y", "../index", "..", ".")
        if path.endswith(".ts")
        else (".", "..", ".one", "a", "a.b", "a.two", ".b.three", "tool", "json")
    )
    imports = [
        imp(chance.choice(modules), *chance.sample((*NAMES, "one", "two", "b"), chance.randint(0, 2))) for _ in range(chance.randint(0, 3))
    ]
    receivers = ("", "self", "x", "a", "one", "Store", "a.b")
    uses = {(chance.choice(NAMES), chance.choice(receivers), within) for _ in range(4)}
    return outline("typescript" if path.endswith(".ts") else "python", " ".join(words), imports, sorted(uses))


def mentioned(chance: random.Random) -> Outline:
    return outline("markdown", uses=[(chance.choice((*NAMES, "Store.get", "a/one.py", "three.py", "web/x.ts")), "", "") for _ in range(3)])


@pytest.mark.parametrize("seed", range(60))
def test_linking_bit_by_bit_gives_what_linking_at_once_gives(seed: int) -> None:
    async def run() -> None:
        chance = random.Random(seed)
        store, project = ReferenceStore(), dict[str, Outline | None]()
        for _ in range(6):
            for path in chance.sample(PATHS, chance.randint(1, 3)):
                project[path] = drawn(chance, path)
            project["guide.md"] = mentioned(chance)
            for path in chance.sample(sorted(project), chance.randint(0, 2)):
                del project[path]
            before: dict[str, bytes] = {}
            await _written(store, project, before)
            await link(store, "s", before)
            fresh = ReferenceStore()
            await _written(fresh, project, {})
            await link(fresh, "s", {})
            assert await _edges(store) == await _edges(fresh)

    asyncio.run(run())
