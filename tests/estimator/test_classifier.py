"""What the classifiers add to the machine: labels, options, and manners."""

import io
import signal
import time
from contextlib import redirect_stderr
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from helpers import classifier, state
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError

import cotm
import cotm.estimator.training
from cotm import TMClassifier
from cotm.estimator.progress import Silent
from cotm.model.label_columns import outputs_for
from cotm.model.labels import split_validation

IRIS_X, IRIS_Y = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)
BITS = RNG.integers(0, 2, (120, 10))
LABELS = BITS[:, 0] ^ BITS[:, 1]


small = partial(classifier, n_clauses=40, epochs=10, random_state=0)


# Labels ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], [False, True], [-1, 1], [0.0, 1.0], [10**12, 10**13]],
)
def test_labels_of_any_type(labels):
    y = np.array(labels)[LABELS]
    model = small(T=30, s=4.0, epochs=30).fit(BITS, y)
    assert model.classes_.tolist() == sorted(labels)
    assert model.predict(BITS).dtype == y.dtype
    assert model.score(BITS, y) == 1.0


def test_labels_in_a_series_and_objects():
    model = small().fit(BITS, pd.Series(np.array(["a", "b"], dtype=object)[LABELS]))
    assert set(model.predict(BITS)) <= {"a", "b"}


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix, pd.DataFrame])
def test_multilabel(form):
    Y = np.column_stack([BITS[:, 0], BITS[:, 1] & BITS[:, 2], 1 - BITS[:, 3]])
    model = small(epochs=30, T=40, s=4.0).fit(BITS, form(Y))
    assert np.array_equal(model.predict(BITS), Y)
    assert model.classes_.tolist() == [0, 1, 2]
    decision, probability = model.decision_function(BITS), model.predict_proba(BITS)
    assert np.array_equal(decision > 0, Y == 1)
    assert np.array_equal(probability >= 0.5, Y == 1)
    assert probability.min() > 0 and probability.max() < 1


def test_multilabel_columns_keep_their_names():
    Y = pd.DataFrame({"wet": BITS[:, 0], "cold": BITS[:, 1]})
    model = small(epochs=30, T=40, s=4.0).fit(BITS, Y)
    assert model.classes_.tolist() == ["wet", "cold"]
    assert set(model.rules()[0].weights) == {"wet", "cold"}
    with pytest.raises(ValueError, match=r"columns \['cold', 'wet'\], but training began with"):
        model.set_params(warm_start=True).fit(BITS, Y[["cold", "wet"]])


def test_threads_of_a_fitted_model_can_change():
    model = small().fit(BITS, LABELS)
    votes = model.votes(BITS)
    assert np.array_equal(model.set_params(n_jobs=2).votes(BITS), votes)
    with pytest.raises(ValueError, match="n_jobs=0"):
        model.set_params(n_jobs=0).votes(BITS)


def test_binary_and_multiclass_scores():
    binary = small(n_clauses=60).fit(BITS, LABELS)
    votes = binary.votes(BITS)
    assert votes.shape == (120, 2) and votes.dtype.kind == "i"
    assert np.array_equal(binary.decision_function(BITS), votes[:, 1] - votes[:, 0])
    model = small().fit(IRIS_X, IRIS_Y)
    probability = model.predict_proba(IRIS_X)
    assert np.allclose(probability.sum(axis=1), 1)
    order = np.argsort(probability, axis=1)
    ranked = np.take_along_axis(model.votes(IRIS_X), order, axis=1)
    assert (np.diff(ranked, axis=1) >= 0).all(), "probabilities rank like votes"


def test_ties_go_to_the_first_class():
    model = small(epochs=0).fit(BITS, LABELS)
    assert not model.votes(BITS).any()
    assert (model.predict(BITS) == model.classes_[0]).all()


# Continuing --------------------------------------------------------------------------


def test_warm_start_continues_exactly():
    whole = small(epochs=8).fit(IRIS_X, IRIS_Y)
    parts = small(epochs=5, warm_start=True).fit(IRIS_X, IRIS_Y)
    parts.set_params(epochs=3).fit(IRIS_X, IRIS_Y)
    assert state(whole) == state(parts)
    assert [r["epoch"] for r in parts.history_] == list(range(1, 9))


