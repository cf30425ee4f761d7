"""What public values are made of: those that are taken are strict, and tell what is wrong in one line; those that are given are frozen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, ClassVar, Final, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from .errors import InvalidInput

MAX_QUERY_CHARS: Final = 100_000
MAX_SHOWN: Final = 80
"""Characters of a value in an error."""


class Contract(BaseModel):
    """A frozen value with exactly the fields it names."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_serialization_defaults_required=True, defer_build=True)


@contextmanager
def _told(model: type[Section]) -> Iterator[None]:
    """Turns pydantic's report of all that is wrong into one line about the first of it."""
    try:
        yield
    except ValidationError as error:
        raise InvalidInput(_refusal(model, error)) from None


class Section(BaseModel):
    """A frozen value with exactly the keys it names. Nothing is converted, except a whole number where any number will do."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    place: ClassVar[str] = ""
    """Its key in `RetrievalPrefs`, so that one built alone is told of by its full path too."""

    def __init__(self, **values: Any) -> None:
        with _told(type(self)):
            super().__init__(**values)

    # Without this mark pydantic calls an __init__ that is not its own for each section inside, too, and buries what it raises.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def model_validate(cls, *args: Any, **options: Any) -> Self:
        with _told(cls):
            return super().model_validate(*args, **options)

    @classmethod
    def model_validate_json(cls, *args: Any, **options: Any) -> Self:
        with _told(cls):
            return super().model_validate_json(*args, **options)


# By pydantic's names for what can be wrong with a value.
_WANTED: Final = {
    "bool_type": "true or false",
    "datetime_type": "a text with a day or a time, such as 2024-05-17",
    "dict_type": "keys and values",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "string_too_short": "a text that is not empty",
    "string_type": "a text",
}
_OUT_OF_RANGE: Final = ("greater_than", "greater_than_equal", "less_than_equal")


def _refusal(model: type[Section], error: ValidationError) -> str:
    problems = error.errors(include_url=False)
    # A key that is misspelt is also missing under its right name, and says more.
    problem = next((each for each in problems if each["type"] == "extra_forbidden"), problems[0])
    kind, loc, context = problem["type"], problem["loc"], problem.get("ctx", {})
    section, field = _reached(model, loc)
    path = ".".join(str(part) for part in (model.place, *loc) if part != "") or model.__name__
    keys = list(section.model_fields)
    match kind:
        case "extra_forbidden" | "invalid_key":
            close = get_close_matches(str(loc[-1]), keys, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            return f"there is no key {loc[-1]!r:.80} in {section.place or section.__name__}: there are {', '.join(keys)}{hint}"
        case "missing":
            return f"{path} is missing: it has no default, so give it"
        case "json_invalid":
            return f"{path} is not JSON: {context['error']}"
        case "value_error":
            return str(context["error"])
        case "literal_error":
            wanted = f"use {context['expected']}".replace("'", "")
        case "model_type":
            wanted = f"give an object with any of {', '.join(keys)}"
        case "string_too_long":
            wanted = f"give at most {context['max_length']} characters, and not {len(problem['input'])}"
        case _ if kind in _OUT_OF_RANGE:
            wanted = f"give {_range(field)}"
        case _ if kind in _WANTED:
            wanted = ", ".join(filter(None, (f"give {_WANTED[kind]}", _range(field))))
        case _:
            wanted = problem["msg"]
    return f"{path} is {shown(problem['input'])}: {wanted}"


def _reached(model: type[Section], loc: tuple[int | str, ...]) -> tuple[type[Section], FieldInfo | None]:
    """The section that a path leads into, and the last field on it."""
    section, field = model, None
    for part in loc:
        if isinstance(part, int):
            continue
        if part not in section.model_fields:
            break
        field = section.model_fields[part]
        inside = next(iter(get_args(field.annotation)), field.annotation)
        if isinstance(inside, type) and issubclass(inside, Section):
            section = inside
    return section, field


def _range(field: FieldInfo | None) -> str:
    """Which numbers a field takes, in words; nothing where it takes them all."""
    limits = {name: getattr(each, name) for each in (field.metadata if field else ()) for name in ("ge", "gt", "le") if hasattr(each, name)}
    if "le" in limits:
        return f"{limits['ge']} to {limits['le']}" if "ge" in limits else f"more than {limits['gt']} and at most {limits['le']}"
    return f"at least {limits['ge']}" if "ge" in limits else f"more than {limits['gt']}" if "gt" in limits else ""


def shown(value: object) -> str:
    """A value as an error shows it: in one line, and not too long a one, in which dots stand for what is left out before its end."""
    text = repr(value).replace("\n", " ")
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 4]}...{text[-1]}"


def is_number(value: object) -> bool:
    """Whether it is one: true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
