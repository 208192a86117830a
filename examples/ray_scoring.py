"""Ray: a Dataset scored batch by batch, and a search over its workers.

pip install cotm "ray[data]" pandas
"""

import tempfile
from pathlib import Path

import joblib
import pandas as pd
import ray
from ray.util.joblib import register_ray
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split

import cotm


class Scorer:
    """An actor of Ray: it reads the model once, and then scores whatever batches come."""

    def __init__(self, path: str) -> None:
        self.model = cotm.load(path).set_params(n_jobs=1)  # a thread for each actor

    def __call__(self, batch: pd.DataFrame) -> pd.DataFrame:
        rows = batch[list(self.model.feature_names_in_)]
        return batch[["row"]].assign(
            label=self.model.predict(rows),
            probability=self.model.predict_proba(rows).max(axis=1),
        )


def main() -> None:
    data = load_breast_cancer(as_frame=True)
    names = data.target_names[data.target]
    X, X_test, y, y_test = train_test_split(data.data, names, random_state=0)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")

    # scikit-learn's searches run on Ray by joblib.
    register_ray()
    with joblib.parallel_backend("ray"):
        search = GridSearchCV(
            cotm.CoTMClassifier(100, epochs=5, random_state=0), {"s": [3.0, 5.5]}, cv=2, n_jobs=2
        ).fit(X, y)
    print(f"s={search.best_params_['s']}, score {search.best_score_:.3f}")

    model = cotm.CoTMClassifier(200, random_state=0, **search.best_params_).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tumours.cotm"
        model.save(path)
        rows = X_test.reset_index(drop=True).rename_axis("row").reset_index()
        scored = (
            ray.data.from_pandas(rows)
            .repartition(4)
            .map_batches(
                Scorer, fn_constructor_args=[str(path)], batch_format="pandas", concurrency=1
            )
            .to_pandas()
            .sort_values("row")
        )
    ray.shutdown()
    assert (scored["label"].to_numpy() == model.predict(X_test)).all()
    print(f"accuracy {(scored['label'].to_numpy() == y_test).mean():.3f}")


if __name__ == "__main__":
    main()
