"""An epoch counts whole or not at all, whatever is raised; a training knows its data."""

import random
import signal
import time
from functools import partial

import numpy as np
import pytest
import scipy.sparse
from helpers import classifier, state

import cotm
import cotm.backends.native
from cotm import CoTMClassifier, Machine, Schedule
from cotm.estimator import planning
from cotm.model.fitted import MOST_RECORDS

RNG = np.random.default_rng(3)
X = RNG.integers(0, 2, (120, 20), dtype=np.uint8)
Y = X[:, 0] ^ (X[:, 1] & X[:, 2])


small = partial(classifier, n_clauses=30, T=40, s=3.0, epochs=6, random_state=5, n_jobs=1)


@pytest.mark.parametrize("average", [1, 3])
@pytest.mark.parametrize("rows", [12, 120])
def test_an_epoch_whose_validation_fails_did_not_happen(average, rows, monkeypatch):
    options = {"early_stopping": True, "validation_fraction": 0.25, "average": average}
    whole = small(**options).fit(X[:rows], Y[:rows])
    validate, left = planning._held_accuracy, [3]

    def fails_once(*arguments):
        left[0] -= 1
        if left[0] == 0:
            raise MemoryError("no room for the votes")
        return validate(*arguments)

    monkeypatch.setattr(planning, "_held_accuracy", fails_once)
    model = small(**options)
    with pytest.raises(MemoryError):
        model.fit(X[:rows], Y[:rows])
    assert len(model.history_) == 2 and model._progress.step == model.step_
    assert state(model.fit(X[:rows], Y[:rows], resume=True)) == state(whole)


class Alarm(Exception):
    pass


@pytest.mark.parametrize(
    "options", [{}, {"average": 3}, {"T": Schedule(60, 20, epochs=7), "drop_clauses": 0.3}]
)
def test_alarms_at_any_moment_lose_and_double_nothing(options):
    options = {**options, "early_stopping": True, "epochs": 8, "patience": 8}
    expected = state(small(**options).fit(X, Y))
    began = time.perf_counter()
    small(**options).fit(X, Y)
    seconds = time.perf_counter() - began

    def ring(number, frame):
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    moments, alarms = random.Random(0), 0
    try:
        for _ in range(25):
            model = small(**options)
            while True:
                try:
                    signal.setitimer(signal.ITIMER_REAL, moments.uniform(0.05, 0.95) * seconds)
                    model.fit(X, Y, resume=hasattr(model, "machine_"))
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    break
                except Alarm:
                    alarms += 1
            assert state(model) == expected
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert alarms > 10


def test_a_small_pass_that_fails_changes_nothing():
    machine = Machine(20, T=20, s=3.0, random_state=0, n_jobs=1).fit(X, Y)
    before, step = machine.memory_.copy(), machine.step_
    examples, targets, weight = machine._check_training(X[:10], Y[:10], None, machine.spec.grid)
    training = machine.prepare(examples, targets, weight)

    def fail(done):
        raise KeyError("in the middle")

    with pytest.raises(KeyError):
        machine.train_pass(training, on_progress=fail)
    assert np.array_equal(machine.memory_, before) and machine.step_ == step
    again = Machine(20, T=20, s=3.0, random_state=0, n_jobs=1).fit(X, Y)
    for each in (machine, again):
        each.partial_fit(X[:10], Y[:10])
    assert np.array_equal(machine.memory_, again.memory_)


# Resuming --------------------------------------------------------------------------------------


def interrupted(**options):
    model = small(callbacks=[lambda m, r: r["epoch"] == 3], **options).fit(X, Y)
    assert len(model.history_) == 3
    return model.set_params(callbacks=None)


@pytest.mark.parametrize(
    ("data", "labels", "weight", "change", "message"),
    [
        (X[:100], Y[:100], None, {}, "X has 100 rows, but training began with 120"),
        (1 - X, Y, None, {}, "X holds other values"),
        (X, 1 - Y, None, {}, "y holds other labels"),
        (X, Y, np.full(120, 0.5), {}, "other weights"),
        (X, Y, None, {"shuffle": False}, "shuffle=False"),
        (X, Y, None, {"early_stopping": True}, "holds out 0.1 of the examples"),
    ],
)
def test_resume_knows_its_data(data, labels, weight, change, message, tmp_path):
    interrupted().save(tmp_path / "m.cotm")
    model = cotm.load(tmp_path / "m.cotm").set_params(**change)
    before = state(model)
    with pytest.raises(ValueError, match=message):
        model.fit(data, labels, sample_weight=weight, resume=True)
    assert state(model) == before


