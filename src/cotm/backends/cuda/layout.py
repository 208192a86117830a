"""How a machine and a launch are laid out on a CUDA device. Needs no device."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.patches import PatchGrid
from ...core.spec import Spec
from .sources import CONSTANTS, PARTS, STRUCTS

BATCH = CONSTANTS["kBatch"]
HEAD, DEPTHS, PATCH = (STRUCTS[name] for name in ("Head", "Depths", "Patch"))
_WORD = 4  # bytes
_MOST_THREADS = 1024
#: Clauses of a block: the fewest that are worth one, and how many want more than 512 threads,
#: as do long rows.
_FEWEST_CLAUSES = 4
_CROWD = 256
_LONG_ROW = 2048
#: Words of a row's bit plane that are worth a warp, and the most teams of several warps in a block:
#: each needs a barrier.
_WARP_WORDS = 128
_MOST_TEAMS = 8


def fill_struct(name: str, values: Mapping[str, Any]) -> NDArray[np.void]:
    """A struct of types.cuh with these values; every field must be given, and no other."""
    dtype = STRUCTS[name]
    if differing := set(dtype.names or ()) ^ set(values):
        raise TypeError(f"struct {name} and its values differ in {', '.join(sorted(differing))}")
    struct = np.zeros((), dtype=dtype)
    for field, value in values.items():
        struct[field] = value
    return struct


def fill_spec(spec: Spec) -> NDArray[np.void]:
    """The struct Spec of types.cuh, which has the fields of Python's but for the grid."""
    names = (field.name for field in dataclasses.fields(spec) if field.name != "grid")
    return fill_struct("Spec", {name: getattr(spec, name) for name in names})


