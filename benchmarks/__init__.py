"""Measures Recollect beside the bare parts it is made of: `python -m benchmarks`."""
