"""What is searched, in whatever form it is given."""

from __future__ import annotations

import pytest
import scipy.stats
from searched import iris, search

from cotm import AdaptiveGaussianThreshold, CoTMClassifier, CoTMRegressor, Schedule, TMClassifier
from cotm.estimator.settings import check_parameters, machine_parameters
from cotm.machine import Machine
from cotm.model.presets import PRESETS
from cotm.tuning import Share
from cotm.tuning.code import command_of, expression
from cotm.tuning.dimensions import Choices, Numbers, Quantiles, as_dimension, values_of
from cotm.tuning.sampling import Sampler, Seen, distribution
from cotm.tuning.spaces import default_space, settled

SHARES = [0.0, 0.2, 0.5, 0.8, 0.999999]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("share", SHARES)
def test_default_spaces_hold_what_machines_take(preset, share):
    learner = CoTMRegressor() if preset == "quantities" else CoTMClassifier()
    space = default_space(learner, preset)
    codes = {name: dimension.at(share) for name, dimension in space.items()}
    learner.set_params(**values_of(space, codes, settled(learner, preset)), random_state=0)
    check_parameters(learner)
    task = learner._task
    answers = task.read(iris()[1] if preset != "quantities" else [0.0, 1.0])
    judge = task.judge(answers, task.first_classes(answers, None))
    for epoch in (1, 10, 100):
        Machine(**machine_parameters(learner, preset, 3, judge, epoch))


def test_default_spaces_leave_what_users_have_set():
    space = default_space(CoTMClassifier(100, s=4, max_literals=5), "tables")
    assert not {"n_clauses", "s", "max_literals"} & set(space) and "T" in space
    assert set(default_space(TMClassifier(), "tables")) == set(space) | {
        "n_clauses",
        "s",
        "max_literals",
    }


def test_margins_are_shares_of_what_clauses_can_say():
    space = {"T": Share(0.5, 2.0), "n_clauses": Choices((10, 40)), "tolerance": Choices((1, 5))}
    known = {"n_clauses": 100, "tolerance": 1}
    assert values_of(space, {"T": 0.5, "n_clauses": 1, "tolerance": 1}, known)["T"] == 100
    assert values_of({"T": Share(0.5, 2)}, {"T": 2.0}, known) == {"T": 200}
    rising = Share(0.5, 2.0, first=0.1, rise=5)
    assert rising.value(1.0, known) == Schedule(10, 100, epochs=5)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([1, 2.5, None], Choices((1, 2.5, None))),
        ((True, False), Choices((True, False))),
        (range(3), Choices((0, 1, 2))),
        (scipy.stats.uniform(1, 3), Numbers(1.0, 4.0)),
        (scipy.stats.loguniform(1e-2, 1e2), Numbers(1e-2, 1e2, log=True)),
        (scipy.stats.randint(2, 9), Numbers(2.0, 8.0, whole=True)),
        (Share(1, 2), Share(1, 2)),
    ],
)
def test_lists_and_distributions_of_scipy_are_read(given, expected):
    assert as_dimension("x", given) == expected


def test_distributions_of_optuna_are_read_and_written():
    optuna = pytest.importorskip("optuna").distributions
    for given in (
        optuna.FloatDistribution(1, 9),
        optuna.FloatDistribution(1, 9, log=True),
        optuna.FloatDistribution(1, 2, step=0.25),
        optuna.IntDistribution(1, 64, log=True),
        optuna.IntDistribution(0, 50, step=10),
    ):
        dimension = as_dimension("x", given)
        assert distribution(dimension) == given
        for share in SHARES:
            assert given._contains(dimension.at(share)), (given, share)
    assert as_dimension("x", optuna.CategoricalDistribution(["a", None])) == Choices(("a", None))
    assert distribution(Share(1.0, 2.0)) == optuna.FloatDistribution(1, 2, log=True)


def test_other_distributions_are_searched_by_their_quantiles():
    normal = as_dimension("x", scipy.stats.norm(10, 2))
    assert isinstance(normal, Quantiles) and normal.value(0.5, {}) == 10
    poisson = as_dimension("x", scipy.stats.poisson(4))
    assert poisson.value(0.5, {}) == 4 and isinstance(poisson.value(0.0, {}), int)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("auto", "'auto' is one value"),
        (object(), "is no list, no distribution of Optuna"),
        (scipy.stats.loguniform, "is no list, no distribution"),
        ([], "must hold one at least"),
    ],
)
def test_what_is_no_space_is_said(given, message):
    with pytest.raises(ValueError, match=f"the space of 'x': .*{message}"):
        as_dimension("x", given)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((5, 1), "swap the limits"),
        ((0, 1, True), "set log=False"),
        ((1, 2, True, False, 0.1), "step"),
    ],
)
def test_numbers_that_are_none_are_said(numbers, message):
    with pytest.raises(ValueError, match=message):
        Numbers(*numbers)


def test_numbers_stay_between_their_limits():
    for dimension in (Numbers(1, 4), Numbers(1, 4, log=True), Numbers(1, 4, whole=True),
                      Numbers(1, 4, log=True, whole=True), Numbers(1, 4, step=1.5)):  # fmt: skip
        values = [dimension.at(share) for share in SHARES]
        assert values == sorted(values) and values[0] == 1 and 1 <= values[-1] <= 4
    assert [Numbers(1, 4, log=True, whole=True).at(s) for s in (0.0, 0.999999)] == [1, 4]


@pytest.mark.parametrize("kind", ["random", "tpe"])
def test_batches_differ_and_larger_ones_begin_alike(kind):
    if kind == "tpe":
        pytest.importorskip("optuna")
    space = {"s": Numbers(1, 9), "T": Share(0.5, 2.0), "x": Choices((1, 2))}
    sampler = Sampler(kind, space, 5)
    first = sampler.ask(0, 4, [])
    seen = [Seen(codes, {3: 0.1 * n}, True) for n, codes in enumerate(first)]
    assert sampler.ask(0, 7, [])[:4] == first
    assert sampler.ask(1, 7, seen)[:4] == Sampler(kind, space, 5).ask(1, 4, seen)
    assert len({repr(codes) for batch in range(3) for codes in sampler.ask(batch, 4, seen)}) == 12
    assert Sampler(kind, space, 6).ask(0, 4, []) != first


def test_values_of_any_type_are_searched():
    space = {"class_weight": [None, "balanced", {"setosa": 2.0}], "booleanize": [None, "auto"]}
    X = (iris()[0] > [5.8, 3.0, 4.0, 1.2]).astype(int)
    one = search(param_distributions=space, n_trials=6).fit(X, iris()[1])
    assert {type(value) for value in one.cv_results_["param_class_weight"].compressed()} <= {
        type(None), str, dict,
    }  # fmt: skip


def test_code_names_what_it_needs():
    modules: set[str] = set()
    value = [AdaptiveGaussianThreshold(), (1,), Schedule(3, 1, epochs=2), None]
    text = expression(value, modules)
    assert repr(eval(text, {name: __import__(name) for name in modules})) == repr(value)
    words = command_of(
        ["cotm", "train", "a b.csv"],
        CoTMClassifier(9, T=Schedule(3, 9, epochs=4), max_literals=3, boost_true_positive=False),
        {"n_clauses": "--clauses", "T": "--margin", "max_literals": "--max-literals",
         "boost_true_positive": "--boost"},
    )  # fmt: skip
    assert words == ("cotm train 'a b.csv' --clauses 9 --margin 3:9:4 --no-boost --max-literals 3")
