"""Patches of volumes: what classifiers, rules, explanations and files make of them."""

from __future__ import annotations

import numpy as np
import pytest

import cotm
from cotm.core.examples import as_examples, patch_literals
from cotm.rules import VolumePosition, parse_rule


def cubes(count=300, seed=0):
    """Volumes of noise with a cube of ones; the label says whether it lies behind the middle."""
    rng = np.random.default_rng(seed)
    X = (rng.random((count, 6, 7, 5)) < 0.3).astype(np.uint8)
    y = rng.integers(0, 2, count)
    for volume, label in zip(X, y, strict=True):
        z, row, column = rng.integers((3 * label, 0, 0), (3 * label + 2, 6, 4))
        volume[z : z + 2, row : row + 2, column : column + 2] = 1
    return X, np.array(["front", "back"])[y]


def learner(**parameters):
    options = {"T": 40, "s": 5, "patch_shape": (2, 2, 2), "epochs": 15, "random_state": 0}
    return cotm.CoTMClassifier(60, **{**options, **parameters})


@pytest.fixture(scope="module")
def model():
    return learner().fit(*cubes())


def test_where_things_are_is_learned_and_said(model):
    assert model.score(*cubes(seed=1)) > 0.9
    rules = model.rules()
    assert any(test.column == "depth" for rule in rules for test in rule.tests)
    assert "pixel(1,0,1)" in " ".join(map(str, rules))
    parsed = parse_rule(str(rules[0]))
    told = {test.column for tests in parsed.parts for test in tests}
    assert told == {test.column for test in rules[0].tests}


def test_rules_accept_what_their_clauses_accept(model):
    X, _ = cubes(12, seed=2)
    fires = model.clause_outputs(X)
    for rule in model.rules():
        assert isinstance(rule.position, VolumePosition)
        (front, back), (top, bottom), (left, right) = rule.position
        found = np.zeros(len(X), dtype=bool)
        for z in range(front, back + 1):
            for row in range(top, bottom + 1):
                for column in range(left, right + 1):
                    patch = X[:, z : z + 2, row : row + 2, column : column + 2]
                    holds = np.ones(len(X), dtype=bool)
                    for condition in rule.conditions:
                        name = condition.feature.column
                        if name.startswith("pixel"):
                            at = tuple(map(int, name[6:-1].split(",")))
                            holds &= (patch[(slice(None), *at)] == 1) != condition.negated
                    found |= holds
        assert np.array_equal(fires[:, rule.clause] > 0, found), str(rule)


def test_any_shape_that_says_the_same_is_taken():
    X, y = cubes(60)
    expected = learner(epochs=2).fit(X, y)
    for other, options in (
        (X[..., None], {}),
        (X.reshape(60, -1), {"image_shape": X.shape[1:]}),
        (X.astype(float), {}),
        (X, {"backend": "reference"}),
    ):
        found = learner(epochs=2, **options).fit(other, y)
        assert np.array_equal(found.memory_, expected.memory_)
    machine = cotm.Machine(5, T=5, patch_shape=(2, 3, 1), stride=(2, 1, 3))
    grid = machine.grid_for(X)
    assert (grid.depths, grid.rows, grid.columns, grid.n_patches) == (3, 5, 2, 30)
    stacked = as_examples(X.reshape(60, 42, 5), grid)
    assert np.array_equal(patch_literals(stacked, 3), patch_literals(as_examples(X, grid), 3))
    with pytest.raises(ValueError, match="volumes of 6 x 7 x 5 x 1"):
        as_examples(X[:, :5], grid)


def test_a_volume_of_one_slice_is_an_image():
    X, y = cubes(60)
    of_image = learner(epochs=2, patch_shape=(2, 2)).fit(X[:, 0], y)
    of_volume = learner(epochs=2, patch_shape=(1, 2, 2)).fit(X[:, :1], y)
    assert np.array_equal(of_image.memory_, of_volume.memory_)
    assert [*map(str, of_image.rules())] == [*map(str, of_volume.rules())]


