"""Early stopping: by which examples, by which score, and that the best epoch is what is kept."""

import contextlib
import inspect
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn
from helpers import classifier, state
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import accuracy_score, get_scorer, log_loss, make_scorer, recall_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import cotm
from cotm import Checkpoint, CoTMClassifier, CoTMComposite, Thermometer, TMClassifier
from cotm.model import probabilities

RNG = np.random.default_rng(3)
BITS = RNG.integers(0, 2, (300, 12), dtype=np.uint8)
#: A tenth of the labels is wrong, so that epochs differ.
LABELS = BITS[:, 0] ^ (BITS[:, 1] & BITS[:, 2]) ^ (RNG.random(300) < 0.1)
X, Y, X_VAL, Y_VAL = BITS[:200], LABELS[:200], BITS[200:], LABELS[200:]
IRIS_X, IRIS_Y = load_iris(return_X_y=True)

small = partial(classifier, n_clauses=30, T=40, s=3.0, epochs=12, patience=12, random_state=5)


def scores(model, name="validation_score"):
    return [record[name] for record in model.history_]


def best_epoch(model):
    return int(np.argmax(scores(model))) + 1


# eval_set ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [CoTMClassifier, TMClassifier])
def test_training_ends_at_the_best_epoch_on_the_eval_set(kind):
    seen = {}
    model = small(kind, epochs=60, patience=4)
    model.callbacks = [lambda m, r: seen.update({r["epoch"]: state(m)[:2]})]
    model.fit(X, Y, eval_set=(X_VAL, Y_VAL))
    assert len(model.history_) == best_epoch(model) + 4 < 60
    assert state(model)[:2] == seen[best_epoch(model)]
    assert model.score(X_VAL, Y_VAL) == max(scores(model))
    assert scores(model) == scores(model, "validation_accuracy")
    # It is not trained on, and takes nothing from what is.
    assert model.step_ == len(X) * len(model.history_)
    assert not model.early_stopping


def test_a_divergence_does_not_cost_the_best_state():
    """A machine that memorizes nothing forgets what it knows, and is left with one class."""
    y, states = BITS[:, 0] ^ BITS[:, 1], {}

    def ruin(model, record):
        states[record["epoch"]] = state(model)[:2]
        if record["epoch"] == 8:
            model.set_params(s=1.0, boost_true_positive=False)

    model = small(callbacks=[ruin], epochs=40, patience=20)
    model.fit(X, y[:200], eval_set=(X_VAL, y[200:]))
    majority = max(y[200:].mean(), 1 - y[200:].mean())
    assert np.mean(scores(model)[-10:]) <= majority < max(scores(model)) - 0.2
    assert best_epoch(model) <= 8 and len(model.history_) == best_epoch(model) + 20
    assert model.score(X_VAL, y[200:]) == max(scores(model))
    assert state(model)[:2] == states[best_epoch(model)]


def test_of_equal_scores_the_first_is_kept():
    model = small(scoring=lambda model, X, y: 0.5, patience=3).fit(X, Y, eval_set=(X_VAL, Y_VAL))
    assert len(model.history_) == 4
    assert state(model)[:2] == state(small(epochs=1).fit(X, Y))[:2]


@pytest.mark.parametrize(
    "given", [[(X_VAL, Y_VAL)], [X_VAL, Y_VAL], ((X_VAL, Y_VAL),), [[X_VAL, Y_VAL]]]
)
def test_a_pair_may_come_as_other_libraries_want_it(given):
    expected = small().fit(X, Y, eval_set=(X_VAL, Y_VAL))
    assert state(small().fit(X, Y, eval_set=given)) == state(expected)


