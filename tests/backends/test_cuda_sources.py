"""The text of the CUDA kernels, and what Python makes of it. Needs no device.

Whether the kernels do what they should is tested where there is one: see test_cuda.py.
"""

import dataclasses
import itertools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from configurations import random_grid, random_volume
from helpers import why_missing

import cotm
from cotm import backends
from cotm.backends.cuda import layout, sources
from cotm.backends.cuda.layout import BatchLayout, LaunchLayout, Sizes
from cotm.backends.kinds import CudaKind
from cotm.core.patches import PatchGrid, patch_features
from cotm.core.spec import Spec

KERNELS = Path(cotm.__file__).parent / "backends" / "cuda" / "kernels"
VECTORS = json.loads((Path(__file__).parents[1] / "hash_vectors.json").read_text())["hash32"]


# Compiling ------------------------------------------------------------------------------------


def nvcc():
    found = shutil.which("nvcc") or os.path.join(os.environ.get("CUDA_HOME", ""), "bin", "nvcc")
    if not os.path.exists(found):
        pytest.skip("nvcc is not installed")
    return found


PLAIN = dict(
    ENTRY="u16", SUM="i32", OUTPUT="u8", SHARED=255, LISTED=0, TEAM_WARPS=1, SEARCHES=1,
    VOLUMES=0, LONG_ROWS=0, MANY=0, LIMITED=0, HEAVY=0, PLANES=1, SAMPLED=0, BOUNDED=0,
    ONE_NEGATIVE=0, DROPS=0, QUANTITIES=0, TARGET="u8", SLEEPS=0, PARTLY=0,
)  # fmt: skip
WIDE = PLAIN | dict(ENTRY="u32", SUM="i64")
VARIANTS = [
    PLAIN,
    PLAIN | dict(SHARED=127, LISTED=1, HEAVY=1, ONE_NEGATIVE=1, DROPS=1, PARTLY=1),
    WIDE | dict(SHARED=0, LISTED=1, LONG_ROWS=1, MANY=1, LIMITED=1, ONE_NEGATIVE=1, SLEEPS=1),
    WIDE | dict(SHARED=11, SEARCHES=0, MANY=1, HEAVY=1, QUANTITIES=1, TARGET="i32", PARTLY=1),
    PLAIN | dict(OUTPUT="i32", PLANES=3, BOUNDED=1, QUANTITIES=1, TARGET="i32", SLEEPS=1),
    PLAIN | dict(OUTPUT="i32", PLANES=8, SAMPLED=1, LIMITED=1, LONG_ROWS=1, SLEEPS=1),
    WIDE | dict(OUTPUT="i32", PLANES=2, SAMPLED=1, LISTED=1, TEAM_WARPS=16, SEARCHES=0, SLEEPS=1),
    WIDE | dict(SAMPLED=1, LISTED=1, SEARCHES=0, BOUNDED=1, SHARED=11, MANY=1),
    PLAIN | dict(RESIDENT=2, THREADS=512),
    PLAIN | dict(RESIDENT=2, THREADS=512, LISTED=1, DROPS=1, LIMITED=1, SHARED=127),
    PLAIN | dict(VOLUMES=1),
    WIDE | dict(VOLUMES=1, SHARED=0, LISTED=1, LONG_ROWS=1, SAMPLED=1, BOUNDED=1, SLEEPS=1),
    PLAIN | dict(VOLUMES=1, OUTPUT="i32", PLANES=5, LONG_ROWS=1),
    PLAIN | dict(VOLUMES=1, OUTPUT="i32", PLANES=5, SAMPLED=1, LISTED=1, LIMITED=1),
]


def offset_checks():
    """C++ that does not compile unless fields lie where Python puts them."""
    return "".join(
        f"static_assert(__builtin_offsetof({name}, {field}) == {offset});\n"
        for name, dtype in sources.STRUCTS.items()
        for field, (_, offset, *_) in dtype.fields.items()
    )


