"""Tells what a question to memory needs: its category, whether entities and time matter, and whether current data does."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from ..memories import Category, QueryType, Strategy, TimeRange
from .querycategories import Ways, category_of
from .querywords import asked, plainly
from .words import vocabulary

_KINDS: Final = vocabulary("customer client invoice supplier vendor employee shipment subscription contractor")
_ALSO_WORDS: Final = vocabulary("order account contact contract deal lead partner payment product quote ticket delivery")
"""Plain words for kinds of entities. The second are other words too: one of them must have something beside it that makes it a thing."""
_ONE: Final = (
    r"(?:the|this|that|my|our|an|which|each|every|their|his|her|its|your|any|open|new|latest|last|recent|active|overdue|unpaid|pending|"
    r"current|biggest|largest|top|best|first|next)"
)

_SEQUENCE: Final = Ways(
    r"\bin (?:the )?(?:\w+ )?order(?: from|$)|\bin (?:which|what) order\b|^(?:which|what) order$",
    r"(?<!my )(?<!our )(?<!their )order of\b|\border in (?:which|what)\b",
)
"""Where an order is one of steps, and not one for goods."""

_TIME: Final = Ways(
    r"^(?:since |until |from )?when\b|\b(?:which|what) (?:day|date|month|year)\b",
    r"\bwhen (?:did|was|were|will|have|has)\b",
    r"\bhow (?:long|soon|recently)\b",
    r"\bhow many (?:days|weeks|months|years)\b.* (?:pass|passed|between|before|after|until|till|since|it take)\b",
    r"\b(?:my|our|the|their|his|her) next\b|\bbefore or after\b",
    r"\b(?:latest|newest|recent|recently|lately|last|first|previous|previously|earlier|upcoming|oldest|earliest|over time|trends?|"
    r"trending|"
    r"nowadays|these days|ago)\b",
)

_HABIT: Final = Ways(
    r"\b(?:usual|usually|typical|typically|normally|generally|commonly|often|always|tends?|prefers?|preferred|preferences?|likes?|"
    r"favou?rites?|"
    r"habits?|regularly|rarely|never|used to)\b"
)
_REMEMBERED: Final = Ways(
    r"\b(?:say|said|says|mention(?:ed)?|discuss(?:ed)?|talk(?:ed)?|told|tell|ask(?:ed)?|agree[ds]?|decided?|complain(?:ed|s)?|disputed?|"
    r"promised?|approved?|meet|met|spoke|speak|think|thought|want(?:ed|s)?|need(?:ed|s)?|react(?:ed)?|explain(?:ed)?|suggest(?:ed)?|"
    r"recommend(?:ed)?|know|conversations?|interactions?|meetings?|notes?|opinion|feedback|negotiat\w+|remember)\b"
)
"""What somebody said or thought, which is in no table."""
_TRADED: Final = Ways(
    r"\b(?:order(?:ed|ing|s)?|bought|buy(?:s|ing)?|purchas(?:e|ed|es|ing)|paid|pay(?:s|ing)?(?! off)|owe[sd]?|invoiced|billed|"
    r"ship(?:ped)?|delivered|"
    r"returned|sold|sell(?:s|ing)?|spen[dt]|booked|refunded|subscribed|renewed|settled|charged|arriv(?:e|es|ed|ing)|"
    r"(?:come|came|coming|go|goes|going|gone|went|sent) (?:in|out)|(?:come|came|gone|went) through)\b"
)
_STATE: Final = Ways(
    r"\b(?:balances?|status|stock|inventory|outstanding|overdue|unpaid|open|active|inactive|pending|due|quantity|amount|totals?|owed|"
    r"in transit|"
    r"backlog|credit limit|late|expired|remaining|current|currently|price|left|credit|"
    r"right now|at the moment|on hand|cash|tracking)\b"
)
_COUNTED: Final = Ways(
    r"how (?:many (?!days|weeks|months|years|hours|minutes|times)|much (?!\w+er\b))\w",
    r"(?:what is |give me |show me )?(?:the )?(?:total )?(?:number|count|amount|sum|total) of\b",
    r"(?:count|list)\b",
    r"(?:show|give|find|get)(?: me)? (?:all|every)\b",
)
_SUMS: Final = (
    r"(?:sales|revenues?|turnover|profits?|profitability|margins?|earnings|churn|cash flow|receivables|payables|arr|mrr|stock levels?|"
    r"in stock|in (?:the|our) warehouse|prices|"
    r"(?:losing|making|winning) (?:any |much |enough |so many )?(?:money|customers|clients|orders|business))"
)
_FLOWS: Final = (
    r"(?:orders|returns|refunds|costs|expenses|spending|inventory|payments|bookings|demand|shipments|deliveries|invoices|volume|numbers|figures|"
    r"results)"
)
_MONEY: Final = Ways(rf"\b{_SUMS}\b")
_FIGURES: Final = Ways(rf"\b(?:{_SUMS}|{_FLOWS})\b")
_WHY_FIGURES: Final = Ways(rf"\b(?:why|how come) (?:\w+ )?(?:(?:our|the|my|total|overall) )*(?:\w+ )?(?:{_SUMS}|{_FLOWS})\b")
_WHY: Final = Ways(r"\b(?:why|how come|reasons? (?:for|behind|why))\b")
_ONE_EVENT: Final = Ways(r"\b(?:why|how come) (?:did|was|were|has)\b|\bi\b")
_WEIGHED: Final = Ways(
    r"(?:should|shall|ought) (?:i|we)\b",
    r"(?:is|was|does) it\b",
    r"do you\b",
    r"would\b",
    r"can (?:we|i) afford\b",
    r".*\b(?:good|bad) idea\b",
)


def classify(text: str, *, has_entities: bool, time_range: TimeRange | None, kinds: Collection[str] = ()) -> QueryType:
    """What a question is after. `has_entities`: whether it speaks of such as are known; `kinds`: words for kinds beside the plain ones."""
    said, clauses = plainly(text), asked(text)
    category = category_of(clauses)
    if category == "procedural":
        return QueryType(
            category=category, entity_focused=has_entities, time_focused=time_range is not None, procedural=True, requires_domain_db=False
        )
    names_kind = bool(_kinds(said, kinds))
    return QueryType(
        category=category,
        entity_focused=has_entities or names_kind,
        time_focused=time_range is not None or any(map(_TIME.search, (said, *clauses))),
        procedural=False,
        requires_domain_db=_needs_data(said, clauses, category, has_entities=has_entities, names_kind=names_kind),
    )


def strategy_of(query_type: QueryType) -> Strategy:
    """Which weights memories are ranked by."""
    if query_type.procedural:
        return "procedural"
    if query_type.entity_focused and query_type.category == "factual":
        return "factual_entity_focused"
    return "analytical" if query_type.category == "analytical" else "exploratory"


def kinds_in(text: str, kinds: Collection[str] = ()) -> list[str]:
    """The kinds of entities that a question is about, as types are called."""
    return _kinds(plainly(text), kinds)


def _kinds(said: str, kinds: Collection[str]) -> list[str]:
    """Kinds of entities that words are about: `my customers`, `customer complaints`, `order 4711`; `what should I order` is of none."""
    words = said.split()
    ones = [singular(word) for word in words]
    types = {" ".join(each.lower().replace("_", " ").split()): each for each in kinds}
    own = (_KINDS | types.keys()) - _ALSO_WORDS
    there = " ".join(("", *words, "")), " ".join(("", *ones, ""))
    found = {each for each in own if any(f" {each} " in one for one in there)}
    found |= {one for at, one in enumerate(ones) if one in _ALSO_WORDS and _is_thing(words, at, one != words[at])}
    return sorted(types.get(each, each) for each in found)


def _is_thing(words: list[str], at: int, is_plural: bool) -> bool:
    before, after = " ".join(words[at - 1 : at]), " ".join(words[at + 1 : at + 2])
    if words[at] == "order" and _SEQUENCE.search(" ".join(words[max(at - 2, 0) : at + 3])):
        return False
    if after in ("to", "term", "terms"):
        return before in ("this", "that", "my", "our", "their", "his", "her")
    return is_plural or re.match(r"#?\d|number\b|no\b", after) is not None or re.fullmatch(_ONE, before) is not None


def is_kind(word: str) -> bool:
    """Whether a word, as it is for one, is a plain one for a kind of entities."""
    return word in _KINDS or word in _ALSO_WORDS


def singular(word: str) -> str:
    """A word of a kind as it is for one: `deliveries` as `delivery`, `orders` as `order`."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def _needs_data(said: str, clauses: Sequence[str], category: Category, *, has_entities: bool, names_kind: bool) -> bool:
    """Whether a question needs what is so now, or was traded: not habits, not what somebody said, not why one thing happened."""
    if _HABIT.search(said):
        return False
    if category == "exploratory":
        return _MONEY.search(said) is not None
    if category == "analytical":
        if any(map(_WEIGHED.match, clauses)):
            return has_entities or names_kind or _FIGURES.search(said) is not None
        if has_entities and _WHY.search(said):
            return _WHY_FIGURES.search(said) is not None
        is_traded = _ONE_EVENT.search(said) is None and _TRADED.search(said) is not None and (names_kind or not has_entities)
        return is_traded or _FIGURES.search(said) is not None
    if _REMEMBERED.search(said):
        return False
    is_ours = has_entities or names_kind or re.search(r"\b(?:we|us|our)\b", said) is not None
    return (
        _MONEY.search(said) is not None
        or (is_ours and (_TRADED.search(said) or _STATE.search(said)) is not None)
        or (names_kind and any(map(_COUNTED.match, clauses)))
    )
