"""Options that change from epoch to epoch: values that depend on the epoch alone."""

import random
from functools import partial

import numpy as np
import pytest
from command_line import run
from helpers import classifier, state
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV

import cotm
from cotm import CoTMClassifier, Schedule, TMClassifier
from cotm.core.parameters import OPTIONS
from cotm.model.schedules import at_epoch

X, Y = load_iris(return_X_y=True)
CHANGING = {
    "T": Schedule(60, 21, epochs=5),
    "s": Schedule(2.0, 9.0, epochs=4, shape="geometric"),
    "tolerance": Schedule(1, 4, epochs=3, shape="step"),
    "drop_clauses": Schedule(0.5, 0.0, epochs=6),
}
small = partial(classifier, n_clauses=30, epochs=7, random_state=2)


def values(epoch):
    return {name: at_epoch(OPTIONS[name], value, epoch) for name, value in CHANGING.items()}


@pytest.mark.parametrize(
    "shape, expected",
    [
        ("linear", [10, 7.75, 5.5, 3.25, 1, 1, 1]),
        ("step", [10, 10, 10, 10, 1, 1, 1]),
        ("geometric", [10, 5.623413251903491, 3.1622776601683795, 1.7782794100389228, 1, 1, 1]),
    ],
)
def test_values(shape, expected):
    schedule = Schedule(10, 1, epochs=5, shape=shape)
    assert [schedule.at(epoch) for epoch in range(1, 8)] == expected
    back = Schedule(1, 10, epochs=5, shape=shape)
    assert back.at(1) == 1 and back.at(5) == back.at(10**9) == 10


def test_whole_numbers_are_rounded_exactly():
    """Halves to the even one, also where a float could not tell."""
    T = OPTIONS["T"]
    assert [at_epoch(T, Schedule(1, 2, epochs=3), e) for e in (1, 2, 3)] == [1, 2, 2]
    assert [at_epoch(T, Schedule(2, 3, epochs=3), e) for e in (1, 2, 3)] == [2, 2, 3]
    assert all(type(at_epoch(T, CHANGING["T"], e)) is int for e in range(1, 9))
    rng = random.Random(0)
    for _ in range(300):
        a, b = rng.randint(1, 2**30), rng.randint(1, 2**30)
        epochs = rng.randint(2, 50)
        for shape in ("linear", "geometric"):
            found = [at_epoch(T, Schedule(a, b, epochs=epochs, shape=shape), e) for e in
                     range(1, epochs + 2)]  # fmt: skip
            assert found == sorted(found, reverse=a > b)
            assert found[0] == a and found[-1] == found[-2] == b


def test_decimal_settings_of_the_program_do_not_matter():
    import decimal

    schedule = Schedule(3, 1000, epochs=11, shape="geometric")
    before = [schedule.at(epoch) for epoch in range(1, 12)]
    with decimal.localcontext() as context:
        context.prec, context.rounding = 3, decimal.ROUND_UP
        assert [schedule.at(epoch) for epoch in range(1, 12)] == before


@pytest.mark.parametrize("kind", [CoTMClassifier, TMClassifier])
def test_every_epoch_has_its_values(kind):
    """As if every epoch had been asked for by itself, with the values set by hand."""
    seen = []

    def note(model, record):
        parameters = model.machine_.parameters
        seen.append({name: getattr(parameters, name) for name in CHANGING})
        assert model.T_ == parameters.T

    whole = small(kind, **CHANGING, callbacks=[note]).fit(X, Y)
    assert seen == [values(epoch) for epoch in range(1, 8)]
    assert len({*map(str, seen)}) == 6
    by_hand = small(kind, epochs=1, warm_start=True)
    for epoch in range(1, 8):
        by_hand.set_params(**values(epoch)).fit(X, Y)
    assert state(by_hand) == state(whole)
    assert np.array_equal(by_hand.votes(X), whole.votes(X))
    assert whole.T is CHANGING["T"], "parameters stay what they were set to"


def test_a_training_that_goes_on_has_the_same_values(tmp_path):
    whole = small(**CHANGING).fit(X, Y)
    path = tmp_path / "m.cotm"

    def stop(model, record):
        return record["epoch"] == 3

    begun = small(**CHANGING, callbacks=[cotm.Checkpoint(path), stop]).fit(X, Y)
    assert {name: getattr(begun.machine_, name) for name in CHANGING} == values(3)
    loaded = cotm.load(path)
    assert loaded.get_params() == {**begun.get_params(), "callbacks": None}
    assert {name: getattr(loaded.machine_, name) for name in CHANGING} == values(3)
    assert np.array_equal(loaded.votes(X), begun.votes(X))
    assert state(loaded.fit(X, Y, resume=True)) == state(whole)
    assert state(begun.set_params(callbacks=None).fit(X, Y, resume=True)) == state(whole)
    longer = small(**CHANGING, epochs=4, warm_start=True).fit(X, Y)
    assert state(longer.set_params(epochs=3).fit(X, Y)) == state(whole)


def test_partial_fit_counts_its_calls():
    whole = small(**CHANGING, shuffle=False).fit(X, Y)
    piecewise = small(**CHANGING)
    for epoch in range(1, 8):
        piecewise.partial_fit(X, Y, classes=[0, 1, 2])
        assert values(epoch)["T"] == piecewise.T_
    assert np.array_equal(piecewise.votes(X), whole.votes(X))