def test_warm_start_takes_new_parameters():
    model = small(epochs=2, warm_start=True).fit(IRIS_X, IRIS_Y)
    same = small(epochs=2, warm_start=True).fit(IRIS_X, IRIS_Y)
    model.set_params(s=2.0, T=7).fit(IRIS_X, IRIS_Y)
    same.set_params(n_jobs=2, backend="reference").fit(IRIS_X, IRIS_Y)
    assert model.T_ == 7
    assert state(model) != state(same)
    assert state(same) == state(small(epochs=4).fit(IRIS_X, IRIS_Y))
    with pytest.raises(ValueError, match="n_clauses=41, but training began with 40"):
        model.set_params(n_clauses=41).fit(IRIS_X, IRIS_Y)


def test_fit_without_warm_start_begins_anew():
    model = small().fit(IRIS_X, IRIS_Y)
    first = state(model)
    assert state(model.fit(IRIS_X, IRIS_Y)) == first


def test_partial_fit():
    once = small().partial_fit(BITS, LABELS, classes=[0, 1])
    parts = small().partial_fit(BITS[:50], LABELS[:50], classes=[0, 1])
    parts.partial_fit(BITS[50:], LABELS[50:])
    assert parts.memory_.tobytes() == once.memory_.tobytes()
    assert (
        small(shuffle=False, epochs=1).fit(BITS, LABELS).memory_.tobytes() == once.memory_.tobytes()
    )


def test_partial_fit_multilabel_needs_no_classes():
    Y = BITS[:, :3]
    model = small().partial_fit(BITS[:1], Y[:1])
    assert model.partial_fit(BITS, Y).weights_.shape == (40, 3)


def test_fit_after_partial_fit_begins_anew():
    model = small().partial_fit(BITS, LABELS, classes=[0, 1, 2])
    assert state(model.fit(BITS, LABELS)) == state(small().fit(BITS, LABELS))


# Options -----------------------------------------------------------------------------


def test_early_stopping_keeps_the_best_state():
    X, y = load_digits(return_X_y=True)
    seen = []
    model = small(
        n_clauses=100, early_stopping=True, patience=3, epochs=200,
        callbacks=[lambda m, r: seen.append(m.machine_.snapshot())],
    ).fit(X, y)  # fmt: skip
    scores = [r["validation_accuracy"] for r in model.history_]
    best = scores.index(max(scores))
    assert len(scores) < 200
    assert len(scores) - 1 - best == 3
    assert model.memory_.tobytes() == seen[best].memory.tobytes()
    assert model.step_ == seen[-1].step, "what follows is not what was thrown away, again"


@pytest.mark.parametrize("multilabel", [False, True])
def test_validation_split(multilabel):
    targets = np.eye(3, dtype=np.uint8)[np.repeat([0, 1, 2], [50, 30, 20])]
    train, held = split_validation(1, targets, 0.2, outputs_for(multilabel))
    assert sorted([*train, *held]) == list(range(100))
    assert len(held) == 20
    if not multilabel:
        assert targets[held].sum(axis=0).tolist() == [10, 6, 4]


def test_callbacks_see_every_epoch_and_can_stop():
    seen = []

    def callback(model, record):
        seen.append((record["epoch"], model.score(IRIS_X, IRIS_Y)))
        return record["epoch"] == 4

    model = small(callbacks=[callback]).fit(IRIS_X, IRIS_Y)
    assert [epoch for epoch, _ in seen] == [1, 2, 3, 4]
    assert seen[-1][1] == model.score(IRIS_X, IRIS_Y)


def test_history_is_the_online_accuracy():
    model = small(epochs=6).fit(IRIS_X, IRIS_Y)
    assert [r["epoch"] for r in model.history_] == [1, 2, 3, 4, 5, 6]
    assert model.history_[-1]["train_accuracy"] > model.history_[0]["train_accuracy"]
    assert all(0 <= r["train_accuracy"] <= 1 and r["seconds"] > 0 for r in model.history_)


