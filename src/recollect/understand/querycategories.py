"""Tells which of four things a question to memory is after, by how it is put: a way to do something, a reason, an overview, or a fact.

Patterns read clauses as `querywords.asked` gives them: those that open one at its beginning, others anywhere in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

from ..memories import Category


class Ways:
    """Ways to say something. They take a while to compile, which is done when a question is read first."""

    def __init__(self, *patterns: str) -> None:
        self._patterns = patterns

    @cached_property
    def match(self) -> Callable[[str], re.Match[str] | None]:
        return self._compiled.match

    @cached_property
    def search(self) -> Callable[[str], re.Match[str] | None]:
        return self._compiled.search

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile("|".join(self._patterns))


_WE: Final = r"(?:i|we|you|one|someone|people)"
_DO: Final = r"(?:do|should|can|could|would|must|shall|might)"
_BE: Final = r"(?:is|are|was|were|be|been|get|gets|being)"
_HABIT: Final = r"(?:usually|normally|typically|always|generally)"
_GAP: Final = r"(?: \w+){0,8}?"
_WAY: Final = (
    r"(?:ways?|process|processes|procedures?|approach|practices?|steps?|workflow|method|routine|protocol|checklist|playbook|runbook|"
    r"instructions?|guidelines?|policy|policies|recipe|drill|trick|rules?)"
)
_DONE: Final = (
    r"(?:handled|processed|managed|solved|resolved|fixed|dealt with|approved|treated|done|made|calculated|escalated|shipped|packed|filed|"
    r"cancell?ed|refunded|onboarded|closed|set up|priced|run|organi[sz]ed|scheduled|configured|deployed|prepared|submitted|tracked|"
    r"reconciled|settled|created|issued|assigned|reviewed|recorded)"
)
_TO_HANDLE: Final = r"(?:handle|process|manage|solve|resolve|fix|deal with|approach|go about|set up|organi[sz]e|treat)"
_NO_WAY: Final = r"(?:know|feel|think|like|compare|look|stand|mean|rank|rate|are|am|is|was|were|did|met|have|had|get on|get along)\b"
"""Verbs that are no doing: `how do you know` asks for no way."""

PROCEDURAL: Final = Ways(
    rf"how {_DO} {_WE} (?!{_NO_WAY})\w",
    rf"how did {_WE} (?:{_HABIT} |{_TO_HANDLE}\b)",
    rf"how did {_WE} (?:get|make|turn|keep|bring)(?: \w+){{1,6}}? (?:out|off|to|rid|working|running|back|clean|done)\b",
    rf"how (?:am|are) {_WE} (?:supposed|meant|expected) to\b",
    r"how to\b",
    rf"how (?:are|were) {_WE} (?:\w+ly )?(?:handling|processing|managing|solving|dealing|approaching|treating)\b",
    rf"how {_WE} (?:{_HABIT} |{_DO} )?(?!{_NO_WAY})\w",
    rf"how{_GAP} {_BE} (?:\w+ly )?{_DONE}\b",
    rf"how {_BE}{_GAP} {_DONE}\b",
    r"how (?:is|are)(?: (?:a|an|the|our|new|these|those|such))? \w+(?: \w+){0,3}? (?!affected|related|impressed|interested|"
    r"satisfied)\w+ed$",
    rf"how (?:should|must|can){_GAP} be \w+(?:ed|en|t)\b",
    rf"how do(?:es)?{_GAP} (?:work|go)$",
    rf"what (?:am|are) {_WE} supposed to do\b",
    r"(?:show me |tell me |is there )?(?:the |a |our |my )?(?:best |right |usual )?(?:way|approach|method) (?:i|we|you|to|for)\b",
    r"where (?:do|should) (?:i|we) (?:start|begin)\b",
    rf"(?:what|which) (?:is|are|was|were)(?: \w+){{0,5}}? {_WAY}\b",
    rf"(?:what|which) {_WAY}\b",
    rf"do we have (?:\w+ ){{0,3}}?{_WAY}\b",
    rf"what {_DO} {_WE} (?:{_HABIT} |first )?do (?:if|when|whenever|once|after|about|with|in case|first|next|to|for|before)\b",
    rf"(?:if|when|whenever|once)\b.* (?:what|how) {_DO} {_WE}\b",
    r"what (?:do|must) (?:i|we) do$|(?:so )?(?:what now|now what|what next|what then|then what)$",
    r"what (?:needs to|has to|must|should) (?:be \w+(?:ed|en|t|ne)\b|happen\b)",
    r".*\b(?:forget|forgets|forgot|forgetting|know|learn|remember|sure|understand) how (?:to|i|we|one)\b",
    r"what do (?:i|we) (?:need|have) to (?:do|prepare|check)\b",
    r"what (?:works|worked) (?:best|well)\b|what happens (?:if|when|whenever|once|after|to)\b",
    r"(?:walk|talk|guide|take|lead|run|step) (?:me|us) through\b",
    r"help (?:me|us) (?:to )?(?!understand|see|with\b)\w",
    rf"(?:(?:give|show|send|list|outline|describe|explain|remind|recap|i need|i want|need|want|find)\b{_GAP} )?(?:the |our |"
    rf"my )?(?:\w+ ){{0,2}}?"
    r"(?:steps|instructions?|procedure|process|workflow|checklist|playbook|runbook|protocol|best practices?|guidelines?) "
    r"(?:for|to|of|on|when|if)\b",
    rf"(?:remind me (?:of|about)|describe|explain|outline|recap){_GAP} {_WAY}\b",
)

_MOVING: Final = (
    r"(?:chang|develop|evolv|grow|shift|improv|declin|increas|decreas|drop|dropp|ris|fall|slow|trend|perform|worsen|recover|shrink|"
    r"progress)"
    r"(?:e|es|ed|en|n|ing|s)?"
)
_WHETHER: Final = r"(?:am|is|are|was|were|do|does|did|has|have)\b.*"
_COMPARED: Final = r"(?:better|worse|cheaper|faster|slower|bigger|smaller|(?:more|less)(?! than (?:\d|a\b|one\b))|higher|lower|rather)"
ANALYTICAL: Final = Ways(
    r"what (?:has |have |is |was |were )?"
    r"(?:caus|driv|led to|leads? to|leading to|led\b|made\b|makes\b|drove|influenc|affect|behind|trigger|explain(?:s|ed)\b)",
    r"what (?:might|could|may) (?:be|have been) (?:behind|causing|the (?:cause|reason))\b",
    r"(?:has|have|is|are|did|does|do|will|would)\b.* (?:become|turned|differ|pay off|paid off|at risk)\b",
    r"how (?:do|does|did) .*\bdiffer\b|(?:which|who)\b.* (?:at risk|most likely)\b",
    r"what (?:went|is going|has gone) (?:wrong|well)\b|what (?:keeps|kept|stops|stopped|prevents|prevented|holds|held)\b",
    r"what (?:has |have |had )?changed\b",
    rf"how (?:has|have|had|did|does|do|is|are|was|were)(?: \w+){{1,6}}? {_MOVING}\b",
    r"how (?:has|have|is|are)(?: \w+){0,2} (?:sales|revenue|business|things|numbers|figures|orders|profits)(?: been)? (?:doing|going|"
    r"looking)\b",
    r"(?:is|are|has|have|was|were|do|does)(?: \w+){1,5}? (?:been )?"
    r"(?:chang|grow|improv|declin|increas|decreas|dropp|ris|fall|slow|worsen|recover|shrink|los|gain|becom)ing\b",
    rf"{_WHETHER} (?!other|rather)\w+er than\b",
    r"can (?:we|i) afford\b|(?:where|who|what) (?:are|do) we los(?:e|ing)\b|how (?:well|badly|good|bad)\b",
    r"what (?:would|will|could) happen if\b|what if\b",
    rf"{_WHETHER} {_COMPARED}(?:(?: \w+){{0,3}} than\b|(?: \w+){{1,8}}? or\b|$)",
    rf"{_WHETHER} (?:profitable|worthwhile|on track|making (?:\w+ )?money)\b",
    r"how (?:do|does|did) .*\b(?:stack|measure) up\b",
    r"would(?: \w+){1,6} (?:help|hurt|work|pay off|be (?:better|worse|enough|wise))\b",
    r"(?:for|on) (?:what|which) (?:reason|grounds|basis)\b",
    r"(?:should|shall|ought) (?:i|we)\b",
    r"(?:is|would|was) it (?:be )?(?:still )?(?:worth|wise|smart|sensible|better|a good|a bad|a mistake|right|wrong|risky|safe|fair|"
    r"reasonable)\b",
    r"(?:does|would|do) it (?:still )?(?:make sense|pay)\b",
    r"(?:do|would) you (?:think|say|recommend|advise) (?:that )?(?:i|we|it|to|against|offering|giving)\b",
    rf"(?:which|who)(?: \w+){{0,6}}? {_COMPARED}\b",
    r"what (?:is|are)(?: \w+){0,3} (?:wrong with|the (?:matter|problem|issue|trouble|hold up|odds|chances)\b|taking(?: \w+){0,3} so long)",
    r"what (?:can|could|should|do) (?:i|we|you) (?:learn|conclude|infer|make) (?:from|of)\b",
    r"how (?:risky|likely|reliable|profitable|healthy)\b",
)
ANALYTICAL_INSIDE: Final = Ways(
    r"\b(?:why|how come)\b",
    r"\b(?:reasons?|root causes?|causes?|rationale|explanations?|motivations?) (?:for|of|behind|why|that|to)\b",
    r"\b(?:trends?|trending|patterns?|correlat\w+|compare[ds]?|comparing|comparison|versus|vs|analy[sz]e\w*|analysis|assess|evaluate|"
    r"forecast\w*|"
    r"predict\w*|insights?|pros and cons|root cause|seasonality|outlook)\b",
    r"\b(?:differences?|correlation|link|connection) (?:between|in)\b",
    r"\b(?:impact|effects?|consequences?) (?:of|on|did|does|has|have|will)\b|\baffect(?:s|ed)?\b",
    r"\b(?:good|bad) idea to\b|\bworth (?:it|keeping)\b|\bbetter or worse\b",
)

_ABOUT: Final = r"(?:about|of|on|with|from|regarding)"
EXPLORATORY: Final = Ways(
    rf"(?:tell|inform) (?:me|us) (?:\w+ ){{0,3}}?{_ABOUT}\b",
    r"(?:tell|give) (?:me|us) (?:everything|all|something|more)\b",
    rf"what (?:else )?(?:do|did|can) (?:you|we|i) (?:already )?(?:know|remember|recall|have|tell me|tell us)(?: so far)? {_ABOUT}\b",
    r"what (?:should|must|do) (?:i|we) (?:(?:need|have|ought) to )?(?:know|(?:have|keep|bear) in mind)\b|"
    r"what have you got\b|what (?:you|we) have (?:on|about)\b|what came (?:out of|of)\b|"
    r"where (?:do|did) (?:things|we) stand\b|what (?:has|is) been \w+ing\b",
    r"(?:talk|speak) to (?:me|us) about\b",
    r"what (?:sort|kind|type) of (?:company|person|customer|client|firm|business|place|team|supplier|partner)\b",
    r"how have (?:we|i) been \w+ing\b|(?:what|which) (?:topics|subjects|issues|things|events)\b",
    r"(?:catch|bring|get) (?:me|us) up\b|(?:fill|clue) (?:me|us) in\b|(?:brief|update) (?:me|us)\b|refresh my memory\b",
    r"remind (?:me|us) (?:of|about)\b",
    r"(?:describe|explore|introduce)\b",
    r"help (?:me|us) understand\b",
    rf"i (?:am|want|need|would|wanted)\b{_GAP} (?:learn|know|hear|read|find out) (?:more |everything |something )?about\b",
    r"i am (?:curious|interested|meeting|seeing|visiting|preparing)\b",
    r"(?:learn|know|hear) more about\b",
    r"(?:is there |do you have |do we have |got )?(?:anything(?! (?:\w+ )?(?:overdue|unpaid|open|due|pending|outstanding|left)\b)|"
    r"something|everything|any (?:\w+ )?(?:news|updates?|thoughts|"
    r"notes|information|info|ideas?|tips?|advice|suggestions?|recommendations?))\b",
    r"what (?:is|has been|have been|was)(?: \w+)? (?:going on|happening|worth knowing)\b",
    r"what (?:is|has been|have been|was)(?: \w+)? (?:new|up|important|interesting)(?:$| (?:with|at|in|on|from|about|for|to|around|lately|"
    r"recently|today|this|these|since|now)\b)",
    r"i (?:need|want|could use|am looking for|am after)(?: \w+){0,3} (?:ideas?|inspiration|tips?|advice|suggestions?|recommendations?)\b",
    r"what (?:is|was|are) (?:the |our |my |their )?(?:state of|latest(?: on| with| from \w+$| about)|latest$|story|situation|deal|"
    r"history|relationship|background)\b(?! (?:that )?(?:i|we|you|they)\b)",
    r"what (?:has |have |had )?(?:happened|been (?:going on|happening))\b",
    r"what (?:all )?have (?:we|i|you|they) (?:\w+ )?(?:discussed|talked|covered|done|been|learned|said|worked)\b",
    r"how (?:is|are) (?:things|it going|everything|life|business)\b|"
    r"how (?:is|are|was|were|has|have)(?: \w+){1,4} (?:doing|going|been|holding up|coming along|getting on)$",
    r"how (?:did|was|were)(?: \w+){1,5}? go(?! about)\b|what (?:is|are)(?: \w+){1,3} (?:saying|thinking|talking) about\b",
    r"(?:what|how) about\b|thoughts on\b|(?:what|which|where)(?: \w+){0,3} (?:could|can|might) (?:i|we) (?!do\b|not\b)\w",
    r"(?:who|what|which) (?:is|are) (?:my|our|the) (?:most )?(?:important|key|main|biggest|top|best|valuable|largest|major)\b",
    r"(?:recommend|suggest)\b|(?:can|could|would|will) you (?:please )?(?:recommend|suggest)\b",
    r"(?:show|list|give|find|get) (?:me |us )?(?:all |my |our |recent |the |latest |any |of )*(?:\w+ )?"
    r"(?:interactions?|conversations?|discussions?|notes|memories|history|meetings|dealings|talks)\b",
)
EXPLORATORY_INSIDE: Final = Ways(
    r"\b(?:overview|summary|lowdown|summaries|summari[sz]e|rundown|recap|big picture|highlights|gist|digest|sum up|profile of)\b",
    r"\b(?:relationship|relations|dealings) (?:with|to|between)\b|\bbackground (?:on|of|to)\b",
)

_ASKS: Final = Ways(
    r"(?:any|what|which|who|whom|whose|when|where|how|is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|may|might|must|"
    r"should|list|"
    r"show|give|find|get|name|count|check|look|search|fetch|tell|remind|in|on|at|for|from|to|by|until|since|if)\b",
    r"i (?:forgot|forget|do not (?:remember|recall|know)|can not (?:remember|recall|find))\b",
)
_FACT: Final = Ways(
    r"\b(?:balance|status|total|amount|price|cost|number|phone|email|address|date|deadline|name|count|terms?|revenue|sales|turnover|"
    r"stock|"
    r"inventory|birthday|age|title|role|owner|contact|due|unpaid|overdue|outstanding|open|active|size|quantity|value|limit|discount|rate|"
    r"percentage|id)\b"
)
"""A single thing to know, which is asked for by its name alone: `acme balance`."""


_SAID_ONCE: Final = Ways(r"what (?:was|were)\b.* (?:you|i|we) (?:gave|told|mentioned|recommended|suggested|sent|showed|shared|found)\b")
"""What was given or told in a conversation, also where it is a recipe."""
_EXACT: Final = Ways(r"(?:how (?:many|much|long|old|often)|when|where|who|whom|whose)\b")
"""What asks for a fact, whatever else is said."""


def category_of(clauses: Sequence[str]) -> Category:
    """The category of what is asked. Names alone ask for an overview."""
    if any(PROCEDURAL.match(each) and not _SAID_ONCE.match(each) for each in clauses):
        return "procedural"
    open_ones = [each for each in clauses if not _EXACT.match(each)]
    if any(map(ANALYTICAL.match, clauses)) or any(map(ANALYTICAL_INSIDE.search, open_ones)):
        return "analytical"
    if any(map(EXPLORATORY.match, clauses)) or any(map(EXPLORATORY_INSIDE.search, open_ones)):
        return "exploratory"
    return "factual" if any(map(_ASKS.match, clauses)) or any(map(_FACT.search, clauses)) else "exploratory"
