"""Documents are linked to each other: by links, pages, ids, front matter and records; and again whenever what they mean comes or goes."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from recollect import Item, Library
from recollect.ingest.linking import link
from recollect.model import Batch, Edge, Entry, Symbol
from recollect.outline import Alias, Link, Outline, links_of, symbols_of, unpack
from recollect.settings import EmbedSettings, Settings
from recollect.stores.reference import ReferenceStore
from recollect.syntax import outline_of
from recollect.syntax.ids import canonical, ids_of, mentioned
from test_linking_changes import AT

OPTIONS = Settings(embed=EmbedSettings(model="none"))


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


class Folder:
    """A folder of documents, and a library that has taken it in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.library = Library.open(path / ".recollect", options=OPTIONS)
        self._count = 0

    async def bring(self, **texts: str | None) -> set[str]:
        """Write documents, or remove those that are None, and index; all edges but DEFINES."""
        for name, text in texts.items():
            path = self.path / f"{name.replace('__', '/')}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                self._count += 1
                path.write_text(text + "\n" * self._count, encoding="utf-8")
        await self.library.index(self.path, base=self.path)
        return await self.edges()

    async def edges(self) -> set[str]:
        found = [edge async for edge in self.library.store.edges("default") if edge.type != "DEFINES"]
        return {f"{edge.source} {edge.type} {edge.target}" for edge in found}


def found(path: Path, **texts: str) -> set[str]:
    """The edges of some documents."""

    async def made() -> set[str]:
        folder = Folder(path)
        async with folder.library:
            return await folder.bring(**texts)

    return asyncio.run(made())


@pytest.mark.parametrize(
    ("written", "id_"),
    [
        ("ADR-0007", "ADR-7"),
        ("ADR 7", "ADR-7"),
        ("adr-7", "ADR-7"),
        ("adr_0007", "ADR-7"),
        ("FR-3.1", "FR-3.1"),
        ("NFR-04", "NFR-4"),
        ("SYS-REQ-12", "SYS-REQ-12"),
        ("fr 3", None),
        ("utf-8", None),
        ("UTF-8", "UTF-8"),
        ("ISO-8859-1", None),
        ("REQ-", None),
        ("REQ-12a", None),
    ],
)
def test_an_id_is_one_however_it_is_written(written: str, id_: str | None) -> None:
    assert canonical(written) == id_


def test_ids_are_found_in_a_sentence_and_not_in_words_or_paths() -> None:
    text = "By ADR-0007, REQ-12. See (FR-3.1); not xADR-7, x/ADR-8.md or REQ-1-2, but RFC 9!"
    assert [name for _, _, name in mentioned(text)] == ["ADR-7", "REQ-12", "FR-3.1", "RFC-9"]


@pytest.mark.parametrize(
    ("item_id", "title", "ref", "names"),
    [
        ("adr-007", None, None, ["ADR-7"]),
        ("x", "ADR-0007: Use Postgres", None, ["ADR-7"]),
        ("x", "[REQ-12] Login", None, ["REQ-12"]),
        ("x", "Login (REQ-12)", None, ["REQ-12"]),
        ("x", "What ADR-7 left open", None, []),
        ("x", None, "docs/adr/0007-use-postgres.md", ["ADR-7"]),
        ("x", None, "docs/decisions/7_x.md", ["ADR-7"]),
        ("x", None, "rfcs/0012.md", ["RFC-12"]),
        ("x", None, "notes/0007-use-postgres.md", []),
        ("x", None, "notes/ADR-0007-use-postgres.md", ["ADR-7"]),
    ],
)
def test_what_an_item_is_called(item_id: str, title: str | None, ref: str | None, names: list[str]) -> None:
    assert ids_of(item_id, title, ref) == names


