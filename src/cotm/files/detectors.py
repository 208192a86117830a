"""Detectors of outliers in a model file: the whole file of the classifier, and where they begin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import __version__
from ..core.checks import check_integer
from ..core.decoding import damage_in, expect, expect_integer, expect_keys, expect_type
from .container import Tensors, unpack
from .decode import MAX_VERSION, decode
from .saved_model import SavedModel
from .upgrade import FORMAT

#: The class of such a file.
DETECTOR = "CoTMOutlierDetector"
FIELDS = ("format", "cotm", "class", "parameters", "offset")
PARAMETERS = ("contamination", "copies", "random_state")
#: The tensor that is the classifier's file.
CLASSIFIER = "classifier"
_MOST_COPIES = 2**31


@dataclass(frozen=True)
class SavedDetector:
    """A fitted detector of outliers."""

    classifier: SavedModel
    parameters: dict[str, Any]
    offset: float  # of its scores, below which rows are outliers
    format: int = FORMAT
    version: str = __version__


def encode_detector(saved: SavedDetector, classifier: bytes) -> tuple[dict[str, Any], Tensors]:
    """Header and tensors, with the classifier's file as bytes."""
    header = {
        "format": FORMAT,
        "cotm": __version__,
        "class": DETECTOR,
        "parameters": saved.parameters,
        "offset": saved.offset,
    }
    return header, {CLASSIFIER: np.frombuffer(classifier, dtype=np.uint8)}


def decode_detector(header: dict[str, Any], tensors: Tensors) -> SavedDetector:
    """The detector that was saved. Header and tensors may be hostile."""
    expect_keys(header, FIELDS, "the header of a detector")
    expect_integer(header, "format", FORMAT, FORMAT)
    version = expect_type(header["cotm"], str, "cotm")
    expect(len(version) <= MAX_VERSION, f"cotm is {version!r:.100}")
    parameters = header["parameters"]
    expect_keys(parameters, PARAMETERS, "parameters of a detector")
    share, seed = parameters["contamination"], parameters["random_state"]
    expect(
        share == "auto" or (type(share) is float and 0 < share <= 0.5),
        f"contamination is {share!r:.100}",
    )
    check_integer("copies", parameters["copies"], 1, _MOST_COPIES)
    expect(
        seed is None or (type(seed) is int and 0 <= seed < 2**64), f"random_state is {seed!r:.100}"
    )
    offset = expect_type(header["offset"], float, "offset")
    expect(math.isfinite(offset), f"offset is {offset!r}")
    expect([*tensors] == [CLASSIFIER], "it does not hold its classifier and nothing else")
    tensor = tensors[CLASSIFIER]
    expect(tensor.dtype == np.uint8 and tensor.ndim == 1, "its classifier is no bytes of a file")
    with damage_in("the classifier"):
        inner, arrays = unpack(tensor.tobytes())
        expect(inner.get("class") == "CoTMClassifier", "it is of another class")
        classifier = decode(inner, arrays)
    return SavedDetector(classifier, dict(parameters), offset, version=version)
