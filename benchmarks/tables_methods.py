"""The methods of tables.py, and the measuring of one of them on one fold.

A method is a function of a Table, its settings and a seed; it gives an estimator and what its
``fit`` is to be told. Every method gets the cells as they are, missing ones included, and whatever
it needs to make of them first counts in its time. Libraries that may be missing are imported by
their methods.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from tables_data import Table

import cotm
from cotm.model.presets import PRESETS

N_FOLDS = 3

#: Named settings of cotm, parameters of CoTMClassifier; "class" names another classifier.
#: --settings adds to them.
SETTINGS: dict[str, dict[str, Any]] = {
    "cotm": {},
    "cotm-paper": {"preset": "paper"},
    "cotm-one-state": {"average": 1},
    "cotm-short": {"max_literals": 3},
    "cotm-balanced": {"class_weight": "balanced"},
    "cotm-large": {"n_clauses": 2000},
    "tm": {"class": "TMClassifier"},
}

Made = tuple[Any, dict[str, Any]]


def cotm_classifier(table: Table, settings: dict[str, Any], seed: int) -> Made:
    settings = {**table.parameters, "n_jobs": 1, "random_state": seed, **settings}
    kind = getattr(cotm, settings.pop("class", "CoTMClassifier"))
    return kind(**settings), {}


def text_columns(X: Any) -> list[int]:
    if X.dtype != object:
        return []
    return [k for k in range(X.shape[1]) if any(isinstance(cell, str) for cell in X[:, k])]


def encoded(X: Any, numbers: Any, text: Any) -> Any:
    """A transformer for the columns of numbers, which come first, and for those of text."""
    texts = text_columns(X)
    if not texts:
        return numbers
    columns = [k for k in range(X.shape[1]) if k not in texts]
    floats = make_pipeline(FunctionTransformer(as_floats), numbers)
    return make_column_transformer((floats, columns), (text, texts))


def as_floats(X: Any) -> np.ndarray:
    return X.astype(float)


def as_dense(X: Any) -> Any:
    return X.toarray() if issparse(X) else X


def forest(table: Table, settings: dict[str, Any], seed: int) -> Made:
    encoder = encoded(
        table.flat, FunctionTransformer(), OneHotEncoder(handle_unknown="ignore", dtype=np.float32)
    )
    return make_pipeline(encoder, RandomForestClassifier(random_state=seed, n_jobs=1)), {}


def logistic(table: Table, settings: dict[str, Any], seed: int) -> Made:
    if issparse(table.X):
        return make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000)), {}
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    encoder = encoded(table.flat, numbers, OneHotEncoder(handle_unknown="ignore"))
    return make_pipeline(encoder, LogisticRegression(max_iter=1000)), {}


def ordinal(X: Any) -> tuple[Any, list[int]]:
    """Text as numbers of categories, behind the other columns; and which columns these are."""
    texts = text_columns(X)
    missing = {"encoded_missing_value": np.nan, "unknown_value": np.nan}
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", **missing)
    transformer = encoded(X, FunctionTransformer(as_dense, accept_sparse=True), encoder)
    return transformer, list(range(X.shape[1] - len(texts), X.shape[1]))


def boosting(table: Table, settings: dict[str, Any], seed: int) -> Made:
    encoder, categories = ordinal(table.flat)
    model = HistGradientBoostingClassifier(
        random_state=seed, categorical_features=categories or None
    )
    return make_pipeline(encoder, model), {}


def lightgbm(table: Table, settings: dict[str, Any], seed: int) -> Made:
    from lightgbm import LGBMClassifier

    encoder, categories = ordinal(table.flat)
    model = LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)
    return make_pipeline(encoder, model), {"lgbmclassifier__categorical_feature": categories}


def ebm(table: Table, settings: dict[str, Any], seed: int) -> Made:
    from interpret.glassbox import ExplainableBoostingClassifier

    texts = text_columns(table.flat)
    kinds = ["nominal" if k in texts else "continuous" for k in range(table.flat.shape[1])]
    model = ExplainableBoostingClassifier(feature_types=kinds, random_state=seed, n_jobs=1)
    return make_pipeline(FunctionTransformer(as_dense, accept_sparse=True), model), {}


class EachClass(ClassifierMixin, BaseEstimator):
    """A learner of 0 and 1 for each class; scikit-learn's asks for what imodels' have not."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def fit(self, X: Any, y: np.ndarray) -> EachClass:
        self.classes_ = np.unique(y)
        asked = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        self.models = [self.make().fit(X, (y == label).astype(int)) for label in asked]
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        shares = np.column_stack([model.predict_proba(X)[:, 1] for model in self.models])
        if len(self.models) == 1:
            return np.hstack([1 - shares, shares])
        shares = np.maximum(shares, 1e-9)  # that not all of a row are 0
        return shares / shares.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def imodels_learner(name: str) -> Callable[[Table, dict[str, Any], int], Made]:
    def make(table: Table, settings: dict[str, Any], seed: int) -> Made:
        import imodels

        numbers = make_pipeline(
            FunctionTransformer(as_dense, accept_sparse=True), SimpleImputer(strategy="median")
        )
        text = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        encoder = encoded(table.flat, numbers, text)
        learner = getattr(imodels, name)
        return make_pipeline(encoder, EachClass(lambda: learner(random_state=seed))), {}

    return make


