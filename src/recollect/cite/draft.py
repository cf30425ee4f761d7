"""Decides sentence by sentence what belongs in an answer: what rests on a passage that there is; everything else is told."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from ..answers import AnswerSentence, DroppedCitation, LeftOutSentence
from .numbers import Cited, resolved
from .sentences import Written

MAX_TOLD: Final = 300
"""Characters of a sentence that is told of."""
MAX_LEAD: Final = 400
"""Characters of headings and introductions before a sentence: what is longer says more than what follows."""

_SEPARATOR: Final = re.compile(r"\|?[\s|:-]*-[\s|:-]*")
_LABEL: Final = re.compile(r"(\*\*|__)[^*_\n]+\1:?")
_GIVEN: Final = r"(?:provided|given|retrieved|available|supplied|above) (?:documents?|sources?|texts?|information|material)"
_OF_PASSAGES: Final = rf"(?:passages?|excerpts?|context|{_GIVEN})"
_NOT: Final = r"(?:do(?:es)?(?: not|n['’]t)|did(?: not|n['’]t)|never)"
_SAY: Final = (
    r"(?:\w+ly )?(?:say|mention|contain|answer|provide|include|state|specify|describe|cover|give|tell|address|discuss|explain|have)"
)
UNSAID: Final = re.compile(
    rf"\b{_OF_PASSAGES}\b[^.]{{0,60}}\b(?:{_NOT} {_SAY}|(?:contains?|has|have|provides?|gives?|says?|includes?) (?:no|nothing))\b"
    rf"|\bnone of the {_OF_PASSAGES}\b|\b(?:nothing|no information|not) [^.]{{0,80}}\bin the {_OF_PASSAGES}\b"
    r"|^I (?:do not|don['’]t|cannot|can['’]t) (?:know|answer|find)\b",
    re.IGNORECASE,
)
"""How models say in English that they were given no answer, where they do not mark it as they were told to."""


class Draft:
    """An answer that is being written: it takes sentences in turn, and gives each that belongs in it."""

    def __init__(self, known: Collection[int]) -> None:
        self.sentences: list[AnswerSentence] = []
        self.dropped: list[DroppedCitation] = []
        self.left_out: list[LeftOutSentence] = []
        self.unsaid: list[str] = []
        self._known = known
        self._leads: list[tuple[int, Written]] = []
        """Headings, introductions and the head of a table, which belong to the sentence that follows, the outermost first."""
        self._under: str | None = None
        """The kind of what followed them."""
        self._lines = 0
        """Line breaks since the last sentence, at the most of those in a row."""
        self._last: tuple[int, ...] = ()
        """What the sentence before rests on; nothing where it was left out."""
        self._was_row = False

    @property
    def text(self) -> str:
        return "".join(each.before + each.text for each in self.sentences)

    @property
    def answers(self) -> bool:
        """Whether anything in it is more than a word that the passages do not say it."""
        return any(not UNSAID.search(each.text) for each in self.sentences)

    def take(self, written: Written) -> AnswerSentence | None:
        """The sentence as it belongs in the answer, or none."""
        if written.kind not in ("item", "row") or written.kind != self._under:
            self._under = self._entered(written)
        cited = self._cited(written)
        follows_row, self._was_row = self._was_row, written.kind == "row"
        if cited.numbers and written.is_whole and written.kind != "endless":
            return self._keep(written, cited)
        self._set_aside(written, cited, follows_row=follows_row)
        return None

    def _set_aside(self, written: Written, cited: Cited, *, follows_row: bool) -> None:
        """What is done with what cites nothing, or has no end."""
        level = _level(written, cited.text, follows_row=follows_row)
        if written.kind == "endless":
            self._leave_out(written, f"it does not end within {len(written.text)} characters")
        elif not written.is_whole:
            self._leave_out(written, "it was not written to its end")
        elif cited.is_unsaid or UNSAID.search(cited.text):
            self.unsaid.append(_told(cited.text))
            self._pass(written)
        elif level is not None and self._lead_chars() + len(cited.text) <= MAX_LEAD:
            self._introduce(level, written, cited.text)
        elif re.search(r"\w", cited.text):
            self._leave_out(written, "it cites no passage that there is" if cited.dropped else "it cites no passage")
        else:
            self._pass(written)

    def end(self) -> None:
        """Tell what introduced nothing."""
        self._drop_leads(0)

    def _cited(self, written: Written) -> Cited:
        """The sentence with numbers of passages alone. Those in code are none; it rests on what the sentence before it rests on, where
        it has no citations of its own."""
        if written.kind != "code":
            cited = resolved(written.text, self._known)
        else:
            own = resolved(written.tail, self._known)
            own = own if own.numbers or own.dropped else Cited("".join(f"[{number}]" for number in self._last), self._last)
            cited = Cited(f"{written.text}\n{own.text}" if own.numbers else written.text, own.numbers, own.dropped)
        sentence = _told(cited.text)
        self.dropped += [DroppedCitation(cited=each, sentence=sentence, reason=self._unknown(each)) for each in cited.dropped]
        return cited

    def _unknown(self, cited: str) -> str:
        return f"there is no passage {cited}: they are 1 to {max(self._known, default=0)}"

    def _keep(self, written: Written, cited: Cited) -> AnswerSentence:
        parts = [*((lead.before, lead.text) for _, lead in self._leads), (written.before, cited.text)]
        (first, text), *others = parts
        before = self._space(first)
        kept = AnswerSentence(
            text=text + "".join(_space(space, _lines(space)) + more for space, more in others), citations=list(cited.numbers), before=before
        )
        self.sentences.append(kept)
        self._leads, self._lines, self._last = [], 0, cited.numbers
        return kept

    def _introduce(self, level: int, written: Written, text: str) -> None:
        if not (level == TABLE and self._leads and self._leads[-1][0] == TABLE and _SEPARATOR.fullmatch(text)):
            self._drop_leads(level)
        self._leads.append((level, Written(written.kind, text, written.before)))
        self._last, self._under = (), None

    def _entered(self, written: Written) -> str:
        """What stands under the leads; what introduced another kind of thing, of which nothing is kept, goes."""
        if self._under is not None:
            self._drop_leads(INTRODUCTION)
        return written.kind

    def _drop_leads(self, level: int) -> None:
        gone = [lead for each, lead in self._leads if each >= level]
        self._leads = [(each, lead) for each, lead in self._leads if each < level]
        for lead in gone:
            self._leave_out(lead, "nothing that it introduces is in the answer")

    def _lead_chars(self) -> int:
        return sum(len(lead.text) for _, lead in self._leads)

    def _leave_out(self, written: Written, reason: str) -> None:
        self.left_out.append(LeftOutSentence(text=_told(written.text), reason=reason))
        self._pass(written)

    def _pass(self, written: Written) -> None:
        self._lines = max(self._lines, _lines(written.before))
        self._last = ()

    def _space(self, before: str) -> str:
        """The white space before the next sentence: as much as stood somewhere between it and the last one."""
        return _space(before, max(self._lines, _lines(before))) if self.sentences else ""


LABEL: Final = 7
INTRODUCTION: Final = 8
ITEM: Final = 9
TABLE: Final = 10


def _level(written: Written, text: str, *, follows_row: bool) -> int | None:
    """How far out something stands that belongs to what follows it: headings, labels, introductions, those in lists, the heads of tables;
    None where it belongs to nothing."""
    is_introduction = text.rstrip("*_").endswith((":", "："))
    match written.kind:
        case "heading":
            return len(text) - len(text.lstrip("#"))
        case "row":
            return TABLE if not follows_row or _SEPARATOR.fullmatch(text) else None
        case "item":
            return ITEM if is_introduction else None
        case "prose":
            return LABEL if _LABEL.fullmatch(text) else INTRODUCTION if is_introduction else None
        case _:
            return None


def _lines(space: str) -> int:
    return min(2, space.count("\n"))


def _space(space: str, lines: int) -> str:
    """White space with so many line breaks, and the indentation that it ends with."""
    return "\n" * lines + space.rpartition("\n")[2] if "\n" in space else "\n" * lines if lines else space


def _told(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_TOLD else f"{text[: MAX_TOLD - 1]}…"
