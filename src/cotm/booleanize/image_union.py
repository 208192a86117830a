"""A booleanizer for images: the bits of several others side by side."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from ..core.decoding import UnknownError, expect, expect_keys, expect_type
from ..core.limits import MAX_FEATURES
from .described import Description
from .descriptions import BitFeature, placed
from .edges import EdgeThermometer
from .histograms import GradientHistogram
from .image_base import ImageBooleanizer, images_at_once
from .images import AdaptiveGaussianThreshold, ImageThermometer
from .packing import VERSION

#: What a union can have. It is none of them, so there is none in another.
_KINDS: dict[str, type[ImageBooleanizer]] = {
    kind.__name__: kind
    for kind in (AdaptiveGaussianThreshold, ImageThermometer, EdgeThermometer, GradientHistogram)
}
# More than anyone needs, so that a damaged model file cannot ask for all memory.
_MOST = 64


class ImageUnion(ImageBooleanizer, _BaseComposition):  # type: ignore[misc]
    """Images as the bits of several booleanizers side by side.

    So one machine sees gray levels, edges and gradients of an image at once. Each booleanizer has
    a grid of its own, of pixels or cells; here all bits of an image are in one place, those of the
    first booleanizer first, row by row. So a classifier looks at them as a whole, with
    ``patch_shape=(1, 1)``, and rules say where a bit is: ``pixel(2,3) > 51``.

    Parameters
    ----------
    booleanizers : list of booleanizers for images, or of (str, booleanizer) pairs
        Without names each is called as its class in small letters, ``edgethermometer``, with
        ``-1``, ``-2`` and so on where there are several of a class. By their names
        ``set_params(edgethermometer__levels=[0])`` sets parameters. Names that bits have do not
        depend on it.

    Attributes
    ----------
    booleanizers_ : list of booleanizers
        The fitted ones, in this order.
    image_shape_ : tuple of int
        Height, width and channels of the training images; all others must have the same.
    n_channels_ : int
        Number of channels of the training images.
    n_bits_out_ : int
        Bits of an image: those of all booleanizers.

    Notes
    -----
    Where several booleanizers of a class give bits of the same name that mean different things,
    such as histograms of cells of different sizes, those of the first are called
    ``cell-1(2,3) gradient 45° > median``, those of the second ``cell-2(2,3) gradient 45°``.

    Examples
    --------
    >>> import numpy as np
    >>> from cotm import EdgeThermometer, ImageThermometer
    >>> images = np.array([[[0, 0, 0], [0, 60, 90]]], dtype=np.uint8)
    >>> edges = EdgeThermometer(["edge x 3 px"], levels=[], positive=[0], negative=[])
    >>> union = ImageUnion([edges, ImageThermometer(1)])
    >>> union.fit_transform(images)
    array([[[[1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1]]]], dtype=uint8)
    >>> union.get_feature_names_out()[[0, 5, 11]].tolist()
    ['pixel(0,0) edge x 3 px > 0', 'pixel(1,2) edge x 3 px > 0', 'pixel(1,2) > 30']
    >>> union.set_params(imagethermometer__n_bits=2).fit(images).n_bits_out_
    18
    """

    def __init__(
        self, booleanizers: Sequence[ImageBooleanizer | tuple[str, ImageBooleanizer]]
    ) -> None:
        self.booleanizers = booleanizers

    # Parameters ----------------------------------------------------------------------

    @property
    def _named(self) -> list[tuple[str, Any]]:
        """All of them with their names; none where the parameter is no list of them."""
        given = self.booleanizers
        if not isinstance(given, list | tuple):
            return []
        if self._have_names:
            return [(name, made) for name, made in given]
        names = [type(made).__name__.lower() for made in given]
        count, seen = Counter(names), Counter[str]()
        for k, name in enumerate(names):
            seen[name] += 1
            names[k] = name if count[name] == 1 else f"{name}-{seen[name]}"
        return [*zip(names, given, strict=True)]

    @_named.setter
    def _named(self, pairs: list[tuple[str, Any]]) -> None:
        self.booleanizers = pairs if self._have_names else [made for _, made in pairs]

    @property
    def _have_names(self) -> bool:
        given = self.booleanizers
        return len(given) > 0 and all(_is_pair(entry) for entry in given)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, and with ``deep`` those of the booleanizers as ``name__parameter``."""
        return dict(self._get_params("_named", deep=deep))

    def set_params(self, **params: Any) -> ImageUnion:
        """Set parameters, booleanizers by their names, and theirs as ``name__parameter``."""
        if "booleanizers" in params:
            self.booleanizers = params.pop("booleanizers")
        self._set_params("_named", **params)
        return self

    def __repr__(self, N_CHAR_MAX: float = math.inf) -> str:
        """All of it in one line, by which unions are told apart."""
        return " ".join(super().__repr__(N_CHAR_MAX).split())

    def _checked(self) -> list[ImageBooleanizer]:
        """The booleanizers to be, as yet not fitted."""
        given = self.booleanizers
        if not isinstance(given, list | tuple):
            raise ValueError(
                f"booleanizers={given!r:.200} must be a list of booleanizers for images, or of "
                "(name, booleanizer) pairs"
            )
        if not 0 < len(given) <= _MOST:
            raise ValueError(
                f"booleanizers has {len(given)} entries; pass from 1 to {_MOST}, such as "
                "[EdgeThermometer(), ImageThermometer(8)]"
            )
        named = any(_is_pair(entry) for entry in given)
        for entry in given:
            if named and not _is_pair(entry):
                raise ValueError(
                    f"booleanizers holds {entry!r:.200} beside (name, booleanizer) pairs; name "
                    "all of them or none"
                )
            made = entry[1] if named else entry
            if type(made) is not _KINDS.get(type(made).__name__):
                nested = " in a union" if isinstance(made, ImageUnion) else ""
                raise ValueError(
                    f"booleanizers holds {made!r:.200}{nested}; each must be one of "
                    f"{', '.join(_KINDS)}"
                )
        self._validate_names([name for name, _ in self._named])
        return [made for _, made in self._named]

    # Fitting -------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> ImageUnion:
        """Learn how images become bits, each booleanizer for itself.

        Parameters
        ----------
        X : array-like of shape (n_images, height, width) or (n_images, height, width, channels)
            Images that all booleanizers can read.
        y : ignored

        Returns
        -------
        self
        """
        made = self._checked()
        images = self._channels(X, fitting=True)
        return self._adopt([clone(each).fit(images) for each in made], images.shape[1:])

    def _adopt(self, made: list[ImageBooleanizer], shape: tuple[int, ...]) -> ImageUnion:
        self.booleanizers_ = made
        self.image_shape_ = tuple(map(int, shape))
        self.n_channels_ = self.image_shape_[2]
        self.n_bits_out_ = sum(math.prod(each.bits_shape(shape)) for each in made)
        self._features = Description(partial(_describe, tuple(made), self.image_shape_))
        return self

    @property
    def learns_pixels(self) -> bool:  # type: ignore[override]
        """Whether any of them learns from the pixels of training images."""
        return any(made.learns_pixels for _, made in self._named)

    def _check_values(self, images: NDArray[Any]) -> None:
        """Each of them checks for itself."""

    def _channels(self, X: Any, *, fitting: bool = False) -> NDArray[Any]:
        images = super()._channels(X, fitting=fitting)
        if not fitting:
            self.bits_shape(images.shape[1:])
            for each in self.booleanizers_:
                each._check_values(images)
        return images

    def bits_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the bits of one image: all of them in one place.

        Parameters
        ----------
        shape : tuple of int
            Shape of the image, (H, W) or (H, W, C).

        Returns
        -------
        tuple of int
        """
        check_is_fitted(self)
        if (*shape, 1)[:3] != self.image_shape_:
            raise ValueError(
                f"images are of shape {tuple(shape)}, but {type(self).__name__} was fitted on "
                f"{self.image_shape_}, rows, columns and channels"
            )
        return 1, 1, self.n_bits_out_

    def _write(self, images: NDArray[Any], bits: NDArray[np.uint8]) -> None:
        flat = bits.reshape(len(bits), self.n_bits_out_)
        step = images_at_once(self.n_bits_out_)
        for begin in range(0, len(images), step):
            block, end = slice(begin, begin + step), 0
            for each in self.booleanizers_:
                rows, columns, *own = each.bits_shape(images.shape[1:])
                start, end = end, end + rows * columns * math.prod(own)
                # A view: what is written into it lies in the bits of the union.
                part = flat[block, start:end].reshape(-1, rows, columns, math.prod(own))
                each._write(images[block], part)

    # What bits mean ------------------------------------------------------------------

    def describe(self, shape: tuple[int, ...] | None = None) -> list[BitFeature]:
        """What each bit of an image means, with the pixel or cell that it is of.

        Parameters
        ----------
        shape : tuple of int, optional
            Shape of one image, (H, W) or (H, W, C); it must be that of the training images.

        Returns
        -------
        list of BitFeature
        """
        check_is_fitted(self)
        if shape is not None:
            self.bits_shape(shape)
        return list(self._features.features())

    def _description(self) -> Description:
        return self._features

    # States --------------------------------------------------------------------------

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The fitted transformer as a JSON-serialisable dict and named numeric arrays.

        Returns
        -------
        meta : dict
        arrays : dict of str to ndarray
        """
        check_is_fitted(self)
        states = [each.to_state() for each in self.booleanizers_]
        meta = {
            "class": type(self).__name__,
            "version": VERSION,
            "names": [name for name, _ in self._named] if self._have_names else None,
            "shape": [*self.image_shape_],
            "parts": [part for part, _ in states],
        }
        return meta, {
            f"{k}.{name}": array
            for k, (_, arrays) in enumerate(states)
            for name, array in arrays.items()
        }

    @classmethod
    def _from_state(cls, meta: dict[str, Any], arrays: dict[str, Any]) -> ImageUnion:
        expect_keys(meta, ("class", "version", "names", "shape", "parts"), "meta")
        shape, parts = meta["shape"], expect_type(meta["parts"], list, "parts")
        expect(
            type(shape) is list
            and len(shape) == 3
            and all(type(side) is int and side >= 1 for side in shape)
            and math.prod(shape) <= MAX_FEATURES,
            f"shape is {shape!r:.100}",
        )
        expect(isinstance(arrays, dict), f"arrays must be a dict, got {type(arrays).__name__}")
        expect(1 <= len(parts) <= _MOST, f"there are {len(parts)} parts")
        own: list[dict[str, Any]] = [{} for _ in parts]
        for key, array in arrays.items():
            place, _, name = key.partition(".")
            known = place.isascii() and place.isdigit() and place == str(int(place))
            expect(known and int(place) < len(parts), f"array {key!r:.100} is of no part")
            own[int(place)][name] = array
        made = [_part(part, some) for part, some in zip(parts, own, strict=True)]
        expect(all(each.n_channels_ == shape[2] for each in made), "channels of parts do not fit")
        unfitted: list[Any] = [clone(each) for each in made]
        if meta["names"] is not None:
            names = expect_type(meta["names"], list, "names")
            expect(len(names) == len(made), f"names must be {len(made)}, got {len(names)}")
            unfitted = [
                (expect_type(name, str, "a part's name"), each)
                for name, each in zip(names, unfitted, strict=True)
            ]
        union = cls(unfitted)
        union._checked()
        union._adopt(made, tuple(shape))
        expect(union.n_bits_out_ <= MAX_FEATURES, f"an image has {union.n_bits_out_} bits")
        return union


