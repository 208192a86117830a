"""One library, one task, in its own environment: trains, predicts, prints JSON.

Run by peers.py as ``python worker.py LIBRARY TASK DATA.npz EPOCHS SEED``. DATA holds bits:
x_train (N, 28, 28), y_train, x_test, y_test.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

TASKS = {
    "convolution-500": {"n": 500, "T": 625, "s": 10.0, "patch": (10, 10)},
    "convolution-5000": {"n": 5000, "T": 6250, "s": 10.0, "patch": (10, 10)},
    "flat-2000": {"n": 2000, "T": 5000, "s": 10.0, "patch": None},
}


def timed(call):
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def run_cotm(task, X, y, X_test, seed, epochs):
    from cotm import CoTMClassifier

    model = CoTMClassifier(
        task["n"], task["T"], task["s"], patch_shape=task["patch"], epochs=epochs, random_state=seed
    )
    model.fit(X, y)
    model.predict(X_test[:1])
    return [record["seconds"] for record in model.history_], timed(lambda: model.predict(X_test))


def run_tmu(task, X, y, X_test, seed, epochs):
    from tmu.models.classification.coalesced_classifier import TMCoalescedClassifier

    options = {} if task["patch"] is None else {"patch_dim": task["patch"]}
    model = TMCoalescedClassifier(
        task["n"],
        task["T"],
        task["s"],
        platform="CPU",
        weighted_clauses=True,
        seed=seed + 1,
        **options,
    )
    if task["patch"] is not None:
        X, X_test = X[..., None], X_test[..., None]
    X, X_test, y = X.astype(np.uint32), X_test.astype(np.uint32), y.astype(np.uint32)
    seconds = [timed(lambda: model.fit(X, y))[0] for _ in range(epochs)]
    model.predict(X_test[:1])
    return seconds, timed(lambda: model.predict(X_test))


def run_green(task, X, y, X_test, seed, epochs):
    import green_tsetlin as gt

    model = gt.TsetlinMachine(
        n_literals=X.shape[1], n_clauses=task["n"], n_classes=10, s=task["s"], threshold=task["T"]
    )
    trainer = gt.Trainer(
        model, seed=seed + 1, n_jobs=1, n_epochs=epochs, progress_bar=False, load_best_state=False
    )
    labels = y.astype(np.uint32)
    trainer.set_train_data(X, labels)
    trainer.set_eval_data(X[:100], labels[:100])
    result = trainer.train()
    predictor = model.get_predictor()
    predict = timed(lambda: np.array([predictor.predict(row) for row in X_test]))
    return result["train_time_of_epochs"], predict


RUNNERS = {"cotm": run_cotm, "tmu": run_tmu, "green-tsetlin": run_green}


def main() -> None:
    library, name, path, epochs, seed = sys.argv[1:]
    task = TASKS[name]
    data = np.load(path)
    X, X_test = data["x_train"], data["x_test"]
    if task["patch"] is None:
        X, X_test = X.reshape(len(X), -1), X_test.reshape(len(X_test), -1)
    seconds, (predict_seconds, predicted) = RUNNERS[library](
        task, X, data["y_train"], X_test, int(seed), int(epochs)
    )
    accuracy = float((np.ravel(predicted) == data["y_test"]).mean())
    print(
        json.dumps(
            {"epoch_seconds": seconds, "predict_seconds": predict_seconds, "accuracy": accuracy}
        )
    )


if __name__ == "__main__":
    main()
