"""Explanations: what they hold, for every kind of model, and how they read."""

from __future__ import annotations

import base64
import functools
import json
import pickle
import re

import cv2
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from explained_models import table
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import cotm
from cotm import CoTMClassifier, TMClassifier

DIGITS, DIGIT = (part[:300] for part in load_digits(return_X_y=True))
BITS = (DIGITS > 7).astype(np.uint8)
BYTES = (DIGITS * 15).astype(np.uint8).reshape(-1, 8, 8)


def fitted(X, y=DIGIT, kind=CoTMClassifier, **parameters):
    few = {"n_clauses": 30, "epochs": 2, "preset": "paper", "random_state": 0}
    return kind(**{**few, **parameters}).fit(X, y), X


def joined(scale):
    members = {
        "shapes": fitted(DIGITS, image_shape=(8, 8), patch_shape=(3, 4))[0],
        "grays": fitted(DIGITS, booleanize=cotm.Thermometer(3))[0],
        "own": fitted(DIGITS, kind=TMClassifier, average=2)[0],
    }
    return cotm.join(members, DIGITS if scale == "range" else None, scale=scale), DIGITS


def in_pipelines():
    members = [
        ("first", make_pipeline(cotm.Thermometer(2), CoTMClassifier(10, epochs=1, T=9))),
        ("second", make_pipeline(cotm.Thermometer(4), CoTMClassifier(10, epochs=1, T=9))),
    ]
    return cotm.CoTMComposite(members).fit(DIGITS, DIGIT), DIGITS


LABELS = np.column_stack([DIGIT > 4, DIGIT % 2, DIGIT % 3 == 0]).astype(int)
MODELS = {
    "bits": lambda: fitted(BITS),
    "sparse": lambda: fitted(scipy.sparse.csr_matrix(BITS), tolerance=4),
    "numbers": lambda: fitted(DIGITS, average=2),
    "table": lambda: fitted(table(np.random.default_rng(0), 300), DIGIT % 2, tolerance=3),
    "labels": lambda: fitted(BITS, LABELS),
    "own": lambda: fitted(BITS, kind=TMClassifier),
    "pixels": lambda: fitted(BITS.reshape(-1, 8, 8), patch_shape=(3, 3)),
    "gray": lambda: fitted(BYTES, patch_shape=(3, 3), average=2),
    "rows of pixels": lambda: fitted(DIGITS, image_shape=(8, 8), patch_shape=(3, 4), stride=2),
    "edges": lambda: fitted(
        BYTES, patch_shape=(4, 4), booleanize=cotm.EdgeThermometer(), tolerance=4
    ),
    "gradients": lambda: fitted(BYTES, patch_shape=(2, 2), booleanize=cotm.GradientHistogram()),
    "several ways": lambda: fitted(
        BYTES,
        patch_shape=(1, 1),
        booleanize=cotm.ImageUnion([cotm.GradientHistogram(), cotm.ImageThermometer(2)]),
    ),
    "line": lambda: fitted(BITS.reshape(-1, 32, 2), patch_shape=(5,), stride=2),
    "joined by range": lambda: joined("range"),
    "joined by margin": lambda: joined("margin"),
    "joined as they are": lambda: joined("none"),
    "in pipelines": in_pipelines,
}


@functools.cache
def model(name):
    return MODELS[name]()


@pytest.mark.parametrize("name", MODELS)
def test_contributions_add_up_to_the_votes(name):
    classifier, X = model(name)
    rows = X[:6]
    why = classifier.explain(rows)
    votes = classifier.votes(rows)
    scale = np.abs(votes).max() * 1e-9
    assert (why.votes == votes).all() and votes.any()
    np.testing.assert_allclose(
        why.base + why.contributions.sum(axis=1), votes, rtol=1e-9, atol=scale
    )
    assert (why.predictions == classifier.predict(rows)).all()
    assert (why.classes == classifier.classes_).all()
    np.testing.assert_allclose(why.probabilities, classifier.predict_proba(rows))
    features = len(why.feature_names)
    assert why.contributions.shape == (6, features, votes.shape[1])
    if why.image_shape is not None:
        assert np.prod(why.image_shape) == features
    if why.patch_votes is not None:
        np.testing.assert_allclose(why.patch_votes.sum(axis=(1, 2)), votes, rtol=1e-9, atol=scale)
        assert not why.base.any()


