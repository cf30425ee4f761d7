"""A small store for the tests of the page, as a team would have it: documents that refer to each other, code, and memories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import recollect

HOSTILE = """\
# Escaping </script><script>document.title = "owned"</script>

Text such as <img src=x onerror="document.title='owned'"> and <b>bold</b> is data: it is escaped wherever it is shown.
🦉🦉 Owls are counted as one character each, so that what stands behind them is marked where it is.
"""

FILES = {
    "docs/architecture/billing.md": """\
---
id: arch-billing
title: Billing architecture
kind: architecture
status: approved
version: 2
date: 2024-03-01
supersedes: arch-billing-1
satisfies: [REQ-7]
subsystem: billing
---
# Billing architecture

## Invoices

Invoices are kept in an append-only ledger, one for each tenant. An entry is never changed:
a correction is an entry of its own that refers to the one it corrects.

## Backups

The ledger is copied every night to a second site. Backups are encrypted with a key of the tenant,
which lives in the vault and is renewed every ninety days.

## Reading

Balances are sums over entries, kept as snapshots so that a balance is read in one look-up.
""",
    "docs/architecture/billing-1.md": """\
---
id: arch-billing-1
title: Billing architecture, first
kind: architecture
status: superseded
version: 1
date: 2022-03-01
subsystem: billing
---
# Billing architecture

Invoices are kept in a single relational database, in one table for all tenants.
""",
    "docs/design/ledger.md": """\
---
id: design-ledger
title: Ledger design
kind: design
status: approved
date: 2024-04-01
implements: [arch-billing]
references: [ADR-3]
subsystem: billing
---
# Ledger design

## Appending

The ledger appends entries in batches. Each entry has the hash of the entry before it, so that a
ledger with a hole in it is told from a whole one.

## Snapshots

A snapshot of all balances is written after every thousand entries.

## Retries

An append that fails is tried again up to three times, with a longer pause each time.
""",
    "docs/design/archive.md": """\
---
id: design-archive
title: Cold storage of old entries
kind: design
status: draft
date: 2025-11-01
references: [design-ledger]
subsystem: billing
---
# Cold storage

Ledger entries that are older than seven years may move to cold storage, encrypted as backups are.
""",
    "docs/requirements/REQ-7.md": """\
---
id: REQ-7
title: Auditors see every change
kind: requirement
status: approved
date: 2021-05-01
---
# REQ-7 Auditors see every change

Auditors must see every change of an invoice that was ever made, and who made it.
""",
    "docs/adr/ADR-3.md": """\
---
id: ADR-3
title: Why a ledger
kind: decision
status: accepted
date: 2024-02-01
entities: [Acme]
---
# ADR-3 Why a ledger

We chose a ledger over tables, since the history of an invoice must stay whole. Acme asked for it first.
""",
    "docs/guide/escaping.md": HOSTILE,
    "docs/guide/canteen.md": "# Canteen\n\nThe canteen serves soup on Mondays and noodles on Fridays.\n",
    "docs/guide/oncall.md": """\
# On call

Whoever is on call answers within fifteen minutes. When the ledger does not append, look at the vault first:
a key that was not renewed stops every write.
""",
    "src/ledger.py": '''\
"""The ledger: entries that are appended and never changed. See design-ledger and ADR-3."""

from vault import key_of


class Ledger:
    """Entries of one tenant."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self.entries: list[bytes] = []

    def append(self, entry: bytes) -> int:
        """Append an entry, encrypted; its number."""
        self.entries.append(encrypted(entry, key_of(self.tenant)))
        return len(self.entries) - 1

    def balance(self) -> int:
        """The sum over all entries."""
        return sum(len(entry) for entry in self.entries)


def encrypted(entry: bytes, key: bytes) -> bytes:
    """An entry that only the holder of the key can read."""
    return bytes(each ^ key[at % len(key)] for at, each in enumerate(entry))
''',
    "src/vault.py": '''\
"""Keys of tenants, renewed every ninety days."""


def key_of(tenant: str) -> bytes:
    """The current key of a tenant."""
    return tenant.encode()
''',
    "src/backup.py": '''\
"""Nightly backups of ledgers to the second site."""

from ledger import Ledger, encrypted
from vault import key_of


def back_up(ledger: Ledger) -> bytes:
    """All entries of a ledger as one encrypted archive."""
    return encrypted(b"".join(ledger.entries), key_of(ledger.tenant))
''',
}

MEMORIES: list[dict[str, Any]] = [
    {
        "id": "net30",
        "type": "semantic",
        "at": "2025-06-01",
        "subject": "customer:acme",
        "predicate": "prefers payment terms",
        "object": "NET30",
    },
    {
        "id": "net60",
        "type": "semantic",
        "at": "2026-01-10",
        "subject": "customer:acme",
        "predicate": "prefers payment terms",
        "object": "NET60",
    },
    {
        "id": "rush",
        "type": "procedural",
        "at": "2025-09-02",
        "trigger": "a customer asks for a rush order",
        "action": "check the stock, then call the courier before noon",
    },
    {"id": "anvils", "at": "2026-01-16T09:40", "text": "Acme placed an order of forty anvils by phone.", "entities": ["customer:acme"]},
    {"id": "rockets", "at": "2026-01-16T15:05", "text": "Acme added two rockets to its order.", "entities": ["customer:acme"]},
    {
        "id": "late",
        "at": "2025-11-22",
        "text": "Globex complained that a delivery came a week late.",
        "entities": ["customer:globex"],
        "importance": 0.9,
    },
    {"id": "fence", "at": "2026-02-13", "text": "Repainted the fence together with the neighbours."},
    {"id": "markup", "at": "2026-02-14", "text": "The owl said <img src=x onerror=\"document.title='owned'\"> and flew off."},
    {
        "id": "sum-acme",
        "type": "summary",
        "at": "2026-01-31",
        "text": "Acme is a long-standing customer with large orders.",
        "covers": "customer:acme",
        "entities": ["customer:acme"],
    },
]


def furnish(folder: Path) -> Path:
    """Write the files and fill a store with them, and with memories; the store."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    store = folder / "store"
    with recollect.open(store) as library:
        library.memory.know("Acme", type="customer", id="customer:acme")
        library.memory.know("Globex", type="customer", id="customer:globex")
        library.index(folder / "docs")
        library.index(folder / "src")
        library.memory.remember_all(MEMORIES)
    with recollect.open(store, scope="elsewhere") as other:
        other.add_text("Nothing but the moon is kept here.", item_id="moon", title="The moon")
    return store
