"""ONNX: raw values in, labels, votes and probabilities out, in standard operators only.

Sums are of whole numbers that the floats they are counted in hold exactly, so that no order of
adding changes them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .description import CannotExportError, Clause, Description, Member, Quantities, TableInput
from .onnx_graph import Graph
from .onnx_inputs import bits_of, reads_texts

OPTIONS: tuple[str, ...] = ()

#: The last versions that onnxruntime 1.17 knows.
_OPSET, _IR = 19, 9
#: Whole numbers up to these are exact in float32 and float64.
_FLOAT, _DOUBLE = 1 << 24, 1 << 53


def files(description: Description, path: Path) -> dict[Path, bytes]:
    """One file."""
    return {path: model(description).SerializeToString()}


def model(description: Description) -> Any:
    """The model as onnx has it."""
    try:
        import onnx
        from onnx import TensorProto, helper
    except ImportError as error:
        raise ImportError('ONNX needs onnx; pip install "cotm[onnx]"') from error
    if description.divisors is not None:
        raise CannotExportError(
            "ONNX",
            "votes are divided to the floor in more than 64 bits",
            "join the models with scale='none', or export each of them",
        )
    members = description.members
    if description.largest_vote >= _DOUBLE:
        raise CannotExportError("ONNX", "votes are above 2**53", "export JSON")
    if any(m.input.n_values != members[0].input.n_values for m in members):
        raise CannotExportError(
            "one input of ONNX", "members read X of different widths", "export each of them alone"
        )
    graph = Graph(helper)
    inputs = _inputs(members, helper, TensorProto)
    parts = [_votes(graph, member, description.n_outputs) for member in members]
    votes = parts[0] if len(parts) == 1 else graph.node("Sum", parts)
    outputs = _outputs(graph, votes, description, helper, TensorProto)
    made = helper.make_model(
        helper.make_graph(graph.nodes, "cotm", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        producer_name="cotm",
        producer_version=__version__,
        ir_version=_IR,
    )
    columns = [m.input for m in members if isinstance(m.input, TableInput)][:1]
    entries = {"classes": "\n".join(map(str, description.classes))}
    if columns:
        entries["columns"] = _json([column.name for column in columns[0].columns])
    helper.set_model_props(made, entries | {"classes": _json([*description.classes])})
    if made.ByteSize() >= 1 << 31:
        raise CannotExportError("one file of ONNX", "the model takes 2 GiB or more", "export JSON")
    onnx.checker.check_model(made)
    return made


def _json(values: list[Any]) -> str:
    import json

    return json.dumps(values)


def _inputs(members: tuple[Member, ...], helper: Any, types: Any) -> list[Any]:
    """Numbers as doubles, and texts where there are any; missing ones are NaN and empty."""
    width = members[0].input.n_values
    inputs = [helper.make_tensor_value_info("X", types.DOUBLE, ["rows", width])]
    if any(reads_texts(member.input) for member in members):
        inputs.append(helper.make_tensor_value_info("texts", types.STRING, ["rows", width]))
    return inputs


def _votes(graph: Graph, member: Member, n_outputs: int) -> str:
    """Votes of a member, as doubles (rows, outputs)."""
    grid = member.grid
    silent = Clause((), (0,) * n_outputs)  # where no clause votes: ONNX has no empty matrices
    clauses = member.clauses or (silent,)
    included = np.zeros((len(clauses), grid.n_literals), dtype=np.float32)
    for j, clause in enumerate(clauses):
        included[j, list(clause.literals)] = 1
    o, above = grid.n_features, grid.n_position_features
    asks, forbids = included[:, :o], included[:, o:]
    # most - misses = sum of what is asked for and there, less what is forbidden and there, plus:
    most = np.array([member.most(clause) for clause in clauses], dtype=np.float32)
    start = most - asks[:, above:].sum(axis=1)
    kernel = (asks - forbids)[:, above:]
    bits = bits_of(graph, member)
    if grid.is_whole:
        graded = graph.node("Gemm", [bits, graph.constant(kernel.T.copy()), graph.constant(start)])
        outputs = graph.node("Relu", [graded])
    else:
        patch = kernel.reshape(-1, grid.patch_height, grid.patch_width, grid.channels)
        found = graph.node(
            "Conv",
            [bits, graph.constant(patch.transpose(0, 3, 1, 2).copy())],
            strides=[grid.stride_rows, grid.stride_columns],
        )
        row, column = np.divmod(np.arange(grid.n_patches), grid.columns)
        truth = np.concatenate(
            [
                row[:, None] > np.arange(grid.rows - 1),
                column[:, None] > np.arange(grid.columns - 1),
            ],
            axis=1,
        ).astype(np.float32)
        misses = asks[:, :above] @ (1 - truth).T + forbids[:, :above] @ truth.T
        bias = (start[:, None] - misses).reshape(1, -1, grid.rows, grid.columns)
        graded = graph.node("Add", [found, graph.constant(bias.astype(np.float32))])
        best = graph.node("ReduceMax", [graded, graph.constant(np.array([2, 3]))], keepdims=0)
        # Whatever a fast way to convolve rounds, this takes back.
        outputs = graph.node("Relu", [graph.node("Round", [best])])
    kind = np.float32 if member.largest_vote < _FLOAT else np.float64
    weights = np.array([clause.weights for clause in clauses], dtype=kind)
    if kind is np.float64:
        outputs = graph.cast(outputs, "DOUBLE")
    return graph.cast(graph.node("MatMul", [outputs, graph.constant(weights)]), "DOUBLE")


def _predictions(
    graph: Graph, votes: str, quantities: Quantities, helper: Any, types: Any
) -> list[Any]:
    """What a regressor predicts, computed as Python does, and whole votes."""
    count = len(quantities.unit)
    divided = graph.node("Div", [votes, graph.constant(np.array(quantities.unit))])
    offset = graph.constant(np.array(quantities.offset))
    shape: list[Any] = ["rows", count]
    if quantities.one:
        predicted = graph.node("Add", [divided, offset])
        graph.node("Squeeze", [predicted, graph.constant(np.array([1]))], name="prediction")
        shape = ["rows"]
    else:
        graph.node("Add", [divided, offset], name="prediction")
    return [
        helper.make_tensor_value_info("prediction", types.DOUBLE, shape),
        helper.make_tensor_value_info("votes", types.INT64, ["rows", count]),
    ]


def _outputs(
    graph: Graph, votes: str, description: Description, helper: Any, types: Any
) -> list[Any]:
    """Labels, whole votes, and probabilities; or quantities and votes."""
    count = description.n_outputs
    graph.cast(votes, "INT64", name="votes")
    if description.quantities is not None:
        return _predictions(graph, votes, description.quantities, helper, types)
    shift = 0.5 if description.multilabel else 0.0
    margins = graph.node(
        "Div",
        [
            graph.node("Add", [votes, graph.constant(np.array(shift))]),
            graph.constant(np.array(float(description.margin))),
        ],
    )
    logits = graph.node("Mul", [margins, graph.constant(np.array(description.sharpness))])
    if description.multilabel:
        graph.node("Sigmoid", [logits], name="probabilities")
        yes = graph.node("GreaterOrEqual", [votes, graph.constant(np.array(0.0))])
        graph.cast(yes, "INT64", name="label")
        label = helper.make_tensor_value_info("label", types.INT64, ["rows", count])
    else:
        graph.node("Softmax", [logits], name="probabilities", axis=1)
        best = graph.node("ArgMax", [votes], axis=1, keepdims=0)
        classes = np.array(description.classes)
        numbers = all(type(value) is int for value in description.classes)
        if not numbers or classes.dtype.kind != "i":
            classes = np.array([str(value) for value in description.classes], dtype=object)
        graph.node("Gather", [graph.constant(classes), best], name="label")
        kind = types.STRING if classes.dtype == object else types.INT64
        label = helper.make_tensor_value_info("label", kind, ["rows"])
    return [
        label,
        helper.make_tensor_value_info("votes", types.INT64, ["rows", count]),
        helper.make_tensor_value_info("probabilities", types.DOUBLE, ["rows", count]),
    ]
