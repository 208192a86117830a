"""What is raised where a model cannot be read or written."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A file is not a model file of cotm, is damaged, or was written by a newer cotm."""


def not_saveable(error: Exception) -> ValueError:
    """The error for a model whose file could not be read, because reading it raises ``error``."""
    return ValueError(f"the model cannot be saved, since it could not be loaded again: {error}")
