"""Training on images that change: what a pass sees, and that nothing else depends on it."""

import pickle
import threading
from functools import partial

import numpy as np
import pytest
from helpers import classifier, state
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

import cotm
from cotm import Augmentation, CoTMClassifier, TMClassifier
from cotm.backends import feeding
from cotm.core.examples import as_examples
from cotm.estimator import planning
from cotm.model.augmented import AugmentedImages

DIGITS, LABELS = load_digits(return_X_y=True)
X, Y = (DIGITS[:150].reshape(-1, 8, 8) * 15).astype(np.uint8), LABELS[:150]
CHANGES = Augmentation(2, flip=True, rotate=20, zoom=0.2, probability=0.9)

small = partial(
    classifier,
    n_clauses=30,
    T=40,
    s=3.0,
    epochs=4,
    patch_shape=(4, 4),
    random_state=5,
    augment=CHANGES,
)


def trained_by_hand(model, images, y, epochs, *, shuffle, weight=None):
    """A machine that gets the images of each pass ready-made."""
    learned = clone(model).set_params(augment=None, epochs=0).fit(images, y)
    reader, machine = learned._reader, learned.machine_
    targets = np.eye(len(learned.classes_), dtype=np.uint8)[np.searchsorted(learned.classes_, y)]
    for epoch in range(epochs):
        changed = CHANGES.apply(images, random_state=5, step=epoch * len(images))
        training = machine.prepare(
            reader.bits_of(changed), targets, np.ones(1) if weight is None else weight
        )
        machine.train_pass(training, shuffle=shuffle)
    return machine


@pytest.mark.parametrize("kind", [CoTMClassifier, TMClassifier])
@pytest.mark.parametrize(
    "booleanize", ["auto", cotm.ImageThermometer(2), cotm.EdgeThermometer(["edge x 3 px"])]
)
def test_a_pass_sees_changed_images_and_thresholds_are_of_unchanged_ones(kind, booleanize):
    model = small(kind, booleanize=booleanize).fit(X, Y)
    by_hand = trained_by_hand(model, X, Y, 4, shuffle=True)
    assert state(by_hand)[:3] == state(model)[:3]
    assert state(model)[0] != state(clone(model).set_params(augment=None).fit(X, Y))[0]


def test_weights_shuffling_and_colour():
    colour = np.stack([X, X[:, ::-1], X.transpose(0, 2, 1)], axis=-1)
    weight = np.random.default_rng(0).choice([0.2, 1.0, 3.0], len(X))
    for shuffle in (True, False):
        model = small(shuffle=shuffle).fit(colour, Y, sample_weight=weight)
        by_hand = trained_by_hand(model, colour, Y, 4, shuffle=shuffle, weight=weight)
        assert state(by_hand)[:3] == state(model)[:3]


def test_partial_fit_changes_each_call_anew():
    model, slices = small(), [slice(0, 10), slice(30, 90), slice(0, 80)]
    for rows in slices:  # ten are trained on at once, others in slices
        model.partial_fit(X[rows], Y[rows], classes=np.arange(10))
    machine, step = model.machine_.fresh(), 0
    for rows in slices:
        bits = model._reader.bits_of(CHANGES.apply(X[rows], random_state=5, step=step))
        targets = np.eye(10, dtype=np.uint8)[Y[rows]]
        machine.train_pass(machine.prepare(bits, targets, np.ones(1)), shuffle=False)
        step += len(targets)
    assert state(machine)[:3] == state(model)[:3]


@pytest.mark.parametrize("rows", [12, 150])
def test_backends_and_threads_give_the_same_bits(rows):
    states = {
        state(small(backend=backend, n_jobs=n_jobs).fit(X[:rows], Y[:rows]))
        for backend, n_jobs in (("reference", 1), ("native", 1), ("native", 3), ("auto", None))
    }
    assert len(states) == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("first", "most", "size"), [(1, 4096, 10**9), (7, 9, 10**9), (5, 99, 1)])
def test_the_parts_of_a_pass_do_not_show(n_jobs, first, most, size, monkeypatch):
    options = {"drop_clauses": 0.4, "n_jobs": n_jobs}  # the same ones sleep in the whole pass
    expected = state(small(**options).fit(X, Y))
    by_hand = trained_by_hand(small(**options), X, Y, 4, shuffle=True)
    assert state(by_hand)[:3] == expected[:3]
    monkeypatch.setattr(feeding, "_FIRST_ROWS", first)
    monkeypatch.setattr(feeding, "_MOST_ROWS", most)
    monkeypatch.setattr(feeding, "_MOST_BYTES", size)
    for backend in ("native", "reference"):
        assert state(small(**options, backend=backend).fit(X, Y)) == expected


