"""Words and phrases of texts as bits."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import cotm
from cotm import CoTMClassifier
from cotm.booleanize import SetOfWords


def test_set_of_words_takes_the_words_that_tell():
    texts = ["a good film", "a bad film", "good fun", "bad luck"] * 5
    words = SetOfWords(n_features=3, n_grams=2, min_texts=2).fit(texts, [1, 0, 1, 0] * 5)
    assert {"good", "bad"} < set(words.names_) and len(words.names_) == 3
    bits = words.transform(["good good bad", ""])
    assert bits.shape == (2, 3) and bits.max() == 1 and bits[[1]].sum() == 0


def test_a_small_class_has_as_much_say_in_the_words():
    rare, often = ["superb plot"] * 3 + ["plot"], ["dull story"] * 10 + ["story superb"] * 30
    words = SetOfWords(n_features=2, n_grams=1).fit(rare + often, [1] * 4 + [0] * 40)
    assert words.names_ == ["plot", "story"]
    again = SetOfWords(n_features=2, n_grams=1).fit(rare + 5 * often, [1] * 4 + [0] * 200)
    assert again.names_ == words.names_


def test_rules_behind_words_name_them(tmp_path):
    texts = ["a good film", "a bad film", "good fun", "bad luck"] * 20
    y = ["praise", "blame"] * 40
    words = SetOfWords(n_features=2, n_grams=1, min_texts=1)
    model = make_pipeline(words, CoTMClassifier(10, T=20, s=3.0, epochs=5, random_state=0))
    model.fit(texts, y)
    assert model.score(texts, y) == 1
    bits = words.transform(texts)
    assert sp.issparse(bits) and bits.dtype == np.uint8
    assert [str(feature) for feature in words.describe()] == ["bad", "good"]
    assert words.get_feature_names_out().tolist() == ["bad", "good"]
    rule = model[-1].rules(label="praise", top=1)[0]
    assert "good" in str(rule) or "not bad" in str(rule)
    # The model file keeps what the bits mean, though not how texts become bits.
    model[-1].save(tmp_path / "words.cotm")
    assert str(cotm.load(tmp_path / "words.cotm").rules(label="praise", top=1)[0]) == str(rule)


@pytest.mark.parametrize("name", ["n_features", "n_grams", "min_texts"])
@pytest.mark.parametrize("value", [0, 1.5, "many", None, True])
def test_parameters_of_words_are_checked(name, value):
    with pytest.raises(ValueError, match=f"{name}=.* must be an integer from 1 up"):
        SetOfWords(**{name: value}).fit(["a text"], [1])


def test_words_need_labels():
    with pytest.raises(ValueError, match="y=None must be the labels"):
        SetOfWords().fit(["a text"])
    with pytest.raises(ValueError, match=r"y has the shape \(1,\), .* each of the 2 texts"):
        SetOfWords().fit(["a text", "another"], [1])


def test_words_are_learned_by_fit_alone():
    words = SetOfWords(n_features=2, n_grams=1, min_texts=1).fit(["good", "bad"], [1, 0])
    fresh = clone(words)
    assert fresh.get_params() == words.get_params()
    for call in (fresh.describe, fresh.get_feature_names_out, lambda: fresh.transform(["good"])):
        with pytest.raises(ValueError, match="not fitted"):
            call()
    again = pickle.loads(pickle.dumps(words))
    assert (again.transform(["good"]).toarray() == words.transform(["good"]).toarray()).all()
