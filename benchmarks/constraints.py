"""What constraints cost: accuracy without them, and with columns that are monotone or forbidden.

    python benchmarks/constraints.py

Prints means over two times five folds, with their standard errors, for ``docs/rules.md``. Columns
are monotone that plainly go with the class; two or one are forbidden for one class each. "by
weights" keeps all conditions and sets the weights to 0 that break a constraint.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import StratifiedKFold

from cotm import Constraints, CoTMClassifier, TMClassifier
from cotm.model.constraints import Limits


def tables() -> dict[str, tuple[Any, Any, Constraints, Constraints]]:
    """Data, labels, and two kinds of constraints."""
    cancer, diabetes = load_breast_cancer(), load_diabetes()
    ill = diabetes.target > 140
    falling = {
        k: -1 for k in range(30) if np.corrcoef(cancer.data[:, k], cancer.target)[0, 1] < -0.3
    }
    return {
        "breast cancer": (
            cancer.data,
            cancer.target,
            Constraints(monotone=falling),
            Constraints(forbid={5: [0], 20: [1]}),
        ),
        "diabetes above 140": (
            diabetes.data,
            ill.astype(int),
            Constraints(monotone={2: 1, 3: 1, 8: 1}),
            Constraints(forbid={0: [1], 4: [0]}),
        ),
    }


def by_weights(limits: Limits, rule: Any, included: Any, weights: Any, free: Any) -> None:
    """In place of excluding conditions."""
    ways = np.sign(weights) * rule.ways
    weights[(ways < 0) & included[:, rule.rising].any(axis=1)[:, None]] = 0
    weights[(ways > 0) & included[:, rule.falling].any(axis=1)[:, None]] = 0


def accuracies(kind: Any, X: Any, y: Any, constraints: Constraints | None) -> list[float]:
    """Of 200 clauses, on the folds that were held out."""
    found = []
    for seed in range(2):
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        for train, test in folds.split(X, y):
            model = kind(200, constraints=constraints, random_state=seed, n_jobs=1)
            model.fit(X[train], y[train])
            assert model.check() == []
            found.append(100 * model.score(X[test], y[test]))
    return found


def main() -> None:
    print("| table | classifier | free | monotone | monotone, by weights | forbidden |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, (X, y, monotone, forbidden) in tables().items():
        for kind in (CoTMClassifier, TMClassifier):
            cells = []
            for constraints in (None, monotone, "by weights", forbidden):
                if constraints == "by weights":
                    if kind is TMClassifier:  # a weight of 0 wastes its clause
                        cells.append("")
                        continue
                    with patch.object(Limits, "_straighten", by_weights):
                        found = accuracies(kind, X, y, monotone)
                else:
                    found = accuracies(kind, X, y, constraints)
                error = np.std(found) / len(found) ** 0.5
                cells.append(f"{np.mean(found):.2f} ± {error:.2f}")
            print(f"| {name} | `{kind.__name__}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
