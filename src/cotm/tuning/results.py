"""What came of a search, as tables: scikit-learn's, and those that pages show."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from ..estimator.progress import Messages
from .dimensions import Code, Dimension, shown
from .sampling import Seen, study_of
from .searching import Search

_logger = logging.getLogger(__name__)


def describe_space(space: Mapping[str, Dimension]) -> str:
    """In words, one dimension after the other."""
    return "; ".join(f"{name}: {dimension.describe()}" for name, dimension in space.items())


def cv_results(search: Search) -> dict[str, Any]:
    """As scikit-learn's: an entry for each candidate and each rung that it came to."""
    problem, rows = search.problem, search.rows()
    rungs, prefix = problem.halving.rungs, problem.folds.recipe.prefix
    params = [
        {
            **problem.values(search.study.candidates[one]),
            f"{prefix}epochs": rungs[rung],
        }
        for one, rung in rows
    ]
    results: dict[str, Any] = {
        "candidate": np.array([one for one, _ in rows]),
        "iter": np.array([rung for _, rung in rows]),
        "n_resources": np.array([rungs[rung] for _, rung in rows]),
    }
    seconds = np.array([_seconds(search, one, rung) for one, rung in rows]).reshape(
        len(rows), 2, -1
    )
    for number, name in enumerate(("fit", "score")):
        results[f"mean_{name}_time"] = seconds[:, number].mean(axis=1)
        results[f"std_{name}_time"] = seconds[:, number].std(axis=1)
    for name in dict.fromkeys(name for given in params for name in given):
        values = np.ma.MaskedArray(np.empty(len(rows), dtype=object), mask=True)
        for place, given in enumerate(params):
            if name in given:
                values[place] = given[name]
        results[f"param_{name}"] = values
    results["params"] = params
    for metric in _metrics(search):
        scores = np.array([search.scores_of(*row, metric) for row in rows], dtype=np.float64)
        scores = scores.reshape(len(rows), len(problem.folds))
        for fold in range(len(problem.folds)):
            results[f"split{fold}_test_{metric}"] = scores[:, fold]
        mean = scores.mean(axis=1)
        results[f"mean_test_{metric}"] = mean
        results[f"std_test_{metric}"] = scores.std(axis=1)
        lost = np.where(np.isnan(mean), -np.inf, mean)
        results[f"rank_test_{metric}"] = rankdata(-lost, method="min").astype(np.int32)
    return results


def _metrics(search: Search) -> list[str]:
    return list(dict.fromkeys(n for done in search.study.results.values() for n in done.scores))


def _seconds(search: Search, candidate: int, rung: int) -> list[list[float]]:
    """Of each fold, to come to a rung and to be scored there."""
    folds, results = range(len(search.problem.folds)), search.study.results
    spent = [
        sum(results[candidate, before, fold].seconds for before in range(rung + 1))
        for fold in folds
    ]
    return [spent, [results[candidate, rung, fold].scoring_seconds for fold in folds]]


@dataclass(frozen=True)
class Trials:
    """A search, for pages and plots."""

    title: str
    space: dict[str, Dimension]
    rungs: tuple[int, ...]
    candidates: list[dict[str, Code] | None]
    scores: dict[tuple[int, int], float]  # by candidate and rung
    best: tuple[int, int]
    params: dict[str, Any]  # the best
    metric: str
    facts: dict[str, str]
    code: str

    def seen(self) -> list[Seen]:
        """The candidates with their scores by epochs."""
        by_candidate: dict[int, dict[int, float]] = {}
        for (one, rung), score in sorted(self.scores.items()):
            if not np.isnan(score):
                by_candidate.setdefault(one, {})[self.rungs[rung]] = score
        return [
            Seen(codes, scores, self.rungs[-1] in scores)
            for one, scores in by_candidate.items()
            if (codes := self.candidates[one]) is not None
        ]

    def as_optuna(self) -> Any:
        """A study of Optuna."""
        return study_of(self.space, self.seen())

    def importances(self) -> dict[str, float]:
        """See :meth:`cotm.CoTMSearchCV.importances`."""
        first = self.rungs[0]
        seen = [
            Seen(one.codes, {first: one.scores[first]}, True)
            for one in self.seen()
            if first in one.scores
        ]
        if len(seen) < 4 or len({one.scores[first] for one in seen}) < 2 or not self.space:
            return {}
        study = study_of(self.space, seen)
        import optuna

        evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
        found = optuna.importance.get_param_importances(study, evaluator=evaluator)
        return {name: float(found[name]) for name in sorted(found, key=lambda n: -found[n])}


def trials_of(owner: Any) -> Trials:
    """Of a search that has ended."""
    search = owner._search
    rungs = search.problem.halving.rungs
    results = owner.cv_results_
    row = owner.best_index_
    scores = {(one, rung): search.scores[one, rung] for one, rung in search.rows()}
    tried = len(set(results["candidate"].tolist()))
    facts = {
        "candidates": f"{tried} of {search.problem.halving.candidates}",
        "rungs, in epochs": ", ".join(map(str, rungs)),
        "judged by": f"{owner.n_splits_} folds" if owner.n_splits_ > 1 else "rows held out once",
        "best score": f"{owner.best_score_:.4f}",
    }
    as_given = [score for (one, _), score in scores.items() if one == 0]
    if as_given:
        facts["as given"] = f"{max(as_given):.4f}"
    facts["tried in an hour"] = f"{owner.trials_per_hour_:,.0f}"
    metric = search.problem.metric
    if metric == "score":
        metric = "score" if owner.scoring is None else shown(owner.scoring).strip("'")
    return Trials(
        f"Search of settings: {type(search.problem.folds.recipe.learner).__name__}",
        search.problem.space,
        rungs,
        list(search.study.candidates),
        scores,
        (int(results["candidate"][row]), int(results["iter"][row])),
        owner.best_params_,
        metric,
        facts,
        getattr(owner, "code_", ""),
    )


def tell_progress(verbose: int) -> Callable[[Search, int, int], None]:
    """What a search calls when a candidate has come to a rung."""
    messages = Messages()

    def tell(search: Search, candidate: int, rung: int) -> None:
        problem = search.problem
        score, best = search.scores[candidate, rung], search.best()
        values = problem.values(search.study.candidates[candidate])
        said = ", ".join(f"{name}={shown(value)}" for name, value in values.items())
        line = (
            f"candidate {candidate + 1}/{problem.halving.candidates}  "
            f"{problem.halving.rungs[rung]} epochs  {score:.4f}"
        )
        if best is not None:
            line += f"  best {search.scores[best]:.4f} (candidate {best[0] + 1})"
        line = f"{line}  {said or 'as given'}"
        _logger.info(line)
        if verbose:
            print(line, file=messages)

    return tell
