"""Bytes to text: byte order marks, UTF-8 strictly, then a guess that must be plausible; anything else is refused with a reason."""

from __future__ import annotations

import codecs
import re
from typing import Final

BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    # UTF-32 before UTF-16: the little-endian mark of the one begins with the mark of the other.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
BINARY_SIGNATURES: Final = {
    b"%PDF-": "a PDF",
    b"PK\x03\x04": "a ZIP archive",
    b"\x89PNG\r\n\x1a\n": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF87a": "an image",
    b"GIF89a": "an image",
    b"\x1f\x8b\x08": "compressed data",
    b"BZh91AY&SY": "compressed data",
    b"\xfd7zXZ\x00": "compressed data",
    b"\x28\xb5\x2f\xfd": "compressed data",
    b"7z\xbc\xaf\x27\x1c": "an archive",
    b"Rar!\x1a\x07": "an archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Office file",
    b"\x7fELF": "a program",
}
# Encodings to guess from, the commoner first: of two that fit a text equally well the first is taken. Those of mainframes
# and of DOS are left out, because nearly any bytes fit them.
CANDIDATES: Final = (
    "cp1252", "iso8859_15", "cp1250", "iso8859_2", "cp1251", "koi8_r", "koi8_u", "cp1253", "iso8859_7", "cp1254", "cp1255", "cp1256",
    "cp1257", "cp1258", "cp932", "shift_jis", "euc_jp", "gb18030", "gbk", "big5", "cp949", "euc_kr", "cp874", "mac_roman",
)  # fmt: skip
# The cost of a guess grows with the length: 2 MB of German in cp1252 took 30 to 70 ms with this much looked at.
GUESS_BYTES: Final = 64 * 1024
# Prose has next to no control characters; of bytes drawn at random about one in five is one.
MAX_CONTROL_SHARE: Final = 0.005
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_UNKEEPABLE = re.compile("[\x00\ud800-\udfff]")


class Unreadable(Exception):
    """A file that gives no text, and why. `problem` is False where nobody expects text of it, such as an image."""

    def __init__(self, reason: str, *, problem: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.problem = problem


def decode(data: bytes, *, declared: str | None = None) -> str:
    """The text of the bytes, without a byte order mark; `declared` is the encoding the content names for itself."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _marked(data[len(mark) :], encoding)
    refuse_binary(data)
    for candidate in ("utf-8", declared):
        if candidate and (text := _try(data, candidate)) is not None:
            return text
    return _guessed(data)


def refuse_binary(data: bytes) -> None:
    """Raise Unreadable where the bytes are known not to be text."""
    for signature, what in BINARY_SIGNATURES.items():
        if data.startswith(signature):
            raise Unreadable(f"binary: {what}", problem=False)
    if b"\x00" in data:
        raise Unreadable("binary: it holds zero bytes", problem=False)


def mended(text: str) -> str:
    """The text with U+FFFD for what no store can keep: halves of surrogate pairs and the zero character."""
    return _UNKEEPABLE.sub("\ufffd", text)


def _marked(data: bytes, encoding: str) -> str:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise Unreadable(f"not text: it is marked as {encoding.upper()}, but byte {error.start} does not fit") from None
    if "\x00" in text:
        raise Unreadable("binary: it holds zero bytes", problem=False)
    return text


def _try(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None
    # Some codecs (utf-7, unicode_escape) can make halves of surrogate pairs out of plain bytes.
    return None if _UNKEEPABLE.search(text) else text


def _guessed(data: bytes) -> str:
    from charset_normalizer import from_bytes  # slow to import, seldom needed

    sample = data[:GUESS_BYTES]
    if len(data) > GUESS_BYTES:
        # A cut in the middle of a character would speak against the right encoding.
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    guesses = from_bytes(sample, cp_isolation=list(CANDIDATES), preemptive_behaviour=False, enable_fallback=False)
    for guess in sorted(guesses, key=lambda guess: (guess.chaos, -guess.coherence, CANDIDATES.index(guess.encoding))):
        text = _try(data, guess.encoding)
        if text is not None and len(_CONTROLS.findall(text)) <= MAX_CONTROL_SHARE * len(text):
            return text
    raise Unreadable("not text: no encoding fits it; save it as UTF-8")
