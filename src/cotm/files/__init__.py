"""Model files: safetensors with a versioned JSON header. Reading one executes nothing.

A file is made of a :class:`SavedModel` and becomes one again. ``encode`` and ``decode`` know
which fields and tensors there are; the modules they use know one kind of thing each, both ways:
``parameters``, ``classes``, ``inputs``, ``progress``, ``snapshots``, ``texts``. ``composites``
puts files of several models into one, a :class:`SavedComposite`, ``detectors`` the file of a
classifier into that of a :class:`SavedDetector`. ``upgrade`` brings files of
earlier versions up to date, and ``container`` knows the bytes. ``docs/files.md`` describes the
format.
"""

from .classes import check_class_names
from .detectors import SavedDetector
from .errors import ModelFileError
from .inputs import same_inputs
from .loading import load, load_bytes
from .machine_models import SavedMachineModel
from .parameters import OPTIONS, READER_PARAMETERS
from .saved_model import SavedComposite, SavedModel
from .saving import check_saveable, save

__all__ = [
    "OPTIONS",
    "READER_PARAMETERS",
    "ModelFileError",
    "SavedComposite",
    "SavedDetector",
    "SavedMachineModel",
    "SavedModel",
    "check_class_names",
    "check_saveable",
    "load",
    "load_bytes",
    "same_inputs",
    "save",
]
