"""The docs say what the code does: every command, option and setting is documented, and the Python in the README runs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from recollect.filters import ITEM_FIELDS, OPERATORS
from recollect.memory_settings import MemorySettings
from recollect.prefs import RetrievalPrefs
from recollect.profiles import PROFILES
from recollect.settings import all_keys
from recollect.understand.text import MODES

ROOT = Path(__file__).parents[1]
RUN = ("python", "retriever", "memory", "telemetry", "frameworks")
"""Pages whose Python is run."""
README = (ROOT / "README.md").read_text(encoding="utf-8")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def helped(*words: str) -> str:
    return subprocess.run([sys.executable, "-m", "recollect", *words, "--help"], capture_output=True, text=True, check=True).stdout


def test_every_command_and_option_is_documented() -> None:
    verbs = re.findall(r"^    (\w+) ", helped(), flags=re.MULTILINE)
    assert {"index", "import", "search", "remember", "recall", "get", "delete", "status", "doctor"} <= set(verbs)
    text = page("cli.md")
    for verb in verbs:
        assert f"`recollect {verb}" in text
        for option in set(re.findall(r"--[a-z][a-z-]+", helped(verb))) - {"--help"}:
            assert option in text, f"{verb} {option}"


def test_every_setting_is_documented_with_its_variable() -> None:
    text = page("settings.md")
    for key, variable in all_keys().items():
        assert f"`{key}`" in text
        assert f"`{variable}`" in text


@pytest.mark.parametrize("name", [*OPERATORS, *ITEM_FIELDS, *MODES])
def test_every_operator_field_and_mode_is_documented(name: str) -> None:
    assert f"`{name}`" in page("queries.md")


def preferences(model: type[BaseModel], under: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every preference by its path, those of the sections one by one."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from preferences(field.annotation, f"{name}.")
        else:
            yield under + name, field


def choices(annotation: object) -> list[str]:
    """The texts that a type allows, where it allows no others."""
    return [each for part in get_args(annotation) for each in ([part] if isinstance(part, str) else choices(part))]


def default_of(field: FieldInfo) -> str:
    value = field.default
    if field.is_required() or value is None:
        return "required" if field.is_required() else "null"
    return f"`{value}`" if isinstance(value, str | list | dict) else str(value).lower()


def test_every_preference_is_documented_with_its_default_and_its_choices() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| (.+?) \| (.+?) \| .+ \|$", page("retriever.md"), flags=re.MULTILINE)
    told = {path: (default, allowed) for path, default, allowed in rows}
    fields = dict(preferences(RetrievalPrefs))
    assert {path: default for path, (default, _) in told.items()} == {path: default_of(field) for path, field in fields.items()}
    for path, field in fields.items():
        assert all(f"`{choice}`" in told[path][1] for choice in choices(field.annotation)), path


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_is_documented(name: str) -> None:
    assert f"`{name}`" in page("cli.md")


@pytest.mark.parametrize("source", ["README.md", *(f"docs/{name}.md" for name in RUN)])
def test_the_python_in_the_docs_runs(source: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "queries.md").write_text(page("queries.md"), encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / source).read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        ran = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.strip()


def test_every_link_in_the_docs_leads_somewhere() -> None:
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_the_prompt_in_the_docs_is_the_one_that_the_example_prints(tmp_path: Path) -> None:
    text = page("memory.md")
    example = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[0]
    shown = re.findall(r"````markdown\n(.*?)````", text, flags=re.DOTALL)[0]
    ran = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith(shown)


def test_the_weights_of_memory_in_the_docs_are_those_of_the_settings() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*?((?: \| \d\.\d\d){4}) \|$", page("memory.md"), flags=re.MULTILINE)
    told = {name: [float(each) for each in numbers.split("|")[1:]] for name, numbers in rows}
    strategies = [weights.as_dict() for _, weights in MemorySettings().strategies]
    assert told == {name: [each[name] for each in strategies] for name in strategies[0]}
