"""Levels and edges: the native core against NumPy, NumPy against single pixels, and the names."""

import pickle

import numpy as np
import pytest
from booleanize_helpers import noise, quick
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as np_arrays
from sklearn.base import clone

import cotm
from cotm import BitFeature, Condition, EdgeThermometer, _native
from cotm.booleanize import edges, image_base
from cotm.booleanize.filters import FILTERS, PARTS, image_planes, kernels_of, response
from cotm.rules import column_tests

quantiles = st.lists(st.integers(0, PARTS - 1), max_size=20, unique=True).map(sorted)


def native_planes(images, kernels, levels, positive, negative, threads=1):
    n_planes = len(levels) + len(kernels) * (len(positive) + len(negative))
    bits = np.full((*images.shape[:3], images.shape[3] * n_planes), 7, dtype=np.uint8)
    lists = [np.array(q, dtype=np.int32) for q in (levels, positive, negative)]
    _native.image_planes(images, kernels, *lists, threads, bits)
    return bits


@quick
@given(
    np_arrays(
        np.uint8,
        st.tuples(st.integers(0, 3), st.integers(1, 9), st.integers(1, 9), st.integers(1, 3)),
        elements=st.one_of(st.integers(0, 255), st.sampled_from([0, 1, 254, 255])),
    ),
    st.lists(st.sampled_from([*FILTERS]), max_size=4),
    quantiles.filter(len),
    quantiles,
    quantiles,
    st.integers(1, 5),
)
def test_native_planes_are_those_of_numpy(images, names, levels, positive, negative, threads):
    arguments = images, kernels_of(names), levels, positive, negative
    expected = image_planes(*arguments)
    np.testing.assert_array_equal(native_planes(*arguments, threads=threads), expected)


@pytest.mark.parametrize("shape", [(5, 28, 28), (3, 33, 17, 3), (4, 1, 1), (2, 1, 40), (2, 64, 2)])
@pytest.mark.parametrize("make", [noise, lambda shape, seed: noise(shape, seed) * (seed % 2)])
def test_transform_equals_the_definition(shape, make, monkeypatch):
    for seed in (1, 2):
        images = make(shape, seed)
        transformer = EdgeThermometer().fit(images)
        bits = transformer.transform(images)
        channels = shape[3] if len(shape) == 4 else 1
        assert bits.shape == (*shape[:3], 76 * channels) and bits.dtype == np.uint8
        for n_jobs in (1, 2, 7):
            again = EdgeThermometer(n_jobs=n_jobs).fit_transform(images)
            np.testing.assert_array_equal(again, bits)
        with monkeypatch.context() as patch:
            patch.setattr(image_base, "_BLOCK_BITS", 1)  # an image at a time
            np.testing.assert_array_equal(transformer.transform(images.astype(float)), bits)
            patch.setattr(edges, "native_core", lambda: None)
            np.testing.assert_array_equal(transformer.transform(images), bits)


@pytest.mark.parametrize("value", [0, 1, 255])
def test_constant_images(value):
    images = np.full((2, 12, 11), value, dtype=np.uint8)
    bits = EdgeThermometer().fit_transform(images)
    assert bits[..., 0].all() == (value > 0) and not bits[..., 1:4].any()
    # Inside, where the border is out of reach, gradients and lines of a constant are zero.
    assert not bits[:, 3:-3, 3:-3, 4:].any()


@pytest.mark.parametrize("name", FILTERS)
def test_responses_pixel_by_pixel(name):
    plane, kernel = noise((9, 8), 3), FILTERS[name]
    found = response(plane, kernel)
    assert found.dtype == np.int32
    for (y, x), value in np.ndenumerate(found):
        places = [(y + i - 3, x + j - 3, int(kernel[i, j])) for i in range(7) for j in range(7)]
        inside = [(v, u, w) for v, u, w in places if 0 <= v < 9 and 0 <= u < 8]
        assert value == sum(w * int(plane[v, u]) for v, u, w in inside)


def test_directions():
    brighter = np.arange(1, 10, dtype=np.uint8)[None, :] + np.zeros((9, 1), dtype=np.uint8)
    middle = {name: int(response(brighter, kernel)[4, 4]) for name, kernel in FILTERS.items()}
    assert middle["edge x 3 px"] > 0 and middle["edge x 7 px"] > 0
    assert middle["edge up-right 5 px"] > 0 and middle["edge down-right 5 px"] > 0
    assert middle["edge y 3 px"] == middle["edge y 7 px"] == 0
    below = {name: int(response(brighter.T, kernel)[4, 4]) for name, kernel in FILTERS.items()}
    assert below["edge y 3 px"] > 0 and below["edge y 7 px"] > 0
    assert below["edge up-right 5 px"] < 0 < below["edge down-right 5 px"]
    assert all(int(np.abs(kernel).astype(int).sum()) * 255 < 2**16 for kernel in FILTERS.values())


