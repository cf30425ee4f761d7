"""Whom and what a question to memory speaks of: by name, by what was said before, by the domain database; and who is not guessed."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain import open_domain
from recollect.domains import Domain
from recollect.memories import ConversationContext
from recollect.memory_settings import DomainSettings
from recollect.model import Batch, Entity
from recollect.stores.reference import ReferenceStore
from recollect.understand.conversation import MAX_TURNS, Spoken, resolve
from recollect.understand.ids import MAX_IDS

KNOWN = [
    Entity("customer:a1b2", "customer", "Acme Corporation", ("Acme",)),
    Entity("customer:globex", "customer", "Globex"),
    Entity("supplier:initech", "supplier", "Initech"),
    Entity("person:maria", "person", "Maria Lopez", ("Maria",)),
    Entity("person:smith-1", "person", "John Smith", ("Johnny",)),
    Entity("person:smith-2", "person", "John Smith"),
    Entity("order:77", "order", "ORD-77"),
    Entity("customer:north", "customer", "Northwind Traders", ("NWT Group",)),
    Entity("film:solaris", "film", "Solaris"),
]
ONTOLOGY = """
entities:
  customer: {table: customers, key: id, name: name, aliases: short}
  invoice: {table: invoices, key: id, name: number}
  ship: {table: ships, key: id, name: name}
