"""Bytes become text by their mark, as UTF-8, or by a plausible guess; what is no text is refused."""

from __future__ import annotations

import codecs
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ingest.decode import Unreadable, decode, mended

PROSE = {
    "cp1252": "Die Straßenbahn fährt über die Brücke. Größe und Höhe müssen geprüft werden, für jede Änderung.",
    "cp1250": "Zażółć gęślą jaźń. Wszystkie zmiany muszą być sprawdzone przed wysłaniem.",
    "cp1251": "Быстрая коричневая лиса прыгает через ленивую собаку. Это проверка кодировки текста.",
    "shift_jis": "これは日本語の文章です。検索エンジンの試験に使います。漢字とかなが混ざっています。",
    "gb18030": "这是一个中文文本，用于测试搜索引擎的编码检测。汉字很多。",
    "euc_kr": "이것은 한국어 문장입니다. 검색 엔진의 인코딩 감지를 시험합니다.",
}
MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
plain = st.text(st.characters(exclude_characters="\0\ufeff", exclude_categories=("Cs",)))


@given(plain)
def test_utf8_comes_back_as_it_is(text: str) -> None:
    assert decode(text.encode()) == text


@given(plain, st.sampled_from(sorted(MARKS)))
def test_a_byte_order_mark_decides_and_is_dropped(text: str, encoding: str) -> None:
    assert decode(MARKS[encoding] + text.encode(encoding)) == text


@given(st.binary(max_size=300))
def test_any_bytes_give_sound_text_or_a_reason(data: bytes) -> None:
    try:
        text = decode(data)
    except Unreadable:
        return
    text.encode()
    assert "\0" not in text


@pytest.mark.parametrize("encoding", PROSE)
def test_prose_in_an_old_encoding_is_guessed(encoding: str) -> None:
    assert decode(PROSE[encoding].encode(encoding)) == PROSE[encoding]


def test_a_long_text_is_guessed_by_its_beginning() -> None:
    text = (PROSE["shift_jis"] + "\n") * 2000
    assert decode(text.encode("shift_jis")) == text


def test_of_two_guesses_alike_the_commoner_is_taken() -> None:
    text = "Le café est fermé à Noël. Où êtes-vous allés l'été dernier ?"
    assert decode(text.encode("cp1252")) == text


def test_the_declared_encoding_counts_before_a_guess_but_after_utf8() -> None:
    assert decode(b"\xc0\xc1", declared="koi8-r") == "юа"
    assert decode("é".encode(), declared="latin-1") == "é"
    assert decode("naïve café".encode("cp1252"), declared="no-such-encoding") == "naïve café"


@pytest.mark.parametrize("length", [20, 300, 5000, 100_000])
def test_bytes_that_are_no_text_are_a_problem(length: int) -> None:
    noise = random.Random(length)
    with pytest.raises(Unreadable, match="not text") as refused:
        decode(b"\xff" + bytes(noise.randrange(1, 256) for _ in range(length)))
    assert refused.value.problem


@pytest.mark.parametrize(
    "data", [b"text\0text", b"\x89PNG\r\n\x1a\nabc", b"%PDF-1.7", b"PK\x03\x04", b"\x1f\x8b\x08", MARKS["utf-16-le"] + b"a\0\0\0"]
)
def test_binary_data_is_left_out_without_a_fuss(data: bytes) -> None:
    with pytest.raises(Unreadable, match="binary") as refused:
        decode(data)
    assert not refused.value.problem


def test_a_mark_that_lies_is_a_problem() -> None:
    with pytest.raises(Unreadable, match="UTF-16") as refused:
        decode(codecs.BOM_UTF16_LE + b"\x00\xd8a\x00")
    assert refused.value.problem


@given(st.text(st.characters()))
def test_mended_text_can_be_kept(text: str) -> None:
    kept = mended(text)
    kept.encode()
    assert len(kept) == len(text)
    assert "\0" not in kept
