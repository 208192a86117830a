"""Examples that come in batches, because they are more than memory holds."""

from .stream import Batch, Stream

__all__ = ["Batch", "Stream"]