def test_no_more_than_a_few_parts_are_held(monkeypatch):
    monkeypatch.setattr(feeding, "_FIRST_ROWS", 8)
    monkeypatch.setattr(feeding, "_MOST_ROWS", 16)
    sizes, bits_of = [], cotm.model.inputs.InputReader.bits_of

    def watched(self, images):
        sizes.append(len(images))
        return bits_of(self, images)

    monkeypatch.setattr(cotm.model.inputs.InputReader, "bits_of", watched)
    small(n_jobs=2).partial_fit(X, Y, classes=np.arange(10))
    assert sum(sizes) == 150 and max(sizes) == 16 and sizes[0] == 8


# Going on -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"early_stopping": True, "patience": 9}, {"average": 2}])
def test_an_interrupted_training_ends_where_an_uninterrupted_one_does(options, tmp_path):
    whole = small(**options).fit(X, Y)
    model = small(**options, callbacks=[lambda m, r: m.save(tmp_path / f"{r['epoch']}.cotm")])
    model.fit(X, Y)
    for epoch in (1, 3):
        again = cotm.load(tmp_path / f"{epoch}.cotm")
        assert again.augment == CHANGES
        again.fit(X.astype(float), Y, resume=True)  # the same pixels, of another type
        assert state(again) == state(whole)


def test_warm_starts_go_on_to_the_same_bits():
    model = small(epochs=2, warm_start=True).fit(X, Y).fit(X, Y)
    assert state(model) == state(small().fit(X, Y))
    model.set_params(augment=None).fit(X, Y)
    assert len(model.history_) == 6


def test_resuming_knows_images_and_changes(tmp_path):
    stopped = small(callbacks=[lambda m, r: r["epoch"] == 2]).fit(X, Y)
    stopped.save(tmp_path / "m.cotm")
    other = X.copy()
    other[3, 4, 4] ^= 1  # too little for a threshold to notice
    for change, images, message in (
        ({}, other, "X holds other values"),
        ({"augment__shift": 1}, X, "augment is shift 1, 1; .* began with shift 2, 2; flip"),
        ({"augment": None}, X, "augment is none, but training began with shift 2"),
    ):
        model = cotm.load(tmp_path / "m.cotm").set_params(**change)
        before = state(model)
        with pytest.raises(ValueError, match=message):
            model.fit(images, Y, resume=True)
        assert state(model) == before
    plain = small(augment=None, callbacks=[lambda m, r: r["epoch"] == 2]).fit(X, Y)
    with pytest.raises(ValueError, match=r"augment is shift 2.* but training began with none"):
        plain.set_params(augment=CHANGES, callbacks=None).fit(X, Y, resume=True)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_in_the_middle_of_a_pass_leaves_the_epoch_before(n_jobs, monkeypatch):
    monkeypatch.setattr(feeding, "_FIRST_ROWS", 16)
    monkeypatch.setattr(feeding, "_MOST_ROWS", 16)
    calls, of_pass = [], AugmentedImages.of_pass

    def interrupted(self, step, rows):
        calls.append(step)
        if len(calls) == 15:  # of ten in each pass
            raise KeyboardInterrupt
        return of_pass(self, step, rows)

    whole = small(n_jobs=n_jobs).fit(X, Y)
    with monkeypatch.context() as patch:
        patch.setattr(AugmentedImages, "of_pass", interrupted)
        model = small(n_jobs=n_jobs)
        before = threading.active_count()
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y)
        assert threading.active_count() == before, "the thread that made images has ended"
    assert len(model.history_) == 1 and model.step_ == 150
    assert state(model.fit(X, Y, resume=True)) == state(whole)


class Spoiled(cotm.ImageThermometer):
    """Fails on the images of a pass."""

    def transform(self, X):
        if len(X) == 64:
            raise ArithmeticError("these I do not like")
        return super().transform(X)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_while_images_are_made_changes_nothing(n_jobs):
    model = small(booleanize=Spoiled(), n_jobs=n_jobs)
    before = dict(vars(model))
    with pytest.raises(ArithmeticError, match="these I do not like"):
        model.fit(X, Y)
    assert vars(model) == before


# What stays as it is -----------------------------------------------------------------------------


def test_held_out_images_are_not_changed(monkeypatch):
    seen = []
    accuracy = planning._held_accuracy

    def watched(held, outputs, machine):
        seen.append(held.examples.bits)
        return accuracy(held, outputs, machine)

    monkeypatch.setattr(planning, "_held_accuracy", watched)
    model = small(early_stopping=True, validation_fraction=0.2).fit(X, Y)
    bits = model.booleanizer_.transform(X)
    assert len(seen) == 4
    rows = {row.tobytes() for row in bits}
    assert all(image.tobytes() in rows for image in seen[0][..., 0])