@pytest.mark.parametrize("name", MODELS)
def test_rules_that_spoke_add_up_to_the_votes(name):
    classifier, X = model(name)
    why = classifier.explain(X[:3])
    assert len(why.rules) == 3
    for i, alone in enumerate(why):
        parts = why.members or {"": why}
        for member, explanation in parts.items():
            spoken = [s for s in why.rules[i] if getattr(s.rule, "member", "") == member]
            for output, label in enumerate(why.classes):
                total = sum(s.votes[label] for s in spoken)
                assert total == explanation.votes[i, output]
        assert [s.rule for s in alone.rules[0]] == [s.rule for s in why.rules[i]]


def test_rules_name_all_clauses_that_they_are_made_of():
    classifier, X = model("numbers")
    for spoken in classifier.explain(X[:2]).rules[0]:
        included = classifier.memory_[[*spoken.rule.clauses]] >= 0
        assert (included == included[0]).all() and spoken.rule.clause == spoken.rule.clauses[0]
        weights = classifier.weights_[[*spoken.rule.clauses]].sum(axis=0)
        assert weights.tolist() == [*spoken.rule.weights.values()]


def test_a_rule_speaks_in_the_patch_that_it_names():
    classifier, X = model("pixels")
    why = classifier.explain(X[:2])
    for i in range(2):
        for spoken in why.rules[i]:
            row, column = spoken.patch
            window = X[i, row : row + 3, column : column + 3]
            for condition in spoken.rule.conditions:
                place = condition.feature.column
                if place.startswith("pixel"):
                    y, x = map(int, place[6:-1].split(","))
                    assert window[y, x] != condition.negated
                else:
                    position = row if place == "row" else column
                    assert (position > condition.feature.value) != condition.negated


def test_votes_go_to_the_pixels_of_literals():
    """One clause that looks for a bright pixel above a dark one."""
    X = np.zeros((4, 4, 4), dtype=np.uint8)
    X[0, 1, 2] = 1
    X[1] = 1
    classifier, _ = fitted(X, np.array([0, 1, 0, 1]), patch_shape=(2, 1), n_clauses=1)
    grid = classifier.machine_.spec.grid
    memory = np.full((1, grid.n_literals), -1, dtype=np.int8)
    first = grid.n_position_features
    memory[0, [first, grid.n_features + first + 1]] = 0
    weights = np.array([[6, -2]], dtype=np.int32)
    classifier.machine_.load_state(grid, cotm.Snapshot(memory, weights, 0))
    why = classifier.explain(X[:2])
    expected = np.zeros((4, 4))
    expected[1, 2] = expected[2, 2] = 3
    assert (why.contributions[0, :, 0].reshape(4, 4) == expected).all()
    assert why.patch_votes[0, 1, 2].tolist() == [6, -2] and why.rules[0][0].patch == (1, 2)
    assert not why.contributions[1].any()  # no dark pixel
    memory[0, first + 1] = memory[0, grid.n_features + first + 1] = -1
    classifier.machine_.load_state(grid, cotm.Snapshot(memory, weights, 0))
    bright = classifier.explain(X[1:2])
    assert np.allclose(bright.patch_votes[0, :, :, 0], 6 / 12)
    memory[0, [0, first]] = 0, -1  # below the first row of patches, whatever is there
    classifier.machine_.load_state(grid, cotm.Snapshot(memory, weights, 0))
    below = classifier.explain(X[2:3]).contributions[0, :, 0].reshape(4, 4)
    assert np.allclose(below, np.array([0, 0.375, 0.75, 0.375])[:, None])


