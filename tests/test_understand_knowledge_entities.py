"""Entities in questions: by name, by another name, by what is spelt nearly so, and above all what is none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.contracts import EntityMention
from recollect.model import Batch, Entity
from recollect.stores.reference import ReferenceStore
from recollect.understand.common import is_common
from recollect.understand.entities import MAX_EXACT, MAX_NEAR_KEYS, resolve
from recollect.understand.words import MAX_CHARS, MAX_WORDS

KNOWN = [
    Entity("person:lothair-ii", "person", "Lothair II", ("Lothaire of Lotharingia",)),
    Entity("person:lothair-i", "person", "Lothair I"),
    Entity("person:teutberga", "person", "Teutberga"),
    Entity("place:st-maurice", "place", "St. Maurice's Abbey"),
    Entity("person:hugh", "person", "Hugh, King of Italy"),
    Entity("place:italy", "place", "Italy"),
    Entity("film:who", "band", "The Who"),
    Entity("org:ina", "organisation", "INA"),
    Entity("dept:it", "department", "IT"),
    Entity("country:us", "country", "United States", ("U.S.", "USA")),
    Entity("person:smith-1", "person", "John Smith"),
    Entity("person:smith-2", "person", "John  SMITH"),
    Entity("person:smith-3", "person", "Jonathan", ("John Smith",)),
    Entity("service:billing", "service", "Billing Service", ("billing",)),
    Entity("service:gateway", "service", "Payment Gateway"),
    Entity("place:oman", "place", "Oman"),
    Entity("person:christian", "person", "Christian"),
    Entity("word:the", "word", "The"),
    Entity("word:don", "person", "Don"),
    Entity("number:1000", "number", "1"),
    Entity("place:tokyo", "place", "東京"),
    Entity("place:lodz", "place", "Łódź"),
    Entity("tool:node", "tool", "Node"),
    Entity("person:theodred-2", "person", "Theodred II"),
]


class Counting(ReferenceStore):
    """A store that counts what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    async def entities_named(self, scope: str, keys: Sequence[str], *, limit: int) -> list[Entity]:
        self.asked.append(len(keys))
        return await super().entities_named(scope, keys, limit=limit)


@pytest.fixture(scope="module")
def store() -> Counting:
    made = Counting()
    asyncio.run(made.write("s", Batch(entities=KNOWN)))
    return made


def found(store: Counting, text: str) -> list[EntityMention]:
    store.asked.clear()
    mentions = asyncio.run(resolve(store, "s", text))
    assert len(store.asked) <= 2
    assert all(text[each.start : each.end] == each.text for each in mentions)
    assert all(before.end <= after.start for before, after in pairwise(mentions))
    return mentions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("When did Lothair Ii's mother die?", [("Lothair Ii", "person:lothair-ii", "exact")]),
        ("who married lothair i", [("lothair i", "person:lothair-i", "exact")]),
        ("Lothaire of Lotharingia's wife", [("Lothaire of Lotharingia", "person:lothair-ii", "alias")]),
        ("Where is St. Maurice’s Abbey’s library?", [("St. Maurice’s Abbey", "place:st-maurice", "exact")]),
        ("the st maurices abbey", [("st maurices abbey", "place:st-maurice", "exact")]),
        ("Who was Hugh, King of Italy?", [("Hugh, King of Italy", "person:hugh", "exact")]),
        ("the coast of Italy", [("Italy", "place:italy", "exact")]),
        ("songs of The Who", [("The Who", "film:who", "exact")]),
        ("what does our IT do", [("IT", "dept:it", "exact")]),
        ("a U.S.-based firm", [("U.S.", "country:us", "alias")]),
        ("is billing_service up", [("billing_service", "service:billing", "exact")]),
        ("billing of invoices", [("billing", "service:billing", "alias")]),
        ("who is Teutbrega", [("Teutbrega", "person:teutberga", "fuzzy")]),
        ("teutbega's husband", [("teutbega", "person:teutberga", "fuzzy")]),
        ("who wrote the payment gatway", [("payment gatway", "service:gateway", "fuzzy")]),
        ("Lothiar II of Itlay", [("Lothiar II", "person:lothair-ii", "fuzzy"), ("Itlay", "place:italy", "fuzzy")]),
        ("a christiann", [("christiann", "person:christian", "fuzzy")]),
        ("我想去東京旅行", [("東京", "place:tokyo", "exact")]),
        ("lódz? LÓDŹ!", []),
        ("łodz", [("łodz", "place:lodz", "exact")]),
    ],
)
def test_what_a_question_speaks_of(store: Counting, text: str, expected: list[tuple[str, str, str]]) -> None:
    assert [(each.text, each.entity_id, each.match) for each in found(store, text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        *(
            "who is the one",
            "The end of it",
            "IS THE",
            "WHAT IS IT",
            "whirl in a box",
            "In A Box",
            "don't do that",
            "node.js",
            "about 1,000 of them",
        ),
        *("Which Woman and which Roman", "Lothair III", "Theodred III", "Theodred I", "theodored ll"),
        *("who is Cristian Rojas", "", "   ", "?!…", "👩‍👩‍👧 🎉", "\x00\x01", "'s", "’", "...", "_", "\ud800 lone"),
    ],
)
def test_what_is_no_entity(store: Counting, text: str) -> None:
    assert found(store, text) == []


