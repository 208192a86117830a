"""From what a classifier has learned to its description."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..booleanize import (
    AdaptiveGaussianThreshold,
    BitFeature,
    EdgeThermometer,
    GradientHistogram,
    ImageThermometer,
    ImageUnion,
    SequenceBooleanizer,
)
from ..booleanize.base import TableBooleanizer
from ..booleanize.blur import gaussian_kernel
from ..booleanize.filters import FILTERS
from ..booleanize.state import is_own
from ..core.checks import check_choice
from ..core.patches import PatchGrid
from ..model.fitted import Fitted
from ..model.inputs import InputReader
from ..model.probabilities import Sharpness, known
from .description import (
    Adaptive,
    Clause,
    Column,
    Description,
    Edges,
    Gradients,
    ImageInput,
    LabelColumn,
    Levels,
    Member,
    Quantities,
    TableInput,
    Test,
    Value,
    bits_of_channels,
    plain,
)

#: What an export reads: what the model reads, or the bits that its booleanizer makes of it.
INPUTS = ("raw", "bits")


def describe(
    members: Sequence[tuple[str, Fitted]],
    *,
    divisors: Sequence[int] | None,
    margin: int,
    sharpness: Sharpness,
    inputs: str = "raw",
) -> Description:
    """What several classifiers, or one model, have learned, as plain data."""
    check_choice("inputs", inputs, INPUTS)
    first = members[0][1]
    return Description(
        members=tuple(_member(name, fitted, inputs) for name, fitted in members),
        divisors=None if divisors is None else tuple(divisors),
        classes=tuple(plain(label) for label in first.classes),
        multilabel=first.multilabel,
        margin=int(margin),
        sharpness=known(sharpness),
        quantities=_quantities(first),
        label_columns=_label_columns(first),
    )


def _label_columns(fitted: Fitted) -> tuple[LabelColumn, ...] | None:
    columns = fitted.columns
    if columns is None:
        return None
    return tuple(
        LabelColumn(name, tuple(plain(label) for label in classes))
        for name, classes in zip(columns.names, columns.classes, strict=True)
    )


def _quantities(fitted: Fitted) -> Quantities | None:
    scaling = fitted.scaling
    if scaling is None:
        return None
    unit = np.multiply(scaling.unit, fitted.machine.n_states_)  # as Scaling.quantities has it
    return Quantities(tuple(unit.tolist()), scaling.offset, scaling.one)


def _member(name: str, fitted: Fitted, inputs: str) -> Member:
    grid, machine = fitted.reader.grid, fitted.machine
    assert grid is not None
    if len(fitted.reader.patch_shape or ()) == 3:
        raise ValueError(
            f"patch_shape={fitted.reader.patch_shape!r} looks at patches of volumes, which no "
            "format can say yet; cotm.load and the machine's state have all of it"
        )
    tolerance = machine.parameters.tolerance
    return Member(
        name=name,
        input=_bits_input(fitted.reader) if inputs == "bits" else _raw_input(fitted.reader),
        grid=grid,
        tolerance=tolerance,
        clauses=tuple(clauses_of(machine.memory_ >= 0, machine.weights_, tolerance, grid)),
    )


# Clauses -----------------------------------------------------------------------------


def clauses_of(
    included: NDArray[np.bool_], weights: NDArray[Any], tolerance: int, grid: PatchGrid
) -> list[Clause]:
    """Those that can vote; equal ones are one, with the sum of their weights."""
    keep = included.any(axis=1) & (weights != 0).any(axis=1)
    if tolerance == 1:
        o = grid.n_features
        keep &= ~(included[:, :o] & included[:, o:]).any(axis=1)
    sums: dict[bytes, list[Any]] = {}
    packed = np.packbits(included, axis=1)
    for j in np.flatnonzero(keep):
        literals = np.flatnonzero(included[j])
        if tolerance == 1 and ranges_of(grid, literals) is None:
            continue
        entry = sums.setdefault(packed[j].tobytes(), [literals, 0, ()])
        entry[1] = entry[1] + weights[j].astype(object)  # sums may leave 32 bits
        entry[2] += (int(j),)
    return [
        Clause(tuple(literals.tolist()), tuple(int(weight) for weight in total), numbers)
        for literals, total, numbers in sums.values()
        if any(total)
    ]


#: First and last depth, row and column of patches.
Ranges = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]


def ranges_of(grid: PatchGrid, literals: Any) -> Ranges | None:
    """Where the patches lie that position literals leave; None where they leave none.

    Literal t of a row says that it is above t, its negation that it is not.
    """
    lasts = grid.depths - 1, grid.rows - 1, grid.columns - 1
    low, high = [0, 0, 0], [*lasts]
    starts = 0, lasts[0], lasts[0] + lasts[1]
    for literal in literals:
        negated, feature = divmod(int(literal), grid.n_features)
        if feature >= grid.n_position_features:
            continue
        axis = sum(feature >= start for start in starts[1:])
        t = feature - starts[axis]
        if negated:
            high[axis] = min(high[axis], t)
        else:
            low[axis] = max(low[axis], t + 1)
    if any(first > last for first, last in zip(low, high, strict=True)):
        return None
    return (low[0], high[0]), (low[1], high[1]), (low[2], high[2])


# Inputs ------------------------------------------------------------------------------


def _bits_input(reader: InputReader) -> TableInput | ImageInput:
    """The bits themselves."""
    grid = reader.grid
    assert grid is not None
    if reader.reads_images:
        return ImageInput(grid.image_shape, bits_of_channels(grid.channels))
    features = reader.bit_features
    if hasattr(reader.booleanizer, "describe"):
        features = reader.booleanizer.describe()
    names = [f"x{k}" for k in range(grid.channels)]
    if features is not None and len(features) == grid.channels:
        names = [str(feature) for feature in features]
    elif reader.booleanizer is None and reader.names is not None:
        names = reader.names
    columns = tuple(Column(name, "bit") for name in names)
    return TableInput(columns, tuple(Test(k, ">", 0.5) for k in range(len(columns))))


def _raw_input(reader: InputReader) -> TableInput | ImageInput:
    """What the model reads."""
    booleanizer = reader.booleanizer
    if booleanizer is None:
        return _bits_input(reader)
    if not is_own(booleanizer):
        raise ValueError(
            f"a model with booleanize={booleanizer!r:.200} cannot be exported with it, since only "
            "cotm's own booleanizers are known here; export the model behind it with "
            "inputs='bits'"
        )
    if isinstance(booleanizer, SequenceBooleanizer):
        raise ValueError(
            f"booleanize={booleanizer!r:.200} reads texts or sequences, which no format "
            "does; export the model behind it with inputs='bits'"
        )
    if isinstance(booleanizer, ImageUnion):
        raise ValueError(
            "an ImageUnion reads images in several ways at once, which no format does yet; export "
            "the model behind it with inputs='bits'"
        )
    if isinstance(booleanizer, TableBooleanizer):
        return _table_input(booleanizer, reader)
    assert reader.example_shape is not None
    height, width, *channels = reader.example_shape
    shape = (int(height), int(width), int(channels[0]) if channels else 1)
    return ImageInput(shape, _planes(booleanizer))


def _table_input(booleanizer: TableBooleanizer, reader: InputReader) -> TableInput:
    codes = booleanizer.codes_
    names = reader.names or [f"x{k}" for k in range(len(codes))]
    tells = [bool(getattr(code, "_tells_booleans_apart", False)) for code in codes]
    columns = tuple(
        Column(str(name), str(code.type or code.kind), apart)
        for name, code, apart in zip(names, codes, tells, strict=True)
    )
    return TableInput(columns, tuple(_test(f, tells) for f in booleanizer.describe()))


def _test(feature: BitFeature, tells_booleans: list[bool]) -> Test:
    assert feature.index is not None
    if feature.op == "bit":
        return Test(feature.index, ">", 0.5)
    value: Value | None = feature.value
    if isinstance(value, bool) and not tells_booleans[feature.index]:
        value = int(value)  # a column of booleans may come back as 0 and 1
    return Test(feature.index, feature.op, value)


def _planes(booleanizer: Any) -> Levels | Adaptive | Edges | Gradients:
    if isinstance(booleanizer, ImageThermometer):
        return Levels(tuple(tuple(t.tolist()) for t in booleanizer.thresholds_))
    if isinstance(booleanizer, AdaptiveGaussianThreshold):
        window, constant = booleanizer._parameters()
        return Adaptive(tuple(map(float, gaussian_kernel(window))), constant)
    if isinstance(booleanizer, EdgeThermometer):
        filters, *quantiles = booleanizer._parameters()
        kernels = (FILTERS[name].tolist() for name in filters)
        return Edges(
            tuple(tuple(map(tuple, kernel)) for kernel in kernels),
            *(tuple(map(int, parts)) for parts in quantiles),
        )
    assert isinstance(booleanizer, GradientHistogram)
    cell, step, parts = booleanizer._parameters()
    return Gradients(
        cell=cell,
        step=step,
        directions=int(booleanizer.directions),
        signed=bool(booleanizer.signed),
        quantiles=tuple(parts),
        each=booleanizer.colour == "each",
    )
