"""The tool `context`: what to read before answering a question, or the texts of ids and places, within a number of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ...assemble.context import assemble
from ...assemble.writing import code_name
from ...cancellation import in_thread
from ...contracts import Explanation
from ...errors import InvalidInput, NotFound
from ...evidence.boundaries import line_starts
from ...knowledge import AssembledContext, ContextPassage, ResultPassage, RetrievalResult
from ...library import Library
from ...model import Item
from ...spans import Span
from ..verbs import got
from .answer import Answer, tokens_of
from .asked import Context
from .given import Missing, Passage, Passages
from .sources import place_of

TOKEN_CHARS: Final = 40
"""Of a text that was asked for by its id, so many characters for each token are looked at: a token has four on average."""
HISTORY: Final = ("superseded", "archived")
TOLD: Final = 10
"""How many of those that were left out the text names."""
LISTED: Final = 8
"""This part of the room, an eighth, is for what is said of the passages."""


async def context(library: Library, asked: Context) -> Answer:
    """The context of a question, or of ids."""
    if (asked.query is None) == (asked.ids is None):
        raise InvalidInput("context takes a query or ids, one of them: a query to have passages chosen, ids to read what they name")
    room = asked.max_tokens - asked.max_tokens // LISTED
    if asked.ids is not None:
        made, left_out = await _of_ids(library, asked.ids, room)
    else:
        made = await library.knowledge.context(asked.query or "", max_length=room, format="markdown")
        left_out = [Missing(id=each.node_id, reason=each.reason) for each in made.left_out]
    passages = [_passage(each) for section in made.sections for each in section.passages]
    text = _fitted(library, made, left_out, asked.max_tokens)
    return Answer(text, Passages(passages=passages, tokens=tokens_of(library, text), left_out=left_out, notes=made.notes))


def _fitted(library: Library, made: AssembledContext, left_out: Sequence[Missing], max_tokens: int) -> str:
    """The text with what is to be said of it, as far as there is room: notes, then what was left out, which the data has whole."""
    for listed in _listings(left_out):
        text = "\n\n".join(filter(None, [made.text, *made.notes, listed]))
        if tokens_of(library, text) <= max_tokens:
            return text
    return made.text


def _listings(left_out: Sequence[Missing]) -> Iterator[str]:
    """What was left out as it may be told, the longest first: some with their reasons, then some by their ids alone, then nothing."""
    with_reasons = [f"- {code_name(each.id)}: {each.reason}" for each in left_out]
    for told in (with_reasons, [f"- {code_name(each.id)}" for each in left_out]):
        for many in range(min(TOLD, len(told)), 0, -1):
            more = [f"- and {len(told) - many} more"] if many < len(told) else []
            yield "\n".join(["Not here, or not whole (`context` takes these as ids):", *told[:many], *more])
    yield ""


def _passage(passage: ContextPassage) -> Passage:
    said = passage.citation
    return Passage(
        number=said.number,
        id=said.node_id,
        place=place_of(said.node_id, said.line_start, said.line_end),
        title=said.title,
        label=passage.label,
        text=passage.text,
        cut=passage.cut,
    )


# By id.


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of an item that are wanted, from the first to the last, counted from 1."""

    item: Item
    first: int
    last: int

    def read(self, most: int) -> ResultPassage:
        """Their text, and not much more than `most` characters of it, up to the end of a line where there is one."""
        starts = line_starts(self.item.text)
        begin, end = starts[self.first - 1], starts[self.last] if self.last < len(starts) else len(self.item.text)
        last = self.last
        while end - begin > most and last > self.first:
            last = self.first + (last - self.first) // 2
            end = starts[last]
        end = min(end, begin + most)
        text = self.item.text[begin:end].removesuffix("\n").removesuffix("\r")
        return ResultPassage(
            text=text, start=begin, end=begin + len(text), line_start=self.first, line_end=last, heading_path=[], score=1.0
        )


async def _of_ids(library: Library, ids: Sequence[str], max_tokens: int) -> tuple[AssembledContext, list[Missing]]:
    wanted: list[Lines] = []
    missing: list[Missing] = []
    for name in dict.fromkeys(ids):
        try:
            wanted.append(await _lines(library, name))
        except NotFound as error:
            if len(ids) == 1:
                raise
            missing.append(Missing(id=name, reason=str(error)))
    if not wanted:
        raise NotFound(f"none of the {len(ids)} ids is there: {missing[0].reason}")
    results = _results(wanted, max_tokens * TOKEN_CHARS)
    tokens = library._parts.reader.tokens
    made = await in_thread(assemble, results, "", tokens, max_length=max_tokens, format="markdown", include_metadata=False)
    return made, [*_left_out(made, wanted), *missing]


async def _lines(library: Library, name: str) -> Lines:
    found = await got(library, name)
    if isinstance(found, Span):
        return Lines(await library.get(found.item_id), found.line_start, found.line_end)
    starts = line_starts(found.text)
    return Lines(found, 1, max(1, len(starts) - (starts[-1] == len(found.text))))


def _results(wanted: Sequence[Lines], most: int) -> list[RetrievalResult]:
    """The items in the order in which they were asked for, as results that are all equally good."""
    by_item: dict[str, list[Lines]] = {}
    for lines in wanted:
        by_item.setdefault(lines.item.id, []).append(lines)
    step = 0.1 / len(by_item)
    return [_result(own[0].item, 1.0 - step * at, [each.read(most) for each in own]) for at, own in enumerate(by_item.values())]


def _result(item: Item, score: float, passages: list[ResultPassage]) -> RetrievalResult:
    return RetrievalResult(
        node_id=item.id,
        content="",
        score=score,
        node_type=item.kind,
        title=item.title,
        path=item.source_ref,
        version=item.version,
        status=item.status,
        distance=0,
        relationship_type=None,
        historical=item.status in HISTORY,
        passages=passages,
        why=Explanation(sentence="asked for by its id", parts=[]),
    )


def _left_out(made: AssembledContext, wanted: Sequence[Lines]) -> list[Missing]:
    """What of the lines is not in the context, as places to ask for next."""
    passages = [each for section in made.sections for each in section.passages]
    reasons = {each.node_id: each.reason for each in made.left_out}
    found: list[Missing] = []
    for lines in wanted:
        own = [each for each in passages if each.citation.node_id == lines.item.id and _begins_in(each, lines)]
        rest = _rest(lines, own[0]) if own else (lines.first, lines.last)
        if rest and lines.item.text.strip():
            reason = reasons.get(lines.item.id, "cut to fit")
            if own and rest[0] == lines.first:
                reason += "; its first line alone is longer, so give more max_tokens"
            found.append(Missing(id=place_of(lines.item.id, *rest), reason=reason))
        elif not own:
            found.append(Missing(id=lines.item.id, reason="it has no text"))
    return found


def _begins_in(passage: ContextPassage, lines: Lines) -> bool:
    first, last = passage.citation.line_start, passage.citation.line_end
    return first is not None and last is not None and first <= lines.first <= last


def _rest(lines: Lines, passage: ContextPassage) -> tuple[int, int] | None:
    """The lines that follow a passage, with the one that it ends in where that is not whole; None where nothing is missing."""
    last = passage.citation.line_end or lines.first
    starts = line_starts(lines.item.text)
    whole = lines.item.text[starts[last - 1] : starts[last] if last < len(starts) else len(lines.item.text)].rstrip()
    ends_whole = passage.text.rstrip().endswith(whole)
    if last >= lines.last and ends_whole:
        return None
    return (last + 1 if ends_whole and last < lines.last else last, lines.last)