@pytest.fixture(scope="module")
def tools() -> Counting:
    names = (
        *("Iran", "Island", "Apart", "Usage", "Go", "React", "build", "MySQL", "UIKit", "Email", "Git", "USA", "Yahoo!", "A+", "+B"),
        *("C", "C++", "C#", ".NET", "Net", "Objective-C", "Objective-C++"),
    )
    made = Counting()
    asyncio.run(made.write("s", Batch(entities=[Entity(f"t:{name}", "tool", name) for name in names])))
    return made


@pytest.mark.parametrize(
    "text",
    [
        *("how i ran the migration", "How I ran the migration", "what is land use", "a part of it", "us age", "the e mail"),
        *("what can go wrong", "react to an error", "take it apart", "usage of disks", "plan c"),
    ],
)
def test_plain_words_with_the_letters_of_a_name_are_no_entity(tools: Counting, text: str) -> None:
    assert found(tools, text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a trip to Iran", ["Iran"]),
        ("what is Go", ["Go"]),
        ("how do we build it", ["build"]),
        ("my sql or ui kit", ["MySQL", "UIKit"]),
        ("an e-mail about git", ["Email", "Git"]),
        ("U.S.A law", ["USA"]),
    ],
)
def test_names_are_found_however_their_words_are_joined(tools: Counting, text: str, expected: list[str]) -> None:
    assert [each.name for each in found(tools, text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Why did we choose C++", ["C++"]),
        ("Why did we choose C?", ["C"]),
        ("why c++ and c#, not C?", ["c++", "c#", "C"]),
        ("(C#'s types) in C++11", ["C#", "C++"]),
        ("Objective-C++ or Objective-C", ["Objective-C++", "Objective-C"]),
        ("Why .NET? Use C#/.net.", [".NET", "C#", ".net"]),
        ("what is the Net", ["Net"]),
        ("who runs Yahoo!", ["Yahoo!"]),
        ("A+ +B", ["A+", "+B"]),
    ],
)
def test_signs_tell_names_apart(tools: Counting, text: str, expected: list[str]) -> None:
    mentions = found(tools, text)
    assert [each.text for each in mentions] == expected
    assert [each.name.casefold() for each in mentions] == [each.casefold() for each in expected]
    assert not any(each.others for each in mentions)


@pytest.mark.parametrize("text", ["A+B", "A++B", "A+++B", "A+/+B", "A+.+B"])
def test_signs_between_names_are_of_one_at_most(tools: Counting, text: str) -> None:
    assert [each.name for each in found(tools, text)] == ["A+", "+B"]


