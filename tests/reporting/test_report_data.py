"""What reports are made of: equal to the model's own answers and scikit-learn's scores."""

import base64
import gzip
import json
import re

import numpy as np
import pandas as pd
import pytest
from reported_models import DIGIT, DIGITS, HOSTILE, MODELS, WORDS, head, model, options, table
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import KBinsDiscretizer

import cotm
from cotm import CoTMClassifier
from cotm.reporting.data import Options, gather
from cotm.reporting.examples import chosen_rows
from cotm.reporting.page import SCRIPTS, page, script_text


def gathered(name, **more):
    fitted, X, y = model(name)
    return gather(fitted._unchanging(), X, y, Options(**{**options(name), **more}))


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_scikit_learn(name):
    fitted, X, y = model(name)
    scores = gathered(name).summary["scores"]
    predicted, proba = fitted.predict(X), fitted.predict_proba(X)
    assert scores["rows"] == len(y)
    assert scores["accuracy"] == (predicted == y).mean()
    if y.ndim == 2:
        assert scores["all_labels_right"] == metrics.accuracy_score(y, predicted)
        said, right = proba.ravel(), y.ravel()
        loss = np.mean([metrics.log_loss(y[:, k], proba[:, k]) for k in range(y.shape[1])])
        rows = scores["labels"]
    else:
        assert scores["confusion_matrix"]["true_by_predicted"] == (
            metrics.confusion_matrix(y, predicted).tolist()
        )
        said, right = proba.max(axis=1), predicted == y
        loss = metrics.log_loss(y, proba, labels=fitted.classes_)
        rows = scores["classes"]
    expected = metrics.precision_recall_fscore_support(y, predicted, zero_division=0)
    keys = ("precision", "recall", "f1", "support")
    assert [[row[key] for row in rows] for key in keys] == [part.tolist() for part in expected]
    shares, means = calibration_curve(right, said, n_bins=10)
    found = scores["calibration"]
    assert np.allclose([[b["right"], b["mean"]] for b in found["bins"]], np.c_[shares, means])
    assert sum(b["count"] for b in found["bins"]) == len(said)
    assert np.isclose(found["log_loss"], loss)
    counts = np.array([b["count"] for b in found["bins"]])
    assert np.isclose(found["error"], (counts * np.abs(shares - means)).sum() / counts.sum())


@pytest.mark.parametrize("name", MODELS)
def test_examples_are_the_rows_and_their_labels(name):
    fitted, X, y = model(name)
    shown = gathered(name, n_examples=90).details["examples"]
    numbers = shown["numbers"]
    assert shown["of"] == len(y) and len(numbers) == len(shown["rows"]) == 90
    classes = fitted.classes_.tolist()
    taken, answers = y[numbers], fitted.predict(X)[numbers]
    for known, values in ((shown["labels"], taken), (shown["predicted"], answers)):
        if y.ndim == 2:
            assert known == [np.flatnonzero(row).tolist() for row in values]
        else:
            assert [classes[k] for k in known] == values.tolist()
    wrong = (taken != answers).reshape(90, -1).any(axis=1).sum()
    assert wrong >= min(45, (y != fitted.predict(X)).reshape(len(y), -1).any(axis=1).sum())
    if name in ("images", "labels", "words"):
        dense = X.toarray() if hasattr(X, "toarray") else X.reshape(len(X), -1)
        rows = shown["rows"]
        if shown["zeros"]:
            made = np.zeros((len(rows), dense.shape[1]))
            for row, (places, values) in zip(made, rows, strict=True):
                row[places] = values
            rows = made
        assert np.array_equal(rows, dense[numbers])


def test_chosen_rows_are_spread_and_hold_mistakes():
    assert chosen_rows(5, 9, None).tolist() == [0, 1, 2, 3, 4]
    assert chosen_rows(9, 3, None).tolist() == [0, 4, 8]
    wrong = np.zeros(1000, dtype=bool)
    wrong[990:] = True
    rows = chosen_rows(1000, 20, wrong)
    assert len({*rows.tolist()}) == 20 and wrong[rows].sum() == 10 and rows[0] == 0
    assert chosen_rows(10, 0, wrong[:10]).tolist() == []


