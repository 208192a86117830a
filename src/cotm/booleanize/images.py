"""Booleanizers for images."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..core.checks import check_integer
from ..core.decoding import expect_keys
from .blur import blur, gaussian_kernel
from .descriptions import BitFeature, threshold_features
from .image_base import BLOCK, ImageBooleanizer, check_bytes, image_meta, read_image_meta
from .packing import pack_groups, unpack_groups
from .thresholds import Thresholds, check_n_bits, learn_thresholds

# More than anyone needs, so that a damaged model file cannot ask for all memory.
_MAX_WINDOW = 9999

# Pixels and their means are from 0 to 255, so larger constants make all bits equal.
_MAX_CONSTANT = 256


class AdaptiveGaussianThreshold(ImageBooleanizer):
    """Images as bits: is a pixel brighter than the weighted mean around it minus a constant?

    Equal bit for bit to ``cv2.adaptiveThreshold(image, 1, cv2.ADAPTIVE_THRESH_GAUSSIAN_C,
    cv2.THRESH_BINARY, window, constant)`` on every image and channel.

    Parameters
    ----------
    window : int, default=11
        Odd width of the neighbourhood, at least 3.
    constant : float, default=2
        What is subtracted from the mean; rounded up to an integer.

    Attributes
    ----------
    n_channels_ : int
        Number of channels of the training images.
    n_bits_out_ : int
        Number of output channels, which is the same.

    Notes
    -----
    OpenCV rounds means to integers. If a mean lies very close to the middle between two integers,
    the result depends on the order in which a build of OpenCV adds float32 numbers. This class
    mirrors the wheels of OpenCV 4.13 and 5.0 for x86-64, on a processor with AVX2. Older wheels
    agree on images whose width is a multiple of eight; otherwise, and on other processors, a bit
    in many millions may differ.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.array([[[9, 9, 9, 9], [9, 90, 90, 9], [9, 9, 9, 9]]], dtype=np.uint8)
    >>> AdaptiveGaussianThreshold(window=3).fit_transform(images)
    array([[[0, 0, 0, 0],
            [0, 1, 1, 0],
            [0, 0, 0, 0]]], dtype=uint8)
    """

    def __init__(self, window: int = 11, constant: float = 2) -> None:
        self.window = window
        self.constant = constant

    def _parameters(self) -> tuple[int, int]:
        """Window and rounded constant, checked."""
        window = check_integer("window", self.window, 3, _MAX_WINDOW)
        if window % 2 == 0:
            raise ValueError(f"window={window} must be odd; take {window - 1} or {window + 1}")
        constant = self.constant
        if (
            isinstance(constant, bool)
            or not isinstance(constant, numbers.Real)
            or not math.isfinite(constant)
        ):
            raise ValueError(f"constant={constant!r:.200} must be a finite number")
        return window, max(-_MAX_CONSTANT, min(_MAX_CONSTANT, math.ceil(constant)))

    def fit(self, X: Any, y: Any = None) -> AdaptiveGaussianThreshold:
        """Check the parameters and count channels; nothing else is learned.

        Parameters
        ----------
        X : array-like of shape (n_images, height, width) or (n_images, height, width, channels)
            Images of integers from 0 to 255.
        y : ignored

        Returns
        -------
        self
        """
        self._parameters()
        return self._adopt(self._channels(X, fitting=True).shape[3])

    def _adopt(self, n_channels: int) -> AdaptiveGaussianThreshold:
        self.n_channels_ = self.n_bits_out_ = n_channels
        return self

    def bits_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the bits of one image: that of the image.

        Parameters
        ----------
        shape : tuple of int
            Shape of the image, (H, W) or (H, W, C).

        Returns
        -------
        tuple of int
        """
        return tuple(shape)

    def _check_values(self, images: NDArray[Any]) -> None:
        check_bytes(images)

    def _write(self, images: NDArray[Any], bits: NDArray[np.uint8]) -> None:
        window, constant = self._parameters()
        kernel = gaussian_kernel(window)
        # Each channel is an image of its own. Images are the last axis, so that NumPy's inner
        # loops run along many images instead of one short row.
        n_images, height, width, channels = images.shape
        planes = images.transpose(1, 2, 0, 3).reshape(height, width, -1)
        made = np.empty(planes.shape, dtype=np.uint8)
        step = max(1, BLOCK // (height * width))
        for begin in range(0, planes.shape[2], step):
            block = planes[:, :, begin : begin + step].astype(np.float32)
            mean = np.clip(np.rint(blur(block, kernel)), 0, 255)
            made[:, :, begin : begin + step] = block > mean - constant
        # Back to the shape of X.
        bits[...] = made.reshape(height, width, n_images, channels).transpose(2, 0, 1, 3)

    def _unsaid(self) -> Any:
        return self._parameters()[0]

    def _channel_features(self, name: str, channel: int) -> list[BitFeature]:
        return [BitFeature(name, "pixel", self._parameters()[1])]

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The fitted transformer as a JSON-serialisable dict and named numeric arrays.

        Returns
        -------
        meta : dict
        arrays : dict of str to ndarray
        """
        check_is_fitted(self)
        window, _ = self._parameters()
        return image_meta(self, {"window": window, "constant": float(self.constant)}), {}

    @classmethod
    def _from_state(cls, meta: dict[str, Any], arrays: Any) -> AdaptiveGaussianThreshold:
        params, n_channels = read_image_meta(meta, {"window": int, "constant": float})
        expect_keys(arrays, (), "arrays")
        transformer = cls(**params)
        transformer._parameters()
        return transformer._adopt(n_channels)


class ImageThermometer(ImageBooleanizer):
    """Images as bits ``value > t``, with thresholds t for each channel.

    Thresholds lie midway between neighbouring values of a channel, at the quantiles of all
    training pixels. A value that fills more than its share of the pixels counts as one share.

    Parameters
    ----------
    n_bits : int, default=4
        Most thresholds per channel.

    Attributes
    ----------
    thresholds_ : list of ndarray of float64
        Increasing thresholds of each channel.
    n_channels_ : int
        Number of channels of the training images.
    n_bits_out_ : int
        Number of output channels.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.array([[[0, 10], [20, 20]]])
    >>> thermometer = ImageThermometer(n_bits=2)
    >>> thermometer.fit_transform(images)[0, 0]
    array([[0, 0],
           [1, 0]], dtype=uint8)
    >>> thermometer.get_feature_names_out().tolist()
    ['pixel > 5', 'pixel > 15']
    """

    learns_pixels = True

    def __init__(self, n_bits: int = 4) -> None:
        self.n_bits = n_bits

    def fit(self, X: Any, y: Any = None) -> ImageThermometer:
        """Learn the thresholds of each channel.

        Parameters
        ----------
        X : array-like of shape (n_images, height, width) or (n_images, height, width, channels)
            Images of finite numbers.
        y : ignored

        Returns
        -------
        self
        """
        n_bits = check_n_bits(self.n_bits)
        images = self._channels(X, fitting=True)
        groups = [
            np.unique(images[..., channel], return_counts=True)
            for channel in range(images.shape[3])
        ]
        return self._adopt(learn_thresholds(groups, n_bits))

    def _adopt(self, thresholds: list[Thresholds]) -> ImageThermometer:
        self.thresholds_ = thresholds
        self.n_channels_ = len(thresholds)
        self.n_bits_out_ = sum(map(len, thresholds))
        return self

    def _check_values(self, images: NDArray[Any]) -> None:
        if images.dtype.kind == "f" and not np.isfinite(images).all():
            image = int(np.flatnonzero(~np.isfinite(images).all(axis=(1, 2, 3)))[0])
            raise ValueError(
                f"image {image} holds NaN or infinity; replace such pixels by finite numbers"
            )

    def _write(self, images: NDArray[Any], bits: NDArray[np.uint8]) -> None:
        step = max(1, BLOCK // math.prod(images.shape[1:]))
        made = bits.view(np.bool_)
        for begin in range(0, len(images), step):
            block = slice(begin, begin + step)
            end = 0
            for channel, thresholds in enumerate(self.thresholds_):
                start, end = end, end + len(thresholds)
                values, out = images[block, ..., channel, None], made[block, ..., start:end]
                np.greater(values, thresholds, out=out)

    def _channel_features(self, name: str, channel: int) -> list[BitFeature]:
        return threshold_features(name, self.thresholds_[channel])

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The fitted transformer as a JSON-serialisable dict and named numeric arrays.

        Returns
        -------
        meta : dict
        arrays : dict of str to ndarray
        """
        check_is_fitted(self)
        n_bits = check_n_bits(self.n_bits)
        return image_meta(self, {"n_bits": n_bits}), pack_groups(self.thresholds_)

    @classmethod
    def _from_state(cls, meta: dict[str, Any], arrays: Any) -> ImageThermometer:
        params, n_channels = read_image_meta(meta, {"n_bits": int})
        expect_keys(arrays, ("thresholds", "offsets"), "arrays")
        n_bits = check_n_bits(params["n_bits"])
        return cls(n_bits)._adopt(unpack_groups(arrays, n_channels, n_bits))
