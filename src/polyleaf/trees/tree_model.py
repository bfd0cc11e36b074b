"""What all models made of trees can do: explain a row."""

from __future__ import annotations

from typing import Any

from polyleaf.estimator.base import Estimator
from polyleaf.trees.additive import AdditiveTrees


class TreeModel(Estimator):
    """An estimator whose predictions are a sum of trees."""

    def _additive(self) -> AdditiveTrees:
        """Give the fitted model as a sum of trees."""
        raise NotImplementedError

    def explain(
        self,
        X: Any,
        *,
        outputs: Any = None,
        top_outputs: int = 3,
        top_features: int = 5,
    ) -> Any:
        """List which features moved the predictions of a few rows, and how far.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
            A few rows.
        outputs : str, int, or sequence or mapping of these, optional
            What to explain, as in `polyleaf.inspection.shap_values`.
        top_outputs : int, default=3
            Without `outputs`: how many outputs of each row, those with the highest scores of a
            classifier, those furthest from their expectation of a regressor.
        top_features : int, default=5
            How many features of each row and output, those that add or take off most.

        Returns
        -------
        DataFrame
            A line per row, output and feature, in the columns ``row``, ``output``, ``feature``,
            ``value`` and ``contribution``: the exact Shapley value, in the units of
            `polyleaf.inspection.shap_values`.
        """
        from polyleaf.inspection import explain_rows

        return explain_rows(
            self, X, outputs=outputs, top_outputs=top_outputs, top_features=top_features
        )
