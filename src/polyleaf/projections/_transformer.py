"""Views made by transformers of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from polyleaf.checks.numbers import shown
from polyleaf.projections._base import Projection
from polyleaf.projections._view import View

if TYPE_CHECKING:
    from polyleaf.projections._base import ProjectionContext


class FromTransformer(Projection):
    """What a scikit-learn transformer makes of the outputs.

    The transformer is cloned for every view, seeded if it has a ``random_state`` that is None,
    and fitted on the outputs: centred if they are dense, with 0 for what is not observed, and as
    they are if they are sparse. Estimators wrap a transformer given as ``projection`` in this.

    Parameters
    ----------
    transformer : transformer
        Anything with ``fit_transform``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import TruncatedSVD
    >>> from polyleaf.projections import FromTransformer, ProjectionContext
    >>> rng = np.random.default_rng(0)
    >>> context = ProjectionContext(
    ...     round=0, rng=rng, values=rng.normal(size=(9, 5)), channel_offsets=np.arange(6)
    ... )
    >>> FromTransformer(TruncatedSVD(n_components=2)).draw(context).n_channels
    2
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def check_params(self) -> None:
        """Raise a TypeError unless there is a transformer."""
        if isinstance(self.transformer, type) or not hasattr(self.transformer, "fit_transform"):
            raise TypeError(
                "transformer must have a method fit_transform, as scikit-learn's have; got "
                f"{shown(self.transformer)}."
            )

    def draw(self, context: ProjectionContext) -> View:
        """Fit the transformer and show the outputs through it.

        Parameters
        ----------
        context : ProjectionContext
            The values to be viewed and the source of chance.

        Returns
        -------
        View
        """
        self.check_params()
        if not context.varying_channels.any():
            return View.of_all(context.n_channels)
        transformer = clone(self.transformer)
        if "random_state" in transformer.get_params(deep=False):
            seed = int(context.rng.integers(2**31))
            if transformer.get_params(deep=False)["random_state"] is None:
                transformer.set_params(random_state=seed)
        shown: Any = transformer.fit_transform(context.values)
        dense = np.asarray(shown.toarray() if hasattr(shown, "toarray") else shown)
        return View.of_given(dense, context.n_channels)