TWO = [(X_VAL, Y_VAL), (X, Y)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (X_VAL, "eval_set is no pair but ndarray; pass"),
        ((), "eval_set is no pair but 0 parts; pass"),
        ((X_VAL, Y_VAL, Y_VAL), "eval_set is no pair but 3 parts"),
        (TWO, "eval_set holds 2 pairs, but early stopping goes by one"),
        ((X_VAL[:, :5], Y_VAL), "eval_set: X has 5 features, but CoTMClassifier is expecting 12"),
        ((X_VAL, Y_VAL[:7]), r"eval_set: .*inconsistent numbers of samples"),
        ((X_VAL, np.full(100, 4)), r"eval_set: its y holds the label .*4.*\[0, 1\]"),
        ((X_VAL, np.full(100, "a")), r"eval_set: its y holds the label 'a'"),
        ((X_VAL, BITS[200:, :2]), "eval_set: its y is of another kind"),
        ((X_VAL[:0], Y_VAL[:0]), "eval_set: y holds no labels"),
        ((X_VAL + 5, Y_VAL), "eval_set: X holds the value"),
        ((X_VAL, None), "eval_set: requires y"),
    ],
)
def test_a_wrong_eval_set_is_told_and_changes_nothing(given, message):
    model = small().fit(X, Y)
    before = state(model)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y, eval_set=given)
    assert state(model) == before
    model.fit(X, Y)
    with pytest.raises(ValueError, match="eval_set"):
        model.fit(X, Y, eval_set=given, resume=True)
    assert state(model) == before


def test_an_eval_set_may_lack_classes_and_be_a_frame():
    frame = pd.DataFrame(IRIS_X, columns=list("abcd"))
    names = np.array(["one", "two", "three"], dtype=object)[IRIS_Y]
    part = names != "two"
    model = small(scoring="f1_macro").fit(frame, names, eval_set=(frame[part], names[part]))
    assert model.score(frame[part], names[part]) > 0.9
    other = small(scoring="f1_macro")
    polars = pl.from_pandas(frame)
    other.fit(polars, names, eval_set=[(polars.filter(part), names[part].tolist())])
    assert state(other) == state(model)
    with pytest.raises(ValueError, match="eval_set: The feature names should match"):
        other.fit(polars, names, eval_set=(frame[["a", "b", "c"]], names))


def test_several_labels():
    several = BITS[:, :3]
    data = {"eval_set": (X_VAL, several[200:])}
    model = small(scoring="f1_samples", patience=3, epochs=50).fit(X, several[:200], **data)
    plain = small(patience=3, epochs=50).fit(X, several[:200], **data)
    assert max(scores(model)) > 0.7 and max(scores(plain)) > 0.7
    assert scores(model) != scores(plain)[: len(scores(model))]


def test_images_that_change_are_not_changed_where_they_are_scored():
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8)
    model = small(n_clauses=100, patch_shape=(4, 4), augment=cotm.Augmentation(shift=1))
    model.fit(images[:300], labels[:300], eval_set=(images[300:500], labels[300:500]))
    assert model.score(images[300:500], labels[300:500]) == max(scores(model)) > 0.5


# scoring -------------------------------------------------------------------------------


