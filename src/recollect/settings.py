"""The settings: `recollect.yaml`, overridden by the environment. Nothing else in Recollect reads either.

A key `vectors.policy` of the file is `RECOLLECT_VECTORS_POLICY` in the environment, `retrieval.graph.max_distance` is
`RECOLLECT_RETRIEVAL_GRAPH_MAX_DISTANCE`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, ValidationError, field_validator

from .errors import InvalidInput
from .memory_settings import MemorySettings
from .profiles import Blend, Normalize
from .retrieval_settings import RetrievalSettings, Section, listed, mapped
from .serve_settings import ServeSettings

FILE = "recollect.yaml"
PREFIX = "RECOLLECT_"


NAMES_A_REPOSITORY = frozenset(
    f"GIT_{name}"
    for name in ("DIR", "WORK_TREE", "INDEX_FILE", "COMMON_DIR", "PREFIX", "NAMESPACE", "OBJECT_DIRECTORY", "ALTERNATE_OBJECT_DIRECTORIES")
)
"""Variables that git sets for its hooks, where a command that runs git in another folder would be misled by them."""

VectorPolicy = Literal["auto", "exact", "binary", "hnsw"]


class EmbedSettings(Section):
    """Which model makes the vectors: `granite`, `minilm`, a folder with an ONNX model, `openai:MODEL`, `ollama:MODEL`, or `none`
    for words alone."""

    model: str = "granite"
    base_url: str | None = None
    api_key: str | None = Field(default=None, repr=False)
    threads: int | None = Field(default=None, ge=1)
    timeout_s: float = Field(default=30.0, gt=0)
    cache_dir: Path = Field(default_factory=lambda: Path.home() / ".cache" / "recollect")


class LlmSettings(Section):
    """Which language model reads questions: `openai:MODEL`, `ollama:MODEL`, or none."""

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = Field(default=None, repr=False)
    timeout_s: float = Field(default=10.0, gt=0)
    """For one question, however often the model is asked about it: rules answer where it takes longer."""
    answer_timeout_s: float = Field(default=300.0, gt=0)
    """For an answer that the model writes, from the question to its last word."""
    silence_timeout_s: float = Field(default=60.0, gt=0)
    """How long nothing may come while it writes one: a model on this machine reads long passages for a while before its first word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSettings:
    """How the embedded store searches vectors: every one when few, binary codes with exact rescoring, HNSW when very many."""

    policy: VectorPolicy = "auto"
    exact_below: int = 5_000
    """Scoring 5,000 rows of 384 takes 1.2 ms, a scan .6 ms, but it misses a few items in a thousand."""
    hnsw_above: int = 1_000_000
    """A scan of a million codes takes 5 ms, and needs no graph to be built."""
    oversample: int = 60
    """Candidates for each item asked for. Recall@50 of 10,000 passages, granite: .982 with 30, .993 with 45, .997 with 60. MiniLM needs
    fewer (28,000 passages: .994 with 20, .997 with 30); it falls by about .002 as the rows double."""
    hnsw_m: int = 32
    ef_construction: int = 64
    ef_search: int = 32

    def __post_init__(self) -> None:
        if self.policy not in get_args(VectorPolicy):
            raise InvalidInput(f"the vector policy is one of {', '.join(get_args(VectorPolicy))}, not {self.policy!r}")
        for name in ("oversample", "hnsw_m", "ef_construction", "ef_search"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} must be at least 1, not {getattr(self, name)!r}")


class PostgresSettings(Section):
    """How a store on Postgres is connected to and searched."""

    namespace: str = Field(default="recollect", min_length=1, max_length=63)
    """The schema of its tables."""
    pool_size: int = Field(default=10, ge=2)
    pool_timeout_s: float = Field(default=30.0, gt=0)
    connect_timeout_s: float = Field(default=10.0, gt=0)
    statement_timeout_s: float = Field(default=60.0, gt=0)
    hnsw_m: int = Field(default=16, ge=2, le=100)
    ef_construction: int = Field(default=64, ge=4, le=1_000)
    ef_search: int = Field(default=200, ge=1, le=1_000)
    """Recall@50 of 100,000 passages: .956 with 100, .983 with 200, .988 with 300, .993 with 400."""
    max_scan_tuples: int = Field(default=20_000, ge=1)
    """Rows that a search goes through for those that pass a filter; what is not found by then is looked for row by row."""
    exact_below: int = Field(default=10_000, ge=0)
    """Chunks of a scope, or of what a filter leaves, that are compared one by one."""
    text_candidates: int = Field(default=5_000, ge=100)
    """Windows that are ranked by words: those with the rarest words of a question. Of 100,000 passages the first ten by BM25 are found to
    99.5 %, the first hundred to 97 %; with 3,000 to 97 and 90 %, with 10,000 to 100 and 99.6 %."""
    text_configs: list[str] = Field(default=["english"])
    """Text search configurations of the server for which items have a column of words, with an index; the first is asked for where none
    is named. One costs a fifth of the time that writing takes. Any other can be asked for too, and every text is read for it then."""

    _from_environment = field_validator("text_configs", mode="before")(listed)


