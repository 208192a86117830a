"""The machine learns what the paper says, and keeps its promises."""

import pickle
import signal
import threading

import joblib
import numpy as np
import pytest
import scipy.sparse
from helpers import state

import cotm
from cotm import Machine
from cotm.backends.threads import TrainingThreads
from cotm.core import system
from cotm.core.patches import PatchGrid
from cotm.core.spec import Spec
from cotm.core.state import start_weights
from cotm.core.system import resolve_n_jobs
from cotm.datasets import make_noisy_xor_2d
from cotm.live import _FIRST_SLICE

XOR_X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
XOR_Y = np.column_stack(
    [XOR_X[:, 0] ^ XOR_X[:, 1], XOR_X[:, 0] & XOR_X[:, 1], XOR_X[:, 0] | XOR_X[:, 1]]
)


@pytest.mark.parametrize("seed", range(5))
def test_three_outputs_share_clauses(seed):
    """The paper's example: XOR, AND and OR, learned exactly."""
    X, Y = np.tile(XOR_X, (50, 1)), np.tile(XOR_Y, (50, 1))
    machine = Machine(n_clauses=20, T=15, s=3.9, random_state=seed).fit(X, Y, epochs=40)
    assert np.array_equal(machine.predict(XOR_X), XOR_Y)


def test_three_outputs_with_noise():
    rng = np.random.default_rng(0)
    X, Y = np.tile(XOR_X, (250, 1)), np.tile(XOR_Y, (250, 1))
    noisy = Y ^ (rng.random(Y.shape) < 0.1)
    machine = Machine(n_clauses=40, T=2000, s=3.9, random_state=1).fit(X, noisy, epochs=30)
    assert np.array_equal(machine.predict(XOR_X), XOR_Y)


@pytest.mark.parametrize("seed", range(3))
def test_noisy_xor_2d(seed):
    """40 % of the training labels are wrong; the margin must be far above the clauses."""
    X, y, X_test, y_test = make_noisy_xor_2d(random_state=1)
    model = cotm.CoTMClassifier(
        n_clauses=1000, T=400_000, s=3.9, patch_shape=(2, 2), epochs=24, random_state=seed
    )
    assert model.fit(X, y).score(X_test, y_test) >= 0.995


def test_noisy_xor_2d_is_what_the_paper_describes():
    X, y, X_test, y_test = make_noisy_xor_2d(random_state=3)
    assert X.shape == (2500, 4, 4) and X_test.shape == (10_000, 4, 4)
    corner = X_test[:, :2, 2:].reshape(-1, 4)
    diagonal = (corner[:, 0] == corner[:, 3]) & (corner[:, 1] == corner[:, 2])
    assert np.array_equal(diagonal & (corner[:, 0] != corner[:, 1]), y_test == 1)
    assert (corner.sum(axis=1) == 2).all()  # a line: two of the four bits
    clean = (X[:, 0, 2] == X[:, 1, 3]) & (X[:, 0, 2] != X[:, 0, 3]) & (X[:, 0, 3] == X[:, 1, 2])
    assert (clean != y).sum() == 1000  # 40 % of 2,500
    assert abs(X_test[:, 2:].mean() - 0.5) < 0.01


def test_one_output():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (500, 8))
    machine = Machine(20, T=20, s=3.0, random_state=0).fit(X, X[:, 2] & X[:, 5], epochs=10)
    assert machine.weights_.shape == (20, 1)
    assert (machine.predict(X)[:, 0] == (X[:, 2] & X[:, 5])).all()


def random_data(seed=0, rows=60, features=20, outputs=3):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (rows, features))
    return X, rng.integers(0, 2, (rows, outputs))


def test_caps_are_never_exceeded():
    X, Y = random_data()
    machine = Machine(50, T=100, s=2.0, max_literals=4, max_weight=3, random_state=0)
    most = 0
    for _ in range(20):
        machine.partial_fit(X, Y)
        included = (machine.memory_ >= 0).sum(axis=1)
        assert included.max() <= 4
        assert np.abs(machine.weights_).max() <= 3
        most = max(most, included.max())
    assert most == 4, "the cap was never reached, so it was not tested"


def test_plain_machine_keeps_its_weights():
    X, Y = random_data(outputs=4)
    machine = Machine(40, T=10, sharing=False, weighted=False, random_state=0)
    machine.fit(X, Y, epochs=5)
    assert np.array_equal(machine.weights_, start_weights(machine.spec))
    assert (machine.memory_ >= 0).any()


def test_weighted_machine_keeps_sides_and_owners():
    X, Y = random_data(outputs=4)
    machine = Machine(42, T=100, sharing=False, random_state=0)
    machine.fit(X, Y, epochs=10)
    first = start_weights(machine.spec)
    assert np.array_equal(np.sign(machine.weights_), np.sign(first))
    assert np.abs(machine.weights_).max() > 1


