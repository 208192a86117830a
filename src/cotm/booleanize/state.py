"""Reading booleanizers from model files, without pickle."""

from __future__ import annotations

from typing import Any

from ..core.decoding import UnknownError, Upgrade, damage_in, expect, upgraded
from .edges import EdgeThermometer
from .histograms import GradientHistogram
from .hypervectors import Hypervectors
from .image_union import ImageUnion
from .images import AdaptiveGaussianThreshold, ImageThermometer
from .ngrams import NGrams
from .packing import VERSION
from .tabular import Booleanizer, Categories, Thermometer
from .windows import TokenWindows

_CLASSES = {
    kind.__name__: kind
    for kind in (
        Thermometer,
        Categories,
        Booleanizer,
        AdaptiveGaussianThreshold,
        ImageThermometer,
        EdgeThermometer,
        GradientHistogram,
        ImageUnion,
        NGrams,
        Hypervectors,
        TokenWindows,
    )
}

#: From each earlier version of a state, meta and arrays, the step to the next version.
UPGRADES: dict[int, Upgrade] = {}


def is_own(booleanizer: Any) -> bool:
    """Whether it is one of cotm's booleanizers, which model files can hold."""
    return type(booleanizer) is _CLASSES.get(type(booleanizer).__name__)


def booleanizer_from_state(meta: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """Rebuild the transformer whose ``to_state()`` gave ``meta`` and ``arrays``.

    Everything is checked, since files can be damaged or malicious.

    Parameters
    ----------
    meta : dict
    arrays : dict of str to ndarray

    Returns
    -------
    Thermometer, Categories, Booleanizer, AdaptiveGaussianThreshold, ImageThermometer,
    EdgeThermometer, GradientHistogram, ImageUnion, NGrams, Hypervectors or TokenWindows

    Raises
    ------
    ValueError
        Where the state is damaged (DamagedError), or names what this version does not know
        (UnknownError).

    Examples
    --------
    >>> from cotm.booleanize import Thermometer
    >>> state = Thermometer(n_bits=3).fit([[1.0], [2.0]]).to_state()
    >>> booleanizer_from_state(*state).transform([[1.7]])
    array([[1]], dtype=uint8)
    """
    with damage_in("Damaged booleanizer state"):
        expect(isinstance(meta, dict), f"meta must be a dict, got {type(meta).__name__}")
        version = meta.get("version")
        meta, arrays = upgraded((meta, arrays), "version", version, VERSION, UPGRADES)
        name = meta.get("class")
        rule = f"class must be one of {sorted(_CLASSES)}, got {name!r:.200}"
        expect(isinstance(name, str), rule)
        if name not in _CLASSES:
            raise UnknownError(rule)
        return _CLASSES[str(name)]._from_state(meta, arrays)
