"""A graph of ONNX that grows node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Graph:
    """Nodes and constants; values are told by their names."""

    def __init__(self, helper: Any) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._helper = helper

    def node(self, kind: str, inputs: Sequence[str], name: str = "", **attributes: Any) -> str:
        """Add an operator; the name of what it gives."""
        name = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, [*inputs], [name], **attributes))
        return name

    def constant(self, values: NDArray[Any]) -> str:
        """Add a constant; texts are arrays of objects."""
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        if values.dtype == object:
            values = np.array(
                [v.encode("utf-8", "surrogatepass") for v in values.ravel()], dtype=object
            ).reshape(values.shape)
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def cast(self, value: str, kind: str, name: str = "") -> str:
        """Values as another type."""
        from onnx import TensorProto

        return self.node("Cast", [value], name, to=getattr(TensorProto, kind))

    def shaped(self, value: str, *shape: int) -> str:
        """Values in another shape; -1 is what is left."""
        return self.node("Reshape", [value, self.constant(np.array(shape, dtype=np.int64))])

    def columns(self, value: str, numbers: Sequence[int]) -> str:
        """Some columns of a matrix, in this order."""
        return self.node("Gather", [value, self.constant(np.array(numbers))], axis=1)

    def part(self, value: str, axis: int, begin: int, end: int) -> str:
        """A slice along an axis."""
        places = (np.array([number], dtype=np.int64) for number in (begin, end, axis))
        return self.node("Slice", [value, *map(self.constant, places)])
