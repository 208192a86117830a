"""Histograms of gradients: the native core against NumPy, NumPy against single pixels, names."""

import math
import pickle

import numpy as np
import pytest
from booleanize_helpers import noise, quick
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as np_arrays
from sklearn.base import clone

import cotm
from cotm import GradientHistogram, _native
from cotm.booleanize import histograms, image_base
from cotm.booleanize.filters import PARTS
from cotm.booleanize.gradients import direction_table, gradient_planes

quantiles = st.lists(st.integers(0, PARTS - 1), min_size=1, max_size=9, unique=True).map(sorted)
sides = st.tuples(st.integers(1, 5), st.integers(1, 5))


def native_planes(images, table, count, cell, step, parts, each, threads=1):
    rows, columns = ((images.shape[k + 1] - cell[k]) // step[k] + 1 for k in (0, 1))
    groups = images.shape[3] if each else 1
    bits = np.full((len(images), rows, columns, groups * count * len(parts)), 7, dtype=np.uint8)
    parts = np.array(parts, dtype=np.int32)
    _native.gradient_planes(images, table, count, cell, step, parts, each, threads, bits)
    return bits


@quick
@given(
    np_arrays(
        np.uint8,
        st.tuples(st.integers(1, 3), st.integers(5, 11), st.integers(5, 11), st.integers(1, 3)),
        elements=st.one_of(st.integers(0, 255), st.sampled_from([0, 1, 254, 255])),
    ),
    st.integers(3, 20),
    st.booleans(),
    sides,
    sides,
    quantiles,
    st.booleans(),
    st.integers(1, 4),
)
def test_native_planes_are_those_of_numpy(images, count, signed, cell, step, parts, each, threads):
    arguments = images, direction_table(count, signed), count, cell, step, parts, each
    expected = gradient_planes(*arguments)
    np.testing.assert_array_equal(native_planes(*arguments, threads=threads), expected)


@pytest.mark.parametrize(
    "shape", [(5, 28, 28), (3, 33, 17, 3), (4, 4, 4), (2, 4, 40), (2, 9, 5, 2)]
)
@pytest.mark.parametrize("options", [{}, {"colour": "each", "signed": False, "directions": 9}])
def test_transform_equals_the_definition(shape, options, monkeypatch):
    images = noise(shape, 1)
    transformer = GradientHistogram(**options).fit(images)
    bits = transformer.transform(images)
    assert bits.shape == (len(images), *transformer.bits_shape(shape[1:]))
    assert bits.dtype == np.uint8 and bits.shape[1:3] == tuple((s - 4) // 2 + 1 for s in shape[1:3])
    for n_jobs in (1, 2, 7):
        again = GradientHistogram(**options, n_jobs=n_jobs).fit_transform(images)
        np.testing.assert_array_equal(again, bits)
    with monkeypatch.context() as patch:
        patch.setattr(image_base, "_BLOCK_BITS", 1)  # an image at a time
        np.testing.assert_array_equal(transformer.transform(images.astype(float)), bits)
        patch.setattr(histograms, "native_core", lambda: None)
        np.testing.assert_array_equal(transformer.transform(images), bits)
    assert transformer.transform(images[:0]).shape == (0, *bits.shape[1:])


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("count", [3, 4, 8, 9, 12, 64])
def test_every_gradient_has_the_nearest_direction(count, signed):
    table = direction_table(count, signed)
    up, right = np.mgrid[-255:256, -255:256]
    span = 2 * np.pi if signed else np.pi
    turned = np.arctan2(up, right) % span / span * count
    middle = (turned - table + count / 2) % count - count / 2  # distance from its direction
    middle[255, 255] = 0
    # Borders are rounded to a part of a turn, and one of them belongs to who follows.
    assert middle.min() >= -0.5 - count / 65536 and middle.max() < 0.5 + count / 65536
    assert np.isin(np.arange(count), table).all()


def test_directions_and_borders():
    eight, four, half = (
        direction_table(8, True),
        direction_table(4, True),
        direction_table(4, False),
    )

    def at(table, up, right):
        return int(table[up + 255, right + 255])

    around = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]
    for size in (1, 7, 255):
        assert [at(eight, size * up, size * right) for up, right in around] == [*range(8)]
        assert [at(half, size * up, size * right) for up, right in around] == [0, 1, 2, 3] * 2
        # Diagonals lie on the borders of four: each belongs to what follows.
        found = [at(four, size * up, size * right) for up, right in around]
        assert found == [0, 1, 1, 2, 2, 3, 3, 0]


def test_bits_by_hand():
    """Cells, sums and quantiles once more, pixel by pixel."""
    images = noise((2, 9, 8, 2), 4)
    transformer = GradientHistogram((3, 2), (2, 3), directions=5, quantiles=[0, 0.3, 0.8])
    bits = transformer.fit_transform(images)
    assert bits.shape == (2, 4, 3, 15)
    for n, image in enumerate(images.astype(int)):
        sums = np.zeros((4, 3, 5), dtype=int)
        for i, j, y, x in np.ndindex(4, 3, 3, 2):
            row, column = 2 * i + y, 3 * j + x
            found = []
            for channel in np.moveaxis(image, 2, 0):
                up = channel[max(row - 1, 0), column] - channel[min(row + 1, 8), column]
                right = channel[row, min(column + 1, 7)] - channel[row, max(column - 1, 0)]
                found.append((up, right))
            up, right = max(found, key=lambda g: abs(g[0]) + abs(g[1]))  # the first of equals
            direction = round(math.atan2(up, right) / (2 * math.pi) * 5) % 5
            sums[i, j, direction] += abs(up) + abs(right)
        positive = np.sort(sums[sums > 0])
        levels = [0] + [positive[int(q * (len(positive) - 1))] for q in (0.3, 0.8)]
        expected = sums[..., None] > levels
        np.testing.assert_array_equal(bits[n], expected.reshape(4, 3, 15))


def test_channels_apart_are_images_of_their_own():
    images = noise((3, 8, 8, 3), 2)
    each = GradientHistogram(colour="each").fit_transform(images)
    for channel in range(3):
        alone = GradientHistogram().fit_transform(images[..., channel])
        np.testing.assert_array_equal(each[..., 40 * channel : 40 * channel + 40], alone)
    gray = np.repeat(images[..., :1], 3, axis=3)
    np.testing.assert_array_equal(
        GradientHistogram().fit_transform(gray), GradientHistogram().fit_transform(images[..., 0])
    )


def test_brightness_and_contrast_do_not_matter():
    images = noise((2, 12, 12), 0) // 4
    bits = GradientHistogram().fit_transform(images)
    np.testing.assert_array_equal(GradientHistogram().fit_transform(3 * images + 20), bits)
    assert not GradientHistogram().fit_transform(np.full((1, 8, 8), 200)).any()


def test_names():
    names = GradientHistogram().fit(noise((1, 8, 8), 0)).get_feature_names_out().tolist()
    assert len(names) == len({*names}) == 40
    assert names[0] == "cell gradient 0° > 0" and names[-1] == "cell gradient 315° > quantile 0.9"
    assert names[6:8] == ["cell gradient 45° > 1st quartile", "cell gradient 45° > median"]
    colour = GradientHistogram(directions=7, signed=False, quantiles=[0.5], colour="each")
    colour.fit(noise((1, 8, 8, 2), 0))
    assert colour.get_feature_names_out().tolist()[6:9] == [
        "cell channel 0 gradient 154.286° > median",
        "cell channel 1 gradient 0° > median",
        "cell channel 1 gradient 25.7143° > median",
    ]


@pytest.mark.parametrize("patch_shape", [(2, 2), (3, 4)])
@pytest.mark.parametrize("colour", ["strongest", "each"])
def test_a_model_of_cells_is_saved_and_explained(patch_shape, colour, tmp_path):
    images, y = noise((80, 8, 10, 2), 1) // 8, np.arange(80) % 2
    images[y == 1, 4:, 3:7] += 200
    model = cotm.CoTMClassifier(
        20, T=10, s=3, epochs=3, patch_shape=patch_shape,
        booleanize=GradientHistogram(colour=colour), random_state=0,
    ).fit(images, y)  # fmt: skip
    grid = model.machine_.spec.grid
    assert (grid.height, grid.width) == (3, 4)
    text = "".join(map(str, model.rules()))
    assert "cell(1,0) " in text and "° > " in text and "pixel" not in text
    assert ("channel 1 gradient" in text) == (colour == "each")
    model.save(tmp_path / "m.cotm")
    again = cotm.load(tmp_path / "m.cotm")
    np.testing.assert_array_equal(again.predict(images), model.predict(images))
    assert [*map(str, again.rules())] == [*map(str, model.rules())]
    again.partial_fit(images, y)
    # Before the model, in a pipeline, bits say what they are too.
    bits = GradientHistogram(colour=colour).fit_transform(images)
    behind = clone(model).set_params(booleanize="auto").fit(bits, y)
    assert [*map(str, behind.rules())] == [*map(str, model.rules())]


def test_patches_are_counted_in_cells():
    images, y = noise((9, 10, 10), 1), np.arange(9) % 3
    model = cotm.CoTMClassifier(10, patch_shape=(6, 6), booleanize=GradientHistogram(3))
    message = r"patch_shape=\(6, 6\) is larger .* which is \(4, 4\) as GradientHistogram makes it"
    with pytest.raises(ValueError, match=message):
        model.fit(images, y)
    for augment in (None, cotm.Augmentation(1)):
        model.set_params(patch_shape=(4, 4), augment=augment, epochs=1).fit(images, y)
        assert model.machine_.spec.grid.n_patches == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cell": 0}, "cell=0 must be an integer from 1"),
        ({"cell": (2, 3, 4)}, r"cell=\(2, 3, 4\) must be a tuple of 2 positive integers"),
        ({"cell": 2.5}, "cell=2.5 must be a tuple"),
        ({"cell": (9, 2)}, r"cell=\(9, 2\) is larger than the images, which are \(8, 8\)"),
        ({"step": -1}, "step=-1 must be an integer"),
        ({"directions": 2}, "directions=2 must be an integer from 3 to 64"),
        ({"signed": "no"}, "signed='no' must be True or False"),
        ({"quantiles": []}, "quantiles is empty"),
        ({"quantiles": [0.5, 0.2]}, "quantiles=.* must increase"),
        ({"quantiles": [1]}, "quantiles holds 1; each must be"),
        ({"colour": "gray"}, "colour='gray' must be one of 'strongest', 'each'"),
        ({"n_jobs": 0}, "n_jobs=0 must be"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        GradientHistogram(**parameters).fit(np.zeros((1, 8, 8)))


def test_other_images_are_refused():
    transformer = GradientHistogram().fit(noise((1, 8, 8), 0))
    with pytest.raises(ValueError, match="from 0 to 255, but one is 256"):
        transformer.transform(np.full((1, 8, 8), 256))
    with pytest.raises(ValueError, match=r"X has 3 channels.*expecting 1"):
        transformer.transform(noise((1, 8, 8, 3), 0))
    with pytest.raises(ValueError, match=r"cell=4 is larger than the images, which are \(3, 8\)"):
        transformer.transform(noise((1, 3, 8), 0))


def test_native_core_refuses_what_does_not_fit():
    images, table = noise((2, 6, 6, 1), 0), direction_table(8, True)
    good = images, table, 8, (3, 3), (1, 1), [0], False
    native_planes(*good)
    for place, bad, message in (
        (1, table[1:], "a place for every gradient"),
        (2, 7, "a direction that does not exist"),
        (3, (0, 3), "must be positive"),
        (5, [PARTS], "must increase"),
    ):
        arguments = [*good]
        arguments[place] = bad
        with pytest.raises(ValueError, match=message):
            native_planes(*arguments)
    few = np.zeros((2, 4, 4, 9), dtype=np.uint8)
    with pytest.raises(ValueError, match="one place per"):
        _native.gradient_planes(
            images, table, 8, (3, 3), (1, 1), np.zeros(1, np.int32), False, 1, few
        )
    with pytest.raises(ValueError, match="a cell is larger than the images"):
        _native.gradient_planes(
            images, table, 8, (7, 3), (1, 1), np.zeros(1, np.int32), False, 1, few
        )
    with pytest.raises(ValueError, match="must be positive"):
        _native.gradient_planes(
            images, table, 8, (3, 3), (1, 0), np.zeros(1, np.int32), False, 1, few
        )


def test_pickle_and_clone():
    images = noise((2, 5, 5), 0)
    transformer = GradientHistogram(2, quantiles=(0.5,), n_jobs=1).fit(images)
    again = pickle.loads(pickle.dumps(transformer))
    np.testing.assert_array_equal(again.transform(images), transformer.transform(images))
    assert clone(transformer).get_params() == transformer.get_params()
