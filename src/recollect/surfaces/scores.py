"""How an evaluation looks to a person: functions from values to text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from .terminal import INDENT, Look, clean, count, duration, text_lines

if TYPE_CHECKING:
    from ..evaluate import Difference, Evaluation, Failure

NAME_WIDTH: Final = 11
VALUE_WIDTH: Final = 16
"""Columns of one measure and its value: five to a line of 80."""
LABEL: Final = INDENT * 3


def evaluation_text(evaluation: Evaluation, look: Look) -> str:
    """What was asked of what, and how well it went."""
    left_over = len(evaluation.answers) - evaluation.judged
    facts = [
        ("dataset", evaluation.dataset),
        ("documents", str(evaluation.documents)),
        ("questions", f"{evaluation.judged} judged" + (f", {left_over} without judgments" if left_over else "")),
        ("profile", f"{evaluation.profile} ({evaluation.profile_reason})"),
        ("model", evaluation.model or "none: words alone"),
    ]
    rows = [_row(name, value, look) for name, value in facts]
    rows += ["", *_measure_rows(evaluation.values)]
    if evaluation.latency_p50_ms is not None:
        rows += ["", _row("latency", f"p50 {evaluation.latency_p50_ms:.1f} ms, p95 {evaluation.latency_p95_ms:.1f} ms", look)]
    if evaluation.indexing:
        rows.append(_row("indexing", _indexing(evaluation), look))
    return "\n".join(rows)


def _row(name: str, value: str, look: Look) -> str:
    return f"{look.faint(f'{name:<{NAME_WIDTH}}')}{clean(value)}"


def _indexing(evaluation: Evaluation) -> str:
    report = evaluation.indexing
    if report is None or not report.added + report.changed:
        return "nothing to do: every document was there"
    kept = f", {count(report.chunks_reused, 'chunk')} taken from the cache" if report.chunks_reused else ""
    return f"{duration(report.seconds)}, {count(report.chunks_embedded, 'chunk')} embedded{kept}"


def _measure_rows(values: Mapping[str, float]) -> list[str]:
    ranking = [name for name in values if not name.startswith("span_")]
    rows = [
        "".join(f"{name:<7} {values[name]:.4f}  ".ljust(VALUE_WIDTH) for name in some).rstrip()
        for some in (
            [name for name in ranking if not name.startswith(("R@", "hits@"))],
            [name for name in ranking if name.startswith("R@")],
            [name for name in ranking if name.startswith("hits@")],
        )
    ]
    whole = [name for name in values if name.startswith("span_") and "@" not in name]
    if whole:
        rows += ["", *(f"{name:<24}{values[name]:.4f}" for name in whole)]
    spans = dict.fromkeys(name.partition("@")[0] for name in values if name.startswith("span_") and "@" in name)
    cutoffs = dict.fromkeys(name.partition("@")[2] for name in values if name.startswith("span_") and "@" in name)
    if spans:
        rows += ["", "".join([" " * 24, *(f"{'@' + cutoff:<8}" for cutoff in cutoffs)]).rstrip()]
        rows += [f"{name:<24}" + "  ".join(f"{values[f'{name}@{cutoff}']:.4f}" for cutoff in cutoffs) for name in spans]
    return rows


def comparison_text(names: Sequence[str], runs: Sequence[Evaluation], differences: Sequence[Difference], look: Look) -> str:
    """Both runs beside each other, and what of it is more than chance."""
    rows = [_row("dataset", f"{runs[0].dataset}, {count(runs[0].judged, 'judged question')}", look)]
    rows += [
        _row(label, f"{name}, profile {run.profile}, model {run.model or 'none'}", look)
        for label, name, run in zip(("A", "B"), names, runs, strict=True)
    ]
    rows += ["", look.faint(f"{'':<24}{'A':>7}{'B':>8}{'B - A':>9}{'p':>8}  better  worse  same")]
    rows += [
        f"{each.measure:<24}{each.first:>7.4f}{each.second:>8.4f}{each.difference:>+9.4f}{each.p:>8.4f}"
        f"{each.better:>8}{each.worse:>7}{each.same:>6}"
        for each in differences
    ]
    for quantile in ("latency_p50_ms", "latency_p95_ms"):
        first, second = (getattr(run, quantile) or 0.0 for run in runs)
        rows.append(f"{quantile:<24}{first:>7.1f}{second:>8.1f}{second - first:>+9.1f}")
    return "\n".join([*rows, "", *_verdict(differences)])


def _verdict(differences: Iterable[Difference]) -> list[str]:
    """Which is better, where that is more than chance."""
    sure = [each for each in differences if each.counts]
    better = {"B": [each.measure for each in sure if each.difference > 0], "A": [each.measure for each in sure if each.difference < 0]}
    said = [f"{label} is better by {', '.join(measures)} (p < .05)." for label, measures in better.items() if measures]
    return said or ["No difference is more than chance would give (p < .05)."]


def failure_texts(failures: Sequence[Failure], look: Look) -> list[str]:
    """The questions that went worst, a block each."""
    if not failures:
        return ["Every judged question was answered perfectly: there is none to show"]
    title = f"The {count(len(failures), 'question')} with the lowest {failures[0].measure}"
    return [look.strong(title), *(_failure_text(each, look) for each in failures)]


def _failure_text(failure: Failure, look: Look) -> str:
    lines = [f"{failure.value:.3f}  {look.faint(f'question {clean(failure.id)}')}"]
    lines += [INDENT + look.strong(line) for line in text_lines(failure.question, look, INDENT)]
    for each in failure.expected:
        place = f"rank {each.rank}" if each.rank else f"not in the first {failure.depth}"
        lines += _labelled("expected", [each.id, each.title, f"{place}; {each.said}"], look)
    for found in failure.instead:
        lines += _labelled(f"came {found.rank:>2}.", [found.id, found.title, f"{found.score:.4f}; {found.why}"], look)
    return "\n".join(lines)


def _labelled(label: str, texts: Sequence[str | None], look: Look) -> list[str]:
    """The texts one under the other, beside a label; what is said twice is said once."""
    lines = [line for text in dict.fromkeys(texts) if text for line in text_lines(text, look, LABEL)]
    return [f"  {label}".ljust(len(LABEL)) + lines[0], *(LABEL + look.faint(line) for line in lines[1:])]
