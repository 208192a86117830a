"""Whether thresholds near the ends of columns pay: accuracy and log loss with more of them.

    python benchmarks/thresholds.py FOLDER

The data are those of tables.py: a folder of CSV files with the class in the last column, and a
generated table whose rare class lies at the ends of two columns. The booleanizer's thresholds lie
at sixteenths of a column's values; here bits at the ends join them, or there are more everywhere.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from tables_data import Table, load, sources
from tables_methods import N_FOLDS, judged, text_columns

import cotm

#: The shares of a column's values that lie beyond the bits that join, at either end.
ENDS = {"as it is": (), "1/32": (1 / 32,), "1/32 and 1/64": (1 / 32, 1 / 64), "32nds": ()}


def bits_of(table: Table, variant: str, train: np.ndarray, test: np.ndarray) -> tuple[Any, Any]:
    """Bits of the rows to train on and to test on."""
    n_bits = 31 if variant == "32nds" else 15
    booleanizer = cotm.Booleanizer(n_bits).fit(table.X[train])
    texts = text_columns(table.X)
    numbers = [k for k in range(table.X.shape[1]) if k not in texts]
    X = table.X[:, numbers].astype(float)
    found = [[booleanizer.transform(table.X[rows])] for rows in (train, test)]
    for column in X.T:
        known = np.unique(column[train][~np.isnan(column[train])])
        if len(known) <= n_bits + 1:
            continue  # every gap has a bit
        for share in ENDS[variant]:
            for at in (share, 1 - share):
                threshold = np.nanquantile(column[train], at, method="lower")
                for bits, rows in zip(found, (train, test), strict=True):
                    bits.append((column[rows] > threshold).astype(np.uint8)[:, None])
    return tuple(np.hstack(parts) for parts in found)


def measure(table: Table, variant: str) -> tuple[float, float]:
    """Accuracy in percent and log loss, means over the folds of tables.py."""
    splits = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(table.y, table.y)
    found = []
    for fold, (train, test) in enumerate(splits):
        X, X_test = bits_of(table, variant, train, test)
        model = cotm.CoTMClassifier(n_jobs=1, random_state=fold).fit(X, table.y[train])
        loss = judged(model.predict_proba(X_test), model.classes_, table.y, test)["log_loss"]
        found.append((100 * model.score(X_test, table.y[test]), loss))
    return tuple(np.mean(found, axis=0))


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    results = {}
    for name in sources(folder):
        if name.startswith(("tables/", "edge/")):
            table = load(name, folder)
            results[name] = np.array([measure(table, variant) for variant in ENDS])
            said = (f"{accuracy:6.1f} {loss:.3f}" for accuracy, loss in results[name])
            print(f"{name:24}", "  ".join(said), flush=True)
    tables = np.array([found for name, found in results.items() if name.startswith("tables/")])
    for number, variant in enumerate(ENDS):
        if len(tables) > 1:
            apart = tables[:, number] - tables[:, 0]
            errors = apart.std(axis=0, ddof=1) / len(apart) ** 0.5
            print(
                f"{variant}: {apart[:, 0].mean():+.2f} ± {errors[0]:.2f} points, log loss "
                f"{apart[:, 1].mean():+.4f} ± {errors[1]:.4f}"
            )


if __name__ == "__main__":
    main()
