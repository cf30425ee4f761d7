"""The verb `eval`: it asks questions whose answers are known, and shows how well they were answered."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

from ..errors import InvalidInput
from . import scores
from .screen import Screen
from .verbs import WORKED

if TYPE_CHECKING:
    from ..evaluate import Dataset, Evaluation, Failure, How
    from ..library import Library
    from ..settings import Settings

SHOWN_RANKS: Final = 20
"""Ids of each ranking that --questions writes."""
ASKED: Final = ("k", "mode", "profile", "weights", "blend", "normalize", "rrf_k", "depth", "half", "limit", "haystacks", "recall")
VECTORS: Final = "vectors"


async def evaluate(options: Settings, args: Namespace, screen: Screen) -> int:
    """Ask the questions of a dataset, or of a person's own file, and show the measures; or compare two settings files."""
    from ..evaluate.measures import require_measures

    require_measures()
    dataset = _dataset(args)
    if args.compare:
        return await _compared(dataset, args, screen)
    if args.questions:
        with _replaced(args.questions, Path(args.dataset)) as out:
            evaluation, failures = await _evaluated(dataset, options, args, screen)
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in _question_rows(evaluation))
    else:
        evaluation, failures = await _evaluated(dataset, options, args, screen)
    for note in evaluation.notes:
        screen.note(note)
    if screen.as_json:
        shown = {"worst": [asdict(failure) for failure in failures]} if args.worst else {}
        screen.show_json(evaluation.flat() | shown)
    else:
        worst = scores.failure_texts(failures, screen.look) if args.worst else []
        screen.show("\n\n".join([scores.evaluation_text(evaluation, screen.look), *worst]))
    return WORKED


def _dataset(args: Namespace) -> Dataset:
    from ..evaluate import load, load_questions
    from ..evaluate.questions import SUFFIXES

    path = Path(args.dataset)
    if path.is_dir():
        return load(path, split=args.split)
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(f"{args.dataset!r} is neither a folder with a dataset nor a {' or '.join(SUFFIXES)} file of questions")
    if args.split or args.haystacks:
        raise InvalidInput("--split and --haystacks are for a dataset: a file of questions has neither")
    return load_questions(path)


async def _compared(dataset: Dataset, args: Namespace, screen: Screen) -> int:
    from .. import settings
    from ..evaluate import compare

    if args.store and dataset.documents:
        raise InvalidInput("--compare of a dataset makes a store for each settings file: leave out --store")
    runs = [(await _evaluated(dataset, settings.load(file), args, screen))[0] for file in args.compare]
    differences = compare(*runs)
    for note in runs[0].notes:
        screen.note(note)
    if screen.as_json:
        first, second = ({"settings": str(file)} | run.flat() for file, run in zip(args.compare, runs, strict=True))
        measures = {each.measure: each.flat() for each in differences}
        screen.show_json({"dataset": dataset.name, "first": first, "second": second, "measures": measures})
    else:
        screen.show(scores.comparison_text([str(file) for file in args.compare], runs, differences, screen.look))
    return WORKED


async def _evaluated(dataset: Dataset, options: Settings, args: Namespace, screen: Screen) -> tuple[Evaluation, list[Failure]]:
    from ..evaluate import ask, check, prepare, resolved, worst

    how = cast("How", {name: value for name in ASKED if (value := getattr(args, name)) is not None})
    indexed = None
    async with _library(dataset, options, args) as library:
        if dataset.documents:
            await check(library, dataset, **how)
            with screen.progress("document") as progress:
                indexed = await prepare(library, dataset, report=progress)
        else:
            dataset = await resolved(library, dataset)
        with screen.progress("question") as progress:
            evaluation = await ask(library, dataset, report=progress, **how)
        return replace(evaluation, indexing=indexed), await worst(library, dataset, evaluation, args.worst) if args.worst else []


@asynccontextmanager
async def _library(dataset: Dataset, options: Settings, args: Namespace) -> AsyncIterator[Library]:
    """What to ask: a person's own store, or a scope for the dataset, by default in a store that is gone afterwards."""
    from tempfile import TemporaryDirectory

    from ..embed import configured
    from ..evaluate import CachedEmbedder
    from ..library import Library
    from ..settings import LogSettings

    # The questions of an evaluation are nobody's searches.
    unlogged = options.memory.model_copy(update={"log": False})
    options = options.model_copy(update={"log": LogSettings(), "memory": unlogged})
    with ExitStack() as stack:
        if not dataset.documents:
            library = Library.open(args.store, scope=args.scope, options=options, create=False)
        else:
            place = args.store or str(Path(stack.enter_context(TemporaryDirectory(prefix="recollect-"))) / "store")
            model = configured(options.embed)
            embedder = CachedEmbedder(model, options.embed.cache_dir / VECTORS) if model else None
            library = Library.open(place, scope=args.scope or f"eval-{dataset.name}", options=options, embedder=embedder)
        async with library:
            yield library


@contextmanager
def _replaced(file: Path, dataset: Path) -> Iterator[TextIO]:
    """A file beside the one to write, which it replaces at the end. What cannot be written is told before the work."""
    try:
        place = file.resolve()
        if place.exists():
            _check_replaceable(file, dataset)
        part = place.with_name(f".{place.name}.{os.getpid()}.part")
        out = part.open("x", encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"--questions is {str(file)!r}, which cannot be written: {error.strerror}") from None
    try:
        with out:
            yield out
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)


def _check_replaceable(file: Path, dataset: Path) -> None:
    if not file.is_file():
        raise InvalidInput(f"--questions is {str(file)!r}, which is {'a folder' if file.is_dir() else 'no plain file'}: name a file")
    if any(file.samefile(each) for each in _files_of(dataset)):
        raise InvalidInput(f"--questions is {str(file)!r}, which is of the dataset and would be written over: name another file")
    if not os.access(file, os.W_OK):
        raise InvalidInput(f"--questions is {str(file)!r}, which cannot be written: it is read-only")


def _files_of(dataset: Path) -> list[Path]:
    from ..evaluate.datasets import CORPUS, EVIDENCE, GRAPH, HAYSTACKS, QRELS, QUERIES

    if not dataset.is_dir():
        return [dataset]
    files = [dataset / name for name in (CORPUS, QUERIES, QRELS, EVIDENCE, HAYSTACKS, GRAPH)]
    return [file for file in (*files, *(dataset / "qrels").glob("*.tsv")) if file.is_file()]


def _question_rows(evaluation: Evaluation) -> Sequence[dict[str, Any]]:
    return [
        {
            "id": answer.query.id,
            "text": answer.query.text,
            **{name: round(value, 6) for name, value in answer.values.items()},
            "ms": answer.ms,
            "expected": dict(answer.expected),
            "ranking": list(answer.ranking[:SHOWN_RANKS]),
        }
        for answer in evaluation.answers
    ]
