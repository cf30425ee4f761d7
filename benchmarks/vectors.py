"""Vectors of passages: real ones, embedded once and kept by model and text; beyond that number, real ones with noise."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

from recollect.model import Vector, digest
from recollect.ports import Embedder

BLOCK = 1_000
REAL = 100_000
"""Passages that are really embedded, about ten minutes the first time; a million would take two hours."""
NOISE = 0.2
"""Length of the noise added to a unit vector, chosen so that questions find what they find among real ones: with 7,000 vectors and
three copies of each the 10th, 50th and 1,000th nearest have cosines of .443, .365 and .196, with 28,000 real ones .454, .369 and .198,
and a binary scan for 1,980 candidates has a recall@50 of .997 in both. With .6 the cosines are .414, .338 and .182."""
NOISE_SEED = 4


def real_vectors(texts: Sequence[str], embedder: Embedder, cache: Path) -> Vector:
    """A row for each text, as a store keeps it (float16), from the cache where it is there."""
    blocks = [texts[begin : begin + BLOCK] for begin in range(0, len(texts), BLOCK)]
    paths = [cache / f"{digest(embedder.model_id, *block)}.npy" for block in blocks]
    missing = [(block, path) for block, path in zip(blocks, paths, strict=True) if not path.exists()]
    cache.mkdir(parents=True, exist_ok=True)
    begin = perf_counter()
    for done, (block, path) in enumerate(missing, 1):
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            np.save(file, embedder.embed(block).astype(np.float16))
        part.replace(path)
        left = (perf_counter() - begin) / done * (len(missing) - done)
        end = "\n" if done == len(missing) else ""
        print(f"\rembedding passages, block {done} of {len(missing)}, {left:.0f} s left ", end=end, file=sys.stderr, flush=True)
    return np.concatenate([np.load(path) for path in paths]).astype(np.float32)


def noisy(vectors: Vector, number: int) -> Vector:
    """The vectors, and then copies of them with noise, renormalised, until there are `number`; rounded as a store keeps them."""
    random = np.random.default_rng(NOISE_SEED)
    made = np.empty((number, vectors.shape[1]), np.float32)
    for begin in range(0, number, len(vectors)):
        part = vectors[: number - begin]
        if begin:
            part = part + random.standard_normal(part.shape, np.float32) * np.float32(NOISE / np.sqrt(part.shape[1]))
            part /= np.linalg.norm(part, axis=1, keepdims=True)
        made[begin : begin + len(part)] = part.astype(np.float16)
    return made