"""


@pytest.fixture(scope="module")
def store() -> ReferenceStore:
    made = ReferenceStore()
    asyncio.run(made.write("s", Batch(entities=KNOWN)))
    return made


@pytest.fixture
def domain(tmp_path: Path) -> Domain:
    database = sqlite3.connect(tmp_path / "shop.db")
    database.executescript(
        """
        create table customers (id text primary key, name text, short text);
        insert into customers values ('u1', 'Umbrella Trading Company', 'Umbrella'), ('a1b2', 'Acme Corporation', 'Acme'),
            ('g1', 'Globexx', null);
        create table invoices (id integer primary key, number text);
        insert into invoices values (1, '123'), (2, '2024');
        create table ships (id integer primary key, name text);
        insert into ships values (1, 'Aurora'), (2, 'Aurora'), (3, '123');
        """
    )
    database.close()
    (tmp_path / "ontology.yaml").write_text(ONTOLOGY)
    opened = open_domain(DomainSettings(url=f"sqlite:///{tmp_path / 'shop.db'}", ontology=str(tmp_path / "ontology.yaml")))
    assert opened is not None
    return opened


def spoken(store: ReferenceStore, text: str, *, domain: Domain | None = None, turns: list[str] = [], entities: list[str] = []) -> Spoken:  # noqa: B006
    async def asked() -> Spoken:
        try:
            return await resolve(store, "s", text, ConversationContext(turns=turns, entities=entities), domain)
        finally:
            if domain is not None:
                await domain.close()

    return asyncio.run(asked())


def ids(found: Spoken) -> list[tuple[str, str]]:
    return [(each.canonical_id, each.match) for each in found.entities]


def test_a_name_is_the_surer_the_more_exactly_it_is_written(store: ReferenceStore) -> None:
    asked = ("northwind traders", "nwt group", "Nortwind Traders", "Nortwind Tradrs", "Globx")
    found = [spoken(store, f"What did {name} order?").entities[0] for name in asked]
    assert [each.match for each in found] == ["exact", "alias", "fuzzy", "fuzzy", "fuzzy"]
    sure = [each.confidence for each in found]
    assert sure[0] == 1.0
    assert sure == sorted(sure, reverse=True)
    assert sure[-1] >= 0.5
    assert [each.mention_text for each in found] == list(asked)


def test_entities_come_in_the_order_of_the_question_and_once(store: ReferenceStore) -> None:
    found = spoken(store, "Did Globex, Maria or Acme write to Globex?")
    assert ids(found) == [("customer:globex", "exact"), ("person:maria", "alias"), ("customer:a1b2", "alias")]
    assert found.ambiguities == found.notes == []


def test_a_name_that_two_have_is_told_and_not_guessed(store: ReferenceStore) -> None:
    found = spoken(store, "What did John Smith say to Acme? Ask john smith.", entities=["customer:globex"], turns=["John Smith called", ""])
    assert ids(found) == [("customer:a1b2", "alias")]
    (told,) = found.ambiguities
    assert (told.mention_text, told.candidates) == ("John Smith", ["person:smith-1", "person:smith-2"])


@pytest.mark.parametrize(
    ("turns", "entities", "expected"),
    [
        ([], ["person:smith-1", "customer:globex"], "person:smith-1"),
        ([], ["person:smith-1", "person:smith-2"], "person:smith-2"),
        (["Johnny was here"], [], "person:smith-1"),
        (["that is person:smith-2", "Globex is another matter"], [], "person:smith-2"),
        (["Johnny was here"], ["person:smith-2"], "person:smith-2"),
    ],
)
def test_the_conversation_settles_who_is_meant(store: ReferenceStore, turns: list[str], entities: list[str], expected: str) -> None:
    found = spoken(store, "What does John Smith want?", turns=turns, entities=entities)
    assert ids(found) == [(expected, "context")]
    assert found.entities[0].confidence < 1
    assert found.ambiguities == []


def test_a_turn_that_names_both_settles_nothing(store: ReferenceStore) -> None:
    turns = ["Johnny was here", "is it person:smith-1 or person:smith-2?"]
    found = spoken(store, "What does John Smith want?", turns=turns)
    assert (found.entities, len(found.ambiguities)) == ([], 1)


SPOKEN_OF = ["supplier:initech", "customer:a1b2", "order:77", "person:maria"]


@pytest.mark.parametrize(
    ("text", "mention", "expected"),
    [
        ("What did they order?", "they", "person:maria"),
        ("what's their balance", "their", "person:maria"),
        ("When did she call?", "she", "person:maria"),
        ("is it paid?", "it", "order:77"),
        ("What did that customer order?", "that customer", "customer:a1b2"),
        ("why did the client complain", "the client", "customer:a1b2"),
        ("has the order shipped", "the order", "order:77"),
        ("Who works at this company?", "this company", "customer:a1b2"),
        ("has the last order shipped, and when did they get it", "the last order", "order:77"),
        ("tell me about that vendor", "that vendor", "supplier:initech"),
    ],
)
def test_what_refers_back_is_what_was_spoken_of_last(store: ReferenceStore, text: str, mention: str, expected: str) -> None:
    (found,) = spoken(store, text, entities=SPOKEN_OF).entities
    assert (found.mention_text, found.canonical_id, found.match) == (mention, expected, "context")
    assert found.confidence < 0.9


@pytest.mark.parametrize("pronoun", ["she", "he", "her", "him", "his"])
def test_a_word_for_a_person_is_one_who_is_surely_a_person_before_a_customer(store: ReferenceStore, pronoun: str) -> None:
    question = f"What about {pronoun} plans?"
    assert ids(spoken(store, question, turns=["Maria works at Acme"])) == [("person:maria", "context")]
    assert ids(spoken(store, question, turns=["Maria called", "Acme called"])) == [("person:maria", "context")]
    assert ids(spoken(store, question, entities=["person:maria", "customer:a1b2"])) == [("person:maria", "context")]
    assert ids(spoken(store, question, turns=["Johnny met Maria at Acme"])) == [("person:maria", "context")]
    assert ids(spoken(store, question, turns=["Globex is another matter than Acme"])) == [("customer:a1b2", "context")]
    assert ids(spoken(store, "What do they plan?", turns=["Maria works at Acme"])) == [("customer:a1b2", "context")]


@pytest.mark.parametrize(
    "text",
    [
        *("What is on my list?", "is it worth going?", "what time is it", "How's it going?", "which customers pay their invoices late?"),
        *("what does that invoice say about it", "IT costs", "did that supplier's film win"),
    ],
)
def test_what_refers_to_nothing_that_was_said_brings_nobody(store: ReferenceStore, text: str) -> None:
    assert spoken(store, text, entities=["customer:a1b2"]).entities == []


def test_a_question_with_a_name_of_its_own_takes_nothing_from_before(store: ReferenceStore) -> None:
    assert ids(spoken(store, "Did they write to Globex?", entities=["customer:a1b2"])) == [("customer:globex", "exact")]
    assert spoken(store, "Did they write to John Smith?", entities=["customer:a1b2"]).entities == []


def test_turns_are_read_where_no_entity_is_given_the_last_first(store: ReferenceStore) -> None:
    turns = ["Maria called", "Acme and Globex disagree", "I see.", "Tell me more"]
    assert ids(spoken(store, "What do they want?", turns=turns)) == [("customer:globex", "context")]
    assert ids(spoken(store, "What does she want?", turns=turns[:1] + turns[2:])) == [("person:maria", "context")]
    assert ids(spoken(store, "was that film good", turns=["We saw Solaris", *turns])) == [("film:solaris", "context")]
    assert spoken(store, "What do they want?", turns=["Maria called", *["I see."] * MAX_TURNS]).entities == []


def test_an_id_that_the_store_does_not_know_is_taken_by_its_type(store: ReferenceStore) -> None:
    (found,) = spoken(store, "Is that invoice paid?", entities=["invoice:9", "customer:a1b2"]).entities
    assert (found.canonical_id, found.type, found.match) == ("invoice:9", "invoice", "context")


@pytest.mark.parametrize(
    ("text", "mention", "expected"),
    [
        ("What did customer:a1b2 order?", "customer:a1b2", "customer:a1b2"),
        ("what about customer:a1b2?", "customer:a1b2", "customer:a1b2"),
        ("customer:a1b2, how are they", "customer:a1b2", "customer:a1b2"),
        ("customer:a1b2's orders (since March)", "customer:a1b2", "customer:a1b2"),
        ("the orders (of customer:a1b2’s).", "customer:a1b2", "customer:a1b2"),
        ("Show `customer:a1b2`, please", "customer:a1b2", "customer:a1b2"),
        ("where is order:77...", "order:77", "order:77"),
        ("is it person:smith-1: yes or no", "person:smith-1", "person:smith-1"),
    ],
)
def test_an_id_that_the_store_knows_is_exact(store: ReferenceStore, text: str, mention: str, expected: str) -> None:
    (found,) = spoken(store, text, entities=["customer:globex"]).entities
    assert (found.mention_text, found.canonical_id, found.match, found.confidence) == (mention, expected, "exact", 1.0)


@pytest.mark.parametrize(
    "text",
    [
        *("What did customer:a1b order?", "What did customer:a1b2c order?", "xcustomer:a1b2", "my-customer:a1b2", "customer:a1b2-x"),
        *("Customer: a1b2", "customer:", "customer:?!", "see https://a1b2.example/customer", "at 10:30"),
    ],
)
def test_what_is_no_id_that_the_store_knows_is_nobody(store: ReferenceStore, text: str) -> None:
    assert spoken(store, text).entities == []


def test_an_id_stands_beside_names_and_in_what_was_said(store: ReferenceStore) -> None:
    found = spoken(store, "Did person:smith-2 and Maria write to customer:globex or Globex?")
    assert ids(found) == [("person:smith-2", "exact"), ("person:maria", "alias"), ("customer:globex", "exact")]
    assert ids(spoken(store, "What do they want?", turns=["Acme called customer:globex"])) == [("customer:globex", "context")]


def test_ids_are_looked_up_at_once_and_only_where_there_are_any() -> None:
    asked: list[Sequence[str]] = []

    class Counting(ReferenceStore):
        async def entities_of(self, scope: str, ids: Sequence[str]) -> list[Entity]:
            asked.append(ids)
            return await super().entities_of(scope, ids)

    store = Counting()
    spoken(store, "What did Acme order at 10:30? Note: customer a1b2")
    assert asked == []
    spoken(store, "Compare customer:a1b2, customer:globex and order:77's.")
    assert len(asked) == 1
    spoken(store, "a:b?!" * 2_000 + " a:b?! " * 2_000)
    assert len(asked[-1]) <= MAX_IDS


def test_nothing_of_another_scope_is_found(store: ReferenceStore) -> None:
    found = asyncio.run(resolve(store, "other", "What did Acme order from them?", ConversationContext(turns=["Globex"]), None))
    assert found == Spoken([], [], [])


@pytest.mark.parametrize(
    ("text", "mention", "expected"),
    [
        ("What did Umbrella order?", "Umbrella", "customer:u1"),
        ("umbrella trading company's orders", "umbrella trading company", "customer:u1"),
        ("What's the balance on invoice #123?", "invoice #123", "invoice:1"),
        ("is invoice no. 123 paid", "invoice no. 123", "invoice:1"),
        ("What does Globexx owe?", "Globexx", "customer:g1"),
    ],
)
def test_a_name_that_the_store_does_not_know_is_asked_of_the_domain_database(
    store: ReferenceStore, domain: Domain, text: str, mention: str, expected: str
) -> None:
    (found,) = spoken(store, text, domain=domain).entities
    assert (found.mention_text, found.canonical_id, found.match) == (mention, expected, "domain")


def test_what_the_store_knows_is_of_the_store_and_two_of_the_database_are_told(store: ReferenceStore, domain: Domain) -> None:
    found = spoken(store, "Did Acme load the Aurora in 2024?", domain=domain)
    assert ids(found) == [("customer:a1b2", "alias")]
    assert [(each.mention_text, each.candidates) for each in found.ambiguities] == [("Aurora", ["ship:1", "ship:2"])]
    settled = spoken(store, "Where is the Aurora?", domain=domain, entities=["ship:2"])
    assert ids(settled) == [("ship:2", "context")]


def test_a_domain_database_that_is_away_is_told_in_a_note(store: ReferenceStore, domain: Domain, tmp_path: Path) -> None:
    (tmp_path / "shop.db").unlink()
    found = spoken(store, "What did Acme and Umbrella order?", domain=domain)
    assert ids(found) == [("customer:a1b2", "alias")]
    (note,) = found.notes
    assert note.startswith("names were not looked up in the domain database: ")


@given(st.text(max_size=200), st.lists(st.text(max_size=50), max_size=3), st.lists(st.text(max_size=20), max_size=3))
def test_any_text_and_any_conversation_are_taken(store: ReferenceStore, text: str, turns: list[str], entities: list[str]) -> None:
    found = spoken(store, text, turns=turns, entities=entities)
    assert all(each.mention_text in text for each in (*found.entities, *found.ambiguities))
