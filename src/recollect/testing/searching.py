"""Search by words: what a query means, that any text is a legal one, and that the same question gives the same answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ..analysis import terms
from ..model import Entry
from ..ports import Store
from ..textquery import Boolean, Node, Phrase, Prefix, Term
from ..understand.text import parse as understood
from .cases import SCOPE, OpenStore, asked, direction, entry, examples, ids, law, opened, plain, write

TEXTS = {
    "cat": "the quick cat sat on the mat",
    "dog": "the lazy dog sat quickly",
    "catdog": "a cat and a dog, and another cat",
    "code": "def getUserName(user_id): return http_client.fetch(user_id)",
    "zh": "向量数据库的全文检索",
    "ja": "東京都の天気予報はこちら",
    "ko": "데이터베이스에서 검색합니다",
    "ru": "Быстрая лиса и ленивая собака",
    "accents": "Crème brûlée at the café",
}


async def _filled(store: Store) -> None:
    await write(store, *(plain(name, text) for name, text in TEXTS.items()))


async def _found(store: Store, query: Node, k: int = 20) -> set[str]:
    return set(ids(await store.search_text(SCOPE, query, k=k)))


@law
async def test_a_term_is_found_in_any_form_of_the_word(store: Store) -> None:
    await _filled(store)
    assert await _found(store, Term("cats")) == {"cat", "catdog"}
    assert await _found(store, Term("CAT dogs")) == {"cat", "dog", "catdog"}
    assert await _found(store, Term("cafe creme")) == {"accents"}
    assert await _found(store, Term("СОБАКА")) == {"ru"}
    assert await _found(store, Term("absent")) == set()


@law
async def test_a_name_in_code_is_found_whole_and_by_its_parts(store: Store) -> None:
    await _filled(store)
    for text in ("getUserName", "getusername", "name", "user_id", "client", "http_client"):
        assert await _found(store, Term(text)) == {"code"}, text


@law
async def test_words_of_scripts_without_spaces_are_found(store: Store) -> None:
    await _filled(store)
    for text, name in {"数据库": "zh", "检索": "zh", "天気": "ja", "東京": "ja", "검색": "ko", "데이터베이스": "ko"}.items():
        assert await _found(store, Phrase(text)) == {name}, text
        assert name in await _found(store, understood(text, "web")), text
    assert await _found(store, Phrase("数据仓库")) == set()


@law
async def test_a_phrase_is_its_words_side_by_side(store: Store) -> None:
    await _filled(store)
    assert await _found(store, Phrase("quick cat")) == {"cat"}
    assert await _found(store, Phrase("cat quick")) == set()
    assert await _found(store, Phrase("cat sat")) == {"cat"}
    assert await _found(store, Phrase("on the mat")) == {"cat"}
    assert await _found(store, Phrase("cat mat")) == set()
    assert await _found(store, Phrase("dog")) == {"dog", "catdog"}


@law
async def test_a_phrase_does_not_reach_from_the_title_into_the_text(store: Store) -> None:
    await write(store, plain("a", "river bank", title="open source", source_ref="docs/guide.md"))
    assert await _found(store, Phrase("open source")) == {"a"}
    assert await _found(store, Phrase("source river")) == set()
    assert await _found(store, Phrase("bank docs")) == set()


@law
async def test_title_and_path_are_searched(store: Store) -> None:
    await write(store, plain("a", "body", title="Heading", source_ref="src/parser/lexer.py", summary="hidden", metadata={"x": "hidden"}))
    for text in ("body", "heading", "parser", "lexer"):
        assert await _found(store, Term(text)) == {"a"}, text
    assert await _found(store, Term("hidden")) == set()


@law
async def test_a_prefix_is_the_beginning_of_a_word(store: Store) -> None:
    await _filled(store)
    assert await _found(store, Prefix("qui")) == {"cat", "dog"}
    assert await _found(store, Prefix("ca")) == {"cat", "catdog", "accents"}
    assert await _found(store, Prefix("uick")) == set()
    assert await _found(store, Prefix("getuser")) == {"code"}
    assert await _found(store, Prefix("лен")) == {"ru"}
    assert await _found(store, Prefix("c.t")) == set()


@law
async def test_boolean_queries_mean_what_they_say(store: Store) -> None:
    await _filled(store)
    cat, dog, sat = Term("cat"), Term("dog"), Term("sat")
    assert await _found(store, Boolean(must=(cat, dog))) == {"catdog"}
    assert await _found(store, Boolean(should=(cat, dog))) == {"cat", "dog", "catdog"}
    assert await _found(store, Boolean(must=(cat,), should=(sat,))) == {"cat", "catdog"}
    assert await _found(store, Boolean(should=(cat, dog), must_not=(sat,))) == {"catdog"}
    assert await _found(store, Boolean(must=(Boolean(should=(cat, dog)), sat))) == {"cat", "dog"}
    assert await _found(store, Boolean(must=(cat,), must_not=(Phrase("cat sat"),))) == {"catdog"}
    assert await _found(store, Boolean(must=(sat,), must_not=(Boolean(must=(cat, Term("mat"))),))) == {"dog"}
    assert await _found(store, Boolean(must=(sat, Prefix("laz")))) == {"dog"}
    assert await _found(store, Boolean(must=(cat, Term("absent")))) == set()


@law
async def test_a_query_without_anything_to_find_finds_nothing(store: Store) -> None:
    await _filled(store)
    nothing: list[Node] = [
        Boolean(),
        Boolean(must_not=(Term("cat"),)),
        Term(""),
        Term("?!"),
        Phrase(""),
        Phrase("..."),
        Prefix(""),
        Prefix("-"),
    ]
    for query in [*nothing, Boolean(must=(Term("cat"), Boolean())), Boolean(must=(Term("cat"), Term("?")))]:
        assert await store.search_text(SCOPE, query, k=9) == (), query
    assert await _found(store, Boolean(should=(Term("cat"), Term("?!")), must_not=(Boolean(), Phrase("")))) == {"cat", "catdog"}


@law
async def test_what_says_more_about_the_words_comes_first(store: Store) -> None:
    padding = "and many other words that say nothing about it at all"
    await write(
        store,
        plain("short", "quantum entanglement"),
        plain("long", f"quantum entanglement {padding * 5}"),
        plain("once", f"quantum {padding}"),
        *(plain(f"filler{at}", f"quantum {padding} {at}") for at in range(20)),
    )
    assert ids(await store.search_text(SCOPE, Term("quantum entanglement"), k=3))[:2] == ["short", "long"]
    assert ids(await store.search_text(SCOPE, Term("entanglement absent"), k=9)) == ["short", "long"]


def _filler(count: int) -> str:
    return " ".join(f"filler{at}" for at in range(count))


@law
async def test_a_long_item_is_ranked_by_its_best_part(store: Store) -> None:
    await write(
        store,
        plain("a", f"quantum {_filler(600)} entanglement"),
        plain("b", f"{_filler(250)} quantum entanglement {_filler(350)}"),
    )
    found = await store.search_text(SCOPE, Term("quantum entanglement"), k=2)
    assert ids(found) == ["b", "a"]
    assert found[0].score > found[1].score


@law
async def test_the_title_belongs_to_every_part_of_a_long_item(store: Store) -> None:
    await write(
        store,
        plain("a", f"zebra zebra zebra {_filler(600)} stripes"),
        plain("b", f"{_filler(600)} stripes", title="Zebra"),
        plain("c", f"{_filler(600)} stripes", source_ref="zebra.md"),
    )
    assert ids(await store.search_text(SCOPE, Term("zebra stripes"), k=3)) == ["b", "c", "a"]


@law
async def test_the_parts_of_one_item_do_not_crowd_out_the_others(store: Store) -> None:
    """The best windows of two are far more than k."""
    await write(store, *(plain(f"long{at}", "alpha " * 6_000) for at in range(2)))
    await write(store, *(plain(f"short{at}", f"alpha {_filler(60)}") for at in range(9)))
    everything = await store.search_text(SCOPE, Term("alpha"), k=99)
    assert ids(everything) == ["long0", "long1", *(f"short{at}" for at in range(9))]
    for k in (1, 3, 7):
        assert await store.search_text(SCOPE, Term("alpha"), k=k) == everything[:k]


@law
async def test_what_holds_for_the_whole_of_a_long_item_is_found(store: Store) -> None:
    """Whatever lies between its words, and wherever the item may be divided."""
    await write(store, plain("a", _filler(300)), plain("b", "other words"))
    both = (Term("filler0"), Term("filler299"))
    for at in range(299):
        side_by_side = Phrase(f"filler{at} filler{at + 1}")
        assert await _found(store, Boolean(should=(Term("other"), side_by_side))) == {"a", "b"}, at
    assert await _found(store, Boolean(must=both)) == {"a"}
    assert await _found(store, Boolean(should=both[:1], must_not=both[1:])) == set()


@law
async def test_should_adds_to_the_score(store: Store) -> None:
    await _filled(store)
    alone = {hit.id: hit.score for hit in await store.search_text(SCOPE, Term("sat"), k=9)}
    more = {hit.id: hit.score for hit in await store.search_text(SCOPE, Boolean(must=(Term("sat"),), should=(Term("mat"),)), k=9)}
    assert more.keys() == alone.keys()
    assert more["cat"] > alone["cat"]
    assert more["dog"] == alone["dog"]


@law
async def test_equal_texts_come_in_order_of_id(store: Store) -> None:
    """Whatever the order of writing, and where k cuts through many that are equal."""
    names = [f"id{(at * 37) % 50:02}" for at in range(50)]
    for part in (names[:20], names[20:21], names[21:]):
        await write(store, *(entry(name, "the same words", direction("same")) for name in part))
    for k in (1, 7, 49, 50, 99):
        found = await store.search_text(SCOPE, Term("same words"), k=k)
        assert ids(found) == sorted(names)[:k]
        assert len({hit.score for hit in found}) == 1
        nearest = await store.search_vectors(SCOPE, direction("same"), k=k)
        assert ids(nearest) == sorted(names)[:k]


@law
async def test_rankings_are_best_first_and_each_item_is_in_them_once(store: Store) -> None:
    await write(store, *(entry(f"i{at}", "alpha " * (at % 5) + "beta " * (at % 3) + "gamma", direction(str(at % 8))) for at in range(60)))
    for found in (
        await store.search_text(SCOPE, Term("alpha beta gamma"), k=100),
        await store.search_vectors(SCOPE, direction("3"), k=100),
    ):
        assert list(found) == sorted(found, key=lambda hit: (-hit.score, hit.id))
        assert sorted(ids(found)) == sorted(f"i{at}" for at in range(60))
        assert all(hit.score == round(hit.score, 6) for hit in found)


@law
async def test_a_smaller_k_gives_the_beginning_of_a_larger_one(store: Store) -> None:
    await write(store, *(entry(f"i{at}", "alpha " * (at % 5 + 1) + "beta", direction(str(at % 6))) for at in range(40)))
    texts = await store.search_text(SCOPE, Term("alpha beta"), k=40)
    vectors = await store.search_vectors(SCOPE, direction("q"), k=40)
    for k in (0, 1, 2, 13, 39):
        assert await store.search_text(SCOPE, Term("alpha beta"), k=k) == texts[:k]
        assert await store.search_vectors(SCOPE, direction("q"), k=k) == vectors[:k]


@law
async def test_an_empty_store_answers_with_nothing(store: Store) -> None:
    assert await store.search_text(SCOPE, Term("anything"), k=5) == ()
    assert await store.search_vectors(SCOPE, direction("anything"), k=5) == ()
    assert await store.walk(SCOPE, ["a"], hops=1, fan_out=1) == []
    assert await store.fields(SCOPE) == {}
    assert (await store.space(), await store.scopes()) == (None, [])


def _mixed() -> list[Entry]:
    return [entry(f"i{at:02}", "alpha " * (at % 4) + "beta " * (at % 3) + f"gamma{at % 2}", direction(str(at % 7))) for at in range(40)]


async def _answers(store: Store) -> list[object]:
    return [
        [await store.search_text(SCOPE, Term(text), k=k) for text in ("alpha", "beta gamma1", "alpha beta gamma0") for k in (3, 25, 99)],
        [await store.search_vectors(SCOPE, direction(name), k=k) for name in ("0", "q") for k in (3, 25, 99)],
    ]


@law
async def test_the_same_question_gives_the_same_answer_after_opening_again(open_store: OpenStore) -> None:
    async with opened(open_store) as store:
        await write(store, *_mixed()[:25])
        await write(store, *_mixed()[25:])
        before = await _answers(store)
        assert await _answers(store) == before
    async with opened(open_store) as store:
        assert await _answers(store) == before


@law
async def test_the_order_of_writing_does_not_matter(store: Store) -> None:
    await write(store, *_mixed())
    before = await _answers(store)
    await store.drop(SCOPE)
    for part in (_mixed()[30:], _mixed()[10:30], _mixed()[:10][::-1]):
        await write(store, *part[::-1])
    assert await _answers(store) == before


@law
async def test_what_one_open_store_writes_another_finds(open_store: OpenStore) -> None:
    async with opened(open_store) as first, opened(open_store) as second:
        await write(first, entry("a", "alpha"))
        assert ids(await second.search_text(SCOPE, Term("alpha"), k=5)) == ["a"]
        await write(second, entry("a", "beta"), entry("b", "alpha"))
        assert ids(await first.search_text(SCOPE, Term("alpha beta"), k=5)) == ["a", "b"]
        assert ids(await first.search_text(SCOPE, Term("beta"), k=5)) == ["a"]
        assert ids(await first.search_vectors(SCOPE, direction("beta"), k=1)) == ["a"]
        await first.drop(SCOPE)
        assert await second.search_text(SCOPE, Term("alpha beta"), k=5) == ()
        assert await second.search_vectors(SCOPE, direction("beta"), k=1) == ()
        await write(second, entry("c", "alpha"))
        assert ids(await first.search_text(SCOPE, Term("alpha beta"), k=5)) == ["c"]


SIGNS = ["'", '"', "\\", "(", ")", "-", "+", "*", "?", ":", "~", "^2", "{}", "\0", "\ud800", "%", "_", ";--", "/.*/"]
SYNTAX = [*SIGNS, "AND", "OR", "NOT", "text:x", "seq:1", "[a TO b]"]
WORDS = " ".join(TEXTS.values()).split()
QUERIES = st.one_of(st.text(max_size=40), st.lists(st.sampled_from([*SYNTAX, *WORDS]), max_size=8).map(" ".join))


def test_any_text_is_a_legal_query(open_store: OpenStore) -> None:
    """It never raises, and never returns what shares no word with it."""
    with asked(open_store, *(plain(name, text) for name, text in TEXTS.items())) as (store, answer):

        @examples(store, 100)
        @given(QUERIES, st.sampled_from(["web", "plain", "phrase"]))
        def ask(text: str, mode: str) -> None:
            words = set(terms(text))
            for name in ids(answer(store.search_text(SCOPE, understood(text, mode), k=20))):
                assert words & set(terms(TEXTS[name])), (text, mode, name)
            for leaf in (Term(text), Phrase(text), Prefix(text)):
                answer(store.search_text(SCOPE, leaf, k=3))

        ask()
