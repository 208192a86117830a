"""Images from images: every pixel to be made is an output of one machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..backends import TrainingSet
from ..core.checks import check_integer, check_pair
from ..core.decoding import expect, expect_array
from ..estimator.machine_model import FittedMachine, MachineModel, digest
from ..files.machine_models import SavedMachineModel
from .levels import Levels
from .windows import DrawnWindows, WindowBits, joined
from .wording import in_words, level_bounds

#: Bits of windows that are made at a time, so that predicting large images needs little memory.
_MOST_BYTES = 64_000_000
#: The types that images may have.
_TYPES = "biuf"


@dataclass(frozen=True)
class Learned:
    """What is known beside the machine."""

    given: Levels  # of X
    made: Levels  # of Y
    block: tuple[int, int, int]  # rows, columns and channels that a pixel becomes
    window: WindowBits
    flat: tuple[bool, bool]  # whether images of X and of Y had no channels


class CoTMImageToImage(MachineModel):
    """Images from images, by clauses that look at what surrounds each pixel.

    The same clauses look at the window around every pixel of an image, and every pixel of the
    block to be made in its place is an output: one for images of the same size, such as without
    noise, 2 x 2 for images of twice the size. Since windows are all that is looked at, images to
    be predicted may be of any size.

    Parameters
    ----------
    n_clauses : int, default=1000
        Clauses, which all outputs share.
    T : int or None, default=None
        Voting margin; None: as many as clauses.
    s : float, default=10.0
        Specificity.
    window : int or tuple of int, default=5
        Rows and columns that are looked at, both odd, with the pixel in the middle.
    levels : int, default=16
        Gray levels of X that are told apart; where it has no more values, those.
    output_levels : int, default=8
        The same of Y. An output says whether a pixel is above a level.
    windows : int, default=10
        Windows of each image that an epoch looks at, drawn anew.
    epochs : int, default=10
        Passes.
    max_literals : int or None, default=None
        Most conditions of a clause.
    backend, n_jobs, verbose, random_state
        As for :class:`cotm.CoTMClassifier`.

    Attributes
    ----------
    block_ : tuple of int
        Rows and columns that a pixel becomes.
    clauses_ : list of str
        Each clause in words. ``pixel(0,0)`` is the one in the middle, ``pixel(-1,2)`` lies a row
        above it and two columns to the right.
    history_ : list of dict
        Of each epoch its number, the share of right bits in training, and the seconds.

    Examples
    --------
    >>> import numpy as np
    >>> small = (np.random.default_rng(0).random((40, 6, 6)) < 0.5).astype(np.uint8)
    >>> large = small.repeat(2, axis=1).repeat(2, axis=2)
    >>> model = CoTMImageToImage(20, window=3, random_state=0).fit(small, large)
    >>> model.predict(small[:1, :2, :2])[0].tolist() == large[0, :4, :4].tolist()
    True
    """

    _kind: ClassVar[str] = "CoTMImageToImage"

    def __init__(
        self,
        n_clauses: int = 1000,
        T: int | None = None,
        s: float = 10.0,
        *,
        window: int | tuple[int, int] = 5,
        levels: int = 16,
        output_levels: int = 8,
        windows: int = 10,
        epochs: int = 10,
        max_literals: int | None = None,
        backend: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | None = None,
    ) -> None:
        self.n_clauses = n_clauses
        self.T = T
        self.s = s
        self.window = window
        self.levels = levels
        self.output_levels = output_levels
        self.windows = windows
        self.epochs = epochs
        self.max_literals = max_literals
        self.backend = backend
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    # Training --------------------------------------------------------------------------

    def fit(self, X: ArrayLike, Y: ArrayLike, *, resume: bool = False) -> CoTMImageToImage:
        """Learn which images become which.

        Parameters
        ----------
        X : array of shape (n_images, H, W) or (n_images, H, W, C)
            Images of numbers or bits.
        Y : array of shape (n_images, a H, b W) or (n_images, a H, b W, D)
            What each of them is to become: a and b are whole numbers from 1 up.
        resume : bool, default=False
            Go on with the training that there is until it has ``epochs`` epochs, on the same
            images: the result is that of a training without a break.

        Returns
        -------
        self
        """
        images, wanted = self._checked(X, Y)
        settings = (self._window_shape, self.levels, self.output_levels, self.windows)
        kinds = [(array.shape, array.dtype.str) for array in (images, wanted)]
        data = digest([images, wanted], settings, kinds)
        fitted = self._to_resume(data) if resume else self._begun(images, wanted, data)
        self._train(fitted, self._drawn(fitted, images, wanted))
        return self

    def partial_fit(self, X: ArrayLike, Y: ArrayLike) -> CoTMImageToImage:
        """Learn from more images, in one epoch. The first call says what the levels are.

        Parameters
        ----------
        X, Y : arrays
            As for :meth:`fit`; in later calls of the same kind as in the first.

        Returns
        -------
        self
        """
        images, wanted = self._checked(X, Y)
        fitted = self._fitted or self._begun(images, wanted, "")
        learned: Learned = fitted.extra
        check_kind("X", images, learned.flat[0], learned.window.channels)
        check_kind("Y", wanted, learned.flat[1], learned.block[2])
        block = _times(images, wanted)
        if block != learned.block[:2]:
            raise ValueError(
                f"Y is {block[0]} x {block[1]} times as large as X, but was "
                f"{learned.block[0]} x {learned.block[1]} times as large before"
            )
        fitted = replace(fitted, data="")  # there is no training to go on with
        self._train(fitted, self._drawn(fitted, images, wanted), len(fitted.history) + 1)
        return self

    def _checked(self, X: ArrayLike, Y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        self._check()
        images, wanted = _as_images(X, "X"), _as_images(Y, "Y")
        check_pairs(images, wanted)
        return images, wanted

    def _options(self) -> dict[str, Any]:
        return {"max_literals": self.max_literals}

    def _drawn(
        self, fitted: FittedMachine, images: NDArray[Any], wanted: NDArray[Any]
    ) -> TrainingSet:
        """The windows of an epoch."""
        learned: Learned = fitted.extra
        drawn = DrawnWindows(
            learned.window,
            with_channels(learned.given.numbers(images)),
            with_channels(learned.made.numbers(wanted)),
            len(learned.made.thresholds),
            self.windows,
            fitted.machine.seed_,
        )
        return fitted.machine.prepare(drawn, drawn.targets(), np.ones(1))

    def _begun(self, images: NDArray[Any], wanted: NDArray[Any], data: str) -> FittedMachine:
        """Before the first epoch."""
        given = Levels.of(images, self.levels, "X")
        made = Levels.of(wanted, self.output_levels, "Y")
        channels, made_channels = (with_channels(a).shape[3] for a in (images, wanted))
        block = _times(images, wanted)
        window = WindowBits(*self._window_shape, channels, len(given.thresholds))
        outputs = block[0] * block[1] * made_channels * len(made.thresholds)
        machine = self._start(window.n_bits, outputs)
        flat = images.ndim == 3, wanted.ndim == 3
        return FittedMachine(
            machine, data, extra=Learned(given, made, (*block, made_channels), window, flat)
        )

    @property
    def _window_shape(self) -> tuple[int, int]:
        shape = check_pair("window", self.window, lengths=(2,), scalar=True)
        height, width = shape * 2 if len(shape) == 1 else shape
        if height % 2 == 0 or width % 2 == 0:
            raise ValueError(
                f"window={self.window!r} must be odd, so that a pixel is in the middle"
            )
        return height, width

    def _check(self) -> None:
        check_integer("n_clauses", self.n_clauses, 1)
        check_integer("levels", self.levels, 2, 256)
        check_integer("output_levels", self.output_levels, 2, 256)
        check_integer("windows", self.windows, 1, 1_000_000)
        check_integer("epochs", self.epochs, 1)
        _ = self._window_shape

    # Prediction ------------------------------------------------------------------------

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """What images become.

        Parameters
        ----------
        X : array of shape (n_images, H, W) or (n_images, H, W, C)
            Images of any size, of as many channels as in training.

        Returns
        -------
        array of shape (n_images, a H, b W) or (n_images, a H, b W, D)
            In the type of Y. A pixel is on the level of as many as it has votes for, and is what
            that level was on average in training.
        """
        made = self._learned().extra.made

        def value(votes: NDArray[np.int64]) -> NDArray[Any]:
            return np.asarray(made.of_numbers((votes >= 0).sum(axis=-1)))

        return self._each_window(X, value, made.dtype)

    def votes(self, X: ArrayLike) -> NDArray[np.int64]:
        """The sum of votes for each pixel to be above each threshold.

        Parameters
        ----------
        X : array of shape (n_images, H, W) or (n_images, H, W, C)
            Images of any size.

        Returns
        -------
        array of int of shape (n_images, a H, b W[, D], thresholds)
        """
        count = len(self._learned().extra.made.thresholds)
        return self._each_window(X, lambda votes: votes, np.dtype(np.int64), count)

    def score(self, X: ArrayLike, Y: ArrayLike) -> float:
        """The share of pixels of Y that come out on their level; of bits, that come out right.

        Parameters
        ----------
        X, Y : arrays
            As for :meth:`fit`.

        Returns
        -------
        float
        """
        made = self._learned().extra.made
        wanted, found = _as_images(Y, "Y"), self.predict(X)
        if wanted.shape != found.shape:
            raise ValueError(f"Y has shape {wanted.shape}, but X becomes {found.shape}")
        return float((made.numbers(wanted) == made.numbers(found)).mean())

    def _each_window(
        self,
        X: ArrayLike,
        value: Callable[[NDArray[np.int64]], NDArray[Any]],
        dtype: np.dtype[Any],
        *more: int,
    ) -> NDArray[Any]:
        """Images of what the votes (windows, h, w, C, thresholds) of each pixel become."""
        fitted = self._learned()
        learned: Learned = fitted.extra
        images = _as_images(X, "X")
        check_kind("X", images, learned.flat[0], learned.window.channels)
        count, height, width = images.shape[:3]
        made = np.empty((count * height * width, *learned.block, *more), dtype=dtype)
        per_image, size = height * width, max(1, _MOST_BYTES // learned.window.n_bits)
        together = max(1, size // per_image)
        for first in range(0, count, together):
            some = with_channels(learned.given.numbers(images[first : first + together]))
            padded = learned.window.padded(some)
            for begin in range(0, len(some) * per_image, size):
                place = np.arange(begin, min(begin + size, len(some) * per_image))
                image, pixel = np.divmod(place, per_image)
                bits = learned.window.of(padded, image, *np.divmod(pixel, width))
                votes = fitted.machine.votes(bits).reshape(len(place), *learned.block, -1)
                made[first * per_image + place] = value(votes)
        whole = joined(made.reshape(count, height, width, *made.shape[1:]))
        return whole[:, :, :, 0] if learned.flat[1] else whole

    # What was learned ------------------------------------------------------------------

    @property
    def block_(self) -> tuple[int, int]:
        rows, columns, _ = self._learned().extra.block
        return rows, columns

    @property
    def clauses_(self) -> list[str]:
        fitted = self._learned()
        included = fitted.machine.memory_ >= 0
        return in_words(included, fitted.extra.window, fitted.extra.given.thresholds)

    def clause_bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Between which values each clause wants each pixel of the window.

        Returns
        -------
        above, up_to : arrays of shape (n_clauses, h, w) or (n_clauses, h, w, C)
            A clause wants pixels above the one and not above the other; -inf and inf where it
            does not ask.
        """
        fitted = self._learned()
        learned: Learned = fitted.extra
        low, high = level_bounds(fitted.machine.memory_ >= 0, learned.window)
        borders = np.concatenate([[-np.inf], learned.given.thresholds, [np.inf]])
        above, up_to = borders[low], borders[high + 1]
        return (above[..., 0], up_to[..., 0]) if learned.flat[0] else (above, up_to)

    # Files -----------------------------------------------------------------------------

    def _encode_extra(self, extra: Learned) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header = {
            "window": [extra.window.height, extra.window.width, extra.window.channels],
            "block": list(extra.block),
            "flat": list(extra.flat),
            "types": [extra.given.dtype.str, extra.made.dtype.str],
        }
        arrays = {
            f"{name}.{part}": getattr(levels, part)
            for name, levels in (("given", extra.given), ("made", extra.made))
            for part in ("thresholds", "values")
        }
        return header, arrays

    @classmethod
    def _decode_extra(cls, saved: SavedMachineModel) -> Learned:
        header, spec = saved.extra, saved.machine.spec
        shapes = [*header["window"], *header["block"]]
        expect(
            len(shapes) == 6 and all(type(n) is int and 0 < n < 1 << 20 for n in shapes),
            f"window and block are {shapes!r:.100}",
        )
        types, flat = header["types"], header["flat"]
        expect(len(types) == len(flat) == 2, "types and flat are not of X and Y")
        expect(all(type(is_flat) is bool for is_flat in flat), f"flat is {flat!r:.100}")
        given, made = (
            _decoded_levels(saved, name, dtype)
            for name, dtype in zip(("given", "made"), types, strict=True)
        )
        window = WindowBits(shapes[0], shapes[1], shapes[2], len(given.thresholds))
        expect(window.height % 2 == window.width % 2 == 1, "the window is even")
        expect(spec.grid.n_features == window.n_bits, "the machine has not the window's bits")
        outputs = int(np.prod([*shapes[3:], len(made.thresholds)]))
        expect(spec.m == outputs, "the machine has not the outputs of a block")
        expect(not flat[0] or shapes[2] == 1, "images without channels have several")
        expect(not flat[1] or shapes[5] == 1, "images without channels have several")
        return Learned(given, made, (shapes[3], shapes[4], shapes[5]), window, (flat[0], flat[1]))


