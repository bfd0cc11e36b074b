"""Settings as the papers publish them: `paper` and `paper_variants` of every estimator.

Every family declares its variants in its module `papers`: a table from the name of a variant to
the value of every parameter that could change what is learnt. A variant therefore stays what it is
when a default changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import deepcopy
from typing import Any, ClassVar, Self

from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean

#: Values of parameters by the name of a variant; the main one first.
Variants = Mapping[str, Mapping[str, Any]]


def settings_of(
    owner: str,
    variants: Variants,
    known: Collection[str],
    variant: str | None,
    changed: Mapping[str, Any],
) -> dict[str, Any]:
    """Give the settings of a variant, with some parameters changed.

    Parameters
    ----------
    owner : str
        The name of the estimator, for messages.
    variants : Variants
    known : collection of str
        The names of its parameters.
    variant : str or None
        None: the first one.
    changed : mapping of str to object

    Raises
    ------
    ValueError
        If there is no such variant.
    TypeError
        If there is no such parameter.
    """
    if not variants:
        raise ValueError(
            f"No paper has settings for {owner}: {owner}.paper_variants() is empty. Construct it "
            f"with parameters of your own, {owner}(...)."
        )
    if variant is None:
        variant = next(iter(variants))
    if not isinstance(variant, str) or variant not in variants:
        raise ValueError(
            f"variant of {owner}.paper must be None or one of {', '.join(map(repr, variants))}; "
            f"got {shown(variant)}.{did_you_mean(variant, variants)}"
        )
    for name in changed:
        if name not in known:
            raise TypeError(
                f"{owner} has no parameter {name!r}.{did_you_mean(name, known)} Its parameters "
                f"are {', '.join(sorted(known))}."
            )
    # A copy: projections are estimators, which `set_params` changes in place.
    return {**deepcopy(dict(variants[variant])), **changed}


class Published:
    """Estimators whose published settings have names."""

    _published: ClassVar[Variants] = {}

    @classmethod
    def paper_variants(cls) -> tuple[str, ...]:
        """Name the settings that `paper` knows.

        Returns
        -------
        tuple of str
            The main one first; empty if no paper has settings for this estimator.

        Examples
        --------
        >>> from polyleaf import BoostingRegressor, GraphEnsembleClassifier
        >>> GraphEnsembleClassifier.paper_variants()
        ('mam', 'amm', 'mve')
        >>> BoostingRegressor.paper_variants()[:2]
        ('gbrt-relabel-rpo', 'gbrt-rpo')
        """
        return tuple(cls._published)

    @classmethod
    def paper(cls, variant: str | None = None, **changed: Any) -> Self:
        """Make an estimator with settings as they were published.

        The value of every parameter that changes what is learnt is spelt out, so that the result
        does not depend on defaults. What each variant is, and what its paper tunes instead of
        fixing, stands in the guide (Settings of the papers).

        Parameters
        ----------
        variant : str, optional
            One of `paper_variants`; the first of them by default.
        **changed : object
            Parameters that shall have other values, such as ``random_state`` or what the paper
            tunes.

        Returns
        -------
        estimator

        Examples
        --------
        >>> from polyleaf import BoostingRegressor, RandomForestRegressor
        >>> model = BoostingRegressor.paper("gbmort", n_estimators=500, random_state=0)
        >>> model.leaf_values, model.l2_regularization, model.n_estimators
        ('gradient', 0.0, 500)
        >>> RandomForestRegressor.paper("rsp")
        Traceback (most recent call last):
            ...
        ValueError: variant of RandomForestRegressor.paper must be None or one of 'ros', 'rp', \
'rp-shared', 'multi-target', 'single-target', 'mo-rf', 'st-rf'; got 'rsp'. Did you mean 'rp'?
        """
        known = cls._get_param_names()  # type: ignore[attr-defined]
        return cls(**settings_of(cls.__name__, cls._published, known, variant, changed))
