"""A repository asked in words and by name: what answers, which step of widening, with which context. The bundled model, a real store."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from recollect import InvalidInput, Library, RetrievalBundle
from recollect.embed import open_embedder
from recollect.errors import LlmError
from recollect.model import Vector
from recollect.ports import Embedder
from recollect.settings import Settings
from recollect.sync import SyncLibrary

FILES = {
    "src/shop/store.py": '''
        """Keeps orders in a database."""

        from dataclasses import dataclass
        from datetime import datetime

        from .pricing import discount_of

        MAX_ORDERS = 0x884


        class StoreError(Exception):
            """The database is away."""


        @dataclass
        class Store:
            """All orders of a shop, newest last, by the number they were given."""

            path: str

            def write(self, order):
                """Append an order to the log on disk, with the price after its discount."""
                self.check(order)
                price = order.total - discount_of(order)
                with open(self.path, "a") as log:
                    log.write(f"{order.number} {price} {datetime.now()}")

            def check(self, order):
                """Refuse an order that has no number."""
                if not order.number:
                    raise StoreError("no such order: give it a number")

            def read(self):
                """Give every order back, the oldest first."""
                with open(self.path) as log:
                    return log.read().splitlines()

            def search(self, words):
                """Look for orders by the words on them."""
                return [line for line in self.read() if words in line]
        ''',
    "src/shop/pricing.py": '''
        """What things cost."""


        def discount_of(order):
            """Regular customers pay five percent less, and ten at the end of a season."""
            return order.total * (0.10 if order.is_late else 0.05)


        def getTaxRate(country):
            """The share of the price that goes to the state."""
            return {"DE": 0.19, "FR": 0.2}.get(country, 0)
        ''',
    "src/web/client.js": """
        // Calls the shop over the network.
        export class HTTPClient {
          /** Waits longer after each failure before it asks again. */
          async retryDelay(attempt) {
            return Math.min(1000 * 2 ** attempt, 30000);
          }
        }
        """,
    "tests/test_store.py": '''
        from shop.store import Store


        def test_write_appends_an_order(tmp_path):
            """Append an order to the log on disk, with the price after its discount."""
            store = Store(tmp_path)
            Store.write(store, None)
        ''',
    "docs/orders.md": """
        # Orders

        How the shop keeps what was ordered.

        ## Writing

        `Store.write` appends to a log; see [the code](../src/shop/store.py).

        ## Prices

        Customers that come back pay less.
        """,
    "notes/todo.txt": "Ask the printer about larger labels.\n",
}


class Counting:
    """The bundled model, and what it was asked."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.model_id, self.dim, self.max_tokens, self.tokens = inner.model_id, inner.dim, inner.max_tokens, inner.tokens
        self.questions: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vector:
        return self._inner.embed(texts)

    def embed_query(self, text: str) -> Vector:
        self.questions.append(text)
        return self._inner.embed_query(text)


