"""JSON exports say all that the model knows, and nothing else."""

import json

import export_models
import numpy as np
import pandas as pd
import pytest
import schema

import cotm
from cotm.exporting import export

ROWS = 25


def rows_of(X):
    if isinstance(X, pd.DataFrame):
        numbers, texts = export_models.cells(X)
        cells = np.where(texts != None, texts, numbers.astype(object))  # noqa: E711
        return cells.tolist()
    return np.asarray(X).reshape(len(X), -1).tolist()


@pytest.mark.parametrize("name", export_models.MODELS)
def test_votes_and_labels_are_the_models(name, tmp_path):
    model, X = export_models.model(name)
    X = X[:ROWS]
    model.export(tmp_path / "m.json")
    data = json.loads((tmp_path / "m.json").read_text())
    votes = [schema.votes(data, row) for row in rows_of(X)]
    assert votes == model.votes(X).tolist()
    assert [schema.labels(data, v) for v in votes] == model.predict(X).tolist()


@pytest.mark.parametrize("seed", range(25))
def test_odd_shapes(seed, tmp_path):
    description, bits, votes = export_models.odd(seed, largest=200_000)
    export(description, tmp_path / "m.json")
    data = json.loads((tmp_path / "m.json").read_text())
    assert [schema.votes(data, row) for row in bits.tolist()] == votes.tolist()


def test_bits_are_read_instead_of_the_table(tmp_path):
    model, X = export_models.model("table")
    model.export(tmp_path / "m.json", inputs="bits")
    data = json.loads((tmp_path / "m.json").read_text())
    bits = model.booleanizer_.transform(X[:ROWS])
    assert [schema.votes(data, row) for row in bits.tolist()] == model.votes(X[:ROWS]).tolist()
    names = [column["name"] for column in data["members"][0]["input"]["columns"]]
    assert names == model.booleanizer_.get_feature_names_out().tolist()


def test_probabilities_can_be_computed(tmp_path):
    model, X = export_models.model("flat")
    model.export(tmp_path / "m.json")
    data = json.loads((tmp_path / "m.json").read_text())
    logits = model.votes(X) / data["margin"] * data["sharpness"]
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert np.allclose(expected, model.predict_proba(X), atol=1e-12)


def test_bits_of_images_in_several_ways(tmp_path):
    union = cotm.ImageUnion([cotm.GradientHistogram(4, 2), cotm.ImageThermometer(2)])
    X = export_models.BYTES
    model = export_models._small(patch_shape=(1, 1), booleanize=union).fit(X, export_models.DIGIT)
    with pytest.raises(ValueError, match="an ImageUnion reads images in several ways"):
        model.export(tmp_path / "m.json")
    model.export(tmp_path / "m.json", inputs="bits")
    data = json.loads((tmp_path / "m.json").read_text())
    bits = model.booleanizer_.transform(X[:ROWS]).reshape(ROWS, -1)
    assert [schema.votes(data, row) for row in bits.tolist()] == model.votes(X[:ROWS]).tolist()
