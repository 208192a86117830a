"""Pictures show what models say; where they cannot, they say so."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from command_line import hiding
from sklearn.datasets import load_digits

import cotm

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")
from cotm import plotting  # noqa: E402


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"price $": rng.normal(size=200), "site": rng.choice(["n", "s"], 200)})
    X["noise"] = rng.normal(size=200)
    y = np.where(X["price $"] + (X["site"] == "s") > 0.5, "yes", "no")
    return cotm.CoTMClassifier(40, epochs=5, early_stopping=True, random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def digits():
    images, y = load_digits(return_X_y=True)
    images = images[:400].reshape(-1, 8, 8)
    bits = cotm.ImageThermometer(1)
    model = cotm.CoTMClassifier(
        40, epochs=3, average=1, patch_shape=(4, 4), booleanize=bits, random_state=0
    )
    return model.fit(images, y[:400]), images, y[:400]


def widths(display):
    return [patch.get_width() for patch in display.ax_.patches]


def test_rules(table):
    model, X, y = table
    display = plotting.RulesDisplay.from_estimator(model, X, y, label="yes", top=4)
    assert widths(display) == [rule.weights["yes"] for rule in model.rules(label="yes", top=4)]
    assert display.ax_.get_xlabel() == "votes for yes"
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert any(r"price \$" in name for name in names)  # no mathematics
    display.figure_.canvas.draw()
    strongest = plotting.RulesDisplay.from_estimator(model, top=3)
    assert sorted(map(abs, widths(strongest)), reverse=True) == [
        rule.strength for rule in model.rules(top=3)
    ]


def test_importance(table):
    model, X, _ = table
    display = plotting.ImportanceDisplay.from_estimator(model)
    assert np.allclose(widths(display), np.sort(model.feature_importances_)[::-1])
    last = int(model.feature_importances_.argmin())
    assert display.ax_.get_yticklabels()[-1].get_text().replace("\\", "") == X.columns[last]
    of_one = plotting.ImportanceDisplay.from_estimator(model, label="no", top=2)
    assert np.allclose(widths(of_one), np.sort(model.class_importances_[:, 0])[::-1][:2])
    with pytest.raises(ValueError, match="label='maybe' is not a class"):
        plotting.ImportanceDisplay.from_estimator(model, label="maybe")


@pytest.mark.parametrize("top", [1, 10])
def test_a_waterfall_ends_at_the_votes(table, top):
    model, X, _ = table
    said = model.explain(X[:5], X)
    display = plotting.ExplanationDisplay.from_explanation(said, i=2, label="yes", top=top)
    assert np.isclose(display.steps[0].start, said.base[1])
    assert display.steps[-1].end == model.votes(X)[2, 1]
    assert np.allclose(widths(display), [step.end - step.start for step in display.steps])
    ends = [step.end for step in display.steps[:-1]]
    assert ends == [step.start for step in display.steps[1:]]


def test_a_waterfall_of_a_quantity(table):
    _, X, _ = table
    model = cotm.CoTMRegressor(20, epochs=3, random_state=0).fit(X, X["price $"] * 100)
    display = plotting.ExplanationDisplay.from_estimator(model, X[:4], X, i=1)
    assert display.steps[-1].end == model.predict(X)[1]
    assert display.ax_.get_xlabel().startswith("prediction: ")


def test_learning_curves(table, digits):
    curve = plotting.LearningCurveDisplay.from_estimator(table[0])
    assert [line.get_label() for line in curve.ax_.lines] == ["training", "validation"]
    shown = curve.ax_.lines[1].get_ydata()
    assert list(shown) == [record["validation_accuracy"] for record in table[0].history_]
    assert len(plotting.LearningCurveDisplay.from_estimator(digits[0]).ax_.lines) == 1


def test_confusion_and_calibration(table):
    model, X, y = table
    confusion = plotting.ConfusionDisplay.from_estimator(model, X, y)
    assert confusion.matrix.sum() == 200 and confusion.labels == ["no", "yes"]
    assert np.isclose(np.trace(confusion.matrix) / 200, model.score(X, y))
    calibration = plotting.CalibrationDisplay.from_estimator(model, X, y)
    assert sum(bin_["count"] for bin_ in calibration.bins) == 200


def test_clauses_show_what_they_ask_for(digits):
    model, _, _ = digits
    display = plotting.ClausesDisplay.from_estimator(model, label=3, top=5)
    assert display.patches.shape == (5, 4, 4)
    grid, rule = model.machine_.spec.grid, display.rules[0]
    included, placed = model.memory_[rule.clause] >= 0, grid.n_features - 16
    expected = included[placed : grid.n_features].astype(int) - included[-16:]
    assert display.patches[0].ravel().tolist() == expected.tolist()
    assert f"3 {rule.weights[3]:+d}" in display.ax_[0, 0].get_title()


def test_firing_clauses_are_framed_where_they_fire(digits):
    model, images, _ = digits
    clause = model.rules(top=1)[0].clause
    fires = model.clause_outputs(images)[:, clause]
    display = plotting.FiringDisplay.from_estimator(model, images, clause, count=6)
    assert len(display.images) == min(6, fires.sum())
    assert np.array_equal(display.images[0], images[np.flatnonzero(fires)[0]])
    grid = model.machine_.spec.grid
    top, left, height, width = display.boxes[0]
    # The patch that is framed does fulfil the clause.
    bits = model.booleanizer_.transform(display.images[:1])[0, ..., 0]
    patch = bits[top : top + height, left : left + width].ravel()
    above = [top > t for t in range(grid.rows - 1)] + [left > t for t in range(grid.columns - 1)]
    features = np.concatenate([above, patch]).astype(bool)
    included = model.memory_[clause] >= 0
    assert np.concatenate([features, ~features])[included].all()


def test_heat_maps(digits):
    model, images, _ = digits
    display = plotting.HeatMapDisplay.from_estimator(model, images, i=7)
    shown = display.ax_.images[0].get_array()
    assert shown.shape == (8, 8)
    votes = model.votes(images[7:8])[0]
    assert np.isclose(shown.sum(), votes.max())


def test_what_is_no_image_is_refused(table):
    model, X, _ = table
    for make in (
        lambda: plotting.ClausesDisplay.from_estimator(model),
        lambda: plotting.FiringDisplay.from_estimator(model, X, 0),
        lambda: plotting.HeatMapDisplay.from_explanation(model.explain(X[:3])),
    ):
        with pytest.raises(ValueError, match=r"see (RulesDisplay|ExplanationDisplay)"):
            make()


def test_they_draw_on_axes_of_others(table):
    _, ax = matplotlib.pyplot.subplots()
    display = plotting.ImportanceDisplay.from_estimator(table[0], ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure


def test_without_matplotlib_it_is_said_what_to_install():
    code = hiding("matplotlib") + (
        "\nfrom cotm.plotting import LearningCurveDisplay\n"
        "LearningCurveDisplay([{'epoch': 1, 'train_accuracy': 0.5}]).plot()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'pip install "cotm[plot]"' in done.stderr


def test_outlines_follow_pixels():
    from cotm.plotting.explanations import _outline

    _, ax = matplotlib.pyplot.subplots()
    image = np.zeros((4, 4))
    image[1, 2] = 1.0
    _outline(ax, image, (2, 2))  # a map half as fine
    ends = np.concatenate([np.concatenate(lines.get_segments()) for lines in ax.collections])
    assert sorted({*map(tuple, ends.tolist())}) == [(0.5, 0.0), (0.5, 0.5), (1.0, 0.0), (1.0, 0.5)]


def test_rules_of_composites_are_measured(table):
    model, X, y = table
    both = cotm.join({"a": model, "b": model}, X)
    display = plotting.RulesDisplay.from_estimator(both, X, y, label="yes", sort="lift", top=4)
    assert display.rules == both.rules(X, y, label="yes", sort="lift", top=4)
    assert display.rules != both.rules(X, y, label="yes", top=4)


def test_long_rules_take_two_lines():
    from cotm.plotting.drawing import shortened

    first, second = shortened("if a $ > 1 and " * 12, 2).split("\n")
    assert first.replace("\\", "") == ("if a $ > 1 and " * 5)[:70].rstrip()
    assert second.startswith("and if a \\$ > 1 and if") and second.endswith("…")
    assert len(second.replace("\\", "")) == 70
    assert shortened("x" * 200, 2) == "x" * 69 + "…" and shortened("short", 2) == "short"
