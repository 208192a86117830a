"""Training and predicting on the workers of a Dask cluster.

>>> from cotm.dask import CoTMClassifier

``classifier.py`` is the classifier; ``collections.py`` brings arrays and frames of Dask into parts,
``looking.py`` learns from them what must be known before they become bits, ``fitting.py`` trains,
``scoring.py`` predicts, and ``work.py`` has what workers do.
"""

try:
    import dask.array
    import dask.dataframe
    import distributed
except ImportError as error:  # pragma: no cover - tested in a process of its own
    raise ImportError(
        f'cotm.dask needs Dask ({error}); pip install "cotm[dask]", which brings dask[dataframe] '
        "and distributed"
    ) from error

from .classifier import CoTMClassifier

del dask, distributed

__all__ = ["CoTMClassifier"]
