"""What is tried next. A batch of candidates depends on the seed, its number, and the scores that
the halving lets it see; on nothing that timing could change."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .dimensions import Choices, Code, Dimension, Numbers, Share

SAMPLERS = ("tpe", "random")


class Seen(NamedTuple):
    """What is known of a candidate when others are asked for."""

    codes: Mapping[str, Code]
    scores: Mapping[int, float]  # by the epochs after which it had them; finite
    finished: bool  # whether it went through all epochs


class Sampler:
    """Candidates in batches."""

    def __init__(
        self, kind: str | Callable[[int], Any], space: Mapping[str, Dimension], seed: int
    ) -> None:
        if kind not in SAMPLERS and not callable(kind):
            raise ValueError(
                f"sampler={kind!r} must be 'tpe', 'random', or a function that takes a seed and "
                "gives a sampler of Optuna"
            )
        self._kind, self._space, self._seed = kind, dict(space), seed
        if kind != "random":
            require_optuna()

    def ask(self, batch: int, count: int, seen: Sequence[Seen]) -> list[dict[str, Code]]:
        """The candidates of a batch."""
        if not self._space:
            return [{} for _ in range(count)]
        if self._kind == "random":
            shares = np.random.default_rng([self._seed, batch]).random((count, len(self._space)))
            return [
                {name: dim.at(x) for (name, dim), x in zip(self._space.items(), row, strict=True)}
                for row in shares.tolist()
            ]
        seed = int(np.random.default_rng([self._seed, batch]).integers(2**31))
        study = study_of(self._space, seen, sampler=self._optuna_sampler(seed))
        distributions = {name: distribution(dim) for name, dim in self._space.items()}
        # Each is asked for beside those before it, which samplers take into account.
        asked = [study.ask(distributions) for _ in range(count)]
        return [{name: _code(trial.params[name]) for name in self._space} for trial in asked]

    def _optuna_sampler(self, seed: int) -> Any:
        if callable(self._kind):
            return self._kind(seed)
        import optuna

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)


def require_optuna() -> None:
    """Refuse what needs Optuna where it is not installed."""
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'the sampler "tpe" needs Optuna; pip install "cotm[tune]", or set sampler="random"'
        ) from error


def study_of(space: Mapping[str, Dimension], seen: Sequence[Seen], sampler: Any = None) -> Any:
    """An Optuna study, in memory, that knows these candidates."""
    require_optuna()
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    distributions = {name: distribution(dim) for name, dim in space.items()}
    states = optuna.trial.TrialState
    for one in seen:
        if set(one.codes) != set(space) or not one.scores:
            continue  # the estimator as it was given, or one that failed
        best = max(one.scores.values())
        study.add_trial(
            optuna.trial.create_trial(
                state=states.COMPLETE if one.finished else states.PRUNED,
                value=best if one.finished else None,
                params=dict(one.codes),
                distributions=distributions,
                intermediate_values=dict(one.scores),
            )
        )
    return study


def distribution(dimension: Dimension) -> Any:
    """A dimension as Optuna has it."""
    from optuna import distributions as optuna

    if isinstance(dimension, Choices):
        return optuna.CategoricalDistribution(list(range(len(dimension.values))))
    if isinstance(dimension, Share):
        return optuna.FloatDistribution(dimension.low, dimension.high, log=True)
    if isinstance(dimension, Numbers):
        if dimension.whole:
            low, high = int(dimension.low), int(dimension.high)
            step = 1 if dimension.step is None else int(dimension.step)
            return optuna.IntDistribution(low, high, log=dimension.log, step=step)
        return optuna.FloatDistribution(
            dimension.low, dimension.high, log=dimension.log, step=dimension.step
        )
    return optuna.FloatDistribution(0.0, 1.0)


def _code(value: Any) -> Code:
    return int(value) if isinstance(value, int | np.integer) else float(value)
