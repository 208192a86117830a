"""States of the last epochs that vote together."""

import pickle
import threading
from functools import partial

import numpy as np
import pytest
from helpers import classifier, state
from scipy import sparse

import cotm
from cotm import CoTMClassifier, Machine, TMClassifier
from cotm.core.state import voters
from cotm.files import saving

RNG = np.random.default_rng(11)
X = RNG.integers(0, 2, (150, 13), dtype=np.uint8)
Y = (X[:, 0] ^ X[:, 1]) + 2 * (X[:, 2] & X[:, 3]) ^ (RNG.random(150) < 0.2)


small = partial(classifier, n_clauses=30, T=40, s=3.0, epochs=6, random_state=5)


@pytest.mark.parametrize("backend", ["reference", "native"])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (CoTMClassifier, {}),
        (TMClassifier, {}),
        (TMClassifier, {"weighted": False}),
        (CoTMClassifier, {"patch_shape": (2, 3), "image_shape": (3, 4)}),
        (CoTMClassifier, {"tolerance": 3, "include_depth": 5}),
    ],
)
def test_votes_are_the_sum_of_the_last_epochs(kind, options, backend):
    rows = 150 if backend == "native" else 50
    data, labels = (X[:, :12] if "patch_shape" in options else X)[:rows], Y[:rows]
    options = {**options, "backend": backend}
    single = [small(kind, **options, epochs=e).fit(data, labels) for e in (4, 5, 6)]
    averaged = small(kind, **options, average=3).fit(data, labels)
    assert state(averaged) == state(single[-1]), "training does not depend on it"
    expected = sum(model.votes(data) for model in single)
    assert np.array_equal(averaged.votes(data), expected)
    assert np.array_equal(averaged.predict(data), averaged.classes_[expected.argmax(axis=1)])
    assert averaged.machine_.n_states_ == 3


def test_sparse_input_and_several_labels():
    labels = np.column_stack([X[:, 0], X[:, 1] | X[:, 2]])
    single = [small(epochs=e).fit(X, labels) for e in (5, 6)]
    averaged = small(average=2).fit(sparse.csr_array(X), labels)
    expected = sum(model.votes(X) for model in single)
    assert np.array_equal(averaged.votes(sparse.csr_array(X)), expected)
    assert np.array_equal(averaged.predict(X), (expected >= 0).astype(int))


def test_probabilities_are_of_the_mean_vote():
    one, many = (small(average=k, epochs=1).fit(X, Y) for k in (1, 4))
    assert np.array_equal(one.predict_proba(X), many.predict_proba(X)), "one epoch, one state"
    for model in (one, many):
        model.set_params(warm_start=True, epochs=9).fit(X, Y)
    sharpest = [np.sort(model.predict_proba(X), axis=1)[:, -1].mean() for model in (one, many)]
    assert abs(sharpest[0] - sharpest[1]) < 0.1


def test_passes_of_partial_fit_and_of_machines_count():
    labels = np.eye(int(Y.max()) + 1, dtype=np.uint8)[Y]
    machine = Machine(20, T=30, s=3.0, average=2, random_state=1)
    alone = Machine(20, T=30, s=3.0, random_state=1)
    found = []
    for rows in (slice(0, 100), slice(100, 108), slice(108, 150)):
        machine.partial_fit(X[rows], labels[rows])
        found.append(alone.partial_fit(X[rows], labels[rows]).votes(X))
    assert np.array_equal(machine.votes(X), found[1] + found[2])


def test_early_stopping_keeps_the_best_epochs_states():
    model = small(average=3, epochs=40, early_stopping=True, patience=3)
    seen = []
    model.callbacks = [lambda m, record: seen.append((record, m.votes(X), m.machine_.n_states_))]
    model.fit(X, Y)
    scores = [record["validation_accuracy"] for record, _, _ in seen]
    best = int(np.argmax(scores))
    assert best < len(seen) - 1, "it went on after the best"
    assert np.array_equal(model.votes(X), seen[best][1])
    assert [n for _, _, n in seen[:4]] == [1, 2, 3, 3]


def test_a_stopped_pass_changes_nothing():
    model = small(average=3).fit(X, Y)
    before = model.votes(X)
    machine = model.machine_
    examples = model._reader.read(X)
    training = machine.prepare(examples, np.eye(len(model.classes_), dtype=np.uint8)[Y], np.ones(1))
    calls = iter([False, True])
    machine._slice = len(X) // 2
    assert machine.train_pass(training, should_stop=lambda: next(calls)) is None
    assert np.array_equal(model.votes(X), before)


def test_files_pickles_and_continuation(tmp_path):
    model = small(average=3).fit(X, Y)
    model.save(tmp_path / "m.cotm")
    copies = [cotm.load(tmp_path / "m.cotm"), pickle.loads(pickle.dumps(model))]
    for each in copies:
        assert np.array_equal(each.votes(X), model.votes(X))
    for each in (model, *copies):
        each.set_params(warm_start=True, epochs=1).fit(X, Y)
    assert all(np.array_equal(each.votes(X), model.votes(X)) for each in copies)
    fewer = model.set_params(average=2, epochs=0).fit(X, Y)
    expected = sum(small(epochs=e).fit(X, Y).votes(X) for e in (6, 7))
    assert np.array_equal(fewer.votes(X), expected)


