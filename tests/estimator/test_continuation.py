"""Going on with other parameters, from files, from other threads: what could go quietly wrong."""

import threading
import time
from functools import partial

import numpy as np
import pytest
import scipy.sparse
from helpers import classifier, state
from sklearn.datasets import load_digits

import cotm
from cotm import CoTMClassifier, Machine, TMClassifier

RNG = np.random.default_rng(0)
X = RNG.integers(0, 2, (120, 12))
Y = (X[:, 0] ^ X[:, 1]) + 2 * (X[:, 2] & X[:, 3])


small = partial(classifier, n_clauses=20, T=30, s=3.0, epochs=5, random_state=1)


@pytest.mark.parametrize("kind", [CoTMClassifier, TMClassifier])
@pytest.mark.parametrize("change", [{"memory_depth": 2}, {"max_weight": 1}, {"max_literals": 1}])
def test_lowered_caps_hold_and_backends_agree(kind, change):
    states = []
    for backend in ("reference", "native"):
        model = small(kind, backend=backend, warm_start=True).fit(X, Y)
        model.set_params(**change, epochs=1).fit(X, Y)
        states.append(state(model))
        if "memory_depth" in change:
            assert model.memory_.min() >= -2 and model.memory_.max() <= 1
        if "max_weight" in change:
            assert np.abs(model.weights_).max() <= 1
        if "max_literals" in change:
            assert (model.memory_ >= 0).sum(axis=1).max() <= 1
    assert states[0] == states[1]


@pytest.mark.parametrize(
    "change", [{"n_clauses": 50}, {"memory_depth": 2}, {"max_weight": 1}, {"s": 7.0}, {"T": 5}]
)
def test_save_keeps_the_trained_machine_whatever_was_set_since(change, tmp_path):
    model = small().fit(X, Y)
    model.set_params(**change).save(tmp_path / "m.cotm")
    loaded = cotm.load(tmp_path / "m.cotm")
    assert state(loaded) == state(model)
    assert np.array_equal(loaded.votes(X), model.votes(X))


def test_save_refuses_parameters_that_make_no_sense(tmp_path):
    model = small().fit(X, Y)
    with pytest.raises(ValueError, match="epochs=-1"):
        model.set_params(epochs=-1).save(tmp_path / "m.cotm")
    assert not list(tmp_path.iterdir())


def test_numpy_numbers_in_parameters_can_be_saved(tmp_path):
    images = RNG.integers(0, 2, (20, 6, 6))
    model = small(patch_shape=(np.int64(2), np.int64(3)), stride=(np.int32(1), np.int32(2)))
    model.fit(images, np.arange(20) % 2).save(tmp_path / "m.cotm")
    assert cotm.load(tmp_path / "m.cotm").stride == (1, 2)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", object, "U10"])
def test_loaded_classes_keep_their_type(dtype, tmp_path):
    labels = Y.astype("U3").astype(object) if dtype is object else Y.astype(dtype)
    model = small().fit(X, labels)
    model.save(tmp_path / "m.cotm")
    classes = cotm.load(tmp_path / "m.cotm").classes_
    assert classes.dtype.kind == model.classes_.dtype.kind
    assert classes.tolist() == model.classes_.tolist()


def test_resuming_an_interrupted_warm_start_reaches_its_target(tmp_path):
    def stop(model, record):
        if record["epoch"] == 7:
            model.save(tmp_path / "m.cotm")
            raise KeyboardInterrupt

    model = small(warm_start=True).fit(X, Y)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(callbacks=[stop]).fit(X, Y)
    assert len(model.history_) == 7
    loaded = cotm.load(tmp_path / "m.cotm").fit(X, Y, resume=True)
    model.set_params(callbacks=None).fit(X, Y, resume=True)
    whole = small(epochs=10).fit(X, Y)
    assert state(model) == state(loaded) == state(whole)


def test_warm_start_goes_on_after_patience_ended():
    digits, labels = load_digits(return_X_y=True)
    model = small(early_stopping=True, patience=2, epochs=50, warm_start=True).fit(digits, labels)
    before = len(model.history_)
    assert before < 50
    model.set_params(epochs=1).fit(digits, labels)
    assert len(model.history_) == before + 1


@pytest.mark.parametrize(
    "change", [{"patch_shape": (2,)}, {"booleanize": None}, {"stride": 2, "patch_shape": (2,)}]
)
def test_what_x_is_cannot_change_on_the_way(change):
    model = small(warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="but training began with"):
        model.set_params(**change).fit(X, Y)


