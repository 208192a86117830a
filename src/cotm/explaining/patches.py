"""Where in an image the votes of a convolution come from: its patches, and their pixels.

A clause's votes are shared evenly by the patches that reach its output, which is the largest over
all patches. The share of a patch is shared evenly by the clause's literals of pixels that hold
there; a pixel gets it once for each literal, whatever the channel. Literals of position get
nothing: they say where to look, not what is there. Where none of a pixel holds, all pixels of the
patch share.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..core.examples import Examples
from ..core.patches import PatchGrid, patch_features
from .shapley import Pool


class Located(NamedTuple):
    """The votes for some images, by place."""

    pixels: NDArray[np.float64]  # (N, H * W, m), or (N, D * H * W, m)
    patches: NDArray[np.float64]  # (N, patch rows, patch columns, m), of volumes depths before them
    first: NDArray[np.int32]  # (N, clauses), the first patch that reaches the output; -1: silent


class PatchVotes:
    """Locates the votes of a pool of clauses, one image at a time."""

    def __init__(self, pool: Pool, grid: PatchGrid) -> None:
        self.pool, self.grid = pool, grid
        self.owner = np.repeat(np.arange(len(pool)), np.diff(pool.starts))
        signs = 1 - 2 * pool.negated.astype(np.int32)
        shape = len(pool), grid.n_features
        self.signs = scipy.sparse.csr_array((signs, (self.owner, pool.features)), shape=shape)
        self.positive = np.bincount(self.owner, pool.negated == 0, len(pool)).astype(np.int32)
        # Literals of pixels, clause by clause, and the pixel of each within its patch.
        at = pool.features - grid.n_position_features
        self.of_pixels = np.flatnonzero(at >= 0)
        self.inside = self._offsets(at[self.of_pixels].astype(np.int64) // grid.channels)
        self.ends = np.cumsum(np.bincount(self.owner[self.of_pixels], minlength=len(pool)))

    def _offsets(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Places in a patch as distances between pixels from its first one."""
        grid = self.grid
        line, x = np.divmod(places, grid.patch_width)
        z, y = np.divmod(line, grid.patch_height)
        return np.asarray((z * grid.height + y) * grid.width + x)

    def locate(self, examples: Examples) -> Located:
        """The votes for these images, by place."""
        grid, m = self.grid, self.pool.weights.shape[1]
        n, area = len(examples), grid.depth * grid.height * grid.width
        pixels, patches = np.zeros((n, area, m)), np.zeros((n, grid.n_patches, m))
        first = np.full((n, len(self.pool)), -1, dtype=np.int32)
        for i, image in enumerate(examples.bits):
            bits = patch_features(image, grid)
            misses = self.positive[:, None] - self.signs @ bits.T.astype(np.int32)
            outputs = np.maximum(0, self.pool.most[:, None] - misses)
            best = outputs.max(axis=1, initial=0)
            reached = (outputs == best[:, None]) & (best > 0)[:, None]
            count = reached.sum(axis=1)
            shares = self.pool.weights * (best / np.maximum(1, count))[:, None]
            patches[i] = reached.T.astype(np.float64) @ shares
            pixels[i] = self._on_pixels(reached, bits, area) @ shares
            first[i] = np.where(count > 0, reached.argmax(axis=1), -1)
        by_place = patches.reshape(n, *places_of(grid), m)
        return Located(pixels, by_place, first)

    def _on_pixels(
        self, reached: NDArray[np.bool_], bits: NDArray[np.uint8], area: int
    ) -> scipy.sparse.csr_array:
        """What part of each clause's share of a patch goes to a pixel, (pixels, clauses)."""
        grid = self.grid
        clause, patch = np.nonzero(reached)
        depth, row, column = grid.place(patch)
        line = depth * grid.stride_depths * grid.height + row * grid.stride_rows
        corner = line * grid.width + column * grid.stride_columns
        starts = np.concatenate([[0], self.ends])
        lengths = starts[clause + 1] - starts[clause]
        pair = np.repeat(np.arange(len(clause)), lengths)
        place = np.arange(len(pair)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        place += starts[clause[pair]]  # among the literals of pixels
        literal = self.of_pixels[place]
        holds = bits[patch[pair], self.pool.features[literal]] != self.pool.negated[literal]
        pair, place = pair[holds], place[holds]
        held = np.bincount(pair, minlength=len(clause))
        pixel = corner[pair] + self.inside[place]
        part = 1.0 / held[pair]
        bare = np.flatnonzero(held == 0)
        whole = grid.patch_depth * grid.patch_height * grid.patch_width
        all_inside = self._offsets(np.arange(whole))
        pixel = np.concatenate([pixel, (corner[bare][:, None] + all_inside).ravel()])
        pair = np.concatenate([pair, np.repeat(bare, whole)])
        part = np.concatenate([part, np.full(len(bare) * whole, 1.0 / whole)])
        shape = area, len(self.pool)
        return scipy.sparse.csr_array((part, (pixel, clause[pair])), shape=shape)


def places_of(grid: PatchGrid) -> tuple[int, ...]:
    """How many patches there are along each axis: rows and columns, of volumes depths first."""
    return (grid.depths, grid.rows, grid.columns)[grid.depth == 1 :]
