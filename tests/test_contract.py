"""The reference store and the embedded store keep every law."""

from recollect.testing.contract import *  # noqa: F403