def test_pixels_of_literals_that_fail_get_nothing_and_strides_count():
    X = np.zeros((4, 1, 7), dtype=np.uint8)
    X[0, 0, 4] = 1
    classifier, _ = fitted(
        X, np.array([0, 1, 0, 1]), patch_shape=(1, 3), stride=2, n_clauses=1, tolerance=2
    )
    grid = classifier.machine_.spec.grid
    memory = np.full((1, grid.n_literals), -1, dtype=np.int8)
    memory[0, grid.n_position_features + np.array([0, 1])] = 0  # two bright pixels side by side
    weights = np.array([[6, -2]], dtype=np.int32)
    classifier.machine_.load_state(grid, cotm.Snapshot(memory, weights, 0))
    why = classifier.explain(X[:1])
    assert why.votes[0].tolist() == [6, -2]  # of the patch at 4, whose first pixel is bright
    assert why.contributions[0, :, 0].tolist() == [0, 0, 0, 0, 6, 0, 0]
    assert why.rules[0][0].patch == (0, 2) and why.rules[0][0].output == 1


@pytest.mark.parametrize("name", ["numbers", "gray", "joined by range"])
def test_the_strongest_rules_come_first(name):
    classifier, X = model(name)
    divisors = dict(zip(["", "shapes", "grays", "own"], (1, 1, 1, 1), strict=True))
    if name.startswith("joined"):
        divisors = dict(zip(classifier.named_estimators_, classifier.divisors_, strict=True))
    most = 0
    for spoken in classifier.explain(X[:6]).rules[:6]:
        strengths = [
            max(map(abs, s.votes.values())) / divisors[getattr(s.rule, "member", "")]
            for s in spoken
        ]
        assert strengths == sorted(strengths, reverse=True)
        most = max(most, len({*strengths}))
    assert most > 2


def test_features_are_the_columns_of_x():
    classifier, X = model("table")
    why = classifier.explain(X[:4])
    assert why.feature_names == ("n", "t", "b")
    for i in range(4):
        for value, cell in zip(why.feature_values[i], X.iloc[i], strict=True):
            assert value == cell or (pd.isna(value) and pd.isna(cell))
    assert model("numbers")[0].explain(DIGITS[:4]).feature_names[:2] == ("x0", "x1")
    shapes, _ = model("joined by range")
    why = shapes.explain(DIGITS[:3])
    assert why.contributions.shape[1] == 64 and why.image_shape == (8, 8)
    assert [*why.members] == ["shapes", "grays", "own"]
    piped, _ = model("in pipelines")
    assert piped.explain(DIGITS[:3]).contributions.shape[1] < 65


def test_members_that_read_different_things_have_features_of_their_own():
    members = {"bits": model("bits")[0], "images": model("pixels")[0]}
    both = cotm.join(members, scale="margin")
    X = {"bits": BITS[:4], "images": BITS[:4].reshape(-1, 8, 8)}
    why = both.explain(X)
    assert why.feature_names[0] == "bits: x0" and why.feature_names[64] == "images: pixel(0,0)"
    assert why.image_shape is None and why.members["images"].image_shape == (8, 8)
    np.testing.assert_allclose(why.base + why.contributions.sum(axis=1), both.votes(X), atol=1e-3)
    with pytest.raises(ValueError, match="of images are"):
        why.exact(0)


def test_dates_and_missing_values_are_told_as_such():
    days = pd.date_range("2021-03-05", periods=40).to_series().reset_index(drop=True)
    X = pd.DataFrame({"day": days.astype("datetime64[ns]"), "size": [1.5, np.nan] * 20})
    classifier, _ = fitted(X, np.repeat([0, 1], 20))
    text = classifier.explain(X[1:2], X).sentence(top=2)
    assert "day is 2021-03-06 (" in text


def test_labels_that_are_dates():
    days = np.array(["2021-03-05", "2021-03-06"], dtype="datetime64[ns]")
    classifier, X = fitted(BITS[:40], np.repeat(days, 20))
    why = classifier.explain(X[:3])
    assert "2021-03-0" in why.sentence() and why.sentence(label=days[1]).find("2021-03-06") >= 0
    assert json.loads(why.to_json(1))


