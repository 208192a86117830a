"""The regressor whose targets share clauses: its parameters and documentation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .augmentation import Augmentation
from .classifier import CoTMClassifier
from .estimator.documentation import with_documentation_of
from .estimator.regressing import TsetlinRegressor
from .estimator.training import Callback
from .estimator.validation import Scorer
from .model.constraints import Constraints
from .model.inputs import BitTransformer
from .model.schedules import Schedule


@with_documentation_of(CoTMClassifier, without=("preset_", "classes_"))
class CoTMRegressor(TsetlinRegressor):
    """Coalesced Tsetlin Machine for quantities: all targets share one pool of AND-rules.

    Each rule adds so many votes to each target where it fires; the sum of votes, in units of
    ``unit_``, is what is predicted above or below ``offset_``. The words of the field are
    explained at :class:`cotm.CoTMClassifier`, and ``docs/regression.md`` has the learning rule.

    Parameters
    ----------
    T : int, cotm.Schedule or "auto", default="auto"
        Votes that stand for a standard deviation of a target. An example that is off by twice as
        many gives feedback for certain, nearer ones in proportion. "auto" is twice ``n_clauses``.
    epochs : int or "auto", default="auto"
        Passes over the training data; "auto" is 30, fewer with many examples.
    booleanize : "auto", None, or transformer, default="auto"
        How X becomes bits, as at :class:`cotm.CoTMClassifier`, but numbers become up to 40
        thermometer bits.
    early_stopping : bool, default=False
        Hold out a share of the examples, stop when the score on them gets no better, keep the best
        epoch's state, and learn from them how wide intervals must be. An ``eval_set`` passed to
        ``fit`` does the same with examples of your own.
    scoring : str or callable, default=None
        That score: the name of a scikit-learn scorer, as "neg_mean_absolute_error", or
        ``scorer(estimator, X, y)``, the higher the better. None: R².

    Attributes
    ----------
    offset_ : float64 (targets,)
        What is predicted at 0 votes: the mean of the targets in training.
    unit_ : float64 (targets,)
        Votes for a difference of 1.
    T_, s_ : int, float
        Margin and specificity in use.
    history_ : list of dict
        A :class:`cotm.Record` for each of the last 10,000 epochs: ``epoch``, ``train_accuracy``,
        the share of the mean distance from the median that the votes of the epoch explained (1 is
        perfect), ``seconds`` and, with early stopping, ``validation_accuracy``, R² on the held-out
        examples, and ``validation_score``.

    See Also
    --------
    CoTMClassifier : The same for labels.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from cotm import CoTMRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = CoTMRegressor(early_stopping=True, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    >>> low, high = model.predict_interval(X, coverage=0.8)
    >>> bool((low < high).all())
    True
    """

    _kind = "CoTMRegressor"

    def __init__(
        self,
        n_clauses: int = 500,
        T: int | str | Schedule = "auto",
        s: float | str | Schedule = "auto",
        *,
        epochs: int | str = "auto",
        patch_shape: tuple[int, ...] | None = None,
        image_shape: tuple[int, ...] | None = None,
        stride: int | tuple[int, ...] = 1,
        memory_depth: int | str = "auto",
        boost_true_positive: bool = True,
        max_literals: int | None = None,
        max_weight: int | None = None,
        average: int | str = "auto",
        tolerance: int | str | Schedule = "auto",
        forgetting: str = "auto",
        growth_limit: int | str | None = "auto",
        include_depth: int | str | None = "auto",
        drop_clauses: float | Schedule = 0.0,
        drop_literals: float | Schedule = 0.0,
        negations: bool = True,
        booleanize: BitTransformer | str | None = "auto",
        augment: Augmentation | None = None,
        constraints: Constraints | None = None,
        shuffle: bool = True,
        early_stopping: bool = False,
        scoring: str | Scorer | None = None,
        validation_fraction: float = 0.1,
        patience: int = 10,
        warm_start: bool = False,
        callbacks: Sequence[Callback] | None = None,
        backend: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clauses = n_clauses
        self.T = T
        self.s = s
        self.epochs = epochs
        self.patch_shape = patch_shape
        self.image_shape = image_shape
        self.stride = stride
        self.memory_depth = memory_depth
        self.boost_true_positive = boost_true_positive
        self.max_literals = max_literals
        self.max_weight = max_weight
        self.average = average
        self.tolerance = tolerance
        self.forgetting = forgetting
        self.growth_limit = growth_limit
        self.include_depth = include_depth
        self.drop_clauses = drop_clauses
        self.drop_literals = drop_literals
        self.negations = negations
        self.booleanize = booleanize
        self.augment = augment
        self.constraints = constraints
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.backend = backend
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
