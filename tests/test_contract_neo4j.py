"""The store on Neo4j keeps every law."""

from recollect.testing.contract import *  # noqa: F403
