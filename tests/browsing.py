"""A real browser at a real `recollect serve`, for the tests of the page; what it must never do is noted as it happens."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import yaml
from playwright.sync_api import Browser, Locator, Page, Request, sync_playwright

PATIENCE_MS = 30_000


@contextmanager
def serving(folder: Path, options: Mapping[str, Any] | None = None) -> Iterator[str]:
    """Serve the store in a folder, with these settings; the address."""
    (folder / "recollect.yaml").write_text(yaml.safe_dump(dict(options or {})), encoding="utf-8")
    command = [sys.executable, "-m", "recollect", "serve", "--json", "--port", "0", "--store", "store"]
    with (folder / "log").open("a") as log, subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said, (folder / "log").read_text(encoding="utf-8")
            yield json.loads(said)["address"]
        finally:
            process.kill()


@contextmanager
def browsing() -> Iterator[Browser]:
    """Chromium as the system has it. Where there is none, tests are skipped, but not in CI."""
    found = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    if not found:
        if os.environ.get("CI"):
            pytest.fail("the tests of the page need a browser: install chromium")
        pytest.skip("needs a browser: install chromium")
    sandbox = [] if os.getuid() else ["--no-sandbox"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=sandbox)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Desk:
    """A page at a service. `wrong` has what it must not do: errors of its script, requests to elsewhere, refusals by its policy."""

    page: Page
    address: str
    wrong: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    """The paths of all requests."""

    def watch(self) -> None:
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("console", lambda said: self.wrong.append(f"console: {said.text}") if said.type in ("error", "warning") else None)
        self.page.on("request", self._note)

    def _note(self, request: Request) -> None:
        place = urlsplit(request.url)
        self.sent.append(place.path)
        if f"{place.scheme}://{place.netloc}" != self.address.rstrip("/"):
            self.wrong.append(f"request: {request.url}")

    def open(self, view: str = "search", **parameters: str) -> None:
        """Show a view, as its address has it."""
        query = "&".join(f"{name}={quote(value)}" for name, value in parameters.items())
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}/#/{view}?{query}")

    def search(self, question: str) -> None:
        """Ask, and wait for the answer to just this."""
        self.page.fill("#q", question)
        self.settle()

    def settle(self) -> None:
        """Wait until the answer to what is asked is shown, with its evidence."""
        self.page.wait_for_function("document.title.startsWith(document.querySelector('#q').value)")
        self.page.wait_for_timeout(150)  # The pause after the last letter, which begins the search.
        self.page.wait_for_selector("#results:not([aria-busy])", state="attached")

    def titles(self) -> list[str]:
        return self.page.locator("#results .title").all_inner_texts()

    def result(self, item_id: str) -> Locator:
        return self.page.locator(f'#results [data-id="{item_id}"]')

    def chips(self) -> list[str]:
        return self.page.locator("#plan .chip > span").all_inner_texts()

    def is_wider_than_the_window(self) -> bool:
        return bool(self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))


@contextmanager
def desk(browser: Browser, address: str, *, key: str = "", refused: str = "nothing", **options: Any) -> Iterator[Desk]:
    """A page of its own, with nothing kept but a key; in the end nothing must have gone wrong, but that the service `refused` something,
    which the browser tells of by its status."""
    with browser.new_context(locale="en", timezone_id="UTC", **options) as context:
        if key:
            context.add_init_script(f"if (location.host) sessionStorage.setItem('recollect.key', {json.dumps(key)})")
        made = Desk(context.new_page(), address)
        made.watch()
        yield made
        wrong = [each for each in made.wrong if f"status of {refused}" not in each]
        assert not wrong, wrong