def test_a_background_is_needed_for_one_row_of_a_table():
    classifier, X = model("numbers")
    with pytest.raises(ValueError, match=r"X has 1 example.*pass some rows of the training data"):
        classifier.explain(X[:1])
    with pytest.raises(ValueError):
        classifier.explain(X[:2], X[:0])
    assert model("gray")[0].explain(BYTES[:1]).base.tolist() == [0.0] * 10
    with pytest.raises(NotFittedError):
        CoTMClassifier().explain(X)


def test_the_background_is_a_keyed_sample_of_x():
    classifier, X = model("numbers")
    a, b = (classifier.explain(X[:150], random_state=seed).base for seed in (0, 1))
    again = classifier.explain(X[:150]).base
    assert (a == again).all() and (a != b).any()
    few = classifier.explain(X[:50])
    assert np.allclose(few.base, classifier.votes(X[:50]).mean(axis=0))


def test_an_explanation_can_be_taken_apart_and_kept():
    classifier, X = model("numbers")
    why = classifier.explain(X[:5])
    assert len(why) == 5 and len([*why]) == 5 and len(why[1:3]) == 2 and len(why[-1]) == 1
    assert (why[-1].votes[0] == why.votes[4]).all()
    assert (why[[4, 0]].exact(1).contributions == why.exact(0).contributions).all()
    with pytest.raises(IndexError):
        why[5]
    with pytest.raises(IndexError, match="example 7 does not exist; there are 5"):
        why.reasons(7)
    with pytest.raises(ValueError, match="read-only"):
        why.contributions[0] = 0
    with pytest.raises(AttributeError):
        why.votes = why.votes
    kept = pickle.loads(pickle.dumps(why))
    assert kept.sentence(2) == why.sentence(2) and kept.rules[2] == why.rules[2]
    assert not any(classifier.explain(X[:5], rules=False).rules)
    assert repr(why) == "<Explanation of 5 examples by 64 features>"


def test_reasons_are_the_largest_contributions():
    classifier, X = model("numbers")
    why = classifier.explain(X[:5])
    output = why.votes[2].argmax()
    reasons = why.reasons(2)
    assert len(reasons) == 5
    sizes = np.sort(np.abs(why.contributions[2, :, output]))[::-1]
    assert [abs(reason.contribution) for reason in reasons] == sizes[:5].tolist()
    for name, value, contribution in why.reasons(2, label=int(why.classes[output]), top=None):
        column = why.feature_names.index(name)
        assert value == X[2, column] and contribution == why.contributions[2, column, output]
    with pytest.raises(ValueError, match="label='z' is not a class"):
        why.reasons(label="z")


def test_sentences():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 20)
    y = np.array(["no", "no", "no", "yes"] * 20)
    classifier = CoTMClassifier(20, T=20, s=3, random_state=0, preset="paper").fit(X, y)
    why = classifier.explain(X[:4], X)
    assert why[3].sentence().startswith("yes (")
    assert "mainly because x" in why[3].sentence() and "against" not in why[3].sentence()
    assert why[1].sentence().startswith("no (") and "mainly because not x0 (+" in why.sentence(1)
    assert "against it speaks x1 (-" in why.sentence(1)
    assert why.sentence(1, label="yes").startswith("not yes (")
    assert why.sentence(1, label="yes").find("because not x0 (-") > 0
    labels, rows = model("labels")
    assert labels.explain(rows[:3]).sentence(0)
    pixels, rows = model("pixels")
    assert "mainly because of pixel(" in pixels.explain(rows[:1]).sentence()


def test_frames_and_json():
    classifier, X = model("table")
    why = classifier.explain(X[:4])
    frame = why.to_pandas()
    assert [*frame] == ["example", "label", "feature", "value", "contribution"]
    total = frame[(frame.example == 2) & (frame.label == 1)].contribution.sum()
    assert np.isclose(why.base[1] + total, why.votes[2, 1])
    data = json.loads(why.to_json(top=2))
    assert len(data) == 4 and data[1]["votes"] == {
        str(label): votes for label, votes in zip(why.classes, why.votes[1].tolist(), strict=True)
    }
    assert len(data[1]["reasons"]["0"]) <= 2 and len(data[1]["rules"]) <= 2
    assert json.loads(model("joined by range")[0].explain(DIGITS[:2])[0].to_json(1))


