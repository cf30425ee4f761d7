"""Makes a prompt of what was recalled: the question, memories by type, rows of the domain database, within a number of tokens. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from math import inf
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from ..cancellation import checkpoint
from ..errors import InvalidInput
from ..memories import DomainResults, MemoryQuery, RecalledMemory, SkippedMemory
from ..ports import TokenCounter
from .budget import JOINT, MISSES
from .draft import Draft
from .entries import described, entry, table_lines
from .writing import escaped, one_line

DOMAIN_SHARE: Final = 3
"""Rows of the domain database may have this part of the room, a third, before the memories, and what these leave."""
NOTES_SHARE: Final = 8
"""What there is to say may take this part of the prompt, an eighth."""
CHARS_PER_TOKEN: Final = 6
"""More than English has: what is longer does not fit, and is not counted to see that."""
MAX_TOKEN_CHARS: Final = 100
"""So many characters of a question for each of its tokens are looked at, whose words are shorter."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What fits, and the text that is made of it. The first memory is marked [m1] there, the second [m2], and so on."""

    memories: tuple[RecalledMemory, ...]
    """Best first, each with the tokens that it takes."""
    skipped: tuple[SkippedMemory, ...]
    """In the order in which they were given."""
    text: str
    token_count: int
    notes: tuple[str, ...] = ()
    """What of the domain database found no room."""


