"""Arrays of bits that carry what the bits mean, for the rules of a classifier behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from .descriptions import BitFeature
from .frames import unmask


class Description:
    """What the bits of a fitted transformer mean, computed when it is first needed.

    It does not change when the transformer is fitted again.
    """

    def __init__(self, make: Callable[[], list[BitFeature]]) -> None:
        self._make = make
        self._features: list[BitFeature] | None = None

    def features(self) -> list[BitFeature]:
        """The meaning of each bit, in order."""
        if self._features is None:
            self._features = self._make()
        return self._features

    def __reduce__(self) -> Any:
        # The pickle is the same before and after the features were computed, for caches that
        # identify objects by their pickles.
        return Description, (self._make,)


class DescribedBits(np.ndarray):
    """An array of bits with a description of its last axis.

    Choosing rows and pickling keep the description. Everything else that makes a new array of this
    one loses it; so does copying, because NumPy copies before it rearranges. Writing into the
    array loses it too, unless another view is written to. So a description may be lost, but
    is never wrong. Arithmetic gives plain arrays.
    """

    bit_description: Description | None

    def __array_finalize__(self, origin: Any) -> None:
        self.bit_description = None

    def __getitem__(self, key: Any) -> Any:
        result = super().__getitem__(key)
        if isinstance(result, DescribedBits) and result.ndim == self.ndim and _picks_rows(key):
            result.bit_description = self.bit_description
        return result

    def __setitem__(self, key: Any, value: Any) -> None:
        self.bit_description = None
        super().__setitem__(key, value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out", ())
        written = out if out else inputs[:1] if method == "at" else ()
        for array in written:
            if isinstance(array, DescribedBits):
                array.bit_description = None
        if out:
            kwargs["out"] = tuple(_plain(array) for array in out)
        result = getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
        return out[0] if len(out) == 1 else result

    def sort(self, *args: Any, **kwargs: Any) -> None:
        """Sort in place, which mixes columns."""
        self.bit_description = None
        super().sort(*args, **kwargs)

    def partition(self, *args: Any, **kwargs: Any) -> None:
        """Partition in place, which mixes columns."""
        self.bit_description = None
        super().partition(*args, **kwargs)

    def __reduce__(self) -> Any:
        parts: Any = super().__reduce__()
        rebuild, arguments, state = parts
        return rebuild, arguments, (state, self.bit_description)

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state[0])  # type: ignore[misc]
        self.bit_description = state[1]

    def __repr__(self) -> str:
        return repr(_plain(self))


def _plain(array: Any) -> Any:
    """The same array without its description."""
    return array.view(np.ndarray) if isinstance(array, DescribedBits) else array


def _picks_rows(key: Any) -> bool:
    """Whether an index chooses rows and nothing on the other axes."""
    if isinstance(key, tuple):
        rest = key[1:]
        if any(part is not Ellipsis and not _is_everything(part) for part in rest):
            return False
        key = key[0] if key else None
    return isinstance(key, slice | list | range | np.ndarray)


def _is_everything(part: Any) -> bool:
    return isinstance(part, slice) and part == slice(None)


def with_description(bits: Any, description: Description) -> Any:
    """The same bits, dense or sparse, with a description."""
    if scipy.sparse.issparse(bits):
        bits.bit_description = description
        return bits
    described = bits.view(DescribedBits)
    described.bit_description = description
    return described


def bit_features_of(X: Any) -> list[BitFeature] | None:
    """What the bits of X mean if a transformer of cotm made them, otherwise None."""
    if not isinstance(X, DescribedBits) and not scipy.sparse.issparse(X):
        return None
    description = getattr(X, "bit_description", None)
    return description.features() if isinstance(description, Description) else None


def plain_array(X: Any) -> Any:
    """X without a description, and with missing values in place of a mask."""
    return _plain(unmask(X))
