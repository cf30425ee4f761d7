"""Every store keeps every law."""

from recollect.testing.contract import *  # noqa: F403
