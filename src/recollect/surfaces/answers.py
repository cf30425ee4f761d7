"""How the answer to a question looks to a person: each source with its evidence under it. Functions from values to text."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..analysis import spans
from ..evidence.boundaries import sentence_cuts
from .around import way_text
from .surroundings import context_lines
from .terminal import INDENT, Look, Marks, clean, columns_of, count, shortened, text_lines
from .understood import analysis_text

if TYPE_CHECKING:
    from ..contracts import CandidateItem, EvidenceChunk, Explanation, RetrievalBundle, RetrievalStats, RoutePart

TEXT_INDENT: Final = INDENT + "  "
LABEL: Final = INDENT * 3
TAB: Final = 4

OF_CHUNKS: Final = ("cut", "embed_chunks")
"""Parts of the stage `chunks`."""

OPENING_CHARS: Final = 1_000
# What a chunk may begin with that says nothing: a blank line, a rule, the edge of a table or of a block of code.
_EMPTY: Final = re.compile(r"\W*$|\s*(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is shown of an answer, beside its sources."""

    terms: Collection[str] = ()
    """Those of the question: they stand out in the evidence."""
    full: bool = False
    explain: bool = False
    debug: bool = False


def bundle_text(bundle: RetrievalBundle, look: Look, wanted: Wanted) -> str:
    """The sources, best first, a blank line between two."""
    proof: dict[str, list[EvidenceChunk]] = {}
    for chunk in bundle.evidence:
        proof.setdefault(chunk.item_id, []).append(chunk)
    blocks = [analysis_text(bundle.analysis, look)] if wanted.explain and bundle.analysis else []
    blocks += [_source_text(place, each, proof.get(each.item_id, []), look, wanted) for place, each in enumerate(bundle.candidates, 1)]
    blocks += [_facet_text(name, counts, look) for name, counts in bundle.facets.items()]
    if wanted.debug:
        blocks.append(_stats_text(bundle.stats, look))
    return "\n\n".join(blocks)


def _source_text(place: int, found: CandidateItem, proof: list[EvidenceChunk], look: Look, wanted: Wanted) -> str:
    """One source: where it stands, what it is called, where it lies, and what of it bears on the question."""
    whole = wanted.full and bool(proof)
    where = clean(found.source_ref or found.item_id)
    heading, score = f"{place:>2}. ", f"{found.score:.4f}"
    at = f"{where}:{found.line_start}" if found.line_start and not whole else where
    title = shortened(clean(found.title or at), look.columns - len(heading) - len(score) - 2)
    lines = [f"{heading}{look.strong(title)}  {look.faint(score)}"]
    notes = [at] if found.title and not whole else []
    notes += [f"id {clean(found.item_id)}"] if found.source_ref not in (None, found.item_id) else []
    notes += [_standing(found)] if found.historical or found.status in ("superseded", "archived") else []
    if whole:
        lines += [INDENT + look.faint("  ".join(notes))] if notes else []
        lines += _whole_lines(where, found.title, proof, look, wanted)
    else:
        lines += _shown_lines("  ".join(notes), found, proof, look, wanted)
    if found.distance:
        lines.append(INDENT + look.faint(f"{count(found.distance, 'link')} away: {way_text(found.via, found.item_id)}"))
    if found.duplicates:
        lines.append(INDENT + look.faint(f"nearly the same: {clean(', '.join(found.duplicates))}"))
    if wanted.explain:
        lines += [INDENT + line for line in _explanation_lines(found.why, found.score, look)]
    return "\n".join(lines)


def _standing(found: CandidateItem) -> str:
    """That it is history, and why."""
    label = "historical: " if found.historical else ""
    return f"{label}{found.status if found.superseded_by is None else f'superseded by {clean(found.superseded_by)}'}"


# Evidence.


def _shown_lines(notes: str, found: CandidateItem, proof: list[EvidenceChunk], look: Look, wanted: Wanted) -> list[str]:
    """The snippet under the place of the chunk it is of, and two lines for each other chunk."""
    best = proof[:1] if found.snippet_from == "chunk" else []
    width = look.columns - len(INDENT)
    place = _place(best[0], found.title) if best else ""
    beside = "  ".join(filter(None, (notes, place)))
    heads = [beside] if _columns(beside) <= width else [notes, shortened(place, width)]
    lines = [INDENT + look.faint(head) for head in heads if head]
    lines += [TEXT_INDENT + line for line in text_lines(found.snippet or "", look, TEXT_INDENT, marks=found.snippet_marks)]
    lines += [line for chunk in best for line in context_lines(chunk, look, TEXT_INDENT, full=False)]
    for chunk in proof[len(best) :]:
        opening = _opening(chunk, look.columns - len(TEXT_INDENT))
        lines.append(INDENT + look.faint(shortened(_place(chunk, found.title), width)))
        lines += [TEXT_INDENT + line for line in text_lines(opening, look, TEXT_INDENT, marks=_marks(opening, wanted.terms))]
    return lines


def _whole_lines(where: str, title: str | None, proof: list[EvidenceChunk], look: Look, wanted: Wanted) -> list[str]:
    """The whole text of each chunk, under a place that can be opened."""
    lines: list[str] = []
    for chunk in proof:
        text = chunk.text.rstrip().expandtabs(TAB)
        place = " · ".join(filter(None, (f"{where}:{_span(chunk)}" if chunk.anchors else where, _name(chunk, title))))
        lines += [*([""] if lines else []), INDENT + look.faint(place)]
        own = text_lines(text, look, TEXT_INDENT, marks=_marks(text, wanted.terms), blanks=True)
        lines += [TEXT_INDENT + line if line else "" for line in own]
        lines += context_lines(chunk, look, TEXT_INDENT, full=True)
    return lines