class Neo4jSettings(Section):
    """How a store on Neo4j is connected to and searched. What its URL says of the user, the password and the database comes first."""

    user: str | None = None
    password: str | None = Field(default=None, repr=False)
    database: str | None = None
    """The one that the server has for the user, where none is named."""
    pool_size: int = Field(default=20, ge=2)
    pool_timeout_s: float = Field(default=30.0, gt=0)
    connect_timeout_s: float = Field(default=10.0, gt=0)
    statement_timeout_s: float = Field(default=60.0, gt=0)
    exact_below: int = Field(default=10_000, ge=0)
    """Chunks of a scope that are compared one by one."""
    hnsw_m: int = Field(default=16, ge=1, le=512)
    ef_construction: int = Field(default=100, ge=1, le=3_200)


class CacheSettings(Section):
    """How much is kept of what searches derive from items, in the whole store: 0 keeps nothing."""

    max_bytes: int = Field(default=256_000_000, ge=0)


class LogSettings(Section):
    """Whether searches are logged in the store, and how many of each scope are kept."""

    retrievals: bool = False
    max_entries: int = Field(default=10_000, ge=1)


class TelemetrySettings(Section):
    """What is told to OpenTelemetry, where the program has set it up."""

    traces: bool = True
    content: bool = False
    """Whether spans may hold questions, scopes, ids of items and what errors say."""


class IngestSettings(Section):
    """What is read and how it is cut."""

    max_file_bytes: int = Field(default=10_000_000, ge=1)
    chunk_tokens: int = Field(default=200, ge=16)
    untracked: bool = False
    """Whether files that git does not track are taken in too."""


class SearchSettings(Section):
    """Defaults of a search. What is not set from `weights` on is as the profile has it."""

    profile: str = "documents"
    mode: str = "web"
    k: int = 10
    chunks: int = Field(default=12, ge=0)
    chunks_per_item: int = Field(default=3, ge=1)
    weights: dict[str, float] | None = None
    blend: Blend | None = None
    normalize: Normalize | None = None
    rrf_k: int | None = Field(default=None, ge=0)
    depth: int | None = Field(default=None, ge=1)

    _from_environment = field_validator("weights", mode="before")(mapped)


class Settings(Section):
    """Everything that can be set."""

    store: str = Field(default="./.recollect", repr=False)
    """Not shown with the rest, since a URL may hold a password."""
    scope: str = Field(default="default", min_length=1)
    lock_timeout_s: float = Field(default=30.0, ge=0)
    embed: EmbedSettings = EmbedSettings()
    llm: LlmSettings = LlmSettings()
    vectors: VectorSettings = VectorSettings()
    postgres: PostgresSettings = PostgresSettings()
    neo4j: Neo4jSettings = Neo4jSettings()
    cache: CacheSettings = CacheSettings()
    log: LogSettings = LogSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    ingest: IngestSettings = IngestSettings()
    search: SearchSettings = SearchSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    memory: MemorySettings = MemorySettings()
    serve: ServeSettings = ServeSettings()


