"""One library, one task, in its own environment and process: trains, predicts, prints JSON.

Run by peers.py as ``python worker.py JOB``, where JOB is JSON: library, options, the task's
settings, the folder of the data, rows, test_rows, epochs, seed, threads. It imports nothing of
this repository, since the peers' environment has none of it.

Times favour the library: data are brought into the form it wants before the clock starts, and for
the peers, what they compile once before predicting is not counted.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix


def timed(call):
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def predict_timed(predict, again=lambda: None):
    """Median seconds of up to five predictions of all rows, about a second in all; the result."""
    seconds = []
    while len(seconds) < 5 and sum(seconds) < 1:
        again()
        second, result = timed(predict)
        seconds.append(second)
    return statistics.median(seconds), np.ravel(result)


def load(job):
    """X, y, X_test, y_test: images (N, 28, 28), their bits (N, 784), or a sparse matrix."""
    folder = Path(job["data"])

    def array(name, count):
        return np.load(folder / f"{name}.npy", mmap_mode="r")[:count]

    def matrix(name, count):
        if (folder / f"x_{name}.npy").exists():
            bits = np.ascontiguousarray(array(f"x_{name}", count))
            return bits if job["patch"] else bits.reshape(len(bits), -1)
        ends = np.array(array(f"{name}_indptr", count + 1))
        indices = np.array(array(f"{name}_indices", ends[-1]))
        values = np.ones(len(indices), dtype=np.uint8)
        return csr_matrix((values, indices, ends), shape=(len(ends) - 1, job["n_features"]))

    rows, test_rows = job["rows"], job["test_rows"]
    return (
        matrix("train", rows),
        np.array(array("y_train", rows)),
        matrix("test", test_rows),
        np.array(array("y_test", test_rows)),
    )


def run_cotm(job, X, y, X_test):
    from cotm import CoTMClassifier

    options = {"T": job["T"], "s": job["s"], "preset": "paper", **job["options"]}
    model = CoTMClassifier(
        job["n_clauses"],
        patch_shape=job["patch"] and tuple(job["patch"]),
        epochs=job["epochs"],
        random_state=job["seed"],
        n_jobs=job["threads"],
        **options,
    )
    model.fit(X, y)
    model.predict(X_test[:1])  # the first prediction loads modules, which is not to be timed
    return [record["seconds"] for record in model.history_], lambda: model.predict(X_test)


def run_tmu(job, X, y, X_test):
    from tmu.models.classification.coalesced_classifier import TMCoalescedClassifier

    model = TMCoalescedClassifier(
        job["n_clauses"],
        job["T"],
        job["s"],
        platform="CPU",
        weighted_clauses=True,
        seed=job["seed"] + 1,
        **({"patch_dim": tuple(job["patch"])} if job["patch"] else {}),
        **job["options"],
    )
    if job["patch"]:
        X, X_test = X[..., None], X_test[..., None]
    elif not isinstance(X, np.ndarray):
        X, X_test = X.toarray(), X_test.toarray()
    X, X_test, y = X.astype(np.uint32), X_test.astype(np.uint32), y.astype(np.uint32)
    seconds = [timed(lambda: model.fit(X, y))[0] for _ in range(job["epochs"])]
    model.predict(X_test[:1])

    def forget():  # otherwise a second prediction would find the same rows encoded already
        model.X_test = np.zeros(0, dtype=np.uint32)

    return seconds, lambda: model.predict(X_test), forget


def run_green(job, X, y, X_test):
    import green_tsetlin as gt

    dense = isinstance(X, np.ndarray)
    model = (gt.TsetlinMachine if dense else gt.SparseTsetlinMachine)(
        n_literals=X.shape[1],
        n_clauses=job["n_clauses"],
        n_classes=int(y.max()) + 1,
        s=job["s"],
        threshold=job["T"],
        **job["options"],
    )
    trainer = gt.Trainer(
        model,
        seed=job["seed"] + 1,
        n_jobs=job["threads"],
        n_epochs=job["epochs"],
        progress_bar=False,
        load_best_state=False,
        early_exit_acc=2.0,  # never: all epochs count
    )
    labels = y.astype(np.uint32)
    trainer.set_train_data(X, labels)
    trainer.set_eval_data(X[:10], labels[:10])  # it insists on some; they are not timed
    seconds = trainer.train()["train_time_of_epochs"]
    # One at a time: it has no prediction of a batch that works.
    predictor = model.get_predictor()
    rows = X_test if dense else X_test.toarray()
    return seconds, lambda: np.array([predictor.predict(row) for row in rows])


RUNNERS = {"cotm": run_cotm, "tmu": run_tmu, "green-tsetlin": run_green}


def peak_bytes() -> int:
    """Peak resident memory of this process."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux, getrusage includes the peak of the process that started this
        lines = status.read_text().splitlines()
        return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    job = json.loads(sys.argv[1])
    X, y, X_test, y_test = load(job)
    epoch_seconds, *predict = RUNNERS[job["library"]](job, X, y, X_test)
    predict_seconds, predicted = predict_timed(*predict)
    result = {
        "epoch_seconds": epoch_seconds,
        "predict_seconds": predict_seconds,
        "accuracy": float((predicted == y_test).mean()),
        "peak_bytes": peak_bytes(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