def test_what_ends_early_has_the_values_of_its_last_epoch(monkeypatch):
    """An epoch that is interrupted has not been, and nor have its values."""
    model = small(**CHANGING)

    def interrupt(model, record):
        if record["epoch"] == 2:
            train_pass = cotm.Machine.train_pass

            def interrupted(self, training, **options):
                return train_pass(self, training, **{**options, "should_stop": lambda: True})

            monkeypatch.setattr(cotm.Machine, "train_pass", interrupted)

    model.set_params(callbacks=[interrupt]).fit(X, Y)
    monkeypatch.undo()
    assert len(model.history_) == 2 and values(2)["T"] == model.T_
    model.set_params(callbacks=None).fit(X, Y, resume=True)
    assert state(model) == state(small(**CHANGING).fit(X, Y))
    done = state(model)
    assert state(model.fit(X, Y, resume=True)) == done and values(7)["T"] == model.T_


def test_early_stopping_goes_back_to_the_values_of_the_best_epoch():
    digits, labels = load_digits(return_X_y=True)
    votes, T = {}, {}

    def note(model, record):
        votes[record["epoch"]], T[record["epoch"]] = model.votes(digits), model.T_

    model = small(
        T=Schedule(400, 3, epochs=12), tolerance=Schedule(6, 1, epochs=12), epochs=12,
        s=Schedule(4.0, 1.0, epochs=9, shape="step"),  # which forgets everything
        early_stopping=True, callbacks=[note],
    ).fit(digits, labels)  # fmt: skip
    scores = [record["validation_accuracy"] for record in model.history_]
    best = 1 + int(np.argmax(scores))
    assert best < 12 and T[best] != T[12]
    assert T[best] == model.T_
    assert np.array_equal(model.votes(digits), votes[best])


def test_the_automatic_margin_follows_the_tolerance():
    seen = []
    model = small(
        n_clauses=100, tolerance=Schedule(1, 5, epochs=3), epochs=4,
        callbacks=[lambda model, record: seen.append(model.T_)],
    ).fit(X, Y)  # fmt: skip
    assert seen == [40, 120, 200, 200]
    assert model.T == "auto"


def test_callbacks_may_set_and_take_schedules():
    seen = []

    def change(model, record):
        seen.append(model.T_)
        if record["epoch"] == 2:
            model.T = Schedule(10, 40, epochs=4)
        if record["epoch"] == 5:
            model.T = 7

    small(T=100, callbacks=[change]).fit(X, Y)
    assert seen == [100, 100, 30, 40, 40, 7, 7]


def test_scikit_learn_knows_its_parameters(tmp_path):
    model = small(**CHANGING, epochs=2)
    assert clone(model).get_params() == model.get_params()
    assert Schedule(60, 5, epochs=5) == clone(model).set_params(T__end=5).T
    assert model.T.end == 21
    search = GridSearchCV(model, {"T__start": [30, 60], "T": [CHANGING["T"]]}, cv=2)
    assert search.fit(X, Y).best_params_["T__start"] in (30, 60)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"T": Schedule(0, 5, epochs=3)}, r"T\.start=0 must be an integer from 1"),
        ({"T": Schedule(5, 2.5, epochs=3)}, r"T\.end=2\.5 must be an integer"),
        ({"s": Schedule(5, "x", epochs=3)}, r"s\.end='x' must be a number from 1"),
        ({"s": Schedule(5, 2, epochs=1)}, r"s\.epochs=1 must be an integer from 2 up"),
        ({"s": Schedule(5, 2, epochs=3, shape="cosine")}, r"s\.shape='cosine' must be one of"),
        (
            {"drop_clauses": Schedule(0.5, 0, epochs=3, shape="geometric")},
            r"drop_clauses\.end=0\.0 must be above 0.*use shape='linear'",
        ),
        (
            {"memory_depth": Schedule(5, 9, epochs=3)},
            r"memory_depth=Schedule\(.*changes from epoch to epoch, as only T, s, tolerance, ",
        ),
        ({"n_clauses": Schedule(5, 9, epochs=3)}, "n_clauses=Schedule"),
    ],
)
def test_values_are_checked_before_anything_changes(parameters, message):
    model = small(epochs=2).fit(X, Y)
    before = state(model)
    with pytest.raises(ValueError, match=message):
        model.set_params(**parameters).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, Y)
    assert state(model) == before
    with pytest.raises(ValueError, match=message):
        small(**parameters).fit(X, Y)


def test_on_the_command_line(tmp_path):
    data, out = tmp_path / "data.npz", tmp_path / "m.cotm"
    np.savez(data, X=X, y=Y)
    words = ["--clauses", 30, "--seed", 2, "--epochs", 7, "--tolerance", "1:4:3:step",
             "--margin", "60:21:5", "--specificity", "2:9:4:geometric",
             "--drop-clauses", "0.5:0:6", "--preset", "paper"]  # fmt: skip
    run("train", data, *words, "--out", out)
    model = cotm.load(out)
    assert {name: getattr(model, name) for name in CHANGING} == CHANGING
    assert state(model) == state(small(**CHANGING).fit(X, Y))
    assert "Schedule(end=21, epochs=5, start=60)" in run("info", out).stdout
    for wrong, message in (
        ("60:21", "'60:21' is not like 90:30:20"),
        ("60:21:5:step:x", "is not like 90:30:20"),
        ("60:21:1", "1 is not at least 2"),
        ("60:21:5:cosine", "shape='cosine' must be one of 'linear'"),
        ("60:0:5", "0 is not between 1 and"),
        ("60:21:many", "'many' is not a whole number"),
    ):
        output = run("train", data, "--margin", wrong, "--out", out, code=2).stderr
        assert message in " ".join(output.replace("│", " ").split())