def _place(chunk: EvidenceChunk, title: str | None) -> str:
    """Where a chunk stands in its source: `lines 40-52 · Setup > Backups`."""
    span = _span(chunk)
    return " · ".join(filter(None, (span and f"line{'s' if '-' in span else ''} {span}", _name(chunk, title))))


def _span(chunk: EvidenceChunk) -> str:
    if chunk.anchors is None:
        return ""
    first, last = chunk.anchors.line_start, chunk.anchors.line_end
    return f"{first}" if first == last else f"{first}-{last}"


def _name(chunk: EvidenceChunk, title: str | None) -> str:
    """The headings over a chunk but for the title of its source, or the definition it is."""
    path = [heading for heading in chunk.heading_path or () if heading != title]
    return clean(" > ".join(path) or ((chunk.anchors.symbol or chunk.anchors.parent) if chunk.anchors else None) or "")


def _opening(chunk: EvidenceChunk, width: int) -> str:
    """The first sentences of a chunk that fit on one line, or the beginning of the first; not the headings it stands under."""
    lines = chunk.text[:OPENING_CHARS].splitlines()
    headings = set(chunk.heading_path or ())
    telling = [line for line in lines if not _EMPTY.match(line) and line.strip("# \t") not in headings]
    text = " ".join(" ".join(telling or lines).split())
    fitting = [cut for cut in sentence_cuts(text, 0, len(text)) if _columns(text[:cut].rstrip()) <= width]
    return text if _columns(text) <= width else text[: fitting[-1]].rstrip() if fitting else shortened(text, width)


def _marks(text: str, terms: Collection[str]) -> Marks:
    """Where the question's words are; those that overlap are one."""
    marks: list[tuple[int, int]] = []
    for term, start, end in spans(text):
        if term in terms:
            if marks and start < marks[-1][1]:
                start, end = marks[-1][0], max(end, marks.pop()[1])
            marks.append((start, end))
    return marks


def _columns(text: str) -> int:
    return sum(map(columns_of, text))


# Reasons, facets and stats.


def _explanation_lines(why: Explanation, score: float, look: Look) -> list[str]:
    width = max((len(part.route) for part in why.parts), default=0)
    lines = [clean(why.sentence), *(_part_line(part, width) for part in why.parts), f"{'sum':<{width}}  {score:.6f}"]
    return [look.faint(line) for line in lines]


def _part_line(part: RoutePart, width: int) -> str:
    if not part.rank:  # no route, but a factor for what is known of the item
        return f"{part.route:<{width}}  {part.contribution:.6f}  times {part.score:g}"
    how = f"rank {part.rank}, score {part.score:.4f}; {part.normalised:.6f} x weight {part.weight:g}"
    return f"{part.route:<{width}}  {part.contribution:.6f}  {how}"


def _facet_text(name: str, counts: dict[str, int], look: Look) -> str:
    rows = [f"{INDENT}{number:>6}  {clean(value)}" for value, number in counts.items()] or [f"{INDENT}no values"]
    return "\n".join([look.strong(clean(name)), *rows])


def _stats_text(stats: RetrievalStats, look: Look) -> str:
    """How the answer came about: a line for the time, one for the counts, one for each section of the parameters."""
    sections = {name: value for name, value in stats.params.items() if isinstance(value, Mapping) and name != "filters"}
    rows = {
        "ms": _timings(stats.timing_ms),
        "counts": ", ".join(f"{name} {number}" for name, number in stats.counts.items()),
        "search": _settings({name: value for name, value in stats.params.items() if name not in sections}),
        **{name: _settings(section) for name, section in sections.items()},
    }
    lines = [line for name, value in rows.items() if value for line in _row(name, value, look)]
    return "\n".join([*lines, *text_lines(_bound_by_model(stats), look, "")])


def _row(name: str, value: str, look: Look) -> list[str]:
    first, *rest = text_lines(value, look, LABEL)
    return [f"{look.faint(f'{name:<{len(LABEL)}}')}{first}", *(LABEL + line for line in rest)]


def _timings(ms: Mapping[str, float]) -> str:
    """The stages in their order, what is part of one in brackets behind it."""
    parts = ", ".join(f"{name} {ms[name]:.1f}" for name in OF_CHUNKS if name in ms)
    stages = [name for name in ms if name not in OF_CHUNKS]
    return ", ".join(f"{name} {ms[name]:.1f}" + (f" ({parts})" if parts and name == "chunks" else "") for name in stages)


def _settings(values: Mapping[str, Any]) -> str:
    """What is set, as JSON except for plain texts."""
    told = {name: value for name, value in values.items() if value not in (None, {}, [])}
    return ", ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)}" for name, value in told.items()
    )


def _bound_by_model(stats: RetrievalStats) -> str:
    """Says so where the model had to embed chunks first: nothing else of a search takes nearly as long."""
    if not (embedded := stats.counts.get("chunks_embedded")):
        return ""
    took = f"{stats.timing_ms['embed_chunks']:.0f} ms"
    kept = stats.params["cache"]["write_chunk_cache"]
    again = "Asked again, it takes what was kept of them from the cache." if kept else "Nothing of them was kept."
    return f"\n{count(embedded, 'chunk')} had to be embedded for this answer, which took {took}: it was bound by the model. {again}"
