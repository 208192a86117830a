"""Images that are changed anew in every pass of a training."""

from .changes import Augmentation, Changes, as_pixels

__all__ = ["Augmentation", "Changes", "as_pixels"]
