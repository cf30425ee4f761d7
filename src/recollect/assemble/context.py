"""Makes a context of results: sections, within a number of tokens, every passage with its citation. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..contracts import QueryAnalysis
from ..knowledge import (
    AssembledContext,
    Citation,
    ContextFormat,
    ContextPassage,
    ContextSection,
    LeftOut,
    RetrievalResult,
)
from ..ports import TokenCounter
from .budget import JOINT, Budget, Entry
from .pieces import Piece, pieces_of
from .sections import PLACES, Place, in_order, label_of, place_of
from .writing import LEAST, NOTE, WRITINGS, Writing, code_name, edge_name, name


def assemble(
    results: Sequence[RetrievalResult],
    query: str,
    tokens: TokenCounter,
    *,
    max_length: int,
    format: ContextFormat,  # noqa: A002
    include_metadata: bool,
    analysis: QueryAnalysis | None = None,
    notes: Sequence[str] = (),
) -> AssembledContext:
    """The context of a question: at most `max_length` tokens of everything that is written, headings and citations too."""
    entries = [Entry(result, place_of(result), pieces_of(result)) for result in in_order(results)]
    entries.sort(key=lambda entry: PLACES.index(entry.place))
    draft = _Draft(entries, WRITINGS[format], include_metadata)
    frame = len(tokens.starts(draft.writing.whole(NOTE, ()))) + JOINT
    least = len(tokens.starts(draft.writing.passage(LEAST, with_metadata=include_metadata)))
    budget = Budget(max_length - frame, max_length, least, tokens, draft.block, draft.writing.body, draft.frame)
    budget.fill(entries)
    sections, text = draft.written()
    while (count := budget.count(text)) > max_length and sections:
        budget.give_back(count - max_length)
        sections, text = draft.written()
    is_truncated = any(entry.missing() for entry in entries)
    said = list(notes)
    if not sections:
        text = _empty(draft.writing, budget, found=bool(results))
        count = budget.count(text)
        said += [_nothing_fits(budget, frame, entries)] if is_truncated else []
    return AssembledContext(
        query=query,
        text=text,
        format=format,
        sections=sections,
        total_results=len(results),
        token_count=count,
        max_length=max_length,
        truncated=is_truncated,
        left_out=[_left_out(entry.result, reason) for entry in entries if (reason := _reason(entry))],
        analysis=analysis,
        notes=said,
    )


@dataclass(frozen=True, slots=True)
class _Draft:
    """What was chosen, as it is written."""

    entries: Sequence[Entry]
    writing: Writing
    with_metadata: bool
    largest: int = field(init=False)
    """The largest number that a passage can get, which every one is measured with."""
    numbers: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest", sum(len(entry.pieces) for entry in self.entries))
        object.__setattr__(self, "numbers", {entry.result.node_id: self.largest for entry in self.entries})

    def block(self, entry: Entry, piece: Piece) -> str:
        """A piece alone, with numbers as large as there can be, and what it is related to as long as that can be."""
        related = (_relationship(entry.result, numbers) for numbers in (self.numbers, {}))
        passage = _passage(entry.result, piece, self.largest, max(related, key=lambda said: len(said or "")))
        return self.writing.passage(passage, with_metadata=self.with_metadata)

    def frame(self, place: Place) -> str:
        return self.writing.section(place, ())

    def written(self) -> tuple[list[ContextSection], str]:
        """The sections, and the whole text."""
        numbered: list[tuple[Entry, Piece, int]] = []
        for entry in self.entries:
            numbered += [(entry, piece, len(numbered) + place) for place, piece in enumerate(entry.written(), 1)]
        first = {entry.result.node_id: number for entry, _, number in reversed(numbered)}
        sections = []
        for place in PLACES:
            passages = [
                _passage(entry.result, piece, number, _relationship(entry.result, first))
                for entry, piece, number in numbered
                if entry.place == place
            ]
            if passages:
                sections.append(self._section(place, passages))
        return sections, self.writing.whole(NOTE, [section.content for section in sections])

    def _section(self, place: Place, passages: list[ContextPassage]) -> ContextSection:
        content = self.writing.section(place, [self.writing.passage(each, with_metadata=self.with_metadata) for each in passages])
        return ContextSection(title=place.title, relevance=place.relevance, content=content, passages=passages)


def _passage(result: RetrievalResult, piece: Piece, number: int, relationship: str | None) -> ContextPassage:
    return ContextPassage(
        label=label_of(result),
        node_type=result.node_type,
        citation=Citation(
            number=number,
            node_id=result.node_id,
            title=result.title,
            version=result.version,
            status=result.status,
            path=result.path,
            line_start=piece.lines and piece.lines[0],
            line_end=piece.lines and piece.lines[1],
            start=piece.start if piece.lines else None,
            end=piece.end if piece.lines else None,
        ),
        text=piece.text,
        heading_path=list(piece.headings),
        cut=piece.cut,
        relevance=result.score,
        relationship=relationship,
    )


def _relationship(result: RetrievalResult, numbers: Mapping[str, int]) -> str | None:
    """The last edge that led to a result, by the number of what is at its other end, or by its id where that is not in the context."""
    if not result.via:
        return edge_name(result.relationship_type) if result.relationship_type else None
    edge = result.via[-1]
    kind = edge_name(edge.type)
    if _is_in(edge.source, result.node_id):
        return f"{kind} {_named(edge.target, numbers)}"
    return f"{_named(edge.source, numbers)} {kind} this"


def _named(node: str, numbers: Mapping[str, int]) -> str:
    number = numbers.get(node) or numbers.get(node.partition("#")[0])
    return f"[{number}]" if number else code_name(node)


def _is_in(node: str, item_id: str) -> bool:
    """Whether a node is the item, or something in it."""
    return node == item_id or node.startswith(f"{item_id}#")


def _left_out(result: RetrievalResult, reason: str) -> LeftOut:
    return LeftOut(node_id=result.node_id, title=result.title, reason=reason)


def _reason(entry: Entry) -> str:
    """Why a result is not, or not wholly, in the context; nothing where it is."""
    if not entry.pieces:
        return "it has no text"
    of_all = "" if len(entry.pieces) == 1 else f" of its {len(entry.pieces)} passages"
    missing = entry.missing()
    cut = [piece for piece in missing if any(each.cut and each.start <= piece.start < each.end for each in entry.written())]
    unfit = [piece for piece in missing if piece not in cut]
    elsewhere = [same for same in entry.same.values() if same.owner is not entry and same.holds()]
    reasons = []
    if unfit:
        many = f" for {len(unfit)}{of_all}" if of_all else ""
        reasons.append(f"no room{many}{_size(entry, unfit)}")
    if cut:
        reasons.append(f"cut to fit{_size(entry, cut)}")
    if elsewhere:
        owners = ", ".join(dict.fromkeys(name(same.owner.result.node_id) for same in elsewhere))
        many = "" if len(elsewhere) == len(entry.pieces) else f"{len(elsewhere)}{of_all}: "
        reasons.append(f"{many}{'' if all(same.is_identical for same in elsewhere) else 'nearly '}the same text as {owners}")
    return "; ".join(reasons)


def _size(entry: Entry, pieces: Sequence[Piece]) -> str:
    """How long the pieces are together, where each was measured."""
    return f": {sum(entry.costs[piece] for piece in pieces)} tokens" if all(piece in entry.costs for piece in pieces) else ""


def _empty(writing: Writing, budget: Budget, *, found: bool) -> str:
    """A context without passages, which says why where there is room for that."""
    why = "There are no excerpts: none fits." if found else "There are no excerpts: nothing was found."
    fitting = (text for text in (writing.whole(why, ()), writing.empty) if budget.count(text) <= budget.max_length)
    return next(fitting, "")


def _nothing_fits(budget: Budget, frame: int, entries: Sequence[Entry]) -> str:
    shortest = min(((entry, piece) for entry in entries for piece in entry.pieces), key=lambda each: len(each[1].text))
    needed = frame + budget.alone(*shortest)
    return f"no passage fits into {budget.max_length} tokens: the shortest takes {needed} with its headings, so give more"