def test_one_changed_bit_is_noticed_and_another_container_is_not():
    model, other = interrupted(), X.copy()
    other[57, 11] ^= 1
    with pytest.raises(ValueError, match="other values"):
        model.fit(other, Y, resume=True)
    model.fit(scipy.sparse.csr_matrix(X), Y, resume=True)
    assert state(model) == state(small().fit(X, Y))


def test_warm_start_after_early_stopping_learns_something_new():
    options = {"early_stopping": True, "patience": 3, "epochs": 60, "warm_start": True}
    model = small(**options).fit(X, Y)
    first = [r["train_accuracy"] for r in model.history_]
    best = int(np.argmax([r["validation_accuracy"] for r in model.history_]))
    assert best + 1 < len(first) < 60
    step = model.step_
    model.fit(X, Y)
    second = [r["train_accuracy"] for r in model.history_][len(first) :]
    assert model.step_ > step
    assert second[: len(first) - best - 1] != first[best + 1 :]


# History ---------------------------------------------------------------------------------------


def test_history_does_not_grow_for_ever(monkeypatch, tmp_path):
    assert MOST_RECORDS >= 10_000
    monkeypatch.setattr("cotm.model.fitted.MOST_RECORDS", 5)
    model = small()
    for _ in range(8):
        model.partial_fit(X[:3], Y[:3], classes=[0, 1])
    assert [r["epoch"] for r in model.history_] == [4, 5, 6, 7, 8]
    model.save(tmp_path / "m.cotm")
    loaded = cotm.load(tmp_path / "m.cotm").partial_fit(X[:3], Y[:3])
    assert loaded.history_[-1]["epoch"] == 9
    stopped = small(early_stopping=True, epochs=60, patience=8).fit(X, Y)
    unlimited = len(stopped.history_)
    monkeypatch.setattr("cotm.model.fitted.MOST_RECORDS", 10_000)
    whole = small(early_stopping=True, epochs=60, patience=8).fit(X, Y)
    assert unlimited <= 6 and state(stopped)[:3] == state(whole)[:3]


# Callbacks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [True, np.True_, 1, np.int64(1)])
def test_a_callback_stops_with_whatever_equals_true(answer):
    assert len(small(callbacks=[lambda m, r: answer]).fit(X, Y).history_) == 1


@pytest.mark.parametrize("answer", [None, False, 0, "stop", 17, 0.5, np.ones(3)])
def test_a_callback_does_not_stop_with_anything_else(answer):
    assert len(small(callbacks=[lambda m, r: answer]).fit(X, Y).history_) == 6


@pytest.mark.parametrize(
    "change", [{"s": 20.0}, {"T": 7}, {"e": 0.3}, {"max_literals": 2}, {"memory_depth": 9}]
)
def test_parameters_that_callbacks_set_take_effect(change):
    def set_them(model, record):
        if record["epoch"] == 2:
            model.set_params(**change)

    model = small(callbacks=[set_them]).fit(X, Y)
    by_hand = small(epochs=2, warm_start=True).fit(X, Y)
    by_hand.set_params(**change, epochs=4).fit(X, Y)
    assert state(model) == state(by_hand)
    assert state(model) != state(small().fit(X, Y))


def test_a_callback_can_change_how_long_it_takes():
    model = small(callbacks=[lambda m, r: setattr(m, "epochs", 9)]).fit(X, Y)
    assert len(model.history_) == 9


@pytest.mark.parametrize(
    "change",
    [{"n_clauses": 40}, {"booleanize": None}, {"random_state": 1}, {"class_weight": "balanced"}],
)
def test_what_cannot_change_on_the_way_is_an_error(change):
    (name, value), *_ = change.items()
    model = small(callbacks=[lambda m, r: m.set_params(**change)])
    with pytest.raises(ValueError, match=f"a callback set {name}={value!r}"):
        model.fit(X, Y)
    assert len(model.history_) == 1


# Weights ---------------------------------------------------------------------------------------


def test_a_weight_above_1_counts():
    states = {w: state(small().fit(X, Y, sample_weight=np.full(120, w))) for w in (1, 1.5, 3, 100)}
    assert len(set(states.values())) == 4
    assert states[1] == state(small().fit(X, Y))
    certain = [state(small().fit(X, Y, sample_weight=np.full(120, w))) for w in (1e9, 1e12)]
    assert certain[0] == certain[1]