def test_links_lead_from_a_document_to_the_document_and_its_section(tmp_path: Path) -> None:
    edges = found(
        tmp_path,
        docs__a="""# A

A [link](../adr/0003.md#the-choice), one [with a title](b.md "B"), a [reference][r], and one in `[code](b.md)`.
<https://example.com/b.md> [outside](https://example.com/docs/c.md) [a mail](mailto:x@example.com) [here](#a)

[r]: sub/

```
[not a link](c.md) [[c]] ADR-3
```
""",
        docs__b="# B\n\nSee [[c]], [[The C page|that one]], [[Nowhere]] and [[c#Second part]].\n",
        docs__c="# The C page\n\n## Second part\n\nText.\n",
        docs__sub__README="# Sub\n\n[up](../b) [[../c]]\n",
        adr__0003="# Three\n\n## The choice\n\nText. [self](0003.md) ADR-3\n",
    )
    assert edges == {
        "docs/a.md REFERENCES adr/0003.md",
        "docs/a.md REFERENCES adr/0003.md#Three > The choice",
        "docs/a.md REFERENCES docs/b.md",
        "docs/a.md REFERENCES docs/sub/README.md",
        "docs/b.md REFERENCES docs/c.md",
        "docs/b.md REFERENCES docs/c.md#The C page > Second part",
        "docs/sub/README.md REFERENCES docs/b.md",
        "docs/sub/README.md REFERENCES docs/c.md",
    }


def test_ids_in_the_text_lead_to_what_has_them(tmp_path: Path) -> None:
    edges = found(
        tmp_path,
        notes="By ADR 7, by `adr-0007`, FR-3.1, RFC-12 and PAY-4; not REQ-99.\n",
        adr__0007_use_postgres="# Use Postgres\n",
        rfc12="# RFC-12: Words\n",
        requirements="# Requirements\n\n## FR-3.1: Export\n\n## FR-31 Import\n",
        pay="---\nid: PAY-4\n---\n# Pay\n",
    )
    assert edges == {
        "notes.md REFERENCES adr/0007_use_postgres.md",
        "notes.md REFERENCES requirements.md",
        "notes.md REFERENCES requirements.md#Requirements > FR-3.1: Export",
        "notes.md REFERENCES rfc12.md",
        "notes.md REFERENCES PAY-4",
    }


def test_code_and_plain_text_refer_to_requirements(tmp_path: Path) -> None:
    (tmp_path / "store.py").write_text("# Implements REQ-12.\ndef write():\n    return 'UTF-8'\n")
    (tmp_path / "notes.txt").write_text("REQ-0012 is done.\n")
    edges = found(tmp_path, reqs__REQ_12="# Storage\n", utf="---\nid: UTF-8\n---\n# X\n")
    assert edges == {"store.py REFERENCES reqs/REQ_12.md", "notes.txt REFERENCES reqs/REQ_12.md"}


def test_front_matter_links_by_id_by_path_by_page_and_by_number(tmp_path: Path) -> None:
    edges = found(
        tmp_path,
        adr__0007="""---
id: seven
implements: [REQ-12, "[[Login]]", ../design.md]
satisfies:
  - [[FR-3]]
references: "[the design](../design.md)"
supersedes: 3
superseded-by: ADR-9
---
# Seven

It implements REQ-12, and takes the place of [three](0003.md).
""",
        adr__0003="# Three\n",
        adr__0009="# Nine\n",
        reqs="# Reqs\n\n## REQ-12\n\nx\n\n## FR-3\n\ny\n",
        login="---\ntitle: Login\n---\nText.\n",
        design="# Design\n",
    )
    assert edges == {
        "seven IMPLEMENTS reqs.md",
        "seven IMPLEMENTS reqs.md#Reqs > REQ-12",
        "seven IMPLEMENTS login.md",
        "seven IMPLEMENTS design.md",
        "seven SATISFIES reqs.md",
        "seven SATISFIES reqs.md#Reqs > FR-3",
        "seven SUPERSEDES adr/0003.md",
        "adr/0009.md SUPERSEDES seven",
    }


