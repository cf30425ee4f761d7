"""Text becomes the same terms everywhere, in every script, whatever is in it."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import analysis
from recollect.analysis import (
    MAX_QUERY_TERMS,
    MAX_TERM,
    beginnings,
    is_stop_word,
    query_terms,
    spans,
    spans_of,
    terms,
    unspaced_runs,
    words,
)

# Letters of many scripts, joints, marks and what folds to something longer; plain `text()` hardly ever joins two words.
TRICKY = st.text(st.sampled_from("aAbB1 9.,-'’_é\u0301ßŁİ東京都ガｶﾞ한\u1112\u1161\u11abไทยำหिक्שָعﷺ½①㈱\u200d\u00ad\ud800\n\t¶")) | st.text()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Databases running", ["databas", "run"]),
        ("café CAFÉ cafe\u0301", ["cafe"] * 3),
        ("Straße STRASSE", ["strass"] * 2),
        ("Łódź Ørsted", ["lodz", "orst"]),
        ("getUserName", ["getusernam", "get", "user", "name"]),
        ("get_user_name", ["getusernam", "get", "user", "name"]),
        ("get-user-name", ["getusernam", "get", "user", "name"]),
        ("HTTPClient", ["httpclient", "http", "client"]),
        ("URLs", ["url"]),
        ("iPhone", ["iphon", "phone"]),
        ("__init__", ["init"]),
        ("foo.bar.baz", ["foobarbaz", "foo", "bar", "baz"]),
        ("e-mail", ["email", "e", "mail"]),
        ("U.S.A.", ["usa"]),
        ("python3", ["python3", "python"]),
        ("don't can’t", ["dont", "cant"]),
        ("Tom's we'll", ["tom", "we"]),
        ("l'eau O'Reilly", ["leau", "eau", "oreilli", "reilli"]),
        ("3.14 v3.11.7 10.0.0.1", ["3.14", "3.11.7", "10.0.0.1"]),
        ("1,000 1,000,000.50", ["1000", "1000000.50"]),
        ("3,14", ["3", "14"]),
        ("2024-05-17", ["20240517", "2024", "05", "17"]),
        ("0x884", ["0x884"]),
        ("١٢٣ １２３", ["123", "123"]),
        ("東京都庁", ["東京", "京都", "都庁"]),
        ("東", ["東"]),
        ("한국어를", ["한국", "국어", "어를"]),
        ("Python入門", ["python", "入門"]),
        ("ｶﾞｷﾞ", ["ガギ"]),
        ("सरकारी हिन्दी", ["सरकारी", "हिन्दी"]),
        ("العَرَبِيَّة", ["العربية"]),
        ("Σίσυφος", ["σισυφοσ"]),
        ("_ ??? ¶ 🙂", []),
    ],
)
def test_terms_of_a_text(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_thai_is_found_by_pairs_of_characters_with_their_marks() -> None:
    found = terms("ที่นี่")
    assert found == [unicodedata.normalize("NFC", "ที่นี่")]
    assert set(terms("ภาษาไทย")) >= set(terms("ไทย"))


def test_decomposed_korean_is_the_same_as_composed() -> None:
    assert terms(unicodedata.normalize("NFD", "한국어")) == terms("한국어")


@given(TRICKY)
def test_spans_are_the_terms_with_their_place(text: str) -> None:
    found = list(spans(text))
    assert [term for term, _, _ in found] == terms(text)
    assert all(0 <= start < end <= len(text) for _, start, end in found)
    assert [start for _, start, _ in found] == sorted(start for _, start, _ in found)
    for term, start, end in found:
        assert term in terms(text[start:end])


@given(TRICKY, st.integers(1, 4))
def test_spans_of_some_terms_are_those_among_all(text: str, every: int) -> None:
    wanted = frozenset(terms(text)[::every])
    assert list(spans_of(wanted, text)) == [span for span in spans(text) if span[0] in wanted]
    assert not list(spans_of(frozenset(), text))


@given(TRICKY)
def test_terms_are_short_and_have_no_white_space(text: str) -> None:
    for term in terms(text):
        assert 0 < len(term) <= MAX_TERM
        assert len(term.split()) == 1
        assert "¶" not in term
        assert term.encode()


@given(st.lists(st.sampled_from(["Cats", "getUserName", "1,000", "東京都", "don't", "café", "2024-05-17", "ไทย"])))
def test_words_apart_are_analysed_apart(parts: list[str]) -> None:
    assert terms(" ".join(parts)) == [term for part in parts for term in terms(part)]
    assert words(" ".join(parts)) == parts


@given(st.text(st.characters(max_codepoint=127)))
def test_the_fast_way_for_ascii_finds_the_same(text: str) -> None:
    known = analysis._words()
    assert known.find(text) == known.pattern.findall(text)


@given(st.text(st.sampled_from("東京都のガー々한국어")))
def test_the_fast_way_for_common_east_asian_characters_finds_the_same(text: str) -> None:
    known = analysis._words()
    assert terms(text) == [term for run in unspaced_runs(text) for term, _, _ in known.pairs(run)]


@given(st.text(st.characters(categories=["Ll", "Lu"], max_codepoint=0x24F), min_size=1))
def test_case_and_composition_make_no_difference(text: str) -> None:
    assert terms(text.lower())[:1] == terms(unicodedata.normalize("NFD", text.lower()))[:1]


def test_a_span_shows_the_word_as_it_was_written() -> None:
    text = "Ask “getUserName” in 東京都."
    assert {term: text[start:end] for term, start, end in spans(text)} == {
        "ask": "Ask",
        "getusernam": "getUserName",
        "get": "getUserName",
        "user": "getUserName",
        "name": "getUserName",
        "in": "in",
        "東京": "東京",
        "京都": "京都",
    }


def test_a_question_loses_the_words_that_say_nothing() -> None:
    assert query_terms("What is the capital of the French capital?") == ["capit", "french"]
    assert query_terms("to the") == ["to", "the"]
    assert query_terms("???") == []
    assert is_stop_word("Don’t")
    assert not is_stop_word("capital")


def test_a_question_is_bounded() -> None:
    assert len(query_terms(" ".join(f"w{i}" for i in range(5 * MAX_QUERY_TERMS)))) == MAX_QUERY_TERMS


def test_beginnings_reach_the_terms_of_longer_words() -> None:
    for prefix, word in [
        ("getUser", "getUserName"),
        ("happ", "happy"),
        ("happy", "happy"),
        ("databas", "databases"),
        ("databases", "databases"),
        ("東", "東京"),
    ]:
        assert any(term.startswith(one) for one in beginnings(prefix) for term in terms(word)), (prefix, word)
    assert beginnings("???") == []


@pytest.mark.parametrize(
    "text", ["a" * 3_000_000, "aB3" * 500_000, "a.b" * 500_000, "a_" * 200_000, "क्" * 300_000], ids=lambda text: text[:3]
)
def test_an_endless_word_stays_small(text: str) -> None:
    found = terms(text)
    assert found
    assert max(map(len, found)) <= MAX_TERM
    assert len(found) <= len(text) // 4


def test_threads_agree() -> None:
    texts = [" ".join(f"running{chr(97 + i % 26)}{chr(97 + j % 26)}ing" for j in range(300)) for i in range(40)]
    analysis._words.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(terms, texts))
    analysis._words.cache_clear()
    assert together == [terms(text) for text in texts]


def test_the_cache_is_bounded() -> None:
    analysis._words.cache_clear()
    known = analysis._words()
    known.update({str(number): () for number in range(analysis.CACHE_WORDS)})
    assert known["running"] == ("run",)
    assert set(known) == {"running"}
    analysis._words.cache_clear()


def test_processes_agree() -> None:
    text = "getUserName 東京都 don't café 1,000 ภาษาไทย"
    script = f"from recollect.analysis import terms, edition; print(ascii((terms({text!r}), edition())))"
    runs = [
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed, "LC_ALL": "C"}
        )
        for seed in ("1", "2")
    ]
    assert runs[0].stdout.strip() == runs[1].stdout.strip() == ascii((terms(text), analysis.edition()))


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("self.get_user_name", ["selfgetusernam", "self", "getusernam", "get", "user", "name"]),
        ("client.getUserName", ["clientgetusernam", "client", "getusernam", "get", "user", "name"]),
        ("os.path", ["ospath", "os", "path"]),
        ("0x884", ["0x884"]),
    ],
)
def test_a_name_is_whole_behind_its_owner_too(word: str, found: list[str]) -> None:
    assert terms(word) == found
