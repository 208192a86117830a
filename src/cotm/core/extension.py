"""The native core for those who can do without it."""

from __future__ import annotations

import functools
import importlib
from typing import Any


@functools.cache
def native_core() -> Any:
    """The native core, or None where it was not built: then NumPy does the same, slowly."""
    try:
        return importlib.import_module("cotm._native")
    except ImportError:
        return None
