"""Reads what an embeddings endpoint answers, and believes none of it unchecked."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import numpy as np

from ..model import Vector


def read_vectors(body: bytes, count: int) -> Vector:
    """The unit vectors of an answer, in the order of the question; a ValueError says what the answer is instead."""
    try:
        answer = json.loads(body)
    except ValueError as error:
        raise ValueError("what is not JSON") from error
    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and isinstance(row.get("embedding"), list) for row in rows):
        raise ValueError("no list of embeddings under 'data'")
    if len(rows) != count:
        raise ValueError(f"{len(rows)} embeddings for {count} texts")
    indexes = [row.get("index", place) for place, row in enumerate(rows)]
    placed = {index: row["embedding"] for index, row in zip(indexes, rows, strict=True) if isinstance(index, int)}
    if set(placed) != set(range(count)):
        raise ValueError(f"embeddings whose indexes are not 0 to {count - 1}")
    return _unit([placed[place] for place in range(count)])


def _unit(rows: list[list[float]]) -> Vector:
    if len({len(row) for row in rows}) > 1:
        raise ValueError("embeddings of different lengths")
    try:
        matrix = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("embeddings that are not numbers") from error
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True) if matrix.ndim == 2 else np.zeros(1)
    if not np.isfinite(lengths).all():
        raise ValueError("embeddings that hold NaN or infinity")
    if not lengths.all():
        raise ValueError("an embedding of nothing but zeros")
    unit: Vector = (matrix / lengths).astype(np.float32)
    return unit


def retry_after_s(header: str | None) -> float | None:
    """The seconds a Retry-After header asks to wait, given as a number or as a date; None if it says neither."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        seconds = _seconds_until(header)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _seconds_until(date: str) -> float:
    try:
        when = parsedate_to_datetime(date)
    except ValueError:
        return math.nan
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - datetime.now(UTC).timestamp()