def test_verbose_writes_lines_without_a_terminal():
    stream = io.StringIO()
    with redirect_stderr(stream):
        small(verbose=1, epochs=3, early_stopping=True).fit(IRIS_X, IRIS_Y)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 5
    assert lines[0] == "preset='paper': T=16, s=10, e=0.5"
    assert "40 clauses, 135 examples, 3 epochs: about" in lines[1]
    for word in ("epoch 3/3", "train ", "validation ", "examples/s", "left"):
        assert word in lines[4]


def test_verbose_draws_a_bar_on_a_terminal():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    with redirect_stderr(stream):
        small(verbose=1, epochs=3).fit(IRIS_X, IRIS_Y)
    assert "epoch 3/3" in stream.getvalue()
    assert "examples/s" in stream.getvalue()


def test_silent_by_default(capfd):
    small().fit(IRIS_X, IRIS_Y)
    assert capfd.readouterr() == ("", "")


def test_estimate():
    X = RNG.integers(0, 2, (3000, 64))
    model = small(n_clauses=300, epochs=5)
    before = dict(vars(model))
    cost = model.estimate(X, X[:, 0])
    assert vars(model) == before, "estimating fits nothing"
    began = time.perf_counter()
    model.fit(X, X[:, 0])
    spent = time.perf_counter() - began
    assert cost["seconds"] == pytest.approx(5 * cost["seconds_per_epoch"])
    assert 0.1 * spent < cost["seconds"] < 20 * spent
    assert model.memory_.nbytes < cost["bytes"] < 100 * model.memory_.nbytes


def test_weights_of_examples_and_classes():
    X, y = np.repeat([[0], [1]], [90, 10], axis=0), np.repeat([0, 1], [90, 10])
    balanced = small(class_weight="balanced").fit(X, y)
    by_hand = small().fit(X, y, sample_weight=np.where(y == 1, 1.0, 1 / 9))
    assert state(balanced) == state(by_hand), "each class gives as much feedback as the other"
    assert state(small(class_weight={0: 1, 1: 9}).fit(X, y)) == state(by_hand)
    assert state(small(class_weight={0: 1, 1: 0.25}).fit(X, y)) == state(
        small().fit(X, y, sample_weight=np.where(y == 1, 0.25, 1))
    )
    assert state(balanced) != state(small().fit(X, y))
    plain = state(small().fit(X, y))
    assert state(small(class_weight={}).fit(X, y)) == plain
    also = {0: 1.0, 1: 1.0, 7: 100.0}
    assert state(small(class_weight=also).fit(X, y)) == plain, "there is no class 7"


def test_rare_classes_do_not_silence_the_others():
    X = RNG.integers(0, 2, (1000, 8))
    y = X[:, 0] ^ X[:, 1]
    y[0] = 2  # one example
    model = small(n_clauses=60, class_weight="balanced", epochs=30).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.95
    labels = (RNG.random((1000, 6)) < 0.05).astype(int)
    data = np.hstack([labels, X])
    many = small(n_clauses=100, class_weight="balanced", epochs=20).fit(data, labels)
    assert (many.predict(data) == labels).all(axis=1).mean() > 0.95


@pytest.mark.parametrize("value", [-1, np.nan, np.inf, "much"])
def test_class_weights_that_make_no_sense(value):
    with pytest.raises(ValueError, match=r"class_weight\[1\]=.* must be a number from 0 up"):
        small(class_weight={1: value}).fit(BITS, LABELS)


def test_margin_and_negative_scale():
    model = small().fit(IRIS_X, IRIS_Y)
    assert model.machine_.e == 0.5
    assert small().fit(BITS, LABELS).machine_.e == 1.0
    assert small().fit(BITS, BITS[:, :3]).machine_.e == 1.0
    assert small(e=0.25).fit(IRIS_X, IRIS_Y).machine_.e == 0.25
    assert small(T=17).fit(IRIS_X, IRIS_Y).T_ == 17
    graded = small(n_clauses=50, tolerance=7).fit(IRIS_X, IRIS_Y)
    assert graded.T_ == 0.4 * 50 * 7
    assert isinstance(model.T_, int) and model.T_ >= 1


def test_both_readings_of_e_learn_differently():
    one = small(e_scales="output").fit(IRIS_X, IRIS_Y)
    two = small(e_scales="type2").fit(IRIS_X, IRIS_Y)
    assert state(one) != state(two)


