"""What a question asks for and where to look: a name that it is, the requests that a router makes of it, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field, field_validator

from .shapes import MAX_QUERY_CHARS, Contract, Section

NameKind = Literal["hex", "function", "class", "file", "qualified", "path", "error"]
SourceType = Literal["code", "markdown", "text"]
AnsweredBy = Literal["strict", "without patterns", "without folders", "all types"]

MAX_REQUESTS: Final = 5
MAX_PLACES: Final = 20
MAX_PLACE_CHARS: Final = 200
MAX_REASONING_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NameQuery:
    """A question that is nothing but a name."""

    kind: NameKind
    name: str
    """What it is called by itself: of `Store.write` the last part, of a path the file's own name, of an error its words."""
    qualifier: str = ""
    """What it is in, joined by dots, whichever way it was written: `Store`, `pkg.mod`."""
    path: str = ""
    """Of a file or a path, or of the file that a name is said to be in: as written, with `/` between folders."""
    lines: tuple[int, int] | None = None
    """The first and the last line that were named, from 1."""
    is_plain: bool = False
    """Whether it may as well be plain words, so that it must be searched for as such, too."""
    otherwise: NameQuery | None = None
    """Another reading, for where this one leads nowhere: `response.json` is a file, or the member `json` of `response`."""

    @property
    def is_literal(self) -> bool:
        """Whether it is defined nowhere: the answer is where it stands, as it is."""
        return self.kind in ("hex", "error")


def _place(value: str) -> str:
    """A folder or a pattern as paths are written here."""
    if not value.isprintable():
        raise ValueError(f"{value!r:.80} has characters that no path should have: give a path such as 'src/store'")
    return value.strip().replace("\\", "/").removeprefix("./").rstrip("/")


Place = Annotated[str, Field(max_length=MAX_PLACE_CHARS), AfterValidator(_place)]


class RetrievalRequest(Section):
    """One thing to search for, and where."""

    query: str = Field(max_length=MAX_QUERY_CHARS, description="What to search for, in words that say all of it.")
    source_types: list[SourceType] = Field(
        default=[], max_length=3, description="Only files of these types: code, markdown (documentation), text (all else); empty: all."
    )
    folders: list[Place] = Field(
        default=[], max_length=MAX_PLACES, description="Folders in which an answer is more likely; others are not left out."
    )
    file_patterns: list[Place] = Field(
        default=[],
        max_length=MAX_PLACES,
        description="Only files whose name, or whose path where there is a / in it, matches one of these globs; empty: all.",
    )
    reasoning: str = Field(default="", max_length=MAX_REASONING_CHARS, description="Why this is searched for, and there.")

    @field_validator("query")
    @classmethod
    def _says_something(cls, value: str) -> str:
        if not value.strip():
            raise ValueError(f"query is {value!r:.80}: say what to search for")
        return value

    @field_validator("source_types", "folders", "file_patterns")
    @classmethod
    def _each_once(cls, values: list[Any]) -> list[Any]:
        """The root of everything is nothing to prefer."""
        return list(dict.fromkeys(value for value in values if value not in ("", ".")))

    @field_validator("reasoning")
    @classmethod
    def _in_one_line(cls, value: str) -> str:
        return " ".join("".join(each if each.isprintable() else " " for each in value).split())


class RouterOutput(Section):
    """What a router makes of a question: requests that are searched for at the same time, and their answers merged."""

    requests: list[RetrievalRequest] = Field(
        min_length=1, max_length=MAX_REQUESTS, description=f"1 to {MAX_REQUESTS} requests, one for each thing that is asked."
    )


class RoutedRequest(RetrievalRequest):
    """A request that was searched for, and how far its filters had to be given up until something was found."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    answered_by: AnsweredBy = Field(description="As asked (strict), or what was given up: patterns, then folders, then source types.")
    found: int = Field(ge=0, description="How many candidates it found.")


class Routing(Contract):
    """Who read the question, and the requests that it became."""

    router: Literal["names", "rules", "llm", "given"] = Field(
        description="By name alone (names), by its words (rules), by a model (llm), or by whoever asked (given)."
    )
    requests: list[RoutedRequest] = Field(description="What was searched for.")
    note: str = Field(default="", description="What else is to be said, such as why no model was asked.")


def routed(request: RetrievalRequest, *, answered_by: AnsweredBy, found: int) -> RoutedRequest:
    """The report of a request."""
    return RoutedRequest(**request.model_dump(), answered_by=answered_by, found=found)


@dataclass(frozen=True, slots=True)
class Routed:
    """The output of a router, and whose it is."""

    output: RouterOutput
    router: Literal["rules", "llm"]
    note: str = ""
