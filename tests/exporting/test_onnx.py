"""ONNX exports, run by onnxruntime."""

import export_models
import numpy as np
import pandas as pd
import pytest
from test_c import TEXTS, read_by

import cotm
from cotm.exporting import CannotExportError, export

pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
REFUSED = {
    name for name in export_models.MODELS if name.startswith(("edges", "gradients", "joined by"))
}


def run(path, numbers, texts=None):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = {"X": np.asarray(numbers, dtype=np.float64)}
    if texts is not None:
        given["texts"] = np.where(texts == None, "", texts).astype(object)  # noqa: E711
    return session.run(["label", "votes", "probabilities"], given)


@pytest.mark.parametrize("name", sorted({*export_models.MODELS} - REFUSED))
def test_outputs_are_the_models(name, tmp_path):
    model, X = export_models.model(name)
    model.export(tmp_path / "m.onnx")
    labels, votes, probabilities = run(tmp_path / "m.onnx", *read_by(name, X))
    assert votes.dtype == np.int64 and np.array_equal(votes, model.votes(X))
    expected = model.predict(X)
    assert labels.tolist() == (expected.astype(str) if name in TEXTS else expected).tolist()
    assert np.allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_odd_shapes(seed, tmp_path):
    description, bits, votes = export_models.odd(seed, largest=300_000)
    export(description, tmp_path / "m.onnx")
    assert np.array_equal(run(tmp_path / "m.onnx", bits)[1], votes)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_onnx_cannot_say_is_refused(name, tmp_path):
    model, X = export_models.model(name)
    with pytest.raises(CannotExportError, match="ONNX cannot hold exactly"):
        model.export(tmp_path / "m.onnx")
    assert not [*tmp_path.iterdir()]
    if "joined" not in name:
        model.export(tmp_path / "m.onnx", inputs="bits")
        bits = model.booleanizer_.transform(X).reshape(len(X), -1)
        assert np.array_equal(run(tmp_path / "m.onnx", bits)[1], model.votes(X))


def test_an_empty_text_that_is_not_a_missing_one_is_refused(tmp_path):
    X = pd.DataFrame({"a": ["", "y", None, "z"] * 10})
    model = cotm.CoTMClassifier(4, epochs=1).fit(X, [0, 1] * 20)
    with pytest.raises(CannotExportError, match="has the category ''"):
        model.export(tmp_path / "m.onnx")