class Tmu:
    """tmu's coalesced machine on the bits that cotm makes, as ``preset="paper"`` sets it.

    tmu 0.8.3 wants numpy < 2.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: Any, y: np.ndarray) -> Tmu:
        from tmu.models.classification.coalesced_classifier import TMCoalescedClassifier

        n_clauses, paper = cotm.CoTMClassifier().n_clauses, PRESETS["paper"]
        self.booleanizer = cotm.Booleanizer()
        bits = self.bits(self.booleanizer.fit_transform(X))
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.model = TMCoalescedClassifier(
            n_clauses,
            round(paper.margin[0] * n_clauses),
            paper.values["s"],
            platform="CPU",
            weighted_clauses=True,
            seed=self.seed + 1,
        )
        for _ in range(paper.epochs):
            self.model.fit(bits, codes.astype(np.uint32))
        return self

    def bits(self, bits: Any) -> np.ndarray:
        return np.asarray(as_dense(bits), dtype=np.uint32)

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.model.predict(self.bits(self.booleanizer.transform(X)))]


def tmu(table: Table, settings: dict[str, Any], seed: int) -> Made:
    return Tmu(seed), {}


OTHERS: dict[str, Callable[[Table, dict[str, Any], int], Made]] = {
    "forest": forest,
    "boosting": boosting,
    "logistic": logistic,
    "ebm": ebm,
    "lightgbm": lightgbm,
    "figs": imodels_learner("FIGSClassifier"),
    "rulefit": imodels_learner("RuleFitClassifier"),
    "boosted-rules": imodels_learner("BoostedRulesClassifier"),
    "tmu": tmu,
}
#: The library that a method needs, as it is imported.
LIBRARIES = {
    "ebm": "interpret",
    "lightgbm": "lightgbm",
    "figs": "imodels",
    "rulefit": "imodels",
    "boosted-rules": "imodels",
    "tmu": "tmu",
}
USUAL = ["cotm", "forest", "boosting", "logistic"]


def is_installed(method: str) -> bool:
    library = LIBRARIES.get(method)
    return library is None or importlib.util.find_spec(library) is not None


def measure(table: Table, method: str, settings: dict[str, Any], fold: int) -> dict[str, Any]:
    """Train on two folds, test on the third; times are processor seconds of this one process."""
    warnings.simplefilter("ignore")  # about columns and iterations, which are as they are
    splits = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(table.y, table.y)
    train, test = list(splits)[fold]
    X = table.flat if method in OTHERS else table.X
    model, options = OTHERS.get(method, cotm_classifier)(table, settings, fold)
    y, y_test = table.y[train], table.y[test]
    fit_seconds, _ = timed(lambda: model.fit(X[train], y, **options))
    predict_seconds, predicted = timed(lambda: model.predict(X[test]))
    common, counts = np.unique(y, return_counts=True)
    found = {
        "rows": len(table.y),
        "columns": int(X.shape[1]),
        "classes": len(np.unique(table.y)),
        "majority": float((y_test == common[counts.argmax()]).mean()),
        "accuracy": float((predicted == y_test).mean()),
        "balanced": float(balanced_accuracy_score(y_test, predicted)),
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
    }
    if hasattr(model, "predict_proba"):
        found["proba_seconds"], shares = timed(lambda: model.predict_proba(X[test]))
        found |= judged(np.asarray(shares, dtype=float), model.classes_, table.y, test)
    if method not in OTHERS:
        found |= size_of_rules(model)
    return {key: round(value, 5) for key, value in found.items()}


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def judged(shares: np.ndarray, known: np.ndarray, y: np.ndarray, test: np.ndarray) -> dict:
    """Log loss as in scikit-learn, and the mean AUC of each class against the rest."""
    classes = np.unique(y)
    columns = np.zeros((len(test), len(classes)))
    columns[:, np.searchsorted(classes, known)] = shares  # 0 for a class not seen in training
    columns /= columns.sum(axis=1, keepdims=True)
    truth = y[test]
    present = [k for k, label in enumerate(classes) if 0 < (truth == label).sum() < len(truth)]
    areas = [roc_auc_score(truth == classes[k], columns[:, k]) for k in present]
    found = {"log_loss": float(log_loss(truth, columns, labels=classes))}
    return found | ({"auc": float(np.mean(areas))} if areas else {})


def size_of_rules(model: Any) -> dict[str, Any]:
    """Rules that can vote; their mean number of literals, and of conditions in words."""
    rules = model.rules()
    lengths = [len(rule.conditions) for rule in rules]
    in_words = [len(rule.tests) for rule in rules]
    if not rules:
        return {"rules": 0}
    return {
        "rules": len(rules),
        "literals": float(np.mean(lengths)),
        "conditions": float(np.mean(in_words)),
    }
