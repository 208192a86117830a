"""From the parameters of a search to its parts, and from what it found to its attributes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import check_scoring, get_scorer
from sklearn.utils import check_random_state

from ..core.checks import check_integer, check_number
from ..core.gpu_arrays import to_host
from ..core.spec import Spec
from ..estimator.settings import start
from ..model.presets import epochs_of, is_left
from .dimensions import Dimension, as_dimension, shown
from .folds import Folds, Recipe, Scorers, split
from .halving import Halving
from .places import DaskWorkers, Places, Threads, slots_for
from .results import cv_results, describe_space
from .sampling import Sampler
from .searching import Problem, Search
from .spaces import default_space, plain_copy, settled
from .stored import check_stored
from .study import Study
from .work import default_score

#: How many times the epochs of a preset a search tries, where nobody says.
_LONGER = 3


def prepare(
    owner: Any, X: Any, y: Any, groups: Any, sample_weight: Any, tell: Callable[..., None]
) -> tuple[Search, Places]:
    """Check everything and read the data; nothing is trained yet."""
    _check(owner)
    recipe = Recipe.of(owner.estimator)
    if y is None:
        raise ValueError("y is missing: a search judges candidates by it; pass fit(X, y)")
    if not hasattr(y, "columns"):
        y = np.asarray(to_host(y))
    study = Study(owner.study)
    seed = _seed(owner, recipe, study)
    splits = split(owner.cv, X, y, groups, owner.estimator, seed)
    recipe = Recipe(
        recipe.before, plain_copy(recipe.learner, random_state=seed, verbose=0), recipe.prefix
    )
    folds = Folds(recipe, X, y, sample_weight, splits)
    preset = folds.preset()
    space = _space(owner, recipe, preset)
    scorers, metric = _scorers(owner)
    halving = Halving.of(
        max_epochs=_most_epochs(owner, recipe, preset, folds.rows()),
        min_epochs=owner.min_epochs,
        factor=owner.factor,
        batch=owner.batch_size,
        candidates=owner.n_trials,
        through=[0],
    )
    sampler = Sampler(owner.sampler, space, seed)
    if owner.study is not None:
        study.open(_facts(owner, folds, space, scorers, metric, halving, seed))
        halving = halving.with_candidates(max(owner.n_trials, len(study.candidates)))
    try:
        check_stored(study, space, scorers, len(folds), len(halving.rungs))
        problem = Problem(
            folds, space, settled(recipe.learner, preset), halving, sampler, metric,
            owner.error_score, seed,
        )  # fmt: skip
        backend = recipe.learner.backend
        if owner.client is not None:
            return Search(problem, study, tell), DaskWorkers(owner.client, scorers, backend)
        slots = slots_for(backend, owner.n_jobs, _usual_spec(problem, preset), folds.rows())
        return Search(problem, study, tell), Threads(slots, scorers)
    except BaseException:
        study.__exit__()
        raise


def _check(owner: Any) -> None:
    check_integer("n_trials", owner.n_trials, 1)
    check_integer("factor", owner.factor, 2)
    check_integer("batch_size", owner.batch_size, 1)
    if owner.min_epochs is not None:
        check_integer("min_epochs", owner.min_epochs, 1)
    if owner.max_epochs != "auto":
        check_integer("max_epochs", owner.max_epochs, 1)
    if owner.minutes is not None:
        check_number("minutes", owner.minutes, 0.0)
    if isinstance(owner.error_score, str) and owner.error_score != "raise":
        raise ValueError(f"error_score={owner.error_score!r} must be a number or 'raise'")


def _seed(owner: Any, recipe: Recipe, study: Study) -> int:
    """The estimator's own seed, or else the search's, or else one that is drawn."""
    given = recipe.learner.random_state
    given = owner.random_state if given is None else given
    if given is not None:
        if isinstance(given, np.random.RandomState):
            given = given.randint(2**31)
        return check_integer("random_state", given, 0)
    return study.seed(None, int(check_random_state(None).randint(2**31)))


def _space(owner: Any, recipe: Recipe, preset: str) -> dict[str, Dimension]:
    if owner.param_distributions is None:
        space = default_space(recipe.learner, preset, getattr(owner, "_fixed", ()))
        return {f"{recipe.prefix}{name}": dimension for name, dimension in space.items()}
    if not hasattr(owner.param_distributions, "items"):
        raise ValueError(
            f"param_distributions={owner.param_distributions!r:.200} must be a dictionary, "
            "parameter -> list or distribution, or None"
        )
    known = owner.estimator.get_params()
    space = {}
    for name, given in owner.param_distributions.items():
        if name == f"{recipe.prefix}epochs":
            raise ValueError(
                f"{name!r} is searched by itself: candidates are judged after fewer and more "
                "epochs; leave it out, and set max_epochs"
            )
        if name not in known:
            raise ValueError(
                f"{name!r} is no parameter of {type(owner.estimator).__name__}; get_params() "
                "lists all"
            )
        space[name] = as_dimension(name, given)
    return space


def _scorers(owner: Any) -> tuple[Scorers, str]:
    """The scorers by name, and the name of the one that decides."""
    scoring = owner.scoring
    if scoring is None or isinstance(scoring, str) or callable(scoring):
        if scoring is not None:
            check_scoring(owner.estimator, scoring=scoring)
        owner.multimetric_ = False
        owner.scorer_ = check_scoring(owner.estimator, scoring=scoring)
        return {"score": default_score if scoring is None else get_scorer(scoring)}, "score"
    named = dict(scoring) if hasattr(scoring, "items") else {name: name for name in scoring}
    if not named:
        raise ValueError(f"scoring={scoring!r} names no scorer; set one, or None")
    if not isinstance(owner.refit, str) or owner.refit not in named:
        raise ValueError(
            f"refit={owner.refit!r} must name the scorer that decides, one of "
            f"{', '.join(map(repr, named))}, where scoring has several"
        )
    owner.multimetric_ = True
    owner.scorer_ = {
        name: check_scoring(owner.estimator, scoring=given) for name, given in named.items()
    }
    return {name: get_scorer(given) for name, given in named.items()}, owner.refit


def _most_epochs(owner: Any, recipe: Recipe, preset: str, rows: int) -> int:
    if owner.max_epochs != "auto":
        return int(owner.max_epochs)
    epochs = epochs_of(recipe.learner.epochs, preset, rows)
    return max(1, epochs * (_LONGER if is_left("epochs", recipe.learner.epochs) else 1))


def _usual_spec(problem: Problem, preset: str) -> Spec | None:
    """What backends would get of the estimator as it was given."""
    learner, fold = problem.folds.recipe.learner, problem.folds.fold(0, {})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = start(learner, fold.reader, learner._task, fold.answers, fold.classes, preset)
    except (ValueError, MemoryError):  # its training will say what is wrong
        return None
    return fitted.machine.spec


def _facts(
    owner: Any,
    folds: Folds,
    space: dict[str, Dimension],
    scorers: Scorers,
    metric: str,
    halving: Halving,
    seed: int,
) -> dict[str, str]:
    """By what a study is known again."""
    learner = folds.recipe.learner
    free = ("backend", "n_jobs", "verbose", "callbacks", "warm_start", "epochs")
    given = {k: v for k, v in learner.get_params(deep=False).items() if k not in free}
    before = "" if folds.recipe.before is None else f"{shown(folds.recipe.before)}, then "
    titles = {n: getattr(s, "__qualname__", None) or repr(s) for n, s in scorers.items()}
    return {
        "data": folds.digest(),
        "estimator": before + ", ".join(f"{k}={shown(v)}" for k, v in sorted(given.items())),
        "space": describe_space(space),
        "scoring": f"{metric} of {titles}, error_score={owner.error_score}",
        "halving": f"rungs {halving.rungs}, factor {halving.factor}, batches of {halving.batch}",
        "sampler": f"{shown(owner.sampler) if isinstance(owner.sampler, str) else 'own'}, {seed}",
        "seed": str(seed),
    }


def finish(owner: Any, search: Search, seconds: float) -> None:
    """Set what a search found as attributes of its owner."""
    problem = search.problem
    rows = search.rows()
    failures = search.failures()
    best = search.best()
    if best is None:
        reasons = "\n".join(failures[:5])
        if reasons:
            raise ValueError(f"all trainings of the search failed:\n{reasons}")
        raise ValueError(
            "no candidate was finished in the time; allow more minutes, fewer folds, or fewer "
            "epochs"
        )
    if failures:
        count = sum(done.error is not None for done in search.study.results.values())
        warnings.warn(
            f"{count} trainings failed, and count as {problem.error_score}: {failures[0]:.300}",
            FitFailedWarning,
            stacklevel=3,
        )
    owner._search = search
    owner.cv_results_ = cv_results(search)
    owner.best_index_ = rows.index(best)
    owner.best_params_ = dict(owner.cv_results_["params"][owner.best_index_])
    owner.best_score_ = float(search.scores[best])
    owner.n_splits_ = len(problem.folds)
    owner.space_ = dict(problem.space)
    owner.seed_ = problem.seed
    halving = problem.halving
    owner.interrupted_ = not all(
        halving.has_ended(batch, search.scores) for batch in range(halving.batches)
    )
    owner.trials_per_hour_ = search.trained / max(seconds, 1e-9) * 3600
