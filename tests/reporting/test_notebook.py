"""What notebooks show of a model: what it is, and what it has learned."""

from __future__ import annotations

import html

import numpy as np
import pytest
from reported_models import DIGIT, DIGITS, HOSTILE, model
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import cotm
from cotm.reporting.notebook import model_html


def test_a_model_shows_its_strongest_rules_and_columns():
    fitted, _, _ = model("table")
    shown = fitted._repr_html_()
    assert shown.startswith(BaseEstimator._repr_html_inner(fitted)[:20])  # scikit-learn's diagram
    assert "3 epochs on 400 examples, to a training accuracy of" in shown
    assert f"{len(fitted.rules()):,} rules" in shown
    text = html.unescape(model_html(fitted))
    for rule in fitted.rules(top=5):
        assert rule.condition in text
    assert fitted.rules()[5].condition not in text
    first = fitted.feature_names_in_[fitted.feature_importances_.argmax()]
    assert first in text
    assert "<script" not in model_html(fitted) and "<img src=x" not in model_html(fitted)
    assert fitted._repr_mimebundle_()["text/html"].endswith(model_html(fitted))
    with config_context(display="text"):
        assert "text/html" not in fitted._repr_mimebundle_()


def test_a_model_that_knows_nothing_shows_no_rules():
    plain = cotm.CoTMClassifier()
    assert plain._repr_html_() and not model_html(plain)


def test_images_quantities_and_members():
    images, _, _ = model("images")
    assert "<img" in model_html(images)
    quantities = cotm.CoTMRegressor(10, epochs=2, random_state=0).fit(DIGITS, DIGIT)
    assert "to a training D² of" in model_html(quantities)
    piped = make_pipeline(
        FunctionTransformer(), cotm.CoTMClassifier(10, epochs=2, random_state=0)
    ).fit(DIGITS, DIGIT)
    single = cotm.CoTMClassifier(10, epochs=3, random_state=0).fit(DIGITS, DIGIT)
    text = model_html(cotm.join({"piped": piped, "single": single}, DIGITS))
    assert "piped: 2 epochs" in text and "single: 3 epochs" in text


@pytest.mark.parametrize("label", HOSTILE[:3])
def test_labels_are_text(label):
    y = np.where(DIGITS[:, 20] > 7, label, "other")
    shown = model_html(cotm.CoTMClassifier(4, epochs=1, random_state=0).fit(DIGITS, y))
    assert "<script" not in shown and "onerror='" not in shown
