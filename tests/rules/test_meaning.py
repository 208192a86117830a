"""The text of a rule accepts what its clause accepts: every booleanizer, flat and in patches."""

from __future__ import annotations

import datetime as dt
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_reading import amounts, column_of, comparable
from sklearn.pipeline import make_pipeline

from cotm import (
    AdaptiveGaussianThreshold,
    Booleanizer,
    Categories,
    CoTMClassifier,
    EdgeThermometer,
    GradientHistogram,
    ImageThermometer,
    ImageUnion,
    Snapshot,
    Thermometer,
)
from cotm.booleanize import SetOfWords
from cotm.booleanize.filters import FILTERS, response
from cotm.rules import ClauseTests, feature_descriptions, literals_of


def with_clauses(model, data, tolerance, most=8):
    """The model with clauses that chance made, in the place of what it has learned."""
    fitted = model._now()
    machine = fitted.machine
    n, (_, literals) = machine.spec.n, machine.memory_.shape
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    memory = np.full((n, literals), -1, dtype=np.int8)
    for row in memory:
        row[draw.integers(0, literals, draw.integers(1, most))] = 0
    weights = draw.integers(-3, 4, (n, len(model.classes_))).astype(np.int32)
    assert machine.parameters.tolerance == tolerance
    machine = machine.with_state(Snapshot(memory, weights, machine.step_))
    return model._with(replace(fitted, machine=machine))


def model_of(X, y, booleanizer, tolerance, **options):
    model = CoTMClassifier(
        12,
        T=10,
        s=3.0,
        preset="paper",
        epochs=0,
        tolerance=tolerance,
        booleanize=booleanizer,
        random_state=0,
        **options,
    )
    return model.fit(X, y)


def check(model, X, rows, compare=comparable):
    """Rules say of every row what their clauses say; ``rows`` find the cells of a row's patches."""
    outputs = model.clause_outputs(X)
    features, names = feature_descriptions(model), getattr(model, "feature_names_in_", ())
    votes = np.zeros((len(rows), len(model.classes_)), dtype=np.int64)
    for rule in model.rules():
        counts = np.zeros(len(rows), dtype=np.int64)
        for place, patches in enumerate(rows):
            said = [amounts(str(rule), found, compare) for found in patches]
            counts[place] = max(count for count, _ in said)
        (read,) = {tuple(votes.items()) for _, votes in said}
        assert dict(read) == {label: w for label, w in rule.weights.items() if w}
        for clause in rule.clauses:
            np.testing.assert_array_equal(outputs[:, clause], counts, str(rule))
        if rule.most == 1:
            # The text leads back to literals that accept the same.
            included = np.zeros((2, 2 * len(features)), dtype=bool)
            included[0, literals_of(rule.condition, features, names)] = True
            included[1] = model.memory_[rule.clause] >= 0
            tests = ClauseTests(features, included)
            assert tests.key(0) == tests.key(1)
        votes += counts[:, None] * np.array([rule.weights[c] for c in model.classes_.tolist()])
    np.testing.assert_array_equal(votes, model.votes(X))


class Strict:
    """A cell of a column that has both True and 1, which Python takes for equal."""

    def __init__(self, cell):
        self.cell = cell

    def __eq__(self, value):
        return isinstance(self.cell, bool) == isinstance(value, bool) and self.cell == value


