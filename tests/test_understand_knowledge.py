"""Questions to the knowledge service: what they are after, the filters that they say in words, and how else they may be said."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.contracts import QueryAnalysis
from recollect.filters import Compare, Filter, parse
from recollect.model import Batch, Entity, Entry, Item
from recollect.stores.reference import ReferenceStore
from recollect.understand.analysis import analyse
from recollect.understand.dates import condition
from recollect.understand.expansion import MAX_EXPANSIONS, expansions_of
from recollect.understand.intent import intent_of
from recollect.understand.synonyms import synonyms

NOW = datetime(2025, 8, 20, 10, tzinfo=UTC)
WHEN = datetime(2024, 5, 17, tzinfo=UTC)
ITEMS: Sequence[tuple[str, dict[str, Any]]] = (
    ("architecture", {"subsystem": "Billing"}),
    ("design", {"subsystem": "payment-service", "author": "Ada L", "priority": 1}),
    ("requirement", {"tags": ["api", "auth"], "final": True}),
    ("decision", {"team": "Core", "bounded_context": "orders", "ticket": "17"}),
    ("Runbook", {"mixed": 3, "dialect": "C++"}),
    ("meeting_note", {"mixed": "3", "dialect": "C"}),
)
ALL = ["draft", "approved", "superseded", "archived"]


class Counting(ReferenceStore):
    """A store that counts what it is asked for values."""

    asked = 0

    async def facets(self, scope: str, names: Sequence[str], where: Filter | None = None) -> dict[str, dict[str, int]]:
        self.asked += 1
        return await super().facets(scope, names, where)

    async def fields(self, scope: str) -> dict[str, frozenset[str]]:
        self.asked += 1
        return await super().fields(scope)


@pytest.fixture(scope="module")
def store() -> Counting:
    made = Counting()
    entries = [
        Entry(Item(scope="s", id=f"i{at}", text="x", kind=kind, metadata=metadata, created_at=WHEN, updated_at=WHEN))
        for at, (kind, metadata) in enumerate(ITEMS)
    ]
    entities = [Entity("place:museum", "place", "Design Museum"), Entity("service:billing", "service", "Billing Service", ("billing",))]
    asyncio.run(made.write("s", Batch(entries=entries, entities=entities)))
    return made


def analysed(store: Counting, text: str) -> QueryAnalysis:
    store.asked = 0
    analysis = asyncio.run(analyse(store, "s", text, NOW))
    for said in analysis.filters:
        assert parse(said.filter) is not None
        assert all(words in text for words in said.words.split(", "))
    return analysis


def said(store: Counting, text: str) -> dict[str, Any]:
    """The filters of a question, by their words."""
    return {each.words: each.filter for each in analysed(store, text).filters}


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("why did we choose Postgres over Neo4j", "decision"),
        ("What was the rationale for event sourcing?", "decision"),
        ("why is the queue so slow", "decision"),
        ("list our design decisions", "decision"),
        ("reasons behind the cache's architecture", "decision"),
        ("how is billing implemented", "implementation"),
        ("how does the architecture implement retries?", "implementation"),
        ("Where is the code for invoices", "implementation"),
        ("the system must encrypt tokens", "requirement"),
        ("services shall retry", "requirement"),
        ("what must the architecture satisfy", "requirement"),
        ("architecture requirements", "requirement"),
        ("What do we need for login", "requirement"),
        ("architecture of the billing system", "architecture"),
        ("How should we design the cache", "architecture"),
        ("which patterns do we use", "architecture"),
        ("how are the modules organised?", "architecture"),
        ("encode and decode a mustache; the misused undesignated", "general"),
        ("what does error code 42 mean", "general"),
        ("When did Lothair II's mother die?", "general"),
        ("", "general"),
        ("¿?", "general"),
    ],
)
def test_what_a_question_is_after(text: str, intent: str) -> None:
    assert intent_of(text) == intent


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        (
            "approved designs after 2024",
            {"approved": {"status": "approved"}, "designs": {"kind": "design"}, "after 2024": {"created_at": {"gt": "2024"}}},
        ),
        ("draft requirements", {"draft": {"status": "draft"}, "requirements": {"kind": "requirement"}}),
        ("Decisions since March 2025", {"Decisions": {"kind": "decision"}, "since March 2025": {"created_at": {"gte": "2025-03"}}}),
        ("before 2023", {"before 2023": {"created_at": {"lt": "2023"}}}),
        ("superseded decisions", {"superseded": {"status": "superseded"}, "decisions": {"kind": "decision"}}),
        (
            "architecture documents from last year",
            {"architecture documents": {"kind": "architecture"}, "from last year": {"created_at": {"gte": "2024", "lte": "2024"}}},
        ),
        ("show me the approved architecture of billing", {"approved": {"status": "approved"}, "architecture": {"kind": "architecture"}}),
        (
            "which approved designs and requirements cover refunds?",
            {"approved": {"status": "approved"}, "designs, requirements": {"kind": {"in": ["design", "requirement"]}}},
        ),
        (
            "approved designs and superseded decisions",
            {
                "approved, superseded": {"status": {"in": ["approved", "superseded"]}},
                "designs, decisions": {"kind": {"in": ["design", "decision"]}},
            },
        ),
        ("approved and draft designs", {"approved and draft": {"status": {"in": ["approved", "draft"]}}, "designs": {"kind": "design"}}),
        ("designs about billing before 2023", {"designs": {"kind": "design"}, "before 2023": {"created_at": {"lt": "2023"}}}),
        ("designs updated since March", {"designs": {"kind": "design"}, "since March": {"updated_at": {"gte": "2025-03"}}}),
        ("last year's decisions", {"last year's": {"created_at": {"gte": "2024", "lte": "2024"}}, "decisions": {"kind": "decision"}}),
        (
            "Since 2024, which decisions concern caching?",
            {"Since 2024": {"created_at": {"gte": "2024"}}, "decisions": {"kind": "decision"}},
        ),
        ("what was decided since March", {"since March": {"created_at": {"gte": "2025-03"}}}),
        ("accepted ADRs", {"accepted": {"status": "approved"}, "ADRs": {"kind": "decision"}}),
        (
            "architecture decision records of 2023",
            {"architecture decision records": {"kind": "decision"}, "of 2023": {"created_at": {"gte": "2023", "lte": "2023"}}},
        ),
        ("approved specs", {"approved": {"status": "approved"}}),
        ("outdated documentation", {"outdated": {"status": {"in": ["superseded", "archived"]}}}),
        ("requirements that are still in draft", {"requirements": {"kind": "requirement"}, "that are still in draft": {"status": "draft"}}),
        ("which requirements are not approved", {"requirements": {"kind": "requirement"}, "are not approved": {"status": "draft"}}),
        ("retries, with status approved", {"with status approved": {"status": "approved"}}),
        ("drafts about refunds", {"drafts": {"status": "draft"}}),
        # A user's own kinds, as the store spells them.
        ("list all runbooks", {"runbooks": {"kind": "Runbook"}}),
        ("approved runbooks about failover", {"approved": {"status": "approved"}, "runbooks": {"kind": "Runbook"}}),
        (
            "meeting notes about X since yesterday",
            {"meeting notes": {"kind": "meeting_note"}, "since yesterday": {"created_at": {"gte": "2025-08-19"}}},
        ),
        ("all designs", {"designs": {"kind": "design"}}),
        ("designs about caching", {"designs": {"kind": "design"}}),
        # History.
        ("previous versions of the auth design", {"previous versions of": {"status": "superseded"}}),
        ("what is the history of the caching decision", {"history of": {"status": {"in": ALL}}}),
        ("change history of the gateway", {"change history of": {"status": {"in": ALL}}}),
        ("the history of ADR-12", {"history of": {"status": {"in": ALL}}}),
        # Metadata.
        ("how are retries handled in the billing subsystem", {"in the billing subsystem": {"subsystem": "Billing"}}),
        ("invoices in subsystem BILLING?", {"in subsystem BILLING": {"subsystem": "Billing"}}),
        ("retries in the payment service subsystem", {"in the payment service subsystem": {"subsystem": "payment-service"}}),
        ("in the orders bounded context, who validates?", {"in the orders bounded context": {"bounded_context": "orders"}}),
        ("what was written by ada l", {"written by ada l": {"author": "Ada L"}}),
        ("anything tagged auth", {"tagged auth": {"tags": "auth"}}),
        ("team:core caching", {"team:core": {"team": "Core"}}),
        ("with dialect c++", {"with dialect c++": {"dialect": "C++"}}),
        ("with dialect C", {"with dialect C": {"dialect": "C"}}),
        ("with priority 1", {"with priority 1": {"priority": 1}}),
        ("with ticket 17", {"with ticket 17": {"ticket": "17"}}),
        ("with mixed 3", {"with mixed 3": {"mixed": {"in": ["3", 3]}}}),
        ("final=true limits", {"final=true": {"final": True}}),
    ],
)
def test_filters_that_are_said(store: Counting, text: str, filters: dict[str, Any]) -> None:
    assert said(store, text) == filters


@pytest.mark.parametrize("text", ["version 2 of the retention policy", "the billing design v2", "Version 2.0 of our design"])
def test_a_version_of_a_document_is_meant_however_it_is_written(store: Counting, text: str) -> None:
    (each,) = analysed(store, text).filters
    assert each.filter == {"version": {"in": ["2", "v2", "2.0", "v2.0", "2.0.0", "v2.0.0"]}}


@pytest.mark.parametrize(
    "text",
    [
        *("design of the approved-list feature", "how do we approve designs", "the architecture of X", "who approved the design"),
        *(
            "how are superseded decisions handled",
            "can draft requirements be deleted?",
        ),
        *("what is a draft requirement", "what are approved designs"),
        *(
            "which film was released before 1950",
            "who was king in 875",
        ),
        *("what happened after 2024", "requirements for invoices issued before 2023"),
        *("what does version 2 of the API return", 'how does "approved designs after 2024" parse', "approved vendors after 2024"),
        *("the approved design process", "we approved designs last week", "the design of draft mode", "which design patterns are used"),
        *("how are drafts saved", "loops in the marketing subsystem", "written by Bob", "why did we choose Postgres after 2024"),
        *("is the login design approved", "what happens to approved designs after a release", "it may march in may", "design tokens"),
        *("the history of the Eiffel Tower", "browser history of the user", "luxury items in the past few months"),
        *("with kind design", "in title x", "all the best", "movies about designs", "records in 1990", "designs since 31 June 2024", ""),
        *("how did decisions before 2020 differ from decisions after 2023", "archived data requirements", "with status unknown"),
    ],
)
def test_what_says_no_filter(store: Counting, text: str) -> None:
    assert said(store, text) == {}


@pytest.mark.parametrize(
    "text",
    [
        *("designs not in the billing subsystem", "designs that aren't in the billing subsystem", "not designs in the billing subsystem"),
        *("designs that do not belong in the billing subsystem", "neither in the billing subsystem nor tagged api"),
        *("designs not in the billing subsystem or tagged api", "not the caching designs in the billing subsystem"),
        *("designs not written by Ada L", "everything except designs about caching written by Ada L", "unless it is written by Ada L"),
        *("not tagged api", "everything excluding those tagged api", "without anything tagged api"),
        *("-team:core caching", "!team:core caching", "caching NOT team:core", "not with priority 1", "without final=true"),
        *("do not show draft designs", "don’t show me the approved designs", "dont list the draft requirements"),
        *("all except the approved designs", "all but the approved designs", "instead of the approved designs"),
        *("decisions other than the draft requirements", "do not show requirements that are approved", "retries, not with status approved"),
        *("do not show draft designs, archived decisions, superseded requirements", "all except drafts, archived designs and draft specs"),
        *("do not show designs since 2024", "all except designs from 2024", "not last year's decisions", "not the 2024 designs"),
        *("without the previous versions of the auth design", "not the history of the caching decision"),
        *("not version 2 of the retention policy", "not the billing design v2", "excluding the billing design v2"),
    ],
)
def test_what_is_denied_says_no_filter(store: Counting, text: str) -> None:
    assert said(store, text) == {}


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("all designs but not the approved designs", {"designs": {"kind": "design"}}),
        ("designs about caching not before 2023", {"designs": {"kind": "design"}}),
        ("approved designs not written by Ada L", {"approved": {"status": "approved"}, "designs": {"kind": "design"}}),
        ("not the drafts but the approved designs", {"approved": {"status": "approved"}, "designs": {"kind": "design"}}),
        ("No, show me the approved designs", {"approved": {"status": "approved"}, "designs": {"kind": "design"}}),
        ("if it does not work, show me the approved designs", {"approved": {"status": "approved"}, "designs": {"kind": "design"}}),
        ("why is the cache not used in the billing subsystem", {"in the billing subsystem": {"subsystem": "Billing"}}),
        ("caching - team:core", {"team:core": {"team": "Core"}}),
    ],
)
def test_what_is_denied_leaves_the_rest_said(store: Counting, text: str, filters: dict[str, Any]) -> None:
    assert said(store, text) == filters


def test_a_store_is_asked_for_values_only_where_the_question_names_some(store: Counting) -> None:
    for text, most in (
        ("how does the gateway retry?", 0),
        ("why did we choose Postgres", 0),
        ("approved designs in the billing subsystem", 1),
        ("with priority 1", 2),
    ):
        analysed(store, text)
        assert store.asked == most, text


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("after 2024", {"gt": "2024"}),
        ("since 2024", {"gte": "2024"}),
        ("until May 2024", {"lte": "2024-05"}),
        ("in Q2 2024", {"gte": "2024-04", "lte": "2024-06"}),
        ("before 17 May 2024", {"lt": "2024-05-17"}),
        ("after May 17th, 2024", {"gt": "2024-05-17"}),
        ("since September", {"gte": "2024-09"}),
        ("since march", {"gte": "2025-03"}),
        ("between 2020 and 2022", {"gte": "2020", "lte": "2022"}),
        ("from March to May 2024", {"gte": "2024-03", "lte": "2024-05"}),
        ("after 2020 and before 2023", {"gt": "2020", "lt": "2023"}),
        ("from 2024 onwards", {"gte": "2024"}),
        ("in the last 30 days", {"gte": "2025-07-21"}),
        ("over the past few weeks", {"gte": "2025-07-30"}),
        ("in the last year", {"gte": "2024-08-20"}),
        ("in last year", {"gte": "2024", "lte": "2024"}),
        ("older than two years", {"lt": "2023-08-20"}),
        ("since 6 months ago", {"gte": "2025-02-20"}),
        ("last week", {"gte": "2025-08-11", "lte": "2025-08-17"}),
        ("from last month", {"gte": "2025-07", "lte": "2025-07"}),
        ("during last quarter", {"gte": "2025-04", "lte": "2025-06"}),
        ("after 31 June 2024", None),
        ("between 2024 and 2020", None),
        ("within the last 9999 years", None),
    ],
)
def test_times_are_told_from_now(phrase: str, expected: dict[str, str] | None) -> None:
    assert condition(phrase, NOW) == expected
    assert expected is None or parse({"created_at": expected}) is not None


def test_after_a_year_is_after_its_end_and_today_is_that_of_utc() -> None:
    found = parse({"created_at": condition("after 2024", NOW)})
    assert isinstance(found, Compare)
    assert (found.relation, found.value) == ("gte", datetime(2025, 1, 1, tzinfo=UTC))
    late = datetime(2025, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=2)))
    assert condition("in this year", late) == {"gte": "2024", "lte": "2024"}
    assert condition("today", datetime(2025, 1, 31)) == {"gte": "2025-01-31", "lte": "2025-01-31"}
    assert condition("since a month ago", datetime(2025, 3, 31, tzinfo=UTC)) == {"gte": "2025-02-28"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("how to implement it", ["how to build it", "how to develop it", "how to create it"]),
        ("Designs of X", ["Architectures of X", "Structures of X", "Patterns of X"]),
        ("implemented twice", ["built twice", "developed twice", "created twice"]),
        ("REQUIREMENTS", ["CONSTRAINTS", "SPECIFICATIONS", "MUST HAVES"]),
        ("deleting dependencies", ["removing dependencies", "deleting libraries"]),
        ("error settings", ["exception settings", "error config", "failure settings", "error configuration"]),
        ('the "login" of error-codes and terrors', []),
        ("nothing to say", []),
        ("", []),
    ],
)
def test_a_question_in_other_words(text: str, expected: list[str]) -> None:
    assert expansions_of(text) == expected


def test_there_are_few_expansions_each_once_and_never_the_question_itself() -> None:
    found = expansions_of("implement a design that handles an error of the login config")
    assert len(found) == len(set(found)) == MAX_EXPANSIONS
    assert found[0] == "build a design that handles an error of the login config"
    assert expansions_of("error " * 10_000) == []
    assert all(form not in others and all(others) for form, others in synonyms().items())


def test_names_and_words_that_say_a_filter_stay_as_they_are_in_other_words(store: Counting) -> None:
    assert analysed(store, "opening of the Design Museum").suggested_expansions == []
    assert analysed(store, "approved designs after 2024").suggested_expansions == []


def test_all_of_it_together(store: Counting) -> None:
    analysis = analysed(store, "why did we choose this error format in the billing subsystem?")
    assert analysis.query_type == "decision"
    assert [each.entity_id for each in analysis.entities] == ["service:billing"]
    assert [each.filter for each in analysis.filters] == [{"subsystem": "Billing"}]
    assert analysis.suggested_expansions[0] == "why did we select this error format in the billing subsystem?"
    assert analysis.original_query == "why did we choose this error format in the billing subsystem?"


WORDS = (
    *("approved", "draft", "designs", "all", "in", "the", "since", "2024", "last", "year's", "version", "2"),
    *("of", "history", "subsystem", "billing", "written", "by", ",", ":", "'", '"', "and", "that", "are", "March", "ago", "3", "days"),
)


@cache
def small_store() -> ReferenceStore:
    made = ReferenceStore()
    item = Item(scope="s", id="a", text="x", kind="design", metadata={"subsystem": "billing"}, created_at=WHEN, updated_at=WHEN)
    asyncio.run(made.write("s", Batch(entries=[Entry(item)])))
    return made


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=120), st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)))
def test_any_text_is_analysed_and_its_filters_can_be_parsed(text: str) -> None:
    analysis = asyncio.run(analyse(small_store(), "s", text, NOW))
    for each in analysis.filters:
        assert parse(each.filter) is not None
    assert text not in analysis.suggested_expansions


@pytest.mark.parametrize(
    "text",
    ["approved designs since 2024 " * 4_000, "why " * 30_000, "x" * 100_000, "in the a b " * 10_000, "2024 " * 20_000, "🎉" * 50_000],
)
def test_a_very_long_text_is_read_in_part(store: Counting, text: str) -> None:
    assert analysed(store, text).original_query == text


@pytest.mark.parametrize("space", [" ", "\n"])
@pytest.mark.parametrize(
    "words",
    [
        *(
            "since 2024",
            "after May",
            "starting in March 2025",
            "between 2020",
            "from March to",
            "after 17",
            "after May 17th,",
            "in the last",
        ),
        *("over the past few", "older than", "newer than two", "since 6 months", "from 2024", "prior", "last", "the year", "in q2", "2024"),
        *(
            "version",
            "previous versions",
            "change history",
            "history",
            "why",
            "why did we",
            "how is it",
            "reasons",
            "show me",
            "must",
            "trade",
        ),
    ],
)
def test_a_long_run_of_white_space_is_read_once(store: Counting, words: str, space: str) -> None:
    # The cube of so many steps would take minutes.
    for text in (f"{words}{space * 4_000}x designs", f"{words}{space * 3_900}x designs", f"designs {words}{space * 3_900},{space}x"):
        assert analysed(store, text).original_query == text


def test_white_space_of_any_kind_is_within_a_time(store: Counting) -> None:
    for text in ("designs after 2020 \n and\t before   2023", "designs after 2020 , but before 2023", "designs after 2020,before 2023"):
        (_, time) = analysed(store, text).filters
        assert time.filter == {"created_at": {"gt": "2020", "lt": "2023"}}