def test_html_is_escaped():
    X = pd.DataFrame({"<b>": [0, 1] * 20, "t": ["<i>", "&amp;"] * 20})
    classifier, _ = fitted(X, np.array(["<u>", "v"] * 20))
    text = classifier.explain(X[:9])._repr_html_()
    assert "<b>" not in text and "<i>" not in text and "<u>" not in text
    assert "&lt;b&gt;" in text and "and 4 more" in text


def test_durations_read_as_in_rules():
    spans = pd.to_timedelta(np.arange(40) * 5, unit="h")
    X = pd.DataFrame({"wait": spans, "n": np.arange(40) % 3})
    classifier, _ = fitted(X, np.where(spans > pd.Timedelta("4 days"), "late", "soon"))
    why = classifier.explain(X)
    said = why.sentence(21)
    assert "wait is 4 days 09:00:00" in said and "4 days, " not in said
    assert why.to_data()[21]["reasons"]["late"][0]["value"] == "4 days 09:00:00"


def test_images_show_as_maps():
    classifier, X = model("pixels")
    why = classifier.explain(X[:7])
    text = why._repr_html_()
    assert text.count("<img") == 5 and "<table>" not in text and "and 2 more" in text
    data = base64.b64decode(re.search('base64,([^"]+)', text)[1])
    map_ = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)  # blue, green, red
    values = why.contributions[0, :, why.output_of(0)].reshape(why.image_shape)
    strong = np.abs(values) > 0.01 * np.abs(values).max()
    assert map_.shape == (*why.image_shape, 4)
    assert ((map_[..., 0] > map_[..., 2]) == (values > 0))[strong].all()  # blue is for
    assert np.allclose(map_[..., 3] / 255, np.abs(values) / np.abs(values).max(), atol=0.002)


def test_bars_go_both_ways():
    classifier, X = model("table")
    why = next(why for why in classifier.explain(X) if len({r[2] > 0 for r in why.reasons()}) == 2)
    ends = re.findall(r"width:(\d+)px;margin-left:(\d+)px", why._repr_html_())
    for reason, (width, left) in zip(why.reasons(top=8), ends, strict=True):
        assert int(left) == 100 if reason.contribution > 0 else int(left) + int(width) == 100


@pytest.mark.parametrize("kind", ["words", "characters", "numbers"])
def test_windows_say_what_stands_there(kind, tmp_path):
    rng = np.random.default_rng(0)
    words = [[*rng.choice(["so", "good", "bad"], rng.integers(1, 7))] for _ in range(60)]
    X = {"words": [" ".join(text) for text in words], "characters": ["".join(t) for t in words]}
    X["numbers"] = [rng.integers(0, 9, len(text)) / 2 for text in words]
    y = np.array(["good" in text for text in words])
    windows = cotm.TokenWindows(kind, width=2)
    model = CoTMClassifier(10, epochs=2, booleanize=windows, patch_shape=(1,), random_state=0)
    model.fit(X[kind], y).save(tmp_path / "m.cotm")
    why = cotm.load(tmp_path / "m.cotm").explain(X[kind])
    short = next(k for k, text in enumerate(words) if len(text) == 3 and why.reasons(k))
    pairs = {
        "words": lambda text: " ".join(words[short][text : text + 2]),
        "characters": lambda text: X[kind][short][text : text + 2],
        "numbers": lambda text: " ".join(f"{v:g}" for v in X[kind][short][text : text + 2]),
    }[kind]
    last = (len(X[kind][short]) if kind == "characters" else 3) - 2
    expected = [pairs(min(k, last)) for k in range(why.feature_values.shape[1])]
    assert why.feature_values[short].tolist() == expected
    reason = why.reasons(short)[0]
    assert f"{reason.feature} is {expected[int(reason.feature[3:-1])]}" in why.sentence(short)
    assert "<table>" in why[0]._repr_html_() and json.loads(why.to_json())