def seconds_are_not_trained(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a second machine is trained")

    monkeypatch.setattr(probabilities, "_learn", refuse)


RECALL = make_scorer(recall_score, pos_label=0)


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("name", ["accuracy", "neg_log_loss", "roc_auc", "f1", RECALL])
def test_scores_are_those_of_scikit_learn(name, held_out, monkeypatch):
    seconds_are_not_trained(monkeypatch)
    states, held = {}, (X_VAL, Y_VAL)

    def watched(model, X, y):
        nonlocal held
        held = X, y
        return get_scorer(name)(model, X, y)

    model = small(scoring=watched, early_stopping=held_out)
    model.callbacks = [lambda m, r: states.update({r["epoch"]: m._still()})]
    data = {} if held_out else {"eval_set": (X_VAL, Y_VAL)}
    model.fit(X, Y, **data)
    assert len(set(scores(model))) > 2
    for record in model.history_:
        votes = states[record["epoch"]].votes(held[0])
        assert record["validation_accuracy"] == (votes.argmax(axis=1) == held[1]).mean()
    # The state that is kept is the best one, and scores as it did then.
    expected = get_scorer(name)(model, *held)
    assert expected == pytest.approx(max(scores(model)), abs=1e-12)
    if name == "neg_log_loss":
        assert -expected == pytest.approx(log_loss(held[1], model.predict_proba(held[0])))
    # By its name it is the same score.
    again = small(scoring=name, early_stopping=held_out).fit(X, Y, **data)
    assert scores(again) == scores(model) and state(again) == state(model)


def test_scores_choose_different_epochs():
    """Otherwise the test above could not tell by what the best one is chosen."""
    chosen = {
        name: best_epoch(small(scoring=name, T=200, s=8.0).fit(X, Y, eval_set=(X_VAL, Y_VAL)))
        for name in ("accuracy", "neg_log_loss", "roc_auc")
    }
    assert len({*chosen.values()}) > 1


def test_accuracy_by_name_is_the_default():
    models = [small(scoring=s).fit(X, Y, eval_set=(X_VAL, Y_VAL)) for s in (None, "accuracy")]
    assert scores(models[0]) == scores(models[1])
    assert state(models[0]) == state(models[1])


@pytest.mark.parametrize(
    "data",
    [
        BITS,
        BITS.tolist(),
        scipy.sparse.csr_matrix(BITS),
        scipy.sparse.coo_matrix(BITS),
        pd.DataFrame(BITS, columns=list("abcdefghijkl")),
        pl.DataFrame(BITS, schema=list("abcdefghijkl")),
    ],
    ids=["array", "list", "csr", "coo", "pandas", "polars"],
)
def test_held_out_rows_reach_the_scorer_as_they_came(data):
    seen = []

    def look(model, X, y):
        seen.append((X, y))
        return model.score(X, y)

    model = small(scoring=look, early_stopping=True, epochs=2).fit(data, LABELS)
    rows, y = seen[0]
    expected = scipy.sparse.csr_matrix if scipy.sparse.issparse(data) else type(data)
    assert isinstance(rows, expected)
    assert (rows.shape[0] if hasattr(rows, "shape") else len(rows)) == len(y) == 30
    assert scores(model) == scores(model, "validation_accuracy")


def test_rows_are_read_once(monkeypatch):
    reads = []
    read = cotm.model.inputs.InputReader.read
    monkeypatch.setattr(
        cotm.model.inputs.InputReader, "read", lambda self, X: reads.append(X) or read(self, X)
    )
    small(scoring="neg_log_loss").fit(X, Y, eval_set=(X_VAL, Y_VAL))
    assert len(reads) == 1
    other = [small(scoring=lambda m, X, y: m.score(X[:50], y[:50]))]
    other[0].fit(X, Y, eval_set=(X_VAL, Y_VAL))
    assert len(reads) == 2 + 12, "other rows than the held-out ones are read as always"


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("f1_makro", r"scoring='f1_makro' is no scorer of scikit-learn; did you mean .*'f1_macro'"),
        ("§", r"scoring='§' is no scorer of scikit-learn; sklearn\.metrics\.get_scorer_names"),
        (accuracy_score, "metric function rather than a scorer"),
        (7, "scoring=7 must be the name of a scikit-learn scorer, a callable"),
        (["accuracy"], "must be the name"),
        (lambda model, X, y: "good", "gives 'good'; it must give one number"),
        (lambda model, X, y: model.predict(X), "it must give one number"),
        (lambda model, X, y: float("nan"), "gives nan on the validation examples"),
        (lambda model, X, y: -np.inf, "gives -inf on the validation examples"),
        ("roc_auc", "(?s)scoring='roc_auc' fails on the validation examples: .*multi"),
    ],
)
def test_a_wrong_scoring_is_told_and_changes_nothing(scoring, message):
    model = small().fit(IRIS_X, IRIS_Y)
    before = state(model)
    model.set_params(scoring=scoring)
    with pytest.raises(ValueError, match=message):
        model.fit(IRIS_X, IRIS_Y, eval_set=(IRIS_X, IRIS_Y))
    assert state(model) == before


def test_a_number_may_be_one_of_numpy():
    for number in (np.float32(0.5), np.array(0.5), np.int64(1), True):
        model = small(scoring=lambda m, X, y, n=number: n, epochs=2)
        assert scores(model.fit(X, Y, eval_set=(X_VAL, Y_VAL))) == [float(number)] * 2


def test_scoring_without_validation_has_no_effect():
    assert state(small(scoring="neg_log_loss").fit(X, Y)) == state(small().fit(X, Y))
    assert "validation_score" not in small(scoring="roc_auc").fit(X, Y).history_[-1]


