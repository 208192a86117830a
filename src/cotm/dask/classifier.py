"""The classifier over arrays and frames of Dask: its parameters and documentation."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import distributed
from sklearn.base import clone

from .. import classifier
from ..estimator.documentation import with_documentation_of
from ..pools.course import N_POOLS, REFINE, PoolOptions
from .collections import is_collection
from .fitting import fit
from .scoring import accuracy, lazily

if TYPE_CHECKING:
    from typing_extensions import Self

#: The parameters that a classifier on one computer has not.
_OWN = ("n_pools", "pool_rows", "refine", "client")
_SHARED = dict(inspect.signature(classifier.CoTMClassifier).parameters)


def _with_signature(function: Any) -> Any:
    """With the parameters of the plain classifier by name, as scikit-learn looks them up."""
    own = dict(inspect.signature(function).parameters)
    more = [own[name] for name in _OWN]
    function.__signature__ = inspect.Signature([own["self"], *_SHARED.values(), *more])
    return function


@with_documentation_of(classifier.CoTMClassifier)
class CoTMClassifier(classifier.CoTMClassifier):
    """Coalesced Tsetlin Machine that learns and predicts on the workers of a Dask cluster.

    The workers make bits of the rows that lie with them. ``n_pools`` machines then share the
    clauses and the margin, and learn from shares of the rows, which are drawn by the rows'
    numbers; in the end their clauses are one pool, which learns from all rows for ``refine``
    passes. What comes of it is :class:`cotm.CoTMClassifier`, and depends on the parameters, the
    seed and the rows in their order alone: not on how many workers there are, where rows lie, in
    how many partitions, and who dies on the way. ``docs/dask.md`` says more.

    Parameters
    ----------
    n_pools : int, default=4
        Machines that learn apart from each other, on as many workers as there is room on. Fewer
        come nearer to one machine, more are faster.
    pool_rows : {"turns", "share", "all"}, default="turns"
        What each learns from in an epoch: one share of the rows, and the next one in the next
        epoch; its own one, always; or all of them, one share after the other.
    refine : int, default=10
        Passes of all clauses over all rows, one share after the other, once the pools are one.
    client : distributed.Client, default=None
        The cluster to train on. None: that of the client that was made last.
    epochs : int or "auto", default="auto"
        Epochs of the pools; ``refine`` come on top.
    early_stopping, warm_start, augment, callbacks
        Not with pools: only their defaults.

    Attributes
    ----------
    history_ : list of dict
        A :class:`cotm.Record` for each epoch: those of the pools, with the mean of their
        accuracies, and then those of all clauses. Seconds are 0.

    See Also
    --------
    cotm.pools.fit_pools : The same training on this computer.

    Examples
    --------
    >>> import dask.array
    >>> from distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from cotm.dask import CoTMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = dask.array.from_array(X, chunks=(50, 4)), dask.array.from_array(y, chunks=50)
    >>> with Client(n_workers=1, processes=False, dashboard_address=None) as client:
    ...     model = CoTMClassifier(100, n_pools=2, random_state=0, client=client).fit(X, y)
    ...     bool(model.score(X, y) > 0.9), model.predict(X)[:3].compute()
    (True, array([0, 0, 0]))
    """

    @_with_signature
    def __init__(
        self,
        *given: Any,
        n_pools: int = N_POOLS,
        pool_rows: str = "turns",
        refine: int = REFINE,
        client: distributed.Client | None = None,
        **named: Any,
    ) -> None:
        super().__init__(*given, **named)
        self.n_pools = n_pools
        self.pool_rows = pool_rows
        self.refine = refine
        self.client = client

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Learn from examples on the workers.

        Ctrl-C ends the work on the cluster and leaves the model as it was.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame
            (N, features), or images (N, H, W[, C]) with ``patch_shape``. It is read two or three
            times, or more often where workers die: ``X.persist()`` keeps in memory what is slow
            to make.
        y : dask.array.Array, dask.dataframe.Series or DataFrame
            (N,) labels of any type, or (N, m) of 0 and 1 for several labels at once.
        sample_weight : dask.array.Array or Series of (N,), optional
            As in :meth:`cotm.CoTMClassifier.fit`.

        Returns
        -------
        self
        """
        learner = clone(self._plain())
        options = PoolOptions.checked(learner, self.n_pools, self.pool_rows, self.refine)
        client = self._client()
        with self._alone():
            self._fitted = fit(learner, options, client, X, y, sample_weight)
        return self

    def to_local(self) -> classifier.CoTMClassifier:
        """The same model as a :class:`cotm.CoTMClassifier`, which needs no Dask."""
        local = self._plain()
        if self._fitted_or_none() is not None:
            local._fitted = self._still()._fitted
        return local

    def predict(self, X: Any) -> Any:
        """Predict labels: see :meth:`cotm.CoTMClassifier.predict`.

        Of arrays and frames of Dask lazily, as an array of Dask; of others at once.
        """
        return self._on_parts("predict", X) if is_collection(X) else super().predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities: see :meth:`predict`, and the plain classifier's."""
        return self._on_parts("predict_proba", X) if is_collection(X) else super().predict_proba(X)

    def votes(self, X: Any) -> Any:
        """Count the votes for each output: see :meth:`predict`, and the plain classifier's."""
        return self._on_parts("votes", X) if is_collection(X) else super().votes(X)

    def decision_function(self, X: Any) -> Any:
        """Tell how sure predictions are: see :meth:`predict`, and the plain classifier's."""
        if is_collection(X):
            return self._on_parts("decision_function", X)
        return super().decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy, computed where the rows are."""
        if is_collection(X):
            return accuracy(self._for_workers(), X, y, sample_weight)
        return float(super().score(X, y, sample_weight))

    def _on_parts(self, method: str, X: Any) -> Any:
        model = self._for_workers()
        if method == "predict_proba":
            model._fitted.sharpness.value()  # once, and not by every worker
        return lazily(model, method, X)

    def _for_workers(self) -> classifier.CoTMClassifier:
        """The plain model, that does not take more than the thread of its task."""
        model = self.to_local()
        model._now()  # or an error that says what is missing
        return model if model.n_jobs is not None else model.set_params(n_jobs=1)

    def _plain(self) -> classifier.CoTMClassifier:
        return classifier.CoTMClassifier(**{name: getattr(self, name) for name in _SHARED})

    def _client(self) -> distributed.Client:
        client = self.client
        if client is None:
            try:
                client = distributed.get_client()
            except ValueError as error:
                raise ValueError(
                    "there is no Dask client; make one before, as in "
                    "distributed.Client(n_workers=4), or pass it as client="
                ) from error
        if not isinstance(client, distributed.Client):
            raise ValueError(f"client={client!r:.200} must be a distributed.Client, or None")
        return client

    def __sklearn_clone__(self) -> Self:
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")  # a connection, of which there are no copies
        copies = {name: clone(value, safe=False) for name, value in parameters.items()}
        return type(self)(**copies, client=client)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}