@quick
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(1, PARTS - 1))
def test_quantiles_by_counting(values, part):
    row = np.array(values, dtype=np.uint8)[None, None, :]
    bits = image_planes(row[..., None], kernels_of([]), [part], [], [])[0, 0, :, 0]
    positive = sorted(int(v) for v in row[0, 0] if v > 0)
    threshold = positive[int(part * (len(positive) - 1) // PARTS)] if positive else 0
    assert bits.tolist() == [int(v > threshold) for v in row[0, 0].tolist()]


def test_names():
    images = noise((2, 5, 5), 0)
    names = EdgeThermometer().fit(images).get_feature_names_out().tolist()
    assert len(names) == len({*names}) == 76
    assert names[:5] == [
        *("pixel > 0", "pixel > 1st quartile", "pixel > median", "pixel > 3rd quartile"),
        "edge x 3 px > 0",
    ]
    assert names[6] == "edge x 3 px > quantile 0.34"
    assert names[-1] == "line y 3 px < -3rd quartile"
    colour = EdgeThermometer(["edge x 3 px"], [0], [], [0, 0.5]).fit(noise((2, 5, 5, 2), 0))
    assert colour.get_feature_names_out().tolist()[3:] == [
        *("channel 1 > 0", "channel 1 edge x 3 px < 0", "channel 1 edge x 3 px < -median")
    ]
    assert colour.describe()[2].negated() == "channel 0 edge x 3 px >= -median"


def test_rules_know_the_order_of_thresholds():
    up, more = (BitFeature("e", ">", q) for q in (0, 0.5))
    down, deep = (BitFeature("e", "<", q) for q in (0, -0.5))

    def text(*conditions):
        return " and ".join(map(str, column_tests([Condition(*pair) for pair in conditions])))

    assert text((up, False), (more, False)) == "e > 0.5"
    assert text((down, False), (deep, False)) == "e < -0.5 and e is not missing"
    assert text((up, True), (deep, False)) == "e < -0.5 and e is not missing"
    assert text((up, True), (down, True)) == "0 <= e <= 0 or missing"
    assert text((up, False), (down, False)) == ""
    assert text((down, True), (deep, False)) == ""


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"filters": "edge x 3 px"}, "filters=.* must be a list or tuple"),
        ({"filters": ["sobel"]}, "filters holds 'sobel'; each must be one of 'edge x 3 px'"),
        ({"filters": ["line x 3 px"] * 2}, "must differ"),
        ({"levels": 0.5}, "levels=0.5 must be a list or tuple"),
        ({"levels": [0.5, 0.5]}, "levels=.* must increase"),
        ({"positive": [1]}, "positive holds 1; each must be"),
        ({"positive": [-0.1]}, "positive holds -0.1; each must be"),
        ({"negative": [0.12345]}, "negative holds 0.12345; .*at most four decimals"),
        ({"negative": ["a"]}, "negative holds 'a'"),
        ({"levels": [], "filters": []}, "neither levels nor filters"),
        ({"n_jobs": 0}, "n_jobs=0 must be"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        EdgeThermometer(**parameters).fit(np.zeros((1, 3, 3)))


def test_other_images_are_refused():
    with pytest.raises(ValueError, match="from 0 to 255, but one is 256"):
        EdgeThermometer().fit(np.full((1, 3, 3), 256))
    with pytest.raises(ValueError, match=r"X has 1 channels.*expecting 3"):
        EdgeThermometer().fit(noise((1, 4, 4, 3), 0)).transform(noise((1, 4, 4), 0))


def test_native_core_refuses_what_does_not_fit():
    images, kernels = noise((2, 4, 4, 1), 0), kernels_of(["edge x 7 px"])
    with pytest.raises(ValueError, match="too large"):
        native_planes(images, kernels * np.int8(2), [0], [0], [0])
    with pytest.raises(ValueError, match="must increase"):
        native_planes(images, kernels, [PARTS], [], [])
    with pytest.raises(ValueError, match="as wide as"):
        native_planes(images, kernels[:, 1:], [0], [], [])
    empty, few = np.zeros(0, dtype=np.int32), np.zeros((2, 4, 4, 9), dtype=np.uint8)
    with pytest.raises(ValueError, match="one place per"):
        _native.image_planes(images, kernels, empty, empty, empty, 1, few)


def test_a_model_with_edges_is_saved_and_explained(tmp_path):
    images, y = noise((60, 7, 7), 1), np.arange(60) % 2
    images[y == 1, :, 3] = 255
    for patch_shape in ((3, 3), (7, 7)):
        model = cotm.CoTMClassifier(
            20, T=10, s=3, epochs=3, patch_shape=patch_shape, booleanize=EdgeThermometer()
        ).fit(images, y)
        text = "".join(map(str, model.rules()))
        assert "px > " in text or "px < -" in text or "px <= " in text
        model.save(tmp_path / "m.cotm")
        again = cotm.load(tmp_path / "m.cotm")
        np.testing.assert_array_equal(again.predict(images), model.predict(images))
        assert [*map(str, again.rules())] == [*map(str, model.rules())]
        again.partial_fit(images, y)


def test_pickle_and_clone():
    images = noise((2, 5, 5), 0)
    transformer = EdgeThermometer(levels=(0.5,), n_jobs=1).fit(images)
    again = pickle.loads(pickle.dumps(transformer))
    np.testing.assert_array_equal(again.transform(images), transformer.transform(images))
    assert clone(transformer).get_params() == transformer.get_params()
