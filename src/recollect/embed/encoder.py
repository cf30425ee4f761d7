"""Builds the ONNX graph of a RoBERTa encoder, whole or some of its layers, from the weights of a pack.

The input is one text without padding, so there is no mask; the last layer is worked out for the first token alone. Inputs and
weights of most matrices are int8, which needs care to stay near the exact vectors. Cosine with them, mean and minimum over
plain texts and odd ones (one word, none, a URL, other scripts, emoji, numbers over and over):

- int8 wherever there is a matrix: .965 and .947, even of plain texts. The second feed-forward matrix keeps fp32: its inputs have a
  long tail.
- with it: .985 and .936. A few channels are a hundred times the others (130 against 1.4), and the scale is theirs. The 16
  largest are kept apart and multiplied in fp32, and so is the last layer, where nothing can even out an error: .9996 and .9992.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .pack import Floats, Pack, Quantised

MICROSOFT = "com.microsoft"
OPSET, IR_VERSION = 18, 10
# A processor without VNNI adds two products of a byte and a signed byte into 16 bits: two weights side by side must stay below this
# to never overflow. It costs a cosine of .0001.
MAX_PAIR = 128


def encoder(pack: Pack, large: Sequence[int], *, first: int = 0, end: int | None = None) -> bytes:
    """The graph of the layers from `first` to `end`, by default all. `large` are the channels to be kept apart.

    It goes from `input_ids`, or from `rows` where layers before it are left out, to `last_hidden_state`: one row, or one for each
    token where layers behind it are."""
    return _Graph(pack, large).build(first, pack.arch["layers"] if end is None else end)


class _Graph:
    def __init__(self, pack: Pack, large: Sequence[int]) -> None:
        from onnx import TensorProto, helper, numpy_helper

        self._pack = pack
        self._large = list(large)
        self._arch = pack.arch
        self._helper: Any = helper
        self._numpy: Any = numpy_helper
        self._types: Any = TensorProto
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def build(self, first: int, end: int) -> bytes:
        make, hidden, layers = self._helper, self._arch["hidden"], self._arch["layers"]
        if first:
            rows, given = "rows", make.make_tensor_value_info("rows", self._types.FLOAT, [1, "tokens", hidden])
        else:
            rows, given = self._embedded(), make.make_tensor_value_info("input_ids", self._types.INT64, [1, "tokens"])
        for layer in range(first, end):
            rows = self._layer(f"l{layer}", rows, last=layer == layers - 1)
        self._add("Identity", rows, output="last_hidden_state")
        graph = make.make_graph(
            self._nodes,
            "encoder",
            [given],
            [make.make_tensor_value_info("last_hidden_state", self._types.FLOAT, [1, 1 if end == layers else "tokens", hidden])],
            list(self._constants.values()),
        )
        opsets = [make.make_opsetid("", OPSET), make.make_opsetid(MICROSOFT, 1)]
        data: bytes = make.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION).SerializeToString()
        return data

    def _embedded(self) -> str:
        """Words and their places, normalised. Rows of the int8 table are made floats after they are looked up."""
        table = self._pack.tensors["word_emb"]
        assert isinstance(table, Quantised)
        groups = table.scales.shape[1]
        numbers = self._add("Cast", self._add("Gather", self._constant("words", table.numbers), "input_ids"), to=self._types.FLOAT)
        grouped = self._add("Reshape", numbers, self._whole("grouped", 0, 0, groups, -1))
        scales = self._add("Gather", self._constant("word_scales", table.scales), "input_ids")
        scaled = self._add("Mul", grouped, self._add("Unsqueeze", scales, self._whole("last_axis", -1)))
        words = self._add("Reshape", scaled, self._whole("joined", 0, 0, -1))
        places = self._pack.floats("pos_emb")[self._arch["position_offset"] :] + self._pack.floats("type_emb")[0]
        count = self._add("Shape", "input_ids", start=1, end=2)
        placed = self._add("Add", words, self._add("Slice", self._constant("places", places), self._whole("first", 0), count))
        weight, bias = self._norm("emb_ln")
        return self._add("LayerNormalization", placed, weight, bias, epsilon=self._arch["layer_norm_eps"])

    def _layer(self, name: str, rows: str, *, last: bool) -> str:
        """Attention and feed-forward. In the last layer every token gives keys and values, but only the first one asks."""
        hidden = self._arch["hidden"]
        weights, bias = self._pack.floats(f"{name}.qkv.w"), self._pack.floats(f"{name}.qkv.b")
        if last:
            pairs = self._exact(f"{name}.kv", rows, weights[hidden:], bias[hidden:])
            key, value = self._split(pairs, 2)
            rows = self._add("Slice", rows, self._whole("first", 0), self._whole("second", 1), self._whole("tokens_axis", 1))
            query = self._exact(f"{name}.q", rows, weights[:hidden], bias[:hidden])
        else:
            query, key, value = self._split(self._fast(f"{name}.qkv", rows), 3)
        seen = self._add("MultiHeadAttention", query, key, value, domain=MICROSOFT, num_heads=self._arch["heads"])
        shown = self._linear(f"{name}.ao", seen) if last else self._fast(f"{name}.ao", seen, apart=False)
        rows = self._joined(f"{name}.aln", shown, rows)
        wide = self._add("Gelu", (self._linear if last else self._fast)(f"{name}.f1", rows), domain=MICROSOFT)
        return self._joined(f"{name}.fln", self._linear(f"{name}.f2", wide), rows)

    def _split(self, rows: str, parts: int) -> list[str]:
        outputs = [f"{rows}.{part}" for part in range(parts)]
        self._nodes.append(self._helper.make_node("Split", [rows], outputs, axis=2, num_outputs=parts))
        return outputs

    def _joined(self, name: str, rows: str, before: str) -> str:
        """What a part of a layer gives, added to what it was given, normalised."""
        epsilon = self._arch["layer_norm_eps"]
        return self._add("SkipLayerNormalization", rows, before, *self._norm(name), domain=MICROSOFT, epsilon=epsilon)

    def _norm(self, name: str) -> tuple[str, str]:
        return self._constant(f"{name}.w", self._pack.floats(f"{name}.w")), self._constant(f"{name}.b", self._pack.floats(f"{name}.b"))

    def _linear(self, name: str, rows: str) -> str:
        return self._exact(name, rows, self._pack.floats(f"{name}.w"), self._pack.floats(f"{name}.b"))

    def _exact(self, name: str, rows: str, weights: Floats, bias: Floats) -> str:
        product = self._add("MatMul", rows, self._constant(f"{name}.w", weights.T))
        return self._add("Add", product, self._constant(f"{name}.b", bias))

    def _fast(self, name: str, rows: str, *, apart: bool = True) -> str:
        """The same in int8, but for the channels that are kept apart."""
        weights = self._pack.floats(f"{name}.w")
        inside = weights.copy()
        if apart:
            inside[:, self._large] = 0
        numbers, scales = _quantised(inside)
        product = self._add(
            "DynamicQuantizeMatMul",
            self._add("Mul", rows, self._constant("small", self._small())) if apart else rows,
            self._constant(f"{name}.w", numbers.T),
            self._constant(f"{name}.scales", scales),
            self._constant(f"{name}.zero", np.zeros(len(scales), dtype=np.int8)),
            self._constant(f"{name}.b", self._pack.floats(f"{name}.b")),
            domain=MICROSOFT,
        )
        if not apart:
            return product
        large = self._add("Gather", rows, self._whole("large", *self._large), axis=2)
        return self._add("Add", product, self._add("MatMul", large, self._constant(f"{name}.large", weights[:, self._large].T)))

    def _small(self) -> Floats:
        """1 for the channels that are not kept apart."""
        small = np.ones(self._arch["hidden"], dtype=np.float32)
        small[self._large] = 0
        return small

    def _add(self, kind: str, *inputs: str, domain: str = "", output: str | None = None, **attributes: Any) -> str:
        output = output or f"{kind}.{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(kind, list(inputs), [output], domain=domain, **attributes))
        return output

    def _whole(self, name: str, *numbers: int) -> str:
        return self._constant(name, np.array(numbers, dtype=np.int64))

    def _constant(self, name: str, value: npt.NDArray[Any]) -> str:
        if name not in self._constants:
            self._constants[name] = self._numpy.from_array(np.ascontiguousarray(value), name)
        return name


def _quantised(weights: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """Whole numbers and a scale for each row, so that no sum of two neighbours overflows."""
    positive, negative = (np.maximum(sign * weights, 0).reshape(len(weights), -1, 2).sum(axis=2).max(axis=1) for sign in (1, -1))
    scales = np.maximum(np.maximum(positive, negative) / MAX_PAIR, np.abs(weights).max(axis=1) / 127).astype(np.float32)
    return np.rint(weights / scales[:, None]).astype(np.int8), scales
