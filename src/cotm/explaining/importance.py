"""What clauses read, whatever the data: importances of columns and pixels."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..core.patches import PatchGrid
from ..exporting.describing import Ranges, ranges_of
from .columns import columns_of_bits
from .explaining import joint_features
from .shapley import Pool
from .voters import Voter, Voters


def class_importances(voters: Voters) -> NDArray[np.float64]:
    """How much of all votes that clauses can give is by a column, for each output; the sum is 1.

    A clause can give most * |weight| votes to an output, shared evenly by the columns that it
    reads. Of images the share of each patch in which it may speak goes evenly to its literals of
    pixels.
    """
    if len(voters.members) == 1:
        voter = voters.members[0]
        reader = voter.fitted.reader
        is_table = reads_columns(voter) and voter.features.image_shape is None
        total = _importances(voter, columns_of_bits(reader) if is_table else None)
    else:
        parts = [_importances(voter) for voter in voters.members]
        _, places = joint_features(voters.members)
        total = np.zeros((max(int(p.max()) for p in places) + 1, len(voters.classes)))
        divisors = voters.divisors or (1,) * len(parts)
        for part, place, divisor in zip(parts, places, divisors, strict=True):
            total[place] += part / divisor
    whole = total.sum()
    return np.asarray(total / whole if whole else total)


def reads_columns(voter: Voter) -> bool:
    """Whether it is known which columns of X, or pixels, its clauses read."""
    reads_images = voter.features.image_shape is not None
    return voter.fitted.reader.booleanizer is None or voter.features.are_raw or reads_images


def _importances(voter: Voter, of_bits: NDArray[np.int32] | None = None) -> NDArray[np.float64]:
    """Votes (features, m) that the clauses of one classifier can give by each feature.

    With ``of_bits`` the column of each bit is another than where it is explained.
    """
    pool, reader = voter.pool, voter.fitted.reader
    strength = np.abs(pool.weights) * pool.most[:, None].astype(np.float64)
    if voter.features.image_shape is not None:
        assert reader.grid is not None
        return _by_pixels(pool, strength, reader.grid)
    owner = np.repeat(np.arange(len(pool)), np.diff(pool.starts))
    columns = pool.players if of_bits is None else of_bits[pool.features]
    pairs = np.unique(np.stack([owner, columns]), axis=1)
    shares = strength / np.maximum(1, np.bincount(pairs[0], minlength=len(pool)))[:, None]
    count = len(voter.features) if of_bits is None else reader.n_features
    total = np.zeros((count, strength.shape[1]))
    np.add.at(total, pairs[1], shares[pairs[0]])
    return total


def _by_pixels(pool: Pool, strength: NDArray[np.float64], grid: PatchGrid) -> NDArray[np.float64]:
    """As above, of the pixels of an image."""
    patch = grid.patch_depth, grid.patch_height, grid.patch_width
    area, m = int(np.prod(patch)), strength.shape[1]
    windows: dict[Ranges, NDArray[np.float64]] = {}
    everywhere = (0, grid.depths - 1), (0, grid.rows - 1), (0, grid.columns - 1)
    for j, (first, last) in enumerate(pairwise(pool.starts.tolist())):
        features, negated = pool.features[first:last], pool.negated[first:last]
        at = features[features >= grid.n_position_features] - grid.n_position_features
        looks = np.bincount(at // grid.channels, minlength=area).astype(np.float64)
        if not len(at):
            looks[:] = 1.0  # position alone: all pixels of the patch
        literals = features + negated.astype(np.int64) * grid.n_features
        # Of a graded clause that misses one, literals of position may contradict each other.
        window = ranges_of(grid, literals) or everywhere
        total = windows.setdefault(window, np.zeros((area, m)))
        total += looks[:, None] / looks.sum() * strength[j]
    image = np.zeros((grid.depth, grid.height, grid.width, m))
    strides = grid.stride_depths, grid.stride_rows, grid.stride_columns
    for window, shares in windows.items():
        corners = [
            np.arange(first, last + 1) * stride
            for (first, last), stride in zip(window, strides, strict=True)
        ]
        count = np.prod([len(places) for places in corners])
        for place, inside in enumerate(np.ndindex(patch)):
            pixels = np.ix_(*(corner + at for corner, at in zip(corners, inside, strict=True)))
            image[pixels] += shares[place] / count
    return image.reshape(-1, m)