def test_a_heavy_example_is_learned_better():
    noise = RNG.integers(0, 2, (300, 10), dtype=np.uint8)
    labels = RNG.integers(0, 2, 300)
    weight = np.where(np.arange(300) < 30, 20.0, 0.2)
    model = small(T=2000, epochs=20).fit(noise, labels, sample_weight=weight)
    right = model.predict(noise) == labels
    assert right[:30].mean() > right[30:].mean() + 0.1


@pytest.mark.parametrize(
    ("parameters", "weight", "message"),
    [
        ({"class_weight": {0: 0, 1: 0}}, None, "class_weight=.* is 0 for every class"),
        ({}, np.zeros(120), "(?i)sample.?weight"),
    ],
)
def test_weights_that_are_all_0_are_refused(parameters, weight, message):
    with pytest.raises(ValueError, match=message):
        small(**parameters).fit(X, Y, sample_weight=weight)


# What votes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [CoTMClassifier, cotm.TMClassifier])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"average": 4},
        {"average": 4, "early_stopping": True},
        {"average": 2, "max_literals": 3, "max_weight": 5},
        {"average": 3, "patch_shape": (2, 2), "image_shape": (4, 5)},
    ],
)
def test_every_prediction_is_a_sum_of_votes_of_rules(kind, options, tmp_path):
    model = kind(40, T=40, s=3.0, random_state=5, **{"epochs": 7, **options}).fit(X, Y)
    model.save(tmp_path / "m.cotm")
    for each in (model, cotm.load(tmp_path / "m.cotm")):
        outputs = each.clause_outputs(X)
        assert np.array_equal(outputs @ each.weights_.astype(np.int64), each.votes(X))
        assert outputs.shape[1] == len(each.memory_) == 40 * each.machine_.n_states_
        if "patch_shape" not in options:
            assert np.array_equal(votes_of_rules(each), each.votes(X))


def votes_of_rules(model):
    """Votes from what rules() lists alone."""
    votes = np.zeros((len(X), len(model.classes_)), dtype=np.int64)
    for rule in model.rules():
        fires = np.ones(len(X), dtype=bool)
        for condition in rule.conditions:
            bits = X[:, int(condition.feature.column[1:])] == 1
            fires &= ~bits if condition.negated else bits
        votes += fires[:, None] * np.array([rule.weights[label] for label in model.classes_])
    return votes


# Probabilities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("T", [50, 1000, 20000])
def test_probabilities_are_about_as_often_right_as_they_say(T, tmp_path):
    rng = np.random.default_rng(1)
    data = rng.integers(0, 2, (1600, 12), dtype=np.uint8)
    labels = data[:, 0] ^ (rng.random(1600) < 0.2)
    model = CoTMClassifier(100, T=T, s=5, epochs=15, random_state=0).fit(data[:800], labels[:800])
    found = model.predict_proba(data[800:])
    right = (found.argmax(axis=1) == labels[800:]).mean()
    assert abs(found.max(axis=1).mean() - right) < 0.1
    model.save(tmp_path / "m.cotm")
    assert np.array_equal(cotm.load(tmp_path / "m.cotm").predict_proba(data[800:]), found)


def test_probabilities_cost_fitting_nothing():
    model = small().fit(X, Y)
    assert model._now().sharpness._value is None
    first = model.predict_proba(X)
    assert model._now().sharpness._value is not None
    assert np.array_equal(model.predict_proba(X), first)
    began = time.perf_counter()
    model.predict_proba(X)
    assert time.perf_counter() - began < 0.5


# What users do to a model between and within trainings -------------------------------------------


def test_a_machine_that_was_set_back_can_be_saved(tmp_path):
    model = small().fit(X, Y)
    before = model.machine_.snapshot()
    model.partial_fit(X, Y).partial_fit(X, Y)
    model.machine_.restore(before)
    model.save(tmp_path / "m.cotm")
    assert np.array_equal(cotm.load(tmp_path / "m.cotm").memory_, before.memory)
    assert model.rules()


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_callback_cannot_train_the_model_that_calls_it(method):
    model = small(callbacks=[lambda m, r: getattr(m, method)(X, Y)])
    with pytest.raises(RuntimeError, match="a callback of it cannot train it too"):
        model.fit(X, Y)
    assert len(model.history_) == 1
    model.set_params(callbacks=[lambda m, r: setattr(m, "seen", r["epoch"])]).fit(X, Y)
    assert model.seen == 6


