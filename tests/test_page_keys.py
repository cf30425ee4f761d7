"""The page where keys are needed and a language model is set: who may do what, memories, and answers with their sources."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, expect

from browsing import Desk, browsing, desk, serving
from bureau import furnish
from recollect.surfaces.keys import hash_of
from scripted import Asked, scripted, streamed

WRITER, READER, SLOW = "rk_writer-0123456789", "rk_reader-0123456789", "rk_slow-0123456789"
QUESTION = "how are backups encrypted?"
ANSWER = ("Backups are encrypted with a key of the ten", "ant [1]. ", "The moon is made of cheese. ", "Keys are renewed [1][99].")


def said(asked: Asked) -> object:
    """What the model says: the answer as it is streamed, and nothing to whoever else asks."""
    return b"".join(streamed(*ANSWER)) if asked.get("stream") else {"choices": []}


def keys() -> list[dict[str, object]]:
    return [
        {"name": "writer", "hash": hash_of(WRITER), "scopes": ["*"], "may": "write"},
        {"name": "reader", "hash": hash_of(READER), "scopes": ["default"]},
        {"name": "slow", "hash": hash_of(SLOW), "scopes": ["default"], "requests_per_s": 1},
    ]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("page-keys")
    furnish(folder)
    with scripted(right=said) as model:
        llm = {"model": "openai:scripted", "base_url": model.url, "api_key": "sk-test"}
        with serving(folder, {"serve": {"keys": keys()}, "llm": llm}) as address:
            yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Desk]:
    with desk(browser, address, key=WRITER) as page:
        yield page


def test_a_key_is_asked_for_once_and_kept_for_the_tab(browser: Browser, address: str) -> None:
    with desk(browser, address, refused="401") as page:
        page.open()
        dialog = page.page.locator("#key-dialog")
        expect(dialog).to_be_visible()
        dialog.get_by_label("Key").fill("rk_wrong")
        dialog.get_by_role("button", name="Use it").click()
        expect(dialog.get_by_label("Key")).to_have_value("")
        dialog.get_by_label("Key").fill(READER)
        page.page.keyboard.press("Enter")
        expect(page.page.locator("#home h2").first).to_have_text("21 items")
        page.page.reload()
        expect(page.page.locator("#home h2").first).to_have_text("21 items")
        expect(dialog).to_be_hidden()
        assert READER not in page.page.url
        assert page.page.evaluate("localStorage.length") == 0


def test_nobody_gives_a_key(browser: Browser, address: str) -> None:
    with desk(browser, address, refused="401") as page:
        page.open()
        page.page.get_by_role("button", name="Not now").click()
        expect(page.page.locator("#notice")).to_contain_text("key")
        expect(page.page.locator("#key-dialog")).to_be_hidden()


def test_who_may_only_read_is_offered_nothing_to_write(browser: Browser, address: str) -> None:
    with desk(browser, address, key=READER) as page:
        page.open("memories")
        expect(page.page.locator(".moment").first).to_be_visible()
        assert page.page.get_by_text("Remember something").count() == 0
        assert page.page.get_by_role("button", name="Forget").count() == 0
        assert page.page.locator("#scope option").all_inner_texts() == ["default"]


def test_a_service_that_is_asked_too_much_is_asked_again_later(browser: Browser, address: str) -> None:
    with desk(browser, address, key=SLOW, refused="429") as page:
        page.open()
        for question in ("soup", "vault", "ledger", "noodles", "invoices", "auditors"):
            page.page.fill("#q", question)
            page.page.wait_for_timeout(200)
        expect(page.page.locator("#notice")).to_contain_text("Trying again in")
        expect(page.result("REQ-7").first).to_be_visible()
        expect(page.page.locator("#notice")).to_be_hidden()


def test_an_answer_is_written_sentence_by_sentence_and_its_sources_open(page: Desk) -> None:
    page.open(q=QUESTION, tab="ask")
    page.page.get_by_role("button", name="Write an answer").click()
    written = page.page.locator("#ask-pane .written")
    expect(written).to_contain_text("encrypted with a key of the tenant")
    expect(written).to_contain_text("Keys are renewed")
    expect(written).not_to_contain_text("cheese")
    expect(page.page.locator("#ask-pane")).to_contain_text("1 citation led nowhere and went.")
    expect(page.page.locator("#ask-pane")).to_contain_text("1 sentence rested on nothing and went.")
    cited = page.page.locator("#ask-pane .cited li")
    assert re.search(r"\S+:\d+-\d+$", cited.first.inner_text())
    written.locator(".cite").first.click()
    expect(page.page.locator("#panel .wanted").first).to_be_visible()


def test_memories_are_on_a_time_line_the_newest_first(page: Desk) -> None:
    page.open("memories")
    expect(page.page.locator(".moment")).to_have_count(9)
    assert page.page.locator(".months h3").all_inner_texts() == [
        "February 2026",
        "January 2026",
        "November 2025",
        "September 2025",
        "June 2025",
    ]
    over = page.page.locator('.moment[data-id="net30"]')
    expect(over).to_contain_text("superseded by net60")
    assert over.locator(".told").evaluate("told => getComputedStyle(told).textDecorationLine") == "line-through"
    expect(page.page.locator('.moment[data-id="anvils"] time')).to_have_text("09:40")
    page.page.locator("#memories").get_by_text("facts").click()
    expect(page.page.locator(".moment")).to_have_count(2)


def test_the_time_line_goes_on_where_it_ended(page: Desk, address: str) -> None:
    lines = "\n".join(json.dumps({"text": f"The tide was {n} cm high.", "at": f"2026-03-{1 + n // 3:02}T0{n % 3}:30"}) for n in range(50))
    headers = {"Authorization": f"Bearer {WRITER}", "Content-Type": "application/x-ndjson"}
    httpx.post(f"{address}/memories?scope=tides", content=lines, headers=headers, timeout=60).raise_for_status()
    page.open("memories", scope="tides")
    expect(page.page.locator(".moment")).to_have_count(40)
    page.page.get_by_role("button", name="Show earlier").click()
    expect(page.page.locator(".moment")).to_have_count(50)
    told = page.page.locator(".moment .told").all_inner_texts()
    assert told == [f"The tide was {n} cm high." for n in reversed(range(50))]
    assert page.page.locator(".days h4").count() == 17
    assert page.page.locator(".months h3").all_inner_texts() == ["March 2026"]


def test_a_question_to_memory_gives_memories_with_their_signals(page: Desk) -> None:
    page.open("memories")
    page.page.get_by_label("Question to memory").fill("What did Acme order in January 2026?")
    page.page.get_by_role("button", name="Recall").click()
    first = page.page.locator(".recalled .memory").first
    expect(first).to_contain_text("Acme")
    assert first.locator(".five dt").all_inner_texts() == ["fit", "entities", "time", "importance", "use"]
    expect(first.locator(".why")).to_contain_text("Recalled because")
    chips = page.page.locator(".recalled .chip > span").all_inner_texts()
    assert {"Acme, customer", "Jan 1, 2026 to Jan 31, 2026"} <= {*chips}
    page.page.get_by_text("The prompt that an agent would get").click()
    expect(page.page.locator(".recalled pre")).to_contain_text("anvils")
    expect(page.page.locator(".recalled .tokens")).to_contain_text(re.compile(r"\d+\s*of [\d,]+ tokens"))


def test_what_was_read_from_a_question_to_memory_can_be_removed_and_read_again(page: Desk) -> None:
    page.open("memories", recall="What did Acme order in January 2026?")
    chips = page.page.locator(".recalled .chip > span")
    expect(chips).to_contain_text(["factual", "Jan 1, 2026 to Jan 31, 2026", "Acme, customer"])
    page.page.get_by_role("button", name="Remove Jan 1, 2026 to Jan 31, 2026").click()
    expect(page.page.locator(".recalled .chip.said")).to_have_count(0)
    page.page.get_by_role("button", name="Remove Acme, customer").click()
    expect(page.page.locator(".recalled .chip.entity")).to_have_count(0)
    page.page.get_by_role("button", name=re.compile("Read again .*January 2026")).click()
    expect(page.page.locator(".recalled .chip.said")).to_have_text(re.compile("Jan 1, 2026 to Jan 31, 2026"))
    expect(page.page.locator(".recalled .chip.entity")).to_have_count(0)


def test_something_is_remembered_and_forgotten_when_that_is_meant(page: Desk) -> None:
    page.open("memories")
    page.page.get_by_text("Remember something", exact=True).click()
    page.page.get_by_role("textbox", name="What happened").fill("The heron <b>returned</b> to the pond.")
    page.page.get_by_label("Whom and what it is about").fill("Globex")
    page.page.locator(".remember").get_by_role("button", name="Remember").click()
    expect(page.page.locator("#notice")).to_contain_text("Remembered")
    heron = page.page.locator(".moment", has_text="The heron <b>returned</b> to the pond.")
    expect(heron).to_contain_text("customer:globex")
    heron.get_by_role("button", name="Forget").click()
    heron.get_by_role("button", name="Keep it").click()
    expect(heron).to_be_visible()
    heron.get_by_role("button", name="Forget").click()
    heron.get_by_role("button", name="Forget it").click()
    expect(heron).to_have_count(0)
    expect(page.page.locator(".moment")).to_have_count(9)


def test_a_fact_takes_the_place_of_another(page: Desk) -> None:
    page.open("memories", type="semantic")
    page.page.get_by_text("Remember something", exact=True).click()
    page.page.locator(".remember select").select_option("semantic")
    for label, value in (("About whom", "Globex"), ("What is said of it", "prefers colour"), ("The value", "red")):
        page.page.get_by_label(label).fill(value)
    page.page.locator(".remember").get_by_role("button", name="Remember").click()
    expect(page.page.locator(".moment")).to_have_count(3)
    for label, value in (("About whom", "Globex"), ("What is said of it", "prefers colour"), ("The value", "blue")):
        page.page.get_by_label(label).fill(value)
    page.page.locator(".remember").get_by_role("button", name="Remember").click()
    expect(page.page.locator(".moment.over", has_text="red")).to_contain_text("superseded by")
