"""What the arguments of every verb are made of: a verb itself, and values that are more than text."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from datetime import datetime
from typing import Any


def add_verb(
    each: Any, name: str, said: str, *, opens: bool = True, writes: bool = False, model: bool = False, epilog: str | None = None
) -> ArgumentParser:
    """A verb, and whether it opens the store, writes to it, or needs a model."""
    described = f"{said[0].upper()}{said[1:]}."
    verb: ArgumentParser = each.add_parser(
        name, help=said, description=described, epilog=epilog, formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False
    )
    verb.set_defaults(opens=opens, writes=writes, creates=False, needs_model=model, loop=usual_loop)
    return verb


def usual_loop() -> None:
    """What makes the event loop of a verb: Python's own, where it is none."""


def time_value(text: str) -> datetime:
    """A time, or the beginning of a day, month or year."""
    from ..filters import period

    try:
        return period(text)[0]
    except (ValueError, OverflowError):
        raise ArgumentTypeError(f"{text!r} is no time: write it as 2024, 2024-05-17 or 2024-05-17T12:30:00Z") from None


def json_value(text: str) -> Any:
    """What a JSON text says."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ArgumentTypeError(f"not JSON at line {error.lineno}, column {error.colno}: {error.msg.lower()}") from None
    except (ValueError, RecursionError) as error:
        raise ArgumentTypeError(f"not usable JSON: {error}") from None