TIMES = [dt.time(1), dt.time(1, 0, 0, 1), dt.time(23, 59), None]
CELLS = {
    "number": [-3.0, -1.55, 0.0, 0.1, 0.3, 7.0, 1e22, np.nan],
    "integer": [-3, 2, 5, 2**40, 7, 8],
    "bit": [0.0, 1.0, np.nan],
    "text": ["x", "y", "z and y", "not", "1", "True", " ", "a,b", "it's", "{}", "\n", None],
    "mixed": [True, 1, "1", 2.5, False, None],
    "date": [*pd.to_datetime(["2020-01-01", "2020-01-02", "2021-06-01"]), None],
    "moment": [
        *pd.to_datetime(["2020-01-01 10:00:00", "2020-01-01 10:00:00.000003"], format="ISO8601"),
        None,
    ],
    "duration": [*pd.to_timedelta(["1 day", "-3 h", "2 days 01:00:00.5", "1 s"]), None],
    "time": TIMES,
}
LATER = {
    "number": [-99.0, 99.0, 0.2],
    "date": [*pd.to_datetime(["1999-01-01", "2099-01-01"])],
    "text": ["?", "X"],
}
NAMES = ["a", "petal length (cm)", "x and y", "not x", 'it\'s "so"', "b[0]", " c", "2", "new\nline"]
NAMES += ["", "x > 3", "in", "is missing", "a: b", "more than 1 of 2 hold (a; b)", "é\u202e"]


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_tables(data):
    kinds = data.draw(st.lists(st.sampled_from([*CELLS]), min_size=1, max_size=3))
    names = data.draw(st.lists(st.sampled_from(NAMES), min_size=len(kinds), max_size=len(kinds)))
    trained = {
        place: data.draw(st.lists(st.sampled_from(CELLS[kind]), min_size=6, max_size=6))
        for place, kind in enumerate(kinds)
    }
    table = pd.DataFrame(trained)
    table.columns = names
    tolerance = data.draw(st.sampled_from([1, 1, 3]))
    model = model_of(table, [0, 1] * 3, Booleanizer(data.draw(st.integers(1, 4))), tolerance)
    cells = []
    for place, kind in enumerate(kinds):
        code, values = model.booleanizer_.codes_[place], [*CELLS[kind], *LATER.get(kind, [])]
        if kind == "mixed" or code.type is None:
            # What is equal to Python and not to the column is not in a text.
            values = [v for v in values if v in trained[place] or v is None]
        if kind == "text" and code.type == "number":
            values = trained[place]
        if kind in ("number", "integer"):
            values += [np.nextafter(t, t + d) for t in code.thresholds for d in (-1, 0, 1)]
        cells.append(values)
    draw = np.random.default_rng(0)
    rows = [[values[draw.integers(len(values))] for values in cells] for _ in range(40)]
    strict = [getattr(code, "_tells_booleans_apart", False) for code in model.booleanizer_.codes_]

    def find(test, row):
        place = column_of(names, test)
        apart = strict[place] and row[place] is not None
        return Strict(row[place]) if apart else row[place]

    X = pd.DataFrame(
        {place: pd.Series([row[place] for row in rows]) for place in range(len(kinds))}
    )
    X.columns = names
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.clause_outputs(X)
        except ValueError as error:
            assert "in training" in str(error)  # another type than the column had
            return
        finders = [[lambda test, row=row: find(test, row)] for row in rows]
        check(with_clauses(model, data, tolerance), X, finders)


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_thermometers_and_sparse_data(data):
    cell = st.sampled_from([-3.0, -1.1, 0.0, 0.0, 1.0, 4.3, np.nan])
    table = np.array(data.draw(st.lists(st.tuples(cell, cell), min_size=6, max_size=6)))
    sparse = data.draw(st.booleans())
    make = sp.csr_matrix if sparse else np.asarray
    tolerance = data.draw(st.sampled_from([1, 3]))
    try:
        model = model_of(make(table), [0, 1] * 3, Thermometer(3), tolerance)
    except ValueError as error:
        assert "no bits at all" in str(error)
        return
    thresholds = np.concatenate(model.booleanizer_.thresholds_)
    values = np.concatenate([[-9.0, 0.0, 9.0, np.nan], thresholds, np.nextafter(thresholds, 9)])
    rows = np.random.default_rng(0).choice(values, (40, 2))
    names = ["x0", "x1"]
    finders = [[lambda test, row=row: row[column_of(names, test)]] for row in rows]
    check(with_clauses(model, data, tolerance), make(rows), finders)


@settings(deadline=None, max_examples=20)
@given(st.data())
def test_categories(data):
    cell = st.sampled_from(["red", "dark red", "and", None])
    table = [[c, d] for c, d in data.draw(st.lists(st.tuples(cell, cell), min_size=6, max_size=6))]
    X = np.array(table, dtype=object)
    model = with_clauses(model_of(X, [0, 1] * 3, Categories(), 1), data, 1)
    finders = [[lambda test, row=row: row[column_of(["x0", "x1"], test)]] for row in table]
    check(model, X, finders)


@settings(deadline=None, max_examples=15)
@given(st.data())
def test_words(data):
    words = ["good", "not", "bad", "and", "is", "more", "plot", "good plot"]
    texts = data.draw(
        st.lists(st.lists(st.sampled_from(words), max_size=5).map(" ".join), min_size=8, max_size=8)
    )
    y = ["praise", "blame"] * 4
    pipeline = make_pipeline(
        SetOfWords(20, n_grams=2, min_texts=1), model_of(np.eye(2), [0, 1], None, 1)
    )
    try:
        pipeline.fit(["good plot and", "not bad", *texts[2:]], y)
    except ValueError as error:
        assert "no" in str(error)
        return
    model = with_clauses(pipeline[-1], data, 1)
    finders = [[lambda test, text=text: float(f" {test.column} " in f" {text} ")] for text in texts]
    check(model, pipeline[0].transform(texts), finders)


