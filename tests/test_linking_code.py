"""Edges from real code: a small project in every language, and this project's own source."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect.ingest.linking import link
from recollect.kinds import language_of
from recollect.model import Batch, Edge, Entry, Item
from recollect.stores.reference import ReferenceStore
from recollect.syntax import outline_of

AT = datetime(2024, 5, 1, tzinfo=UTC)
ROOT = Path(__file__).parents[1]


async def _linked(files: Mapping[str, str]) -> list[Edge]:
    store = ReferenceStore()
    entries = []
    for path, text in files.items():
        language = language_of(path.rpartition("/")[2])
        item = Item(
            scope="s",
            id=path,
            text=text,
            format="code" if language else "markdown" if path.endswith(".md") else "text",
            source="file",
            source_ref=path,
            metadata={"language": language} if language else {},
            created_at=AT,
            updated_at=AT,
        )
        outline = outline_of(item)
        entries.append(Entry(item, outline=outline.pack() if outline else b""))
    await store.write("s", Batch(entries))
    await link(store, "s", {})
    return [edge async for edge in store.edges("s")]


def linked(files: Mapping[str, str]) -> set[tuple[str, str, str]]:
    return {(edge.source, edge.type, edge.target) for edge in asyncio.run(_linked(files))}


PROJECTS: dict[str, tuple[dict[str, str], list[str]]] = {
    "python": (
        {
            "app/__init__.py": "from .store import Store\n",
            "app/store.py": "class Store:\n    def write(self):\n        self.flush()\n\n    def flush(self):\n        pass\n",
            "main.py": (
                "from app import Store\nimport app.store as s\n\n\n"
                "def run(items):\n    Store().write()\n    s.Store()\n    items.append(1)\n"
            ),
        },
        [
            "app/__init__.py IMPORTS app/store.py",
            "app/store.py#Store.write CALLS app/store.py#Store.flush",
            "main.py IMPORTS app/__init__.py",
            "main.py IMPORTS app/store.py",
            "main.py#run CALLS app/store.py#Store",
        ],
    ),
    "typescript": (
        {
            "src/api/index.ts": "export { Client } from './client';\n",
            "src/api/client.ts": "export class Client {\n  send(): void { this.check(); }\n  check(): void {}\n}\n",
            "src/view.tsx": "export default function View() { return <div/>; }\n",
            "src/main.tsx": (
                "import { Client } from './api';\nimport View from './view';\nimport * as old from './old.js';\n\n"
                "export function start() {\n  const c = new Client();\n  old.legacy();\n  return <View/>;\n}\n"
            ),
            "src/old.js": "function legacy() {}\nmodule.exports = { legacy };\n",
        },
        [
            "src/api/client.ts#Client.send CALLS src/api/client.ts#Client.check",
            "src/api/index.ts IMPORTS src/api/client.ts",
            "src/main.tsx IMPORTS src/api/index.ts",
            "src/main.tsx IMPORTS src/old.js",
            "src/main.tsx IMPORTS src/view.tsx",
            "src/main.tsx#start CALLS src/api/client.ts#Client",
            "src/main.tsx#start CALLS src/old.js#legacy",
            "src/main.tsx#start CALLS src/view.tsx#View",
        ],
    ),
    "go": (
        {
            "go.mod": "module example.com/app\n",
            "internal/store/store.go": "package store\n\ntype Store struct{}\n\nfunc Open() *Store { return &Store{} }\n",
            "internal/store/write.go": (
                'package store\n\nimport "fmt"\n\nfunc (s *Store) Write() { s.flush(); fmt.Println() }\n\n'
                "func (s *Store) flush() { Open() }\n"
            ),
            "cmd/main.go": 'package main\n\nimport st "example.com/app/internal/store"\n\nfunc main() { st.Open() }\n',
        },
        [
            "cmd/main.go IMPORTS internal/store/store.go",
            "cmd/main.go#main CALLS internal/store/store.go#Open",
            "internal/store/store.go#Open CALLS internal/store/store.go#Store",
            "internal/store/write.go#Store.Write CALLS internal/store/write.go#Store.flush",
            "internal/store/write.go#Store.flush CALLS internal/store/store.go#Open",
        ],
    ),
    "rust": (
        {
            "src/lib.rs": "mod rows;\npub mod store;\n",
            "src/rows.rs": "pub struct Row;\n\nimpl Row {\n    pub fn new() -> Row { Row }\n}\n\npub fn load_all() {}\n",
            "src/store/mod.rs": (
                "use crate::rows::{self, Row};\nmod disk;\n\n"
                "pub fn write() {\n    Row::new();\n    rows::load_all();\n    disk::sync();\n}\n"
            ),
            "src/store/disk.rs": "use super::write;\n\npub fn sync() { write(); }\n",
        },
        [
            "src/lib.rs IMPORTS src/rows.rs",
            "src/lib.rs IMPORTS src/store/mod.rs",
            "src/store/disk.rs IMPORTS src/store/mod.rs",
            "src/store/disk.rs#sync CALLS src/store/mod.rs#write",
            "src/store/mod.rs IMPORTS src/rows.rs",
            "src/store/mod.rs IMPORTS src/store/disk.rs",
            "src/store/mod.rs#write CALLS src/rows.rs#Row.new",
            "src/store/mod.rs#write CALLS src/rows.rs#load_all",
            "src/store/mod.rs#write CALLS src/store/disk.rs#sync",
        ],
    ),
    "java": (
        {
            "src/org/app/Store.java": "package org.app;\npublic class Store {\n  public Store() {}\n  public void write() {}\n}\n",
            "src/org/app/util/Texts.java": "package org.app.util;\npublic class Texts {\n  static String fold(String s) { return s; }\n}\n",
            "src/org/app/Main.java": (
                "package org.app;\nimport static org.app.util.Texts.fold;\nimport org.app.util.Texts;\nimport java.util.List;\n"
                'public class Main {\n  void run() { new Store(); help(); fold("a"); Texts.fold("b"); }\n  void help() { List.of(); }\n}\n'
            ),
        },
        [
            "src/org/app/Main.java IMPORTS src/org/app/util/Texts.java",
            "src/org/app/Main.java#Main.run CALLS src/org/app/Main.java#Main.help",
            "src/org/app/Main.java#Main.run CALLS src/org/app/Store.java#Store",
            "src/org/app/Main.java#Main.run CALLS src/org/app/util/Texts.java#Texts.fold",
        ],
    ),
    "kotlin": (
        {
            "src/org/app/model/Models.kt": "package org.app.model\n\nclass User {\n  fun rename() {}\n}\n\nfun loadAll() {}\n",
            "src/org/app/Main.kt": (
                "package org.app\n\nimport org.app.model.User\nimport org.app.model.loadAll\n\n"
                "fun main() {\n  val u = User()\n  loadAll()\n}\n"
            ),
        },
        [
            "src/org/app/Main.kt IMPORTS src/org/app/model/Models.kt",
            "src/org/app/Main.kt#main CALLS src/org/app/model/Models.kt#User",
            "src/org/app/Main.kt#main CALLS src/org/app/model/Models.kt#loadAll",
        ],
    ),
    "scala": (
        {
            "src/org/app/Store.scala": "package org.app\n\nclass Store {\n  def write(): Unit = flush()\n  def flush(): Unit = ()\n}\n",
            "src/org/tool/Main.scala": (
                "package org.tool\n\nimport org.app.{Store => S, _}\n\nobject Main {\n  def run(): Unit = { val s = new S() }\n}\n"
            ),
        },
        [
            "src/org/app/Store.scala#Store.write CALLS src/org/app/Store.scala#Store.flush",
            "src/org/tool/Main.scala IMPORTS src/org/app/Store.scala",
            "src/org/tool/Main.scala#Main.run CALLS src/org/app/Store.scala#Store",
        ],
    ),
    "c": (
        {
            "include/list.h": "int list_new(void);\n",
            "src/list.c": '#include "list.h"\n\nstatic int grow(void) { return 1; }\n\nint list_new(void) { return grow(); }\n',
            "src/main.c": '#include <stdio.h>\n#include "list.h"\n\nint main(void) { printf("x"); return list_new(); }\n',
        },
        [
            "src/list.c IMPORTS include/list.h",
            "src/list.c#list_new CALLS src/list.c#grow",
            "src/main.c IMPORTS include/list.h",
            "src/main.c#main CALLS src/list.c#list_new",
        ],
    ),
    "cpp": (
        {
            "src/store.hpp": "namespace app {\nclass Store {\n public:\n  void write();\n  void flush() {}\n};\n}\n",
            "src/store.cpp": '#include "store.hpp"\n\nvoid app::Store::write() { flush(); }\n',
            "src/main.cpp": '#include "store.hpp"\n\nint main() { app::Store* s = new app::Store(); return 0; }\n',
        },
        [
            "src/main.cpp IMPORTS src/store.hpp",
            "src/main.cpp#main CALLS src/store.hpp#app.Store",
            "src/store.cpp IMPORTS src/store.hpp",
            "src/store.cpp#app.Store.write CALLS src/store.hpp#app.Store.flush",
        ],
    ),
    "csharp": (
        {
            "Model/User.cs": "namespace App.Model {\n  public class User {\n    public static void Rename() {}\n  }\n}\n",
            "Program.cs": (
                "using System;\nusing App.Model;\n\nclass Program {\n  static void Main() { var u = new User(); User.Rename(); Help(); }\n"
                "  static void Help() {}\n}\n"
            ),
        },
        [
            "Program.cs IMPORTS Model/User.cs",
            "Program.cs#Program.Main CALLS Model/User.cs#App.Model.User",
            "Program.cs#Program.Main CALLS Model/User.cs#App.Model.User.Rename",
            "Program.cs#Program.Main CALLS Program.cs#Program.Help",
        ],
    ),
    "ruby": (
        {
            "lib/app/store.rb": "module App\n  class Store\n    def self.open_it\n      1\n    end\n  end\nend\n",
            "lib/app/text.rb": "def squeeze_text(text)\n  text\nend\n",
            "lib/app.rb": (
                "require 'json'\nrequire 'app/store'\nrequire_relative 'app/text'\n\n"
                "def boot\n  App::Store.open_it\n  squeeze_text('x')\nend\n"
            ),
        },
        [
            "lib/app.rb IMPORTS lib/app/store.rb",
            "lib/app.rb IMPORTS lib/app/text.rb",
            "lib/app.rb#boot CALLS lib/app/store.rb#App.Store.open_it",
            "lib/app.rb#boot CALLS lib/app/text.rb#squeeze_text",
        ],
    ),
    "php": (
        {
            "app/Models/User.php": "<?php\nnamespace App\\Models;\nclass User {\n  static function find() {}\n}\n",
            "app/helpers.php": "<?php\nfunction format_name($n) { return $n; }\n",
            "app/Http/Page.php": (
                "<?php\nnamespace App\\Http;\nuse App\\Models\\User;\nrequire_once __DIR__ . '/../helpers.php';\n"
                "class Page {\n  function show() { User::find(); $this->render(); format_name('x'); }\n"
                "  function render() { return new User(); }\n}\n"
            ),
        },
        [
            "app/Http/Page.php IMPORTS app/Models/User.php",
            "app/Http/Page.php IMPORTS app/helpers.php",
            "app/Http/Page.php#Page.render CALLS app/Models/User.php#User",
            "app/Http/Page.php#Page.show CALLS app/Http/Page.php#Page.render",
            "app/Http/Page.php#Page.show CALLS app/Models/User.php#User.find",
            "app/Http/Page.php#Page.show CALLS app/helpers.php#format_name",
        ],
    ),
    "swift": (
        {
            "Sources/App/Store.swift": "class Store {\n  func write() { flush() }\n  func flush() {}\n}\n",
            "Sources/App/main.swift": "import Foundation\n\nfunc boot() {\n  let s = Store()\n}\n",
        },
        [
            "Sources/App/Store.swift#Store.write CALLS Sources/App/Store.swift#Store.flush",
            "Sources/App/main.swift#boot CALLS Sources/App/Store.swift#Store",
        ],
    ),
    "shell": (
        {
            "bin/lib/log.sh": "log_line() {\n  echo x\n}\n",
            "bin/run.sh": '#!/bin/bash\nsource "${HERE}/lib/log.sh"\n\nmain() {\n  log_line hello\n}\n\nmain\n',
        },
        [
            "bin/run.sh CALLS bin/run.sh#main",
            "bin/run.sh IMPORTS bin/lib/log.sh",
            "bin/run.sh#main CALLS bin/lib/log.sh#log_line",
        ],
    ),
    "markdown": (
        {
            "README.md": (
                "# App\n\nSee [the guide](docs/guide.md) and `src/store.py`.\n\n"
                "## Use\n\nCall `Store.write()` or `open_store`; not `missing`.\n"
            ),
            "docs/guide.md": "# Guide\n\nBack to [it](../README.md#use), or `store.py:2`.\n",
            "src/store.py": "class Store:\n    def write(self):\n        pass\n\n\ndef open_store():\n    return 1\n",
        },
        [
            "README.md REFERENCES docs/guide.md",
            "README.md#App > Use REFERENCES src/store.py#Store.write",
            "README.md#App > Use REFERENCES src/store.py#open_store",
            "README.md#App REFERENCES src/store.py",
            "docs/guide.md REFERENCES README.md",
            "docs/guide.md REFERENCES README.md#App > Use",
            "docs/guide.md#Guide REFERENCES src/store.py",
        ],
    ),
}


@pytest.mark.parametrize("language", PROJECTS)
def test_a_small_project_has_just_these_edges(language: str) -> None:
    files, expected = PROJECTS[language]
    found = linked(files)
    assert sorted(f"{source} {kind} {target}" for source, kind, target in found if kind != "DEFINES") == expected
    assert {target for _, kind, target in found if kind == "DEFINES"}, "everything that is defined is said to be"


@pytest.fixture(scope="module")
def own() -> tuple[dict[str, str], set[tuple[str, str, str]]]:
    """This project's own source, and its edges."""
    paths = sorted((ROOT / "src").rglob("*.py"))
    files = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    files |= {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "ARCHITECTURE.md")}
    return files, linked(files)


