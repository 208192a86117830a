"""Knowing training data again, so that no training is resumed on other data."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..core.examples import Examples
from ..core.gpu_arrays import on_device_of, to_host
from ..core.sparse_targets import SparseTargets, Targets
from .augmented import AugmentedImages

#: What is said of the changes of examples that are trained on as they are.
NOT_AUGMENTED = "none"
#: What is said of early stopping that goes by the accuracy, and of a training without ``eval_set``.
NOT_SCORED = NO_EVAL_SET = "none"

#: Bytes of dense bits that are packed at a time, and rows; a sparse matrix is never dense as a
#: whole.
_BYTES, _MOST_ROWS = 16_000_000, 1 << 16

#: What may differ, and how to say so.
_PARTS = {
    "rows": "X has {now} rows, but training began with {before}",
    "augment": "augment is {now}, but training began with {before}",
    "examples": "X holds other values than the data that training began with",
    "targets": "y holds other labels than the data that training began with",
    "weights": "the examples have other weights than when training began",
    "shuffle": "shuffle={now}, but training began with {before}",
    "held_out": "early stopping holds out {now:g} of the examples, but training began with "
    "{before:g}",
    "eval_set": "{now}",
    "scoring": "scoring is {now}, but training began with {before}",
}


#: Of the parts, for those who read them from files.
DATA_TYPES = {
    "rows": int,
    "augment": str,
    "examples": str,
    "targets": str,
    "weights": str,
    "shuffle": bool,
    "held_out": float,
    "eval_set": str,
    "scoring": str,
}


def describe_data(
    examples: Examples | AugmentedImages,
    targets: Targets,
    weight: NDArray[np.float64],
    *,
    shuffle: bool,
    held_out: float,
    eval_set: tuple[Examples, Targets] | None = None,
    scoring: str = NOT_SCORED,
    like: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What identifies the data of a training, small enough for a model file.

    ``like`` describes data to compare with: sparse or dense, the examples are taken as those were.
    """
    augment = examples.changes.text if isinstance(examples, AugmentedImages) else NOT_AUGMENTED
    return {
        "rows": len(examples),
        "augment": augment,
        "examples": _digest_examples(examples, None if like is None else like["examples"]),
        "targets": _digest_targets(targets),
        "weights": _digest(weight),
        "shuffle": bool(shuffle),
        "held_out": float(held_out),
        "eval_set": _digest_eval_set(eval_set, None if like is None else like["eval_set"]),
        "scoring": scoring,
    }


def has_other_judges(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether scores on these data cannot be compared with those on the data before."""
    if now["eval_set"] != NO_EVAL_SET:  # whatever is trained on
        return any(before[part] != now[part] for part in ("eval_set", "scoring"))
    return before != now


def check_same_data(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Refuse to resume a training on other data than its own."""
    for part, text in _PARTS.items():
        if before[part] != now[part]:
            said = text.format(before=before[part], now=now[part])
            if part == "eval_set":
                said = _differing_eval_set(before[part], now[part])
            raise ValueError(
                f"resume=True, but {said}; pass the "
                "same data, or set warm_start=True and call fit without resume to go on with other"
            )


def _differing_eval_set(before: str, now: str) -> str:
    if now == NO_EVAL_SET:
        return "there is no eval_set, and training began with one"
    if before == NO_EVAL_SET:
        return "there is an eval_set, and training began without"
    return "eval_set holds other examples or labels than the one that training began with"


def check_same_seed(random_state: Any, seed: int) -> None:
    """Refuse to resume a training that began with another seed than the one that is set."""
    if isinstance(random_state, numbers.Integral) and int(random_state) != seed:
        raise ValueError(
            f"resume=True with random_state={random_state}, but the training that there is began "
            f"with {seed}; set it back, or call fit without resume to begin anew"
        )


def _digest(*arrays: NDArray[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _digest_targets(targets: Targets) -> str:
    if isinstance(targets, SparseTargets):
        return _digest(targets.starts, targets.outputs, targets.values)
    return _digest(np.packbits(targets) if targets.dtype == np.uint8 else targets)


def _digest_eval_set(eval_set: tuple[Examples, Targets] | None, like: str | None) -> str:
    if eval_set is None:
        return NO_EVAL_SET
    examples, targets = eval_set
    form = None if like in (None, NO_EVAL_SET) else like
    return f"{_digest_examples(examples, form)} {_digest_targets(targets)}"


def _digest_examples(examples: Examples | AugmentedImages, like: str | None) -> str:
    """A digest in the form of another one, of sparse or dense examples, or in their own."""
    if isinstance(examples, AugmentedImages):
        return f"pixels:{_digest(examples.pixels)}"
    bits = examples.bits
    is_sparse = hasattr(bits, "indptr")
    if like is None:
        like = "csr: " if is_sparse else "bits:"
    if like.startswith("csr:"):
        return f"csr: {_digest_columns(examples)}"
    digest = hashlib.blake2b(digest_size=16)
    for part in _parts(examples):
        if is_sparse:
            part = part.toarray()
        with on_device_of(part):
            packed = np.packbits(part.reshape(-1))
        digest.update(np.ascontiguousarray(to_host(packed)).data)
    return f"bits:{digest.hexdigest()}"


def _digest_columns(examples: Examples) -> str:
    """A digest of where rows begin among the columns that are set, and of these."""
    lengths = [np.diff(part.indptr) for part in map(_as_csr, _parts(examples))]
    digest = hashlib.blake2b(digest_size=16)
    digest.update(np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64).data)
    for part in map(_as_csr, _parts(examples)):
        digest.update(np.ascontiguousarray(part.indices, dtype=np.int64).data)
    return digest.hexdigest()


def _as_csr(part: Any) -> Any:
    if hasattr(part, "indptr"):
        return part
    return scipy.sparse.csr_array(to_host(part).reshape(len(part), -1))


def _parts(examples: Examples) -> Iterator[Any]:
    """Bits of some examples after the other."""
    width = int(np.prod(examples.grid.image_shape))
    rows = (
        max(1, min(_BYTES // width, _MOST_ROWS) // 8) * 8
    )  # whole bytes, wherever the parts are cut
    for first in range(0, len(examples), rows):
        yield examples.bits[first : first + rows]