def test_early_stopping_is_not_measured_by_other_data():
    options = {"early_stopping": True, "patience": 3, "epochs": 40, "warm_start": True}
    for spoil in (lambda m: m.partial_fit(X, 1 - Y), lambda m: m.fit(X, 1 - Y)):
        model = small(**{**options, "n_clauses": 60}).fit(X, Y)
        spoil(model)
        labels = Y if len(model.history_) and model._progress.data is None else 1 - Y
        model.fit(X, labels)
        assert model.score(X, labels) > 0.8


def test_a_machine_that_was_trained_by_itself_is_saved_as_it_is(tmp_path):
    for rows in (10, 120):
        model = small().fit(X, Y)
        model.machine_.partial_fit(X[:rows], np.stack([1 - Y, Y], axis=1)[:rows])
        model.save(tmp_path / "m.cotm")
        loaded = cotm.load(tmp_path / "m.cotm")
        assert loaded.step_ == model.step_ == 720 + rows
        assert np.array_equal(loaded.votes(X), model.votes(X))


@pytest.mark.parametrize("rows", [16, 60])
def test_a_second_exception_while_the_first_is_undone(rows, monkeypatch):
    """What was half trained is not gone on with."""
    model, expected = (small(epochs=3, backend="native") for _ in range(2))
    expected.fit(X[:rows], Y[:rows])
    go_back, train = Machine._go_back, cotm.backends.native.NativeBackend.train
    calls = iter([False, True])

    def fails(self, *arguments):
        counts = train(self, *arguments)
        if next(calls, False):
            raise Alarm
        return counts

    def fails_once(self):
        monkeypatch.setattr(Machine, "_go_back", go_back)
        raise Alarm

    monkeypatch.setattr(cotm.backends.native.NativeBackend, "train", fails)
    monkeypatch.setattr(Machine, "_go_back", fails_once)
    with pytest.raises(Alarm):
        model.fit(X[:rows], Y[:rows])
    model.fit(X[:rows], Y[:rows], resume=hasattr(model, "machine_"))
    assert state(model) == state(expected)


def test_resume_does_not_take_an_older_training_for_the_interrupted_one():
    model = small().fit(X, Y).set_params(random_state=9)
    with pytest.raises(ValueError, match="random_state=9, but the training that there is began"):
        model.fit(X, Y, resume=True)


def test_an_estimator_that_cannot_be_hashed_can_be_fitted():
    class Equal(CoTMClassifier):
        def __eq__(self, other):
            return True

    assert Equal(10, epochs=1, random_state=0).fit(X, Y).score(X, Y) >= 0


def test_dense_data_are_known_again_as_sparse_ones():
    for first, second in ((X, scipy.sparse.csr_matrix), (scipy.sparse.csr_matrix(X), np.asarray)):
        model = small(callbacks=[lambda m, r: r["epoch"] == 3]).fit(first, Y)
        model.set_params(callbacks=None)
        with pytest.raises(ValueError, match="X holds other values"):
            model.fit(second(1 - X), Y, resume=True)
        assert len(model.fit(second(X), Y, resume=True).history_) == 6


def test_what_is_learned_later_does_not_change_probabilities():
    asked, late = (small(T=300).fit(X, Y) for _ in range(2))
    asked.predict_proba(X)
    for model in (asked, late):
        model.partial_fit(X, Y)
    assert np.array_equal(asked.predict_proba(X), late.predict_proba(X))


# Class weights ----------------------------------------------------------------------------------


def test_class_weights_of_digits_as_text():
    numbers, texts = Y, Y.astype(str)
    weighted = small(class_weight={0: 4, 1: 1}).fit(X, numbers)
    assert state(small(class_weight={"0": 4, "1": 1}).fit(X, texts)) == state(weighted)
    assert state(weighted) != state(small().fit(X, numbers))
    with pytest.raises(ValueError, match="class_weight names the class 0, but the classes are"):
        small(class_weight={0: 4}).fit(X, texts)
    labels = np.column_stack([Y, 1 - Y, X[:, 3]])
    with pytest.raises(ValueError, match="with several labels at once"):
        small(class_weight={0: 2}).fit(X, labels)


def test_a_model_without_room_for_its_sharpness_is_saved_all_the_same(monkeypatch, tmp_path):
    def fail(*lesson):
        raise MemoryError

    monkeypatch.setattr("cotm.model.probabilities._learn", fail)
    model = small().fit(X, Y)
    model.save(tmp_path / "m.cotm")
    found = cotm.load(tmp_path / "m.cotm").predict_proba(X)
    assert np.array_equal(found, model.predict_proba(X))
