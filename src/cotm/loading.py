"""Classifiers and composites from model files."""

from __future__ import annotations

import os

from . import files
from .classifier import CoTMClassifier
from .composite import CoTMComposite
from .estimator.composition import composed
from .estimator.settings import check_parameters
from .tm_classifier import TMClassifier

_KINDS: dict[str, type[CoTMClassifier] | type[TMClassifier]] = {
    kind._kind: kind for kind in (CoTMClassifier, TMClassifier)
}


def load(path: str | os.PathLike[str]) -> CoTMClassifier | TMClassifier | CoTMComposite:
    """Read a classifier or composite that ``save`` or :class:`cotm.Checkpoint` wrote.

    It predicts and trains on exactly as the one that was saved. Nothing in the file is
    executed. A file that is damaged, foreign or of a newer version of cotm gives a
    :class:`ModelFileError`.

    Examples
    --------
    >>> import os, tempfile, cotm
    >>> model = cotm.CoTMClassifier(20, random_state=0).fit([[0], [1], [0], [1]], list("abab"))
    >>> path = os.path.join(tempfile.mkdtemp(), "model.cotm")
    >>> model.save(path)
    >>> bool((cotm.load(path).memory_ == model.memory_).all())
    True
    """
    return files.load(path, restored)


def restored(
    saved: files.SavedModel | files.SavedComposite,
) -> CoTMClassifier | TMClassifier | CoTMComposite:
    """What a model file holds; a ValueError where a parameter cannot be."""
    if isinstance(saved, files.SavedComposite):
        models = [_classifier(member) for member in saved.members]
        pairs = zip(saved.names, models, strict=True)
        composition = composed(pairs, saved.scale, divisors=saved.divisors)
        return CoTMComposite._of(composition, saved.n_jobs)
    return _classifier(saved)


def _classifier(saved: files.SavedModel) -> CoTMClassifier | TMClassifier:
    model = _KINDS[saved.kind](**saved.parameters)
    check_parameters(model)
    model._fitted = saved.fitted
    return model
