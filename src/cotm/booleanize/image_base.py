"""What the booleanizers for images share: checks of images, names of channels, saved states."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..core.decoding import expect, expect_keys, expect_type
from ..core.system import resolve_n_jobs
from .described import Description, with_description
from .descriptions import BitFeature
from .frames import unmask
from .packing import VERSION

#: Pixels per block of work: large enough for NumPy, small enough for the processor's cache.
BLOCK = 200_000

# Bits per call of the native core, after which Ctrl-C is heard, and bits that keep a thread busy
# long enough to be worth its start.
_BLOCK_BITS = 64_000_000
_THREAD_BITS = 1_000_000

# More than anyone needs, so that a damaged model file cannot ask for all memory.
_MAX_CHANNELS = 65536


class ImageBooleanizer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """What the booleanizers for images share."""

    n_channels_: int
    n_bits_out_: int
    n_jobs: int | None = None
    #: Whether it learns from the pixels of training images, and not from their shape alone.
    learns_pixels: bool = False

    def bits_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the bits of one image.

        Parameters
        ----------
        shape : tuple of int
            Shape of the image, (H, W) or (H, W, C).

        Returns
        -------
        tuple of int
        """
        return (*shape[:2], self.n_bits_out_)

    def transform(self, X: Any) -> NDArray[np.uint8]:
        """Turn pixels into bits.

        Parameters
        ----------
        X : array-like of shape (n_images, height, width) or (n_images, height, width, channels)
            Images like those of training.

        Returns
        -------
        ndarray of uint8 of shape (n_images, rows, columns, n_bits_out_)
            Rows and columns as `bits_shape` has them.
        """
        check_is_fitted(self)
        images = self._channels(X)
        shape = images.shape[1:] if np.ndim(X) == 4 else images.shape[1:3]
        bits = np.empty((len(images), *self.bits_shape(shape)), dtype=np.uint8)
        self._write(images, bits if bits.ndim == 4 else bits[..., None])
        described: NDArray[np.uint8] = with_description(bits, self._description())
        return described

    def _write(self, images: NDArray[Any], bits: NDArray[np.uint8]) -> None:
        """Write the bits of checked images of (N, H, W, C), those of each in one piece."""
        raise NotImplementedError

    def _channels(self, X: Any, *, fitting: bool = False) -> NDArray[Any]:
        """Images as (N, H, W, C), checked."""
        images = np.asarray(unmask(X))
        if images.ndim == 3:
            images = images[..., None]
        if images.ndim != 4 or 0 in images.shape[1:] or (fitting and len(images) == 0):
            raise ValueError(
                f"images of shape {np.shape(X)} must have the shape (n_images, height, width) or "
                "(n_images, height, width, channels), with no empty axis; reshape them"
            )
        if images.dtype.kind not in "biuf":
            raise ValueError(
                f"images of dtype {images.dtype} must hold numbers; convert them with astype"
            )
        if images.dtype.kind == "b":
            images = images.astype(np.uint8)
        self._check_values(images)
        if not fitting and images.shape[3] != self.n_channels_:
            raise ValueError(
                f"X has {images.shape[3]} channels, but {type(self).__name__} is expecting "
                f"{self.n_channels_} channels as input"
            )
        return images

    def _check_values(self, images: NDArray[Any]) -> None:
        """Raise a ValueError for pixels that this booleanizer cannot take."""
        raise NotImplementedError

    def _in_blocks(
        self,
        images: NDArray[Any],
        bits: NDArray[np.uint8],
        make: Callable[[NDArray[np.uint8], NDArray[np.uint8], int], None],
    ) -> None:
        """Bits of checked images of bytes: ``make(block, out, threads)`` writes some at a time."""
        step = images_at_once(math.prod(bits.shape[1:]))
        for begin in range(0, len(images), step):
            block = np.ascontiguousarray(images[begin : begin + step], dtype=np.uint8)
            out = bits[begin : begin + step]
            make(block, out, resolve_n_jobs(self.n_jobs, out.size / _THREAD_BITS))

    def _channel_features(self, name: str, channel: int) -> list[BitFeature]:
        """What each bit of one input channel, called ``name``, means."""
        raise NotImplementedError

    def describe(self, shape: tuple[int, ...] | None = None) -> list[BitFeature]:
        """What each output channel means, the same for every pixel.

        Parameters
        ----------
        shape : tuple of int, optional
            Shape of one image, (H, W) or (H, W, C); its channels must be as many as in training.

        Returns
        -------
        list of BitFeature
        """
        check_is_fitted(self)
        if shape is not None and (shape[2] if len(shape) > 2 else 1) != self.n_channels_:
            raise ValueError(
                f"shape={tuple(shape)} must have the {self.n_channels_} channels of the training "
                "images"
            )
        return [
            feature
            for channel, name in enumerate(self._channel_names())
            for feature in self._channel_features(name, channel)
        ]

    def _channel_names(self) -> list[str]:
        """What the channels are called that have bits of their own."""
        if self.n_channels_ == 1:
            return ["pixel"]
        return [f"channel {channel}" for channel in range(self.n_channels_)]

    def _description(self) -> Description:
        return Description(partial(list, self.describe()))

    def _unsaid(self) -> Any:
        """What the names of bits leave unsaid of the parameters, so that it must be equal where
        names are."""
        return None

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name of each output channel.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects
        """
        return np.array([str(feature) for feature in self.describe()], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def images_at_once(n_bits: int) -> int:
    """How many images of so many bits make a block of work for the native core."""
    return max(1, _BLOCK_BITS // max(1, n_bits))


def check_bytes(images: NDArray[Any]) -> None:
    """Raise a ValueError unless all pixels are integers from 0 to 255."""
    if images.dtype == np.uint8:
        return
    wrong = ~((images >= 0) & (images <= 255) & (images == np.rint(images)))
    if wrong.any():
        raise ValueError(
            f"pixels must be integers from 0 to 255, but one is {images[wrong][0]}; scale "
            "them first, those from 0 to 1 with (255 * X).round()"
        )


def image_meta(transformer: ImageBooleanizer, params: dict[str, Any]) -> dict[str, Any]:
    """The part of a transformer's state that JSON holds."""
    return {
        "class": type(transformer).__name__,
        "version": VERSION,
        "params": params,
        "n_channels": transformer.n_channels_,
    }


def read_image_meta(meta: dict[str, Any], types: dict[str, type]) -> tuple[dict[str, Any], int]:
    """Parameters, which must be of these types, and number of channels; everything is checked."""
    expect_keys(meta, ("class", "version", "params", "n_channels"), "meta")
    expect_keys(meta["params"], types, "params")
    params = {name: expect_type(meta["params"][name], kind, name) for name, kind in types.items()}
    n_channels = expect_type(meta["n_channels"], int, "n_channels")
    expect(1 <= n_channels <= _MAX_CHANNELS, f"n_channels is out of range: {n_channels}")
    return params, n_channels
