"""Where output goes: results to stdout, everything said about them to stderr."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, Self, TextIO

from .terminal import Look, clean, escape_json, progress_text, several

if TYPE_CHECKING:
    from types import TracebackType

    from ..ingest import Progress

# How often a log that nobody watches is told that the work goes on.
PLAIN_PROGRESS_S = 10.0
CLEAR_LINE = "\r\x1b[K"


class OutputLost(Exception):
    """The output went nowhere. `by_reader` says that whoever read it has seen enough, as `head` does."""

    def __init__(self, reason: str, *, by_reader: bool) -> None:
        super().__init__(f"the output cannot be written: {reason}")
        self.by_reader = by_reader


@dataclass(frozen=True, slots=True)
class Screen:
    """The two streams of a command and what they can show."""

    out: TextIO | None
    err: TextIO | None
    as_json: bool = False
    quiet: bool = False
    plain: bool = True
    """No escape codes, whatever the streams are."""

    @property
    def look(self) -> Look:
        return Look(width=shutil.get_terminal_size().columns, colour=not self.plain and _is_terminal(self.out))

    def show(self, text: str) -> None:
        """A result."""
        if self.out is None:
            raise OutputLost("it is closed", by_reader=False)
        self._send(self.out, text + "\n")

    def show_part(self, text: str) -> None:
        """A part of a result, as soon as it is there. The line goes on with the next; only a terminal is spared what it would obey."""
        if self.out is None:
            raise OutputLost("it is closed", by_reader=False)
        self._send(self.out, clean(text, lines=True) if _is_terminal(self.out) else text)

    def show_raw(self, text: str) -> None:
        """A result that goes into something else as it is; only a terminal is spared what it would obey."""
        self.show(clean(text, lines=True) if _is_terminal(self.out) else text)

    def flush(self) -> None:
        """Bring out what others wrote."""
        if self.out is not None:
            self._send(self.out, "")

    def _send(self, out: TextIO, text: str) -> None:
        if isinstance(out, io.TextIOWrapper):
            out.reconfigure(errors="replace")
        try:
            out.write(text)
            out.flush()
        except BrokenPipeError:
            raise OutputLost("nobody reads it", by_reader=True) from None
        except OSError as error:
            raise OutputLost(error.strerror or str(error), by_reader=False) from None

    def show_json(self, value: Any) -> None:
        """A result for a program: one object on one line, always UTF-8."""
        if isinstance(self.out, io.TextIOWrapper):
            self.out.reconfigure(encoding="utf-8")
        self.show(escape_json(json.dumps(value, ensure_ascii=False, default=str)))

    def say(self, text: str) -> None:
        """One line to the person, whatever happens."""
        if self.err is not None:
            with suppress(OSError):
                self.err.write(f"{CLEAR_LINE if self._rewrites else ''}recollect: {clean(text)}\n")
                self.err.flush()

    def note(self, text: str) -> None:
        """One line to the person, unless they asked for quiet."""
        if not self.quiet:
            self.say(text)

    def note_if_watched(self, text: str) -> None:
        """A line of interest only to somebody who sits there."""
        if _is_terminal(self.err):
            self.note(text)

    def progress(self, noun: str, text: Callable[[Any, str], str] = progress_text) -> ProgressLine:
        return ProgressLine(self.err if not self.quiet else None, noun, rewrite=self._rewrites, text=text)

    @property
    def _rewrites(self) -> bool:
        return not self.plain and _is_terminal(self.err)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


@dataclass(slots=True)
class ProgressLine:
    """How far the work has come: one line that is rewritten, or for a log a line now and then."""

    err: TextIO | None
    noun: str
    rewrite: bool
    text: Callable[[Any, str], str] = progress_text
    _told_at: float = field(default_factory=monotonic)

    def __call__(self, progress: Progress) -> None:
        if self.rewrite:
            self._write(f"{CLEAR_LINE}{self.text(progress, self.noun)}")
        elif monotonic() - self._told_at >= PLAIN_PROGRESS_S and progress.items_done != progress.items_total:
            self._told_at = monotonic()
            self._write(f"recollect: {self.text(progress, self.noun)}\n")

    def _write(self, text: str) -> None:
        if self.err is not None:
            with suppress(OSError):
                self.err.write(text)
                self.err.flush()

    def __enter__(self) -> Self:
        if self.rewrite:
            self._write(f"{CLEAR_LINE}looking for {several(self.noun)}")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.rewrite:
            self._write(CLEAR_LINE)


def hold_standard_streams() -> None:
    """Fill the places of closed standard streams, so that no file of a store is opened in one and written over."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream is None:
            os.open(os.devnull, os.O_RDWR)


def abandon_output() -> None:
    """Let what is still waiting to be written go nowhere, or the interpreter would complain of it when it ends."""
    if sys.stdout is not None:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def logged_to(screen: Screen) -> Iterator[None]:
    """Tell what the library logs the way everything else is told."""
    import logging

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            screen.note(record.getMessage())

    logger, notes = logging.getLogger("recollect"), Notes()
    before = logger.level
    logger.addHandler(notes)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(notes)
        logger.setLevel(before)
