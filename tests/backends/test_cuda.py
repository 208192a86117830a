"""The CUDA backend equals the others bit for bit, and says what is wrong where it cannot run."""

import contextlib
import json
import queue
import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from configurations import assert_equal, outcome, random_configuration, random_volume
from helpers import why_missing

import cotm
import cotm.machine
from cotm.backends import side_by_side
from cotm.backends.cuda import sources
from cotm.backends.reference import ReferenceBackend
from cotm.core.examples import Examples
from cotm.core.gpu_arrays import as_gpu_array
from cotm.core.limits import WEIGHT_LIMIT
from cotm.core.patches import PatchGrid
from cotm.core.spec import Spec, selection_scale
from cotm.core.state import start_weights

if WHY_NOT := why_missing("cuda"):
    pytest.skip(WHY_NOT, allow_module_level=True)
else:
    import cupy as cp

    from cotm.backends.cuda import device
    from cotm.backends.cuda.backend import CudaBackend
    from cotm.backends.native import NativeBackend

VECTORS = json.loads((Path(__file__).parents[1] / "hash_vectors.json").read_text())["hash32"]

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


def test_randomness_gives_the_vectors():
    kernel = cp.RawModule(
        code=sources.inlined("randomness.cuh") + HASHES, options=("-std=c++17",)
    ).get_function("hashes")
    names = ("seed", "step", "purpose", "output", "clause", "index")
    columns = [cp.asarray(np.array([v[name] for v in VECTORS], dtype=np.uint64)) for name in names]
    found = cp.zeros(len(VECTORS), dtype=np.uint32)
    kernel((-(-len(VECTORS) // 64),), (64,), (*columns, np.uint32(len(VECTORS)), found))
    assert cp.asnumpy(found).tolist() == [vector["hash"] for vector in VECTORS]


# Equality -------------------------------------------------------------------------------------


#: As it comes; on one block, so that much lies in global memory; with and without lists.
LAUNCHES = [{}, {"blocks": 1}, {"blocks": 3, "threads": 64, "listed": True},
            {"blocks": 2, "threads": 128, "listed": False}]  # fmt: skip
#: Several warps teach a clause, where that is possible.
TEAMS = [{"blocks": 2, "threads": 128, "team_warps": 2}, {"threads": 96, "team_warps": 3},
         {"blocks": 1, "threads": 1024, "team_warps": 16}]  # fmt: skip


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("seed", range(160))
def test_equals_reference(seed, later):
    """Any shape, option and layout."""
    compare(random_configuration(1000 + seed, later=later), seed % 4 == 0)


def compare(c, beside):
    """Let the reference and every layout of the kernels make the same of a configuration."""
    expected = outcome(ReferenceBackend(c.spec, c.memory, c.weights), c)
    joins = c.spec.picks >= 0 and c.spec.grid.is_whole
    for launch in LAUNCHES + joins * TEAMS:
        # Launches of one kind for each configuration: every kernel has to be compiled.
        with side_by_side() if beside else contextlib.nullcontext():
            backend = CudaBackend(c.spec, c.memory, c.weights, **launch)
        assert_equal(expected, outcome(backend, c), f"{launch}, {c.spec}")


#: The least size of volumes, by turns: any; rows of several words; many depths; many rows.
LEAST = [(2, 1, 1), (2, 1, 33), (2, 2, 70), (40, 1, 1), (3, 34, 2), (7, 8, 9)]


@pytest.mark.parametrize("seed", range(120))
def test_volumes_equal_the_reference(seed):
    """Any shape and option, in batches that are full and not."""
    grid = random_volume(np.random.default_rng(seed), at_least=LEAST[seed % len(LEAST)])
    rows = 12 if seed % 5 else 70
    compare(random_configuration(4000 + seed, rows=rows, grid=grid), seed % 4 == 0)


#: Later options, of clauses that are strict, graded, sampled, and all of it.
LATER = [
    {},
    {"tolerance": 5},
    {"picks": 400_000, "boost_true_positive": True},
    {"tolerance": 9, "picks": 90_000, "growth_limit": 12, "include_depth": 4,
     "boost_true_positive": True},
]  # fmt: skip


@pytest.mark.parametrize("later", LATER, ids=lambda later: ", ".join(later) or "none")
@pytest.mark.parametrize("seed", range(12))
def test_long_training_equals_native(seed, later):
    """From the start through many steps and launches, so that clauses fill and empty."""
    rng = np.random.default_rng(seed)
    volume = PatchGrid(5, 4, 1, 2, 3, 1, 1, depth=6, patch_depth=2, stride_depths=2)
    images = PatchGrid(6, 7, 2, 3, 2, 1, 2), PatchGrid(1, 90, 1, 1, 5), volume
    grid = [PatchGrid.flat(70), *images][seed % 4]
    spec = Spec(
        n=333, m=4, grid=grid, T=20, q=16804, N=[128, 5, 1][seed % 3], sharing=seed % 5 != 3,
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


VOLUME = PatchGrid(14, 11, 2, 4, 3, 1, 2, depth=10, patch_depth=3)
WIDE_VOLUME = PatchGrid(9, 70, 2, 4, 9, 2, 3, depth=7, patch_depth=2, stride_depths=2)

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
    "volumes, a warp per clause": dict(n=500, grid=VOLUME),
    "volumes, listed": dict(n=9000, grid=VOLUME),
    "volumes, lists in global memory": dict(n=40_000, grid=VOLUME),
    "volumes, rows in global memory": dict(n=120_000, grid=VOLUME),
    "wide volumes": dict(n=300, grid=WIDE_VOLUME),
    "volumes of many channels": dict(
        n=300, grid=PatchGrid(12, 13, 24, 5, 4, depth=9, patch_depth=4)
    ),
    "volumes with more than 1,024 depths": dict(
        n=300, grid=PatchGrid(3, 4, 1, 2, 2, depth=1500, patch_depth=3)
    ),
    "volumes, plain, a cap": dict(n=400, grid=VOLUME, sharing=False, max_literals=5),
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
    "graded volumes": dict(n=600, grid=VOLUME, **GRADED),
    "graded volumes, listed": dict(n=9000, grid=VOLUME, **GRADED),
    "graded wide volumes": dict(n=300, grid=WIDE_VOLUME, **GRADED),
    "graded volumes, drawn": dict(n=500, grid=VOLUME, tolerance=9),
    "graded, many outputs": dict(n=64, grid=PatchGrid.flat(50), m=300, **GRADED),
    "graded, drawn": dict(n=500, grid=PatchGrid(28, 28, 1, 10, 10), tolerance=9),
    "strict, sampled": dict(n=2000, grid=PatchGrid.flat(784), picks=65_536 * 150),
    "strict volumes, sampled": dict(n=800, grid=VOLUME, picks=65_536 * 50),
    "one patch of many, sampled": dict(n=60, grid=PatchGrid(20, 20, 3, 9, 9, 20, 20), **GRADED),
}


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


def learned(kind, spec, examples, targets, order):
    """What a machine came to from the start in three passes."""
    memory = np.full((spec.n, spec.grid.n_literals), -1, dtype=np.int8)
    backend = kind(spec, memory, start_weights(spec))
    data = backend.prepare(examples)
    scales = selection_scale(1.0, np.ones(1))
    counts = [backend.train(data, targets, scales, order, k * len(order)) for k in range(3)]
    return counts, *backend.state(), backend.votes(data)


@pytest.mark.parametrize("options", [{}, GRADED], ids=["strict", "graded"])
def test_machines_side_by_side_equal_native(options):
    """Eight at a time, and of many sizes: some share multiprocessors, some wait for room."""
    rng = np.random.default_rng(8)
    specs, tried = queue.SimpleQueue(), []
    for seed in range(40):
        grid = PatchGrid(28, 28, 1, 10, 10) if seed % 3 else PatchGrid.flat(784)
        n = int(rng.integers(1, 9000 if seed % 8 == 0 else 900))
        specs.put(Spec(n=n, m=4, T=2 * n, q=13107, N=128, seed=seed, grid=grid, **options))
    bits = (rng.random((500, 28, 28)) < 0.4).astype(np.uint8)
    targets = (rng.random((500, 4)) < 0.3).astype(np.uint8)
    order = rng.permutation(500)

    def work():
        with side_by_side(), contextlib.suppress(queue.Empty):
            while True:
                spec = specs.get_nowait()
                shape = (-1, *spec.grid.image_shape)
                examples = Examples(bits.reshape(shape), spec.grid)
                pair = [
                    learned(kind, spec, examples, targets, order)
                    for kind in (NativeBackend, CudaBackend)
                ]
                same = [np.array_equal(a, b) for a, b in zip(*pair, strict=True)]
                tried.append((spec, same))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tried) == 40
    assert not [(spec, same) for spec, same in tried if not all(same)]


# Devices --------------------------------------------------------------------------------------


def test_a_device_is_chosen_by_number():
    machine = cotm.Machine(4, T=2, backend="cuda:0", random_state=1).fit([[0], [1]], [[0], [1]])
    assert machine.backend_ == "cuda:0"
    count = cp.cuda.runtime.getDeviceCount()
    with pytest.raises(ValueError, match=f"asks for device 99, but there .* {count}"):
        cotm.Machine(4, T=2, backend="cuda:99")


def test_too_little_device_memory_is_told_with_numbers(monkeypatch):
    monkeypatch.setattr(device, "free_memory", lambda: 1_000_000)
    with pytest.raises(MemoryError, match=r"n_clauses=10000 .* MB on CUDA device 0, but 1\.0 MB"):
        cotm.Machine(10_000, T=2, backend="cuda").fit(np.zeros((4, 500)), [0, 1, 0, 1])


def test_an_allocation_that_fails_is_told_with_numbers(monkeypatch):
    machine = cotm.Machine(10, T=2, backend="cuda").fit(np.eye(8), np.eye(8))

    def fails(*arguments, **options):
        raise cp.cuda.memory.OutOfMemoryError(10, 20, 30)

    monkeypatch.setattr(cp, "empty", fails)
    with pytest.raises(MemoryError, match=r"n_clauses=10 .*fewer examples at a time"):
        machine.votes(np.eye(8))


def test_old_devices_are_refused(monkeypatch):
    monkeypatch.setattr(cp.cuda, "Device", lambda index: type("", (), {"compute_capability": "61"}))
    with pytest.raises(ValueError, match=r"capability 6\.1, but 7\.0"):
        device.module.__wrapped__(0, "data.cu")


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


def test_device_arrays_of_numbers_are_made_bits():
    X, y = task(False)
    numbers = X * 2.5 + np.arange(300)[:, None] % 3
    models = [
        cotm.CoTMClassifier(30, epochs=2, random_state=1, backend="cuda").fit(data, y)
        for data in (numbers, cp.asarray(numbers))
    ]
    assert np.array_equal(models[0].memory_, models[1].memory_)


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