def compile_kernels(file, options, architecture, folder):
    """As device.module does it, without a device and with every warning an error."""
    source = folder / "inlined.cu"
    source.write_text(sources.inlined(file) + sources.size_checks() + offset_checks())
    run = subprocess.run(
        [nvcc(), "-std=c++17", "-cubin", f"-arch=sm_{architecture}", "-Werror", "all-warnings"]
        + [f"-DCOTM_{key}={value}" for key, value in options.items()]
        + ["-o", str(folder / "kernels.cubin"), str(source)],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("file", "variant"),
    [
        *itertools.product(("train.cu", "predict.cu"), range(len(VARIANTS))),
        *itertools.product(("data.cu",), range(2)),  # it has no options
    ],
)
def test_kernels_compile(file, variant, tmp_path):
    """For the oldest architecture the compiler knows from 7.0 on, and for 9.0, by turns."""
    listed = subprocess.run([nvcc(), "--list-gpu-arch"], capture_output=True, text=True, check=True)
    known = sorted(int(line.removeprefix("compute_")) for line in listed.stdout.split())
    oldest = min(arch for arch in known if arch >= 70)
    architecture = [oldest, 90 if 90 in known else oldest][variant % 2]
    options = {} if file == "data.cu" else {"THREADS": 1024, **VARIANTS[variant]}
    compile_kernels(file, options, architecture, tmp_path)


def test_kernels_and_their_functions_stay_small():
    for path in KERNELS.iterdir():
        lines = path.read_text().splitlines()
        assert len(lines) <= 450, f"{path.name} has {len(lines)} lines"
        start = 0
        for number, line in enumerate(lines):
            if line and not line.startswith((" ", "#", "}")):
                start = number
            assert number - start < 80, f"{path.name}: too long from line {start + 1} on"


# What Python reads from the kernels -----------------------------------------------------------


def test_includes_are_inlined_once_and_keep_their_lines():
    text = sources.inlined("train.cu")
    assert "#include" not in text and "#pragma once" not in text
    for path in KERNELS.glob("*.cuh"):
        assert text.count(f'#line 1 "{path.name}"') == 1, path.name
    where, found = ("", 0), {}
    for line in text.splitlines():
        named = re.fullmatch(r'#line (\d+) "(.+)"', line)
        where = (named[2], int(named[1]) - 1) if named else (where[0], where[1] + 1)
        if not named and line:
            found[where] = line
    for (name, number), line in found.items():
        assert (KERNELS / name).read_text().splitlines()[number - 1] == line


def test_only_what_a_kernel_needs_is_compiled_with_it():
    """Else packing examples would wait for the compilation of training."""
    text = sources.inlined("data.cu")
    assert "COTM_" not in text and "struct Trainer" not in text


STRUCT = """
struct Inner {
  u32 a, b;
};

// A comment.
struct Outer {
  const u8* pointer;  // [n]
  u8 small;
  Inner pair[2];
  double real;
  i8 last;
  __device__ i64 twice(i64 a) const;
};
"""


def test_structs_are_read_as_the_compiler_lays_them_out():
    outer = sources.read_structs(STRUCT)["Outer"]
    assert outer.names == ("pointer", "small", "pair", "real", "last")
    assert [outer.fields[name][1] for name in outer.names] == [0, 8, 12, 32, 40]
    assert outer.itemsize == 48 and outer["pair"].shape == (2,)


@pytest.mark.parametrize(
    "line", ["u32 a = 1;", "float a;", "u32 a", "u32 a; u32 b;", "u32& a;", "u32** a;", "Later a;",
             "u32 a : 3;", "u32 a[n];", "using A = u32;"],
)  # fmt: skip
def test_a_struct_that_is_not_understood_is_refused(line):
    with pytest.raises(ValueError, match="struct Odd has"):
        sources.read_structs(f"struct Odd {{\n  {line}\n}};\nstruct Later {{\n  u8 b;\n}};\n")


