"""Reads a model pack: a magic word, the length of a JSON header, the header, a tokenizer.json, then the tensors it lists."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import SEEK_CUR
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

MAGIC = b"HMSEMB01"
Floats: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Quantised:
    """A matrix of whole numbers; every `group` of a row's numbers in a line has a scale."""

    numbers: npt.NDArray[np.int8]
    scales: Floats

    def floats(self) -> Floats:
        """The matrix itself."""
        grouped = self.numbers.reshape(*self.scales.shape, -1)
        floats: Floats = (grouped * self.scales[..., None]).reshape(self.numbers.shape)
        return floats


@dataclass(frozen=True, slots=True)
class Pack:
    """The sizes of an encoder and its weights by name."""

    arch: dict[str, Any]
    tensors: dict[str, Floats | Quantised]

    def floats(self, name: str) -> Floats:
        found = self.tensors[name]
        return found.floats() if isinstance(found, Quantised) else found


def read_pack(file: BinaryIO) -> Pack:
    """The sizes and the tensors of a pack that is known to be whole."""
    file.seek(len(MAGIC))
    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    file.seek(header["tokenizer_len"], SEEK_CUR)
    return Pack(header["arch"], {entry["name"]: _tensor(entry, file.read(entry["len"])) for entry in header["tensors"]})


def _tensor(entry: dict[str, Any], data: bytes) -> Floats | Quantised:
    if entry["dtype"] == "f32":
        return np.frombuffer(data, "<f4").reshape(entry["shape"])
    rows, columns = entry["shape"]
    size = rows * columns
    scales = np.frombuffer(data, "<f4", offset=size).reshape(rows, columns // entry["group"])
    return Quantised(np.frombuffer(data, np.int8, count=size).reshape(rows, columns), scales)
