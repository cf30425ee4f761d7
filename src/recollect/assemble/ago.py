"""Says how long ago something was, by the days of the calendar where the reader is."""

from __future__ import annotations

from datetime import UTC, date, datetime, tzinfo

WEEK_DAYS = 7
YEAR_MONTHS = 12


def day_of(at: datetime, zone: tzinfo) -> date:
    """The day on which something was, there."""
    try:
        return at.astimezone(zone).date()
    except OverflowError:  # The first and the last day that there are have no other time zone.
        return at.date()


def time_ago(at: datetime, now: datetime, zone: tzinfo) -> str:
    """Such as `just now`, `5 minutes ago`, `yesterday`, `2 weeks ago` or `in 3 days`.

    Within an hour it is minutes, whatever the day; then days as the calendar of the zone has them, and hours on the same day. A month or
    a year is one once the same day of the month has come: 31 January is `1 month ago` on 1 March."""
    passed = (now.astimezone(UTC) - at.astimezone(UTC)).total_seconds()
    seconds, is_past = abs(passed), passed > 0
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return _said(int(seconds // 60), "minute", is_past=is_past)
    first, last = sorted((day_of(at, zone), day_of(now, zone)))
    days = (last - first).days
    if days == 0:
        return _said(int(seconds // 3600), "hour", is_past=is_past)
    if days == 1:
        return "yesterday" if is_past else "tomorrow"
    months = (last.year - first.year) * YEAR_MONTHS + last.month - first.month - (last.day < first.day)
    if months >= YEAR_MONTHS:
        return _said(months // YEAR_MONTHS, "year", is_past=is_past)
    if months:
        return _said(months, "month", is_past=is_past)
    if days >= WEEK_DAYS:
        return _said(days // WEEK_DAYS, "week", is_past=is_past)
    return _said(days, "day", is_past=is_past)


def _said(number: int, unit: str, *, is_past: bool) -> str:
    many = f"{number} {unit}{'' if number == 1 else 's'}"
    return f"{many} ago" if is_past else f"in {many}"
