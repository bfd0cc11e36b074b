"""One file per rival, each with ``METHODS``: a tuple of `benchmarks.versus.methods.Method`.

An adapter translates the options of a setting into the words of its library, and imports that
library inside `make`, so that the comparison runs where a rival is not installed.
"""
