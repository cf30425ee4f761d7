"""Edges follow what comes and goes: files without an outline, what is deleted, common names; and how much work that is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest

from recollect import Library
from recollect.filters import Filter
from recollect.ingest import linking_changes
from recollect.ingest.linking import link
from recollect.ingest.linking_documents import Parts
from recollect.ingest.linking_edges import edges_of
from recollect.ingest.linking_names import Names, Place
from recollect.ingest.modules import Files
from recollect.ingest.modules_imports import LONGEST, taken
from recollect.kinds import language_of
from recollect.model import Batch, Entry, Item, Symbol
from recollect.outline import Alias, Import, Link, Outline, symbols_of, unpack
from recollect.stores.reference import ReferenceStore
from recollect.syntax import outline_of

AT = datetime(2024, 5, 1, tzinfo=UTC)


def entry(path: str, text: str) -> Entry:
    language = language_of(path.rpartition("/")[2])
    item = Item(
        scope="s",
        id=path,
        text=text,
        format="code" if language else "markdown",
        source="file",
        source_ref=path,
        metadata={"language": language} if language else {},
        created_at=AT,
        updated_at=AT,
    )
    found = outline_of(item)
    return Entry(item, outline=found.pack() if found else b"")


async def bring(store: ReferenceStore, before: Mapping[str, str], after: Mapping[str, str]) -> int:
    """Make the store hold other files and link them; how many were linked."""
    changed = [path for path in after if after[path] != before.get(path)]
    gone = {path: path for path in before if path not in after}
    old = {stored.item.id: stored.outline for stored in await store.get("s", [*changed, *gone]) if stored.outline}
    await store.write("s", Batch([entry(path, after[path]) for path in changed], delete=list(gone)))
    return await link(store, "s", old, came=[path for path in changed if path not in before], gone=gone)


async def found_in(store: ReferenceStore, scope: str = "s", *, kind: str | None = None) -> set[str]:
    return {f"{edge.source} {edge.type} {edge.target}" async for edge in store.edges(scope) if kind in (None, edge.type)}


def linked(*projects: Mapping[str, str]) -> tuple[set[str], int]:
    """The edges after one state of the files after the other, which are those of the last at once; and how many were linked last."""

    async def run() -> tuple[set[str], int]:
        store, last, count = ReferenceStore(), dict[str, str](), 0
        for project in projects:
            count = await bring(store, last, project)
            last = dict(project)
        fresh = ReferenceStore()
        await bring(fresh, {}, last)
        edges = await found_in(store)
        assert edges == await found_in(fresh)
        return edges, count

    return asyncio.run(run())


def test_files_without_an_outline_are_linked_and_unlinked_as_they_come_and_go(tmp_path: Path) -> None:
    async def run() -> None:
        store = ReferenceStore()
        library = Library(store, embedder=None)

        async def edges() -> set[str]:
            await library.index(tmp_path, base=tmp_path)
            return {edge for edge in await found_in(store, "default") if "DEFINES" not in edge}

        (tmp_path / "README.md").write_text("See [settings](settings.yaml), `LICENSE`, `./LICENSE` and `conf.yaml`.\n")
        (tmp_path / "m.js").write_text("import data from './data.json'\n")
        (tmp_path / "conf.yaml").write_text("a: 1\n")
        assert await edges() == {"README.md REFERENCES conf.yaml"}
        later = {"settings.yaml": "a: 1\n", "LICENSE": "Free.\n", "data.json": "{}\n"}
        for name, text in later.items():
            (tmp_path / name).write_text(text)
        assert await edges() == {
            "README.md REFERENCES LICENSE",
            "README.md REFERENCES conf.yaml",
            "README.md REFERENCES settings.yaml",
            "m.js IMPORTS data.json",
        }
        (tmp_path / "x").mkdir()
        (tmp_path / "conf.yaml").rename(tmp_path / "x/conf.yaml")
        (tmp_path / "settings.yaml").unlink()
        assert await edges() == {"README.md REFERENCES LICENSE", "README.md REFERENCES x/conf.yaml", "m.js IMPORTS data.json"}
        (tmp_path / "y").mkdir()
        (tmp_path / "y/conf.yaml").write_text("b: 1\n")
        assert "README.md REFERENCES x/conf.yaml" not in await edges(), "there are two of that name"
        (tmp_path / "x/conf.yaml").unlink()
        assert "README.md REFERENCES y/conf.yaml" in await edges()

    asyncio.run(run())


def test_deleting_an_item_links_anew_what_named_it(tmp_path: Path) -> None:
    async def run() -> None:
        store = ReferenceStore()
        library = Library(store, embedder=None)
        for name in ("a.py", "b.py"):
            (tmp_path / name).write_text("def unique_name():\n    pass\n")
        for folder in ("x", "y"):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "conf.yaml").write_text(f"{folder}: 1\n")
        (tmp_path / "guide.md").write_text("See `unique_name` and `conf.yaml`.\n")
        await library.index(tmp_path, base=tmp_path)
        assert await found_in(store, "default", kind="REFERENCES") == set()
        assert await library.delete(["b.py", "missing"]) == ["b.py"]
        assert await found_in(store, "default", kind="REFERENCES") == {"guide.md REFERENCES a.py#unique_name"}
        assert await library.delete("x/conf.yaml") == ["x/conf.yaml"]
        assert "guide.md REFERENCES y/conf.yaml" in await found_in(store, "default", kind="REFERENCES")

    asyncio.run(run())


class Read(Place):
    """A definition that counts how often one is looked at."""

    times = 0

    @property
    def item_id(self) -> str:
        Read.times += 1
        return self[0]

    @property
    def qualified(self) -> str:
        Read.times += 1
        return self[1]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pkg/m{}.py", "import pkg\ndef create():\n    pass\n" + "".join(f"def m{n}():\n    pkg.create()\n" for n in range(20))),
        ("lib/d{}/c.rb", "class C\n  def call\n  end\n" + "".join(f"  def m{n}\n    Foo{n}.call\n  end\n" for n in range(20)) + "end\n"),
        ("d{}/C.java", "class C {\n" + "".join(f"  void m{n}() {{ create(); }}\n" for n in range(20)) + "}\n"),
    ],
    ids=["passed on", "qualified", "beside"],
)
def test_a_use_does_not_look_at_every_definition_of_its_name(path: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.ingest.linking_names.Place", Read)
    monkeypatch.setattr(Read, "times", 0)
    project = {path.format(n): text for n in range(100)} | {"pkg/__init__.py": ""}
    project |= {f"e{n}/D.java": "class D {\n  void create() {}\n}\n" for n in range(100)}
    names = Names(Files({each: each for each in project}))
    entries = [entry(each, own) for each, own in project.items()]
    for each in entries:
        names.learn(symbols_of(each.item, each.outline))
    for each in entries:
        if outline := unpack(each.outline):
            edges_of(each.item.id, outline, names)
    assert 0 < Read.times < 20_000, "by 2,000 uses of a name with 100 definitions"


def test_a_module_that_every_function_imports_is_one() -> None:
    files = Files({"pkg/__init__.py": "1", "pkg/a.py": "2"})
    found = taken(files, "m.py", "python", [Import(module="pkg.a", start=0, end=0)] * 9)
    assert {name: list(paths) for name, paths in found.modules.items()} == {"pkg": ["pkg/__init__.py"], "pkg.a": ["pkg/a.py"]}


def test_a_first_definition_of_a_common_name_concerns_nobody_who_cannot_mean_it() -> None:
    user = (
        "import os\n\nclass C:\n    def f(self, x):\n        self.get()\n        x.get()\n        print(os.path.join('a'))\n"
        "        return os.walk_all()\n"
    )
    users = {f"far{n}/user.py": user for n in range(5)} | {f"lib/user{n}.py": user for n in range(5)}
    lib = {"lib/new.py": "x = 1\n"}
    new = {"lib/new.py": "".join(f"def {name}():\n    pass\n" for name in ("get", "join", "path", "print", "walk_all"))}
    assert linked(users | lib, users | new)[1] == 1, "only the file itself"


def test_a_common_name_is_linked_where_what_it_is_in_is_known() -> None:
    project = {
        "pkg/__init__.py": "from other.store import Store\n",
        "other/store.py": "class Store:\n    pass\n",
        "app/a.py": "from pkg import Store\n\ndef f():\n    Store.get()\n",
        "app/b.py": "from pkg import Store as Kept\n\nclass Own(Kept):\n    def f(self):\n        self.get()\n",
        "app/c.rb": "Box.get\n",
    }
    after = project | {
        "other/store.py": "class Store:\n    def get(self):\n        pass\n",
        "x/box.rb": "class Box\n  def get\n  end\nend\n",
    }
    edges, _ = linked(project, after)
    assert {"app/a.py#f CALLS other/store.py#Store.get", "app/c.rb CALLS x/box.rb#Box.get"} <= edges


def test_names_that_move_from_many_files_to_many_are_not_looked_up() -> None:
    class Asked(ReferenceStore):
        def __init__(self) -> None:
            super().__init__()
            self.keys: set[str] = set()

        async def symbols(self, scope: str, keys: Sequence[str], *, limit: int, where: Filter | None = None) -> list[Symbol]:
            self.keys |= set(keys)
            return await super().symbols(scope, keys, limit=limit, where=where)

    async def run() -> None:
        store = Asked()
        text = "def everywhere():\n    pass\n"
        before = {f"p{n}/m.py": text for n in range(9)} | {"p0/only.py": "def only_here():\n    pass\n", "guide.md": "`only_here`\n"}
        after = {path.replace("p0/", "q0/").replace("p1/", "q1/"): text for path, text in before.items()}
        await bring(store, {}, before)
        store.keys.clear()
        await bring(store, before, after)
        assert "onlyhere" in store.keys
        assert "everywhere" not in store.keys
        assert "guide.md REFERENCES q0/only.py#only_here" in await found_in(store)

    asyncio.run(run())


def test_a_link_with_percent_signs_is_found_when_the_file_comes_later() -> None:
    guide = {"guide.md": "# G\n\n[x](my%20notes.md#top) [y](caf%C3%A9.py)\n"}
    edges, _ = linked(guide, guide | {"my notes.md": "# hi\n", "café.py": "x = 1\n"})
    assert {"guide.md REFERENCES my notes.md", "guide.md REFERENCES café.py"} <= edges


def test_edges_follow_when_a_function_becomes_a_class() -> None:
    go = {"s.go": "package s\n\nfunc Store() {}\n", "w.go": "package s\n\nfunc (s *Store) Write() {}\n"}
    assert "s.go#Store DEFINES w.go#Store.Write" in linked(go, go | {"s.go": "package s\n\ntype Store struct{}\n"})[0]
    body = "\n\nclass B:\n    def make_it(self):\n        pass\n"
    python = {"a.py": "def Thing():\n    pass\n" + body, "b.py": "from a import Thing\n\nThing.make_it()\n"}
    assert "b.py CALLS a.py#B.make_it" not in linked(python, python | {"a.py": "class Thing:\n    pass\n" + body})[0]


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("bin/run.sh", "$" + "/" * 200_000 + ")"),
        ("bin/run.sh", "$" + "}" * 200_000),
        ("a.php", "A\\" * 100_000),
        ("a.py", "a." * 100_000 + "b"),
    ],
)
def test_a_module_that_nobody_wrote_takes_no_time(path: str, module: str) -> None:
    language = language_of(path.rpartition("/")[2])
    assert language
    files = Files({"bin/lib.sh": "1", "lib.sh": "2"})
    assert taken(files, path, language, [Import(module=module, start=0, end=0)]).reach == set()
    short = Import(module=module[: LONGEST - 1], start=0, end=0)
    assert taken(files, path, language, [short]).reach == set()


@pytest.mark.parametrize(
    "module",
    ["lib.sh", "./lib.sh", "$HERE/lib.sh", "${HERE}/lib.sh", "$(dirname $0)/lib.sh", "${BASH_SOURCE[0]%/*}/lib.sh", "$A/$B/lib.sh"],
)
def test_a_folder_that_a_script_works_out_is_taken_for_its_own(module: str) -> None:
    files = Files({"bin/lib.sh": "1", "lib.sh": "2"})
    assert taken(files, "bin/run.sh", "bash", [Import(module=module, start=0, end=0)]).reach == {"bin/lib.sh"}


@pytest.mark.parametrize(
    ("path", "text", "others", "expected"),
    [
        ("lib/main.rb", "require 'json'\n", ["lib/app/formats/json.rb", "lib/json_more.rb"], None),
        ("lib/main.rb", "require 'app/json'\n", ["lib/app/json.rb", "x/app/json.rb"], "lib/app/json.rb"),
        ("gem/lib/a/b.rb", "require 'a/c'\n", ["gem/lib/a/c.rb", "lib/a/c.rb"], "gem/lib/a/c.rb"),
        ("spec/a_spec.rb", "require 'spec_helper'\n", ["spec/spec_helper.rb"], "spec/spec_helper.rb"),
        ("bin/run.rb", "require 'tool'\n", ["tool.rb"], "tool.rb"),
        ("lib/main.rb", "require_relative 'json'\n", ["lib/json.rb"], "lib/json.rb"),
        ("lib/main.rb", "require_relative 'json'\n", ["json.rb", "lib/x/json.rb"], None),
        ("a.rb", "require_relative '../../gone'\n", ["None.rb", "gone.rb"], None),
        ("src/main.c", "#include <string.h>\n", ["deps/zlib/string.h"], None),
        ("src/main.c", "#include <string.h>\n", ["src/string.h"], "src/string.h"),
        ("src/main.c", "#include <string.h>\n", ["include/string.h", "deps/string.h"], "include/string.h"),
        ("src/main.c", '#include "rows.h"\n', ["deps/rows.h"], "deps/rows.h"),
        ("src/main.c", "#include <app/string.h>\n", ["inc/app/string.h"], "inc/app/string.h"),
    ],
)
def test_what_comes_with_a_language_is_not_found_just_anywhere(path: str, text: str, others: list[str], expected: str | None) -> None:
    edges, _ = linked({path: text} | dict.fromkeys(others, ""))
    assert {edge for edge in edges if " IMPORTS " in edge} == ({f"{path} IMPORTS {expected}"} if expected else set())


def test_a_text_that_nothing_names_reads_no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        store, read = ReferenceStore(), list[Link]()
        library = Library(store, embedder=None)

        class Counted(Parts):
            def __init__(self, link: Link) -> None:
                read.append(link)
                super().__init__(link)

        monkeypatch.setattr(linking_changes, "Parts", Counted)
        for number in range(20):
            await library.add_text(f"See REQ-{number}.", item_id=f"d{number}")
        read.clear()
        await library.add_text("A plain note.", item_id="d")
        assert read == []
        await library.add_text("A requirement.", item_id="REQ-7")
        assert await found_in(store, "default") == {"d7 REFERENCES REQ-7"}

    asyncio.run(run())


TARGETS = [
    "ADR-0007",
    "adr 7",
    "a/b.md",
    "a/b.md#the-title-2",
    "x#The%20Title",
    "..",
    "./",
    "page",
    "a b",
    "Ä#ß",
    "x?y#z#u",
    "d:12",
    "FR-03.1",
]
NAMES = ["ADR-7", "b.md", "b", "The Title", "page", "a b", "ss", "ä", "x", "z#u", "d", "FR-3.1", "++", "t", "README.md", "a/b.md", "7"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", ["name", "path"])
def test_what_a_link_may_mean_is_looked_for_before_it_is_read(target: str, form: Literal["name", "path"]) -> None:
    files = Files({})
    packed = Outline(language="markdown", links=(Link("REFERENCES", "other", "name"), Link("REFERENCES", target, form))).pack()
    for name in NAMES:
        for came, aliases in (((name,), ()), ((), (Alias(name),))):
            changes = linking_changes.Changes(files, came, {"gone": name} if came else {})
            changes.note([("new", Outline(language="markdown", aliases=aliases).pack())] if aliases else [], {})
            paths = linking_changes._ChangedPaths(files, changes._paths)
            is_found = "item" in changes.search(Names(files), set())([("item", packed)])
            assert is_found or not changes._links_concern(packed, paths), name
