"""What `import recollect` offers, and that it costs nothing until it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import recollect

HEAVY = ("numpy", "faiss", "sqlalchemy", "pydantic", "onnxruntime", "tokenizers", "tantivy", "httpx")


def test_the_public_names_are_sorted_and_there() -> None:
    assert sorted(recollect.__all__) == recollect.__all__
    for name in recollect.__all__:
        assert getattr(recollect, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(recollect, "nothing_of_this_name")


def test_importing_it_imports_nothing_heavy() -> None:
    code = f"import sys, recollect; print([name for name in {HEAVY!r} if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_it_is_typed() -> None:
    assert (Path(recollect.__file__).parent / "py.typed").exists()


def test_every_async_method_has_its_waiting_twin() -> None:
    import inspect

    from recollect import Library, SyncLibrary

    coroutines = {name for name, member in inspect.getmembers(Library, inspect.iscoroutinefunction) if not name.startswith("_")}
    assert coroutines - {"close"} <= set(vars(SyncLibrary))
