"""How a machine is laid out on a CUDA device. Knows cotm.cu, and needs no device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.patches import PatchGrid
from ...core.spec import Spec

BATCH = 32  # kBatch, kKeys and the size of a Head in cotm.cu
_KEYS = 32
HEAD_BYTES = 28
#: Parts in the order of cotm.cu's enum Part.
PARTS = ("outputs", "words", "images", "offsets", "heads", "weights", "rows", "lists")
_MOST_THREADS = 1024
#: Clauses of a block: the fewest that are worth one, and how many want more than 512 threads,
#: as do long rows.
_FEWEST_CLAUSES = 4
_CROWD = 256
_LONG_ROW = 2048


# What cotm.cu takes by value: the same fields in the same order ------------------------------


def _struct(**fields: str) -> np.dtype[np.void]:
    """Fields by type, each a list of names."""
    names = [(name, kind) for kind, names in fields.items() for name in names.split()]
    return np.dtype(names, align=True)


MACHINE = _struct(
    uint64="rows weights lists heads ahead slots is_chosen outputs fresh offsets seed T",
    float64="per_full",
    uint32="n m features positions grid_rows grid_columns stride_rows stride_columns pitch_bits "
    "words row_words image_words lane_columns lane_mask row_bytes capacity q depth max_literals "
    "max_weight boost e_scales_type2 sharing learn_weights",
)
TASK = _struct(uint64="batches images targets scales ballot counts step", uint32="count one_scale")


@dataclass(frozen=True)
class BatchLayout:
    """Where the bits of 32 examples lie, in both forms (see cotm.cu)."""

    grid: PatchGrid
    pitch_bits: int

    @classmethod
    def of(cls, grid: PatchGrid) -> BatchLayout:
        return cls(grid, (grid.width - 1).bit_length())

    @property
    def bits(self) -> int:
        return self.grid.height * self.grid.width * self.grid.channels

    @property
    def rows(self) -> int:
        """Rows of pixels, of all channels."""
        return self.grid.height * self.grid.channels

    @property
    def words(self) -> int:
        return self.rows << self.pitch_bits

    @property
    def row_words(self) -> int:
        return -(-self.grid.width // 32)

    @property
    def image_words(self) -> int:
        return self.rows * self.row_words if self.grid.n_patches > 1 else 0

    @property
    def lane_columns(self) -> int:
        """Patches side by side whose first bits lie within 32."""
        return -(-32 // self.grid.stride_columns)

    def offsets(self) -> NDArray[np.uint32]:
        """Words between a patch's first bit and each of its bits, in the features' order."""
        grid = self.grid
        row, column, channel = np.indices((grid.patch_height, grid.patch_width, grid.channels))
        offsets = ((channel * grid.height + row) << self.pitch_bits) + column
        return offsets.reshape(-1).astype(np.uint32)


@dataclass(frozen=True)
class Sizes:
    """Of what a machine is made of."""

    row: int  # bytes of a clause's memory
    capacity: int  # entries of each of a clause's two lists
    wide: bool  # entries have 32 bits, else 16
    outputs: int  # bytes of scratch for all outputs
    words: int  # of a batch
    image: int  # words of an image
    content: int  # features of a patch's content

    @classmethod
    def of(cls, spec: Spec, layout: BatchLayout) -> Sizes:
        offsets = layout.offsets()
        return cls(
            row=4 * -(-spec.grid.n_features // 2),
            capacity=-(-len(offsets) // 4) * 4,
            wide=int(offsets.max(initial=0)) >= 2**16,
            outputs=-(-spec.m * 81 // 16) * 16,
            words=layout.words,
            image=layout.image_words,
            content=len(offsets),
        )

    @property
    def entry(self) -> str:
        """The type of a list's entries."""
        return "u32" if self.wide else "u16"

    @property
    def lists(self) -> int:
        """Bytes of a clause's lists."""
        return 2 * self.capacity * (4 if self.wide else 2)


@dataclass(frozen=True)
class Plan:
    """How a training launch is laid out on a device."""

    blocks: int
    threads: int
    in_shared: int  # a bit per part
    shared_bytes: int
    listed: bool  # whether clauses that get feedback are listed, or warps look through their own

    def holds(self, part: str) -> bool:
        return bool(self.in_shared >> PARTS.index(part) & 1)


def make_plan(
    spec: Spec,
    sizes: Sizes,
    processors: int,
    most_shared: int,
    blocks: int | None = None,
    threads: int | None = None,
    listed: bool | None = None,
) -> Plan:
    """Spread clauses over the processors; give shared memory to what is used most.

    What is not given is chosen as measured, see docs/performance.md.
    """
    # Few clauses are worth few blocks: votes then meet sooner.
    blocks = min(spec.n, blocks or min(processors, -(-spec.n // _FEWEST_CLAUSES)))
    clauses = -(-spec.n // blocks)
    pollers = -(-spec.m // 32)
    if threads is None:
        alone = 32 * min(max(4, clauses + pollers), 64)
        long = spec.grid.n_features > _LONG_ROW
        crowd = _MOST_THREADS if clauses > _CROWD or long else 512
        threads = alone if alone <= _MOST_THREADS and listed is not True else crowd
    warps = threads // 32
    workers = warps - min(warps - 1, pollers)
    if listed is None:
        listed = clauses > workers
    elif not listed and clauses > 32 * workers:
        raise ValueError(f"{clauses} clauses are too many for {workers} warps without a list")

    def aligned(size: int) -> int:
        return -(-size // 16) * 16

    needs = {
        "outputs": sizes.outputs,
        "words": aligned(8 * sizes.words),
        "images": aligned(8 * BATCH * sizes.image),
        "offsets": aligned(4 * sizes.content),
        "heads": aligned(HEAD_BYTES * clauses)
        + aligned(8 * clauses)
        + aligned((4 if listed else 8) * clauses)
        + aligned(4 * -(-clauses // 32)),
        "weights": aligned(4 * clauses * spec.m),
        "rows": aligned(clauses * sizes.row),
        "lists": aligned(clauses * sizes.lists),
    }
    used, in_shared = 48 + aligned(warps * min(spec.m, _KEYS) * 8), 0
    for index, part in enumerate(PARTS):
        if used + needs[part] <= most_shared:
            used, in_shared = used + needs[part], in_shared | 1 << index
    return Plan(blocks, threads, in_shared, used, listed)
