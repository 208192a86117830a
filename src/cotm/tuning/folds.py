"""The data of a search: split into parts to train on and parts to judge by, each read once.

Whatever is learned from X before training (thermometers, categories, the steps of a pipeline) is
learned from the part to train on alone.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import type_of_target

from ..backends.packing import PackedExamples
from ..core.checks import check_number
from ..core.examples import Examples
from ..core.gpu_arrays import to_host
from ..estimator.base import TsetlinEstimator
from ..estimator.preparation import read_examples
from ..estimator.tasks import Outputs
from ..estimator.validation import rows_of
from ..model.augmented import AugmentedImages
from ..model.inputs import InputReader
from ..model.label_cells import label_cells
from ..model.label_columns import LabelColumns
from ..model.presets import preset_for
from ..model.resuming import describe_data

Splits = list[tuple[NDArray[np.int64], NDArray[np.int64]]]

#: Parameters of the learner that say how X is read: where they differ, it is read again.
_READING = ("patch_shape", "image_shape", "stride", "booleanize", "augment")


@dataclass(frozen=True)
class Recipe:
    """An estimator taken apart: what comes before the learner, and the learner."""

    before: Any  # a pipeline of transformers, or None
    learner: TsetlinEstimator
    prefix: str  # of the learner's parameters among those of the whole, as "cotmclassifier__"

    @classmethod
    def of(cls, estimator: Any) -> Recipe:
        """Of one of cotm's estimators, or a pipeline that ends in one."""
        before, learner, prefix = None, estimator, ""
        if isinstance(estimator, Pipeline):
            name, learner = estimator.steps[-1]
            before, prefix = estimator[:-1] if len(estimator.steps) > 1 else None, f"{name}__"
        if not isinstance(learner, TsetlinEstimator):
            raise ValueError(
                f"estimator={type(learner).__name__} cannot be searched for; pass a "
                "CoTMClassifier, a TMClassifier, a CoTMRegressor, or a Pipeline that ends in one"
            )
        if learner.early_stopping:
            raise ValueError(
                "early_stopping=True, but a search decides itself how long trainings last; set "
                "early_stopping=False"
            )
        return cls(before, learner, prefix)

    def reads(self, name: str) -> bool:
        """Whether a parameter of the whole says how X is read."""
        return name.removeprefix(self.prefix) in _READING or not name.startswith(self.prefix)


@dataclass(frozen=True)
class Fold:
    """Examples to train on and to judge by, read."""

    reader: InputReader
    read: PackedExamples | NDArray[Any]  # images where they are changed in every pass
    answers: Any
    classes: Outputs
    weight: NDArray[np.float64] | None
    held: Examples
    held_answers: Any
    held_X: Any  # as scorers want it
    held_y: Any

    @property
    def examples(self) -> Examples | None:
        """Those to train on, where they do not change."""
        return self.read.examples if isinstance(self.read, PackedExamples) else None


def split(cv: Any, X: Any, y: Any, groups: Any, estimator: Any, seed: int) -> Splits:
    """The rows to train on and to judge by, of each fold. A share holds out so many rows, once."""
    y = to_host(y)
    rows = np.zeros(len(y) if hasattr(y, "__len__") else y.shape[0])
    if is_classifier(estimator) and label_cells(y) is not None:
        y = None  # no row has a class by which rows could be shared out
    if isinstance(cv, float):
        check_number("cv", cv, 0.0, 1.0)
        labelled = is_classifier(estimator) and y is not None
        single = labelled and type_of_target(y) in ("binary", "multiclass")
        kind = StratifiedShuffleSplit if single else ShuffleSplit
        cv = kind(1, test_size=cv, random_state=seed % 2**32)
    splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    splits = [
        (np.asarray(train, dtype=np.int64), np.asarray(held, dtype=np.int64))
        for train, held in splitter.split(rows, y, groups)
    ]
    for number, (train, held) in enumerate(splits):
        if not len(train) or not len(held):
            raise ValueError(f"cv={cv!r}: fold {number} has no rows on one side; use other folds")
        if len(np.intersect1d(train, held)):
            raise ValueError(
                f"cv={cv!r}: fold {number} judges by rows that it trains on; use other folds"
            )
    return splits


