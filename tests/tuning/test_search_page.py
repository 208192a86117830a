"""The page about a search."""

from __future__ import annotations

import html.parser
import re

import pytest
from searched import iris, search

from cotm.tuning.charts import Axis
from cotm.tuning.page import page


class Reader(html.parser.HTMLParser):
    """What is in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [v for k, v in attributes if k in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def read(text: bytes) -> Reader:
    reader = Reader()
    reader.feed(text.decode())
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def found():
    return search(param_distributions=None).fit(*iris())


def test_the_page_shows_all_and_needs_nothing(found, tmp_path):
    pytest.importorskip("optuna")
    found.report(tmp_path / "search.html")
    text = (tmp_path / "search.html").read_bytes()
    reader = read(text)
    assert "script" not in reader.tags and reader.links == []
    assert b"default-src 'none'" in text and b"http" not in text.replace(b"http-equiv", b"")
    assert reader.tags.count("svg") == 2 + len(found.space_) * 2
    for name in (*found.space_, "Halving", "History", "Slices", "as given"):
        assert name in text.decode()
    plain = re.sub(r"<[^>]+>", "", text.decode())
    assert f"{found.best_score_:.4f}" in plain
    assert page(found.trials_) == text
    assert b"nan" not in text and b"inf" not in text.replace(b"info", b"")


def test_names_of_users_stay_text(tmp_path):
    space = {"class_weight": [None, {"<script>alert(1)</script>": 1.5, "setosa": 1.0}]}
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = search(param_distributions=space, n_trials=4).fit(*iris())
    text = page(one.trials_)
    assert b"<script" not in text
    read(text)


def test_importances_add_up_and_the_study_is_optunas(found):
    pytest.importorskip("optuna")
    importances = found.importances()
    assert set(importances) == set(found.space_)
    assert sum(importances.values()) == pytest.approx(1.0)
    assert list(importances.values()) == sorted(importances.values(), reverse=True)
    study = found.study_
    tried = found.cv_results_["candidate"].max() + 1
    assert len(study.trials) == tried - 1  # all but the estimator as it was given
    assert study.best_value <= found.best_score_


def test_little_is_shown_where_there_is_little():
    pytest.importorskip("optuna")
    one = search(n_trials=1, max_epochs=1).fit(*iris())
    assert "Too few candidates differ" in page(one.trials_).decode()
    read(page(one.trials_))


@pytest.mark.parametrize(
    ("axis", "texts"),
    [
        (Axis("x", 0, 10), ["0", "2", "4", "6", "8", "10"]),
        (Axis("x", 0.91, 0.93), ["0.91", "0.915", "0.92", "0.925", "0.93"]),
        (Axis("x", 1, 3, whole=True), ["1", "2", "3"]),
        (Axis("x", 1, 100, log=True), ["1", "5", "20", "100"]),
        (Axis("x", -0.5, 1.5, labels=["a", "b"]), ["a", "b"]),
        (Axis("x", 2, 2), ["2"]),
    ],
)
def test_axes_have_round_marks(axis, texts):
    assert [text for _, text in axis.marks()] == texts
    assert all(-0.01 <= axis.share(value) <= 1.01 for value, _ in axis.marks())