def test_cells_of_tables_stay_what_they_are():
    X = table(6)
    fitted = model("table")[0]
    examples = gather(fitted._unchanging(), X, None, Options()).details["examples"]
    for row, (_, cells) in zip(examples["rows"], X.iterrows(), strict=True):
        number, text, whole, flag, day = cells
        assert row[0] is None if np.isnan(number) else row[0] == number
        assert (
            row[1] == (text if isinstance(text, str) else None)
            and row[2] == whole
            and row[3] == int(flag)
        )
        assert row[4] == day.timestamp()
    assert examples["labels"] is None


@pytest.mark.parametrize("name", MODELS)
def test_rules_are_the_models_and_all_that_it_exports(name):
    fitted, X, y = model(name)
    details = gathered(name).details
    members, texts = details["export"]["members"], details["rules"]["texts"]
    named = {"feature_names": WORDS} if name == "words" else {}
    said = fitted.rules(X, y, **named)
    assert len(said) == len(details["rules"]["rules"])
    for rule, (number, clauses, tests, evidence) in zip(
        said, details["rules"]["rules"], strict=True
    ):
        assert number == rule.clause
        assert [texts[k] for k in tests] == [test.text for test in rule.tests]
        weights = sum(np.array(members[k]["clauses"][j][1]) for k, j in clauses)
        assert [*rule.weights.values()] == weights.tolist()
        count, counts, share = evidence
        assert (count, share) == (rule.evidence.count, rule.evidence.share_of_votes)
        assert counts == [*rule.evidence.counts.values()]
    labels = y if y.ndim > 1 else y[:, None] == fitted.classes_
    assert details["totals"] == labels.sum(axis=0).tolist() and details["rows"] == len(y)
    told = {(k, j) for _, clauses, _, _ in details["rules"]["rules"] for k, j in clauses}
    every = {(k, j) for k, m in enumerate(members) for j in range(len(m["clauses"]))}
    assert told <= every and len(told) > 0.9 * len(every)  # but those that can never vote


def test_names_of_bits_can_be_given():
    details = gathered("words").details
    assert details["reasons"]["names"] == WORDS
    columns = details["export"]["members"][0]["input"]["columns"]
    assert [column["name"] for column in columns] == WORDS
    assert any(HOSTILE[0] in text for text in details["rules"]["texts"])


def test_the_card_says_what_it_is():
    summary = gathered("joined").summary
    facts = dict(summary["facts"])
    assert facts["Kind"] == "CoTMComposite" and facts["Classes"].startswith("10: 0, 1, 2")
    assert facts["shapes: Reads"] == "images of 8 × 8, by patches of 3 × 4"
    assert "3 epochs on 400 examples" in facts["own: Trained"]
    assert cotm.__version__ in facts["Report"] and facts["Model file"].endswith("kB")
    assert [member["member"] for member in summary["parameters"]] == ["shapes", HOSTILE[0], "own"]
    assert all(len(curve["epochs"]) == 3 for curve in summary["curves"])
    facts = dict(gathered("averaged").summary["facts"])
    assert facts["Settings"].startswith("X is a table, so preset='tables': T=")
    assert facts["Reads"] == "5 columns (2 numbers, 1 category, 1 bit, 1 date), as 44 bits"


def test_importances_are_those_of_the_model():
    fitted, X, _ = model("table")
    importance = gathered("table").details["importance"]
    for k, values in enumerate([fitted.feature_importances_, *fitted.class_importances_.T]):
        found = dict(importance["outputs"][k])
        shares = dict(zip(X.columns, values / values.sum(), strict=True))
        assert found == pytest.approx({name: part for name, part in shares.items() if part})
        assert [*found.values()] == sorted(found.values(), reverse=True)
    fitted = model("images")[0]
    importance = gathered("images").details["importance"]
    values = fitted.feature_importances_
    assert importance["shape"] == [8, 8]
    assert np.allclose(importance["outputs"][0], 1000 * values / values.max(), atol=0.5)
    names = [name for name, _ in gathered("words").details["importance"]["outputs"][0]]
    assert {*names} <= {*WORDS}


def test_long_histories_are_thinned_and_keep_the_last_epoch():
    fitted = CoTMClassifier(4, epochs=900, random_state=0, preset="paper").fit([[0], [1]], [0, 1])
    (curve,) = gather(fitted._unchanging(), None, None, Options()).summary["curves"]
    assert len(curve["epochs"]) <= 400 and curve["epochs"][-1] == 900
    assert len(curve["series"]["train_accuracy"]) == len(curve["epochs"])