class Folds:
    """The folds of a search, read when they are first needed, for each way of reading X."""

    #: Ways of reading X that are kept at the same time.
    _KEPT = 4

    def __init__(self, recipe: Recipe, X: Any, y: Any, weight: Any, splits: Splits) -> None:
        self.recipe, self.splits = recipe, splits
        self._X, self._y = X, to_host(y)
        self._weight = None if weight is None else np.asarray(to_host(weight), dtype=np.float64)
        task = recipe.learner._task
        answers = task.read(self._y)
        self._classes = task.first_classes(answers, None)
        weights = task.weights(answers, self._classes, self._weight, recipe.learner)
        task.check_whole(answers, self._classes, weights)
        self._known: dict[tuple[str, int], Fold] = {}
        self._locks: dict[tuple[str, int], threading.Lock] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.splits)

    def fold(self, number: int, reading: dict[str, Any], key: str = "") -> Fold:
        """A fold; ``reading`` are parameters that say how X is read, ``key`` tells them apart."""
        place = key, number
        with self._lock:
            lock = self._locks.setdefault(place, threading.Lock())
        with lock:
            if place not in self._known:
                fold = self._read(number, reading)
                with self._lock:
                    self._known[place] = fold
                    while len(self._known) > self._KEPT * len(self.splits):
                        self._known.pop(next(iter(self._known)))
            return self._known[place]

    def _read(self, number: int, reading: dict[str, Any]) -> Fold:
        train, held = self.splits[number]
        X, held_X = rows_of(self._X, train), rows_of(self._X, held)
        y, held_y = rows_of(self._y, train), rows_of(self._y, held)
        own = {n.removeprefix(self.recipe.prefix): v for n, v in reading.items()
               if n.startswith(self.recipe.prefix)}  # fmt: skip
        if self.recipe.before is not None:
            before = clone(self.recipe.before)
            before.set_params(
                **{n: v for n, v in reading.items() if not n.startswith(self.recipe.prefix)}
            )
            X, held_X = before.fit_transform(X, y), before.transform(held_X)
        learner = clone(self.recipe.learner).set_params(**own)
        task = learner._task
        reader = InputReader.from_parameters(learner)
        answers = task.read(y)
        read = read_examples(learner, reader, X, answers.values, fitting=True)
        # Labels that are rare may all lie in the other part.
        is_matrix = isinstance(self._classes, np.ndarray) and getattr(answers, "multilabel", False)
        named = None if is_matrix else self._classes
        return Fold(
            reader,
            PackedExamples(read) if isinstance(read, Examples) else read,
            answers,
            task.first_classes(answers, named),
            None if self._weight is None else self._weight[train],
            reader.read(held_X),
            task.read(held_y),
            held_X,
            held_y,
        )

    def preset(self) -> str:
        """What kind of data these are."""
        return preset_for(self.recipe.learner, self.fold(0, {}).examples)

    def rows(self) -> int:
        """How many are trained on."""
        return len(self.splits[0][0])

    def digest(self) -> str:
        """By what the same data, split the same way, are known again."""
        learner = self.recipe.learner
        parts = []
        for number in range(len(self)):
            fold = self.fold(number, {})
            marks = [
                hashlib.blake2b(np.ascontiguousarray(rows).data, digest_size=16).hexdigest()
                for rows in self.splits[number]
            ]
            examples: Any = fold.examples
            if examples is None:
                assert learner.augment is not None and not isinstance(fold.read, PackedExamples)
                changes = learner.augment.changes()
                examples = AugmentedImages(fold.read, fold.reader, changes, 0, 1)
            weight = np.ones(1) if fold.weight is None else fold.weight
            targets, held = _plain(fold.answers), _plain(fold.held_answers)
            described = describe_data(
                examples, targets, weight, shuffle=True, held_out=0.0,
                eval_set=(fold.held, held),
            )  # fmt: skip
            names = fold.classes
            if isinstance(names, LabelColumns):
                names = names.outputs
            parts.append([marks, described, [str(name) for name in names]])
        text = json.dumps(parts, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _plain(answers: Any) -> NDArray[Any]:
    """Answers as numbers."""
    values = np.asarray(answers.values)
    if values.dtype.kind in "OUSM":
        values = np.frombuffer("\n".join(map(str, values.reshape(-1))).encode(), dtype=np.uint8)
    return values.astype(np.float64)


#: What scores a model: name -> scorer(estimator, X, y), the higher the better.
Scorers = dict[str, Callable[[Any, Any, Any], float]]
