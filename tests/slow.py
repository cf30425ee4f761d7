"""A model that keeps a question waiting as long as a gate is shut: for the tests of what is stopped meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from recollect.cancellation import current
from recollect.embed import bundled_tokens
from recollect.errors import Cancelled
from recollect.model import Vector


class Slow:
    """Vectors of three numbers, and as long as a gate is shut a question that nobody answers."""

    model_id = "slow"
    dim = 3
    max_tokens = 200

    def __init__(self) -> None:
        self.tokens = bundled_tokens()
        self.gate = threading.Event()
        self.gate.set()
        self.gave_up = False
        self.asked = threading.Event()
        self.stopped = threading.Event()

    def shut(self) -> None:
        """Shut the gate. It opens by itself once nobody can be waiting for it any more, so that a test fails where it would hang."""
        self.gate.clear()
        timer = threading.Timer(30, self._give_up)
        timer.daemon = True
        timer.start()

    def _give_up(self) -> None:
        self.gave_up = not self.gate.is_set()
        self.gate.set()

    def embed(self, texts: Sequence[str]) -> Vector:
        return np.eye(3, dtype=np.float32)[[len(text) % 3 for text in texts]]

    def embed_query(self, text: str) -> Vector:
        self.asked.set()
        try:
            while not self.gate.is_set():
                current().sleep(0.005)
        except Cancelled:
            self.stopped.set()
            raise
        return self.embed([text])[0]