def load(file: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of a file (by default `recollect.yaml` here, if there is one) and of the environment."""
    environ = os.environ if environ is None else environ
    path = file or (Path(environ["RECOLLECT_CONFIG"]) if environ.get("RECOLLECT_CONFIG") else None)
    values = _read(path or Path(FILE), required=path is not None)
    for key, name in all_keys().items():
        if (value := environ.get(name)) is not None:
            _put(values, key.split("."), value)
    if environ.get("XDG_CACHE_HOME"):
        embed = values.setdefault("embed", {})
        if isinstance(embed, dict):
            embed.setdefault("cache_dir", str(Path(environ["XDG_CACHE_HOME"]) / "recollect"))
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise InvalidInput(_first_problem(error, path or Path(FILE))) from None


def wants_plain_output(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the terminal, or who sits at it, wants no escape codes: NO_COLOR is set, or TERM is dumb."""
    environ = os.environ if environ is None else environ
    return bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"


def environment_of_git(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment in which git answers for the folder it is asked about, also where a hook of another repository asks."""
    environ = os.environ if environ is None else environ
    kept = {name: value for name, value in environ.items() if name not in NAMES_A_REPOSITORY}
    # A list of files fetches nothing: by what a repository's settings say of fetching, git would run any command they name.
    return kept | {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}


def _read(path: Path, *, required: bool) -> dict[str, Any]:
    if not path.exists() and not required:
        return {}
    import yaml

    class Loader(yaml.SafeLoader):
        """Takes no key twice: YAML would let the last one win without a word."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            seen: set[str] = set()
            for key, _ in node.value:
                if key.value in seen:
                    raise yaml.MarkedYAMLError(problem=f"{key.value!r} is there twice: put both under one", problem_mark=key.start_mark)
                seen.add(key.value)
            return super().construct_mapping(node, deep)

    try:
        found = yaml.load(path.read_text(encoding="utf-8"), Loader)
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
    return _with_sections(found, Settings)


def _with_sections(values: dict[Any, Any], section: Any) -> dict[Any, Any]:
    """The values without sections that are null: those whose lines are all commented out."""
    inner = {key: value for key, value in _fields(section).items() if _fields(value)}
    kept = {key: value for key, value in values.items() if value is not None or (key not in inner and section is not Settings)}
    return {key: _with_sections(value, inner[key]) if key in inner and isinstance(value, dict) else value for key, value in kept.items()}


def _put(values: dict[str, Any], path: list[str], value: str) -> None:
    """Set what a variable says; where the file has no section in its place, that is told instead."""
    for section in path[:-1]:
        if not isinstance(values := values.setdefault(section, {}), dict):
            return
    values[path[-1]] = value


def _fields(section: Any) -> dict[str, Any]:
    """The keys of a section with what each holds; none for a plain value."""
    if is_dataclass(section):
        return {field.name: field.type for field in fields(section)}
    return {key: field.annotation for key, field in section.model_fields.items()} if _is_section(section) else {}


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Section)


def _keys(section: Any = Settings, under: str = "") -> Iterator[tuple[str, bool]]:
    """Every key by its full name, and whether it is a section."""
    for key, held in _fields(section).items():
        yield f"{under}{key}", bool(_fields(held))
        yield from _keys(held, f"{under}{key}.")


def all_keys() -> dict[str, str]:
    """Every setting by its key in the file, with its environment variable."""
    return {key: PREFIX + key.replace(".", "_").upper() for key, is_section in _keys() if not is_section}


def _first_problem(error: ValidationError, path: Path) -> str:
    problem = error.errors()[0]
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"unknown setting {key!r} in {str(path)!r}: {_meant(key)}" if key not in dict(_keys()) else _misplaced(key, path)
    setting = max((each for each, _ in _keys() if f"{key}.".startswith(f"{each}.")), key=len, default=key)
    where = f"in {str(path)!r}, or by the variable {all_keys()[setting]}" if setting in all_keys() else f"in {str(path)!r}"
    said = problem["msg"].removeprefix("Value error, ")
    said = said[:1].lower() + said[1:]
    if dict(_keys()).get(key) and not isinstance(problem["input"], dict):
        said = f"give keys and values, such as {next(each for each in all_keys() if each.startswith(f'{key}.'))!r}"
    if not _holds_secret(setting):
        given = f" is {problem['input']!r}"
    else:
        given = "" if isinstance(problem["input"], dict) else f" is {type(problem['input']).__name__}"
    return f"setting {key!r}{given}: {said} ({where})"


def _holds_secret(key: str) -> bool:
    """Whether a value is never shown, or a section that has such a one."""
    return any(_is_secret(each) for each in all_keys() if f"{each}.".startswith(f"{key}."))


def _is_secret(key: str) -> bool:
    """Whether its value is never shown: a key, or a URL, which may hold a password."""
    *sections, name = key.split(".")
    section: Any = Settings
    for each in sections:
        section = _fields(section).get(each)
    return _is_section(section) and name in section.model_fields and not section.model_fields[name].repr


def _misplaced(key: str, path: Path) -> str:
    """A key with its sections before it, which YAML does not take apart."""
    *sections, name = key.split(".")
    nested = " and under it ".join(f"`{section}:`" for section in sections)
    return f"setting {key!r} in {str(path)!r} belongs in its section: write {nested} and under it `{name}: ...`"


def _meant(key: str) -> str:
    """The nearest key there is: in its section, or of such a name in whichever section; or else what its section has."""
    names = [each for each, _ in _keys()]
    section, _, last = key.rpartition(".")
    beside = {each.rpartition(".")[2]: each for each in names if each.rpartition(".")[0] == section}
    anywhere = {each.rpartition(".")[2]: each for each in reversed(names)}
    close = [beside[each] for each in get_close_matches(last, beside, n=1)]
    close += [anywhere[each] for each in get_close_matches(last, anywhere, n=1, cutoff=0.8)]
    close += [] if beside else get_close_matches(key, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(beside.values() or Settings.model_fields)}"
