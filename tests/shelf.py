"""A small shelf of notes in an embedded store, found by words alone: for the tests of what asks it from elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from recollect import Item, Library
from recollect.settings import Settings

AT = datetime(2024, 5, 17, tzinfo=UTC)
BACKUP = "# Backups\n\nThe database is copied every night.\n\n## Keys\n\nBackups are encrypted with a rotating key.\n"
NOTES = {
    "backup": (BACKUP, {"team": "ops", "year": 2024, "score": "ours stays"}),
    "restore": ("Restoring a database from backups takes an hour.\n", {"team": "ops", "year": 2022}),
    "lunch": ("The database team has lunch at noon.\n", {"team": "people", "year": 2024}),
}
OTHERS = {"secret": ("The database of another tenant.\n", {"team": "ops"})}


def words_alone() -> Settings:
    return Settings.model_validate({"embed": {"model": "none"}})


def opened(folder: Path) -> Library:
    return Library.open(folder, options=words_alone())


def filled(folder: Path) -> Path:
    """The folder of a store with the notes in it, and one of another scope."""
    with opened(folder).sync() as library:
        library.add(_item(name, *note) for name, note in NOTES.items())
    with Library.open(folder, options=words_alone(), scope="other").sync() as library:
        library.add(_item(name, *note, scope="other") for name, note in OTHERS.items())
    return folder


def _item(name: str, text: str, metadata: dict[str, object], scope: str = "default") -> Item:
    return Item(
        scope=scope,
        id=name,
        text=text,
        title=name.title(),
        source="file",
        source_ref=f"notes/{name}.md",
        format="markdown",
        status="draft" if name == "lunch" else "approved",
        metadata=metadata,
        created_at=AT,
        updated_at=AT,
    )
