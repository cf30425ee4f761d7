"""The contract of a store, shipped so that any store can be held to it.

A test module of a few lines runs it: an `open_store` fixture, and `from recollect.testing.contract import *`.

    pytest.register_assert_rewrite("recollect.testing")   # in conftest.py, for readable failures

    @pytest.fixture
    def open_store(tmp_path):
        async def open_store(*, cache_bytes=10**6) -> Store:   # each call opens the same place, which is empty at first
            return MyStore(tmp_path, cache_bytes)
        return open_store
"""
