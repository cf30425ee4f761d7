"""The words of a question to memory, written plainly: small letters, one space between them, no contractions.

Where several sentences are said, those that ask are told from the others, and a question from what is said to open it."""

from __future__ import annotations

import re
from typing import Final

from .words import MAX_WORDS, beginning

_WORD: Final = re.compile(r"#?\w+(?:['’]\w+)*")
_SHORT: Final = {"n't": " not", "'re": " are", "'ve": " have", "'ll": " will", "'d": " would", "'m": " am"}
_SHORTENED: Final = re.compile("|".join(f"{each}$" for each in _SHORT))
_IS: Final = re.compile(r"(what|who|how|where|when|why|that|there|it|here|he|she)'s$")
_CARELESS: Final = {
    **{f"{word}s": f"{word} is" for word in ("what", "who", "how", "where", "why")},
    **{f"{word}nt": f"{word} not" for word in ("do", "did", "does", "have", "has", "is", "are", "was")},
    "im": "i am",
    "ive": "i have",
    "pls": "please",
    "plz": "please",
    "u": "you",
    "ur": "your",
    "cant": "can not",
}
"""How contractions are written in haste."""

_ASKED: Final = r"(?:what|which|who|whom|whose|when|where|why|how|if|whether)"
_TELL: Final = (
    r"(?:tell me|remind me|explain(?: to me)?|show me|let me know|say|teach me|help me(?: to)? (?:understand|see|remember)|"
    r"do you (?:happen to )?(?:know|remember|recall)|you know|"
    r"i (?:want|need|would like|would love|wanted|am trying|was trying|have) to (?:know|understand|ask|remember|find out|see|"
    r"figure out|learn)|"
    r"i (?:was|am) (?:just )?wondering|i wonder|i (?:forgot|forget|do not (?:remember|recall|know)|can not (?:remember|recall))|any idea|"
    r"what do you know about|tell me about|ask)"
)
_BEFORE: Final = re.compile(
    r"(?:(?:please|hey|hi|hello|ok|okay|so|and|but|well|also|now|again|just|quick question|thanks|sorry|actually|by the way|roughly|"
    r"exactly|"
    r"approximately|currently)\b ?|"
    r"(?:can|could|would|will) you (?:please |kindly |just |quickly )?(?!recommend|suggest)(?=\w)|"
    rf"{_TELL} (?:please |again |once more |quickly )?(?:about )?(?={_ASKED}\b))"
)
MAX_CLAUSES: Final = 50
MAX_BEFORE: Final = 6
"""What is said before a question: `hey, could you please remind me` are four."""


_QUOTED: Final = re.compile(r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|`[^`\n]{1,200}`|«[^»\n]{1,200}»|(?<!\w)'[^'\n]{2,200}'(?!\w)")
_SENTENCE: Final = re.compile(r"[^.!?\n]+(?:[.!?](?!\s)[^.!?\n]*)*[.!?]*")
_SHORT_WORD: Final = re.compile(r"\b(st|dr|mr|mrs|ms|prof|no|nr|vs|inc|corp|ltd|co|jr|sr|etc|approx|[a-z])\.(?=\s)", re.IGNORECASE)
"""Words that are written with a dot behind them, which ends no sentence."""
_CLAUSE: Final = re.compile(r"(?:[,;:–—.!?]|\s-)(?:\s|$)|\n")
_WAYS: Final = (
    ("in what way ", "how "),
    ("in which way ", "how "),
    ("to what extent ", "how "),
    ("how exactly ", "how "),
    ("how best to ", "how to "),
)


def plainly(text: str) -> str:
    """All of its words."""
    return " ".join(_words(beginning(text)))


def asked(text: str) -> list[str]:
    """What is asked, each clause alone: of the sentences that end in a question mark, where some do. What is quoted is left out."""
    read = _SHORT_WORD.sub(r"\1", _QUOTED.sub(" so ", beginning(text)))
    sentences = [found[0] for found in _SENTENCE.finditer(read)]
    asking = [each for each in sentences if each.rstrip().endswith("?")] or sentences
    return [opened for each in asking for clause in _CLAUSE.split(each) if (opened := _opened(" ".join(_words(clause))))][:MAX_CLAUSES]


def _words(text: str) -> list[str]:
    return [_plain(found[0].lower().replace("’", "'")) for found in _WORD.finditer(text)][:MAX_WORDS]


def _opened(said: str) -> str:
    """A question without what is said before it."""
    for _ in range(MAX_BEFORE):
        if (found := _BEFORE.match(said)) is None or found.end() == len(said):
            break
        said = said[found.end() :].lstrip()
    for words, meant in _WAYS:
        if said.startswith(words):
            return meant + said.removeprefix(words)
    return said


def _plain(word: str) -> str:
    if "'" not in word:
        return _CARELESS.get(word, word)
    if word == "can't":
        return "can not"
    if found := _IS.match(word):
        return f"{found[1]} is"
    whole = _SHORTENED.sub(lambda found: _SHORT[found[0]], word)
    return whole.removesuffix("'s").removesuffix("'")
