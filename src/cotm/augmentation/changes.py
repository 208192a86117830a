"""Which change an image gets: a pure function of the seed, the pass and the image's number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..core.angles import SINE_BITS, TURN, cosine, sine
from ..core.checks import check_choice, check_flag, check_integer, check_number, shortened
from ..core.extension import native_core
from ..core.randomness import Purpose, hash32, make_key, new_seed, step_key
from ..core.system import resolve_n_jobs
from .resampling import UNCHANGED, UNIT, resample

#: Images shrink to a tenth at the least.
_MOST_ZOOM = 0.9
_MOST_SHIFT = 1 << 15

# Pixels that keep a thread busy long enough to be worth its start.
_THREAD_PIXELS = 500_000


class Augmentation(BaseEstimator):  # type: ignore[misc]
    """Changes of images while a classifier trains on them, drawn anew in every epoch.

    Each image gets a change of its own: it is mirrored, turned about its middle, zoomed and then
    shifted, as far as the limits below allow, all equally likely. What the classifier predicts is
    not changed, nor are the images that early stopping holds out, and nor are those that the
    booleanizer learns from. Which change an image gets depends on the seed, the number of examples
    presented before the epoch and the image's row in X alone, and pixels are computed in integers:
    the same seed gives the same model on every machine, also after an interruption.

    Images whose pixels are integers from 0 to 255, or 0 and 1, are interpolated between pixels; of
    others the nearest pixel is taken.

    Parameters
    ----------
    shift : int or tuple of two, default=0
        Whole pixels by which images move at the most, in any direction; two for rows and columns.
    flip : bool, default=False
        Whether half of the images have left and right exchanged.
    flip_vertical : bool, default=False
        Whether half of the images have top and bottom exchanged.
    rotate : float, default=0
        Degrees by which images turn at the most, either way; up to 180.
    zoom : float, default=0
        Share by which images grow or shrink at the most; up to 0.9.
    border : {"edge", "zero"}, default="edge"
        What comes in from outside: the outermost pixels once more, or zeros.
    probability : float, default=1
        Share of the images that are changed in an epoch; the others stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from cotm import Augmentation
    >>> image = np.array([[0, 0, 0], [10, 80, 200], [0, 0, 0]], dtype=np.uint8)
    >>> for changed in Augmentation(shift=1, flip=True).apply([image] * 3, random_state=0):
    ...     print(changed.tolist())
    [[0, 0, 0], [200, 200, 80], [0, 0, 0]]
    [[0, 0, 0], [0, 0, 0], [10, 10, 80]]
    [[0, 0, 0], [0, 0, 0], [80, 200, 200]]

    A classifier does that by itself:

    >>> from sklearn.datasets import load_digits
    >>> from cotm import CoTMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = CoTMClassifier(
    ...     100, T=80, s=4, epochs=3, image_shape=(8, 8), patch_shape=(4, 4),
    ...     augment=Augmentation(shift=1), random_state=0,
    ... ).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    def __init__(
        self,
        shift: int | tuple[int, int] = 0,
        *,
        flip: bool = False,
        flip_vertical: bool = False,
        rotate: float = 0,
        zoom: float = 0,
        border: str = "edge",
        probability: float = 1.0,
    ) -> None:
        self.shift = shift
        self.flip = flip
        self.flip_vertical = flip_vertical
        self.rotate = rotate
        self.zoom = zoom
        self.border = border
        self.probability = probability

    def __eq__(self, other: object) -> bool:
        """Whether the other one has the same parameters."""
        return type(self) is type(other) and self.get_params() == other.get_params()

    __hash__ = None  # type: ignore[assignment]

    def changes(self) -> Changes:
        """The parameters in integers, or a ValueError that names a wrong one."""
        shift = self.shift if isinstance(self.shift, tuple | list) else (self.shift, self.shift)
        if len(shift) != 2:
            raise ValueError(f"shift={shortened(self.shift)} must be one number or two, of pixels")
        rows, columns = (check_integer("shift", part, 0, _MOST_SHIFT) for part in shift)
        flips = [
            name for name in ("flip", "flip_vertical") if check_flag(name, getattr(self, name))
        ]
        rotate = check_number("rotate", self.rotate, 0, 180)
        zoom = check_number("zoom", self.zoom, 0, _MOST_ZOOM)
        border = check_choice("border", self.border, ("edge", "zero"))
        share = check_number("probability", self.probability, 0, 1)
        words = [f"shift {rows}, {columns}", *flips, f"rotate {rotate:.15g}", f"zoom {zoom:.15g}"]
        return Changes(
            rows=rows,
            columns=columns,
            flip="flip" in flips,
            flip_vertical="flip_vertical" in flips,
            angle=int(rotate * TURN / 360),
            zoom=int(zoom * UNIT),
            repeat_edge=border == "edge",
            chance=round(share * 2**32),
            text="; ".join([*words, f"border {border}", f"probability {share:.15g}"]),
        )

    def apply(
        self, X: Any, *, random_state: Any = None, step: int = 0, n_jobs: int | None = None
    ) -> NDArray[Any]:
        """Change images as a training does: to look at, or for a program of your own.

        Parameters
        ----------
        X : array-like of shape (n_images, height, width) or (n_images, height, width, channels)
        random_state : int, optional
            The seed; None draws one.
        step : int, default=0
            Examples presented before the epoch: another one gives other changes.
        n_jobs : int, optional
            Threads; None and -1 take as many as help.

        Returns
        -------
        ndarray of the same shape and type
        """
        changes, images = self.changes(), np.asarray(X)
        if images.ndim not in (3, 4) or images.dtype.kind not in "biuf" or 0 in images.shape[1:]:
            raise ValueError(
                f"X has shape {images.shape} and type {images.dtype}; images must be numbers of "
                "shape (n_images, height, width) or (n_images, height, width, channels)"
            )
        seed, step = new_seed(random_state), check_integer("step", step, 0, 2**63 - 1)
        pixels = as_pixels(images)
        changed = changes.of(pixels, changes.maps(seed, step, np.arange(len(images))), n_jobs)
        return changed.astype(images.dtype, copy=False)


