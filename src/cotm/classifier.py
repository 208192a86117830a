"""The public classifiers and their parameters."""

from __future__ import annotations

from typing import Any

from .estimator.base import TsetlinClassifier


class CoTMClassifier(TsetlinClassifier):
    """Coalesced Tsetlin Machine: outputs share one pool of AND-rules with learned weights.

    Parameters
    ----------
    n_clauses : int
        Rules in the pool.
    T : int or "auto"
        Voting margin. More margin means more clauses take part in each decision; noisy
        labels need it far above ``n_clauses``. "auto" is ``0.4 * n_clauses``.
    s : float
        Specificity, 1 or more. Higher values give longer, rarer patterns.
    epochs : int
        Passes over the training data.
    patch_shape : tuple, optional
        Convolution: ``(h, w)`` on images (N, H, W[, C]), ``(w,)`` on sequences
        (N, length[, C]). A clause then fires where any patch matches it.
    image_shape : tuple, optional
        Shape of the images that X's rows hold flattened.
    stride : int or tuple
        Distance between patches.
    memory_depth : int
        1 to 128: how many reinforcements a literal's memory holds on either side.
    e : float or "auto"
        Factor on the selection probability of the outputs an example is *not* (see
        ``e_scales``). "auto": 1/(m - 1) for m > 2 classes, else 1.
    e_scales : {"output", "type2"}
        What ``e`` scales: all feedback of outputs with target 0, or Type II feedback.
    boost_true_positive : bool
        Memorize true literals always, instead of with probability (s - 1)/s.
    max_literals, max_weight : int, optional
        Caps on a clause's literals and on a weight's magnitude.
    average : int
        How many states vote together in prediction: those after each of the last epochs. Steadies
        accuracies that swing from epoch to epoch, as on text or noisy labels. ``memory_``,
        ``weights_`` and clause outputs are then of all of them, one below the other.
    booleanize : "auto", None, or transformer
        How X becomes bits. "auto" passes bits through, and turns numbers into thermometer
        bits, categories into a bit each, 8-bit images into adaptive Gaussian thresholds.
        None: X must hold bits.
    class_weight : dict or "balanced", optional
        Factors on the selection probability by class. Above 1, those of the other classes are
        lowered instead, to a tenth at the most. Sample weights come on top, and do count above 1.
    shuffle : bool
        Present examples in a new order each epoch.
    early_stopping, validation_fraction, patience
        Hold out a share of the examples, stop after ``patience`` epochs without a better
        accuracy on them, and keep the best epoch's state.
    warm_start : bool
        ``fit`` goes on for ``epochs`` more instead of beginning anew.
    callbacks : list of callables, optional
        Each is called as ``callback(estimator, record)`` after every epoch; returning True
        ends the training. What it sets on the estimator (``s``, ``T``, ``epochs``, ...) counts
        from the next epoch on; what training is built on, as ``n_clauses``, cannot change. See
        :class:`cotm.Checkpoint`.
    backend : {"auto", "native", "cuda", "cuda:1", "reference"}
        Where it runs; ``"auto"`` takes a GPU where one is there and gains. Results are the same
        to the bit.
    n_jobs : int, optional
        Threads. None and -1 take as many as help (None one inside a joblib worker), k > 0 takes
        k. The result does not depend on it.
    verbose : int
        1: progress bar on a terminal, lines elsewhere; 2: lines.
    random_state : int, optional
        The seed.

    Attributes
    ----------
    memory_ : int8 (n_clauses, L)
        A literal is included in a clause iff its entry is >= 0. Bits come first, then
        their negations. With ``average``, (states * n_clauses, L), the last state last.
    weights_ : int32 (n_clauses, outputs)
        ``clause_outputs(X) @ weights_`` are the votes.
    T_, seed_, step_ : int
    history_ : list of dict
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    booleanizer_ : transformer or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cotm import CoTMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CoTMClassifier(n_clauses=100, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        n_clauses: int = 500,
        T: int | str = "auto",
        s: float = 10.0,
        *,
        epochs: int = 30,
        patch_shape: tuple[int, ...] | None = None,
        image_shape: tuple[int, ...] | None = None,
        stride: int | tuple[int, ...] = 1,
        memory_depth: int = 128,
        e: float | str = "auto",
        e_scales: str = "output",
        boost_true_positive: bool = True,
        max_literals: int | None = None,
        max_weight: int | None = None,
        average: int = 1,
        booleanize: Any = "auto",
        class_weight: Any = None,
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 10,
        warm_start: bool = False,
        callbacks: Any = None,
        backend: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clauses = n_clauses
        self.T = T
        self.s = s
        self.epochs = epochs
        self.patch_shape = patch_shape
        self.image_shape = image_shape
        self.stride = stride
        self.memory_depth = memory_depth
        self.e = e
        self.e_scales = e_scales
        self.boost_true_positive = boost_true_positive
        self.max_literals = max_literals
        self.max_weight = max_weight
        self.average = average
        self.booleanize = booleanize
        self.class_weight = class_weight
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.backend = backend
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state


class TMClassifier(TsetlinClassifier):
    """The Tsetlin machines the paper compares with: every output owns its clauses.

    ``n_clauses`` is still the total; each output owns an equal share, half voting for it
    and half against. All parameters but ``weighted`` are those of :class:`CoTMClassifier`.

    Parameters
    ----------
    weighted : bool
        Whether a clause's vote learns a weight (the weighted Tsetlin machine) or is always
        one (the plain Tsetlin machine).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cotm import TMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> plain = TMClassifier(n_clauses=120, T=15, weighted=False, random_state=0).fit(X, y)
    >>> int(abs(plain.weights_).max())
    1
    """

    _sharing = False

    @property
    def _learns_weights(self) -> bool:
        return self.weighted

    def __init__(
        self,
        n_clauses: int = 500,
        T: int | str = "auto",
        s: float = 10.0,
        *,
        weighted: bool = True,
        epochs: int = 30,
        patch_shape: tuple[int, ...] | None = None,
        image_shape: tuple[int, ...] | None = None,
        stride: int | tuple[int, ...] = 1,
        memory_depth: int = 128,
        e: float | str = "auto",
        e_scales: str = "output",
        boost_true_positive: bool = True,
        max_literals: int | None = None,
        max_weight: int | None = None,
        average: int = 1,
        booleanize: Any = "auto",
        class_weight: Any = None,
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 10,
        warm_start: bool = False,
        callbacks: Any = None,
        backend: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clauses = n_clauses
        self.T = T
        self.s = s
        self.weighted = weighted
        self.epochs = epochs
        self.patch_shape = patch_shape
        self.image_shape = image_shape
        self.stride = stride
        self.memory_depth = memory_depth
        self.e = e
        self.e_scales = e_scales
        self.boost_true_positive = boost_true_positive
        self.max_literals = max_literals
        self.max_weight = max_weight
        self.average = average
        self.booleanize = booleanize
        self.class_weight = class_weight
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.backend = backend
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