def test_gray_volumes_become_bits_slice_by_slice(tmp_path):
    X, y = cubes(200)
    gray = (200 * X + np.random.default_rng(3).integers(0, 50, X.shape)).astype(np.uint8)
    model = learner().fit(gray, y)
    bits = model.booleanizer_.transform(gray.reshape(200, 42, 5))
    expected = learner(booleanize=None).fit(bits.reshape(*gray.shape, -1), y)
    assert np.array_equal(model.memory_, expected.memory_)
    assert any("pixel(1,0,1) > " in str(rule) for rule in model.rules())
    model.save(tmp_path / "model.cotm")
    assert np.array_equal(cotm.load(tmp_path / "model.cotm").votes(gray), model.votes(gray))
    with pytest.raises(ValueError, match=r"patch_shape=\(2, 2, 2\) volumes"):
        learner(booleanize=cotm.EdgeThermometer()).fit(gray, y)
    with pytest.raises(ValueError, match="does not read X as images"):
        learner(augment=cotm.Augmentation(shift=1)).fit(gray, y)


def test_explanations_add_up_to_the_votes(model):
    X, _ = cubes(4, seed=5)
    why = model.explain(X)
    assert why.contributions.shape == (4, 210, 2) and why.patch_votes.shape == (4, 5, 6, 4, 2)
    np.testing.assert_allclose(why.contributions.sum(axis=1), model.votes(X))
    np.testing.assert_allclose(why.patch_votes.sum(axis=(1, 2, 3)), model.votes(X))
    assert why.feature_names[-1] == "pixel(5,6,4)"
    for i, spoken in enumerate(why.rules):
        z, row, column = spoken[0].patch
        position = spoken[0].rule.position
        for place, (first, last) in zip((z, row, column), position, strict=True):
            assert first <= place <= last
        patch = X[i, z : z + 2, row : row + 2, column : column + 2]
        wanted = [c for c in spoken[0].rule.conditions if str(c).startswith("pixel")]
        assert all(patch[tuple(map(int, str(c)[6:-1].split(",")))] for c in wanted)
    assert model.feature_importances_.shape == (210,)
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_files_and_continuation(model, tmp_path):
    X, y = cubes()
    model.save(tmp_path / "model.cotm")
    loaded = cotm.load(tmp_path / "model.cotm")
    assert loaded._reader.grid == model._reader.grid and loaded.patch_shape == (2, 2, 2)
    assert np.array_equal(loaded.votes(X), model.votes(X))
    loaded.add_rule("depth > 2 and pixel(1,0,1)", {"back": 5})
    added = next(r for r in loaded.rules() if str(r).startswith("if depth > 2 and pixel(1,0,1):"))
    few = X[:, 4:, :-1, 1:] * (np.arange(300) % 2)[:, None, None, None]
    changed = X.copy()
    changed[:, 4:, :-1, 1:] = few
    fires = loaded.clause_outputs(changed)[:, added.clause] > 0
    assert np.array_equal(fires, few.any(axis=(1, 2, 3)))
    part = learner(epochs=5, warm_start=True).fit(X, y)
    assert np.array_equal(part.set_params(epochs=10).fit(X, y).memory_, model.memory_)


def test_what_cannot_be_is_told(model, tmp_path):
    X, y = cubes(20)
    with pytest.raises(ValueError, match=r"it must be \(N, D, H, W\) or \(N, D, H, W, C\)"):
        learner().fit(X[:, 0], y)
    with pytest.raises(ValueError, match=r"larger than the image, which is \(6, 7, 5\)"):
        learner(patch_shape=(7, 2, 2)).fit(X, y)
    with pytest.raises(ValueError, match="one number or 3"):
        learner(stride=(1, 2)).fit(X, y)
    with pytest.raises(ValueError, match="patches of volumes, which no format can say"):
        model.export(tmp_path / "model.json")