class Scripted:
    """A language model that says what it was told to say."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def complete(self, system: str, user: str, schema: dict[str, Any]) -> Any:
        self.asked.append(user)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture(scope="module")
def model() -> Counting:
    return Counting(open_embedder("granite", cache_dir=Settings().embed.cache_dir))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip(), encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    return root


@pytest.fixture(scope="module")
def library(repository: Path, model: Counting) -> Iterator[SyncLibrary]:
    with Library.open(repository / ".recollect", embedder=model, options=Settings()).sync() as library:
        assert library.index(repository, base=repository).added == len(FILES)
        yield library


def ask(library: SyncLibrary, query: str, **options: Any) -> RetrievalBundle:
    return library.search(query, **{"profile": "code", **options})


def first(bundle: RetrievalBundle) -> tuple[str, str | None]:
    """The first source, and what its first piece of evidence is."""
    chunk = bundle.evidence[0]
    assert chunk.anchors is not None
    assert chunk.item_id == bundle.candidates[0].item_id
    return chunk.item_id, chunk.anchors.symbol


@pytest.mark.parametrize(
    ("query", "path", "symbol"),
    [
        ("Store.write", "src/shop/store.py", "Store.write"),
        ("Store::write", "src/shop/store.py", "Store.write"),
        ("shop.store.StoreError", "src/shop/store.py", None),
        ("discount_of", "src/shop/pricing.py", "discount_of"),
        ("discount_of()", "src/shop/pricing.py", "discount_of"),
        ("get_tax_rate", "src/shop/pricing.py", "getTaxRate"),
        ("HTTPClient", "src/web/client.js", "HTTPClient"),
        ("retryDelay", "src/web/client.js", None),
        ("src/shop/store.py:22", "src/shop/store.py", "Store.write"),
        ("store.py", "src/shop/store.py", None),
        ("0x884", "src/shop/store.py", None),
        ('"no such order"', "src/shop/store.py", "Store.check"),
    ],
)
def test_a_name_is_answered_without_a_model(library: SyncLibrary, model: Counting, query: str, path: str, symbol: str | None) -> None:
    model.questions.clear()
    bundle = ask(library, query)
    found, its_symbol = first(bundle)
    assert found == path
    assert symbol is None or its_symbol == symbol
    assert model.questions == []
    assert symbol is None or bundle.candidates[0].symbol == symbol
    assert bundle.routing is not None
    assert bundle.routing.router == "names"


def test_a_small_definition_shares_a_chunk_and_is_named_all_the_same(library: SyncLibrary) -> None:
    bundle = ask(library, "StoreError")
    assert "class StoreError" in bundle.evidence[0].text
    assert bundle.candidates[0].symbol == "StoreError"


def test_a_name_that_is_a_plain_word_has_the_usual_search_behind_it(library: SyncLibrary, model: Counting) -> None:
    model.questions.clear()
    bundle = ask(library, "search")
    assert first(bundle) == ("src/shop/store.py", "Store.search")
    assert model.questions == ["search"]
    assert len(bundle.candidates) > 1
    assert any(part.route == "symbol" for part in bundle.candidates[0].why.parts)


def test_a_name_that_nothing_has_is_asked_like_any_question(library: SyncLibrary, model: Counting) -> None:
    model.questions.clear()
    bundle = ask(library, "compute_discount")
    assert model.questions == ["compute_discount"]
    assert bundle.candidates[0].item_id == "src/shop/pricing.py"
    assert bundle.routing is not None
    assert bundle.routing.note.startswith("nothing here is called 'compute_discount'")


def test_a_name_that_is_only_used_is_found_where_it_stands(library: SyncLibrary, model: Counting) -> None:
    model.questions.clear()
    bundle = ask(library, "is_late")
    assert [each.item_id for each in bundle.candidates] == ["src/shop/pricing.py"]
    assert model.questions == []
    assert bundle.routing is not None
    assert bundle.routing.note == "nothing here defines 'is_late': this is where it stands"


def test_a_number_is_found_whole_and_not_by_its_parts(library: SyncLibrary) -> None:
    bundle = ask(library, "0x88")
    assert bundle.routing is not None
    assert bundle.routing.router == "rules"


def test_a_definition_is_shown_where_it_begins_without_evidence_too(library: SyncLibrary) -> None:
    lines = library.get("src/shop/store.py").text.splitlines()
    for options in ({}, {"chunks": 0}):
        found = ask(library, "Store.read", **options).candidates[0]
        assert (found.symbol, found.line_start) == ("Store.read", lines.index("    def read(self):") + 1)
        assert "def read" in (found.snippet or "")


def test_a_name_inside_a_question_brings_its_definition_first(library: SyncLibrary) -> None:
    bundle = ask(library, "what does getTaxRate do for unknown orders in the log on disk")
    assert first(bundle) == ("src/shop/pricing.py", "getTaxRate")


def test_a_question_in_words_finds_the_function(library: SyncLibrary) -> None:
    assert ask(library, "how long does it wait after a failure").candidates[0].item_id == "src/web/client.js"
    assert first(ask(library, "how much less do regular customers pay")) == ("src/shop/pricing.py", "discount_of")


def test_a_test_comes_after_what_it_tests_unless_tests_are_asked_for(library: SyncLibrary) -> None:
    words = "append an order to the log on disk"
    assert first(ask(library, words)) == ("src/shop/store.py", "Store.write")
    assert ask(library, f"test that checks: {words}").candidates[0].item_id == "tests/test_store.py"
    lowered = next(each for each in ask(library, words).candidates if each.item_id == "tests/test_store.py")
    assert "lowered as it is a test file" in lowered.why.sentence
    assert sum(part.contribution for part in lowered.why.parts) == pytest.approx(lowered.score)


def test_types_and_patterns_are_hard_filters_and_folders_are_not(library: SyncLibrary) -> None:
    only_docs = ask(library, "orders", source_types=["markdown"])
    assert {each.item_id for each in only_docs.candidates} == {"docs/orders.md"}
    only_js = ask(library, "orders", file_patterns=["*.js"])
    assert {each.item_id for each in only_js.candidates} == {"src/web/client.js"}
    in_folder = ask(library, "what is kept of orders", folders=["docs"], k=10)
    assert len(in_folder.candidates) > 3
    raised = next(each for each in in_folder.candidates if each.item_id == "docs/orders.md")
    assert any(part.route == "in docs" and part.score == 1.3 for part in raised.why.parts)
    assert in_folder.routing is not None
    assert [(in_folder.routing.router, each.answered_by) for each in in_folder.routing.requests] == [("given", "strict")]


@pytest.mark.parametrize(
    ("places", "step"),
    [
        ({"file_patterns": ["*.rs"]}, "without patterns"),
        ({"file_patterns": ["*.rs"], "source_types": ["code"], "folders": ["lib"]}, "without patterns"),
        ({"source_types": ["text"], "file_patterns": ["*.md"], "where": {"language": "python"}}, "all types"),
        ({"source_types": ["code"]}, "strict"),
    ],
)
def test_where_nothing_is_found_the_search_is_widened_and_says_so(library: SyncLibrary, places: dict[str, Any], step: str) -> None:
    bundle = ask(library, "how orders are kept", **places)
    assert bundle.candidates
    assert bundle.routing is not None
    assert [each.answered_by for each in bundle.routing.requests] == [step]


def test_what_the_caller_demands_is_never_widened(library: SyncLibrary) -> None:
    bundle = ask(library, "orders", where={"path": {"glob": "nowhere/**"}}, file_patterns=["*.py"])
    assert bundle.candidates == []
    assert bundle.routing is not None
    assert bundle.routing.requests[0].found == 0


def test_rules_read_places_from_the_question(library: SyncLibrary) -> None:
    bundle = ask(library, "in the docs: what do customers pay that come back")
    assert {each.item_id for each in bundle.candidates} <= {"docs/orders.md", "notes/todo.txt"}
    assert bundle.routing is not None
    assert bundle.routing.router == "rules"


def test_several_questions_are_asked_side_by_side_and_give_one_answer(library: SyncLibrary) -> None:
    bundle = ask(library, "How much less do regular customers pay? How long does the client wait after a failure?")
    assert bundle.routing is not None
    assert len(bundle.routing.requests) == 2
    assert {each.item_id for each in bundle.candidates[:2]} == {"src/shop/pricing.py", "src/web/client.js"}
    assert len({(chunk.item_id, chunk.start_idx) for chunk in bundle.evidence}) == len(bundle.evidence)


def test_each_of_several_questions_has_its_share_and_the_limits_hold(library: SyncLibrary) -> None:
    bundle = ask(library, "What does Store.write do? How long does the client wait after a failure?", k=2, chunks_per_item=1)
    assert {each.item_id for each in bundle.candidates} == {"src/shop/store.py", "src/web/client.js"}
    per_item = [chunk.item_id for chunk in bundle.evidence]
    assert len(per_item) == len(set(per_item))
    spans = [(span.item_id, span.label, span.text) for chunk in bundle.evidence for span in chunk.context]
    assert len(spans) == len(set(spans))


def test_a_phrase_is_not_reworded(library: SyncLibrary) -> None:
    bundle = ask(library, "appends to a log in the docs", mode="phrase")
    assert bundle.candidates == []
    assert [each.item_id for each in ask(library, "appends to a log", mode="phrase").candidates] == ["docs/orders.md"]


def test_a_language_model_says_where_to_look_and_where_it_cannot_rules_do(library: SyncLibrary) -> None:
    asked = {"requests": [{"query": "waiting after a failure", "source_types": ["code"], "file_patterns": ["*.js"], "reasoning": "web"}]}
    good = Scripted(asked)
    with_model = Library(library.library.store, embedder=library.library.embedder, llm=good, options=Settings())
    bundle = with_model.sync().search("how does it behave when the network is down?", profile="code")
    assert bundle.routing is not None
    assert (bundle.routing.router, bundle.routing.requests[0].reasoning) == ("llm", "web")
    assert {each.item_id for each in bundle.candidates} == {"src/web/client.js"}
    assert "client.js" in good.asked[0]
    away = Library(library.library.store, embedder=library.library.embedder, llm=Scripted(LlmError("it is away")), options=Settings())
    bundle = away.sync().search("how does it behave when the network is down?", profile="code")
    assert bundle.routing is not None
    assert bundle.routing.router == "rules"
    assert "it is away" in bundle.routing.note
    assert bundle.candidates


def test_asking_for_a_model_that_is_not_there_is_told(library: SyncLibrary) -> None:
    with pytest.raises(InvalidInput, match=r"router.*llm.model"):
        ask(library, "orders", router="llm")


def test_a_function_comes_with_what_a_reader_needs(library: SyncLibrary) -> None:
    chunk = ask(library, "Store.write", chunks=1).evidence[0]
    found: dict[str, list[str | None]] = {}
    for span in chunk.context:
        found.setdefault(span.label, []).append(span.symbol or span.text)
    assert found["parent"] == ["Store"]
    assert found["sibling"] == ["Store.read", "Store.search"]
    assert found["import"] == ["from datetime import datetime", "from .pricing import discount_of"]
    assert found["callee"] == ["discount_of", "Store.check"]
    assert found["test"] == ["test_write_appends_an_order"]
    parent = next(span for span in chunk.context if span.label == "parent")
    assert "All orders of a shop" in parent.text
    assert ask(library, "Store.write", expand=False).evidence[0].context == []


def test_a_section_comes_with_the_headings_above_and_the_sections_inside(library: SyncLibrary) -> None:
    bundle = ask(library, "how the shop keeps what was ordered", source_types=["markdown"])
    labels = {span.label for chunk in bundle.evidence for span in chunk.context}
    assert labels <= {"parent section", "child section"}
    assert ask(library, "larger labels", source_types=["text"]).evidence[0].context == []


def test_the_graph_of_a_repository(library: SyncLibrary) -> None:
    def beside(node: str, kind: str) -> set[str]:
        return {visit.id for visit in library.walk(node, hops=1, types=[kind]) if visit.hops}

    assert beside("src/shop/store.py", "IMPORTS") == {"src/shop/pricing.py", "tests/test_store.py"}
    assert "src/shop/store.py#Store" in beside("src/shop/store.py", "DEFINES")
    assert beside("src/shop/store.py#Store.write", "CALLS") == {
        "src/shop/store.py#Store.check",
        "src/shop/pricing.py#discount_of",
        "tests/test_store.py#test_write_appends_an_order",
    }
    assert beside("src/shop/store.py", "REFERENCES") == {"docs/orders.md"}


def test_a_change_is_found_and_linked_anew(tmp_path: Path, model: Counting) -> None:
    (tmp_path / "a.py").write_text("from b import helper\n\n\ndef use():\n    return helper()\n")
    (tmp_path / "b.py").write_text("def other():\n    return 1\n")
    with Library.open(tmp_path / ".recollect", embedder=model, options=Settings()).sync() as library:
        library.index(tmp_path, base=tmp_path)
        assert [visit.id for visit in library.walk("a.py#use", types=["CALLS"])] == ["a.py#use"]
        (tmp_path / "b.py").write_text("def other():\n    return 1\n\n\ndef helper():\n    return 2\n")
        library.index(tmp_path, base=tmp_path)
        assert [visit.id for visit in library.walk("a.py#use", types=["CALLS"])] == ["a.py#use", "b.py#helper"]
        (tmp_path / "b.py").unlink()
        library.index(tmp_path, base=tmp_path)
        assert [visit.id for visit in library.walk("a.py#use", types=["CALLS"])] == ["a.py#use"]
        assert ask(library, "helper").candidates[0].item_id == "a.py"


def test_a_name_written_just_so_comes_before_one_written_another_way(tmp_path: Path, model: Counting) -> None:
    (tmp_path / "a.py").write_text("def clear(items):\n    items.clear()\n    return _clear\n")
    (tmp_path / "b.py").write_text("def _clear(items):\n    del items[:]\n")
    with Library.open(tmp_path / ".recollect", embedder=model, options=Settings()).sync() as library:
        library.index(tmp_path, base=tmp_path)
        assert [first(ask(library, name))[0] for name in ("_clear", "clear")] == ["b.py", "a.py"]
        assert first(ask(library, "Clear"))[1] in ("clear", "_clear")