def test_tm_classifier():
    weighted = small(TMClassifier, n_clauses=60).fit(IRIS_X, IRIS_Y)
    plain = small(TMClassifier, n_clauses=60, T=10, s=4.0, weighted=False).fit(IRIS_X, IRIS_Y)
    assert (np.count_nonzero(weighted.weights_, axis=1) == 1).all()
    assert np.abs(plain.weights_).max() == 1
    assert min(weighted.score(IRIS_X, IRIS_Y), plain.score(IRIS_X, IRIS_Y)) > 0.8


# Images ------------------------------------------------------------------------------


def test_images_in_every_form():
    X, y = load_digits(return_X_y=True)
    bits = (X > 7).astype(np.uint8)
    images = bits.reshape(-1, 8, 8)
    model = small(patch_shape=(4, 4)).fit(images, y)
    assert model.score(images, y) > 0.5
    for other in (images[..., None], images.astype(bool), images.astype(float)):
        assert state(small(patch_shape=(4, 4)).fit(other, y)) == state(model)
    flat = small(patch_shape=(4, 4), image_shape=(8, 8)).fit(bits, y)
    assert state(flat) == state(model)
    assert flat.n_features_in_ == model.n_features_in_ == 64
    assert np.array_equal(flat.votes(bits), model.votes(images))


def test_gray_images_become_bits():
    X, y = load_digits(return_X_y=True)
    images = X.reshape(-1, 8, 8)
    floats = small(patch_shape=(4, 4)).fit(images, y)
    assert type(floats.booleanizer_).__name__ == "ImageThermometer"
    bytes_ = small(patch_shape=(4, 4)).fit((images * 15).astype(np.uint8), y)
    assert type(bytes_.booleanizer_).__name__ == "AdaptiveGaussianThreshold"
    integers = small(patch_shape=(4, 4)).fit((images * 15).astype(np.int64), y)
    assert state(integers) == state(bytes_)
    chosen = small(patch_shape=(4, 4), booleanize=cotm.ImageThermometer(n_bits=2)).fit(images, y)
    assert chosen.machine_.spec.grid.channels == 2


def test_images_in_a_frame_keep_column_names():
    X, y = load_digits(return_X_y=True, as_frame=True)
    model = small(patch_shape=(4, 4), image_shape=(8, 8)).fit(X, y)
    assert model.feature_names_in_.tolist() == list(X.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[X.columns[::-1]])


def test_sequences():
    X = RNG.integers(0, 2, (60, 30))
    model = small(patch_shape=(5,), stride=2).fit(X, X[:, 3])
    assert model.machine_.spec.grid.n_patches == 13
    assert model.predict(X).shape == (60,)


def test_sparse_wide_data_is_not_densified():
    X = scipy.sparse.random(50, 200_000, density=1e-4, format="csr", random_state=0)
    X.data[:] = 1
    y = np.arange(50) % 2
    model = small(n_clauses=4, epochs=2).fit(X, y)
    assert model.memory_.shape == (4, 400_000)
    assert model.predict(X.tocsc()).shape == (50,)


# Bad input ---------------------------------------------------------------------------

GOOD_X, GOOD_Y = IRIS_X[:, :4], IRIS_Y
IMAGES = RNG.integers(0, 2, (20, 6, 6))


