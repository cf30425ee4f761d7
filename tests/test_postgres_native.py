"""Words as Postgres itself reads and ranks them: modes, configurations, rank functions, and what is demanded of every route."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from conftest import Postgres, execute, finished
from recollect.errors import InvalidInput
from recollect.filters import parse as parse_filter
from recollect.library import Library
from recollect.model import Batch, Ranking
from recollect.ports import SupportsNativeText
from recollect.prefs import RetrievalPrefs
from recollect.request import RequestContext
from recollect.settings import PostgresSettings, Settings, load
from recollect.stores.postgres import access, native, passing
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.reference import ReferenceStore
from recollect.stores.sql.types import escaped
from recollect.testing.cases import OTHER, SCOPE, direction, entry, plain, write
from recollect.textquery import NativeQuery
from recollect.understand.native import native_text

OPTIONS = PostgresSettings(pool_size=2)
ENTRIES = (
    entry("race", "She was running with the foxes in the mountains.", title="Sport", metadata={"year": 2020}),
    entry("fox", "A quick brown fox jumps over lazy dogs.", title="Running", metadata={"year": 2021}),
    entry("house", "Die Häuser der Städte sind groß, und wir laufen.", title="Städte", metadata={"year": 2022}),
    entry("long", "The fox sleeps. " + "Nothing else happens here at all. " * 60, title="Night", metadata={"year": 2023}),
    entry("twice", "A fox and a fox, and dogs: brown is the fox.", title="Foxes' tale", metadata={"year": 2024}),
    entry("other's", "A quick brown fox of another tenant.", title="Fox", scope=OTHER),
)


@pytest.fixture(scope="module")
def url(postgres: Postgres) -> Iterator[str]:
    """A store that no test changes."""

    async def fill(url: str) -> None:
        store = PostgresStore(url, options=OPTIONS)
        for scope in (SCOPE, OTHER):
            await write(store, *(each for each in ENTRIES if each.item.scope == scope), scope=scope)
        await store.close()

    with postgres.database() as url:
        asyncio.run(fill(url))
        yield url


class Asked:
    """Short ways to ask the server."""

    def __init__(self, url: str) -> None:
        self.url = url

    def hits(
        self, text: str, mode: str = "web", config: str = "english", rank_func: str = "ts_rank_cd", *,
        k: int = 10, scope: str = SCOPE, where: dict[str, Any] | None = None, min_rank: float | None = None, **options: Any,
    ) -> Ranking:  # fmt: skip
        query = NativeQuery(text, mode, config)
        found = partial(PostgresStore.search_native, scope=scope, query=query, k=k, rank_func=rank_func, min_rank=min_rank)
        return self.run(partial(found, where=parse_filter(where)), **options)

    def ids(self, *question: str, **options: Any) -> list[str]:
        return [hit.id for hit in self.hits(*question, **options)]

    def search(self, text: str, *, meaning: str | None = None, **prefs: Any) -> Any:
        """The answer of the whole retriever, by words and, where a text to be near to is given, by meaning."""
        vector = {"query_vector": direction(meaning).tolist()} if meaning else {}
        asked = RetrievalPrefs(query_text=text, vector=vector, top_k_chunks=0, debug=True, **prefs)

        async def ask(store: PostgresStore) -> Any:
            return await Library(store, embedder=None, scope=SCOPE, options=Settings()).retriever.search(RequestContext(SCOPE), asked)

        return self.run(ask)

    def run(self, work: Callable[[PostgresStore], Any], **options: Any) -> Any:
        async def body() -> Any:
            store = PostgresStore(self.url, options=OPTIONS.model_copy(update=options))
            try:
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(body())


@pytest.fixture
def ask(url: str) -> Asked:
    return Asked(url)


def found(bundle: Any) -> list[str]:
    return [each.item_id for each in bundle.candidates]


# Modes.


def test_web_takes_phrases_exclusions_and_or(ask: Asked) -> None:
    assert set(ask.ids("fox dogs")) == {"fox", "twice"}
    assert ask.ids('"brown fox"') == ["fox"]
    assert set(ask.ids("fox -brown")) == {"race", "long"}
    assert set(ask.ids("jumps OR sleeps")) == {"fox", "long"}


def test_plain_wants_every_word_and_has_no_operators(ask: Asked) -> None:
    assert set(ask.ids("fox -brown", "plain")) == {"fox", "twice"}
    assert ask.ids("fox submarine", "plain") == []


def test_any_wants_one_of_the_words(ask: Asked) -> None:
    assert set(ask.ids("jumps submarine sleeping", "any")) == {"fox", "long"}


def test_phrase_wants_the_words_side_by_side(ask: Asked) -> None:
    assert ask.ids("quick brown", "phrase") == ["fox"]
    assert ask.ids("brown quick", "phrase") == []


def test_strict_is_an_expression_of_the_server(ask: Asked) -> None:
    assert set(ask.ids("fox & !(brown | sleep)", "strict")) == {"race"}
    assert ask.ids("qui:* <2> fox", "strict") == ["fox"]
    assert set(ask.ids("run:A", "strict")) == {"fox"}


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("fox &", "the expression 'fox &' cannot be read: no operand in tsquery"),
        ("fox dogs", "the expression 'fox dogs' cannot be read: syntax error in tsquery"),
        ("!fox", "the expression '!fox' also holds where no word of it is: join by & something"),
        ("fox | !dog", "also holds where no word of it is"),
        ("!" * 500 + "fox", "cannot be read: tsquery stack too small"),
        ("x" * 16_385, "the expression has 16385 characters: write at most 16384"),
    ],
)
def test_a_bad_strict_expression_is_told(ask: Asked, expression: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=r"^the expression") as error:
        ask.ids(expression, "strict")
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("mode", ["web", "any", "plain", "phrase"])
@pytest.mark.parametrize(
    "text",
    [
        "' OR 1=1; --", "fox'); drop table items; --", "\\", "'", '"', "& | ! ( ) <-> :*", "\0fox\1", "the", "   ", "-fox", "x" * 3_000,
        "é" * 3_000, "http://a.bc/d?e=f&g='h'", "%s $1 :asked {}", "fox " * 4_000, " ".join(chr(0x4E00 + at) for at in range(8_000)),
    ],
)  # fmt: skip
def test_any_text_is_a_legal_question_but_for_strict(ask: Asked, mode: str, text: str) -> None:
    assert set(ask.ids(text, mode)) <= {each.item.id for each in ENTRIES if each.item.scope == SCOPE}


def test_what_only_excludes_finds_nothing(ask: Asked) -> None:
    assert ask.ids("-submarine") == []


# Configurations.


def test_a_configuration_says_how_words_are_read(ask: Asked) -> None:
    assert set(ask.ids("run", config="english")) == {"race", "fox"}
    assert ask.ids("run", config="simple") == []
    assert set(ask.ids("running", config="simple")) == {"race", "fox"}
    assert ask.ids("haus stadt", config="german") == ["house"]
    assert ask.ids("haus stadt", config="english") == []
    assert ask.ids("haus stadt", config="pg_catalog.german") == ["house"]


@pytest.mark.parametrize("config", ["klingon", "", "12345", "english; drop table items", 'english"', "words_english", "English"])
def test_a_configuration_the_server_has_not_is_told_with_some_it_has(ask: Asked, config: str) -> None:
    with pytest.raises(InvalidInput, match=r"^fts.config is .*: the server has \d+ configurations, such as [^\n]*english"):
        ask.ids("fox", config=config)


def test_a_misspelt_configuration_is_told_with_the_nearest(ask: Asked) -> None:
    with pytest.raises(InvalidInput, match="such as german"):
        ask.ids("fox", config="germn")


def test_a_column_that_is_missing_is_told_and_added_and_answers_the_same(postgres: Postgres) -> None:
    options = OPTIONS.model_copy(update={"text_configs": ["english", "german", "public.my own"]})

    async def body(url: str) -> None:
        store = PostgresStore(url, options=options)
        await write(store, *(each for each in ENTRIES if each.item.scope == SCOPE))
        missing = partial(native.without_column, names=options.text_configs)
        query = NativeQuery("städte laufen", "any", "public.my own")
        before = await store.search_native(SCOPE, query, k=5, rank_func="ts_rank")
        assert await store.administer(missing) == ["german", "public.my own"]
        await store.migrate()
        assert await store.administer(missing) == []
        assert await store.search_native(SCOPE, query, k=5, rank_func="ts_rank") == before != ()
        await write(store, entry("new", "Städte im Norden"))
        after = await store.search_native(SCOPE, query, k=5, rank_func="ts_rank")
        assert {hit.id for hit in after} == {*(hit.id for hit in before), "new"}
        await store.close()

    with postgres.database() as url:
        finished(execute(postgres.superuser(url), 'create text search configuration public."my own" (copy = german)'))
        asyncio.run(body(url))


def test_doctor_tells_of_a_column_that_is_missing_and_adds_it(postgres: Postgres) -> None:
    async def look(store: PostgresStore, *, repair: bool = False) -> Any:
        return next(each for each in await store.doctor(repair=repair) if each.check == "text search")

    with postgres.database() as url:
        ask = partial(Asked(url).run, text_configs=["english", "german"])
        found = ask(look)
        assert (found.ok, found.detail[:44]) == (False, "items have no column of words as german, so ")
        assert ask(partial(look, repair=True)).repaired
        assert ask(look).ok


def test_a_configuration_with_too_long_a_name_gets_no_column(postgres: Postgres) -> None:
    with postgres.database() as url:
        finished(execute(postgres.superuser(url), f"create text search configuration public.{'x' * 60} (copy = german)"))
        with pytest.raises(InvalidInput, match="has at most 48 bytes"):
            Asked(url).run(lambda store: store.migrate(), text_configs=["x" * 60])


def test_a_variable_names_configurations_one_after_the_other() -> None:
    named = load(environ={"RECOLLECT_POSTGRES_TEXT_CONFIGS": "german, simple"}).postgres
    assert named.text_configs == ["german", "simple"]
    assert load(environ={"RECOLLECT_POSTGRES_TEXT_CONFIGS": ""}).postgres.text_configs == []


# Ranking.


def test_rank_functions_rank_by_their_own_rules(ask: Asked) -> None:
    by_places = {hit.id: hit.score for hit in ask.hits("brown fox", "plain", rank_func="ts_rank_cd")}
    by_count = {hit.id: hit.score for hit in ask.hits("brown fox", "plain", rank_func="ts_rank")}
    assert by_places.keys() == by_count.keys() == {"fox", "twice"}
    assert by_places != by_count


def test_the_title_counts_more_than_the_text(ask: Asked) -> None:
    for function in ("ts_rank", "ts_rank_cd"):
        assert ask.ids("running", rank_func=function) == ["fox", "race"]


def test_a_long_item_comes_after_a_short_one_that_has_the_word_as_often(ask: Asked) -> None:
    order = ask.ids("fox")
    assert order.index("fox") < order.index("long")


def test_min_rank_leaves_out_what_ranks_lower(ask: Asked) -> None:
    hits = ask.hits("fox")
    assert len(hits) == 4
    assert ask.hits("fox", min_rank=hits[1].score) == hits[:2]
    assert ask.hits("fox", min_rank=hits[0].score + 1) == ()


def test_of_many_that_match_enough_are_looked_at(postgres: Postgres) -> None:
    """A word that most items have, and one that few do: those with both come first, and k are found though fewer are looked at at first."""
    entries = [plain(f"n{number:04}", f"common word{number}" + " telling" * (number > 296)) for number in range(300)]

    def hits(store: PostgresStore, text: str, mode: str, k: int) -> Any:
        return store.search_native(SCOPE, NativeQuery(text, mode, "english"), k=k, rank_func="ts_rank")

    async def body(store: PostgresStore) -> None:
        await store.write(SCOPE, Batch(entries))
        assert len(await hits(store, "common", "web", 250)) == 250
        assert {hit.id for hit in await hits(store, "common telling", "any", 3)} == {"n0297", "n0298", "n0299"}
        assert {hit.id for hit in (await hits(store, "common telling word7", "any", 4))} == {"n0007", "n0297", "n0298", "n0299"}
        first = await hits(store, "common", "web", 5)
        assert first == await hits(store, "common", "web", 5)

    with postgres.database() as url:
        Asked(url).run(body, text_candidates=100)


def test_a_question_of_many_words_is_ranked_by_the_function_that_takes_little_time(ask: Asked) -> None:
    few, many = "fox dogs", "fox dogs " + " ".join(f"word{at}" for at in range(40))
    assert ask.hits(few, "any", rank_func="ts_rank") != ask.hits(few, "any", rank_func="ts_rank_cd")
    assert ask.hits(many, "any", rank_func="ts_rank") == ask.hits(many, "any", rank_func="ts_rank_cd")


# Filters and scopes.


def test_filters_hold_whether_few_or_many_pass(ask: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    few = ask.ids("fox", where={"year": {"gte": 2021}})
    assert set(few) == {"fox", "long", "twice"}
    monkeypatch.setattr(passing, "LISTED", 1)
    assert ask.ids("fox", where={"year": {"gte": 2021}}) == few
    assert ask.ids("fox", where={"year": {"gte": 2021}}, k=1) == few[:1]
    assert ask.ids("fox", where={"year": 1999}) == []


def test_nothing_of_another_scope_is_found(ask: Asked) -> None:
    assert ask.ids("fox", scope=OTHER) == ["other's"]
    assert "other's" not in ask.ids("quick brown fox", "any")
    assert ask.ids("fox", scope="nobody's") == []
    every = [each.item.id for each in ENTRIES]
    query = NativeQuery("fox", "web", "english")
    assert ask.run(lambda store: store.meeting_native(SCOPE, query, every)) == {"race", "fox", "long", "twice"}


def test_a_role_that_row_security_holds_for_finds_and_writes_what_is_of_its_scope(postgres: Postgres) -> None:
    role = f"{postgres.name}_native"

    def as_role(url: str) -> str:
        parts = urlsplit(url)
        return urlunsplit(parts._replace(netloc=f"{role}:{role}@{parts.netloc.rpartition('@')[2]}"))

    async def fill(store: PostgresStore) -> None:
        await store.write(OTHER, Batch([plain("theirs", "a fox", scope=OTHER)]))
        await store.administer(partial(access.grant, namespace="recollect", role=role, scopes=[SCOPE], read_only=False))

    async def use(store: PostgresStore) -> None:
        await store.write(SCOPE, Batch([plain("mine", "two foxes")]))
        for config in ("english", "german"):
            query = NativeQuery("foxes", "web", config)
            assert [hit.id for hit in await store.search_native(SCOPE, query, k=5, rank_func="ts_rank")] == ["mine"]
            assert await store.meeting_native(SCOPE, query, ["mine", "theirs"]) == {"mine"}

    with postgres.database() as url:
        finished(execute(postgres.admin, f"create role {role} login password '{role}'"))
        try:
            Asked(url).run(fill)
            Asked(as_role(url)).run(use)
        finally:
            finished(execute(postgres.superuser(url), f"drop owned by {role}"))
            finished(execute(postgres.admin, f"drop role {role}"))


def test_the_index_on_words_is_used_inside_the_function(postgres: Postgres) -> None:
    plans: list[str] = []
    columns = "revision, content_hash, fingerprint, kind, format, source, status, created_at, updated_at, importance, use_count, entities"
    values = "'', '', '', '', '', '', '', now(), now(), 0, 0, '[]'"
    fill = f"""insert into items (scope, id, seq, {columns}, metadata, blank, text)
      select scope, n, n, {values}, '{{}}', false, 'common word' || n from generate_series(1, 5000) as n, unnest(array['a', 'b']) scope"""

    async def explained(url: str) -> None:
        import asyncpg

        bound = {"search_path": "recollect, public", "recollect.scope": "a"}
        connection = await asyncpg.connect(postgres.superuser(url), server_settings=bound)
        await connection.execute(fill)
        await connection.execute("analyze items")
        connection.add_log_listener(lambda _, message: plans.append(str(message)))
        told = ("log_min_duration = 0", "log_nested_statements = on", "log_level = notice")
        await connection.execute("; ".join(["load 'auto_explain'", *(f"set auto_explain.{each}" for each in told)]))
        best = "best_as('english', array['''word7''']::tsquery[], 'ts_rank', '{.1,.1,.1,1}', 1, null, 100, 10, null)"
        assert [row["id"] for row in await connection.fetch(f"select id from {best}")] == ["7"]
        await asyncio.sleep(0.05)
        await connection.close()

    with postgres.database() as url:
        asyncio.run(explained(url))
    plan = next(each for each in plans if "WITH found" in each)
    conditions = plan.partition("Bitmap Index Scan on items_by_words_english")[2].partition("Index Cond: ")[2].splitlines()[0]
    assert "(scope = 'a'::text)" in conditions
    assert "words_english @@ '''word7'''" in conditions


# Texts.


WIDE = [chr(at) for at in range(0x20000, 0x2A6D0)]
"""Letters of four bytes."""


WORST = {
    "ten megabytes of different words": " ".join(a + b for a in WIDE[:1_000] for b in WIDE[:850])[:2_500_000],
    "letters joined by hyphens": " ".join("-".join(WIDE[at : at + 400]) for at in range(0, len(WIDE), 400)),
    "pairs joined by hyphens": " ".join("-".join(WIDE[at : at + 2]) for at in range(0, len(WIDE), 2)),
    "addresses": " ".join(f"a.b{chr(97 + at % 26)}{at:x}/x{at:x}" for at in range(30_000)),
    "one word": "x" * 3_000_000,
    "characters that Postgres cannot keep": "a\0b\1c " * 50_000,
}


@pytest.mark.parametrize("text", WORST.values(), ids=WORST)
def test_no_text_makes_a_write_fail(postgres: Postgres, text: str) -> None:
    """Of the columns alone: what is read here of so much text takes seconds."""

    async def body(url: str) -> None:
        import asyncpg

        connection = await asyncpg.connect(url, server_settings={"search_path": "recollect, public"})
        kept = escaped(text)
        for config in ("english", "simple", "turkish"):
            assert await connection.fetchval("select words_as($1::text::regconfig, $2, $2) is not null", config, kept)
        await connection.close()

    with postgres.database() as url:
        asyncio.run(body(url))


def test_text_beyond_what_is_read_is_not_found_by_the_server(postgres: Postgres) -> None:
    entries = [plain("early", "fox " + "filler " * 20_000), plain("late", "filler " * 20_000 + "fox")]

    async def body(store: PostgresStore) -> None:
        await store.write(SCOPE, Batch(entries))
        query = NativeQuery("fox", "web", "english")
        assert [hit.id for hit in await store.search_native(SCOPE, query, k=5, rank_func="ts_rank")] == ["early"]

    with postgres.database() as url:
        Asked(url).run(body)


# The whole retriever.


def test_the_servers_way_is_used_where_a_configuration_or_a_rank_function_is_named(ask: Asked) -> None:
    in_force = [
        ({}, ("english", "bm25")),
        ({"rank_func": "bm25", "config": "english"}, ("english", "bm25")),
        ({"rank_func": "ts_rank"}, ("english", "ts_rank")),
        ({"rank_func": "ts_rank_cd", "config": None, "mode": "web", "min_rank": None}, ("english", "ts_rank_cd")),
        ({"config": "german"}, ("german", "ts_rank")),
        ({"config": "simple", "rank_func": "ts_rank"}, ("simple", "ts_rank")),
    ]
    for asked, expected in in_force:
        params = ask.search("fox", fts=asked).stats.params["fts"]
        assert (params["config"], params["rank_func"]) == expected


def test_bm25_with_a_configuration_of_the_server_is_refused(ask: Asked) -> None:
    with pytest.raises(InvalidInput, match=r"fts.rank_func is 'bm25', which is for words read as 'english': with fts.config 'german' use"):
        ask.search("fox", fts={"config": "german", "rank_func": "bm25"})


def test_a_store_without_a_server_ranks_its_own_way_and_says_so() -> None:
    prefs = {"query_text": "fox", "fts": {"rank_func": "ts_rank"}, "debug": True}
    store = ReferenceStore()
    assert not isinstance(store, SupportsNativeText)
    bundle = asyncio.run(Library(store, embedder=None, options=Settings()).retriever.search(RequestContext(SCOPE), prefs))
    assert (bundle.stats.params["fts"]["config"], bundle.stats.params["fts"]["rank_func"]) == ("english", "bm25")


def test_scores_and_snippets_come_with_what_the_server_finds(ask: Asked) -> None:
    bundle = ask.search("running", fts={"config": "english"})
    assert found(bundle) == ["fox", "race"]
    assert bundle.candidates[1].snippet == ENTRIES[0].item.text
    assert [each.score_text for each in bundle.candidates] == [hit.score for hit in ask.hits("running", rank_func="ts_rank")]


MEANT = ENTRIES[2].item.text
"""What the house is nearest to, which has none of the words."""


@pytest.mark.parametrize(
    ("text", "mode", "passing"),
    [
        ("fox", "web", {"race", "fox", "house", "long", "twice"}),
        ("fox brown", "plain", {"race", "fox", "house", "long", "twice"}),
        ("fox -brown", "web", {"race", "house", "long"}),
        ('"brown foxes"', "web", {"fox"}),
        ('sleeping "brown foxes"', "web", {"fox"}),
        ("“brown foxes”", "web", {"fox"}),
        ("jumping OR sleeping", "web", {"fox", "long"}),
        ('"green foxes" -brown', "web", {"race", "house", "long"}),
        ("brown foxes", "phrase", {"fox"}),
        ("fox & !brown", "strict", {"race", "long"}),
    ],
)
def test_what_a_question_demands_holds_for_what_is_found_by_meaning_as_the_server_reads_it(
    ask: Asked, text: str, mode: str, passing: set[str]
) -> None:
    bundle = ask.search(text, meaning=MEANT, fts={"mode": mode, "config": "english"})
    assert set(found(bundle)) == passing


def test_a_questions_demands_are_read_once() -> None:
    prefs = RetrievalPrefs(query_text="?", fts={"config": "simple"}).fts
    native = native_text('a "b c" -d -"e f"', prefs, "english")
    assert native is not None
    assert [each.text for each in native.demands] == ['"b c" -"d" -"e f"', '-"d" -"e f"']
