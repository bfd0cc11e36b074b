"""Gradient boosting of trees, or of any regressor, on views of the outputs (Joly et al. 2019).

To read, in the order of a fit:

- `estimators`, `mixed`, `parameters`: what users construct;
- `base`: the fit, from parameters to what was learnt; `checks` says which parameters go together,
  and what a warm start may change; `validation` reads or draws validation rows and scores them;
- `rounds`: the loop over rounds with early stopping, and the race that chooses a view;
- `booster`: one round, a tree on a view of the gradients; `factored` and `weak_models` are other
  ways to make a round (many sparse outputs, regressors of scikit-learn);
- `state`: targets in units, raw predictions and gradients of all rows; `leaves`: what a tree is
  grown on and what it adds;
- `model`, `fitted`: the sum of trees, and what it means.
"""

from polyleaf.boosting.estimators import BoostingClassifier, BoostingRegressor
from polyleaf.boosting.mixed import BoostingMixed

__all__ = ["BoostingClassifier", "BoostingMixed", "BoostingRegressor"]
