"""Lets Tantivy read an index in a folder that may not be written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def readable(folder: Path) -> Iterator[Path]:
    """The folder, or where it may not be written a folder of links to its files: Tantivy does not read without a lock file of its own.

    What has been opened there stays open when the links are gone."""
    if all(os.access(path, os.W_OK) for path in (folder, *folder.glob("*.lock"))):
        yield folder
        return
    with TemporaryDirectory(prefix="recollect-") as links:
        for file in folder.iterdir():
            if file.suffix != ".lock":
                os.symlink(file.absolute(), Path(links, file.name))
        yield Path(links)
