"""The search for settings in scikit-learn's manner: its parameters and documentation."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils.validation import check_is_fitted

from ..core.interrupts import InterruptFlag
from ..estimator.progress import Messages
from .code import line_of
from .page import write_page
from .results import Trials, tell_progress, trials_of
from .running import finish, prepare


class CoTMSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Search settings by successive halving over epochs, several machines at the same time.

    Candidates train a few epochs; the best of each batch go on from where they stand, to the same
    bits as if they had been trained at once. Each is judged by rows that it was not trained on.
    What is found does not depend on ``n_jobs``, on timing, or on where it runs; with a study file
    a search that was stopped or killed goes on to the same result. ``docs/tuning.md`` says more.

    Parameters
    ----------
    estimator : CoTMClassifier, TMClassifier, CoTMRegressor, or Pipeline that ends in one
        Its parameters hold for all candidates, but for those that are searched. As it is, it is
        the first candidate.
    param_distributions : dict, default=None
        What to search, by parameter: lists of values, distributions of Optuna
        (``optuna.distributions``) or frozen ones of SciPy. None: what matters for such data, of
        what the estimator leaves at its defaults. Not ``epochs``, which the halving sees to.
    n_trials : int, default=27
        Candidates.
    minutes : float, default=None
        Begin nothing new after so long and give the best so far, which then depends on timing.
    scoring : str, callable, list, tuple or dict, default=None
        As in scikit-learn: scorers, the higher the better. None: ``estimator.score``. With
        several, ``refit`` names the one that decides.
    cv : int, float, splitter or iterable, default=None
        By what candidates are judged: so many folds, a splitter of scikit-learn, or a share
        of the rows that is held out once. None: five folds.
    refit : bool or str, default=True
        Fit the best settings on all rows in the end.
    sampler : {"tpe", "random"} or callable, default="tpe"
        What candidates come from: Optuna's TPE, which learns from those before, chance, or
        ``sampler(seed)`` that gives a sampler of Optuna for each batch.
    factor : int, default=3
        One of so many goes on from each rung to the next, which has so many times the epochs.
    batch_size : int, default=9
        Candidates that compete with each other. Larger ones keep more machines busy.
    min_epochs : int, default=None
        The fewest epochs of the first rung.
    max_epochs : int or "auto", default="auto"
        Epochs of the last rung. "auto": the estimator's ``epochs``, or three times what its preset
        says.
    study : str or path, default=None
        A file that keeps all that is known, and from which the same search goes on.
    client : dask.distributed.Client, default=None
        Train on its workers.
    error_score : "raise" or number, default=nan
        The score of a fold whose training fails.
    n_jobs : int, default=None
        Trainings at the same time; None takes all processors, and a GPU beside them where it
        gains. The estimator's ``backend`` may say that it is one of them. The result does not
        depend on it.
    verbose : int, default=0
        1: a line for what is finished.
    random_state : int, default=None
        The seed of what is tried, and of the trainings where the estimator has none. None draws
        one, or takes that of the study.

    Attributes
    ----------
    best_estimator_ : estimator
        Fitted on all rows with the best settings, where ``refit`` is set.
    best_params_ : dict
        The best settings: ``epochs``, and what else was tried with them, which is nothing where
        the estimator is best as it was given.
    best_score_ : float
        Their mean score on held-out rows. As the best of many it is rather too good: see how good
        a model is on rows that were not searched by.
    best_index_ : int
        Their place in ``cv_results_``.
    cv_results_ : dict of arrays
        As in scikit-learn, an entry for each candidate and each rung that it came to;
        ``candidate``, ``iter`` and ``n_resources`` say which, and how many epochs.
    code_ : str
        A line of Python that makes ``best_estimator_`` from X and y.
    interrupted_ : bool
        Whether Ctrl-C or ``minutes`` ended the search before all candidates were tried.
    space_ : dict
        What was searched.
    seed_ : int
        The seed that ``random_state`` was resolved to.
    trials_per_hour_ : float
        Candidates that came to a rung in this call, in an hour of its time.
    n_splits_ : int
        Folds.
    refit_time_ : float
        Seconds of fitting the best settings on all rows.

    See Also
    --------
    sklearn.model_selection.HalvingRandomSearchCV : The same idea for any estimator, beginning anew
        in each round.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cotm import CoTMClassifier, CoTMSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = CoTMSearchCV(
    ...     CoTMClassifier(50), {"s": [3.0, 6.0, 10.0], "T": [50, 100]},
    ...     n_trials=4, max_epochs=9, cv=3, sampler="random", random_state=1,
    ... ).fit(X, y)
    >>> bool(search.best_score_ > 0.9)
    True
    >>> search.best_estimator_.epochs == search.best_params_["epochs"]
    True
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any] | None = None,
        *,
        n_trials: int = 27,
        minutes: float | None = None,
        scoring: Any = None,
        cv: Any = None,
        refit: bool | str = True,
        sampler: str | Callable[[int], Any] = "tpe",
        factor: int = 3,
        batch_size: int = 9,
        min_epochs: int | None = None,
        max_epochs: int | str = "auto",
        study: str | os.PathLike[str] | None = None,
        client: Any = None,
        error_score: float | str = np.nan,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            error_score=error_score,
        )
        self.param_distributions = param_distributions
        self.n_trials = n_trials
        self.minutes = minutes
        self.sampler = sampler
        self.factor = factor
        self.batch_size = batch_size
        self.min_epochs = min_epochs
        self.max_epochs = max_epochs
        self.study = study
        self.client = client
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> CoTMSearchCV:
        """Search, and fit the best settings on all rows.

        Ctrl-C ends the search: the best so far is fitted, and KeyboardInterrupt raised again.

        Parameters
        ----------
        X : array, sparse matrix, or pandas or polars frame
            As the estimator's ``fit`` takes it.
        y : array
            Labels or quantities.
        groups : array of (N,), optional
            For splitters that keep groups together.
        sample_weight : array of (N,), optional
            As the estimator's ``fit`` takes it. Scores count all rows alike.

        Returns
        -------
        self
        """
        began = time.monotonic()
        search, places = prepare(self, X, y, groups, sample_weight, tell_progress(self.verbose))
        until = None if self.minutes is None else began + 60 * self.minutes
        interrupted = False
        with search.study:
            try:
                with InterruptFlag() as flag:
                    search.run(
                        places, lambda: flag() or (until is not None and time.monotonic() > until)
                    )
            except KeyboardInterrupt:
                interrupted = True
                if search.best() is None:
                    raise
                if self.verbose and self.refit:
                    print("\ninterrupted; fitting the best so far ...", file=Messages())
        finish(self, search, time.monotonic() - began)
        if self.refit:
            best = clone(self.estimator).set_params(**self.best_params_)
            name = search.problem.folds.recipe.prefix
            best.set_params(**{f"{name}random_state": search.problem.seed})
            weight = {} if sample_weight is None else {f"{name}sample_weight": sample_weight}
            started = time.monotonic()
            self.best_estimator_ = best.fit(X, y, **weight)
            self.refit_time_ = time.monotonic() - started
            self.code_ = line_of(best)
            if hasattr(best, "feature_names_in_"):
                self.feature_names_in_ = best.feature_names_in_
        if interrupted:
            raise KeyboardInterrupt
        return self

    @property
    def trials_(self) -> Trials:
        """All that was tried, as :meth:`report` shows it."""
        check_is_fitted(self, "cv_results_")
        return trials_of(self)

    @property
    def study_(self) -> Any:
        """The search as a study of Optuna, for its plots; parameters are as its sampler has them:
        of lists the number of the value, of the margin its share."""
        check_is_fitted(self, "cv_results_")
        return self.trials_.as_optuna()

    def importances(self) -> dict[str, float]:
        """How much of the differences between scores each setting explains, the largest first.

        By fANOVA over the candidates at their first rung, where all of them have a score.
        """
        return self.trials_.importances()

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page about the search: one file that any browser opens, without a network."""
        write_page(self.trials_, path)

    @property
    def votes(self) -> Callable[[Any], NDArray[np.int64]]:
        """The method of ``best_estimator_``."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.votes
