"""A booleanizer for images: levels and edges, relative to each image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..core.checks import shortened
from ..core.decoding import expect_keys
from ..core.extension import native_core
from ..core.system import resolve_n_jobs
from .descriptions import BitFeature
from .filters import FILTERS, image_planes, kernels_of
from .image_base import ImageBooleanizer, check_bytes, image_meta, read_image_meta
from .quantiles import listed, quantile_feature, quantile_of, quantile_parts

_LISTS = ("filters", "levels", "positive", "negative")


class EdgeThermometer(ImageBooleanizer):
    """Images as bits: how bright is a pixel, and how strong are the edges through it?

    Thresholds are quantiles of each image, so bits do not change where all of an image becomes
    brighter or has more contrast. Only integers are computed with: the same images give the same
    bits on every machine.

    Parameters
    ----------
    filters : sequence of str
        Which filters look for edges; by default all of ``edge x 3 px``, ``edge y 3 px``,
        ``edge up-right 5 px``, ``edge down-right 5 px``, ``edge x 7 px``, ``edge y 7 px``,
        ``line x 3 px`` and ``line y 3 px``. Their responses are positive where it is brighter in
        that direction (y goes down), or on a bright line. Outside an image all is zero.
    levels : sequence of float, default=(0, 0.25, 0.5, 0.75)
        Increasing thresholds of pixels, as quantiles of the positive pixels of the image and
        channel, below 1 and with at most four decimals; 0 stands for zero itself.
    positive : sequence of float, default=(0, 0.25, 0.34, 0.5, 0.75)
        Thresholds of responses, as quantiles of a filter's positive responses on the image.
    negative : sequence of float, default=(0.25, 0.34, 0.5, 0.75)
        The same of its negative responses: a bit says that the response is below.
    n_jobs : int, optional
        Threads; None and -1 take as many as help. The bits do not depend on it, and model files
        do not hold it.

    Attributes
    ----------
    n_channels_ : int
        Number of channels of the training images.
    n_bits_out_ : int
        Number of output channels: 76 for each input channel by default.

    Notes
    -----
    The quantile q of n values is the one with the number floor(q (n - 1)) in ascending order,
    counted from 0; of negative responses, in descending order.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.array([[[0, 0, 0, 0], [0, 60, 90, 0], [0, 60, 90, 0]]], dtype=np.uint8)
    >>> edges = EdgeThermometer(["edge x 3 px"], levels=[0, 0.5], positive=[0], negative=[0.75])
    >>> edges.fit_transform(images)[0, 1]
    array([[0, 0, 1, 0],
           [1, 0, 1, 0],
           [1, 1, 0, 0],
           [0, 0, 0, 1]], dtype=uint8)
    >>> edges.get_feature_names_out().tolist()
    ['pixel > 0', 'pixel > median', 'edge x 3 px > 0', 'edge x 3 px < -3rd quartile']
    """

    def __init__(
        self,
        filters: Sequence[str] = tuple(FILTERS),
        levels: Sequence[float] = (0, 0.25, 0.5, 0.75),
        positive: Sequence[float] = (0, 0.25, 0.34, 0.5, 0.75),
        negative: Sequence[float] = (0.25, 0.34, 0.5, 0.75),
        n_jobs: int | None = None,
    ) -> None:
        self.filters = filters
        self.levels = levels
        self.positive = positive
        self.negative = negative
        self.n_jobs = n_jobs

    def _parameters(self) -> tuple[tuple[str, ...], list[int], list[int], list[int]]:
        """Names of filters and quantiles in integer parts, checked."""
        filters = listed("filters", self.filters)
        for name in filters:
            if not isinstance(name, str) or name not in FILTERS:
                raise ValueError(
                    f"filters holds {name!r:.200}; each must be one of "
                    f"{', '.join(map(repr, FILTERS))}"
                )
        if len({*filters}) < len(filters):
            raise ValueError(f"filters={shortened(self.filters)} must differ from each other")
        levels, positive, negative = (
            quantile_parts(name, getattr(self, name)) for name in _LISTS[1:]
        )
        if not levels and not (filters and positive + negative):
            raise ValueError(
                "there are neither levels nor filters with quantiles, so images would become no "
                "bits; pass some of them"
            )
        return tuple(map(str, filters)), levels, positive, negative

    def fit(self, X: Any, y: Any = None) -> EdgeThermometer:
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
        resolve_n_jobs(self.n_jobs)
        return self._adopt(self._channels(X, fitting=True).shape[3])

    def _adopt(self, n_channels: int) -> EdgeThermometer:
        filters, levels, positive, negative = self._parameters()
        self.n_channels_ = n_channels
        per_channel = len(levels) + len(filters) * (len(positive) + len(negative))
        self.n_bits_out_ = n_channels * per_channel
        return self

    def _check_values(self, images: NDArray[Any]) -> None:
        check_bytes(images)

    def _write(self, images: NDArray[Any], bits: NDArray[np.uint8]) -> None:
        filters, *quantiles = self._parameters()
        kernels, native = kernels_of(filters), native_core()

        def make(block: NDArray[np.uint8], out: NDArray[np.uint8], threads: int) -> None:
            if native is None:
                out[...] = image_planes(block, kernels, *quantiles)
            else:
                lists = (np.array(parts, dtype=np.int32) for parts in quantiles)
                native.image_planes(block, kernels, *lists, threads, out)

        self._in_blocks(images, bits, make)

    def _channel_features(self, name: str, channel: int) -> list[BitFeature]:
        filters, levels, positive, negative = self._parameters()
        prefix = "" if self.n_channels_ == 1 else f"{name} "
        # Values are the quantiles: in this order one threshold lies above the other, which is
        # all that rules need to know to leave out what follows.
        features = [quantile_feature(name, ">", part) for part in levels]
        for title in filters:
            features += [quantile_feature(prefix + title, ">", part) for part in positive]
            features += [quantile_feature(prefix + title, "<", part) for part in negative]
        return features

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The fitted transformer as a JSON-serialisable dict and named numeric arrays.

        Returns
        -------
        meta : dict
        arrays : dict of str to ndarray
        """
        check_is_fitted(self)
        filters, *quantiles = self._parameters()
        lists = ([quantile_of(part) for part in parts] for parts in quantiles)
        return image_meta(self, dict(zip(_LISTS, [[*filters], *lists], strict=True))), {}

    @classmethod
    def _from_state(cls, meta: dict[str, Any], arrays: Any) -> EdgeThermometer:
        params, n_channels = read_image_meta(meta, dict.fromkeys(_LISTS, list))
        expect_keys(arrays, (), "arrays")
        filters, levels, positive, negative = (tuple(params[name]) for name in _LISTS)
        return cls(filters, levels, positive, negative)._adopt(n_channels)