@pytest.mark.parametrize("n, m", [(10, 4), (3, 5), (7, 1), (100, 10)])
def test_owners_get_equal_shares_of_both_signs(n, m):
    weights = start_weights(Spec(n, m, PatchGrid.flat(2), T=1, q=1, N=1, sharing=False))
    assert (np.count_nonzero(weights, axis=1) == 1).all()
    per_output = np.count_nonzero(weights, axis=0)
    assert per_output.max() - per_output.min() <= 1
    assert np.isin(weights.sum(axis=0), [0, 1]).all()  # even positions +1, odd -1


def test_start_weights_are_balanced():
    weights = start_weights(Spec(5000, 4, PatchGrid.flat(2), T=1, q=1, N=1, seed=7))
    assert set(np.unique(weights)) == {-1, 1}
    assert (np.abs(weights.mean(axis=0)) < 0.06).all()


def test_weight_zero_changes_nothing_but_the_step():
    X, Y = random_data()
    machine = Machine(20, T=10, random_state=0).fit(X, Y)
    memory, weights = machine.memory_, machine.weights_
    machine.partial_fit(X, Y, sample_weight=np.zeros(len(X)))
    assert np.array_equal(machine.memory_, memory)
    assert np.array_equal(machine.weights_, weights)
    assert machine.step_ == 2 * len(X)


def test_evaluation_changes_nothing():
    X, Y = random_data()
    machine = Machine(20, T=10, random_state=0).fit(X, Y)
    before = state(machine)
    machine.votes(X)
    machine.clause_outputs(X)
    assert state(machine) == before


def test_votes_are_weights_times_outputs():
    X, Y = random_data()
    machine = Machine(30, T=10, random_state=0).fit(X, Y, epochs=4)
    outputs = machine.clause_outputs(X)
    assert outputs.any()
    assert np.array_equal(machine.votes(X), outputs.astype(int) @ machine.weights_)


def test_empty_clauses_are_silent_in_prediction():
    X, Y = random_data()
    machine = Machine(30, T=10, random_state=0).fit(X, Y, epochs=0)
    assert not machine.clause_outputs(X).any()
    assert not machine.votes(X).any()


def test_many_rows_in_blocks(monkeypatch):
    X, Y = random_data(rows=500)
    machine = Machine(30, T=10, random_state=0).fit(X, Y, epochs=2)
    whole = machine.votes(X)
    monkeypatch.setattr("cotm.machine._PREDICTION_ROWS", 7)
    assert np.array_equal(machine.votes(X), whole)
    assert np.array_equal(machine.votes(scipy.sparse.csr_array(X)), whole)


def test_dense_and_sparse_train_alike():
    X, Y = random_data()
    dense = Machine(20, T=10, random_state=3).fit(X, Y, epochs=3)
    sparse = Machine(20, T=10, random_state=3).fit(scipy.sparse.csr_matrix(X), Y, epochs=3)
    assert state(dense) == state(sparse)