@pytest.mark.parametrize(
    "parameters, X, y, message",
    [
        ({"booleanize": None}, [[0.5, 1]] * 4, [0, 1] * 2, r"value 0\.5, but bits must be 0 or 1"),
        ({"booleanize": None}, [[np.nan, 1]] * 4, [0, 1] * 2, "value nan, but bits must be 0 or 1"),
        ({}, [[np.inf, 1.0]] * 4, [0, 1] * 2, "(?i)inf"),
        ({}, GOOD_X, GOOD_Y[:-1], r"inconsistent numbers of samples: \[150, 149\]"),
        ({}, GOOD_X, np.ones(150), "1 class"),
        ({}, np.zeros((0, 4)), [], "(?i)no labels|0 sample"),
        ({}, GOOD_X, np.linspace(0, 1, 150), "(?i)continuous"),
        ({}, GOOD_X, np.where(GOOD_Y == 1, np.nan, GOOD_Y), "(?i)nan"),
        ({}, GOOD_X, None, "y to be passed"),
        ({}, IMAGES, np.arange(20) % 2, "set patch_shape"),
        ({"patch_shape": (7, 2)}, IMAGES, np.arange(20) % 2, "larger than the image"),
        ({"patch_shape": (2, 2)}, BITS, LABELS, "must be"),
        ({"patch_shape": (2, 2), "image_shape": (3, 3)}, BITS, LABELS, "image_shape=.*needs 9"),
        ({"image_shape": (2, 5)}, BITS, LABELS, "set patch_shape too"),
        ({"patch_shape": (0, 2)}, IMAGES, np.arange(20) % 2, "patch_shape=0"),
        ({"stride": (1, 2, 3, 4)}, BITS, LABELS, "stride"),
        ({"T": 0}, BITS, LABELS, "T=0 must be"),
        ({"T": "large"}, BITS, LABELS, "T='large' must be one of 'auto'"),
        ({"T": 10.5}, BITS, LABELS, r"T=10\.5"),
        ({"s": 0}, BITS, LABELS, "s=0 must be"),
        ({"s": "ten"}, BITS, LABELS, "s='ten'"),
        ({"n_clauses": -3}, BITS, LABELS, "n_clauses=-3"),
        ({"n_clauses": 10**18}, BITS, LABELS, "n_clauses="),
        ({"memory_depth": 200}, BITS, LABELS, "memory_depth=200 must be an integer from 1 to 128"),
        ({"epochs": -1}, BITS, LABELS, "epochs=-1"),
        ({"e": "some"}, BITS, LABELS, "e='some'"),
        ({"backend": "quantum"}, BITS, LABELS, "backend='quantum' is unknown"),
        ({"backend": "cuda:many"}, BITS, LABELS, "backend='cuda:many' is unknown"),
        ({"booleanize": "yes"}, BITS, LABELS, "booleanize='yes'"),
        ({"class_weight": "heavy"}, BITS, LABELS, "class_weight"),
        ({"early_stopping": True, "validation_fraction": 0.0}, BITS, LABELS, "holds out 0"),
        ({"validation_fraction": 1.5}, BITS, LABELS, "validation_fraction=1.5"),
        ({"patience": 0}, BITS, LABELS, "patience=0"),
        ({"callbacks": [3]}, BITS, LABELS, "callbacks holds 3"),
        ({"shuffle": "yes"}, BITS, LABELS, "shuffle='yes'"),
        ({"random_state": "x"}, BITS, LABELS, "random_state='x'"),
        ({"n_jobs": 0}, BITS, LABELS, "n_jobs=0"),
    ],
)
def test_bad_fit_names_the_problem_and_changes_nothing(parameters, X, y, message):
    fresh = small(**parameters)
    before = dict(vars(fresh))
    with pytest.raises((ValueError, MemoryError), match=message):
        fresh.fit(X, y)
    assert vars(fresh) == before

    fitted = small().fit(BITS, LABELS)
    votes = fitted.votes(BITS)
    fitted.set_params(**parameters)
    before = dict(vars(fitted))
    with pytest.raises((ValueError, MemoryError), match=message):
        fitted.fit(X, y)
    assert vars(fitted) == before
    assert np.array_equal(fitted.machine_.votes(BITS), votes)


@pytest.mark.parametrize(
    "X, message",
    [
        (BITS[:, :4], "X has 4 features, but CoTMClassifier is expecting 10 features"),
        (BITS * 3, "value 3, but bits must be 0 or 1"),
        (BITS[0], "Expected 2D array, got 1D"),
        (np.zeros((0, 10)), "0 sample"),
        (np.full((2, 10), np.nan), "value nan"),
    ],
)
def test_bad_predict(X, message):
    model = small().fit(BITS, LABELS)
    before = dict(vars(model))
    for method in (model.predict, model.votes, model.predict_proba, model.clause_outputs):
        with pytest.raises(ValueError, match=message):
            method(X)
    assert vars(model) == before


