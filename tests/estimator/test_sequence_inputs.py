"""Classifiers that read texts, sequences and series of numbers."""

import numpy as np
import pandas as pd
import pytest

import cotm
from cotm import CoTMClassifier, CoTMRegressor, Hypervectors, NGrams, TokenWindows
from cotm.rules import parse_rule

rng = np.random.default_rng(0)
FILL = np.array(["so", "it", "was", "the", "a", "film", "and", "then", "some"])


def ordered_texts(count):
    """Texts with both words, in one order or the other: no bag of words tells them apart."""
    y = np.arange(count) % 2
    texts = []
    for label in y:
        pair = ["not", "good"] if label else ["good", "not"]
        texts.append(" ".join([*rng.choice(FILL, rng.integers(7)), *pair, *rng.choice(FILL, 4)]))
    return texts, y


X, Y = ordered_texts(240)
READERS = {
    "bags": (NGrams(), {}),
    "pairs": (NGrams(longest=2, select="chi2", n_features=40), {}),
    "hypervectors": (Hypervectors(n_bits=256, longest=2), {}),
    "windows": (TokenWindows(width=2), {"patch_shape": (1,)}),
    "tokens": (TokenWindows(width=1), {"patch_shape": (2,)}),
    "drawn": (TokenWindows(codes="hypervectors", n_features=64), {"patch_shape": (1,)}),
}


def fitted(name, **options):
    booleanize, shape = READERS[name]
    options = {"epochs": 12, "random_state": 0, "booleanize": booleanize, **shape, **options}
    return CoTMClassifier(30, T=20, s=4, **options)


@pytest.mark.parametrize("name", READERS)
def test_classifiers_read_texts(name, tmp_path):
    model = fitted(name).fit(X[:160], Y[:160])
    score = model.score(X[160:], Y[160:])
    assert score < 0.7 if name == "bags" else score > 0.9
    assert model.n_features_in_ == 1
    model.save(tmp_path / "texts.cotm")
    again = cotm.load(tmp_path / "texts.cotm")
    assert (again.votes(X) == model.votes(X)).all() and again.score(X, Y) == model.score(X, Y)
    assert [str(rule) for rule in again.rules()] == [str(rule) for rule in model.rules()]
    again.fit(X[:160], Y[:160], resume=True)
    assert (again.votes(X) == model.votes(X)).all()
    for rule in model.rules(top=5):
        names = [str(f) for f in model._now().reader.booleanizer.describe()]
        assert parse_rule(str(rule)) is not None and names


def test_rules_say_the_order():
    model = fitted("windows").fit(X, Y)
    said = " ".join(str(rule) for rule in model.rules(label=1))
    assert "at(0) word = not" in said or "at(1) word = good" in said
    assert "pixel" not in said and "at(0) at(" not in said
    tokens = fitted("tokens").fit(X, Y)
    assert "at(1) word = good" in " ".join(str(rule) for rule in tokens.rules(label=1))


def test_no_clause_fires_on_padding_alone():
    """A text says the same whatever the longest training text was, but for where it is."""
    short, long = X, [*X, " ".join(["film"] * 40)]
    windows = TokenWindows(width=2, min_texts=3)
    few, many = windows.fit(short).transform(short), windows.fit(long).transform(short)
    assert many.shape[1] > few.shape[1]
    for one, other in zip(few, many, strict=True):
        assert {row.tobytes() for row in one} == {row.tobytes() for row in other}


def test_texts_come_as_lists_arrays_series_and_frames():
    one = fitted("pairs").fit(X, Y)
    votes = one.votes(X)
    for other in (np.array(X), np.array(X, dtype=object)[:, None], pd.Series(X), tuple(X)):
        assert (one.votes(other) == votes).all()
    frame = pd.DataFrame({"review": X})
    named = fitted("pairs").fit(frame, Y)
    assert (named.votes(frame) == votes).all()
    assert named.feature_names_in_.tolist() == ["review"]
    with pytest.raises(ValueError, match="X has 2 columns, but texts are read from one"):
        fitted("pairs").fit(pd.DataFrame({"review": X, "title": X}), Y)
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(pd.DataFrame({"text": X}))


def test_other_calls_take_texts_too():
    model = fitted("pairs", early_stopping=True, patience=3).fit(X, Y)
    again = fitted("pairs", scoring="balanced_accuracy").fit(X, Y, eval_set=(X[:20], Y[:20]))
    assert again.history_
    explained = model.explain(X[:4])
    total = explained.contributions.sum(axis=1) + explained.base
    assert np.allclose(total, model.votes(X[:4]))
    assert any("good" in name or "not" in name for name in explained.feature_names)
    partial = fitted("windows")
    partial.partial_fit(X[:100], Y[:100], classes=[0, 1]).partial_fit(X[100:], Y[100:])
    assert partial.predict(X).shape == (240,)
    located = fitted("windows").fit(X, Y).explain(X[:2])
    assert located.contributions.shape[0] == 2
    parts = cotm.join([("one", model), ("two", again)])
    assert parts.predict(X).shape == (240,)


def test_numbers_of_any_length_are_read(tmp_path):
    level = rng.integers(2, size=120)
    X = [list(rng.normal(size=rng.integers(3, 9)) + 3 * v) for v in level]
    for booleanize, shape in (
        (Hypervectors("numbers", 128, 16), {}),
        (TokenWindows("numbers", 2, levels=6), {"patch_shape": (1,)}),
    ):
        model = CoTMClassifier(20, T=15, epochs=8, booleanize=booleanize, random_state=0, **shape)
        assert model.fit(X, level).score(X, level) > 0.9
        assert any(">" in str(r) or "above" in str(r) or "up to" in str(r) for r in model.rules())
    quantity = CoTMRegressor(40, epochs=8, booleanize=NGrams(min_texts=1), random_state=0)
    texts = ["cheap"] * 20 + ["dear thing"] * 20
    assert quantity.fit(texts, [1.0] * 20 + [5.0] * 20).score(texts, [1.0] * 20 + [5.0] * 20) > 0.9


def test_what_does_not_fit_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"NGrams makes one row of bits of each; use TokenWindows"):
        fitted("pairs", patch_shape=(2,)).fit(X, Y)
    with pytest.raises(ValueError, match=r"set patch_shape, for windows of texts to \(1,\)"):
        fitted("windows", patch_shape=None).fit(X, Y)
    with pytest.raises(ValueError, match=r"image_shape=\(2,\) makes images of rows, but Tok"):
        fitted("windows", image_shape=(2,)).fit(X, Y)
    model = fitted("pairs").fit(X, Y)
    with pytest.raises(ValueError, match="reads texts or sequences, which no format does"):
        model.export(tmp_path / "model.json")
    model.export(tmp_path / "model.json", inputs="bits")
    for name in ("pairs", "windows"):
        fitted(name).fit(X, Y).report(tmp_path / f"{name}.html", X[:50], Y[:50])
    with pytest.raises(ValueError, match="changes cells of X one by one"):
        model.counterfactual(X[0])
