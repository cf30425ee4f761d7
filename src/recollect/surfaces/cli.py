"""The `recollect` command: it parses, calls a verb, and turns errors into one line and an exit code.

Nothing heavy is imported before it is needed: `--help` and `--version` answer at once.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..errors import InvalidInput, RecollectError
from . import verbs
from .arguments import parse
from .screen import OutputLost, Screen, abandon_output, hold_standard_streams, logged_to

if TYPE_CHECKING:
    from ..library import Library
    from ..ports import Embedder
    from ..settings import Settings

INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    hold_standard_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    screen = Screen(sys.stdout, sys.stderr, as_json="--json" in arguments)
    if argv is None:
        _end_on_interrupt(screen)
    try:
        return _answered(arguments, screen)
    except OutputLost as lost:
        abandon_output()
        if lost.by_reader:
            return PIPE_CLOSED
        screen.say(str(lost))
        return verbs.FAILED


def _end_on_interrupt(screen: Screen) -> None:
    """Let Ctrl-C end this process at once until there is work that has to be stopped with care: an exception in the middle of an
    import may leave its lock taken, and threads that import wait for it in vain."""

    def end(*_: object) -> None:
        screen.say("stopped")
        os._exit(INTERRUPTED)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end)


def _answered(arguments: list[str], screen: Screen) -> int:
    """The exit code of a run, whose error, if any, has been told."""
    try:
        return _run(arguments, screen)
    except InvalidInput as error:
        verbs.fail(screen, error)
        return verbs.BAD_INPUT
    except (RecollectError, OSError, ImportError, MemoryError) as error:
        verbs.fail(screen, error)
        return verbs.FAILED
    except KeyboardInterrupt:
        screen.say("stopped")
        return INTERRUPTED


def _run(arguments: list[str], screen: Screen) -> int:
    _check_utf8(arguments)
    try:
        args = parse(arguments)
    except SystemExit:  # argparse ends so after --help and --version
        screen.flush()
        return verbs.WORKED
    from .. import settings

    options = settings.load(args.config)
    screen = replace(screen, as_json=args.json, quiet=args.quiet, plain=settings.wants_plain_output())
    with logged_to(screen):
        work = partial(_with_library, _open(args, options)) if args.opens else partial(args.run, options)
        return _carried_out(work, args, screen)


def _check_utf8(arguments: Sequence[str]) -> None:
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise InvalidInput(f"the argument {argument!r} is not UTF-8: give it in UTF-8, or rename the file") from None


def _open(args: Namespace, options: Settings) -> Library:
    # Imports leave no garbage, and looking for some took 0.1 s of the 1.2 s of CPU that a search takes from start to end.
    gc.disable()
    try:
        if not args.needs_model:
            # A verb that needs no model works where the model cannot be opened.
            options = options.model_copy(update={"embed": options.embed.model_copy(update={"model": "none"})})
        from ..stores import check_there

        check_there(args.store if args.store is not None else options.store, create=args.creates)
        embedder = _embedder(options)
        from ..library import Library

        return Library.open(args.store, scope=args.scope, options=options, create=args.creates, embedder=embedder)
    finally:
        gc.enable()


def _embedder(options: Settings) -> Embedder | None:
    """The model, being opened on another thread while this one imports the rest. What goes wrong there is told at its first use."""
    import threading
    from contextlib import suppress

    from ..embed import OnnxEmbedder, configured

    embedder = configured(options.embed)

    def load(model: OnnxEmbedder) -> None:
        with suppress(RecollectError):
            model.load()

    if isinstance(embedder, OnnxEmbedder):
        # Not a daemon: a process that ends while the model is being opened must let it finish, or it is aborted.
        threading.Thread(target=load, args=(embedder,)).start()
    return embedder


async def _with_library(library: Library, args: Namespace, screen: Screen) -> int:
    async with library:
        code: int = await args.run(library, args, screen)
        return code


def _carried_out(work: Callable[[Namespace, Screen], Coroutine[Any, Any, int]], args: Namespace, screen: Screen) -> int:
    import asyncio

    async def interruptible() -> int:
        _stop_on_interrupt(screen, writes=args.writes)
        try:
            return await work(args, screen)
        except asyncio.CancelledError:
            screen.say("stopped: the store is usable, and the same command goes on where this one ended" if args.writes else "stopped")
            # The store is closed. A thread may still be embedding, for minutes, what nobody waits for: it is not waited for either.
            os._exit(INTERRUPTED)

    running = interruptible()
    try:
        with asyncio.Runner(loop_factory=args.loop()) as runner:
            return runner.run(running)
    finally:
        # An interrupt may come before it has begun.
        running.close()


def _stop_on_interrupt(screen: Screen, *, writes: bool) -> None:
    """Let the first Ctrl-C stop the work at a sound place, and a second one end the process at once."""
    import asyncio
    import threading

    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    in_main = threading.current_thread() is threading.main_thread()
    if task is None or not in_main or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return

    def stop() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if writes:
            screen.note_if_watched("stopping when the running batch is written; Ctrl-C again stops at once")
        task.cancel()

    loop.add_signal_handler(signal.SIGINT, stop)