def _decoded_levels(saved: SavedMachineModel, name: str, type_name: Any) -> Levels:
    """The levels in a file."""
    expect(type(type_name) is str and len(type_name) < 10, f"type {type_name!r:.100}")
    dtype = np.dtype(type_name)
    expect(dtype.kind in _TYPES, f"images of type {type_name!r}")
    count = saved.arrays[f"{name}.thresholds"].size
    expect(1 <= count < 256, f"{name} has {count} thresholds")
    thresholds = expect_array(saved.arrays, f"{name}.thresholds", np.float64, count)
    values = expect_array(saved.arrays, f"{name}.values", np.float64, count + 1)
    whole = np.concatenate([thresholds, values])
    expect(bool(np.isfinite(whole).all()), f"{name} has levels that are no numbers")
    expect(bool((np.diff(thresholds) > 0).all()), f"{name} has thresholds out of order")
    return Levels(thresholds, values, dtype)


def _as_images(X: ArrayLike, name: str) -> NDArray[Any]:
    """Images of numbers, of any size but none."""
    images = np.asarray(X)
    if images.ndim not in (3, 4):
        raise ValueError(
            f"{name} has shape {images.shape}; it must be (images, rows, columns), or "
            "(images, rows, columns, channels)"
        )
    if images.dtype.kind not in _TYPES:
        raise ValueError(f"{name} has values of type {images.dtype}; pixels must be numbers")
    if images.size == 0:
        raise ValueError(f"{name} has shape {images.shape}, which holds no pixels")
    if images.dtype.kind == "f" and not np.isfinite(images).all():
        value = images[~np.isfinite(images)][0]
        raise ValueError(f"{name} holds {value}; pixels must be finite numbers, so fill it in")
    return images