def test_wrong_image_size_at_predict():
    model = small(patch_shape=(3, 3)).fit(IMAGES, np.arange(20) % 2)
    with pytest.raises(ValueError, match=r"images of shape \(5, 6\).*trained on \(6, 6\)"):
        model.predict(IMAGES[:, :5])


def test_unseen_label_in_partial_fit():
    model = small().partial_fit(BITS, LABELS, classes=[0, 1])
    before = state(model)
    with pytest.raises(ValueError, match=r"label 7, which is not among the classes \[.*0.*1.*\]"):
        model.partial_fit(BITS, np.full(120, 7))
    assert state(model) == before
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        small().partial_fit(BITS, LABELS)
    with pytest.raises(ValueError, match="class_weight='balanced'"):
        small(class_weight="balanced").partial_fit(BITS, LABELS, classes=[0, 1])


@pytest.mark.parametrize("weight", [[-1.0] * 120, [np.nan] * 120, [1.0] * 3, "heavy"])
def test_bad_sample_weight(weight):
    with pytest.raises(ValueError):
        small().fit(BITS, LABELS, sample_weight=weight)


def test_unfitted():
    for use in (lambda m: m.predict(BITS), lambda m: m.memory_, lambda m: m.save("x.cotm")):
        with pytest.raises(NotFittedError):
            use(small())
    with pytest.raises(ValueError, match="no training to resume"):
        small().fit(BITS, LABELS, resume=True)


# Interruption ------------------------------------------------------------------------


@pytest.fixture
def interrupt_in_epoch(monkeypatch):
    """Makes Ctrl-C arrive while the given epoch is under way."""

    def arrange(epoch):
        monkeypatch.setattr(cotm.live, "_SLICE_SECONDS", 1e-6)  # or an epoch would be one slice

        class Interrupting(Silent):
            finished = 0

            def examples_done(self, done):
                if self.finished == epoch - 1:
                    signal.raise_signal(signal.SIGINT)

            def epoch_done(self, record):
                self.finished = record["epoch"]

        monkeypatch.setattr(
            cotm.estimator.training, "make_reporter", lambda *arguments: Interrupting()
        )

    yield arrange
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupted_fit_keeps_finished_epochs_and_resumes_exactly(interrupt_in_epoch, monkeypatch):
    X, y = load_digits(return_X_y=True)
    model = small(epochs=12)
    interrupt_in_epoch(5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(model.history_) == 4
    assert model.step_ == 4 * len(X)
    monkeypatch.undo()
    model.fit(X, y, resume=True)
    assert state(model) == state(small(epochs=12).fit(X, y))


def test_interrupt_before_the_first_epoch_leaves_an_unfitted_model(interrupt_in_epoch):
    X, y = load_digits(return_X_y=True)
    model = small()
    interrupt_in_epoch(1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert vars(model) == small().get_params()
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_resuming_what_is_finished_changes_nothing():
    X, y = load_digits(return_X_y=True)
    for parameters in ({}, {"early_stopping": True, "patience": 2, "epochs": 60}):
        model = small(**parameters).fit(X, y)
        before = state(model)
        assert state(model.fit(X, y, resume=True)) == before


def test_more_epochs_after_early_stopping_keep_the_best_of_all():
    X, y = load_digits(return_X_y=True)
    model = small(early_stopping=True, patience=50, epochs=8).fit(X, y)
    model.set_params(epochs=9).fit(X, y, resume=True)
    scores = [r["validation_accuracy"] for r in model.history_]
    assert len(scores) == 9
    _, held = split_validation(model.seed_, np.eye(10, dtype=np.uint8)[y], 0.1, outputs_for(False))
    assert model.score(X[held], y[held]) == pytest.approx(max(scores))


def test_error_in_a_callback_keeps_finished_epochs():
    def fail(model, record):
        if record["epoch"] == 3:
            raise RuntimeError("no")

    model = small(callbacks=[fail])
    with pytest.raises(RuntimeError):
        model.fit(IRIS_X, IRIS_Y)
    assert len(model.history_) == 3
    model.set_params(callbacks=None).fit(IRIS_X, IRIS_Y, resume=True)
    assert state(model) == state(small().fit(IRIS_X, IRIS_Y))
