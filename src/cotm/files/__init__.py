"""Model files: safetensors with a versioned JSON header. Reading one executes nothing."""

from .container import ModelFileError
from .model_files import check_class_names, check_saveable, load, save

__all__ = ["ModelFileError", "check_class_names", "check_saveable", "load", "save"]
