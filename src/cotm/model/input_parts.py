"""X that comes in parts: what must be known of all of them before any of them becomes bits."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import clone

from ..booleanize import (
    Booleanizer,
    ImageBooleanizer,
    ImageThermometer,
    Recount,
    TableSummary,
    Thermometer,
    bit_features_of,
)
from ..booleanize.base import TableBooleanizer
from ..booleanize.frames import names_message
from ..core.gpu_arrays import to_host
from .inputs import InputReader, column_names, holds_bits, holds_gray, is_frame

#: Rows of the first part by which a reader is told what all of X looks like.
_HEAD_ROWS = 2
#: Gives recounts of all parts, empty ones of which are made by the given one.
RecountParts = Callable[[Recount], Iterable[Recount]]


@dataclass(frozen=True)
class PartLooks:
    """How a part of X looks to an estimator."""

    n_rows: int
    kind: str  # "frame", "sparse matrix" or "array"
    names: list[str] | None  # of columns
    shape: tuple[int, ...]  # of a row
    head: Any  # some rows; None where there are none
    dtype: np.dtype[Any] | None = None  # of all its values
    is_bits: bool = False
    low: float = 0.0  # of whole numbers
    high: float = 0.0
    summary: TableSummary | None = None  # where a booleanizer learns from one

    @classmethod
    def of(cls, estimator: Any, X: Any, *, also_bits: bool = False) -> PartLooks:
        """Look at a part. ``also_bits``: with a summary where all are bits, since others are not.

        X is refused as ``fit`` would refuse it.
        """
        reader = InputReader.from_parameters(estimator)
        names = column_names(X)
        kind = "frame" if is_frame(X) else "sparse matrix" if scipy.sparse.issparse(X) else "array"
        if X.shape[0] == 0:
            return cls(0, kind, names, tuple(X.shape[1:]), None)
        head = X.iloc[:_HEAD_ROWS] if hasattr(X, "iloc") else X[:_HEAD_ROWS]
        checked = reader.check(X)
        looks = {"n_rows": int(X.shape[0]), "kind": kind, "names": names, "head": head}
        looks["shape"] = tuple(X.shape[1:])
        if kind != "frame" or reader.reads_images:
            values = checked.data if scipy.sparse.issparse(checked) else checked
            looks |= {"dtype": values.dtype, "is_bits": holds_bits(values)}
            if values.dtype.kind in "iu" and values.size:
                looks |= {"low": float(values.min()), "high": float(values.max())}
        only_bits = bool(looks.get("is_bits")) and reader.booleanize == "auto"
        learner = None if only_bits and not also_bits else _summarising(reader)
        if learner is not None:
            looks["summary"] = learner.summary().update(_as_table(reader, checked))
        return cls(**looks)


def count_again(estimator: Any, X: Any, empty: Recount) -> Recount:
    """The numbers of a part counted again, as a copy of an empty recount says."""
    reader, recount = InputReader.from_parameters(estimator), copy.deepcopy(empty)
    return recount.update(_as_table(reader, reader.check(X))) if X.shape[0] else recount


def check_alike(looks: Sequence[PartLooks]) -> PartLooks:
    """The first part that has rows; a ValueError names one that is not as this is."""
    first_number, first = next(
        ((number, part) for number, part in enumerate(looks) if part.n_rows), (0, None)
    )
    if first is None:
        raise ValueError("X holds no examples (0 rows)")
    for number, part in enumerate(looks):
        where = f"partition {number} of X"
        if part.names != first.names and part.kind == first.kind:
            told = names_message(part.names or [], first.names or [])
            raise ValueError(f"{where} has other columns than partition {first_number}: {told}")
        if part.shape != first.shape:
            raise ValueError(
                f"{where} has rows of shape {part.shape}, but those of partition {first_number} "
                f"have {first.shape}; all must have the same columns"
            )
        if part.n_rows and part.kind != first.kind:
            raise ValueError(
                f"{where} is of the kind {part.kind}, but partition {first_number} is of the kind "
                f"{first.kind}; pass one kind"
            )
    return first


def fit_reader(estimator: Any, looks: Sequence[PartLooks], recounts: RecountParts) -> InputReader:
    """What :meth:`InputReader.fit` learns from all of X, from how its parts look."""
    first = check_alike(looks)
    reader = InputReader.from_parameters(estimator)
    features = bit_features_of(first.head)
    head = to_host(reader.check(first.head))
    reader.begin(first.names, tuple(head.shape[1:]))
    seen = [part for part in looks if part.n_rows]
    reader.booleanizer = _learned(reader, head, seen, recounts)
    made = reader.booleanizer
    bits = head if made is None else reader._in_slices(made.transform, head)
    reader.adopt(bits, features)
    return reader


def needs_summaries_of_bits(estimator: Any, looks: Sequence[PartLooks]) -> bool:
    """Whether some parts hold bits and others do not, so that all must be summarised."""
    seen = [part for part in looks if part.n_rows]
    return any(part.summary is not None for part in seen) and any(
        part.summary is None for part in seen
    )


def _learned(
    reader: InputReader, head: Any, looks: Sequence[PartLooks], recounts: RecountParts
) -> Any:
    """The booleanizer, fitted on all parts; None where X holds bits."""
    automatic = isinstance(reader.booleanize, str)
    if reader.booleanize is None:
        return None
    if automatic and looks[0].dtype is not None and all(part.is_bits for part in looks):
        return None
    images = _image_booleanizer(reader, head, looks) if reader.reads_images else None
    if images is not None and not isinstance(images, ImageThermometer):
        return images.fit(head)  # which learns nothing but their shape
    learner = _summarising(reader)
    summary = learner.summary()
    for part in looks:
        summary.merge(part.summary)
    while not summary.is_exact:
        refined = summary.recount()
        for recount in recounts(summary.recount()):
            refined.merge(recount)
        summary.refine(refined)
    if not reader.reads_images:
        return learner.fit_summary(summary)
    thresholds = [code.thresholds for code in summary.number_codes() if code is not None]
    return ImageThermometer(learner.n_bits)._adopt(thresholds)


def _image_booleanizer(reader: InputReader, head: Any, looks: Sequence[PartLooks]) -> Any:
    """The booleanizer for images like all of these, as yet not fitted."""
    if not isinstance(reader.booleanize, str):
        return reader._image_booleanizer(head)
    dtype = np.result_type(*(part.dtype for part in looks if part.dtype is not None))
    ends = [min(part.low for part in looks), max(part.high for part in looks)]
    return reader.gray_or_levels(gray=holds_gray(np.array(ends).astype(dtype)))


def _summarising(reader: InputReader) -> Any:
    """What learns from summaries; None for booleanizers of images that need none."""
    given = reader.booleanize
    if given is None:
        return None
    if not reader.reads_images and isinstance(given, str):
        return Booleanizer() if reader.number_bits is None else Booleanizer(reader.number_bits)
    if not reader.reads_images and isinstance(given, TableBooleanizer):
        return clone(given)
    if reader.reads_images and isinstance(given, str | ImageThermometer):
        # Every channel is a column, and every pixel a row.
        return Thermometer((ImageThermometer() if isinstance(given, str) else given).n_bits)
    if reader.reads_images and isinstance(given, ImageBooleanizer) and not given.learns_pixels:
        return None
    raise ValueError(
        f"booleanize={given!r:.200} learns from all of X at once, but X comes in parts; fit it on "
        "some rows, make bits with its transform, and set booleanize=None"
    )


def _as_table(reader: InputReader, X: Any) -> Any:
    """What a summary is made of."""
    if not reader.reads_images:
        return to_host(X)
    images: NDArray[Any] = to_host(X)
    plane = len(reader.patch_shape or ())
    channels = images.shape[plane + 1] if images.ndim > plane + 1 else 1
    return images.reshape(-1, channels)
