"""The CUDA backend equals the others bit for bit, and says what is wrong where it cannot run."""

import dataclasses
import itertools
import json
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from configurations import assert_equal, outcome, random_configuration

import cotm
import cotm.machine
from cotm import backends
from cotm.backends.cuda import layout, sources
from cotm.backends.cuda.layout import BatchLayout, LaunchLayout, Sizes
from cotm.backends.kinds import CudaKind
from cotm.backends.reference import ReferenceBackend
from cotm.core.examples import Examples
from cotm.core.gpu_arrays import as_gpu_array
from cotm.core.limits import WEIGHT_LIMIT
from cotm.core.patches import PatchGrid
from cotm.core.spec import Spec, selection_scale
from cotm.core.state import start_weights

KERNELS = Path(cotm.__file__).parent / "backends" / "cuda" / "kernels"
VECTORS = json.loads((Path(__file__).parents[1] / "hash_vectors.json").read_text())["hash32"]

try:
    import cupy as cp

    WHY_NOT = "" if cp.cuda.runtime.getDeviceCount() else "there is no CUDA device"
except ImportError:
    WHY_NOT = "CuPy is not installed"
except Exception as error:  # CuPy's own kind, for example without a driver
    WHY_NOT = f"CUDA does not work here: {error}"
gpu = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
no_gpu = pytest.mark.skipif(not WHY_NOT, reason="there is a CUDA device")

if not WHY_NOT:
    from cotm.backends.cuda import device
    from cotm.backends.cuda.backend import CudaBackend
    from cotm.backends.native import NativeBackend


# Compiling, without a device ------------------------------------------------------------------


def nvcc():
    found = shutil.which("nvcc") or os.path.join(os.environ.get("CUDA_HOME", ""), "bin", "nvcc")
    if not os.path.exists(found):
        pytest.skip("nvcc is not installed")
    return found


