"""Reading texts, sequences of symbols, and series of numbers, of any length."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..core.checks import check_choice, shortened
from ..core.decoding import expect, expect_keys, expect_type
from .described import Description, with_description
from .descriptions import BitFeature
from .frames import string_names
from .packing import VERSION

#: What an example is: a text read as words or as characters, a sequence of symbols, or a series
#: of numbers.
KINDS = ("words", "characters", "symbols", "numbers")

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
#: Stands between the symbols of a phrase in a model file; between words a space is enough.
_SEPARATOR = "\x1f"
_JOINTS = {"words": " ", "characters": "", "symbols": _SEPARATOR}


@dataclass(frozen=True)
class Sequences:
    """Sequences one after the other: of the numbers of symbols, or of values.

    Example i is ``ids[starts[i]:starts[i + 1]]``.
    """

    symbols: list[str]
    ids: NDArray[Any]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def rows(self) -> NDArray[np.int64]:
        """The example that each symbol is of."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)

    def parts(self, symbols: int) -> Iterator[tuple[int, Sequences]]:
        """The same in pieces of about so many symbols, each with its first row."""
        first = 0
        while first < len(self):
            end = int(np.searchsorted(self.starts, self.starts[first] + symbols, side="left"))
            last = min(max(end, first + 1), len(self))
            ids = self.ids[self.starts[first] : self.starts[last]]
            yield (
                first,
                Sequences(self.symbols, ids, self.starts[first : last + 1] - self.starts[first]),
            )
            first = last


class SequenceBooleanizer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """What the booleanizers for texts, sequences and series share.

    An estimator that has one as ``booleanize`` takes what it takes: a list of texts or
    sequences, or a table with one column of them.
    """

    kind: str
    n_bits_out_: int
    n_features_in_ = 1
    _kinds: tuple[str, ...] = KINDS[:3]
    _description: Description

    def _read(self, X: Any) -> Sequences:
        kind = check_choice("kind", self.kind, self._kinds)
        return read_values(X) if kind == "numbers" else read_symbols(X, kind)

    def bits_shape(self, shape: tuple[int, ...] = ()) -> tuple[int, ...]:
        """The shape of the bits of one example.

        Parameters
        ----------
        shape : ignored

        Returns
        -------
        tuple of int
        """
        return (self.n_bits_out_,)

    def describe(self) -> list[BitFeature]:
        """What each output bit means, in order.

        Returns
        -------
        list of BitFeature
        """
        check_is_fitted(self)
        return list(self._description.features())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name of each output bit.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects
        """
        return np.array([str(feature) for feature in self.describe()], dtype=object)

    def _described(self, bits: Any) -> Any:
        return with_description(bits, self._description)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_bits_out_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def one_column(X: Any) -> tuple[Any, list[str] | None]:
    """The examples in X, and the name of its column if it is a frame."""
    if isinstance(X, str | bytes):
        raise ValueError(f"X={shortened(X)} is one text; pass a list of texts")
    names = None
    if hasattr(X, "columns") and not isinstance(X, np.ndarray):
        names = string_names(X.columns)
        if X.shape[1] != 1:
            raise ValueError(
                f"X has {X.shape[1]} columns, but texts are read from one; choose it, for example "
                "with X[['text']]"
            )
        X = X.to_numpy()
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUT" and X.shape[1] == 1:
        X = X[:, 0]
    if not hasattr(X, "__len__"):
        X = list(X)
    if len(X) == 0:
        raise ValueError("X holds no examples (0 rows)")
    return X, names


def read_symbols(X: Any, kind: str) -> Sequences:
    """Texts as words or characters, or sequences of symbols, with the symbols numbered."""
    numbers: dict[str, int] = {}
    ids: list[int] = []
    ends = [0]
    for row, example in enumerate(one_column(X)[0]):
        for symbol in _symbols(example, kind, row):
            ids.append(numbers.setdefault(symbol, len(numbers)))
        ends.append(len(ids))
    return Sequences([*numbers], np.array(ids, dtype=np.int64), np.array(ends, dtype=np.int64))


def _symbols(example: Any, kind: str, row: int) -> Sequence[str]:
    """The symbols of one example; a missing one has none."""
    if example is None or (isinstance(example, float) and example != example):
        return ()
    if type(example).__name__ == "NAType":
        return ()
    if kind == "symbols":
        if isinstance(example, str | bytes) or not hasattr(example, "__iter__"):
            raise ValueError(
                f"row {row}, counted from 0, is {shortened(example)}, but kind='symbols' takes "
                "sequences of symbols; for texts set kind='words' or kind='characters'"
            )
        parts = sorted(example, key=str) if isinstance(example, set | frozenset) else example
        return [_checked(str(part), row) for part in parts]
    if not isinstance(example, str):
        raise ValueError(
            f"row {row}, counted from 0, is {shortened(example)}, but kind={kind!r} takes texts; "
            "for sequences of symbols set kind='symbols'"
        )
    return _WORD.findall(example.lower()) if kind == "words" else example.lower()


def _checked(symbol: str, row: int) -> str:
    if _SEPARATOR in symbol:
        raise ValueError(
            f"row {row}, counted from 0, has the symbol {shortened(symbol)}, in which is the "
            "character U+001F; replace it"
        )
    return symbol


def read_values(X: Any) -> Sequences:
    """Series of numbers as float64, NaN where one is missing."""
    parts, ends = [], [0]
    for row, example in enumerate(one_column(X)[0]):
        try:
            values = np.asarray(example, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"row {row}, counted from 0, is {shortened(example)}, but kind='numbers' takes "
                "series of numbers"
            ) from error
        if values.ndim != 1 or np.isinf(values).any():
            raise ValueError(
                f"row {row}, counted from 0, must be one series of finite numbers (NaN where one "
                f"is missing), but has the shape {values.shape}"
                + (" and an infinite one" if np.isinf(values).any() else "")
            )
        parts.append(values)
        ends.append(ends[-1] + len(values))
    return Sequences([], np.concatenate(parts), np.array(ends, dtype=np.int64))


def phrase_name(symbols: Sequence[str], kind: str) -> str:
    """A phrase as it is kept."""
    return _JOINTS[kind].join(symbols)


def phrase_parts(name: str, kind: str) -> list[str]:
    """What ``phrase_name`` joined."""
    return [*name] if kind == "characters" else name.split(_JOINTS[kind])


def shown(name: str, kind: str) -> str:
    """A phrase as rules write it: blanks of characters can be seen."""
    if kind == "characters":
        return repr(name)
    return name.replace(_SEPARATOR, " ")


def state_of(booleanizer: SequenceBooleanizer, names: list[str]) -> dict[str, Any]:
    """The part of a state that JSON holds."""
    return {
        "class": type(booleanizer).__name__,
        "version": VERSION,
        "params": booleanizer._parameters(),  # type: ignore[attr-defined]
        "names": names,
    }


def read_state(
    meta: dict[str, Any], types: Mapping[str, type | tuple[type, ...]]
) -> tuple[dict[str, Any], list[str]]:
    """Parameters, which must be of these types, and names; everything is checked."""
    expect_keys(meta, ("class", "version", "params", "names"), "meta")
    expect_keys(meta["params"], types, "params")
    for name, kinds in types.items():
        value = meta["params"][name]
        allowed = kinds if isinstance(kinds, tuple) else (kinds,)
        expect(type(value) in allowed, f"{name} is {value!r:.200}")
    expect_type(meta["names"], list, "names")
    for name in meta["names"]:
        expect_type(name, str, "a name")
    return meta["params"], meta["names"]
