"""Reading model files: the model that was saved, or an error that says whose fault it is."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from typing import Any, TypeVar

from .. import __version__
from ..core.decoding import DamagedError, UnknownError
from .composites import COMPOSITE, decode_composite
from .container import Tensors, read_container, unpack
from .decode import decode
from .detectors import DETECTOR, SavedDetector, decode_detector
from .errors import ModelFileError
from .machine_models import MACHINE_MODELS, SavedMachineModel, decode_machine_model
from .saved_model import SavedComposite, SavedModel

Model = TypeVar("Model")
#: What a file may hold.
Saved = SavedModel | SavedComposite | SavedDetector | SavedMachineModel

_logger = logging.getLogger(__name__)


def load(path: str | os.PathLike[str], restore: Callable[[Saved], Model]) -> Model:
    """Read a model file, and return what ``restore`` makes of the model in it.

    Whatever ``restore`` refuses is a fault of the file, as what this package refuses itself.
    """
    return _load(os.fspath(path), lambda: read_container(path), restore)


def load_bytes(data: bytes, name: str, restore: Callable[[Saved], Model]) -> Model:
    """The same from the bytes of a file that messages call by a name."""
    return _load(name, lambda: unpack(data), restore)


def _load(
    name: str,
    read: Callable[[], tuple[dict[str, Any], Tensors]],
    restore: Callable[[Saved], Model],
) -> Model:
    version = None
    try:
        header, tensors = read()
        version = header.get("cotm")
        if header.get("class") == COMPOSITE:
            model = restore(decode_composite(header, tensors))
        elif header.get("class") == DETECTOR:
            model = restore(decode_detector(header, tensors))
        elif header.get("class") in MACHINE_MODELS:
            model = restore(decode_machine_model(header, tensors))
        else:
            model = restore(decode(header, tensors))
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error
    except (OSError, MemoryError):  # not the file's fault
        raise
    except Exception as error:  # whatever a hostile file provokes, it is the file's fault
        raise ModelFileError(f"{name}: {_explained(error, version)}") from error
    _logger.info("read %s, of cotm %.100s", name, version, extra={"file": name})
    return model


def _explained(error: Exception, version: Any) -> str:
    """What is wrong with a file whose checksum is right, and that a version of cotm wrote.

    It is damaged, or it is of a newer version than this one. A newer version may change
    anything; what this version does not know must come from a newer one.
    """
    if isinstance(error, DamagedError | UnknownError):
        problem = str(error)
    else:
        problem = f"{type(error).__name__}: {error!s:.500}"
    theirs, ours = _release(version), _release(__version__)
    if theirs > ours:
        return (
            f"this file was written by cotm {version:.100}, which is newer than this one "
            f"({__version__}): {problem}; upgrade cotm"
        )
    if theirs == ours and isinstance(error, UnknownError):
        return (
            f"this file was written by a newer cotm {__version__} than this one: {problem}; "
            "upgrade cotm"
        )
    return f"the model file is damaged: {problem}"


def _release(version: Any) -> tuple[int, ...]:
    """The numbers of a version; none where it is no version, which is before all others."""
    text = version if isinstance(version, str) else ""
    found = re.match(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", text)
    return tuple(map(int, found.groups())) if found else ()
