"""From what users pass as X to checked bits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array

from ..booleanize import (
    AdaptiveGaussianThreshold,
    BitFeature,
    Booleanizer,
    ImageThermometer,
    SequenceBooleanizer,
    bit_features_of,
    plain_array,
)
from ..booleanize.base import TableBooleanizer
from ..booleanize.frames import names_message, string_names
from ..booleanize.sequences import one_column
from ..core.checks import check_pair
from ..core.examples import Examples, as_examples
from ..core.gpu_arrays import as_gpu_array, on_device_of, on_gpu, to_host
from ..core.patches import PatchGrid, image_grid

#: Bits of a number in a table for regressors: a prediction has no finer steps than X.
QUANTITY_BITS = 40


class BitTransformer(Protocol):
    """What the parameter ``booleanize`` takes: a scikit-learn transformer that gives bits."""

    def fit_transform(self, X: Any) -> Any:
        """Learn how X becomes bits, and return them: (N, bits), or (N, H, W, bits) of images."""
        ...

    def transform(self, X: Any) -> Any:
        """Bits of X, as learned."""
        ...


class InputReader:
    """Reads X for one estimator: its parameters say what X is, fitting learns the bits.

    ``booleanizer`` is None where X already holds bits; ``bit_features`` then says what they
    mean, one for each channel, if X came with it. ``grid`` says where patches lie. Names and
    number of columns are kept here, because what scikit-learn knows of a frame depends on its
    version and the frame's.
    """

    bit_features: list[BitFeature] | None = None
    number_bits: int | None = None  # of a number in a table; None: as a Booleanizer has it

    def __init__(
        self,
        title: str,
        patch_shape: tuple[int, ...] | None,
        image_shape: tuple[int, ...] | None,
        stride: tuple[int, ...],
        booleanize: Any,
    ) -> None:
        self.title = title  # what messages call the estimator
        self.patch_shape = patch_shape
        self.image_shape = image_shape
        self.stride = stride
        self.booleanize = booleanize
        self.booleanizer: Any = None
        self.grid: PatchGrid | None = None
        self.example_shape: tuple[int, ...] | None = None  # of X's rows, before booleanizing
        self.n_features = 0  # of X
        self.names: list[str] | None = None  # of X's columns, where they are text

    @classmethod
    def from_parameters(cls, estimator: Any) -> InputReader:
        reader = cls.checked(
            type(estimator).__name__,
            patch_shape=estimator.patch_shape,
            image_shape=estimator.image_shape,
            stride=estimator.stride,
            booleanize=estimator.booleanize,
        )
        reader.number_bits = estimator._number_bits
        return reader

    @classmethod
    def checked(
        cls, title: str, *, patch_shape: Any, image_shape: Any, stride: Any, booleanize: Any
    ) -> InputReader:
        """A reader for parameters as users set them, or a ValueError that names a wrong one."""
        if patch_shape is not None:
            patch_shape = check_pair("patch_shape", patch_shape, lengths=(1, 2, 3), scalar=False)
        if image_shape is not None:
            if patch_shape is None:
                raise ValueError(
                    f"image_shape={image_shape!r} says how rows of X become images; "
                    "set patch_shape too, or leave image_shape out"
                )
            lengths = (len(patch_shape), len(patch_shape) + 1)
            image_shape = check_pair("image_shape", image_shape, lengths=lengths, scalar=False)
        stride = check_pair("stride", stride, lengths=(1, 2, 3), scalar=True)
        automatic = isinstance(booleanize, str) and booleanize == "auto"
        if isinstance(booleanize, SequenceBooleanizer) and image_shape is not None:
            raise ValueError(
                f"image_shape={image_shape!r} makes images of rows, but "
                f"{type(booleanize).__name__} reads texts and sequences; leave image_shape out"
            )
        if not (booleanize is None or automatic or hasattr(booleanize, "fit_transform")):
            raise ValueError(
                f"booleanize={booleanize!r} must be 'auto', None (X holds bits), or a transformer "
                "such as cotm.Thermometer(n_bits=8)"
            )
        return cls(title, patch_shape, image_shape, stride, booleanize)

    def check_unchanged(self, estimator: Any) -> None:
        """Raise ValueError if a parameter that describes X has changed since training began."""
        now = InputReader.from_parameters(estimator)
        for name in ("patch_shape", "image_shape", "stride", "booleanize"):
            before, after = getattr(self, name), getattr(now, name)
            if repr(before) != repr(after):
                raise ValueError(
                    f"{name}={after!r}, but training began with {before!r}; it cannot change on "
                    "the way, so set it back or begin anew with warm_start=False"
                )

    @property
    def reads_images(self) -> bool:
        return self.patch_shape is not None

    @property
    def reads_sequences(self) -> bool:
        """Whether X holds texts or sequences, one for each example."""
        return isinstance(self.booleanize, SequenceBooleanizer)

    def fit(self, X: Any, y: Any = None) -> Examples:
        """Check X, learn how it becomes bits, and return them; ``y`` may choose among them."""
        features = bit_features_of(X)  # the checks make a plain array of X
        X = self._start(X)
        if self.reads_sequences:
            bits = self.booleanizer.fit(X, y).transform(X)
        elif self.booleanizer is None:
            bits = X
        else:
            bits = self._in_slices(self.booleanizer.fit_transform, to_host(X))
        self.adopt(bits, features)
        assert self.grid is not None
        return as_examples(bits, self.grid)

    def fit_images(self, X: Any) -> NDArray[Any]:
        """As :meth:`fit`, of images whose bits are wanted later: return the images."""
        features = bit_features_of(X)
        images: NDArray[Any] = to_host(self._start(X))
        if self.booleanizer is None:
            bits = images
        elif hasattr(self.booleanizer, "fit"):
            bits = self.booleanizer.fit(images).transform(images[:1])
        else:
            bits = self.booleanizer.fit_transform(images)
        self.adopt(bits, features)
        assert self.grid is not None
        as_examples(bits, self.grid)  # before anything is learned from what are no bits
        return images

    def _start(self, X: Any) -> Any:
        """Check X, and choose what will make bits of it."""
        names = column_names(X)
        self.names = names
        X = self.check(X)
        if self.reads_sequences:
            self.n_features = 1
            self.example_shape = (1,) if self.reads_images else None
            self.booleanizer = clone(self.booleanize)
            return X
        self.begin(names, tuple(X.shape[1:]))
        if self.reads_images:
            self.booleanizer = self._image_booleanizer(X)
        else:
            self.booleanizer = self._table_booleanizer(X)
        return X

    def check(self, X: Any) -> Any:
        """X as it is read while nothing has been learned, or a ValueError."""
        return self._check(X, fitted=False)

    def begin(self, names: list[str] | None, shape: tuple[int, ...]) -> None:
        """Learn what examples look like: the names of columns, and their shape."""
        self.names = names
        self.n_features = int(np.prod(shape))
        if self.reads_images:
            self.example_shape = shape

    def adopt(self, bits: Any, features: list[BitFeature] | None) -> None:
        """Learn where patches lie in examples like these, and what their bits mean."""
        if bits.shape[-1] == 0:
            raise ValueError(
                "X became no bits at all: every column is constant; pass columns that differ "
                "between examples, or another booleanizer"
            )
        if self.reads_images:
            assert self.patch_shape is not None
            made_by = type(self.booleanizer).__name__ if self.booleanizer is not None else ""
            shape = tuple(bits.shape[1:])
            if len(shape) == 1 and self.reads_sequences:
                raise ValueError(
                    f"patch_shape={self.patch_shape} needs examples in places, but {made_by} makes "
                    "one row of bits of each; use TokenWindows, or leave patch_shape out"
                )
            self.grid = image_grid(shape, self.patch_shape, self.stride, made_by)
        elif bits.ndim != 2:
            raise ValueError(
                f"{type(self.booleanizer).__name__} makes examples of the shape {bits.shape[1:]}; "
                "set patch_shape, for windows of texts to (1,)"
            )
        else:
            self.grid = PatchGrid.flat(bits.shape[1])
        known = self.booleanizer is None and features and len(features) == self.grid.channels
        self.bit_features = features if known else None

    def read(self, X: Any) -> Examples:
        """Check X against what was learned, and return its bits."""
        quick = self._quick(X)
        return self.bits_of(self._checked(X)) if quick is None else quick

    def _quick(self, X: Any) -> Examples | None:
        """The bits of a table that is as it should be; None where it needs a closer look."""
        if self.reads_images or self.reads_sequences:
            return None
        if type(X) is list:
            with suppress(ValueError):  # of rows that are not of one length
                X = np.asarray(X)
        if isinstance(self.booleanizer, TableBooleanizer):
            bits = self.booleanizer.quick_bits(X)
        elif self.booleanizer is None:
            bits = self._quick_bits(X)
        else:
            bits = None
        if bits is None:
            return None
        assert self.grid is not None
        return Examples(bits.reshape(len(bits), *self.grid.image_shape), self.grid)

    def _quick_bits(self, X: Any) -> NDArray[np.uint8] | None:
        """X if it holds bits as they are taken."""
        if not self._is_plain(X) or X.ndim != 2 or X.shape[1] != self.n_features:
            return None
        if type(X) is not np.ndarray or (X.dtype == np.uint8 and X.max() > 1):
            return None
        return X.view(np.uint8)

    def read_images(self, X: Any) -> NDArray[Any]:
        """Check images against what was learned, and return them."""
        images: NDArray[Any] = to_host(self._checked(X))
        return images

    def bits_of(self, X: Any) -> Examples:
        """The bits of what was checked."""
        assert self.grid is not None
        if self.booleanizer is None:
            return as_examples(X, self.grid)
        return as_examples(self._in_slices(self.booleanizer.transform, to_host(X)), self.grid)

    def _in_slices(self, transform: Callable[[Any], Any], X: Any) -> Any:
        """What a booleanizer makes; of volumes it gets the slices one below the other."""
        if len(self.patch_shape or ()) != 3:
            return transform(X)
        count, depth, height, width, *channels = X.shape
        bits = transform(X.reshape(count, depth * height, width, *channels))
        return bits.reshape(count, depth, height, width, -1)

    def _checked(self, X: Any) -> Any:
        self._check_names(X)
        X = self._check(X, fitted=True)
        if self.reads_sequences:
            return X
        if self.reads_images and tuple(X.shape[1:]) != self.example_shape:
            raise ValueError(
                f"X has images of shape {tuple(X.shape[1:])}, but {self.title} was trained on "
                f"{self.example_shape}"
            )
        if not self.reads_images and X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but {self.title} is expecting {self.n_features} "
                "features as input"
            )
        return X

    def _check_names(self, X: Any) -> None:
        """The columns must be those of training, in the words of scikit-learn."""
        names = column_names(X)
        if names == self.names:
            return
        if names is None:
            complaint = "X does not have valid feature names, but {} was fitted with feature names"
        elif self.names is None:
            complaint = "X has feature names, but {} was fitted without feature names"
        else:
            raise ValueError(names_message(names, self.names))
        warnings.warn(complaint.format(self.title), UserWarning, stacklevel=6)

    def _check(self, X: Any, *, fitted: bool) -> Any:
        if self.reads_sequences:
            return one_column(X)[0]
        X = plain_array(X)
        if on_gpu(X):
            X = as_gpu_array(X)
            if not self._is_plain(X):
                X = to_host(X)  # scikit-learn's checks and the booleanizers work there
        if self.reads_images:
            return self._check_images(X)
        if is_frame(X):
            # Columns of a frame keep their types; the booleanizer looks at them.
            if len(X) == 0:
                raise ValueError("X holds no examples (0 rows)")
            return _numbers(X) if self.booleanize is None else X
        if len(getattr(X, "shape", ())) > 2:
            raise ValueError(
                f"X has {len(X.shape)} dimensions; set patch_shape, for example (10, 10), to learn "
                "from images, or reshape X to (N, features)"
            )
        if on_gpu(X) or (fitted and self._is_plain(X)):
            return X
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=None,
            ensure_all_finite="allow-nan",
            estimator=self.title,
            input_name="X",
        )
        if scipy.sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # the caller's matrix stays as it is
            X.sum_duplicates()
        return X

    def _is_plain(self, X: Any) -> bool:
        """Whether X needs none of scikit-learn's checks, which take longer than a prediction."""
        return (
            (type(X) is np.ndarray or on_gpu(X))
            and X.dtype in (np.uint8, np.bool_)
            and X.ndim >= 2
            and X.size > 0
            and self.names is None
        )

    def _check_images(self, X: Any) -> Any:
        assert self.patch_shape is not None
        if is_frame(X):
            X = _numbers(X)
        if scipy.sparse.issparse(X):
            raise ValueError("X is sparse, but patches need dense images; pass X.toarray()")
        if not self._is_plain(X):
            X = check_array(X, dtype=None, allow_nd=True, ensure_all_finite=True)
        if X.dtype.kind not in "biuf":
            raise ValueError(f"X has values of type {X.dtype}; images must hold numbers")
        if self.image_shape is not None and X.ndim == 2:
            if X.shape[1] != np.prod(self.image_shape):
                raise ValueError(
                    f"X has {X.shape[1]} columns, but image_shape={self.image_shape} needs "
                    f"{np.prod(self.image_shape)}"
                )
            X = X.reshape(len(X), *self.image_shape)
        # The shape is wrong or the patch too large: say so before anything is learned.
        image_grid(tuple(X.shape[1:]), self.patch_shape, self.stride)
        return X

    def _table_booleanizer(self, X: Any) -> Any:
        if self.booleanize is None:
            return None
        if self.booleanize != "auto":
            return clone(self.booleanize)
        if not is_frame(X) and holds_bits(X.data if scipy.sparse.issparse(X) else X):
            return None
        return Booleanizer() if self.number_bits is None else Booleanizer(self.number_bits)

    def _image_booleanizer(self, X: Any) -> Any:
        if self.booleanize is None or (self.booleanize == "auto" and holds_bits(X)):
            return None
        if self.booleanize != "auto":
            volumes = len(self.patch_shape or ()) == 3
            if volumes and not isinstance(self.booleanize, ImageThermometer):
                raise ValueError(
                    f"booleanize={self.booleanize!r} reads images, but patch_shape="
                    f"{self.patch_shape} volumes; use cotm.ImageThermometer(), 'auto', or bits"
                )
            return clone(self.booleanize)
        return self.gray_or_levels(gray=holds_gray(X))

    def gray_or_levels(self, *, gray: bool) -> Any:
        """The booleanizer for images of bytes, or of other numbers."""
        plane = len(self.patch_shape or ()) == 2
        return AdaptiveGaussianThreshold() if plane and gray else ImageThermometer()


