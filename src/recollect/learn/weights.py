"""The weights of a user, tuned by what was used: plain, bounded, and told with every number.

For each signal: how much more of it memories had that were used than those that came beside them, on average over the recalls with
feedback. That lift, times how far a weight may go, is what it moves by; less where there are few recalls. Together they move by nothing,
so that scores stay as large as they were. Weights that would put what was used less often before what was not, in the recalls that
they were not made from, are not taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..cancellation import in_thread
from ..memories import SIGNALS, TunedStrategy, TuningReport
from ..memory_settings import SignalWeights, StrategySettings, TuningSettings
from ..ports import Store
from .events import Event, events

NOTE: Final = "memory.weights"
HELD_OUT: Final = 0.2
"""The share of the recalls, the latest, by which new weights are judged."""
FULL_LIFT: Final = 0.25
"""A lift of this much moves a weight as far as it may go: the means of two groups of signals between 0 and 1 are rarely farther apart."""
NOTABLE: Final = 0.001
DIGITS: Final = 4

Numbers = npt.NDArray[np.float64]


async def weights_of(store: Store, scope: str, configured: StrategySettings) -> dict[str, dict[str, float]]:
    """The weights by strategy: as configured, but for those that were tuned for this user."""
    return _configured(configured) | await tuned(store, scope)


async def tuned(store: Store, scope: str) -> dict[str, dict[str, float]]:
    """The weights of this user that are not as configured. What cannot be weights, by whomever it was noted, does not count."""
    noted = await store.note(scope, NOTE) or {}
    given = noted.get("weights")
    return {
        name: {signal: float(weights[signal]) for signal in SIGNALS}
        for name, weights in (given.items() if isinstance(given, Mapping) else ())
        if name in StrategySettings.model_fields and _are_weights(weights)
    }


def _are_weights(weights: Any) -> bool:
    return (
        isinstance(weights, Mapping)
        and set(weights) == set(SIGNALS)
        and all(isinstance(each, int | float) and 0 <= each <= 1 for each in weights.values())
        and any(weights.values())
    )


async def tune(store: Store, scope: str, configured: StrategySettings, options: TuningSettings, *, apply: bool) -> TuningReport:
    """What the log says the weights should be, and, where that is wanted, from now on are."""
    by_strategy: dict[str, list[Event]] = {name: [] for name in StrategySettings.model_fields}
    async for event in events(store, scope):
        by_strategy.setdefault(event.strategy, []).append(event)
    now = await tuned(store, scope)

    def told() -> list[TunedStrategy]:
        own = _configured(configured)
        return [_tuned(name, by_strategy[name], weights, now.get(name, weights), options) for name, weights in own.items()]

    reports = await in_thread(told)
    after = now | {each.strategy: each.after for each in reports if each.changed}
    if apply and after != now:
        await store.set_note(scope, NOTE, {"weights": after})
    return TuningReport(strategies=reports, applied=apply and after != now, weights=after if apply else now)


async def reset(store: Store, scope: str) -> bool:
    """Let the configured weights count again; whether others did."""
    had = bool(await tuned(store, scope))
    await store.set_note(scope, NOTE, None)
    return had


def _configured(strategies: StrategySettings) -> dict[str, dict[str, float]]:
    found: dict[str, SignalWeights] = dict(strategies)
    return {name: weights.as_dict() for name, weights in found.items()}


def _tuned(
    name: str, found: Sequence[Event], configured: Mapping[str, float], now: Mapping[str, float], options: TuningSettings
) -> TunedStrategy:
    held = found[: int(len(found) * HELD_OUT)]
    learnt = found[len(held) :]
    lifts = np.mean([_lift(event) for event in learnt], axis=0) if learnt else np.zeros(len(SIGNALS))
    before = np.array([now[signal] for signal in SIGNALS])
    base = np.array([configured[signal] for signal in SIGNALS])
    after = _moved(base, lifts, len(learnt), options)
    rights = (_right(held, before), _right(held, after)) if held else (None, None)
    changed, why = _judged(len(found), before, after, lifts, rights, options)
    return TunedStrategy.model_validate(
        {
            "strategy": name,
            "events": len(found),
            "lift": _named(lifts),
            "before": dict(now),
            "after": _named(after) if changed else dict(now),
            "right_before": rights[0],
            "right_after": rights[1],
            "changed": changed,
            "why": why,
        }
    )


def _lift(event: Event) -> Numbers:
    lift: Numbers = event.signals[event.used].mean(axis=0) - event.signals[~event.used].mean(axis=0)
    return lift


def _moved(base: Numbers, lifts: Numbers, count: int, options: TuningSettings) -> Numbers:
    """Weights no farther than allowed from the configured ones, none below 0, with the same sum."""
    trust = count / (count + options.min_events)
    lowest, highest = np.maximum(base - options.max_change, 0.0), np.minimum(base + options.max_change, 1.0)
    wanted = base + options.max_change * trust * np.clip(lifts / FULL_LIFT, -1.0, 1.0)
    # The shift that keeps the sum, found by halving: what is at a limit stays there.
    low, high = -1.0, 1.0
    for _ in range(50):
        shift = (low + high) / 2
        if np.clip(wanted + shift, lowest, highest).sum() > base.sum():
            high = shift
        else:
            low = shift
    moved: Numbers = np.clip(wanted + low, lowest, highest).round(DIGITS)
    return moved


def _right(found: Sequence[Event], weights: Numbers) -> float:
    """The share of pairs, one used and one not, that the weights put in the right order; a tie is half right."""
    shares = []
    for event in found:
        scores = event.signals @ weights
        gaps = scores[event.used][:, None] - scores[~event.used][None, :]
        shares.append(float((gaps > 0).mean() + (gaps == 0).mean() / 2))
    return round(float(np.mean(shares)), DIGITS)


def _judged(
    count: int, before: Numbers, after: Numbers, lifts: Numbers, rights: tuple[float | None, float | None], options: TuningSettings
) -> tuple[bool, str]:
    recalls = f"{count} recall{'' if count == 1 else 's'}"
    if count < options.min_events:
        return False, f"{recalls} had some memories used and some not, and {options.min_events} are needed"
    if rights[0] is not None and rights[1] is not None and rights[1] < rights[0]:
        return False, f"of the latest recalls, the new weights would put {rights[1]:.0%} of pairs right, and {rights[0]:.0%} are now"
    moves = sorted(zip(SIGNALS, before, after, lifts, strict=True), key=lambda each: (-abs(each[2] - each[1]), each[0]))
    if abs(moves[0][2] - moves[0][1]) < NOTABLE:
        return False, f"what was used in {recalls} differs too little from what was not"
    # A weight may move only because others do, or because it had moved too far before: the one is told that its lift explains.
    name, old, new, lift = next((each for each in moves if (each[2] - each[1]) * each[3] > 0), moves[0])
    said = f"{name} goes from {old:.3f} to {new:.3f}"
    if (new - old) * lift <= 0:
        return True, f"{said}, by what was used in {recalls}"
    return True, f"{said}: what was used had {abs(lift):.3f} {'more' if lift > 0 else 'less'} of it, in {recalls}"


def _named(numbers: Numbers) -> dict[str, float]:
    return {name: round(float(number), DIGITS) for name, number in zip(SIGNALS, numbers, strict=True)}