PLAIN = dict(
    ENTRY="u16", SUM="i32", OUTPUT="u8", SHARED=255, LISTED=0, TEAM_WARPS=1, SEARCHES=1,
    LONG_ROWS=0, MANY=0, LIMITED=0, HEAVY=0, PLANES=1, SAMPLED=0, BOUNDED=0,
    ONE_NEGATIVE=0,
)  # fmt: skip
WIDE = PLAIN | dict(ENTRY="u32", SUM="i64")
VARIANTS = [
    PLAIN,
    PLAIN | dict(SHARED=127, LISTED=1, HEAVY=1, ONE_NEGATIVE=1),
    WIDE | dict(SHARED=0, LISTED=1, LONG_ROWS=1, MANY=1, LIMITED=1, ONE_NEGATIVE=1),
    WIDE | dict(SHARED=11, SEARCHES=0, MANY=1, HEAVY=1),
    PLAIN | dict(OUTPUT="i32", PLANES=3, BOUNDED=1),
    PLAIN | dict(OUTPUT="i32", PLANES=8, SAMPLED=1, LIMITED=1, LONG_ROWS=1),
    WIDE | dict(OUTPUT="i32", PLANES=2, SAMPLED=1, LISTED=1, TEAM_WARPS=16, SEARCHES=0, MANY=1),
    WIDE | dict(SAMPLED=1, LISTED=1, SEARCHES=0, BOUNDED=1, SHARED=11),
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


@pytest.mark.parametrize("file", ["train.cu", "predict.cu", "data.cu"])
@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_kernels_compile(variant, file, tmp_path):
    """For the oldest architecture the compiler knows from 7.0 on, and for 9.0."""
    listed = subprocess.run([nvcc(), "--list-gpu-arch"], capture_output=True, text=True, check=True)
    known = sorted(int(line.removeprefix("compute_")) for line in listed.stdout.split())
    oldest = min(arch for arch in known if arch >= 70)
    architecture = [oldest, 90 if 90 in known else oldest][variant % 2]
    options = {} if file == "data.cu" else {**VARIANTS[variant], "THREADS": 1024}
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


HASHES = """
extern "C" __global__ void hashes(const u64* seeds, const u64* steps, const u64* purposes,
                                  const u64* outputs, const u64* clauses, const u64* indices,
                                  const u32 count, u32* found) {
  const u32 k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  const Key key = make_key(step_key(seeds[k], steps[k]), static_cast<Purpose>(purposes[k]),
                           outputs[k], clauses[k]);
  found[k] = hash32(key, static_cast<u32>(indices[k]));
}
"""


@gpu
def test_randomness_gives_the_vectors():
    kernel = cp.RawModule(
        code=sources.inlined("randomness.cuh") + HASHES, options=("-std=c++17",)
    ).get_function("hashes")
    names = ("seed", "step", "purpose", "output", "clause", "index")
    columns = [cp.asarray(np.array([v[name] for v in VECTORS], dtype=np.uint64)) for name in names]
    found = cp.zeros(len(VECTORS), dtype=np.uint32)
    kernel((-(-len(VECTORS) // 64),), (64,), (*columns, np.uint32(len(VECTORS)), found))
    assert cp.asnumpy(found).tolist() == [vector["hash"] for vector in VECTORS]


# Layouts, without a device --------------------------------------------------------------------


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


@no_gpu
def test_without_a_device_the_error_says_what_to_do():
    with pytest.raises(ValueError, match=r"backend='cuda'.*backend='native'"):
        cotm.Machine(4, T=2, backend="cuda")
    assert backends.backends_for("auto", large_spec(), 10**6, training=True) == ["native"]


def large_spec(n=5000):
    return Spec(n=n, m=10, grid=PatchGrid(28, 28, 1, 10, 10), T=100, q=6554, N=128)


# Equality -------------------------------------------------------------------------------------


#: As it comes; on one block, so that much lies in global memory; with and without lists.
LAUNCHES = [{}, {"blocks": 1}, {"blocks": 3, "threads": 64, "listed": True},
            {"blocks": 2, "threads": 128, "listed": False}]  # fmt: skip
#: Several warps teach a clause, where that is possible.
TEAMS = [{"blocks": 2, "threads": 128, "team_warps": 2}, {"threads": 96, "team_warps": 3},
         {"blocks": 1, "threads": 1024, "team_warps": 16}]  # fmt: skip


@gpu
@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("seed", range(160))
def test_equals_reference(seed, later):
    """Any shape, option and layout."""
    c = random_configuration(1000 + seed, later=later, newest=False)
    expected = outcome(ReferenceBackend(c.spec, c.memory, c.weights), c)
    joins = c.spec.picks >= 0 and c.spec.grid.n_patches == 1
    for launch in LAUNCHES + joins * TEAMS:
        backend = CudaBackend(c.spec, c.memory, c.weights, **launch)
        assert_equal(expected, outcome(backend, c), f"{launch}, {c.spec}")


#: Later options, of clauses that are strict, graded, sampled, and all of it.
LATER = [
    {},
    {"tolerance": 5},
    {"picks": 400_000, "boost_true_positive": True},
    {"tolerance": 9, "picks": 90_000, "growth_limit": 12, "include_depth": 4,
     "boost_true_positive": True},
]  # fmt: skip


@gpu
@pytest.mark.parametrize("later", LATER, ids=lambda later: ", ".join(later) or "none")
@pytest.mark.parametrize("seed", range(12))
def test_long_training_equals_native(seed, later):
    """From the start through many steps and launches, so that clauses fill and empty."""
    rng = np.random.default_rng(seed)
    grid = [PatchGrid.flat(70), PatchGrid(6, 7, 2, 3, 2, 1, 2), PatchGrid(1, 90, 1, 1, 5)][seed % 3]
    spec = Spec(
        n=333, m=4, grid=grid, T=20, q=16804, N=[128, 5, 1][seed % 3], sharing=seed % 4 != 3,
        e_scales_type2=seed % 5 == 0, seed=seed, max_literals=6 if seed % 3 == 1 else 0,
        **{"boost_true_positive": seed % 2 == 0, **later},
    )  # fmt: skip
    bits = rng.integers(0, 2, (400, *grid.image_shape), dtype=np.uint8)
    flat = bits.reshape(400, -1)
    targets = np.stack([flat[:, 0], flat[:, 1] ^ flat[:, 2], flat[:, 3], 1 - flat[:, 5]], 1)
    scales = selection_scale(0.5, np.ones(1))
    memory = np.full((spec.n, grid.n_literals), -1, dtype=np.int8)
    pair = [kind(spec, memory, start_weights(spec)) for kind in (NativeBackend, CudaBackend)]
    data = [backend.prepare(Examples(bits, grid)) for backend in pair]
    step = 0
    for count in (1, 31, 32, 33, 400, 777):
        order = rng.integers(0, 400, count)
        counts = [
            backend.train(examples, targets, scales, order, step)
            for backend, examples in zip(pair, data, strict=True)
        ]
        assert counts[0] == counts[1]
        step += count
    for a, b in zip(pair[0].state(), pair[1].state(), strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(pair[0].votes(data[0]), pair[1].votes(data[1]))
    assert np.array_equal(pair[0].clause_outputs(data[0]), pair[1].clause_outputs(data[1]))


CASES = {
    "images, a warp per clause": dict(n=500, grid=PatchGrid(28, 28, 1, 10, 10)),
    "images, listed": dict(n=9000, grid=PatchGrid(28, 28, 1, 10, 10)),
    "images, lists in global memory": dict(n=40_000, grid=PatchGrid(28, 28, 1, 10, 10)),
    "images, rows in global memory": dict(n=120_000, grid=PatchGrid(28, 28, 1, 10, 10)),
    "many channels": dict(n=300, grid=PatchGrid(32, 32, 24, 8, 8)),
    "long rows": dict(n=300, grid=PatchGrid(40, 70, 2, 6, 9, 2, 3)),
    "more than 1,024 patches": dict(n=300, grid=PatchGrid(1, 40_000, 1, 1, 3)),
    "as many columns as bits": dict(n=300, grid=PatchGrid(28, 28, 1, 8, 8, 20, 20)),
    "a column at the last bit": dict(n=300, grid=PatchGrid(6, 32, 1, 2, 2, 1, 3)),
    "columns within a word": dict(n=300, grid=PatchGrid(5, 32, 2, 2, 4, 1, 7)),
    "columns far apart": dict(n=100, grid=PatchGrid(3, 300, 1, 2, 4, 1, 40)),
    "flat": dict(n=2000, grid=PatchGrid.flat(784)),
    "text": dict(n=2000, grid=PatchGrid.flat(5000), sparse=True),
    "offsets beyond 16 bits": dict(n=7, grid=PatchGrid.flat(70_001), sparse=True),
    "many outputs": dict(n=64, grid=PatchGrid.flat(50), m=300),
    "more outputs than shared memory holds": dict(n=20, grid=PatchGrid.flat(20), m=4000),
    "a few outputs beyond a warp": dict(n=200, grid=PatchGrid(9, 9, 1, 4, 4), m=33),
    "large weights": dict(n=300, grid=PatchGrid.flat(60), weight=WEIGHT_LIMIT - 3),
    "plain, a cap": dict(n=400, grid=PatchGrid(9, 9, 1, 4, 4), sharing=False, max_literals=5),
}
GRADED = dict(tolerance=20, growth_limit=30, include_depth=26, picks=65_536 * 50)
CASES |= {
    "graded, taught together": dict(n=200, grid=PatchGrid.flat(6000), **GRADED),
    "graded, of one patch": dict(n=60, grid=PatchGrid(20, 20, 12, 20, 20), **GRADED),
    "graded, together, a cap": dict(n=50, grid=PatchGrid.flat(3000), max_literals=9, **GRADED),
    "graded, long rows of many": dict(n=3000, grid=PatchGrid.flat(3000), **GRADED),
    "graded text": dict(n=500, grid=PatchGrid.flat(5000), sparse=True, **GRADED),
    "graded images": dict(n=600, grid=PatchGrid(28, 28, 1, 10, 10), **GRADED),
    "graded images, listed": dict(n=9000, grid=PatchGrid(28, 28, 1, 10, 10), **GRADED),
    "graded wide images": dict(n=300, grid=PatchGrid(40, 70, 2, 6, 9, 2, 3), **GRADED),
    "graded columns within a word": dict(n=300, grid=PatchGrid(5, 32, 2, 2, 4, 1, 7), **GRADED),
    "graded, many outputs": dict(n=64, grid=PatchGrid.flat(50), m=300, **GRADED),
    "graded, drawn": dict(n=500, grid=PatchGrid(28, 28, 1, 10, 10), tolerance=9),
    "strict, sampled": dict(n=2000, grid=PatchGrid.flat(784), picks=65_536 * 150),
}


@gpu
@pytest.mark.parametrize("case", CASES)
def test_equals_native_where_the_kernels_differ(case):
    options = {"m": 10, "sharing": True, "max_literals": 0, **CASES[case]}
    grid, m, weight = options["grid"], options["m"], options.pop("weight", None)
    sparse = options.pop("sparse", False)
    rng = np.random.default_rng(5)
    rows = 70 if options["n"] < 50_000 else 40
    spec = Spec(T=2 * options["n"], q=13107, N=128, seed=3, **options)
    bits = (rng.random((rows, *grid.image_shape)) < (0.05 if sparse else 0.4)).astype(np.uint8)
    examples = Examples(scipy.sparse.csr_array(bits.reshape(rows, -1)) if sparse else bits, grid)
    targets = (rng.random((rows, m)) < 0.3).astype(np.uint8)
    memory = np.full((spec.n, grid.n_literals), -1, dtype=np.int8)
    weights = start_weights(spec)
    if weight is not None:
        weights *= weight
    scales = selection_scale(1.0, np.ones(1))
    found = []
    for kind in (NativeBackend, CudaBackend):
        backend = kind(spec, memory, weights, 2)
        data = backend.prepare(examples)
        counts = backend.train(data, targets, scales, rng.permutation(0), 0)
        counts = backend.train(data, targets, scales, np.arange(rows) * 7 % rows, 5)
        found.append((counts, *backend.state(), backend.votes(data)))
    for a, b in zip(*found, strict=True):
        assert np.array_equal(a, b)


@gpu
def test_two_threads_train_two_machines():
    rng = np.random.default_rng(1)
    X, Y = rng.integers(0, 2, (2000, 12)), rng.integers(0, 2, (2000, 3))
    machines = [cotm.Machine(50, T=20, backend="cuda", random_state=k) for k in range(2)]
    threads = [threading.Thread(target=m.fit, args=(X, Y), kwargs={"epochs": 3}) for m in machines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, machine in enumerate(machines):
        alone = cotm.Machine(50, T=20, backend="native", random_state=k).fit(X, Y, epochs=3)
        assert np.array_equal(alone.memory_, machine.memory_)


# Devices --------------------------------------------------------------------------------------


@gpu
def test_a_device_is_chosen_by_number():
    machine = cotm.Machine(4, T=2, backend="cuda:0", random_state=1).fit([[0], [1]], [[0], [1]])
    assert machine.backend_ == "cuda:0"
    count = cp.cuda.runtime.getDeviceCount()
    with pytest.raises(ValueError, match=f"asks for device 99, but there .* {count}"):
        cotm.Machine(4, T=2, backend="cuda:99")


@gpu
def test_too_little_device_memory_is_told_with_numbers(monkeypatch):
    monkeypatch.setattr(device, "free_memory", lambda: 1_000_000)
    with pytest.raises(MemoryError, match=r"n_clauses=10000 .* MB on CUDA device 0, but 1\.0 MB"):
        cotm.Machine(10_000, T=2, backend="cuda").fit(np.zeros((4, 500)), [0, 1, 0, 1])


@gpu
def test_an_allocation_that_fails_is_told_with_numbers(monkeypatch):
    machine = cotm.Machine(10, T=2, backend="cuda").fit(np.eye(8), np.eye(8))

    def fails(*arguments, **options):
        raise cp.cuda.memory.OutOfMemoryError(10, 20, 30)

    monkeypatch.setattr(cp, "empty", fails)
    with pytest.raises(MemoryError, match=r"n_clauses=10 .*fewer examples at a time"):
        machine.votes(np.eye(8))


@gpu
def test_old_devices_are_refused(monkeypatch):
    monkeypatch.setattr(cp.cuda, "Device", lambda index: type("", (), {"compute_capability": "61"}))
    with pytest.raises(ValueError, match=r"capability 6\.1, but 7\.0"):
        device.module.__wrapped__(0, "data.cu")


@gpu
def test_votes_that_could_overflow_are_refused():
    spec = Spec(n=200_000, m=1, grid=PatchGrid.flat(1), T=5, q=6554, N=128)
    weights = np.full((spec.n, 1), WEIGHT_LIMIT, dtype=np.int32)
    backend = CudaBackend(spec, np.full((spec.n, 2), -1, dtype=np.int8), weights)
    examples = backend.prepare(Examples(np.ones((1, 1, 1, 1), np.uint8), spec.grid))
    assert backend.votes(examples).tolist() == [[0]]
    scales = selection_scale(1.0, np.ones(1))
    with pytest.raises(ValueError, match="47 bits"):
        backend.train(examples, np.ones((1, 1), np.uint8), scales, np.zeros(1, np.int64), 0)


# Input that lies on the device ----------------------------------------------------------------


def task(images):
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (300, 8, 8) if images else (300, 20), dtype=np.uint8)
    return X, X.reshape(300, -1)[:, 3] ^ X.reshape(300, -1)[:, 5]


@gpu
@pytest.mark.parametrize("backend", ["cuda", "native"])
@pytest.mark.parametrize("images", [False, True])
def test_device_arrays_give_what_numpy_arrays_give(images, backend):
    X, y = task(images)
    patch = (3, 3) if images else None
    results = []
    for data, labels in ((X, y), (cp.asarray(X), cp.asarray(y))):
        model = cotm.CoTMClassifier(
            60, patch_shape=patch, epochs=3, random_state=4, backend=backend, early_stopping=True
        ).fit(data, labels)
        machine = cotm.Machine(60, T=30, patch_shape=patch, random_state=4, backend=backend)
        machine.fit(data, np.asarray(y)[:, None], epochs=2)
        results.append((model.predict(data), model.decision_function(data), machine.votes(data)))
        assert all(isinstance(part, np.ndarray) for part in results[-1])
        assert model.score(data, y) == np.mean(results[-1][0] == y)
    for a, b in zip(*results, strict=True):
        assert np.array_equal(a, b)


@gpu
def test_device_arrays_stay_where_they_are(monkeypatch):
    X, y = task(False)
    on_device = cp.asarray(X)

    def copied(*arguments, **options):
        raise AssertionError("X was copied to the host")

    model = cotm.CoTMClassifier(20, epochs=1, random_state=1, backend="cuda")
    monkeypatch.setattr("cotm.core.gpu_arrays.to_host", copied)
    monkeypatch.setattr("cotm.model.inputs.to_host", copied)
    monkeypatch.setattr("cotm.core.examples.to_host", copied)
    model.fit(on_device, y).predict(on_device)


@gpu
def test_device_arrays_of_numbers_are_made_bits():
    X, y = task(False)
    numbers = X * 2.5 + np.arange(300)[:, None] % 3
    models = [
        cotm.CoTMClassifier(30, epochs=2, random_state=1, backend="cuda").fit(data, y)
        for data in (numbers, cp.asarray(numbers))
    ]
    assert np.array_equal(models[0].memory_, models[1].memory_)


@gpu
def test_wrong_device_arrays_are_refused():
    X, y = task(False)
    wrong = cp.asarray(X) + cp.uint8(1)
    with pytest.raises(ValueError, match="the value 2"):
        cotm.Machine(10, T=5, backend="cuda").fit(wrong, y)
    machine = cotm.Machine(10, T=5, backend="cuda").fit(cp.asarray(X), y)
    with pytest.raises(ValueError, match="examples of shape"):
        machine.votes(cp.asarray(X[:, :5]))
    model = cotm.CoTMClassifier(10, epochs=1, backend="cuda").fit(cp.asarray(X), y)
    with pytest.raises(ValueError, match="5 features"):
        model.predict(cp.asarray(X[:, :5]))


@gpu
def test_torch_tensors_are_read_where_they_lie():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no CUDA device")
    X, y = task(False)
    tensor = torch.from_numpy(X).cuda()
    assert as_gpu_array(tensor).data.ptr == tensor.data_ptr()
    machines = [
        cotm.Machine(20, T=9, backend="cuda", random_state=1).fit(data, y) for data in (X, tensor)
    ]
    assert np.array_equal(machines[0].memory_, machines[1].memory_)