def _part(meta: Any, arrays: dict[str, Any]) -> Any:
    """The part whose state this is."""
    expect_type(meta, dict, "a part")
    name = meta.get("class")
    rule = f"a part's class must be one of {sorted(_KINDS)}, got {name!r:.200}"
    expect(isinstance(name, str), rule)
    if name not in _KINDS:
        raise UnknownError(rule)
    expect(meta.get("version") == VERSION, f"a part's version is {meta.get('version')!r:.100}")
    return _KINDS[str(name)]._from_state(meta, arrays)  # type: ignore[attr-defined]


def _describe(made: Sequence[ImageBooleanizer], shape: tuple[int, ...]) -> list[BitFeature]:
    """What each bit of an image means, as a rule about the whole image says it."""
    senses: dict[type, set[Any]] = {}
    for each in made:
        senses.setdefault(type(each), set()).add(each._unsaid())
    found: list[BitFeature] = []
    for k, each in enumerate(made):
        before = sum(type(other) is type(each) for other in made[:k])
        number = before + 1 if len(senses[type(each)]) > 1 else None
        rows, columns, _ = each.bits_shape(shape)
        channels = each.describe()
        found += [
            placed(channel, "", y, x, number=number)
            for y in range(rows)
            for x in range(columns)
            for channel in channels
        ]
    return found


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, tuple | list) and len(entry) == 2 and isinstance(entry[0], str)