def column_names(X: Any) -> list[str] | None:
    """Names of a frame's columns, if they are text; None where X has none."""
    if hasattr(X, "collect"):
        raise ValueError(
            "X is a lazy frame; call X.collect() first, or where that is too large, fit on "
            "cotm.Stream(X, target=...)"
        )
    return string_names(X.columns) if is_frame(X) else None


def is_frame(X: Any) -> bool:
    """Whether X has columns of their own types."""
    return hasattr(X, "columns") and not isinstance(X, np.ndarray)


def _numbers(frame: Any) -> Any:
    return frame.to_numpy()


def holds_gray(X: Any) -> bool:
    """Whether images are 8-bit: bytes, or other integers that fill the range of bytes."""
    if X.dtype == np.uint8:
        return True
    return X.dtype.kind in "iu" and X.min() >= 0 and 127 < X.max() < 256


def holds_bits(values: Any) -> bool:
    """Whether all values are 0 or 1, and no texts."""
    if values.dtype.kind in "iu":  # without arrays of the size of X on the way
        with on_device_of(values):
            return bool(values.size == 0 or (values.min() >= 0 and values.max() <= 1))
    if values.dtype.kind == "f":
        return bool(((values == 0) | (values == 1)).all())
    return bool(values.dtype == np.bool_)