def test_sparse_matrix_with_duplicates_and_zeros_is_cleaned_not_changed():
    matrix = scipy.sparse.csr_array(
        (np.array([1, 0, 1]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3)
    )
    data = matrix.data.copy()
    machine = Machine(8, T=4, random_state=0).fit(matrix, [0, 1], epochs=3)
    dense = Machine(8, T=4, random_state=0).fit(matrix.toarray(), [0, 1], epochs=3)
    assert state(machine) == state(dense)
    assert np.array_equal(matrix.data, data)


def test_passes_continue_exactly():
    X, Y = random_data()
    whole = Machine(20, T=10, random_state=3).fit(X, Y, epochs=4)
    parts = Machine(20, T=10, random_state=3).fit(X, Y, epochs=1)
    copy = pickle.loads(pickle.dumps(parts))
    for machine in (parts, copy):
        training = machine.prepare(*machine._check_training(X, Y, None, machine.spec.grid))
        for _ in range(3):
            machine.train_pass(training)
        assert state(machine) == state(whole)


def test_partial_fit_keeps_the_order():
    X, Y = random_data()
    once = Machine(20, T=10, random_state=3).partial_fit(X, Y)
    halves = (
        Machine(20, T=10, random_state=3).partial_fit(X[:25], Y[:25]).partial_fit(X[25:], Y[25:])
    )
    assert state(once) == state(halves)
    other = Machine(20, T=10, random_state=3).partial_fit(X[::-1], Y[::-1])
    assert state(once) != state(other)


def test_seed_zero_and_large_seeds():
    X, Y = random_data()
    states = [
        state(Machine(20, T=10, random_state=seed).fit(X, Y)) for seed in (0, 1, 2**64 - 1, 0)
    ]
    assert states[0] == states[3]
    assert len(set(states)) == 3


def test_depth_bounds_memory():
    X, Y = random_data()
    for depth in (1, 3, 128):
        machine = Machine(20, T=100, s=2, memory_depth=depth, random_state=0).fit(X, Y, epochs=60)
        assert machine.memory_.min() == -depth
        assert machine.memory_.max() <= depth - 1


def test_a_pass_that_is_quick_is_one_slice():
    X, Y = random_data(rows=_FIRST_SLICE * 20)
    machine = Machine(2, T=10, random_state=0)
    seen = []
    machine.fit(X, Y, epochs=1)
    training = machine.prepare(*machine._check_training(X, Y, None, machine.spec.grid))
    machine.train_pass(training, on_progress=seen.append)
    assert seen == [len(X)]


def test_interrupted_pass_leaves_the_last_finished_one():
    X, Y = random_data(rows=_FIRST_SLICE * 20)
    machine = Machine(20, T=10, random_state=0).fit(X, Y, epochs=1)
    before = state(machine)
    training = machine.prepare(*machine._check_training(X, Y, None, machine.spec.grid))
    machine._slice = _FIRST_SLICE  # as at the beginning of training
    seen = []
    assert (
        machine.train_pass(training, should_stop=lambda: len(seen) > 2, on_progress=seen.append)
        is None
    )
    assert 0 < seen[-1] < len(X)
    assert state(machine) == before


def test_error_in_a_pass_leaves_the_last_finished_one():
    X, Y = random_data(rows=_FIRST_SLICE * 20)
    machine = Machine(20, T=10, random_state=0).fit(X, Y, epochs=1)
    before = state(machine)
    training = machine.prepare(*machine._check_training(X, Y, None, machine.spec.grid))

    def fail(done):
        raise RuntimeError("progress failed")

    with pytest.raises(RuntimeError):
        machine.train_pass(training, on_progress=fail)
    assert state(machine) == before


def test_ctrl_c_in_fit_raises_after_a_whole_epoch():
    X, Y = random_data(rows=2000)
    machine = Machine(200, T=100, random_state=0)
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, Y, epochs=5000)
    assert machine.step_ % len(X) == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"n_clauses": 0}, "n_clauses=0 must be an integer from 1"),
        ({"n_clauses": 2.5}, r"n_clauses=2\.5"),
        ({"n_clauses": True}, "n_clauses=True"),
        ({"T": 0}, "T=0"),
        ({"T": 2**31}, f"T={2**31} must be an integer from 1 to {2**30}"),
        ({"s": 0.5}, r"s=0\.5 must be a number from 1"),
        ({"s": float("nan")}, "s=nan"),
        ({"memory_depth": 0}, "memory_depth=0 must be an integer from 1 to 128"),
        ({"memory_depth": 129}, "memory_depth=129"),
        ({"e": -1}, "e=-1"),
        ({"e_scales": "both"}, "e_scales='both' must be one of 'output', 'type2'"),
        ({"max_literals": 0}, "max_literals=0"),
        ({"max_weight": 2**31}, "max_weight"),
        ({"patch_shape": (3,) * 4}, "patch_shape"),
        ({"patch_shape": 3}, "patch_shape=3 must be a tuple"),
        ({"stride": 0}, "stride=0"),
        ({"sharing": 1}, "sharing=1 must be True or False"),
        ({"backend": "tpu"}, "backend='tpu' is unknown; use one of"),
        ({"backend": "native:1"}, "backend='native:1' is unknown; use one of"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"random_state": -1}, "random_state=-1"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        Machine(**{"n_clauses": 10, "T": 10, **parameters})


@pytest.mark.parametrize(
    "X, Y, message",
    [
        ([[0, 2]], [1], "X holds the value 2, but bits must be 0 or 1"),
        ([[0.0, np.nan]], [1], "X holds the value nan"),
        ([["a", "b"]], [1], "values of type <U1"),
        ([[0, 1]], [2], "Y holds values other than 0 and 1"),
        ([[0, 1]], [1, 0], "X has 1 examples, but Y has 2 rows"),
        (np.zeros((0, 3)), np.zeros((0, 1)), "no examples"),
        (np.zeros((2, 0)), [0, 1], "must be"),
        ([0, 1], [0, 1], "must be"),
        (np.zeros((2, 4, 4)), [0, 1], "patch_shape"),
    ],
)
def test_bad_data(X, Y, message):
    machine = Machine(10, T=10)
    with pytest.raises(ValueError, match=message):
        machine.fit(X, Y)
    with pytest.raises(ValueError, match="not been trained"):
        machine.votes([[0, 1]])