# Images --------------------------------------------------------------------------------------

PLACE = re.compile(r"(?:pixel|cell)\((\d+),(\d+)\) ?(.*)")


def image_model(images, booleanizer, tolerance, patch_shape, data):
    y = np.arange(len(images)) % 2
    model = model_of(images, y, booleanizer, tolerance, patch_shape=patch_shape)
    return with_clauses(model, data, tolerance, most=5)


def patches_of(model, number, quantity):
    """For each patch of an image what a test looks at: its place, or a quantity of a pixel."""
    grid = model.machine_.spec.grid

    def found(test, row, column):
        if test.column in ("row", "column"):
            return row if test.column == "row" else column
        y, x, rest = PLACE.fullmatch(test.column).groups()
        return quantity(number, row + int(y), column + int(x), rest)

    return [
        lambda test, row=row, column=column: found(test, row, column)
        for row in range(grid.rows)
        for column in range(grid.columns)
    ]


def noise(data, shape):
    return np.random.default_rng(data.draw(st.integers(0, 99))).choice(
        np.array([0, 3, 60, 61, 200, 255], dtype=np.uint8), shape
    )


@settings(deadline=None, max_examples=12)
@given(st.data())
def test_levels_of_images(data):
    channels, tolerance = data.draw(st.sampled_from([1, 2])), data.draw(st.sampled_from([1, 3]))
    images = noise(data, (8, 4, 3, channels))
    patch = data.draw(st.sampled_from([(2, 2), (4, 3), (1, 3)]))
    model = image_model(images, ImageThermometer(3), tolerance, patch, data)

    def quantity(number, y, x, rest):
        channel = int(rest.removeprefix("channel ")) if channels > 1 else 0
        return images[number, y, x, channel]

    check(model, images, [patches_of(model, n, quantity) for n in range(len(images))])


@settings(deadline=None, max_examples=8)
@given(st.data())
def test_pixels_beside_their_means(data):
    cv2 = pytest.importorskip("cv2")
    images = noise(data, (6, 5, 5))
    constant = data.draw(st.sampled_from([2, 0, -3]))
    booleanizer = AdaptiveGaussianThreshold(3, constant)
    model = image_model(images, booleanizer, data.draw(st.sampled_from([1, 3])), (2, 3), data)
    kind = cv2.ADAPTIVE_THRESH_GAUSSIAN_C, cv2.THRESH_BINARY

    def quantity(number, y, x, rest):
        return number, y, x

    def compare(cell, text):
        if not isinstance(cell, tuple):
            return comparable(cell, text)
        number, y, x = cell
        said = re.fullmatch(r"local mean - (-?\d+)", text)
        return cv2.adaptiveThreshold(images[number], 1, *kind, 3, int(said[1]))[y, x], 0.5

    rows = [patches_of(model, n, quantity) for n in range(len(images))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pd, "isna", lambda cell: False)  # no pixel is missing, and no tuple asked
        check(model, images, rows, compare)


QUARTILES = {"1st quartile": 2500, "median": 5000, "3rd quartile": 7500, "0": 0}


