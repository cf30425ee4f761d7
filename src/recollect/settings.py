"""The settings: `recollect.yaml`, overridden by the environment. Nothing else in Recollect reads either.

A key `vectors.policy` of the file is `RECOLLECT_VECTORS_POLICY` in the environment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .errors import InvalidInput

FILE = "recollect.yaml"
PREFIX = "RECOLLECT_"


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EmbedSettings(Section):
    """Which model makes the vectors: `minilm`, a folder with an ONNX model, `openai:MODEL`, or `none` for words alone."""

    model: str = "minilm"
    base_url: str | None = None
    api_key: str | None = Field(default=None, repr=False)
    threads: int | None = Field(default=None, ge=1)
    timeout_s: float = Field(default=30.0, gt=0)
    cache_dir: Path | None = None


class VectorSettings(Section):
    """How the embedded store searches vectors: exact when few, binary codes and exact rescoring, HNSW when very many."""

    policy: Literal["auto", "exact", "binary", "hnsw"] = "auto"
    exact_below: int = Field(default=10_000, ge=0)
    hnsw_above: int = Field(default=1_000_000, ge=0)
    oversample: int = Field(default=20, ge=1)
    hnsw_m: int = Field(default=32, ge=2)
    ef_construction: int = Field(default=64, ge=1)
    ef_search: int = Field(default=32, ge=1)


class IngestSettings(Section):
    """What is read and how it is cut."""

    max_file_bytes: int = Field(default=10_000_000, ge=1)
    chunk_tokens: int = Field(default=200, ge=16)


class SearchSettings(Section):
    """Defaults of a search."""

    profile: str = "documents"
    mode: str = "web"
    k: int = 10


class Settings(Section):
    """Everything that can be set."""

    store: str = "./.recollect"
    scope: str = Field(default="default", min_length=1)
    lock_timeout_s: float = Field(default=30.0, ge=0)
    embed: EmbedSettings = EmbedSettings()
    vectors: VectorSettings = VectorSettings()
    ingest: IngestSettings = IngestSettings()
    search: SearchSettings = SearchSettings()

    @property
    def cache_dir(self) -> Path:
        """Where models made ready for this machine are kept."""
        return self.embed.cache_dir or Path.home() / ".cache" / "recollect"


def load(file: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of a file (by default `recollect.yaml` here, if there is one) and of the environment."""
    environ = os.environ if environ is None else environ
    path = file or (Path(environ["RECOLLECT_CONFIG"]) if environ.get("RECOLLECT_CONFIG") else None)
    values = _read(path or Path(FILE), required=path is not None)
    for section, key, name in _names():
        if (value := environ.get(name)) is not None:
            target = values if section is None else values.setdefault(section, {})
            if isinstance(target, dict):
                target[key] = value
    if "XDG_CACHE_HOME" in environ and environ["XDG_CACHE_HOME"]:
        values.setdefault("embed", {}).setdefault("cache_dir", str(Path(environ["XDG_CACHE_HOME"]) / "recollect"))
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise InvalidInput(_first_problem(error, path or Path(FILE))) from None


def wants_plain_output(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the terminal, or who sits at it, wants no escape codes: NO_COLOR is set, or TERM is dumb."""
    environ = os.environ if environ is None else environ
    return bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"


def _read(path: Path, *, required: bool) -> dict[str, Any]:
    if not path.exists() and not required:
        return {}
    import yaml

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"the settings file {str(path)!r} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise InvalidInput(f"the settings file {str(path)!r} is not YAML{where}: {getattr(error, 'problem', None) or error}") from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InvalidInput(f"the settings file {str(path)!r} holds {type(found).__name__}, not keys and values")
    return found


def _names() -> list[tuple[str | None, str, str]]:
    """Section, key and environment variable of every setting."""
    names: list[tuple[str | None, str, str]] = []
    for key, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            names += [(key, inner, f"{PREFIX}{key}_{inner}".upper()) for inner in field.annotation.model_fields]
        else:
            names.append((None, key, f"{PREFIX}{key}".upper()))
    return names


def all_keys() -> dict[str, str]:
    """Every setting by its key in the file, with its environment variable."""
    return {key if section is None else f"{section}.{key}": name for section, key, name in _names()}


def _first_problem(error: ValidationError, path: Path) -> str:
    problem = error.errors()[0]
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        keys = [*all_keys(), *Settings.model_fields]
        close = get_close_matches(key, keys, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(all_keys())}"
        return f"unknown setting {key!r} in {str(path)!r}: {hint}"
    return f"setting {key!r} is {problem['input']!r}: {problem['msg'].lower()} (in {str(path)!r} or the environment variable {all_keys().get(key, '')})"