def fitted(
    memories: Sequence[RecalledMemory],
    *,
    query: MemoryQuery,
    tokens: TokenCounter,
    max_tokens: int,
    query_tokens: int,
    limit: int,
    now: datetime,
    zone: tzinfo,
    domain: DomainResults | None = None,
    notes: Sequence[str] = (),
    until: Mapping[str, datetime] = MappingProxyType({}),
) -> Prompt:
    """The prompt of a question: at most `max_tokens` of everything that is written, `query_tokens` of these for the question, which is cut
    to them. Of the memories, given best first, at most `limit`: summaries get room first, then the others by score; behind one that is too
    long the next is tried. `until` has when something took the place of a memory, by its id, where that is not among the memories."""
    draft = Draft(
        memories=memories,
        described=[described(memory, now, zone, _end(memory, memories, until)) for memory in memories],
        domain=domain,
        tables=[table_lines(table) for table in domain.tables] if domain else [],
        question=_question(query.query, tokens, query_tokens),
    )
    room = _Room(max_tokens, tokens, draft)
    if len(memories) <= limit and (whole := room.whole(notes)):
        return whole
    least = room.count(draft.text())
    if least > max_tokens:
        raise InvalidInput(f"max_tokens is {max_tokens}, and the prompt takes {least} without any memory: give {least} or more")
    room.say(notes, max_tokens - least)
    room.left = max_tokens - room.count(draft.text())
    room.show_rows(keep=room.left - room.left // DOMAIN_SHARE)
    room.take(limit)
    room.show_rows(keep=0)
    return room.made()


def _end(memory: RecalledMemory, memories: Sequence[RecalledMemory], until: Mapping[str, datetime]) -> datetime | None:
    """When something took the place of a memory, where that is known."""
    if not memory.historical:
        return None
    return until.get(memory.id) or next((other.at for other in memories if other.id == memory.superseded_by), None)


def _question(query: str, tokens: TokenCounter, most: int) -> str:
    """The question in quotes, which nothing in it can close, its end left out where it has more tokens than that."""
    line = one_line(query)
    near = line[: most * MAX_TOKEN_CHARS]
    if near == line and len(tokens.starts(quoted := _quoted(line))) <= most:
        return quoted
    cuts = (_quoted(f"{near[: int(start)].rstrip()}…") for start in reversed(tokens.starts(near)[:most]))
    return next((cut for cut in cuts if len(tokens.starts(cut)) <= most), "")


def _quoted(line: str) -> str:
    return json.dumps(line, ensure_ascii=False)


@dataclass(slots=True)
class _Room:
    """Room, in tokens, and what was put into it, the last at the end: memories by their place, rows by their table."""

    max_tokens: int
    tokens: TokenCounter
    draft: Draft
    left: int = 0
    taken: list[tuple[Literal["memory", "row"], int, int]] = field(default_factory=list)
    """Each with what it cost."""
    reasons: dict[int, str] = field(default_factory=dict)
    """Why a memory is not in the prompt, by its place."""

    def count(self, text: str) -> int:
        return len(self.tokens.starts(text))

    def say(self, notes: Sequence[str], left: int) -> None:
        """Put in the first notes, those that their share of the prompt has room for."""
        left = min(left, self.max_tokens // NOTES_SHARE)
        for note in notes:
            line = f"Note: {escaped(note)}"
            left -= self.count(line) + JOINT
            if left < 0:
                return
            self.draft.notes.append(line)

    def whole(self, notes: Sequence[str]) -> Prompt | None:
        """The prompt with everything in it, where it fits, as it mostly does: it is counted once, and not part by part."""
        draft = self.draft
        self.say(notes, self.max_tokens)
        draft.chosen, draft.shown = [*range(len(draft.memories))], [*map(len, draft.tables)]
        if len(text := draft.text()) <= CHARS_PER_TOKEN * self.max_tokens and len(starts := self.tokens.starts(text)) <= self.max_tokens:
            return self._prompt(text, starts)
        draft.notes, draft.chosen, draft.shown = [], [], [0] * len(draft.tables)
        return None

    def show_rows(self, *, keep: int) -> None:
        """Show the first rows of each table, then the second ones, and so on, while more than `keep` tokens are left. In a table, behind a
        row that is too long comes no other."""
        unfinished = [at for at in range(len(self.draft.tables)) if self.draft.shown[at] < len(self.draft.tables[at])]
        while unfinished:
            unfinished = [at for at in unfinished if self._show_row(at, keep)]

    def _show_row(self, at: int, keep: int) -> bool:
        """Show the next row of a table; whether there is another one to try."""
        checkpoint()
        table, shown = self.draft.tables[at], self.draft.shown[at]
        cost = JOINT + self.count("\n".join(table[shown]) if shown else self.draft.table(table[shown]))
        if cost > self.left - keep:
            return False
        self.left -= cost
        self.taken.append(("row", at, cost))
        self.draft.shown[at] += 1
        return shown + 1 < len(table)

    def take(self, limit: int) -> None:
        """Give memories room: of the first `limit` the summaries, then the others by score; then further ones, for what was too long."""
        missed, shortest = 0, inf
        for place in self._by_turn(limit):
            checkpoint()
            size = len(self.draft.described[place])
            if len(self.draft.chosen) >= limit:
                self.reasons[place] = f"beyond the limit of {limit}"
            elif missed >= MISSES and size >= shortest:
                self.reasons[place] = _too_long(size, "characters", self.left)
            elif not self._take(place, min(limit, len(self.draft.memories))):
                missed, shortest = missed + 1, min(shortest, size)

    def _by_turn(self, limit: int) -> Iterator[int]:
        draft = self.draft
        first = range(min(limit, len(draft.memories)))
        yield from sorted(first, key=lambda place: (draft.memories[place].type != "summary", *draft.rank(place)))
        yield from range(len(first), len(draft.memories))

    def _take(self, place: int, largest: int) -> bool:
        """Whether a memory found room, with a mark as long as there can be."""
        draft = self.draft
        type_ = draft.memories[place].type
        cost = JOINT + self.count(entry(largest, draft.described[place]))
        if all(draft.memories[other].type != type_ for other in draft.chosen):
            cost += JOINT + self.count(draft.section(type_, ()))
        if cost > self.left:
            self.reasons[place] = _too_long(cost, "tokens", self.left)
            return False
        self.left -= cost
        self.taken.append(("memory", place, cost))
        draft.chosen.append(place)
        return True

    def made(self) -> Prompt:
        """The prompt, without what came last where all together have more tokens than each alone."""
        draft = self.draft
        while len(starts := self.tokens.starts(text := draft.text())) > self.max_tokens:
            self._take_out(len(starts) - self.max_tokens)
        return self._prompt(text, starts)

    def _prompt(self, text: str, starts: npt.NDArray[np.int64]) -> Prompt:
        draft, sizes = self.draft, self._sizes(text, starts)
        memories = draft.memories
        return Prompt(
            memories=tuple(memories[place].model_copy(update={"token_count": sizes[place]}) for place in draft.in_order()),
            skipped=tuple(SkippedMemory(id=memories[place].id, reason=self.reasons[place]) for place in sorted(self.reasons)),
            text=text,
            token_count=len(starts),
            notes=self._notes(),
        )

    def _take_out(self, too_many: int) -> None:
        if not self.taken:
            self.draft.notes.pop()
            return
        what, at, cost = self.taken.pop()
        if what == "row":
            self.draft.shown[at] -= 1
        else:
            self.draft.chosen.remove(at)
            self.reasons[at] = _too_long(cost, "tokens", max(0, cost - too_many))

    def _sizes(self, text: str, starts: npt.NDArray[np.int64]) -> dict[int, int]:
        """Tokens of each memory in the text. No line of another can be the beginning of its entry."""
        sizes, end = {}, 0
        for place, said in self.draft.entries().items():
            start = text.index(f"\n{said}\n", end) + 1
            end = start + len(said)
            first, last = starts.searchsorted([start, end])
            sizes[place] = int(last - first)
        return sizes

    def _notes(self) -> tuple[str, ...]:
        if not (left_out := self.draft.rows_left_out()):
            return ()
        rows = f"{left_out} of {self.draft.rows()} rows of the domain database"
        return (f"{rows} have no room in a prompt of {self.max_tokens} tokens: give more",)


def _too_long(size: int, unit: str, left: int) -> str:
    return f"too long: {size} {unit}, {left} tokens were left"
