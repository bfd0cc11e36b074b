"""Workers of the tests have no profiler, whose look at threads can stop CPython below 3.11.9."""

import dask

# sys._current_frames may collect garbage while it holds a lock that a starting thread needs
# (https://github.com/python/cpython/issues/106883).
dask.config.set({"distributed.worker.profile.enabled": False})
