"""A store is found again by its URL, whatever its folder is called."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.errors import InvalidInput, NotFound
from recollect.settings import Settings
from recollect.stores import folder_of, open_store
from recollect.stores.sqlite.status import url_of

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0/"), min_size=1).filter(lambda name: name not in (".", ".."))


@given(NAMES)
@example("a%20b")
@example("a b?c#d")
@example("caf\udce9")
def test_the_url_of_a_folder_leads_back_to_it(name: str) -> None:
    folder = Path("/somewhere") / name
    assert folder_of(url_of(folder)) == folder


@given(NAMES)
def test_a_url_is_written_in_plain_characters(name: str) -> None:
    url = url_of(Path("/somewhere") / name)
    assert url.isascii()
    assert not set(url) & set(" ?#\n")


def test_a_folder_may_be_given_as_it_is() -> None:
    assert folder_of("notes/a%20b") == Path("notes/a%20b")
    assert folder_of("sqlite:///notes/a b") == Path("notes/a b")
    assert folder_of("postgresql://server/notes") is None


@pytest.mark.parametrize("name", ["a%20b", "a b", "100%", "ünï"])
def test_a_store_is_opened_by_the_url_that_it_tells(name: str, tmp_path: Path) -> None:
    async def made_and_found() -> tuple[str, str]:
        made = open_store(str(tmp_path / name), Settings())
        await made.close()
        found = open_store(made.url, Settings(), create=False)
        await found.close()
        return made.url, found.url

    made, found = asyncio.run(made_and_found())
    assert made == found
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("url", ["", ".", "mysql://server/notes", "sqlite:///"])
def test_what_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="sqlite:///FOLDER"):
        open_store(url, Settings())


def test_a_store_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no store in"):
        open_store(str(tmp_path / "missing"), Settings(), create=False)
