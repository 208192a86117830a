"""Search of settings: :class:`cotm.CoTMSearchCV`, and what can be searched."""

from .dimensions import Share
from .search import CoTMSearchCV

__all__ = ["CoTMSearchCV", "Share"]
