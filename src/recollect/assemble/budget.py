"""Chooses what a context has room for: whole passages, the best of each result before any second, and one cut where much is left."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final

from ..cancellation import checkpoint
from ..knowledge import RetrievalResult
from ..ports import TokenCounter
from .pieces import Piece, added_by, cut_at, cuts_of, joined
from .sameness import Seen
from .sections import PLACES, Place, is_code

JOINT: Final = 2
"""Tokens that a passage may take more among others than alone: the line breaks around it, and a larger number."""
SUBSTANTIAL: Final = 100
"""Tokens that are worth filling with a part of a passage, which has 200; in a small context, an eighth of it."""
MISSES: Final = 4
"""Passages of a section that found no room, behind which only one that is shorter than all of them is tried."""
CUTS: Final = 20
"""Passages, best first, of which a part is looked for: one of the first has a sentence that fits, or hardly any has."""


@dataclass(frozen=True, slots=True)
class Same:
    """Who says what a passage says, too."""

    owner: Entry
    of_owner: Piece
    is_identical: bool

    def holds(self) -> bool:
        """Whether that is still in the context."""
        return self.of_owner in self.owner.taken


@dataclass(slots=True, eq=False)
class Entry:
    """A result, what it has, best first, and what of it the context has."""

    result: RetrievalResult
    place: Place
    pieces: Sequence[Piece]
    taken: list[Piece] = field(default_factory=list)
    same: dict[Piece, Same] = field(default_factory=dict)
    costs: dict[Piece, int] = field(default_factory=dict)
    """Tokens of each piece that was measured."""

    def written(self) -> list[Piece]:
        """What of it is in the context, in the order of its text."""
        return joined(self.taken)

    def missing(self) -> list[Piece]:
        """The pieces that are not whole in the context and that nothing else there says."""
        written = self.written()
        said = {piece for piece, same in self.same.items() if same.holds()}
        return [piece for piece in self.pieces if piece not in said and not any(each.covers(piece) for each in written)]


@dataclass(slots=True)
class Budget:
    """Room, in tokens, and what was put into it. `block` writes a piece of an entry, `body` a text in one, `frame` a section's own."""

    room: int
    max_length: int
    least: int
    """What the smallest block takes: with less room than that it is full."""
    tokens: TokenCounter
    block: Callable[[Entry, Piece], str]
    body: Callable[[str], str]
    frame: Callable[[Place], str]
    taken: list[tuple[Entry, Piece, int]] = field(default_factory=list)
    """In the order in which they got room, each with what it cost."""
    _seen: Seen[tuple[Entry, Piece]] = field(default_factory=Seen)
    _opened: set[Place] = field(default_factory=set)
    _frames: dict[Place, int] = field(default_factory=dict)

    def count(self, text: str) -> int:
        return len(self.tokens.starts(text))

    def fill(self, entries: Sequence[Entry]) -> None:
        """Give the entries room, in the order of their sections and in theirs."""
        skipped: list[tuple[Entry, Piece]] = []
        for place in PLACES:
            own = [entry for entry in entries if entry.place == place]
            unfit = self._unfit(own)
            # A section whose every passage is too long has a part of its best before the next one gets what is left.
            if unfit and not any(entry.taken for entry in own):
                self._cut_one(unfit)
            skipped += unfit
        self._cut_one(skipped)

    def give_back(self, tokens: int) -> None:
        """Take out what got room last, until so many tokens are free again."""
        while tokens > 0 and self.taken:
            entry, piece, cost = self.taken.pop()
            entry.taken.remove(piece)
            tokens -= max(1, cost)

    def alone(self, entry: Entry, piece: Piece) -> int:
        """Tokens that a piece takes with the heading of its section."""
        return self._cost(entry, piece) + self._framing(entry.place)

    def _unfit(self, entries: Sequence[Entry]) -> list[tuple[Entry, Piece]]:
        """Give the entries of a section room; the pieces that found none. What hardly can is not even measured."""
        unfit: list[tuple[Entry, Piece]] = []
        missed = 0
        shortest = inf
        for entry, piece in _rounds(entries):
            checkpoint()
            if self.room < self.least or (missed >= MISSES and len(piece.text) >= shortest):
                unfit.append((entry, piece))
            elif not self._take_or_say(entry, piece):
                unfit.append((entry, piece))
                missed += 1
                shortest = min(shortest, len(piece.text))
        return unfit

    def _take_or_say(self, entry: Entry, piece: Piece) -> bool:
        """Whether the piece has found room, or needs none."""
        if added_by(piece, entry.taken) == "":
            return True
        cost = self._cost(entry, piece)
        entry.costs[piece] = cost
        if not self._fits(entry, cost):
            return False
        if not self._is_said(entry, piece):
            self._take(entry, piece, cost)
        return True

    def _is_said(self, entry: Entry, piece: Piece) -> bool:
        """Whether something in the context says the same, which is remembered."""
        if found := self._find(entry, piece):
            (owner, of_owner), is_identical = found
            entry.same[piece] = Same(owner, of_owner, is_identical)
        return found is not None

    def _find(self, entry: Entry, piece: Piece) -> tuple[tuple[Entry, Piece], bool] | None:
        # What goes on from a passage of the same item is joined with it, however alike they are.
        is_apart = added_by(piece, entry.taken) is None
        return self._seen.find(piece.text, exactly=is_code(entry.result), counts=lambda owner: is_apart or owner[0] is not entry)

    def _fits(self, entry: Entry, cost: int) -> bool:
        return cost + self._framing(entry.place) <= self.room

    def _take(self, entry: Entry, piece: Piece, cost: int) -> None:
        """Give a piece that fits its room."""
        cost += self._framing(entry.place)
        self.room -= cost
        self._opened.add(entry.place)
        entry.taken.append(piece)
        self.taken.append((entry, piece, cost))
        self._seen.add(piece.text, (entry, piece))

    def _framing(self, place: Place) -> int:
        """Tokens of a section's own, where there is nothing in it yet."""
        if place in self._opened:
            return 0
        if place not in self._frames:
            self._frames[place] = self.count(self.frame(place)) + JOINT
        return self._frames[place]

    def _cost(self, entry: Entry, piece: Piece) -> int:
        added = added_by(piece, entry.taken)
        return JOINT + self.count(self.block(entry, piece) if added is None else self.body(added))

    def _cut_one(self, pieces: Sequence[tuple[Entry, Piece]]) -> None:
        """Put a part of the first of these that can be cut so that it fits, where that is worth it."""
        if self.room < min(SUBSTANTIAL, self.max_length // 8):
            return
        for entry, piece in pieces[:CUTS]:
            checkpoint()
            part = None if self._is_said(entry, piece) else self._part(entry, piece)
            if part and not self._find(entry, part) and self._fits(entry, cost := self._cost(entry, part)):
                self._take(entry, part, cost)
                return

    def _part(self, entry: Entry, piece: Piece) -> Piece | None:
        """As much of the piece as there is room for."""
        known = max((each.end for each in entry.written() if each.start <= piece.start <= each.end), default=piece.start)
        starts = self.tokens.starts(piece.text)
        # As it is written it has these tokens at least, so nothing beyond them need be looked at.
        reach = int(starts[self.room]) if len(starts) > self.room else len(piece.text)
        cuts = [cut for cut in cuts_of(piece, by_lines=is_code(entry.result)) if known - piece.start < cut <= reach]
        fitting = bisect_right(cuts, self.room - self._framing(entry.place), key=lambda cut: self._cost(entry, cut_at(piece, cut)))
        return cut_at(piece, cuts[fitting - 1]) if fitting else None


def _rounds(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Piece]]:
    """The best piece of each entry, then the second of each, and so on."""
    for turn in range(max((len(entry.pieces) for entry in entries), default=0)):
        yield from ((entry, entry.pieces[turn]) for entry in entries if turn < len(entry.pieces))