def test_callbacks_cannot_change_what_early_stopping_goes_by():
    model = small(callbacks=[lambda m, r: m.set_params(scoring="roc_auc") and None])
    with pytest.raises(ValueError, match=r"a callback set scoring='roc_auc', .* None"):
        model.fit(X, Y, eval_set=(X_VAL, Y_VAL))


def test_progress_shows_the_score(capsys):
    small(scoring="neg_log_loss", verbose=2, epochs=2).fit(X, Y, eval_set=(X_VAL, Y_VAL))
    lines = capsys.readouterr().err.splitlines()
    assert "score -0." in lines[-1] and "validation" in lines[-1]
    small(verbose=2, epochs=2).fit(X, Y, eval_set=(X_VAL, Y_VAL))
    assert "score" not in capsys.readouterr().err


# Going on ------------------------------------------------------------------------------

EVAL = {"eval_set": (X_VAL, Y_VAL)}


def interrupted(epochs=3, **options):
    """A model whose training was stopped after some epochs."""

    def stop(model, record):
        if record["epoch"] == epochs:
            raise KeyboardInterrupt

    model = small(callbacks=[stop], **options)
    with contextlib.suppress(KeyboardInterrupt):
        model.fit(X, Y, **EVAL)
    assert len(model.history_) == epochs
    return model.set_params(callbacks=None)


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_a_resumed_training_ends_as_one_that_was_not_interrupted(scoring, tmp_path):
    whole = small(scoring=scoring).fit(X, Y, **EVAL)
    for epochs in (1, best_epoch(whole) + 1):
        model = interrupted(epochs, scoring=scoring)
        model.save(tmp_path / "m.cotm")
        sparse = scipy.sparse.csr_matrix(X_VAL)
        for each, rows in ((model, X_VAL), (cotm.load(tmp_path / "m.cotm"), sparse)):
            each.fit(X, Y, eval_set=(rows, Y_VAL), resume=True)
            assert state(each) == state(whole)
            assert scores(each) == scores(whole)
            assert np.array_equal(each.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize(
    ("data", "change", "message"),
    [
        ({"eval_set": None}, {}, "there is no eval_set, and training began with one"),
        ({"eval_set": None}, {"early_stopping": True}, "holds out 0.1 of the examples"),
        ({"eval_set": (X_VAL[:50], Y_VAL[:50])}, {}, "eval_set holds other examples or labels"),
        ({"eval_set": (X_VAL, 1 - Y_VAL)}, {}, "eval_set holds other examples or labels"),
        (EVAL, {"scoring": "roc_auc"}, "scoring is roc_auc, but training began with none"),
    ],
)
def test_resuming_with_another_judge_is_refused(data, change, message):
    model = interrupted()
    before = state(model)
    model.set_params(**change)
    with pytest.raises(ValueError, match=f"resume=True, but .*{message}"):
        model.fit(X, Y, **data, resume=True)
    assert state(model) == before


def test_resuming_with_an_eval_set_where_there_was_none_is_refused():
    model = small(callbacks=[lambda m, r: r["epoch"] == 3]).fit(X, Y)
    with pytest.raises(ValueError, match="there is an eval_set, and training began without"):
        model.set_params(callbacks=None).fit(X, Y, **EVAL, resume=True)


def test_the_same_eval_set_judges_whatever_is_trained_on():
    options = {"warm_start": True, "epochs": 6, "scoring": "roc_auc"}
    model = small(**options).fit(X, Y, **EVAL)
    first = max(scores(model))
    rows = RNG.permutation(len(X))[:30]
    model.fit(X[rows], 1 - Y[rows], **EVAL)  # wrong labels make it worse
    assert max(scores(model)[6:]) < first
    assert get_scorer("roc_auc")(model, X_VAL, Y_VAL) == pytest.approx(first)
    # By another set, or another score, it is judged anew.
    for change, data in (
        ({}, {"eval_set": (X_VAL[:60], Y_VAL[:60])}),
        ({"scoring": "neg_log_loss"}, EVAL),
    ):
        other = small(**options).fit(X, Y, **EVAL).set_params(**change)
        other.fit(X[rows], 1 - Y[rows], **data)
        assert state(other)[:2] != state(small(**options).fit(X, Y, **EVAL))[:2]
        last = get_scorer(other.scoring)(other, *data["eval_set"])
        assert last == pytest.approx(max(scores(other)[6:]))


def test_a_scorer_of_ones_own_resumes_but_cannot_be_saved(tmp_path):
    def mine(model, X, y):
        return model.score(X, y)

    whole = small(scoring=mine).fit(X, Y, **EVAL)
    model = interrupted(scoring=mine).fit(X, Y, **EVAL, resume=True)
    assert state(model) == state(whole)
    with pytest.raises(
        TypeError, match=r"scoring=<function .*mine.* cannot be saved.*scoring=None"
    ):
        model.save(tmp_path / "m.cotm")
    checkpoint = Checkpoint(tmp_path / "m.cotm")
    model = small(scoring=mine, callbacks=[checkpoint])
    with pytest.raises(TypeError, match="cannot be saved"):
        model.fit(X, Y, **EVAL)
    assert not hasattr(model, "history_"), "it is said before the work"
    whole.set_params(scoring=None).save(tmp_path / "m.cotm")
    assert np.array_equal(cotm.load(tmp_path / "m.cotm").votes(X), whole.votes(X))


def test_a_file_keeps_the_name_of_the_scorer(tmp_path):
    model = small(scoring="roc_auc").fit(X, Y, **EVAL)
    model.save(tmp_path / "m.cotm")
    loaded = cotm.load(tmp_path / "m.cotm")
    assert loaded.scoring == "roc_auc" and loaded.history_ == model.history_
    assert loaded.fit(X, Y, **EVAL, resume=True).history_ == model.history_, "it stays ended"


# scikit-learn --------------------------------------------------------------------------


def test_eval_set_goes_through_a_search():
    search = GridSearchCV(small(), {"s": [2.0, 5.0]}, cv=3).fit(X, Y, eval_set=(X_VAL, Y_VAL))
    assert "validation_score" in search.best_estimator_.history_[-1]


def test_eval_set_goes_through_a_pipeline():
    X_bits = Thermometer(4).fit(IRIS_X).transform(IRIS_X)
    pipeline = make_pipeline(Thermometer(4), small())
    pipeline.fit(IRIS_X, IRIS_Y, cotmclassifier__eval_set=(X_bits, IRIS_Y))
    assert "validation_score" in pipeline[-1].history_[-1]


def test_metadata_routing():
    assert "eval_set" in inspect.signature(CoTMClassifier.fit).parameters
    with sklearn.config_context(enable_metadata_routing=True):
        X_bits = Thermometer(4).fit(IRIS_X).transform(IRIS_X)
        model = small().set_fit_request(eval_set=True)
        pipeline = make_pipeline(Thermometer(4), model).fit(
            IRIS_X, IRIS_Y, eval_set=(X_bits, IRIS_Y)
        )
        assert "validation_score" in pipeline[-1].history_[-1]


def test_cloning_keeps_scoring():
    for scoring in ("roc_auc", RECALL):
        assert repr(clone(small(scoring=scoring)).scoring) == repr(scoring)


# Composites ----------------------------------------------------------------------------


def test_every_member_of_a_composite_stops_by_the_eval_set():
    members = [("one", small(patience=3, epochs=60)), ("two", small(TMClassifier, patience=2))]
    both = CoTMComposite(members).fit(X, Y, **EVAL)
    for (_, model), fitted in zip(members, both.estimators_, strict=True):
        assert state(fitted) == state(clone(model).fit(X, Y, **EVAL))
    apart = {"one": X, "two": X[:, :5]}, {"one": X_VAL, "two": X_VAL[:, :5]}
    both = CoTMComposite(members).fit(apart[0], Y, eval_set=(apart[1], Y_VAL))
    assert both.estimators_[1].n_features_in_ == 5
    with pytest.raises(ValueError, match="X is a dictionary with"):
        CoTMComposite(members).fit(apart[0], Y, eval_set=({"one": X_VAL}, Y_VAL))


def test_a_composite_with_a_pipeline_refuses_an_eval_set():
    composite = CoTMComposite([("line", make_pipeline(Thermometer(3), small()))])
    with pytest.raises(ValueError, match=r"eval_set: the member 'line' is a pipeline"):
        composite.fit(IRIS_X, IRIS_Y, eval_set=(IRIS_X, IRIS_Y))
    assert not hasattr(composite, "estimators_")