def test_a_page_is_one_whole_that_ends_nothing_early(tmp_path):
    fitted, X, y = model("table")
    fitted.report(tmp_path / "r.html", X, y, title=HOSTILE[0])
    text = (tmp_path / "r.html").read_text()
    assert text.count("<script") == text.count("</script>") == 3
    assert "{{" not in re.sub(r"<script.*", "", text, flags=re.DOTALL)
    assert f"<h1>{HOSTILE[0].replace('<', '&lt;').replace('>', '&gt;')}</h1>" in text
    assert not re.search(r"(src|href)=.(?!data:|#)", text.partition("<script")[0])
    (packed,) = re.findall(r'id="details">(.*?)</script>', text)
    details = json.loads(gzip.decompress(base64.b64decode(packed)))
    expected = gather(fitted._unchanging(), X, y, Options()).details
    assert details == json.loads(json.dumps(expected))
    again = page(gather(fitted._unchanging(), X, y, Options(title=HOSTILE[0])))
    assert again == text.encode()


def test_scripts_use_no_markup_from_data_and_no_network():
    text = script_text()
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
    assert not re.search(
        r"\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|https?://(?!www.w3.org)", text
    )
    assert "</script" not in text and "<!--" not in text
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE)
    folder = __import__("pathlib").Path(cotm.__file__).parent / "reporting" / "page"
    assert sorted(SCRIPTS) == sorted(path.name for path in folder.glob("*.js"))


def test_bits_of_a_foreign_transformer_are_the_examples(tmp_path):
    pixels = DIGITS[:, [2, 3, 4, 10]]
    foreign = KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform")
    fitted = CoTMClassifier(10, epochs=1, booleanize=foreign, random_state=0).fit(pixels, DIGIT)
    details = gather(fitted._unchanging(), pixels[:20], DIGIT[:20], Options()).details
    width = fitted.machine_.spec.grid.n_features
    assert len(details["export"]["members"][0]["input"]["columns"]) == width
    bits = foreign.fit(pixels).transform(pixels[:20])
    assert details["examples"]["zeros"]
    assert [row[0] for row in details["examples"]["rows"]] == [
        np.flatnonzero(row).tolist() for row in bits
    ]


def test_members_that_read_different_things_have_scores_but_no_explorer():
    X = {"a": DIGITS, "b": DIGITS[:, :8]}
    members = [(name, CoTMClassifier(5, epochs=1, random_state=0)) for name in X]
    fitted = cotm.CoTMComposite(members).fit(X, DIGIT)
    data = gather(fitted._unchanging(), X, DIGIT, Options())
    assert data.summary["scores"]["rows"] == len(DIGIT)
    assert not data.details["explorer"] and data.details["examples"] is None


def test_what_cannot_be_reported_is_said_and_leaves_no_file(tmp_path):
    fitted, X, y = model("table")
    path = tmp_path / "r.html"
    for call, what in (
        (lambda: fitted.report(path, X, y[:-1]), "X has 400 rows, but y has 399"),
        (lambda: fitted.report(path, None, y), "y is given without X"),
        (lambda: fitted.report(path, X, n_examples=-1), "n_examples=-1 must be"),
        (lambda: fitted.report(path, X, np.arange(400) % 3), "the model's classes are like"),
        (lambda: fitted.report(path, X, ["unheard of"] * 400), "knows none of the labels in y"),
    ):
        with pytest.raises(ValueError, match=what):
            call()
    with pytest.raises(NotFittedError):
        CoTMClassifier().report(path)
    with pytest.raises(OSError, match="No such file"):
        fitted.report(tmp_path / "none" / "r.html")
    assert not path.exists()


def test_labels_in_frames_and_lists_and_labels_that_are_new():
    fitted, X, y = model("table")
    some = head(X, 30)
    for labels in (y[:30].tolist(), pd.Series(y[:30]), y[:30].astype(object)):
        data = gather(fitted._unchanging(), some, labels, Options())
        assert data.summary["scores"]["rows"] == 30
    new = np.where(np.arange(30) == 0, "unheard of", y[:30].astype(object))
    data = gather(fitted._unchanging(), some, new, Options())
    assert data.details["examples"]["labels"][0] == -1
    assert data.details["rows"] == 29 and sum(data.details["totals"]) == 29
    assert "unheard of" in data.summary["scores"]["confusion_matrix"]["labels"]