def _imported(files: Mapping[str, str], path: str) -> set[str]:
    """The files that a module imports, as Python says."""
    found: set[str] = set()
    package = path.split("/")[:-1]
    for node in ast.walk(ast.parse(files[path])):
        wanted: list[list[str]] = []
        if isinstance(node, ast.Import):
            wanted = [["src", *alias.name.split(".")] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ["src"]
            base = [*base, *(node.module.split(".") if node.module else [])]
            inner = [[*base, alias.name] for alias in node.names]
            wanted = [one if _file(files, one) else base for one in inner]
        found |= {file for one in wanted if (file := _file(files, one))}
    return found - {path}


def _file(files: Mapping[str, str], parts: list[str]) -> str | None:
    path = "/".join(parts)
    return next((name for name in (f"{path}.py", f"{path}/__init__.py") if name in files), None)


def test_imports_of_this_project_are_those_that_python_sees(own: tuple[dict[str, str], set[tuple[str, str, str]]]) -> None:
    files, edges = own
    found = {(source, target) for source, kind, target in edges if kind == "IMPORTS"}
    real = {(path, target) for path in files if path.endswith(".py") for target in _imported(files, path)}
    assert len(real) > 500
    assert len(found & real) / len(found) > 0.95, sorted(found - real)
    assert len(found & real) / len(real) > 0.95, sorted(real - found)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("ingest/linking.py#link", "ingest/linking.py#_link_affected"),
        ("ingest/linking.py#_all_edges", "ingest/linking_edges.py#edges_of"),
        ("ingest/linking_edges.py#edges_of", "ingest/linking_references.py#references"),
        ("expand/__init__.py#expand", "expand/spans.py#Shown"),
        ("expand/__init__.py#expand", "ports.py#Store"),
        ("outline.py#symbols_of", "model.py#Symbol"),
        ("outline.py#symbols_of", "outline.py#unpack"),
        ("model.py#Symbol.key", "model.py#symbol_key"),
    ],
)
def test_calls_of_this_project_are_found(own: tuple[dict[str, str], set[tuple[str, str, str]]], source: str, target: str) -> None:
    assert (f"src/recollect/{source}", "CALLS", f"src/recollect/{target}") in own[1]


def test_documents_of_this_project_refer_to_its_files(own: tuple[dict[str, str], set[tuple[str, str, str]]]) -> None:
    _, edges = own
    referred = {target for source, kind, target in edges if kind == "REFERENCES" and source.startswith("ARCHITECTURE.md")}
    assert {"src/recollect/stores/windows.py", "src/recollect/evidence/gather.py"} <= referred