def test_bad_data_leaves_a_trained_machine_alone():
    X, Y = random_data()
    machine = Machine(10, T=10, random_state=0).fit(X, Y)
    before = state(machine)
    for bad_X, bad_Y in [(X[:, :3], Y), (X, Y[:, :2]), (X + 1, Y), (X, Y[:5])]:
        with pytest.raises(ValueError):
            machine.partial_fit(bad_X, bad_Y)
    assert state(machine) == before


def test_more_clauses_than_memory_can_hold():
    with pytest.raises(MemoryError, match=r"n_clauses=2000000000 with 20 literals.*fewer clauses"):
        Machine(2_000_000_000, T=10).fit(np.zeros((1, 10), int), [1])


def test_convolution_shapes_and_errors():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 2, (10, 6, 5, 2))
    machine = Machine(10, T=10, patch_shape=(3, 2), stride=(2, 1), random_state=0)
    machine.fit(images, rng.integers(0, 2, (10, 1)))
    assert machine.memory_.shape == (10, 2 * (1 + 3 + 3 * 2 * 2))
    with pytest.raises(ValueError, match=r"patch_shape=\(7, 2\) is larger than the image"):
        Machine(10, T=10, patch_shape=(7, 2)).fit(images, np.zeros(10, int))
    with pytest.raises(ValueError, match="shape"):
        machine.votes(images[:, :4])
    sequence = Machine(10, T=10, patch_shape=(4,), random_state=0)
    sequence.fit(rng.integers(0, 2, (10, 9)), rng.integers(0, 2, 10))
    assert sequence.memory_.shape == (10, 2 * (5 + 4))


def test_public_names():
    assert set(cotm.__all__) >= {"CoTMClassifier", "TMClassifier", "Machine", "load", "Checkpoint"}
    assert all(hasattr(cotm, name) for name in cotm.__all__)


def test_number_of_threads(monkeypatch):
    monkeypatch.setattr(system, "available_processors", lambda: 8)
    for n_jobs in (None, -1):
        assert resolve_n_jobs(n_jobs, useful=0.3) == 1
        assert resolve_n_jobs(n_jobs, useful=3.9) == 3
        assert resolve_n_jobs(n_jobs, useful=100) == 8
    assert resolve_n_jobs(-2, useful=100) == 7
    assert resolve_n_jobs(-20, useful=100) == 1
    assert resolve_n_jobs(5, useful=1) == 5
    assert resolve_n_jobs(1000) == 32


def pace_of(choice, speed, slices):
    """Lets it choose for some slices of 100 examples; speed: seconds per slice by threads."""
    taken = []
    for _ in range(slices):
        taken.append(choice.next())
        choice.note(100, speed[taken[-1]])
    return taken


def test_threads_follow_what_is_faster(monkeypatch):
    monkeypatch.setattr(system, "available_processors", lambda: 8)
    spec = Spec(n=50_000, m=2, grid=PatchGrid.flat(100), T=9, q=6554, N=128)
    choice = TrainingThreads(None, spec)
    alone = {1: 8.0, 2: 4.0, 4: 2.0, 8: 1.0}
    busy = {1: 1.0, 2: 3.0, 4: 6.0, 8: 12.0}
    assert pace_of(choice, alone, 200).count(8) > 190
    assert pace_of(choice, busy, 200)[-1] == 1
    assert pace_of(choice, busy, 500).count(1) > 480
    assert 8 in pace_of(choice, alone, 300)[-10:]
    assert set(pace_of(TrainingThreads(3, spec), {3: 1.0}, 50)) == {3}
    tiny = Spec(n=10, m=2, grid=PatchGrid.flat(100), T=9, q=6554, N=128)
    assert set(pace_of(TrainingThreads(-1, tiny), {1: 1.0}, 50)) == {1}


def threads_here():
    return resolve_n_jobs(None, useful=100)


def test_one_thread_inside_a_joblib_worker():
    for backend in ("loky", "threading"):
        found = joblib.Parallel(n_jobs=2, backend=backend)(
            joblib.delayed(threads_here)() for _ in range(2)
        )
        assert found == [1, 1], backend


def test_prediction_goes_block_by_block(monkeypatch):
    X = np.random.default_rng(0).integers(0, 2, (50, 9))
    machine = Machine(20, T=10, s=3.0, random_state=0).fit(X, X[:, :2], epochs=3)
    votes, outputs = machine.votes(X), machine.clause_outputs(X)
    for rows in (1, 7, 50, 51):
        monkeypatch.setattr("cotm.machine._PREDICTION_ROWS", rows)
        assert np.array_equal(machine.votes(X), votes)
        assert np.array_equal(machine.clause_outputs(X), outputs)
