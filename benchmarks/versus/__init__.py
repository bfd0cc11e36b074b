"""polyleaf and its rivals on the same work, side by side: ``python -m benchmarks.versus``.

A *task* (tree, ...) has *settings* that every method obeys, *problems* to draw data from and
metrics. A *method* is one estimator of one library, described by an adapter; a file added to
`benchmarks.versus.adapters` is all that a new rival needs.
"""
