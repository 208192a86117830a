"""The classifier whose outputs share clauses: its parameters and documentation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .augmentation import Augmentation
from .estimator.classifying import TsetlinClassifier
from .estimator.documentation import with_documentation_of
from .estimator.training import Callback
from .estimator.validation import Scorer
from .model.constraints import Constraints
from .model.inputs import BitTransformer
from .model.schedules import Schedule


class CoTMClassifier(TsetlinClassifier):
    """Coalesced Tsetlin Machine: outputs share one pool of AND-rules with learned weights.

    The words of the field: a *literal* is a bit of the input or its negation; a *clause* is an
    AND of some literals, and fires on examples in which all of them are 1; every clause casts a
    *vote* for or against each output, as large as its *weight*; the *margin* ``T`` is how many
    votes more or fewer than zero an output aims at, so that clauses stop learning where enough of
    them agree; the *specificity* ``s`` says how readily a clause forgets literals, and so how
    long and how rare its pattern becomes.

    Parameters
    ----------
    n_clauses : int, default=500
        Rules in the pool.
    T : int, cotm.Schedule or "auto", default="auto"
        Voting margin. More margin means more clauses take part in each decision, which noisy
        labels need.
    s : float, cotm.Schedule or "auto", default="auto"
        Specificity, 1 or more. Higher values give longer, rarer patterns.
    preset : {"auto", "tables", "images", "text", "paper"}, default="auto"
        What "auto" stands for in the other parameters, here and below: values that were measured
        to be good for such data, or the paper's own rules. "auto" chooses by X: "images" with
        ``patch_shape``, "text" for 1,000 bits or more of which few are set, else "tables".
        ``chosen_`` has all values that came of it, ``verbose=1`` shows them,
        ``docs/defaults.md`` lists them, and ``docs/choosing.md`` says why.
    epochs : int or "auto", default="auto"
        Passes over the training data.
    patch_shape : tuple, default=None
        Convolution: ``(h, w)`` on images (N, H, W[, C]), ``(w,)`` on sequences
        (N, length[, C]), ``(d, h, w)`` on volumes (N, D, H, W[, C]). A clause then fires where
        any patch matches it.
    image_shape : tuple, default=None
        Shape of the images that X's rows hold flattened.
    stride : int or tuple, default=1
        Distance between patches.
    memory_depth : int or "auto", default="auto"
        1 to 128: how many reinforcements a literal's memory holds on either side.
    e : float or "auto", default="auto"
        Factor on the selection probability of the outputs an example is *not* (see
        ``e_scales``). The paper's is 1/(m - 1) for m > 2 classes, else 1; with one of them drawn
        (see ``negatives``) 1.
    e_scales : {"output", "type2"}, default="output"
        What ``e`` scales: all feedback of outputs with target 0, or Type II feedback.
    boost_true_positive : bool, default=True
        Memorize true literals always, instead of with probability (s - 1)/s.
    max_literals : int, default=None
        The most literals that a clause may include.
    max_weight : int, default=None
        The largest magnitude of a weight.
    average : int or "auto", default="auto"
        How many states vote together in prediction: those after each of the last epochs. Steadies
        accuracies that swing from epoch to epoch, as on text or noisy labels. ``memory_``,
        ``weights_`` and clause outputs are then of all of them, one below the other.
    tolerance : int, cotm.Schedule or "auto", default="auto"
        Misses that silence a clause. Above 1 clauses are graded, and want a larger ``T``: a weight
        counts min(``tolerance``, literals of the clause) times, once less for each miss.
    forgetting : {"auto", "drawn", "sampled"}, default="auto"
        How Type I feedback weakens literals. "drawn": each with probability 1/s. "sampled", which
        is faster: one in ``s``, picked at random, of a clause that does not fire; of one that
        fires all that are false and excluded.
    growth_limit : int, None or "auto", default="auto"
        A clause with more literals than this memorizes no more until it has forgotten some.
    include_depth : int, None or "auto", default="auto"
        1 to 128: reinforcements an included literal's memory holds; None: ``memory_depth``.
    negatives : {"auto", "all", "drawn", "focused"}, default="auto"
        Which of the outputs an example is *not* give feedback: all, or for each example one that
        is drawn, evenly or in proportion to its votes, counted from -``T``.
    drop_clauses : float or cotm.Schedule, default=0.0
        0 to 0.99: share of the clauses that sleep in each epoch, or call of ``partial_fit``: they
        neither vote nor learn in it. In prediction all vote.
    drop_literals : float or cotm.Schedule, default=0.0
        0 to 0.99: share of the literals that sleep in each epoch: no clause asks for them or
        learns about them in it. In prediction all count.
    negations : bool, default=True
        Whether clauses may ask that a bit is 0. False: for bits that are 1 only, so that rules on
        texts name words that are there and none that are missing.
    booleanize : "auto", None, or transformer, default="auto"
        How X becomes bits. "auto" passes bits through, and turns numbers into thermometer
        bits, categories into a bit each, 8-bit images into adaptive Gaussian thresholds.
        None: X must hold bits. Transformers give 0 and 1, as :class:`cotm.Thermometer` does.
    augment : cotm.Augmentation, default=None
        Shifts, flips, rotations and zooms of images while training, drawn anew in every epoch.
    constraints : cotm.Constraints, default=None
        Columns with which votes must only rise or fall, and columns that must not count for some
        labels; true of the model after every epoch and every call of ``partial_fit``.
    class_weight : dict or "balanced", default=None
        Factors on the selection probability by class, ``{label: factor}``; "balanced" gives rare
        classes larger ones. Above 1, those of the other classes are lowered instead, to a tenth
        at the most. Sample weights come on top, and do count above 1.
    shuffle : bool, default=True
        Present examples in a new order each epoch.
    early_stopping : bool, default=False
        Hold out a share of the examples, stop when the score on them gets no better, and keep
        the best epoch's state. An ``eval_set`` passed to ``fit`` does the same with examples of
        your own.
    scoring : str or callable, default=None
        That score: the name of a scikit-learn scorer, as "neg_log_loss" or "roc_auc_ovr", or
        ``scorer(estimator, X, y)``, the higher the better. None: the accuracy.
    validation_fraction : float, default=0.1
        The share that early stopping holds out where there is no ``eval_set``.
    patience : int, default=10
        Epochs without a better score after which early stopping ends the training.
    warm_start : bool, default=False
        ``fit`` goes on for ``epochs`` more instead of beginning anew.
    callbacks : list of callables, default=None
        Each is called as ``callback(estimator, record)`` after every epoch, where ``record`` is
        the epoch's entry in ``history_``; returning True ends the training. What it sets on the
        estimator (``s``, ``T``, ``epochs``, ...) counts from the next epoch on; what training is
        built on, as ``n_clauses``, cannot change. See :class:`cotm.Checkpoint`.
    backend : {"auto", "native", "cuda", "cuda:1", "reference"}, default="auto"
        Where it runs; ``"auto"`` takes a GPU where one is there and gains. Results are the same
        to the bit.
    n_jobs : int, default=None
        Threads. None and -1 take as many as help (None one inside a joblib worker), k > 0 takes
        k. The result does not depend on it.
    verbose : int, default=0
        1: an estimate of time and memory, then a progress bar on a terminal and lines elsewhere;
        2: lines everywhere.
    random_state : int, default=None
        The seed, or a ``numpy.random.RandomState``; None draws one, and ``seed_`` tells which.

    Attributes
    ----------
    memory_ : int8 (n_clauses, L)
        A literal is included in a clause iff its entry is >= 0. Bits come first, then
        their negations, L = 2 o in all; ``docs/state.md`` says which bits patches have. With
        ``average``, (states * n_clauses, L), the last state last.
    weights_ : int32 (n_clauses, outputs)
        ``clause_outputs(X) @ weights_`` are the votes.
    T_, s_ : int, float
        Margin and specificity in use; ``machine_.e`` and the like are the other options, as the
        last epoch had them.
    epochs_ : int
        Epochs that training has come to, or is on its way to.
    preset_ : str
        The preset that says what was left "auto".
    chosen_ : dict
        What each parameter that was left "auto" came to be.
    seed_ : int
        The 64-bit seed that ``random_state`` was resolved to.
    step_ : int
        Examples presented so far.
    history_ : list of dict
        A :class:`cotm.Record` for each of the last 10,000 epochs: ``epoch``, ``train_accuracy``,
        ``seconds`` and, with early stopping, ``validation_accuracy`` and ``validation_score``.
    classes_ : array, or list of them where y has several columns of labels
        The labels, in the order of the outputs.
    n_features_in_ : int
        Columns of X, or values of an image.
    feature_names_in_ : array of str
        Names of X's columns, where they are text.
    booleanizer_ : transformer or None
        What makes bits of X; None where X holds bits already.
    machine_ : cotm.Machine
        The machine at work; ``machine_.snapshot()`` is its state as a :class:`cotm.Snapshot`.

    See Also
    --------
    TMClassifier : Every class has clauses of its own.
    CoTMComposite : Several classifiers whose votes are added up.
    Machine : The machine itself, over bits and outputs, without labels.

    References
    ----------
    S. Glimsdal and O.-C. Granmo, "Coalesced Multi-Output Tsetlin Machines with Clause Sharing",
    arXiv:2108.07594, 2021. ``docs/algorithm.md`` maps its equations to this code.

    Examples
    --------
    Numbers and names become bits by themselves, and what was learned can be read:

    >>> from sklearn.datasets import load_iris
    >>> from cotm import CoTMClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = CoTMClassifier(n_clauses=100, max_literals=2, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    >>> print(model.rules(top=1)[0])
    if sepal width (cm) <= 3.65 and petal width (cm) <= 1.75: 1 +436, 2 -298, 0 +80

    Images are looked at in patches:

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = CoTMClassifier(
    ...     100, T=80, s=4, epochs=3, image_shape=(8, 8), patch_shape=(4, 4), random_state=0
    ... ).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True

    Several labels at once, in a matrix of 0 and 1:

    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 50)
    >>> Y = np.column_stack([X[:, 0] ^ X[:, 1], X[:, 0] & X[:, 1]])
    >>> CoTMClassifier(20, T=15, random_state=1).fit(X, Y).predict(X[:4])
    array([[0, 0],
           [1, 0],
           [1, 0],
           [0, 1]])
    """

    _kind = "CoTMClassifier"

    def __init__(
        self,
        n_clauses: int = 500,
        T: int | str | Schedule = "auto",
        s: float | str | Schedule = "auto",
        *,
        preset: str = "auto",
        epochs: int | str = "auto",
        patch_shape: tuple[int, ...] | None = None,
        image_shape: tuple[int, ...] | None = None,
        stride: int | tuple[int, ...] = 1,
        memory_depth: int | str = "auto",
        e: float | str = "auto",
        e_scales: str = "output",
        boost_true_positive: bool = True,
        max_literals: int | None = None,
        max_weight: int | None = None,
        average: int | str = "auto",
        tolerance: int | str | Schedule = "auto",
        forgetting: str = "auto",
        growth_limit: int | str | None = "auto",
        include_depth: int | str | None = "auto",
        negatives: str = "auto",
        drop_clauses: float | Schedule = 0.0,
        drop_literals: float | Schedule = 0.0,
        negations: bool = True,
        booleanize: BitTransformer | str | None = "auto",
        augment: Augmentation | None = None,
        constraints: Constraints | None = None,
        class_weight: dict[Any, float] | str | None = None,
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
        self.preset = preset
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
        self.tolerance = tolerance
        self.forgetting = forgetting
        self.growth_limit = growth_limit
        self.include_depth = include_depth
        self.negatives = negatives
        self.drop_clauses = drop_clauses
        self.drop_literals = drop_literals
        self.negations = negations
        self.booleanize = booleanize
        self.augment = augment
        self.constraints = constraints
        self.class_weight = class_weight
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


@with_documentation_of(CoTMClassifier)
class TMClassifier(TsetlinClassifier):
    """The Tsetlin machines the paper compares with: every output owns its clauses.

    ``n_clauses`` is still the total; each output owns an equal share, half voting for it
    and half against. All parameters but ``weighted`` are those of :class:`CoTMClassifier`, where
    the words of the field are explained.

    Parameters
    ----------
    weighted : bool, default=True
        Whether a clause's vote learns a weight (the weighted Tsetlin machine) or is always
        one (the plain Tsetlin machine).

    See Also
    --------
    CoTMClassifier : All classes share one pool of clauses, which takes fewer of them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cotm import TMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> plain = TMClassifier(n_clauses=120, T=15, weighted=False, random_state=0).fit(X, y)
    >>> int(abs(plain.weights_).max())
    1
    """

    _kind = "TMClassifier"

    def _machine_kind(self) -> dict[str, bool]:
        return {"sharing": False, "weighted": self.weighted}

    def __init__(
        self,
        n_clauses: int = 500,
        T: int | str | Schedule = "auto",
        s: float | str | Schedule = "auto",
        *,
        weighted: bool = True,
        preset: str = "auto",
        epochs: int | str = "auto",
        patch_shape: tuple[int, ...] | None = None,
        image_shape: tuple[int, ...] | None = None,
        stride: int | tuple[int, ...] = 1,
        memory_depth: int | str = "auto",
        e: float | str = "auto",
        e_scales: str = "output",
        boost_true_positive: bool = True,
        max_literals: int | None = None,
        max_weight: int | None = None,
        average: int | str = "auto",
        tolerance: int | str | Schedule = "auto",
        forgetting: str = "auto",
        growth_limit: int | str | None = "auto",
        include_depth: int | str | None = "auto",
        negatives: str = "auto",
        drop_clauses: float | Schedule = 0.0,
        drop_literals: float | Schedule = 0.0,
        negations: bool = True,
        booleanize: BitTransformer | str | None = "auto",
        augment: Augmentation | None = None,
        constraints: Constraints | None = None,
        class_weight: dict[Any, float] | str | None = None,
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
        self.weighted = weighted
        self.preset = preset
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
        self.tolerance = tolerance
        self.forgetting = forgetting
        self.growth_limit = growth_limit
        self.include_depth = include_depth
        self.negatives = negatives
        self.drop_clauses = drop_clauses
        self.drop_literals = drop_literals
        self.negations = negations
        self.booleanize = booleanize
        self.augment = augment
        self.constraints = constraints
        self.class_weight = class_weight
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