def quantile(text, values):
    """The number that a quantile stands for, among the positive of some values."""
    part = QUARTILES.get(text)
    part = round(float(text.removeprefix("quantile ")) * 10000) if part is None else part
    positive = sorted(value for value in values.ravel().tolist() if value > 0)
    return positive[part * (len(positive) - 1) // 10000] if part and positive else 0


class Cell:
    """A number among those by whose quantiles it is measured."""

    def __init__(self, value, values):
        self.value, self.values = value, values


def compare_quantiles(cell, text):
    if not isinstance(cell, Cell):
        return comparable(cell, text)
    if text.startswith("-"):
        return cell.value, -quantile(text[1:], -cell.values)
    return cell.value, quantile(text, cell.values)


@settings(deadline=None, max_examples=10)
@given(st.data())
def test_edges(data):
    channels = data.draw(st.sampled_from([1, 2]))
    images = noise(data, (5, 4, 4, channels))
    booleanizer = EdgeThermometer(["edge x 3 px", "line y 3 px"], [0, 0.5], [0, 0.34], [0, 0.25])
    model = image_model(images, booleanizer, data.draw(st.sampled_from([1, 3])), (3, 2), data)

    def quantity(number, y, x, rest):
        channel, name = 0, rest
        if channels > 1:
            channel, name = int(rest.split()[1]), " ".join(rest.split()[2:])
        values = images[number, ..., channel].astype(int)
        values = response(values, FILTERS[name]) if name else values
        return Cell(int(values[y, x]), values)

    rows = [patches_of(model, n, quantity) for n in range(len(images))]
    check(model, images, rows, compare_quantiles)


@settings(deadline=None, max_examples=8)
@given(st.data())
def test_gradients(data):
    images = noise(data, (5, 6, 6))
    booleanizer = GradientHistogram(2, 2, directions=4, quantiles=[0, 0.25, 0.9])
    model = image_model(images, booleanizer, data.draw(st.sampled_from([1, 3])), (2, 1), data)
    exact = GradientHistogram(2, 2, directions=4, quantiles=[k / 20 for k in range(20)])
    # How many of many quantiles are exceeded is as good as the sum itself.
    ranks = exact.fit_transform(images).reshape(5, 3, 3, 4, 20).sum(axis=-1)

    def quantity(number, y, x, rest):
        direction = int(float(rest.removeprefix("gradient ").removesuffix("°")) // 90)
        return Cell(int(ranks[number, y, x, direction]), None)

    def compare(cell, text):
        if not isinstance(cell, Cell):
            return comparable(cell, text)
        part = QUARTILES.get(text)
        part = round(float(text.removeprefix("quantile ")) * 10000) if part is None else part
        return cell.value, part // 500 + 0.5  # quantile k / 20 is exceeded from rank k + 1 on

    rows = [patches_of(model, n, quantity) for n in range(len(images))]
    check(model, images, rows, compare)


@settings(deadline=None, max_examples=8)
@given(st.data())
def test_several_booleanizers_at_once(data):
    images = noise(data, (5, 5, 5))
    cells = [GradientHistogram(size, 1, directions=4, quantiles=[0, 0.25, 0.9]) for size in (2, 3)]
    levels = [EdgeThermometer(["edge x 3 px"], [0, 0.5], [0.34], [0]), ImageThermometer(3)]
    union = ImageUnion(data.draw(st.permutations([*cells, *levels])))
    model = image_model(images, union, data.draw(st.sampled_from([1, 3])), (1, 1), data)
    exact = {
        k: GradientHistogram(part.cell, 1, directions=4, quantiles=[n / 20 for n in range(20)])
        for k, part in enumerate(
            (p for p in union.booleanizers if isinstance(p, GradientHistogram)), start=1
        )
    }
    # How many of many quantiles are exceeded is as good as the sum itself.
    ranks = {
        k: part.fit_transform(images).reshape(5, *part.bits_shape((5, 5))[:2], 4, 20).sum(axis=-1)
        for k, part in exact.items()
    }

    def found(test, number):
        cell = re.fullmatch(r"cell-(\d)\((\d),(\d)\) gradient (\d+)°", test.column)
        if cell:
            k, y, x, angle = map(int, cell.groups())
            return "rank", int(ranks[k][number, y, x, angle // 90])
        y, x, rest = PLACE.fullmatch(test.column).groups()
        values = images[number].astype(int)
        values = response(values, FILTERS[rest]) if rest else values
        return "value", Cell(int(values[int(y), int(x)]), values)

    def compare(cell, text):
        kind, value = cell
        if kind == "rank":
            part = QUARTILES.get(text)
            part = round(float(text.removeprefix("quantile ")) * 10000) if part is None else part
            return value, part // 500 + 0.5  # quantile k / 20 is exceeded from rank k + 1 on
        if text not in ("0", "-0") and re.fullmatch(r"[\d.]+", text):
            return value.value, float(text)  # of all pixels, not of this image
        return compare_quantiles(value, text)

    rows = [[lambda test, n=n: found(test, n)] for n in range(len(images))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pd, "isna", lambda cell: False)  # nothing is missing, and no pair asked
        check(model, images, rows, compare)


@settings(deadline=None, max_examples=8)
@given(st.data())
def test_sequences_of_bits(data):
    X = np.random.default_rng(0).integers(0, 2, (12, 6, 2))
    tolerance = data.draw(st.sampled_from([1, 3]))
    model = model_of(X, np.arange(12) % 2, None, tolerance, patch_shape=(2,))
    model = with_clauses(model, data, tolerance, most=5)

    def found(test, number, column):
        if test.column == "column":
            return column
        x, channel = re.fullmatch(r"at\((\d)\) channel (\d)", test.column).groups()
        return X[number, column + int(x), int(channel)]

    rows = [[lambda test, n=n, c=c: found(test, n, c) for c in range(5)] for n in range(len(X))]
    check(model, X, rows)