def test_a_checkpoint_with_states_resumes(tmp_path):
    whole = small(average=3, epochs=8, early_stopping=True).fit(X, Y)
    keep = cotm.Checkpoint(tmp_path / "run.cotm")
    small(average=3, epochs=4, early_stopping=True, callbacks=[keep]).fit(X, Y)
    resumed = cotm.load(tmp_path / "run.cotm").set_params(epochs=8).fit(X, Y, resume=True)
    assert state(resumed) == state(whole)
    assert np.array_equal(resumed.votes(X), whole.votes(X))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("earlier.included", lambda a: a[:, :-1]),
        ("earlier.included", lambda a: a.astype(np.int8)),
        ("earlier.weights", lambda a: a[:1]),
        ("earlier.weights", lambda a: a.astype(np.float32)),
        ("earlier.weights", None),
    ],
)
def test_states_that_do_not_fit_are_refused(name, change, tmp_path, monkeypatch):
    model = small(average=3).fit(X, Y)
    encode = saving.encode

    def damaged(saved):
        header, tensors = encode(saved)
        tensor = tensors.pop(name)
        if change is not None:
            tensors[name] = np.ascontiguousarray(change(tensor))
        return header, tensors

    monkeypatch.setattr(saving, "encode", damaged)
    model.save(tmp_path / "m.cotm")
    with pytest.raises(cotm.ModelFileError, match="earlier"):
        cotm.load(tmp_path / "m.cotm")


@pytest.mark.parametrize("value", [0, 1001, 1.5, "all"])
def test_what_average_cannot_be(value):
    with pytest.raises(ValueError, match="average"):
        small(average=value).fit(X, Y)


def test_predicting_while_another_thread_trains():
    """Whatever a thread that predicts does, the states that vote are those after the passes."""
    alone = small(average=3)
    watched = small(average=3)
    stop = threading.Event()
    errors = []

    def predict():
        try:
            while not stop.is_set():
                watched.votes(X)
                watched.machine_.snapshot()
        except Exception as error:
            errors.append(error)

    watched.partial_fit(X, Y, classes=np.unique(Y))
    threads = [threading.Thread(target=predict) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(60):
        watched.partial_fit(X, Y)
    stop.set()
    for thread in threads:
        thread.join()
    for _ in range(61):
        alone.partial_fit(X, Y, classes=np.unique(Y))
    assert not errors
    assert np.array_equal(watched.votes(X), alone.votes(X))
    assert np.array_equal(pickle.loads(pickle.dumps(watched)).votes(X), alone.votes(X))


def test_the_pool_of_before_a_pass_is_not_kept(monkeypatch):
    """A pool that is built while a pass ends must not answer afterwards."""
    model = small(average=3).fit(X, Y)
    machine = model.machine_
    started, trained = threading.Event(), threading.Event()

    def slow(state):
        started.set()
        trained.wait(1)
        return voters(state)

    monkeypatch.setattr(cotm.machine, "voters", slow)
    machine._live = machine._live._replace(pool=None)
    thread = threading.Thread(target=lambda: model.votes(X))
    thread.start()
    started.wait(5)
    model.partial_fit(X, Y)
    trained.set()
    thread.join()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(model.votes(X), again.votes(X))


def stopped(**parameters):
    """A model whose early stopping was left midway, after an epoch that stays the best."""
    model = small(epochs=40, early_stopping=True, patience=40, **parameters)

    def leave(m, record):
        best = m._progress.best
        if len(best.earlier) >= 3 and m._progress.epochs_without_improvement() >= 2:
            scores = [record["validation_accuracy"] for record in m.history_]
            m.history_[int(np.argmax(scores))]["validation_accuracy"] = 1.0
            raise KeyboardInterrupt

    model.callbacks = [leave]
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert model._progress.best is not None
    return model.set_params(callbacks=None)


def test_training_without_validation_goes_on_from_the_last_state():
    model = stopped(average=5)
    step = model.step_
    model.partial_fit(X, Y)
    assert model.step_ == step + len(X)
    model.set_params(early_stopping=False, warm_start=True, epochs=2).fit(X, Y)
    assert model.step_ == step + 3 * len(X)


@pytest.mark.parametrize(
    "change", [{"average": 2}, {"max_weight": 2}, {"max_literals": 1}, {"memory_depth": 2}]
)
def test_a_best_epoch_is_brought_within_lowered_caps(change, tmp_path):
    model = stopped(average=5, callbacks=None)
    model.callbacks = [cotm.Checkpoint(tmp_path / "run.cotm")]
    model.set_params(**change, epochs=len(model.history_) + 1).fit(X, Y, resume=True)
    assert model.machine_.n_states_ <= model.average
    if "max_weight" in change:
        states = [model.machine_.snapshot(), *model.machine_.snapshot().earlier]
        assert max(np.abs(state.weights).max() for state in states) <= 2
    if "max_literals" in change:
        earlier = model.machine_.snapshot().earlier
        assert all(state.most_literals() <= 1 for state in earlier)
    model.save(tmp_path / "m.cotm")
    assert np.array_equal(cotm.load(tmp_path / "m.cotm").votes(X), model.votes(X))
    cotm.load(tmp_path / "run.cotm")


def test_memory_for_the_states_is_counted(monkeypatch):
    costs = [small(average=k).estimate(X, Y)["bytes"] for k in (1, 10, 100)]
    assert costs[0] < costs[1] < costs[2]
    monkeypatch.setattr(cotm.backends.memory, "available_memory", lambda: int(costs[1]))
    with pytest.raises(MemoryError, match=r"average=100.*use fewer states"):
        small(average=100).fit(X, Y)
    small(average=2).fit(X, Y)