@dataclass(frozen=True)
class Changes:
    """What an :class:`Augmentation` may do, in integers."""

    rows: int
    columns: int
    flip: bool
    flip_vertical: bool
    angle: int  # in parts of a TURN
    zoom: int  # in parts of a UNIT
    repeat_edge: bool
    chance: int  # of being changed at all, in 2**32ths
    text: str  # the same in words, for messages and files

    def maps(self, seed: int, step: int, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """The maps, (N, 6), of images with these numbers in the pass that began at a step.

        See resampling.py for what a map is.
        """
        keys = make_key(step_key(seed, step), Purpose.AUGMENT, clause=index)
        # Each draw has its place, whichever of the others are in use.
        draws = hash32(keys[:, None], np.arange(7)).astype(np.int64).T
        is_changed, vertical, horizontal, *shifts, turned, zoomed = draws
        down = _between(shifts[0], self.rows)
        right = _between(shifts[1], self.columns)
        factor = UNIT * UNIT // (UNIT + _between(zoomed, self.zoom))
        angle = _between(turned, self.angle)
        along, across = (
            factor * part + (1 << SINE_BITS - 1) >> SINE_BITS
            for part in (cosine(angle), sine(angle))
        )
        # An image is mirrored first and shifted last, so a map to where its pixels come from
        # begins with the shift: 2 * UNIT parts of half a pixel each.
        y0 = -2 * (along * down + across * right)
        x0 = -2 * (along * right - across * down)
        sign_y = np.where(vertical < 2**31, -1, 1) if self.flip_vertical else 1
        sign_x = np.where(horizontal < 2**31, -1, 1) if self.flip else 1
        maps = np.stack(
            [
                *(sign_y * along, sign_y * across, sign_x * -across, sign_x * along),
                *(sign_y * y0, sign_x * x0),
            ],
            axis=1,
        )
        maps[is_changed >= self.chance] = UNCHANGED
        return maps

    def of(self, images: NDArray[Any], maps: NDArray[np.int64], n_jobs: int | None) -> NDArray[Any]:
        """Images as :func:`as_pixels` gives them, changed by these maps."""
        native, threads = native_core(), resolve_n_jobs(n_jobs, images.size / _THREAD_PIXELS)
        pixels = np.ascontiguousarray(images if images.ndim == 4 else images[..., None])
        if native is None or pixels.dtype != np.uint8:
            nearest = pixels.dtype != np.uint8
            out = resample(pixels, maps, repeat_edge=self.repeat_edge, nearest=nearest)
        else:
            out = np.empty_like(pixels)
            native.resample(pixels, np.ascontiguousarray(maps), self.repeat_edge, threads, out)
        return out.reshape(images.shape)


def as_pixels(images: NDArray[Any]) -> NDArray[Any]:
    """Images as bytes if their pixels are integers from 0 to 255, else as they are."""
    if images.dtype == np.uint8:
        return images
    if images.dtype == np.bool_:
        return images.view(np.uint8)
    if images.size and images.min() >= 0 and images.max() <= 255:
        pixels = images.astype(np.uint8)
        if images.dtype.kind in "iu" or (pixels == images).all():
            return pixels
    return images


def _between(draws: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Whole numbers from -most to most, each as likely as any other."""
    return (draws * (2 * most + 1) >> 32) - most
