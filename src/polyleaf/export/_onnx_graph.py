"""An ONNX graph under construction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.optional import require

ML_DOMAIN = "ai.onnx.ml"


class Graph:
    """Nodes and constants, added one by one.

    Parameters
    ----------
    is_double : bool
        Whether numbers are float64, else float32.
    ml_version : int
        Version of the operators of ai.onnx.ml: 3, 4 (without categories) or later.
    """

    def __init__(self, is_double: bool, ml_version: int = 5) -> None:
        self.ml_version = ml_version
        self.onnx: Any = require("onnx", "exports to ONNX")
        self.dtype: Any = np.float64 if is_double else np.float32
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        #: A tensor with as many rows as X.
        self.rows = ""
        self._n_names = 0

    def name(self, kind: str) -> str:
        """Make a name that no feature has."""
        self._n_names += 1
        return f"polyleaf/{kind}_{self._n_names}"

    def type_of(self, dtype: Any) -> int:
        """Give ONNX's number of a NumPy type; strings are objects."""
        if np.dtype(dtype).kind in "OU":
            return int(self.onnx.TensorProto.STRING)
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def constant(self, values: Any) -> str:
        """Add a constant; strings are arrays of objects."""
        array = np.asarray(values)
        name = self.name("constant")
        array = np.ascontiguousarray(array).reshape(array.shape)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def numbers(self, values: Any) -> str:
        """Add a constant in the precision of the graph."""
        return self.constant(np.asarray(values, dtype=self.dtype))

    def tensor(self, values: NDArray[Any]) -> Any:
        """Make a tensor for an attribute."""
        return self.onnx.numpy_helper.from_array(values)

    def add(
        self, operator: str, *inputs: str, output: str | None = None, **attributes: Any
    ) -> str:
        """Add a node with one output, and give its name."""
        name = output or self.name(operator)
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [name], **attributes))
        return name

    def add_many(
        self, operator: str, n_outputs: int, *inputs: str, **attributes: Any
    ) -> tuple[str, ...]:
        """Add a node with several outputs, and give their names."""
        names = tuple(self.name(operator) for _ in range(n_outputs))
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, names, **attributes))
        return names

    def cast(self, value: str, dtype: Any) -> str:
        """Convert to a NumPy type."""
        return self.add("Cast", value, to=self.type_of(dtype))

    def input(self, name: str, dtype: Any, width: int) -> str:
        """Add an input of shape (n, width)."""
        make = self.onnx.helper.make_tensor_value_info
        self.inputs.append(make(name, self.type_of(dtype), ["n", width]))
        return name

    def output(self, name: str, value: str, dtype: Any, shape: tuple[int, ...]) -> None:
        """Name a result, of shape (n, ...)."""
        self.add("Identity", value, output=name)
        make = self.onnx.helper.make_tensor_value_info
        self.outputs.append(make(name, self.type_of(dtype), ["n", *shape]))

    def columns(self, value: str, start: int, stop: int) -> str:
        """Take columns [start, stop)."""
        ends = [self.constant(np.array([k], np.int64)) for k in (start, stop, 1)]
        return self.add("Slice", value, *ends)

    def inner(self) -> Body:
        """Begin the body of a Scan, in float64."""
        return Body(self)

    def body(self, name: str, nodes: list[Any], inputs: list[Any], outputs: list[Any]) -> Any:
        """Make the body of a Scan."""
        return self.onnx.helper.make_graph(nodes, name, inputs, outputs)


class Body:
    """The body of a Scan, which may use all that the graph has.

    Parameters
    ----------
    graph : Graph
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []

    def input(self, name: str, dtype: Any = np.float64) -> str:
        """Add an input: states first, then what is scanned."""
        graph = self._graph
        own = graph.name(name)
        make = graph.onnx.helper.make_tensor_value_info
        self._inputs.append(make(own, graph.type_of(dtype), None))
        return own

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output, and give its name."""
        name = self._graph.name(operator)
        make = self._graph.onnx.helper.make_node
        self._nodes.append(make(operator, inputs, [name], **attributes))
        return name

    def close(self, name: str, outputs: list[str]) -> Any:
        """Give the body, with the new states and what is collected, all float64."""
        graph = self._graph
        make, kind = graph.onnx.helper.make_tensor_value_info, graph.type_of(np.float64)
        values = [make(output, kind, None) for output in outputs]
        return graph.body(name, self._nodes, self._inputs, values)