def test_a_decision_says_in_its_text_what_took_its_place(tmp_path: Path) -> None:
    edges = found(
        tmp_path,
        adr__0001="# One\n\n## Status\n\nSuperseded by [ADR-2](0002.md)\n",
        adr__0002="# Two\n\n* Status: accepted, supersedes ADR-1 and replaces ADR-0\n",
        adr__0000="# Zero\n\nStatus: Superseded by [[0002]]\n",
        adr__0003="---\nsupersedes: ADR-2\n---\n# Three\n\n## Status\n\nSupersedes ADR-1\n",
    )
    assert edges == {
        "adr/0002.md SUPERSEDES adr/0001.md",
        "adr/0002.md SUPERSEDES adr/0000.md",
        "adr/0003.md SUPERSEDES adr/0002.md",
        "adr/0003.md REFERENCES adr/0001.md",
    }


def test_decisions_link_as_tools_write_them(tmp_path: Path) -> None:
    edges = found(
        tmp_path,
        adr__0001_x="# 1. X\n\nDate: 2024-05-17\n\n## Status\n\nSuperceded by [2. Y](0002_y.md)\n\n## Context\n\nText.\n",
        adr__0002_y="# 2. Y\n\n## Status\n\nAccepted\n\nSupercedes [1. X](0001_x.md)\n\nAmends [3. Z](0003_z.md)\n\n## Context\n",
        adr__0003_z="# 3. Z\n\n## Status\n\nAccepted\n\n* Replaced by ADR-4\n\nBut see ADR-2.\n",
        adr__0004_m="---\nstatus: superseded by [ADR-5](0005_n.md)\n---\n# M\n",
        adr__0005_n="---\nsuperseded-by: none\nsupersedes: []\n---\n# N\n\n## Status\n\nAccepted\n\nReplaces [[0006_o]]\n",
        adr__0006_o="# O\n\n```\n## Status\n\nSuperseded by ADR-1\n```\n",
        none="# None\n",
    )
    assert edges == {
        "adr/0002_y.md SUPERSEDES adr/0001_x.md",
        "adr/0002_y.md REFERENCES adr/0003_z.md",
        "adr/0004_m.md SUPERSEDES adr/0003_z.md",
        "adr/0003_z.md REFERENCES adr/0002_y.md",
        "adr/0005_n.md SUPERSEDES adr/0004_m.md",
        "adr/0005_n.md SUPERSEDES adr/0006_o.md",
    }


def test_weights_are_those_of_the_relations(tmp_path: Path) -> None:
    async def work() -> None:
        folder = Folder(tmp_path)
        async with folder.library as library:
            await folder.bring(a="---\nimplements: b.md\nsatisfies: c.md\nreferences: d.md\nsupersedes: e.md\n---\n")
            edges = [edge async for edge in library.store.edges("default")]
            assert {(edge.type, edge.weight, edge.origin) for edge in edges} == set()
            await folder.bring(b="B", c="C", d="D", e="E")
            edges = [edge async for edge in library.store.edges("default")]
            assert {(edge.type, edge.weight, edge.origin) for edge in edges} == {
                ("IMPLEMENTS", 1.0, "a.md"),
                ("SATISFIES", 0.9, "a.md"),
                ("REFERENCES", 0.7, "a.md"),
                ("SUPERSEDES", 0.5, "a.md"),
            }

    run(work())