def check_pairs(images: NDArray[Any], wanted: NDArray[Any]) -> None:
    """Whether each pixel of the ones can become a block of the others."""
    if len(images) != len(wanted):
        raise ValueError(f"X has {len(images)} images, but Y has {len(wanted)}")
    sizes = images.shape[1:3], wanted.shape[1:3]
    if any(there % here for here, there in zip(*sizes, strict=True)):
        raise ValueError(
            f"Y has images of {sizes[1][0]} x {sizes[1][1]}, but X of {sizes[0][0]} x "
            f"{sizes[0][1]}; Y must be a whole number of times as high and as wide"
        )


def check_kind(name: str, images: NDArray[Any], flat: bool, channels: int) -> None:
    """Whether images are of the kind that training had."""
    if (images.ndim == 3) != flat or (images.ndim == 4 and images.shape[3] != channels):
        raise ValueError(
            f"{name} has images of shape {images.shape[1:]}, but those of training had "
            + ("no channels" if flat else f"{channels} channels")
        )


def _times(images: NDArray[Any], wanted: NDArray[Any]) -> tuple[int, int]:
    """How many rows and columns a pixel becomes."""
    return wanted.shape[1] // images.shape[1], wanted.shape[2] // images.shape[2]


def with_channels(images: NDArray[Any]) -> NDArray[Any]:
    """Images (N, H, W, C), also where they had no channels."""
    return images if images.ndim == 4 else images[..., None]