def test_an_interrupted_refit_leaves_the_old_model(monkeypatch):
    model = small().fit(X, Y)
    before = dict(vars(model))

    def interrupted(*arguments, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(Machine, "train_pass", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, 1 - Y)
    assert vars(model) == before


def test_estimating_draws_nothing_from_a_generator():
    states = []
    for estimates in (0, 1):
        generator = np.random.RandomState(3)
        model = small(random_state=generator)
        for _ in range(estimates):
            model.estimate(X, Y)
        states.append(state(model.fit(X, Y)))
    assert states[0] == states[1]


def test_training_and_predicting_in_two_threads():
    """The interpreter lock is released, so the machine must guard its state itself."""
    bits = RNG.integers(0, 2, (600, 200))
    labels = bits[:, 0]
    model = small(n_clauses=200).partial_fit(bits, labels, classes=[0, 1])
    stop = time.monotonic() + 1.5
    errors = []

    def predict():
        try:
            while time.monotonic() < stop:
                assert model.machine_.votes(bits).shape == (600, 2)
                model.machine_.snapshot()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=predict) for _ in range(2)]
    for thread in threads:
        thread.start()
    while time.monotonic() < stop:
        model.partial_fit(bits[:200], labels[:200])
    for thread in threads:
        thread.join()
    assert not errors


def test_flat_training_past_a_block_of_512_examples():
    bits = RNG.integers(0, 2, (1300, 40))
    targets = np.column_stack([bits[:, 0] ^ bits[:, 1], bits[:, 2]])
    sparse = scipy.sparse.csr_array(bits)
    states = []
    for backend, n_jobs, data in (
        *(("reference", 1, bits), ("native", 1, bits), ("native", 3, bits)),
        *(("native", 1, sparse), ("native", 3, sparse)),
    ):
        machine = Machine(30, T=20, s=3.0, backend=backend, n_jobs=n_jobs, random_state=0)
        machine.fit(data, targets, epochs=2)
        states.append((state(machine), machine.votes(data).tobytes()))
    assert all(other == states[0] for other in states[1:])


@pytest.mark.parametrize("features", [32_767, 32_768])
def test_literals_that_do_and_do_not_fit_two_bytes(features):
    bits = (RNG.random((30, features)) < 0.01).astype(np.uint8)
    targets = RNG.integers(0, 2, (30, 2))
    states = []
    for backend in ("reference", "native"):
        machine = Machine(6, T=5, s=50.0, backend=backend, random_state=0)
        machine.fit(bits, targets, epochs=2)
        states.append((state(machine), machine.votes(bits).tobytes()))
    assert states[0] == states[1]


def test_images_of_another_shape_are_refused_by_the_machine():
    images = RNG.integers(0, 2, (10, 4, 6))
    machine = Machine(5, T=5, patch_shape=(2, 2), random_state=0).fit(images, images[:, 0, 0])
    machine.votes(images[..., None])
    for wrong in (images.transpose(0, 2, 1), images.reshape(10, 2, 12), images.reshape(10, 24), []):
        with pytest.raises(ValueError, match="trained on images of 4 x 6 x 1"):
            machine.votes(wrong)


def test_more_outputs_than_clauses_without_sharing_warns():
    with pytest.warns(UserWarning, match="n_clauses=2 is fewer than the 4 outputs"):
        small(TMClassifier, n_clauses=2).fit(X, Y)


def test_duplicate_entries_of_a_sparse_matrix_are_summed_first():
    matrix = scipy.sparse.csr_array(
        (np.ones(4), np.array([0, 0, 1, 0]), np.array([0, 2, 3, 4])), shape=(3, 2)
    )
    model = small().fit(matrix, [0, 1, 0])
    assert model.booleanizer_ is not None  # the value 2 is a number
    assert matrix.nnz == 4


@pytest.mark.parametrize(
    "parameters, data, labels, message",
    [
        ({"max_literals": 2**40}, X, Y, "max_literals"),
        ({"stride": 2**40}, X, Y, "stride"),
        ({"verbose": "a"}, X, Y, "verbose='a'"),
        ({"verbose": None}, X, Y, "verbose=None"),
        ({"callbacks": print}, X, Y, "must be a list of callables"),
        ({"class_weight": [1]}, X, Y, "class_weight"),
        ({"booleanize": np.ones(3)}, X, Y, "booleanize"),
        ({"booleanize": cotm.Thermometer()}, np.ones((4, 2)), [0, 1, 0, 1], "no bits at all"),
        (
            {},
            X,
            np.array(["a", None] * 60, dtype=object),
            "y has no label in 60 of 120 rows",
        ),
    ],
)
def test_more_bad_input(parameters, data, labels, message):
    model = small(**parameters)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(data, labels)
    assert vars(model) == before


def test_many_threads_are_capped():
    model = small(n_jobs=2**20).fit(X, Y)
    assert state(model) == state(small().fit(X, Y))


def test_a_lazy_frame_says_collect():
    pl = pytest.importorskip("polars", reason="polars is not installed")

    frame = pl.DataFrame({"a": [1, 2, 3]})
    with pytest.raises(ValueError, match=r"call X\.collect\(\) first"):
        small().fit(frame.lazy(), [0, 1, 0])
