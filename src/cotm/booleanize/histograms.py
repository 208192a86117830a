"""A booleanizer for images: in which directions do they become brighter, cell by cell?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..core.checks import check_choice, check_flag, check_integer, check_pair
from ..core.decoding import expect_keys
from ..core.extension import native_core
from ..core.system import resolve_n_jobs
from .descriptions import BitFeature
from .gradients import direction_table, gradient_planes
from .image_base import ImageBooleanizer, check_bytes, image_meta, read_image_meta
from .quantiles import quantile_feature, quantile_of, quantile_parts

_FEWEST_DIRECTIONS, _MOST_DIRECTIONS = 3, 64


class GradientHistogram(ImageBooleanizer):
    """Images as bits: how strongly does a cell of pixels become brighter in a direction?

    A histogram of oriented gradients: each pixel adds the strength of its gradient, how much
    brighter it is on the right than on the left and above than below, signs left out, to the
    direction of its gradient, in all cells that it is in. Bits compare these sums with quantiles
    of all positive ones of the image, so they do not change where all of it becomes brighter or
    has more contrast. Only integers are computed with: the same images give the same bits on every
    machine. The bits lie on a grid of cells, in which a classifier's patches and strides are
    counted.

    Parameters
    ----------
    cell : int or tuple of two, default=4
        Pixels along the sides of a cell, height and width.
    step : int or tuple of two, default=2
        Pixels from one cell to the next. Cells overlap where it is smaller than they are; pixels
        at the right and at the bottom that fill no cell are left out.
    directions : int, default=8
        How many there are, evenly around the circle, from 3 to 64. At 0° it becomes brighter to
        the right, at 90° to the top.
    signed : bool, default=True
        False: opposite directions are one, so the directions lie on half of the circle.
    quantiles : sequence of float, default=(0, 0.25, 0.5, 0.75, 0.9)
        Increasing thresholds of the sums, as quantiles of the positive sums of the image, below 1
        and with at most four decimals; 0 stands for zero itself.
    colour : {"strongest", "each"}, default="strongest"
        Which gradients images with several channels have: at each pixel that of the channel where
        it is strongest, or all, with sums and quantiles for each channel.
    n_jobs : int, optional
        Threads; None and -1 take as many as help. The bits do not depend on it, and model files
        do not hold it.

    Attributes
    ----------
    n_channels_ : int
        Number of channels of the training images.
    n_bits_out_ : int
        Bits of a cell: 40 by default.

    Notes
    -----
    Quantiles are those of :class:`EdgeThermometer`. Beyond its border an image is as at its
    border. A gradient has the nearest direction; halfway between two, on a border that is rounded
    to 65536ths of a turn, the one that follows counterclockwise.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([[9, 9, 9, 9], [9, 9, 9, 9], [0, 0, 7, 7], [0, 0, 7, 7]], dtype=np.uint8)
    >>> histogram = GradientHistogram(cell=2, directions=4, quantiles=[0, 0.5])
    >>> bits = histogram.fit_transform([image])
    >>> bits.shape
    (1, 2, 2, 8)
    >>> names = histogram.get_feature_names_out()
    >>> names[bits[0, 1, 0] == 1].tolist()
    ['cell gradient 0° > 0', 'cell gradient 90° > 0', 'cell gradient 90° > median']
    """

    def __init__(
        self,
        cell: int | tuple[int, int] = 4,
        step: int | tuple[int, int] = 2,
        *,
        directions: int = 8,
        signed: bool = True,
        quantiles: Sequence[float] = (0, 0.25, 0.5, 0.75, 0.9),
        colour: str = "strongest",
        n_jobs: int | None = None,
    ) -> None:
        self.cell = cell
        self.step = step
        self.directions = directions
        self.signed = signed
        self.quantiles = quantiles
        self.colour = colour
        self.n_jobs = n_jobs

    def _parameters(self) -> tuple[tuple[int, int], tuple[int, int], list[int]]:
        """Cell, step and quantiles in integers; all parameters are checked."""
        check_integer("directions", self.directions, _FEWEST_DIRECTIONS, _MOST_DIRECTIONS)
        check_flag("signed", self.signed)
        check_choice("colour", self.colour, ("strongest", "each"))
        quantiles = quantile_parts("quantiles", self.quantiles)
        if not quantiles:
            raise ValueError("quantiles is empty, so images would become no bits; pass some")
        return _pair("cell", self.cell), _pair("step", self.step), quantiles

    def fit(self, X: Any, y: Any = None) -> GradientHistogram:
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
        images = self._channels(X, fitting=True)
        self._cells(images.shape[1:])
        return self._adopt(images.shape[3])

    def _adopt(self, n_channels: int) -> GradientHistogram:
        _, _, quantiles = self._parameters()
        self.n_channels_ = n_channels
        per_group = int(self.directions) * len(quantiles)
        self.n_bits_out_ = per_group * (n_channels if self.colour == "each" else 1)
        return self

    def _check_values(self, images: NDArray[Any]) -> None:
        check_bytes(images)

    def _cells(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """Rows and columns of cells in an image, or a ValueError if it has none."""
        cell, step, _ = self._parameters()
        if shape[0] < cell[0] or shape[1] < cell[1]:
            raise ValueError(
                f"cell={self.cell!r} is larger than the images, which are {tuple(shape[:2])}; use "
                "one that fits into them"
            )
        return (shape[0] - cell[0]) // step[0] + 1, (shape[1] - cell[1]) // step[1] + 1

    def bits_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the bits of one image: rows and columns of cells, bits of a cell.

        Parameters
        ----------
        shape : tuple of int
            Shape of the image, (H, W) or (H, W, C).

        Returns
        -------
        tuple of int
        """
        check_is_fitted(self)
        return (*self._cells(shape), self.n_bits_out_)

    def _write(self, images: NDArray[Any], bits: NDArray[np.uint8]) -> None:
        cell, step, quantiles = self._parameters()
        native, count = native_core(), int(self.directions)
        table, each = direction_table(count, bool(self.signed)), self.colour == "each"

        def make(block: NDArray[np.uint8], out: NDArray[np.uint8], threads: int) -> None:
            if native is None:
                out[...] = gradient_planes(block, table, count, cell, step, quantiles, each)
            else:
                parts = np.array(quantiles, dtype=np.int32)
                native.gradient_planes(block, table, count, cell, step, parts, each, threads, out)

        self._in_blocks(images, bits, make)

    def _unsaid(self) -> Any:
        cell, step, _ = self._parameters()
        return cell, step, int(self.directions), bool(self.signed), str(self.colour)

    def _channel_names(self) -> list[str]:
        return super()._channel_names() if self.colour == "each" else ["pixel"]

    def _channel_features(self, name: str, channel: int) -> list[BitFeature]:
        _, _, quantiles = self._parameters()
        turn = 360 if self.signed else 180
        place = "cell" if name == "pixel" else f"cell {name}"
        return [
            quantile_feature(f"{place} gradient {turn * k / self.directions:.6g}°", ">", part)
            for k in range(int(self.directions))
            for part in quantiles
        ]

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The fitted transformer as a JSON-serialisable dict and named numeric arrays.

        Returns
        -------
        meta : dict
        arrays : dict of str to ndarray
        """
        check_is_fitted(self)
        cell, step, quantiles = self._parameters()
        params = {
            "cell": [*cell],
            "step": [*step],
            "directions": int(self.directions),
            "signed": bool(self.signed),
            "quantiles": [quantile_of(part) for part in quantiles],
            "colour": str(self.colour),
        }
        return image_meta(self, params), {}

    @classmethod
    def _from_state(cls, meta: dict[str, Any], arrays: Any) -> GradientHistogram:
        lists, rest = ("cell", "step", "quantiles"), {"directions": int, "signed": bool}
        types = {**dict.fromkeys(lists, list), **rest, "colour": str}
        params, n_channels = read_image_meta(meta, types)
        expect_keys(arrays, (), "arrays")
        params |= {name: tuple(params[name]) for name in lists}
        return cls(**params)._adopt(n_channels)


def _pair(name: str, value: Any) -> tuple[int, int]:
    pair = check_pair(name, value, lengths=(2,), scalar=True)
    return pair[0], pair[-1]
