"""Reading booleanizers from model files, without pickle."""

from __future__ import annotations

from typing import Any

from .checks import VERSION, expect
from .images import AdaptiveGaussianThreshold, ImageThermometer
from .tabular import Booleanizer, Categories, Thermometer

_CLASSES = {
    kind.__name__: kind
    for kind in (Thermometer, Categories, Booleanizer, AdaptiveGaussianThreshold, ImageThermometer)
}


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
    Thermometer, Categories, Booleanizer, AdaptiveGaussianThreshold or ImageThermometer

    Raises
    ------
    ValueError
        If anything is off.

    Examples
    --------
    >>> from cotm.booleanize import Thermometer
    >>> state = Thermometer(n_bits=3).fit([[1.0], [2.0]]).to_state()
    >>> booleanizer_from_state(*state).transform([[1.7]])
    array([[1]], dtype=uint8)
    """
    expect(isinstance(meta, dict), f"meta must be a dict, got {type(meta).__name__}")
    name, version = meta.get("class"), meta.get("version")
    expect(
        isinstance(name, str) and name in _CLASSES,
        f"class must be one of {sorted(_CLASSES)}, got {name!r:.200}",
    )
    expect(
        type(version) is int and version == VERSION,
        f"version must be {VERSION}, got {version!r:.200}; a newer cotm may be needed",
    )
    return _CLASSES[str(name)]._from_state(meta, arrays)