def test_a_letter_with_signs_is_not_the_letter() -> None:
    async def ask(text: str) -> list[str]:
        store = ReferenceStore()
        await store.write("s", Batch(entities=[Entity("l:c", "language", "C")]))
        return [each.entity_id for each in await resolve(store, "s", text)]

    assert asyncio.run(ask("is C++ or C# faster than C")) == ["l:c"]
    assert asyncio.run(ask("is C++ faster")) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what runs on Java 1.1?", ["Java 1.1"]),
        ("what runs on Java 11?", ["Java 11"]),
        ("what runs on Java 1.2?", []),
        ("Postgres+Redis, Postgres#1", ["Postgres", "Redis", "Postgres"]),
        ("who wrote Objctive-C++", ["Objective-C++"]),
        ("who wrote Objective-C", []),
        ("what is c++ buildr", ["C++ Builder"]),
        ("राम जी कौन है", ["राम जी"]),
        ("रमा कौन है", []),
        ("カスの料金", []),
        ("ガスの料金 ｶﾞｽ カ\u3099ス", ["ガス", "ガス", "ガス"]),
        ("ไปชลบุรีกัน", ["ชลบุรี"]),
        ("ไปชลบุริกัน", []),
    ],
)
def test_signs_and_marks_tell_names_apart_also_where_only_one_is_known(text: str, expected: list[str]) -> None:
    async def ask() -> list[str]:
        store = ReferenceStore()
        names = ("Java 1.1", "Java 11", "Postgres", "Redis", "Objective-C++", "C++ Builder", "राम जी", "ガス", "ชลบุรี")
        await store.write("s", Batch(entities=[Entity(f"t:{name}", "thing", name) for name in names]))
        mentions = await resolve(store, "s", text)
        assert not any(each.others for each in mentions)
        return [each.name for each in mentions]

    assert asyncio.run(ask()) == expected


def test_who_is_called_just_so_is_told_those_of_that_name_first(store: Counting) -> None:
    (mention,) = found(store, "where does John Smith work")
    assert (mention.entity_id, mention.match, mention.others) == ("person:smith-1", "exact", ["person:smith-2", "person:smith-3"])


def test_names_that_are_equally_near_are_all_told_and_too_many_are_none() -> None:
    async def ask(names: Sequence[str]) -> list[list[str]]:
        store = ReferenceStore()
        await store.write("s", Batch(entities=[Entity(f"e:{name}", "person", name) for name in names]))
        return [[each.entity_id, *each.others] for each in await resolve(store, "s", "who is bremda")]

    assert asyncio.run(ask(["Brenda", "Bremba"])) == [["e:Bremba", "e:Brenda"]]
    assert asyncio.run(ask(["Brenda", "Bremba", "Bremdo", "Bremdy"])) == []


def test_a_store_without_such_names_is_asked_once_where_all_words_are_plain(store: Counting) -> None:
    found(store, "how does the service handle an error")
    assert len(store.asked) == 1
    found(store, "!?")
    assert store.asked == []


def test_a_very_long_question_is_read_in_part(store: Counting) -> None:
    assert found(store, "zzyzx qwerty " * 10_000) == []
    assert store.asked[0] <= MAX_WORDS * 9
    assert store.asked[1] <= MAX_NEAR_KEYS <= MAX_EXACT
    assert found(store, "x" * 100_000) == []
    assert found(store, "x " * MAX_CHARS + "Teutberga") == []


@pytest.mark.parametrize("word", ["founder", "Directed", "services", "the", "queries", "abc", "implemented"])
def test_plain_words_are_common_in_whatever_form(word: str) -> None:
    assert is_common(word)


@pytest.mark.parametrize("word", ["teutbrega", "gatway", "Lothiar", "kubernetse"])
def test_slips_are_not(word: str) -> None:
    assert not is_common(word)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_any_text_can_be_asked(text: str) -> None:
    store = ReferenceStore()
    assert asyncio.run(resolve(store, "s", text)) == []