def test_what_dangles_is_linked_when_it_comes_and_let_go_when_it_goes(tmp_path: Path) -> None:
    async def work() -> None:
        folder = Folder(tmp_path)
        async with folder.library as library:
            notes = "---\nimplements: late\n---\nADR-7, [[page]], [x](sub/y.md#part), REQ-1, [[A title]]\n"
            assert await folder.bring(notes=notes) == set()
            assert await folder.bring(adr__0007="# X\n") == {"notes.md REFERENCES adr/0007.md"}
            assert await folder.bring(deep__page="p") == {"notes.md REFERENCES adr/0007.md", "notes.md REFERENCES deep/page.md"}
            assert await folder.bring(deep__page=None, adr__0007=None, sub__y="# Y\n") == {"notes.md REFERENCES sub/y.md"}
            part = {"notes.md REFERENCES sub/y.md", "notes.md REFERENCES sub/y.md#Y > Part"}
            assert await folder.bring(sub__y="# Y\n\n## Part\n\nx\n") == part
            assert await folder.bring(sub__y="# Y\n", reqs="# R\n") == {"notes.md REFERENCES sub/y.md"}
            req = {"notes.md REFERENCES reqs.md", "notes.md REFERENCES reqs.md#R > REQ-1 a"}
            assert await folder.bring(sub__y=None, reqs="# R\n\n## REQ-1 a\n\nx\n") == req
            assert await folder.bring(reqs=None, titled="---\ntitle: A title\n---\nx\n") == {"notes.md REFERENCES titled.md"}
            await folder.bring(titled=None)
            await library.import_records([b'{"id": "late", "text": "comes as a record"}'])
            assert await folder.edges() == {"notes.md IMPLEMENTS late"}
            await library.delete("late")
            assert await folder.edges() == set()
            await library.import_records([b'{"id": "late", "text": "comes again"}'])
            assert await folder.edges() == {"notes.md IMPLEMENTS late"}

    run(work())


def test_a_path_that_gets_an_id_keeps_its_links(tmp_path: Path) -> None:
    async def work() -> None:
        folder = Folder(tmp_path)
        async with folder.library:
            await folder.bring(a="[b](b.md)", b="# B\n")
            assert await folder.bring(b="---\nid: bee\n---\n# B\n") == {"a.md REFERENCES bee"}
            assert await folder.bring(b="# B\n") == {"a.md REFERENCES b.md"}

    run(work())


def test_what_two_say_stays_when_one_says_it_no_more(tmp_path: Path) -> None:
    async def work() -> None:
        folder = Folder(tmp_path)
        async with folder.library:
            one, two = "---\nid: one\nsuperseded-by: two\n---\n", "---\nid: two\nsupersedes: one\n---\n"
            assert await folder.bring(a=one, b=two) == {"two SUPERSEDES one"}
            assert await folder.bring(a="---\nid: one\n---\n") == {"two SUPERSEDES one"}
            assert await folder.bring(a=one) == {"two SUPERSEDES one"}
            assert await folder.bring(b="---\nid: two\n---\n") == {"two SUPERSEDES one"}
            assert await folder.bring(a="---\nid: one\n---\n") == set()

    run(work())


def test_records_link_as_front_matter_does(tmp_path: Path) -> None:
    async def work() -> None:
        async with Library.open(tmp_path / ".recollect", options=OPTIONS) as library:
            lines = [
                {"id": "d1", "text": "A design for REQ-2.", "implements": ["REQ-1", "missing"], "metadata": {"supersedes": "d0"}},
                {"id": "d0", "text": "The old design.", "superseded_by": "d1"},
                {"id": "REQ-1", "text": "It must work."},
                {"id": "r2", "title": "REQ-2: Speed", "text": "It must be fast."},
            ]
            await library.import_records(json.dumps(line).encode() for line in lines)
            edges = {f"{edge.source} {edge.type} {edge.target}" async for edge in library.store.edges("default")}
            assert edges == {"d1 IMPLEMENTS REQ-1", "d1 SUPERSEDES d0", "d1 REFERENCES r2"}

    run(work())


def test_what_could_mean_two_means_neither(tmp_path: Path) -> None:
    edges = found(
        tmp_path, a="ADR-1 [[page]] [[Same]]", x__page="p", y__page="q", adr__0001="# One", decisions__1_b="# B", s="# Same", t="# Same"
    )
    assert edges == set()


