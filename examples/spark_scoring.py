"""Spark: a DataFrame scored partition by partition, with mapInPandas.

pip install cotm pyspark pandas pyarrow    (and Java 17)
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from pyspark import SparkFiles
from pyspark.sql import SparkSession
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import cotm


def score(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Labels and probabilities of the rows of a partition; the model is read once for all."""
    model = cotm.load(SparkFiles.get("tumours.cotm")).set_params(n_jobs=1)
    for batch in batches:
        rows = batch[list(model.feature_names_in_)]
        yield pd.DataFrame(
            {
                "row": batch["row"],
                "label": model.predict(rows),
                "probability": model.predict_proba(rows).max(axis=1),
            }
        )


def main() -> None:
    data = load_breast_cancer(as_frame=True)
    names = data.target_names[data.target]
    X, X_test, y, y_test = train_test_split(data.data, names, random_state=0)
    model = cotm.CoTMClassifier(200, random_state=0).fit(X, y)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # where cotm is installed
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tumours.cotm"
        model.save(path)
        spark.sparkContext.addFile(str(path))  # to every worker
        rows = X_test.reset_index(drop=True).rename_axis("row").reset_index()
        scored = (
            spark.createDataFrame(rows)
            .repartition(2)
            .mapInPandas(score, "row long, label string, probability double")
            .toPandas()
            .sort_values("row")
        )
    spark.stop()
    assert (scored["label"].to_numpy() == model.predict(X_test)).all()
    print(f"accuracy {(scored['label'].to_numpy() == y_test).mean():.3f}")


if __name__ == "__main__":
    main()
