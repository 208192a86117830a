"""Writing model files, and knowing before training what no file can hold."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..core.whole_files import replace_file
from .classes import check_class_names, decode_classes, encode_classes
from .composites import check_composite_header, encode_composite
from .container import check_header_text, pack
from .decode import decode_header
from .detectors import SavedDetector, decode_detector, encode_detector
from .encode import encode
from .errors import not_saveable
from .inputs import encode_booleanizer
from .parameters import OPTIONS, check_settings, from_plain, plain_parameters
from .quantities import decode_names
from .saved_model import SavedComposite, SavedModel
from .texts import unfold

_logger = logging.getLogger(__name__)


def save(saved: SavedModel | SavedComposite | SavedDetector, path: str | os.PathLike[str]) -> None:
    """Write a model; the file appears whole or not at all.

    What :func:`cotm.files.load` would refuse is not written.
    """
    if isinstance(saved, SavedDetector):
        data = _packed_detector(saved)
    else:
        data = _packed_composite(saved) if isinstance(saved, SavedComposite) else _packed(saved)
    replace_file(Path(path), data, "the model")
    _logger.info("saved %s, %d bytes", path, len(data), extra={"file": os.fspath(path)})


def _packed(saved: SavedModel) -> bytes:
    """The bytes of a file with a classifier."""
    header, tensors = encode(saved)
    text = json.dumps(header)
    try:
        check_header_text(text)
        header, _ = unfold(json.loads(text), tensors)
        decode_header(header, saved.fitted.reader.booleanizer)
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise not_saveable(error) from error
    return pack(text, tensors)


def _packed_composite(saved: SavedComposite) -> bytes:
    """The bytes of a file with a composite."""
    header, tensors = encode_composite(saved, [_packed(member) for member in saved.members])
    try:
        check_composite_header(json.loads(json.dumps(header)))
    except (ValueError, TypeError) as error:
        raise not_saveable(error) from error
    return pack(json.dumps(header), tensors)


def _packed_detector(saved: SavedDetector) -> bytes:
    """The bytes of a file with a detector of outliers."""
    try:
        header, tensors = encode_detector(saved, _packed(saved.classifier))
        decode_detector(json.loads(json.dumps(header)), tensors)
    except (ValueError, TypeError) as error:
        raise not_saveable(error) from error
    return pack(json.dumps(header), tensors)


def check_saveable(parameters: dict[str, Any], classes: NDArray[Any], booleanizer: Any) -> None:
    """Raise what saving a model would raise, as far as it is known before training.

    ``parameters`` are the estimator's that files hold; ``booleanizer`` is the fitted one, or None.
    """
    known = {name for options in OPTIONS.values() for name in options}
    plain = plain_parameters({k: v for k, v in parameters.items() if k in known})
    check_settings(from_plain(json.loads(json.dumps(plain))))
    check_class_names(classes)
    values, type_name = encode_classes(classes)
    try:
        if len(values) == 1:  # a quantity
            decode_names(values, type_name)
        else:
            decode_classes(json.loads(json.dumps(values)), type_name, multilabel=True)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise not_saveable(error) from error
    if booleanizer is not None:
        encode_booleanizer(booleanizer)