def test_linking_bit_by_bit_is_linking_at_once() -> None:
    """Documents that come, change and go in any order are linked as if the last of them had been there at once."""
    texts = [
        "---\nsupersedes: {b}\n---\n[x]({a}.md) ADR-{n}",
        "# ADR-{n}: t\n\n[[{a}]] [[{b}#Part]]\n",
        "# T{n}\n\n## Part\n\nREQ-{n} [y]({b}.md#part) [[T{n}]]\n",
        "# Rs\n\n## REQ-{n}: x\n\n## Part\n\n",
        "---\nsuperseded-by: {a}\nimplements: REQ-{n}\n---\n",
    ]
    names = ["a", "b", "c", "d", "e"]

    def entry(name: str, text: str) -> Entry:
        path = f"{name}.md"
        made = {"supersedes": "", "superseded-by": "", "implements": ""}
        for line in text.split("\n"):
            key, _, value = line.partition(": ")
            if key in made:
                made[key] = f"{value}.md" if key != "implements" else value
        title = text.split("# ")[1].split("\n")[0] if text.startswith("# ") else None
        metadata = {key: value for key, value in made.items() if value}
        item = Item(
            scope="s",
            id=path,
            text=text,
            format="markdown",
            source="file",
            source_ref=path,
            title=title,
            metadata=metadata,
            created_at=AT,
            updated_at=AT,
        )
        outline = outline_of(item)
        return Entry(item, outline=outline.pack() if outline else b"")

    async def bring(store: ReferenceStore, before: dict[str, str], after: dict[str, str]) -> None:
        changed = [name for name in after if after[name] != before.get(name)]
        gone = {f"{name}.md": f"{name}.md" for name in before if name not in after}
        old = {each.item.id: each.outline for each in await store.get("s", [*(f"{name}.md" for name in changed), *gone])}
        await store.write("s", Batch([entry(name, after[name]) for name in changed], delete=list(gone)))
        await link(store, "s", old, came=[f"{name}.md" for name in changed if name not in before], gone=gone)

    async def edges(store: ReferenceStore) -> set[tuple[str, str, str]]:
        return {(edge.source, edge.type, edge.target) async for edge in store.edges("s")}

    async def work() -> None:
        rng = random.Random(7)
        for _ in range(40):
            store, last = ReferenceStore(), dict[str, str]()
            for _ in range(5):
                now = dict(last)
                for name in rng.sample(names, 2):
                    now[name] = rng.choice(texts).format(a=rng.choice(names), b=rng.choice(names), n=rng.randint(1, 2))
                for name in rng.sample(names, 1):
                    now.pop(name, None)
                await bring(store, last, now)
                last = now
                fresh = ReferenceStore()
                await bring(fresh, {}, last)
                assert await edges(store) == await edges(fresh), last

    run(work())


def test_links_are_read_of_a_packed_outline_alone() -> None:
    links = (Link("REFERENCES", 'a "b"\n', "path"), Link("SUPERSEDES", "é", "name", True))
    outline = Outline(language="markdown", links=links, aliases=(Alias("ADR-7"), Alias("REQ-1", "A > B")))
    assert links_of(outline.pack()) == links
    assert unpack(outline.pack()) == outline
    assert links_of(Outline(language="python").pack()) == links_of(b"") == ()
    old = b'[2,"markdown",[],[],[["A",[["x",""]]]],false]'
    assert links_of(old) == ()
    before = unpack(old)
    assert before is not None
    assert (before.links, [use.name for use in before.uses]) == ((), ["x"])


def test_further_names_are_symbols_of_the_item_or_of_its_section() -> None:
    item = Item(scope="s", id="i", text="# T\n\n## REQ-1: x\n\ny\n", format="markdown", title="ADR-07: t", created_at=AT, updated_at=AT)
    outline = outline_of(item)
    assert outline is not None
    found = {symbol.name: symbol for symbol in symbols_of(item, outline.pack())}
    assert (found["ADR-7"].node, found["ADR-7"].kind) == ("i", "file")
    assert found["REQ-1"] == Symbol("i", "REQ-1", "T > REQ-1: x", "section", 5, len(item.text), 3, 5, "T")


def test_an_edge_that_somebody_gave_outlives_what_documents_say(tmp_path: Path) -> None:
    async def work() -> None:
        folder = Folder(tmp_path)
        async with folder.library as library:
            await folder.bring(a="[b](b.md)", b="B")
            await library.link([Edge("a.md", "REFERENCES", "b.md", 0.9)])
            assert await folder.bring(a="no link") == {"a.md REFERENCES b.md"}

    run(work())
