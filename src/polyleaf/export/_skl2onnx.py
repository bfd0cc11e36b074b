"""Teach skl2onnx to convert polyleaf's estimators, so that whole pipelines can be exported."""

from __future__ import annotations

from typing import Any

from polyleaf._registry import ESTIMATORS
from polyleaf.boosting.base import Boosting
from polyleaf.checks.fitted import expect_fitted
from polyleaf.checks.optional import require
from polyleaf.estimator.classifier import Classifier
from polyleaf.export._onnx import to_onnx
from polyleaf.export._onnx_graph import ML_DOMAIN
from polyleaf.export._sums import CannotExportError
from polyleaf.forests.base import ForestEstimator
from polyleaf.graphs.base import GraphEstimator
from polyleaf.rules.base import RuleEstimator
from polyleaf.trees.single_tree import SingleTree

#: skl2onnx knows version 3 of ai.onnx.ml.
_OPSETS = {"": 18, ML_DOMAIN: 3}
_FAMILIES = (SingleTree, ForestEstimator, Boosting, RuleEstimator, GraphEstimator)


def register_skl2onnx() -> None:
    """Register trees, forests, boosting, rules and linear graphs with skl2onnx.

    Afterwards ``skl2onnx.to_onnx`` converts pipelines that end in them, with version 18 of the
    operators or later. Classifiers give labels and probabilities, regressors predictions. The
    estimator in a pipeline takes a matrix of numbers: encode categories in an earlier step.

    Examples
    --------
    >>> import numpy as np
    >>> from skl2onnx import to_onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.export import register_skl2onnx
    >>> register_skl2onnx()
    >>> X = np.arange(16.0, dtype=np.float32).reshape(-1, 2)
    >>> model = make_pipeline(StandardScaler(), TreeRegressor(max_depth=2)).fit(X, X[:, 0] > 7)
    >>> graph = to_onnx(model, X)
    >>> [output.name for output in graph.graph.output]
    ['variable']
    """
    skl2onnx = require("skl2onnx", "exports of pipelines")
    for name, estimator in ESTIMATORS.items():
        if not (isinstance(estimator, type) and issubclass(estimator, _FAMILIES)):
            continue
        is_classifier = issubclass(estimator, Classifier)
        options = {"zipmap": [True, False, "columns"], "nocl": [True, False]}
        skl2onnx.update_registered_converter(
            estimator,
            f"Polyleaf{name}",
            _classifier_shapes if is_classifier else _regressor_shapes,
            _convert,
            options=options if is_classifier else None,
        )


def _shapes_of(operator: Any, names: tuple[str, ...]) -> None:
    """Give the outputs of an operator of skl2onnx the types of the graph's."""
    types = require("skl2onnx.common.data_types", "exports of pipelines")
    model = operator.raw_operator
    expect_fitted(model)
    if len(operator.inputs) != 1 or model._features.has_categories or model._features.levels:
        raise CannotExportError(
            f"A {type(model).__name__} in a Pipeline takes one matrix of numbers, without "
            "categories. Encode categories in an earlier step."
        )
    graph = to_onnx(model, outputs=names, target_opset=_OPSETS).graph
    for variable, output in zip(operator.outputs, graph.output):
        tensor = output.type.tensor_type
        shape = [dim.dim_value or None for dim in tensor.shape.dim]
        variable.type = types._guess_type_proto(tensor.elem_type, shape)


def _regressor_shapes(operator: Any) -> None:
    _shapes_of(operator, ("prediction",))


def _classifier_shapes(operator: Any) -> None:
    _shapes_of(operator, ("prediction", "probability"))


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Put the graph of an estimator into that of the pipeline."""
    model = operator.raw_operator
    _check_opsets(container)
    is_classifier = isinstance(model, Classifier)
    names = ("prediction", "probability") if is_classifier else ("prediction",)
    graph = to_onnx(model, outputs=names, target_opset=_OPSETS).graph
    renamed = {graph.input[0].name: operator.inputs[0].full_name}
    for variable, output in zip(operator.outputs, graph.output):
        renamed[output.name] = variable.full_name
    _rename(graph, renamed, scope)
    for tensor in graph.initializer:
        container.initializers.append(tensor)
    for node in graph.node:
        version = _OPSETS[node.domain]
        container.node_domain_version_pair_sets.add((node.domain, version))
        container.nodes.append(node)


def _check_opsets(container: Any) -> None:
    for domain, least in (("", 18), (ML_DOMAIN, 3)):
        found = container.target_opset_any_domain(domain)
        if found is None or found < least:
            raise CannotExportError(
                f"Graphs of polyleaf need version {least} of the operators of "
                f"{domain or 'ai.onnx'!r}; got {found}. "
                "Pass target_opset={'': 18, 'ai.onnx.ml': 3}."
            )


def _rename(graph: Any, renamed: dict[str, str], scope: Any) -> None:
    """Give tensors and nodes names that are free in the pipeline's graph."""

    def free(name: str) -> str:
        if name not in renamed:
            renamed[name] = scope.get_unique_variable_name(name)
        return renamed[name]

    def rename_nodes(nodes: Any) -> None:
        for node in nodes:
            node.name = scope.get_unique_operator_name(node.op_type)
            node.input[:] = [free(name) if name else name for name in node.input]
            node.output[:] = [free(name) for name in node.output]
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    for value in (*attribute.g.input, *attribute.g.output):
                        value.name = free(value.name)
                    rename_nodes(attribute.g.node)

    for tensor in graph.initializer:
        tensor.name = free(tensor.name)
    rename_nodes(graph.node)
