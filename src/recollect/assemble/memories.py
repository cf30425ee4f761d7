"""Memories as they are shown: what each says of itself, why it came, and, of a long one, the part that fits the question best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import cast

from ..evidence.choose import Question, choose, weigh
from ..evidence.snippets import snippet
from ..memories import SIGNALS, MemoryQuery, MemorySignals, MemoryType, RecalledMemory, Source
from ..model import Item, Passages
from ..ports import TokenCounter
from ..rank.signals import Ranked
from .recalled import why

DIGITS = 6
CHARS_PER_TOKEN = 3
"""Fewer than English has: a window that is not too long is not cut again."""
BOOST_DIGITS = 9
"""So many that a score follows from its boost to the last digit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """How the memories of one recall are shown."""

    query: MemoryQuery
    weights: Mapping[str, float]
    question: Question
    tokens: TokenCounter
    excerpt_tokens: int
    now: datetime
    zone: tzinfo

    def memory(self, ranked: Ranked, item: Item, sources: Sequence[Source], passages: Passages | None) -> RecalledMemory:
        """A memory that was chosen."""
        text, is_excerpt = self._text(item, passages)
        signals = MemorySignals.model_validate(dict(zip(SIGNALS, ranked.signals.round(DIGITS).tolist(), strict=True)))
        names = {each.canonical_id: each.name for each in self.query.entities}
        type_ = cast("MemoryType", item.kind)  # Only such were asked for.
        reason = why(
            type_,
            signals,
            self.weights,
            sources=sources,
            entities=[names[each] for each in item.entities if each in names],
            within=self.query.time_range,
            at=item.created_at,
            now=self.now,
            zone=self.zone,
            use_count=item.use_count,
            boost=ranked.boost,
            about=self._about(item),
        )
        return RecalledMemory(
            id=item.id,
            type=type_,
            text=text,
            excerpt=is_excerpt,
            title=item.title,
            at=item.created_at,
            score=ranked.score,
            signals=signals,
            weights=dict(self.weights),
            boost=round(ranked.boost, BOOST_DIGITS),
            sources=list(sources),
            why=reason,
            entities=list(item.entities),
            importance=item.importance,
            use_count=item.use_count,
            metadata=dict(item.metadata),
            historical=ranked.historical,
            superseded_by=ranked.successor,
            duplicates=list(ranked.folded),
        )

    def _about(self, item: Item) -> str:
        """What it is about, of a memory that mentions nobody of whom the question speaks."""
        if self.query.entities:
            return f"what is related to {self.query.entities[0].name}" if len(self.query.entities) == 1 else "what is related to these"
        kind = next((each for each in self.query.entity_types if any(one.startswith(f"{each}:") for one in item.entities)), None)
        return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind.replace('_', ' ')}" if kind else ""

    def _text(self, item: Item, passages: Passages | None) -> tuple[str, bool]:
        """What is shown, and whether it is a part: of a long memory its summary, or what fits the question best."""
        cut = passages if passages is not None and passages.chunks else None
        count = sum(chunk.token_count for chunk in cut.chunks) if cut else len(self.tokens.starts(item.text))
        if count <= self.excerpt_tokens:
            return item.text, False
        if item.summary:
            return item.summary, True
        if cut is None:
            return self._window(item.text, 0, len(item.text), count), True
        best = choose(weigh(self.question, [cut], [0.0]), k=1, per_item=1, max_tokens=self.excerpt_tokens)[0].chunk
        return self._window(item.text, best.start, best.end, best.token_count), True

    def _window(self, text: str, start: int, end: int, count: int) -> str:
        """A span of a text with so many tokens, or where these are too many, its part with most words of the question."""
        if count <= self.excerpt_tokens:
            return text[start:end].strip()
        part = snippet(text, self.question.terms, start=start, end=end, max_chars=CHARS_PER_TOKEN * self.excerpt_tokens).text
        starts = self.tokens.starts(part)
        return part if len(starts) <= self.excerpt_tokens else part[: int(starts[self.excerpt_tokens])].rstrip()