def test_the_kernels_know_every_field_of_a_spec():
    fields = {field.name for field in dataclasses.fields(Spec)}
    assert set(sources.STRUCTS["Spec"].names) == fields - {"grid"}
    spec = Spec(n=3, m=2, grid=PatchGrid.flat(4), T=5, q=6554, N=7, sharing=False, seed=2**64 - 1)
    filled = layout.fill_spec(spec)
    for name in filled.dtype.names:
        assert filled[name] == getattr(spec, name), name


SPEC = Spec(n=3, m=2, grid=PatchGrid.flat(4), T=5, q=6554, N=7)


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Spec)])
def test_what_the_kernels_leave_out_is_refused(name):
    """A part of a spec that they do not use would else be ignored without a word."""
    text = re.sub(r"^struct Spec \{.*?^\};|//.*?$", "", kernel_texts(), flags=re.M | re.S)
    backend = (KERNELS.parent / "backend.py").read_text()
    text += re.search(r"^        options = \{.*?^        \}", backend, flags=re.M | re.S)[0]
    if name != "grid" and not re.search(rf"\b{name}\b", text):
        others = [dataclasses.replace(SPEC, **{name: value}) for value in (1, 2, 3)]
        assert any(CudaKind().lacks(other) for other in others), (
            f"no kernel uses {name}: let CudaKind.lacks name it"
        )


def kernel_texts():
    return "\n".join(path.read_text() for path in sorted(KERNELS.iterdir()))


def test_a_field_too_many_or_too_few_is_refused():
    with pytest.raises(TypeError, match=r"struct Patch and its values differ in column, rows"):
        layout.fill_struct("Patch", {"row": 1, "rows": 2})

    @dataclasses.dataclass(frozen=True)
    class NewSpec(Spec):
        option: int = 0

    with pytest.raises(TypeError, match="struct Spec and its values differ in option"):
        layout.fill_spec(NewSpec(n=1, m=1, grid=PatchGrid.flat(1), T=1, q=1, N=1))


HOST = """
#include <algorithm>
#include <cstdio>
#define __device__
#define __forceinline__ inline
#define __noinline__
using std::max, std::min;
"""