def test_changes_go_with_the_row_in_x_whoever_is_held_out(monkeypatch):
    given, of_pass = {}, AugmentedImages.of_pass

    def watched(self, step, rows):
        examples = of_pass(self, step, rows)
        if step == 0:
            given.update(zip(self._rows[rows].tolist(), examples.bits, strict=True))
        return examples

    monkeypatch.setattr(AugmentedImages, "of_pass", watched)
    model = small(early_stopping=True, validation_fraction=0.2, epochs=1).fit(X, Y)
    assert len(given) == 120
    changed = model._reader.bits_of(CHANGES.apply(X, random_state=5)).bits
    assert all(np.array_equal(changed[row], bits) for row, bits in given.items())


def test_predictions_are_of_images_as_they_are():
    model = small().fit(X, Y)
    bits = as_examples(model.booleanizer_.transform(X), model.machine_.spec.grid)
    assert np.array_equal(model.votes(X), model.machine_.votes(bits))
    assert np.isfinite(model.predict_proba(X)).all()


def test_no_changes_are_the_same_as_none():
    plain = small(augment=None).fit(X, Y)
    assert state(small(augment=Augmentation()).fit(X, Y)) == state(plain)
    assert state(small(augment=Augmentation(3, probability=0)).fit(X, Y)) == state(plain)


# Images of every kind ----------------------------------------------------------------------------


def test_images_of_bits_stay_bits():
    bits = (X > 100).astype(np.uint8)
    model = small(booleanize=None).fit(bits, Y)
    assert model.booleanizer_ is None
    assert state(model) == state(small().fit(bits.astype(bool), Y)) == state(small().fit(bits, Y))


def test_rows_that_hold_images_flattened():
    flat = small(image_shape=(8, 8)).fit(X.reshape(150, 64), Y)
    assert state(flat) == state(small().fit(X, Y))


def test_whole_images_and_floats():
    model = small(patch_shape=(8, 8), booleanize=cotm.ImageThermometer(2)).fit(X / 255, Y)
    by_hand = trained_by_hand(model, X / 255, Y, 4, shuffle=True)
    assert state(by_hand)[:3] == state(model)[:3]


class OneMethodLess:
    """A transformer with no more than the two methods that booleanize asks for."""

    def fit_transform(self, X):
        self.level_ = X.mean()
        return self.transform(X)

    def transform(self, X):
        assert X.dtype == np.int16, "what comes is of the type that was learned from"
        return (self.level_ < X).astype(np.uint8)

    def get_params(self, deep=True):
        return {}


def test_transformers_of_somebody_else():
    images = X.astype(np.int16)
    model = small(booleanize=OneMethodLess()).fit(images, Y)
    assert model.booleanizer_.level_ == X.mean()
    assert state(model)[:3] == state(trained_by_hand(model, images, Y, 4, shuffle=True))[:3]


# As a parameter ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "images", "message"),
    [
        ({"patch_shape": None}, X.reshape(150, 64), "patch_shape=None does not read X as images"),
        ({"patch_shape": (4,)}, X.reshape(150, 64), r"patch_shape=\(4,\) does not read X"),
        ({"augment": 2}, X, "augment=2 must be a cotm.Augmentation"),
        ({"augment": {"shift": 2}}, X, "must be a cotm.Augmentation"),
        ({"augment": Augmentation}, X, "must be a cotm.Augmentation"),
        ({"augment": Augmentation(-1)}, X, "shift=-1 must be an integer"),
        ({"booleanize": None}, X, "X holds the value .* but bits must be 0 or 1"),
        ({}, X[:10], "inconsistent numbers of samples"),
        ({}, np.where(X > 0, X, np.nan), "NaN"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(parameters, images, message):
    fitted = small(warm_start="patch_shape" not in parameters and "booleanize" not in parameters)
    for model in (small(**parameters), fitted.fit(X, Y).set_params(**parameters)):
        before = dict(vars(model))
        with pytest.raises(ValueError, match=message):
            model.fit(images, Y)
        assert vars(model) == before


def test_a_callback_cannot_change_it():
    def change(model, record):
        model.set_params(augment=None)

    with pytest.raises(ValueError, match="a callback set augment=None, but training began with"):
        small(callbacks=[change]).fit(X, Y)


def test_scikit_learn_finds_its_parameters():
    search = GridSearchCV(small(epochs=2), {"augment__shift": [0, 1]}, cv=2).fit(X, Y)
    assert search.best_params_["augment__shift"] in (0, 1)
    model = small().fit(X, Y)
    assert state(pickle.loads(pickle.dumps(model)).fit(X, Y)) == state(model)
    assert clone(model).augment == CHANGES
    assert model.estimate(X, Y)["seconds"] > 0


def test_members_of_a_composite_change_their_images():
    members = [("one", small()), ("other", small(augment=None))]
    both = cotm.CoTMComposite(members, n_jobs=2).fit(X, Y)
    assert state(both.named_estimators_["one"]) == state(small().fit(X, Y))
    assert state(both.named_estimators_["other"]) == state(small(augment=None).fit(X, Y))
