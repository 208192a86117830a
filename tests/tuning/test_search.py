"""CoTMSearchCV as users and scikit-learn see it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from command_line import hiding
from searched import LISTS, iris, same_model, same_search, search
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cotm
from cotm import CoTMClassifier, CoTMRegressor, CoTMSearchCV, TMClassifier


@pytest.fixture(scope="module")
def found() -> CoTMSearchCV:
    return search().fit(*iris())


# Results ------------------------------------------------------------------------------------


def test_scores_are_those_of_cross_validation(found):
    X, y = iris()
    results = found.cv_results_
    for row in (found.best_index_, 0, -1):
        model = CoTMClassifier(24, random_state=3, **results["params"][row])
        scores = cross_val_score(model, X, y, cv=2)
        assert results["mean_test_score"][row] == pytest.approx(scores.mean())
        assert results["split0_test_score"][row] == pytest.approx(scores[0])


def test_the_best_is_the_best_of_all_and_of_equals_the_shortest(found):
    results = found.cv_results_
    assert found.best_score_ == results["mean_test_score"].max()
    assert results["rank_test_score"][found.best_index_] == 1
    best = results["n_resources"][results["mean_test_score"] == found.best_score_]
    assert found.best_params_["epochs"] == best.min()
    assert found.best_params_ == results["params"][found.best_index_]
    assert not found.interrupted_ and found.n_splits_ == 2
    assert len({len(values) for values in results.values()}) == 1


def test_it_predicts_as_its_best_estimator(found):
    X, y = iris()
    assert (found.predict(X) == found.best_estimator_.predict(X)).all()
    assert found.score(X, y) == found.best_estimator_.score(X, y)
    assert found.predict_proba(X).shape == (150, 3)
    assert found.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert found.n_features_in_ == 4
    assert (found.votes(X) == found.best_estimator_.votes(X)).all()


def test_the_line_of_code_makes_the_same_model(found):
    X, y = iris()
    names = {"X": X, "y": y}
    exec(found.code_, names)
    assert same_model(names["model"], found.best_estimator_)
    assert found.code_.count("\n") == 0


def test_the_first_candidate_is_the_estimator_as_it_is_and_goes_through(found):
    results = found.cv_results_
    own = results["candidate"] == 0
    assert results["n_resources"][own].tolist() == [1, 3, 9]
    assert results["params"][0] == {"epochs": 1}


# What it does not depend on ------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_the_number_of_jobs_changes_nothing(sampler):
    if sampler == "tpe":
        pytest.importorskip("optuna")
    options = {"sampler": sampler, "n_trials": 21, "cv": 0.3, "batch_size": 5}
    first = search(**options, n_jobs=1).fit(*iris())
    assert same_search(first, search(**options, n_jobs=5).fit(*iris()))


def test_samplers_of_optuna_are_made_for_each_batch():
    optuna = pytest.importorskip("optuna")
    seeds = []

    def sampler(seed):
        seeds.append(seed)
        return optuna.samplers.RandomSampler(seed=seed)

    one = search(sampler=sampler).fit(*iris())
    assert len(set(seeds)) == 2
    assert same_search(one, search(sampler=sampler, n_jobs=3).fit(*iris()))


def test_workers_of_dask_find_the_same(found):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert same_search(found, search(client=client).fit(*iris()))
    with pytest.raises(ValueError, match=r"must be a dask\.distributed.Client"):
        search(client="tcp://nowhere").fit(*iris())


# scikit-learn --------------------------------------------------------------------------------


def test_it_is_cloned_and_works_as_a_step():
    assert clone(search()).get_params()["n_trials"] == 11
    X, y = iris()
    inside = make_pipeline(StandardScaler(), search(n_trials=3)).fit(X, y)
    assert inside.score(X, y) > 0.8
    with pytest.raises(NotFittedError):
        search().predict(X)


def test_a_pipeline_is_searched_with_all_its_parameters():
    X, y = iris()
    pipeline = make_pipeline(StandardScaler(), CoTMClassifier(20, T=30))
    space = {"cotmclassifier__s": [3.0, 6.0], "standardscaler__with_std": [True, False]}
    one = search(estimator=pipeline, param_distributions=space, n_trials=6).fit(X, y)
    names = {"X": X, "y": y}
    exec(one.code_, names)
    assert same_model(names["model"][-1], one.best_estimator_[-1])
    best = clone(pipeline).set_params(**one.best_params_, cotmclassifier__random_state=3)
    assert one.best_score_ == pytest.approx(cross_val_score(best, X, y, cv=2).mean())
    assert one.predict(X).shape == (150,)


def test_default_spaces_of_steps_have_their_names():
    X, y = iris()
    pipeline = make_pipeline(StandardScaler(), CoTMClassifier(20))
    one = search(estimator=pipeline, param_distributions=None, n_trials=3).fit(X, y)
    assert {name.split("__")[0] for name in one.space_} == {"cotmclassifier"}
    assert "cotmclassifier__T" in one.cv_results_["params"][-1]


def test_regressors_are_searched():
    X, y = load_diabetes(return_X_y=True)
    one = search(estimator=CoTMRegressor(20), param_distributions=None, n_trials=4, cv=3).fit(X, y)
    best = CoTMRegressor(20, random_state=3, **one.best_params_)
    assert one.best_score_ == pytest.approx(cross_val_score(best, X, y, cv=3).mean())
    assert {"T", "s", "average"} <= set(one.space_)


def test_several_scorers_of_which_one_decides():
    scoring = ["accuracy", "neg_log_loss"]
    one = search(scoring=scoring, refit="neg_log_loss", n_trials=5).fit(*iris())
    results = one.cv_results_
    assert one.best_score_ == results["mean_test_neg_log_loss"].max()
    assert one.best_score_ == results["mean_test_neg_log_loss"][one.best_index_]
    assert (results["mean_test_accuracy"] <= 1).all()
    assert one.score(*iris()) == pytest.approx(
        -np.log(one.predict_proba(iris()[0])[np.arange(150), np.repeat([0, 1, 2], 50)]).mean() * -1
    )
    with pytest.raises(ValueError, match="refit=True must name the scorer that decides"):
        search(scoring=scoring).fit(*iris())


def test_a_callable_and_a_name_score_alike():
    by_name = search(scoring="balanced_accuracy", n_trials=3).fit(*iris())
    by_call = search(scoring=lambda e, X, y: e.score(X, y), n_trials=3).fit(*iris())
    assert by_name.best_score_ == pytest.approx(by_call.best_score_)


def test_splitters_groups_weights_and_no_refit():
    X, y = iris()
    groups = np.arange(150) % 4
    one = search(cv=GroupKFold(4), n_trials=2, refit=False)
    one.fit(X, y, groups=groups, sample_weight=np.ones(150))
    assert one.n_splits_ == 4 and not hasattr(one, "best_estimator_")
    splits = StratifiedKFold(2, shuffle=True)  # with another order each time it is asked
    two = search(cv=splits, n_trials=2).fit(X, y, sample_weight=np.linspace(0, 1, 150))
    assert two.best_score_ > 0.5


# What goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_trials": 0}, "n_trials=0 must be an integer from 1 up"),
        ({"factor": 1}, "factor=1"),
        ({"minutes": -1}, "minutes=-1"),
        ({"sampler": "grid"}, "sampler='grid' must be 'tpe', 'random'"),
        ({"error_score": "nan"}, "error_score='nan' must be a number or 'raise'"),
        ({"param_distributions": {"epochs": [1]}}, "'epochs' is searched by itself"),
        ({"param_distributions": {"S": [1]}}, "'S' is no parameter of CoTMClassifier"),
        ({"param_distributions": {"s": 3.0}}, "the space of 's': 3.0 is one value"),
        ({"param_distributions": {"s": []}}, "the space of 's': a list of values"),
        ({"param_distributions": [1]}, "must be a dictionary"),
        ({"estimator": CoTMClassifier(early_stopping=True)}, "early_stopping=True, but a search"),
        ({"estimator": StandardScaler()}, "estimator=StandardScaler cannot be searched for"),
        ({"scoring": "acuracy"}, "acuracy"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"minutes": 0.0}, "no candidate was finished in the time"),
    ],
)
def test_what_cannot_be_is_said(options, message):
    with pytest.raises(ValueError, match=message):
        search(**options).fit(*iris())


def test_missing_labels_are_said():
    with pytest.raises(ValueError, match="y is missing"):
        search().fit(iris()[0])


def test_candidates_that_fail_have_the_error_score():
    space = {"forgetting": ["drawn", "sampled"], "s": [3.0, 5.0]}
    estimator = CoTMClassifier(20, T=20, boost_true_positive=False)
    options = {"estimator": estimator, "param_distributions": space}
    with pytest.warns(FitFailedWarning, match="boost_true_positive"):
        one = search(**options).fit(*iris())
    assert np.isnan(one.cv_results_["mean_test_score"]).any() and one.best_score_ > 0.5
    with pytest.raises(ValueError, match=r"forgetting.*failed: forgetting='sampled' draws"):
        search(**options, error_score="raise").fit(*iris())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        two = search(**options, error_score=-1.0).fit(*iris())
    assert two.cv_results_["mean_test_score"].min() == -1.0
    failing = CoTMClassifier(20, boost_true_positive=False, forgetting="sampled")
    with pytest.raises(ValueError, match="all trainings of the search failed"):
        search(estimator=failing).fit(*iris())


def test_errors_of_scorers_end_the_search_and_leave_no_thread():
    def broken(estimator, X, y):
        raise RuntimeError("no score")

    with pytest.raises(RuntimeError, match="no score"):
        search(scoring=broken).fit(*iris())
    assert not [t for t in threading.enumerate() if t.name.startswith("cotm-tune")]


def test_ctrl_c_fits_the_best_so_far():
    count = 0

    def score(estimator, X, y):
        nonlocal count
        count += 1
        if count == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return estimator.score(X, y)

    one = search(scoring=score, n_jobs=1)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            one.fit(*iris())
    finally:
        signal.signal(signal.SIGINT, before)
    assert one.interrupted_ and one.score(*iris()) > 0.5
    assert len(one.cv_results_["params"]) == 2
    exec(one.code_, names := {"X": iris()[0], "y": iris()[1]})
    assert same_model(names["model"], one.best_estimator_)


def test_without_optuna_chance_still_searches_and_more_is_said_to_need_it():
    code = f"""{hiding("optuna")}
from cotm import CoTMClassifier, CoTMSearchCV
from sklearn.datasets import load_iris
options = dict(n_trials=2, max_epochs=2, cv=2, random_state=0)
X, y = load_iris(return_X_y=True)
search = CoTMSearchCV(CoTMClassifier(9), {LISTS}, sampler="random", **options).fit(X, y)
try:
    CoTMSearchCV(CoTMClassifier(9), **options).fit(X, y)
except ImportError as error:
    print(search.best_score_ > 0.3, error)
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert printed.stdout == (
        'True the sampler "tpe" needs Optuna; pip install "cotm[tune]", or set sampler="random"\n'
    ), printed.stderr


def test_other_kinds_of_machines():
    one = search(estimator=TMClassifier(21, weighted=False), n_trials=3).fit(*iris())
    exec(one.code_, names := {"X": iris()[0], "y": iris()[1]})
    assert "weighted=False" in one.code_ and same_model(names["model"], one.best_estimator_)
    assert issubclass(cotm.CoTMSearchCV, type(search()))