def test_randomness_gives_the_vectors_on_the_processor(tmp_path):
    """The same text as on a device, by the C++ compiler; it checks the structs on the way."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    calls = "".join(
        'std::printf("%u\\n", hash32(make_key(step_key({seed}u, {step}u), '
        "static_cast<Purpose>({purpose}), {output}, {clause}), {index}u));\n".format(**vector)
        for vector in VECTORS
    )
    text = HOST + sources.inlined("randomness.cuh") + sources.size_checks() + offset_checks()
    (tmp_path / "hashes.cpp").write_text(f"{text}int main() {{\n{calls}}}\n")
    program = str(tmp_path / "hashes")
    subprocess.run(
        [compiler, "-std=c++17", "-o", program, str(tmp_path / "hashes.cpp")], check=True
    )
    found = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    assert [int(value) for value in found] == [vector["hash"] for vector in VECTORS]


# Layouts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("features", [1, 5, 31, 32, 33, 70])
@pytest.mark.parametrize("picks", [-1, 65_536])
def test_a_mask_lies_as_the_literals_of_a_row_do(features, picks):
    spec = Spec(n=1, m=1, grid=PatchGrid.flat(features), T=1, q=0, N=1, picks=picks)
    sizes = Sizes.of(spec, BatchLayout.of(spec.grid))
    for literal in range(2 * features):
        mask = layout.awake_mask(sizes, np.arange(2 * features) == literal)
        negated, feature = divmod(literal, features)
        if picks < 0:  # a byte per literal, of a feature and of its negation by turns
            expected = np.zeros(sizes.row, dtype=np.uint8)
            expected[2 * feature + negated] = 255
        else:  # a bit per literal, those of features first
            words = np.zeros(sizes.unit_words, dtype="<u4")
            words[feature // 32 + negated * sizes.unit_words // 2] = 1 << feature % 32
            expected = words.view(np.uint8)
        np.testing.assert_array_equal(mask, expected)


def test_a_search_sees_every_column():
    """Chunks of 32 bits begin at patches, and the bits in them are those of all patches."""
    for width, patch, stride in itertools.product((1, 5, 28, 32, 33, 70), (1, 2, 8), range(1, 41)):
        if patch > width:
            continue
        grid = PatchGrid(3, width, 1, 1, patch, 1, stride)
        batch = BatchLayout.of(grid)
        if width <= 32:  # the kernels then look at one chunk
            assert grid.columns <= batch.lane_columns
        assert (batch.lane_columns - 1) * stride < 32, "starts beyond the word"


@pytest.mark.parametrize("seed", range(40))
def test_a_patch_is_found_where_the_kernels_look_for_it(seed):
    rng = np.random.default_rng(seed)
    grid = random_volume(rng) if seed % 2 else random_grid(rng)
    batch = BatchLayout.of(grid)
    image = rng.integers(0, 2, grid.image_shape, dtype=np.uint8)
    height, width, channels = grid.image_shape
    words = np.zeros((channels * height, 1 << batch.pitch_bits), dtype=np.uint8)
    words[:, :width] = np.moveaxis(image, 2, 0).reshape(-1, width)  # as batch_dense has them
    assert words.size == batch.words
    depths, rows, columns = grid.place(np.arange(grid.n_patches))
    lines = depths * batch.depth_step + rows * grid.stride_rows
    first = (lines << batch.pitch_bits) + columns * grid.stride_columns
    found = words.reshape(-1)[first[:, None] + batch.offsets().astype(np.int64)]
    content = patch_features(image, grid)[:, grid.n_position_features :]
    np.testing.assert_array_equal(found, content)


@pytest.mark.parametrize("features", [50, 784, 5000, 12_800, 59_584, 2**20])
def test_teams_of_warps_stay_within_shared_memory(features):
    for n, m, most in itertools.product((1, 20, 2000, 80_000), (2, 10), (49_152, 232_448)):
        spec = Spec(n=n, m=m, grid=PatchGrid.flat(features), T=100, q=6554, N=128, picks=65_536)
        launch = LaunchLayout.of(spec, Sizes.of(spec, BatchLayout.of(spec.grid)), 132, most)
        assert launch.shared_bytes <= most
        teams, rest = divmod(launch.threads // 32, launch.team_warps)
        assert rest == 0
        assert launch.team_warps == 1 or (teams <= 8 and launch.listed and launch.threads == 1024)


def test_a_launch_stays_within_shared_memory():
    for n, m, most in itertools.product(
        (1, 3, 500, 20_000, 80_000), (1, 10, 3000), (49_152, 232_448)
    ):
        spec = Spec(n=n, m=m, grid=PatchGrid(28, 28, 1, 10, 10), T=100, q=6554, N=128)
        launch = LaunchLayout.of(spec, Sizes.of(spec, BatchLayout.of(spec.grid)), 132, most)
        assert launch.shared_bytes <= most and launch.blocks <= min(n, 132)
        assert 64 <= launch.threads <= 1024 and launch.threads % 32 == 0
        workers = launch.threads // 32 - min(launch.threads // 32 - 1, -(-m // 32))
        assert launch.listed or -(-n // launch.blocks) <= workers
    assert not launch.holds("outputs")  # of 3,000 outputs, which take 243 kB


# Without a device -----------------------------------------------------------------------------


@pytest.mark.skipif(not why_missing("cuda"), reason="there is a CUDA device")
def test_without_a_device_the_error_says_what_to_do():
    with pytest.raises(ValueError, match=r"backend='cuda'.*backend='native'"):
        cotm.Machine(4, T=2, backend="cuda")
    assert backends.backends_for("auto", large_spec(), 10**6, training=True) == ["native"]


def large_spec(n=5000):
    return Spec(n=n, m=10, grid=PatchGrid(28, 28, 1, 10, 10), T=100, q=6554, N=128)
