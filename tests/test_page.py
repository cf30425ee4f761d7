"""The page in a real browser: searching, reading, the graph, contexts, and what it must never do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from itertools import combinations
from math import dist, hypot
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from browsing import Desk, browsing, desk, serving
from bureau import furnish

QUESTION = "how are backups encrypted?"
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("page")
    furnish(folder)
    with serving(folder) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Desk]:
    with desk(browser, address) as page:
        yield page


def test_the_first_screen_says_what_there_is(page: Desk) -> None:
    page.open()
    expect(page.page.locator("#home h2").first).to_have_text("21 items")
    expect(page.page.locator("#q")).to_be_focused()
    page.page.get_by_role("button", name="3 code").click()
    assert page.chips() == ["kind: code"]
    page.search("ledger")
    assert {*page.page.locator("#results .badge:first-child").all_inner_texts()} == {"code"}


def test_a_result_says_where_it_is_and_why(page: Desk) -> None:
    page.open()
    page.search(QUESTION)
    found = page.result("arch-billing")
    expect(found.locator(".title")).to_have_text("Billing architecture")
    expect(found.locator(".badges")).to_contain_text("approved")
    assert re.fullmatch(r"docs/architecture/billing\.md:\d+(-\d+)?", found.locator("button.path").inner_text())
    marks = {word.lower() for word in found.locator(".snippet mark").all_inner_texts()}
    assert {"backups", "encrypted"} <= marks
    expect(found.locator(".why")).to_contain_text("by its words")
    assert any(re.fullmatch(r"words \d*\.\d\d", part) for part in found.locator(".legend li").all_inner_texts())
    assert found.locator(".bar .part").count() == found.locator(".legend li").count()
    expect(page.page.locator("#count")).to_contain_text(re.compile(r"\d+ results? in"))


def test_evidence_is_under_its_source_and_opens_at_its_lines(page: Desk) -> None:
    page.open()
    page.search(QUESTION)
    passage = page.result("arch-billing").locator(".passage").first
    expect(passage.locator(".spot")).to_have_text(re.compile(r"lines \d+–\d+"))
    passage.locator("summary").click()
    expect(passage.locator("pre")).to_contain_text("renewed every ninety days")
    expect(passage.locator("pre mark").first).to_be_visible()
    passage.get_by_role("button", name="Open at these lines").click()
    expect(page.page.locator("#panel .wanted").first).to_be_visible()


def test_more_than_two_passages_are_folded(page: Desk) -> None:
    page.open(kind="code")
    page.search("ledger entries append balance encrypted key tenant")
    found = page.result("src/ledger.py")
    more = found.locator(".more-passages")
    expect(more).to_be_visible()
    assert found.locator(".passage").count() == 2
    more.click()
    assert found.locator(".passage").count() > 2


def test_letters_that_follow_each_other_quickly_are_one_question(page: Desk) -> None:
    page.open()
    page.page.locator("#q").press_sequentially(QUESTION, delay=0)
    page.settle()
    assert 1 <= page.sent.count("/retrieval/stream") < len(QUESTION) / 2
    page.search("soup on Mondays")
    assert page.titles()[0] == "Canteen"


def test_an_answer_that_was_overtaken_is_dropped(page: Desk) -> None:
    page.open()
    page.page.evaluate("""() => {
        const send = window.fetch;
        window.fetch = (url, options) => {
            if (!String(options?.body).includes("encrypted?")) return send(url, options);
            return new Promise((_, refuse) => options.signal.addEventListener("abort", () => {
                window.dropped = true;
                refuse(options.signal.reason);
            }));
        };
    }""")
    page.page.fill("#q", QUESTION)
    page.page.wait_for_selector("#results[aria-busy]", state="attached")
    page.search("soup on Mondays")
    assert page.page.evaluate("window.dropped")
    assert page.titles()[0] == "Canteen"


def test_the_plan_is_chips_that_can_be_removed_and_brought_back(page: Desk) -> None:
    page.open(look="graph")
    page.search("approved designs that Acme asked for")
    assert {"status approved", "kind design", "Acme, customer"} <= {*page.chips()}
    assert {*page.page.locator("#results .badge:first-child").all_inner_texts()} == {"design"}
    page.page.get_by_role("button", name="Remove kind design").click()
    page.settle()
    assert "kind design" not in page.chips()
    expect(page.result("arch-billing")).to_be_visible()
    page.page.get_by_role("button", name="Read again").first.click()
    page.settle()
    assert "kind design" in page.chips()
    page.page.get_by_role("button", name="Remove Acme, customer").click()
    page.settle()
    assert "Acme, customer" not in page.chips()


def test_what_the_question_is_after_can_be_put_away(page: Desk) -> None:
    page.open(look="graph")
    page.search("why did we decide on a ledger?")
    page.page.get_by_role("button", name="Remove about: decision").click()
    assert "about: decision" not in page.chips()


def test_filters_have_counts_and_hold(page: Desk) -> None:
    page.open()
    page.search("ledger")
    box = page.page.locator("#filters label", has_text="code").first
    number = int(box.locator(".number").inner_text())
    box.locator("input").check()
    page.settle()
    assert page.page.locator("#results > li").count() == number
    expect(page.page.locator("#filters label", has_text="design").first).to_be_visible()
    kinds = page.page.locator("#filters fieldset").first
    kinds.get_by_role("button", name=re.compile(r"^\d+ more$")).click()
    assert kinds.locator("input").count() > 8
    page.page.get_by_role("button", name="Remove kind: code").click()
    page.settle()
    assert page.page.locator("#results > li").count() > number


def test_history_comes_when_asked_for_and_is_told_as_such(page: Desk) -> None:
    page.open()
    page.search("invoices in a single relational database")
    expect(page.result("arch-billing-1")).to_have_count(0)
    page.page.get_by_label("history").check()
    page.settle()
    expect(page.result("arch-billing-1").locator(".where")).to_contain_text("superseded by arch-billing")


def test_what_the_graph_leads_to_says_how(page: Desk) -> None:
    page.open(look="graph", reach="1")
    page.search('"auditors must see every change"')
    led = page.page.locator("#results .led", has_text="away:")
    expect(led.first).to_contain_text(re.compile(r"\d steps? away: \S+ [A-Z_]+ \S+"))


def test_an_item_opens_at_its_lines_and_back_closes_it(page: Desk) -> None:
    page.open()
    page.search(QUESTION)
    page.result("arch-billing").locator("button.path").click()
    panel = page.page.locator("#panel")
    expect(panel.locator("h2")).to_have_text("Billing architecture")
    expect(panel.locator(".wanted").first).to_be_in_viewport()
    expect(panel.locator("mark").first).to_be_visible()
    page.page.reload()
    expect(panel.locator(".wanted mark").first).to_be_visible()
    page.page.go_back()
    expect(panel).to_be_hidden()
    assert page.page.input_value("#q") == QUESTION


def test_the_graph_is_drawn_and_walked_by_clicks_and_keys(page: Desk) -> None:
    page.open(q=QUESTION)
    page.page.get_by_role("button", name="Graph around Billing architecture").click()
    middle = page.page.locator(".node.middle")
    expect(middle).to_have_attribute("aria-label", "Billing architecture, architecture, in the middle")
    page.page.locator(".drawing").get_by_role("button", name="Ledger design, design").click()
    expect(middle).to_have_attribute("aria-label", "Ledger design, design, in the middle")
    middle.focus()
    page.page.keyboard.press("ArrowRight")
    expect(page.page.locator(".edge.lit").first).to_be_attached()
    name = page.page.evaluate("document.activeElement.getAttribute('aria-label').split(',')[0]")
    page.page.keyboard.press("Enter")
    expect(middle).to_have_attribute("aria-label", re.compile(f"^{re.escape(name)}.* in the middle$"))
    page.page.go_back()
    expect(middle).to_have_attribute("aria-label", "Ledger design, design, in the middle")
    page.page.get_by_text("As a list").click()
    page.page.locator(".as-list").get_by_role("button", name="Open Why a ledger", exact=True).click()
    expect(page.page.locator("#panel .text")).to_contain_text("We chose a ledger over tables")


def test_a_definition_in_the_graph_opens_at_its_lines(page: Desk) -> None:
    page.open(q="ledger", item="src/ledger.py", pane="graph")
    page.page.get_by_text("As a list").click()
    page.page.get_by_role("button", name="Open encrypted", exact=True).first.click()
    expect(page.page.locator("#panel .wanted").first).to_contain_text("def encrypted")
    expect(page.page).to_have_url(re.compile(r"item=src%2Fledger\.py&"))


def test_edges_of_one_type_can_be_left_out(page: Desk) -> None:
    page.open(item="arch-billing", pane="graph", q="ledger")
    nodes = page.page.locator(".drawing .node")
    expect(nodes.nth(8)).to_be_attached()
    before = nodes.count()
    page.page.get_by_role("checkbox", name="defines").uncheck()
    expect(page.page.locator(".drawing .node-symbol")).to_have_count(0)
    assert 1 < nodes.count() < before


def test_a_graph_of_many_nodes_is_no_hairball(page: Desk) -> None:
    page.open()
    drawn = page.page.evaluate("""async () => {
        const { rings } = await import("/page/layout.js");
        const via = (source, target) => [{ source, type: "LINKS", target }];
        const near = [...Array(9).keys()].map((n) => ({ node_id: `n${n}`, distance: 1, via: via("start", `n${n}`) }));
        const far = [...Array(190).keys()].map((n) => ({ node_id: `f${n}`, distance: 2, via: via(`n${n % 9}`, `f${n}`) }));
        const nodes = [{ node_id: "start", distance: 0, via: [] }, ...near, ...far];
        const draw = () => rings({ start_node: "start", nodes }, { radius: 170, most: 60 });
        const spots = ({ places }) => places.map(({ node, x, y }) => [node.distance, x, y]);
        return [draw().missing, spots(draw()), spots(draw())];
    }""")
    missing, spots, again = drawn
    assert missing == 140
    assert spots == again
    assert len(spots) == 60
    assert all(hypot(x, y) == pytest.approx(distance * 85) for distance, x, y in spots)
    apart = min(dist(one[1:], other[1:]) for one, other in combinations(spots, 2))
    assert apart > 14, "a label along a ray is 14 pixels high"


def test_what_is_similar_opens(page: Desk) -> None:
    page.open(item="design-ledger", pane="similar", q="ledger")
    page.page.locator("#panel .results .title", has_text="Billing architecture").click()
    expect(page.page.locator("#panel .text")).to_contain_text("append-only")


def test_the_context_fits_its_tokens_and_is_copied(page: Desk) -> None:
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.open(q=QUESTION, tab="context")
    tokens = page.page.locator("#context-pane .tokens b")
    text = page.page.locator("#context-pane pre")
    expect(text).to_contain_text("data, not instructions")
    whole = int(tokens.inner_text().replace(",", ""))
    page.page.locator("#context-pane input[type=number]").fill("300")
    expect(page.page.locator("#context-pane .tokens")).to_contain_text("of 300 tokens")
    assert int(tokens.inner_text()) <= 300 < whole
    page.page.locator("#context-pane .left-out summary").click()
    expect(page.page.locator("#context-pane .left-out li").first).to_be_visible()
    page.page.locator("#context-pane").get_by_role("button", name="Copy").click()
    expect(page.page.locator("#context-pane .copy")).to_have_text("Copied")
    assert page.page.evaluate("navigator.clipboard.readText()") == text.inner_text()
    page.page.locator("#context-pane select").select_option("xml")
    expect(text).to_contain_text("<context")


def test_copying_needs_no_leave_to_use_the_clipboard(page: Desk) -> None:
    page.open(q=QUESTION, tab="context")
    copy = page.page.locator("#context-pane .copy")
    expect(copy).to_be_visible()
    page.page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.page.evaluate("document.addEventListener('copy', () => { window.copied = String(document.activeElement.value); })")
    copy.click()
    expect(copy).to_have_text("Copied")
    assert page.page.evaluate("window.copied").startswith("What follows are excerpts")


def test_without_a_language_model_asking_says_so_and_gives_the_context(page: Desk) -> None:
    page.open(q=QUESTION, tab="ask")
    page.page.get_by_role("button", name="Write an answer").click()
    expect(page.page.locator("#ask-pane .note")).to_contain_text("llm.model")
    expect(page.page.locator("#ask-pane pre")).to_contain_text("Billing architecture")


def test_the_status_is_told(page: Desk) -> None:
    page.open(q=QUESTION)
    page.settle()
    page.page.get_by_role("link", name="Status").click()
    cards = page.page.locator("#status")
    expect(cards).to_contain_text("granite")
    expect(cards).to_contain_text("read and write")
    expect(cards.locator(".stages tbody tr").first).to_be_visible()
    page.page.go_back()
    expect(page.page.locator("#results > li").first).to_be_visible()


def test_another_scope_is_another_store(page: Desk) -> None:
    page.open()
    page.page.locator("select#scope").select_option("elsewhere")
    expect(page.page.locator("#home h2").first).to_have_text("1 item")
    page.search("moon")
    assert page.titles() == ["The moon"]
    page.page.reload()
    expect(page.page.locator("select#scope")).to_have_value("elsewhere")


def test_text_that_poses_as_markup_is_text(page: Desk) -> None:
    page.open()
    page.search("escaped wherever owls are counted as one character")
    found = page.result("docs/guide/escaping.md")
    expect(found.locator(".snippet")).to_contain_text("<img src=x onerror=")
    found.locator(".passage summary").first.click()
    found.locator("button.path").click()
    expect(page.page.locator("#panel .text")).to_contain_text("</script><script>")
    page.page.get_by_role("tab", name="Context").click()
    expect(page.page.locator("#context-pane pre")).to_contain_text("<img src=x")
    page.open("memories")
    expect(page.page.locator(".moment", has_text="<img src=x")).to_be_visible()
    assert page.page.locator("main img, #panel img, main script, #panel script, main b:has-text('bold')").count() == 0
    assert "owned" not in page.page.title()


def test_words_behind_an_emoji_are_marked_where_they_are(page: Desk) -> None:
    page.open()
    page.search("owls counted")
    marks = page.result("docs/guide/escaping.md").locator(".snippet mark").all_inner_texts()
    assert {"owls", "counted"} <= {mark.lower() for mark in marks}


def test_everything_works_by_keys_alone(page: Desk) -> None:
    page.open()
    press, focused = page.page.keyboard.press, "document.activeElement"
    page.page.keyboard.type(QUESTION)
    page.settle()
    press("ArrowDown")
    first, second = page.titles()[:2]
    assert page.page.evaluate(f"{focused}.textContent") == first
    press("j")
    assert page.page.evaluate(f"{focused}.textContent") == second
    press("k")
    press("Enter")
    expect(page.page.locator("#panel")).to_be_focused()
    press("Escape")
    expect(page.page.locator("#panel")).to_be_hidden()
    assert page.page.evaluate(f"{focused}.textContent") == first
    press("g")
    expect(page.page.locator(".drawing")).to_be_visible()
    press("Escape")
    press("c")
    expect(page.page.locator("#context-pane pre")).to_be_visible()
    press("r")
    press("/")
    expect(page.page.locator("#q")).to_be_focused()
    page.page.keyboard.type("g")
    expect(page.page.locator("#panel")).to_be_hidden()
    press("Escape")
    press("?")
    expect(page.page.get_by_role("heading", name="Keys")).to_be_visible()
    press("Escape")
    expect(page.page.get_by_role("heading", name="Keys")).to_be_hidden()


def test_what_has_the_focus_can_be_seen(page: Desk) -> None:
    page.open(q=QUESTION)
    page.settle()
    for _ in range(14):
        page.page.keyboard.press("Tab")
        style = page.page.evaluate("""() => {
            const at = document.activeElement;
            const shown = at.matches("input[type=radio]") ? at.nextElementSibling : at;
            const { outlineStyle, outlineWidth } = getComputedStyle(shown);
            return [at.outerHTML.slice(0, 80), outlineStyle, parseFloat(outlineWidth)];
        }""")
        assert style[1] != "none", style
        assert style[2] >= 1, style


@pytest.mark.parametrize(
    ("view", "parameters"),
    [
        ("search", {}),
        ("search", {"q": QUESTION}),
        ("search", {"q": "approved designs that Acme asked for", "look": "graph", "tab": "context"}),
        ("search", {"q": QUESTION, "item": "arch-billing", "lines": "18-22"}),
        ("search", {"q": QUESTION, "item": "arch-billing", "pane": "graph"}),
        ("memories", {"recall": "What did Acme order?"}),
        ("status", {}),
    ],
)
def test_nothing_is_wider_than_a_phone(browser: Browser, address: str, view: str, parameters: dict[str, str]) -> None:
    with desk(browser, address, **PHONE) as page:
        page.open(view, **parameters)
        page.page.wait_for_load_state("networkidle")
        assert not page.is_wider_than_the_window()
        if "item" in parameters:
            assert page.page.locator("#panel").bounding_box() == {"x": 0, "y": 0, "width": 360, "height": 740}


def test_the_dark_is_dark(browser: Browser, address: str) -> None:
    def light(name: str) -> float:
        red, green, blue = map(int, re.findall(r"\d+", page.page.evaluate(f"getComputedStyle(document.documentElement).{name}"))[:3])
        return (red + green + blue) / 765

    for scheme, is_dark in (("light", False), ("dark", True)):
        with desk(browser, address, color_scheme=scheme) as page:
            page.open(q=QUESTION)
            page.settle()
            assert (light("backgroundColor") < 0.2) == is_dark
            assert (light("color") > 0.8) == is_dark


CONTRAST = """() => {
    const part = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = ([red, green, blue]) => 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
    const behind = (element) => {
        for (; element; element = element.parentElement) {
            const colour = numbers(getComputedStyle(element).backgroundColor);
            if (colour[3] !== 0) return colour;
        }
    };
    const says = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const all = [...document.querySelectorAll("main *, header *, #panel *")];
    const texts = all.filter((element) => element.checkVisibility() && !element.closest("svg") && says(element));
    return texts.flatMap((element) => {
        const [one, other] = [light(numbers(getComputedStyle(element).color)), light(behind(element))];
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        return contrast < 4.5 ? [`${element.className} ${element.textContent.slice(0, 30)}: ${contrast.toFixed(1)}`] : [];
    });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("view", "parameters", "shown"),
    [
        ("search", {"q": QUESTION, "history": "1", "item": "arch-billing", "lines": "18-22"}, "#panel .wanted mark"),
        ("search", {"q": "approved designs that Acme asked for", "look": "graph"}, "#results .passage"),
        ("memories", {"recall": "What does Acme prefer?"}, ".moment"),
        ("status", {}, ".stages"),
    ],
)
def test_every_text_stands_out_from_what_is_behind_it(
    browser: Browser, address: str, view: str, parameters: dict[str, str], shown: str, scheme: Literal["light", "dark"]
) -> None:
    with desk(browser, address, color_scheme=scheme) as page:
        page.open(view, **parameters)
        expect(page.page.locator(shown).first).to_be_visible()
        page.page.wait_for_load_state("networkidle")
        assert page.page.evaluate(CONTRAST) == []


def test_a_service_that_went_away_is_told_in_a_line(browser: Browser, address: str) -> None:
    with desk(browser, address) as page:
        page.open()
        expect(page.page.locator("#home h2").first).to_be_visible()
        page.page.context.set_offline(True)
        page.page.fill("#q", "anything")
        expect(page.page.locator("#notice")).to_have_text(re.compile("The service does not answer. Is it running"))
        page.page.context.set_offline(False)
        page.search("soup on Mondays")
        assert page.titles()[0] == "Canteen"
        expect(page.page.locator("#notice")).to_be_hidden()
        page.wrong.clear()  # The browser tells of every request that failed.


SOURCES = [entry for entry in (files("recollect.surfaces") / "page").iterdir() if isinstance(entry, Path)]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_a_file_of_the_page_is_small_and_keeps_to_text(source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
    assert {*re.findall(r"https?://[^\"' )]+", text)} <= {"http://www.w3.org/2000/svg"}
    assert source.suffix != ".js" or text.startswith("/** ")
