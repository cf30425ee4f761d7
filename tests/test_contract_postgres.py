"""The store on Postgres keeps every law."""

from recollect.testing.contract import *  # noqa: F403
