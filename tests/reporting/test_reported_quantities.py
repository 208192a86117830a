"""Reports of regressors: figures, and a page that predicts what Python does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from browser import Opened, browser, why_missing
from sklearn.metrics import mean_absolute_error, r2_score

import cotm
from cotm.reporting.data import Options, gather
from cotm.reporting.facts import what_it_is

RNG = np.random.default_rng(3)
X = pd.DataFrame({"size": RNG.normal(size=300), "site": RNG.choice([*"ab"], 300)})
X.loc[::17, "size"] = np.nan
ONE = 1000 + 50 * X["size"].fillna(1) + 30 * (X["site"] == "a")
TWO = pd.DataFrame({"price": ONE, "rent": ONE * RNG.normal(1, 0.01, 300)})
NEW = pd.DataFrame({"size": RNG.normal(size=200), "site": RNG.choice([*"abc"], 200)})


def fitted(y, **more):
    few = {"n_clauses": 20, "epochs": 4, "random_state": 0}
    return cotm.CoTMRegressor(**{**few, **more}).fit(X, y)


def test_figures_are_those_of_scikit_learn():
    model = fitted(TWO)
    found = gather(model, X, TWO, Options(n_examples=50))
    summary, details = found.summary, found.details
    assert summary["quantities"] and summary["classes"] == ["price", "rent"]
    assert [target["target"] for target in summary["scores"]["targets"]] == ["price", "rent"]
    predicted = model.predict(X)
    for k, target in enumerate(summary["scores"]["targets"]):
        true = TWO.iloc[:, k]
        assert np.isclose(target["r2"], r2_score(true, predicted[:, k]), rtol=1e-12)
        error = mean_absolute_error(true, predicted[:, k])
        assert np.isclose(target["mean_absolute_error"], error, rtol=1e-12)
        np.testing.assert_array_equal(target["points"], np.stack([true, predicted[:, k]], axis=1))
    rows = details["examples"]["numbers"]
    assert details["examples"]["labels"] == TWO.iloc[rows].to_numpy().tolist()
    assert details["examples"]["predicted"] == predicted[rows].tolist()
    assert "2 quantities" in what_it_is(model, model._description(), 3)
    assert ["Targets", "2: price, rent"] in summary["facts"]


def test_wrong_y_is_refused():
    model = fitted(ONE)
    with pytest.raises(ValueError, match="y has 2 columns of quantities"):
        gather(model, X, TWO, Options())
    with pytest.raises(ValueError, match=r"could not convert"):
        gather(model, X, X["site"], Options())
    with pytest.raises(ValueError, match="y is given without X"):
        gather(model, None, ONE, Options())
    with pytest.warns(UserWarning, match="R\\^2 score is not well-defined"):
        found = gather(model, X[:1], ONE[:1], Options())
    assert found.summary["scores"]["targets"][0]["r2"] is None
    assert gather(model, None, None, Options()).summary["scores"] is None


@pytest.mark.skipif(bool(why_missing()), reason=why_missing())
@pytest.mark.parametrize("y", [ONE, TWO], ids=["one", "two"])
def test_the_page_predicts_as_python_does(y, tmp_path):
    model, path = fitted(y), tmp_path / "report.html"
    model.report(path, X, y, n_examples=40, n_background=15)
    rows = NEW.to_numpy().tolist()
    with browser() as program, Opened(program, path) as page:
        assert page.inner_text("#scores-title") == "Accuracy"
        found = page.evaluate("rows => rows.map(row => [report.model.predict(row)].flat())", rows)
        assert found == model.predict(NEW).reshape(len(NEW), -1).tolist()
        page.select_option("#chosen", "3")
        numbers = page.evaluate("report.details.examples.numbers")
        row = X.iloc[[numbers[3]]]
        (value, *_) = np.ravel(model.predict(row))
        shown = page.eval_on_selector_all(
            "#why tbody tr", "rows => rows.map(e => [...e.children].map(c => c.innerText))"
        )
        said = [(name, float(text.replace("−", "-").replace(",", ""))) for name, text, _ in shown]
        why = model.explain(
            row, X.iloc[numbers].iloc[page.evaluate("report.details.examples.background")]
        )
        assert said[0][0] == "On average" and np.isclose(said[0][1], why.base[0], rtol=1e-3)
        assert said[-1][0] == "Prediction" and np.isclose(said[-1][1], value, rtol=1e-3)
        steps = {name.split(" = ")[0]: step for name, step in said[1:-1]}
        expected = why.contributions[0, :, 0]
        assert np.allclose([steps["size"], steps["site"]], expected, atol=0.06)
        page.fill("#field-0 ~ input", "2.5")
        page.keyboard.press("Tab")
        page.wait_for_timeout(100)
        changed = row.assign(size=2.5)
        assert page.evaluate("report.explorer.now.votes") == model.votes(changed)[0].tolist()
        assert page.locator("#votes th", has_text="Before").count() == 1
