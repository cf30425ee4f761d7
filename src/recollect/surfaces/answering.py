"""The verb that lets a language model answer: its sentences as they come, then the passages that they rest on."""

from __future__ import annotations

from argparse import Namespace
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from .knowing import OPTIONS, asked_for
from .screen import Screen
from .verbs import FAILED, NOTHING_FOUND, WORKED, by_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..answers import Answer
    from ..knowledge import Citation
    from ..library import Library

TOLD: Final = 10
"""Of what was taken out or left out, so much is told one by one."""


async def ask(library: Library, args: Namespace, screen: Screen) -> int:
    """Print an answer while it is written; or what a model would have read, where none is set."""
    from ..answers import Answer, AnswerSentence

    with by_options(OPTIONS):
        async with aclosing(library.answering(" ".join(args.query), **asked_for(args))) as events:
            async for event in events:
                if isinstance(event, AnswerSentence) and not screen.as_json:
                    screen.show_part(event.before + event.text)
                elif isinstance(event, Answer):
                    _finish(event, screen)
                    return _code(event)
    return FAILED


def _finish(answer: Answer, screen: Screen) -> None:
    """Show what the answer rests on, and tell what is to be known of it."""
    if screen.as_json:
        screen.show_json(answer.model_dump(mode="json"))
    elif answer.sentences:
        screen.show_part("\n\n" + "\n".join(source_text(each) for each in answer.citations) + "\n")
    elif _is_unasked(answer):
        screen.show_raw(answer.context.text)
    for note in _notes(answer):
        screen.note(note)
    for failure in answer.notes if answer.failed else ():
        screen.say(failure)


def _notes(answer: Answer) -> Iterator[str]:
    yield from _first(f"the model cited [{each.cited}], which no passage has: taken out of {each.sentence!r}" for each in answer.dropped)
    yield from _first(f"left out, since {each.reason}: {each.text!r}" for each in answer.left_out)
    yield from _first(f"not in the passages: {said}" for said in answer.unsaid)
    yield from dict.fromkeys([*(() if answer.failed else answer.notes), *answer.context.notes])


def _first(notes: Iterable[str]) -> Iterator[str]:
    """The first notes, and how many more there are."""
    told = list(notes)
    yield from told[:TOLD]
    if len(told) > TOLD:
        yield f"and {len(told) - TOLD} more like that"


def _is_unasked(answer: Answer) -> bool:
    """Whether there was something to read, and no model to read it."""
    return answer.model is None and not answer.failed and bool(answer.context.sections)


def _code(answer: Answer) -> int:
    if answer.failed:
        return FAILED
    return WORKED if answer.answered or _is_unasked(answer) else NOTHING_FOUND


def source_text(citation: Citation) -> str:
    """A passage as it is listed under an answer: its number, its place, its title."""
    from ..assemble.writing import lines_of, one_line

    lines = lines_of(citation)
    place = one_line(citation.path or citation.node_id) + (f":{lines}" if lines else "")
    return f"[{citation.number}] {place}" + (f"  {one_line(citation.title)}" if citation.title else "")
