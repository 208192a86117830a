"""Models of all kinds from files."""

from __future__ import annotations

import os
from typing import Any

from . import files
from .classifier import CoTMClassifier, TMClassifier
from .composite import CoTMComposite
from .detecting.detector import CoTMOutlierDetector
from .estimator.composition import composed
from .estimator.machine_model import MachineModel
from .estimator.settings import check_parameters
from .imaging.image_to_image import CoTMImageToImage
from .language.embedding import CoTMEmbedding
from .language.language_model import CoTMLanguageModel
from .regressor import CoTMRegressor

#: What a file may hold but for composites.
Estimator = CoTMClassifier | TMClassifier | CoTMRegressor
_KINDS: dict[str, type[Estimator]] = {
    kind._kind: kind for kind in (CoTMClassifier, TMClassifier, CoTMRegressor)
}
_MACHINE_MODELS: dict[str, type[MachineModel]] = {
    kind._kind: kind for kind in (CoTMEmbedding, CoTMImageToImage, CoTMLanguageModel)
}
Saved = files.SavedModel | files.SavedComposite | files.SavedDetector | files.SavedMachineModel


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model of any kind that ``save`` or :class:`cotm.Checkpoint` wrote.

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


def load_bytes(data: bytes, name: str) -> Any:
    """The same from the bytes of a model file, which errors call by a name."""
    return files.load_bytes(data, name, restored)


def restored(saved: Saved) -> Any:
    """What a model file holds; a ValueError where a parameter cannot be."""
    if isinstance(saved, files.SavedMachineModel):
        return _MACHINE_MODELS[saved.kind]._restored(saved)
    if isinstance(saved, files.SavedComposite):
        models = [_estimator(member) for member in saved.members]
        pairs = zip(saved.names, models, strict=True)
        composition = composed(pairs, saved.scale, divisors=saved.divisors)
        return CoTMComposite._of(composition, saved.n_jobs)
    if isinstance(saved, files.SavedDetector):
        return CoTMOutlierDetector._restored(saved, _estimator(saved.classifier))
    return _estimator(saved)


def _estimator(saved: files.SavedModel) -> Estimator:
    kind = _KINDS[saved.kind]
    own = kind._get_param_names()
    for name, value in saved.parameters.items():
        if name not in own and value != getattr(kind, name):
            raise ValueError(f"{name}={value!r:.100}, but a {saved.kind} has no such parameter")
    model = kind(**{name: saved.parameters[name] for name in own if name in saved.parameters})
    check_parameters(model)
    model._fitted = saved.fitted
    return model