@dataclass(frozen=True)
class BatchLayout:
    """Where the bits of 32 examples lie, bit-sliced and as images (see clauses.cuh)."""

    grid: PatchGrid
    pitch_bits: int

    @classmethod
    def of(cls, grid: PatchGrid) -> BatchLayout:
        return cls(grid, (grid.width - 1).bit_length())

    @property
    def bits(self) -> int:
        return self.rows * self.grid.width

    @property
    def rows(self) -> int:
        """Rows of pixels, of all slices and channels."""
        return self.grid.depth * self.grid.height * self.grid.channels

    @property
    def words(self) -> int:
        return self.rows << self.pitch_bits

    @property
    def row_words(self) -> int:
        return -(-self.grid.width // 32)

    @property
    def image_words(self) -> int:
        return 0 if self.grid.is_whole else self.rows * self.row_words

    @property
    def depth_step(self) -> int:
        """Rows of pixels from a depth of patches to the next."""
        return min(self.grid.stride_depths, self.grid.depth) * self.grid.height

    @property
    def lane_columns(self) -> int:
        """Patches side by side whose first bits lie within 32."""
        return -(-32 // self.grid.stride_columns)

    def offsets(self) -> NDArray[np.uint32]:
        """Words between a patch's first bit and each of its bits, in the features' order."""
        grid = self.grid
        patch = grid.patch_depth, grid.patch_height, grid.patch_width, grid.channels
        depth, row, column, channel = np.indices(patch)
        rows = (channel * grid.depth + depth) * grid.height + row
        offsets = (rows << self.pitch_bits) + column
        return offsets.reshape(-1).astype(np.uint32)


@dataclass(frozen=True)
class Sizes:
    """Sizes of a machine's arrays on the device."""

    row: int  # bytes of a clause's memory
    capacity: int  # entries of each of a clause's two lists
    wide: bool  # entries have 32 bits, else 16
    outputs: int  # bytes of scratch for all outputs
    words: int  # of a batch
    image: int  # words of an image
    content: int  # features of a patch's content
    planes: int  # bits of what a clause says
    misses: int  # bytes of a graded clause's misses of position literals
    depths: int  # bytes of a strict clause's window in depth
    unit_words: int  # a bit per literal of a row of bit planes; 0 where rows hold bytes
    counts: bool  # whether training counts misses, and leaves lists behind that are out of date

    @classmethod
    def of(cls, spec: Spec, layout: BatchLayout) -> Sizes:
        offsets, grid = layout.offsets(), spec.grid
        sampled = spec.picks >= 0
        unit_words = 2 * -(-grid.n_features // 32) if sampled else 0
        return cls(
            # A byte per literal, in words of a feature each or of bit planes.
            row=8 * _WORD * unit_words if sampled else _aligned(2 * grid.n_features, _WORD),
            capacity=_aligned(len(offsets), CONSTANTS["kUnroll"]),
            wide=int(offsets.max(initial=0)) >= 2**16,
            outputs=_aligned(spec.m * CONSTANTS["kOutputBytes"]),
            words=layout.words,
            image=layout.image_words,
            content=len(offsets),
            planes=spec.most.bit_length() if spec.tolerance > 1 else 1,
            misses=_WORD * (grid.depths * grid.rows + grid.columns) if spec.tolerance > 1 else 0,
            depths=DEPTHS.itemsize if grid.depths > 1 and spec.tolerance == 1 else 0,
            unit_words=unit_words,
            counts=sampled and grid.is_whole,
        )

    @property
    def awake(self) -> int:
        """Bytes of the mask of literals that do not sleep."""
        return _WORD * self.unit_words or self.row

    @property
    def entry(self) -> str:
        """The type of a list's entries."""
        return "u32" if self.wide else "u16"

    @property
    def lists(self) -> int:
        """Bytes of a clause's lists."""
        return 2 * self.capacity * (4 if self.wide else 2)


def awake_mask(sizes: Sizes, known: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """The array ``awake`` of struct Machine: which literals count, in the form of a row."""
    of_features = known.reshape(2, -1)  # and of their negations
    mask = np.zeros(sizes.awake, dtype=np.uint8)
    if sizes.unit_words:
        bits = np.packbits(of_features, axis=1, bitorder="little")
        mask.reshape(2, -1)[:, : bits.shape[1]] = bits
    else:
        mask[: known.size] = np.where(of_features.T.reshape(-1), 255, 0)
    return mask


@dataclass(frozen=True)
class LaunchLayout:
    """How a training launch is spread over a device."""

    blocks: int
    threads: int
    in_shared: int  # a bit per part
    shared_bytes: int
    listed: bool  # whether clauses that get feedback are listed, or warps look through their own
    team_warps: int  # warps that teach a clause together

    @classmethod
    def of(
        cls,
        spec: Spec,
        sizes: Sizes,
        processors: int,
        most_shared: int,
        blocks: int | None = None,
        threads: int | None = None,
        listed: bool | None = None,
        team_warps: int | None = None,
    ) -> LaunchLayout:
        """Spread clauses over the processors; give shared memory to what is used most.

        What is not given is chosen as measured, see docs/performance.md.
        """
        long = spec.grid.n_features > _LONG_ROW
        if team_warps is None:
            team_warps = 1
            if sizes.counts and listed is not False and threads is None:
                team_warps = _team_warps(sizes, most_shared)
        # Few clauses are worth few blocks: votes then meet sooner. Not where a row takes longer.
        fewest = max(1, _FEWEST_CLAUSES // team_warps)
        blocks = min(spec.n, blocks or min(processors, -(-spec.n // fewest)))
        clauses = -(-spec.n // blocks)
        if team_warps > 1:
            alone_in_block = threads is None and clauses <= _FEWEST_CLAUSES
            listed, threads = True, threads or _MOST_THREADS
            team_warps = threads // 32 if alone_in_block else team_warps
        pollers = -(-spec.m // 32)
        if threads is None:
            alone = 32 * min(max(4, clauses + pollers), 64)
            crowd = _MOST_THREADS if clauses > _CROWD or long else 512
            threads = alone if alone <= _MOST_THREADS and listed is not True else crowd
        warps = threads // 32
        workers = warps - min(warps - 1, pollers)
        if listed is None:
            listed = clauses > workers
        elif not listed and clauses > 32 * workers:
            raise ValueError(f"{clauses} clauses are too many for {workers} warps without a list")
        keys = warps * min(spec.m, CONSTANTS["kKeys"]) * STRUCTS["Key"].itemsize
        used, in_shared = _aligned(STRUCTS["Shared"].itemsize) + _aligned(keys), 0
        if sizes.unit_words:
            teams = warps // team_warps
            used += _aligned(teams * STRUCTS["Notes"].itemsize)
            used += _aligned(teams * _WORD * sizes.unit_words) if team_warps > 1 else 0
        needs = _part_bytes(spec, sizes, clauses, listed)
        for index, part in enumerate(PARTS):
            if used + needs[part] <= most_shared:
                used, in_shared = used + needs[part], in_shared | 1 << index
        return cls(blocks, threads, in_shared, used, listed, team_warps)

    def holds(self, part: str) -> bool:
        return bool(self.in_shared >> PARTS.index(part) & 1)


def _team_warps(sizes: Sizes, most_shared: int) -> int:
    """Warps of a team for rows of bit planes this long, of a block with the most threads."""
    warps, team = _MOST_THREADS // 32, 1
    while team < warps and sizes.unit_words > _WARP_WORDS * team:
        team *= 2
    # Each team has a word of scratch for every word of a plane.
    while team < warps and _WORD * sizes.unit_words * warps // team > most_shared // 4:
        team *= 2
    if team == 1 or _WORD * sizes.unit_words > most_shared // 4:
        return 1
    return max(team, warps // _MOST_TEAMS)


def _part_bytes(spec: Spec, sizes: Sizes, clauses: int, listed: bool) -> dict[str, int]:
    """What each part takes of a block's shared memory; as place_state of trainer.cuh has it."""
    return {
        "outputs": sizes.outputs,
        # Of two batches, by turns.
        "words": _aligned(2 * _WORD * sizes.words),
        "images": _aligned(2 * _WORD * BATCH * sizes.image),
        "offsets": _aligned(_WORD * sizes.content),
        # With the heads lie what else is small per clause: ahead, slots and is_chosen.
        "heads": _aligned(HEAD.itemsize * clauses)
        + _aligned(2 * _WORD * sizes.planes * clauses)
        + _aligned((_WORD if listed else PATCH.itemsize) * clauses)
        + _aligned(_WORD * -(-clauses // 32)),
        "weights": _aligned(_WORD * clauses * spec.m),
        "rows": _aligned(clauses * sizes.row),
        "lists": _aligned(clauses * sizes.lists),
    }


def _aligned(size: int, to: int = 16) -> int:
    """The next multiple: pieces of shared memory begin at multiples of 16 bytes."""
    return -(-size // to) * to
