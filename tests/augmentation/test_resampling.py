"""Changed images: the native core against NumPy, NumPy against single pixels, exact cases."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as np_arrays

from cotm import _native
from cotm.augmentation.resampling import STEPS, UNCHANGED, UNIT, resample

quick = settings(deadline=None, max_examples=60)
factors = st.one_of(
    st.sampled_from([0, UNIT, -UNIT, UNIT // 2]), st.integers(-10 * UNIT, 10 * UNIT)
)
offsets = st.one_of(
    st.integers(-9, 9).map(lambda pixels: 2 * UNIT * pixels), st.integers(-(2**30), 2**30)
)
maps = st.tuples(factors, factors, factors, factors, offsets, offsets)
images = np_arrays(
    np.uint8,
    st.tuples(st.integers(0, 4), st.integers(1, 9), st.integers(1, 9), st.integers(1, 4)),
    elements=st.one_of(st.integers(0, 255), st.sampled_from([0, 1, 254, 255])),
)


def native(images, maps, repeat_edge, threads=1):
    out = np.full_like(images, 77)
    _native.resample(images, np.array(maps).reshape(-1, 6), repeat_edge, threads, out)
    return out


def one(image, values, repeat_edge=True, **named):
    """One changed image, by both."""
    image = np.asarray(image, dtype=np.uint8)
    shaped, array = image.reshape(1, *image.shape[:2], -1), np.array([values])
    changed = resample(shaped, array, repeat_edge=repeat_edge, **named)
    if not named:
        assert np.array_equal(changed, native(shaped, array, repeat_edge))
    return changed.reshape(image.shape)


@quick
@given(images, st.data(), st.booleans(), st.integers(1, 5))
def test_native_images_are_those_of_numpy(images, data, repeat_edge, threads):
    each = data.draw(st.lists(maps, min_size=len(images), max_size=len(images)))
    each = np.array(each, dtype=np.int64).reshape(-1, 6)
    expected = resample(images, each, repeat_edge=repeat_edge)
    assert np.array_equal(native(images, each, repeat_edge, threads), expected)


@quick
@given(images.filter(len), maps, st.booleans())
def test_pixels_one_by_one(images, values, repeat_edge):
    """In fractions: rounded to a step first, half of one up, then to a whole pixel, half up."""
    image = images[0]
    height, width, channels = image.shape
    changed = one(image, values, repeat_edge)
    nearest = one(image, values, repeat_edge, nearest=True)
    yy, yx, xy, xx, y0, x0 = (Fraction(value, UNIT) for value in values)

    def pixel(y, x):
        if repeat_edge:
            return image[min(max(y, 0), height - 1), min(max(x, 0), width - 1)]
        return image[y, x] if 0 <= y < height and 0 <= x < width else np.zeros_like(image[0, 0])

    def in_steps(place):
        return Fraction(int((place * STEPS + Fraction(1, 2)) // 1), STEPS)

    half = Fraction(1, 2)
    for (y, x), _ in np.ndenumerate(image[..., 0]):
        from_y, from_x = 2 * y - (height - 1), 2 * x - (width - 1)
        row = in_steps((yy * from_y + yx * from_x + y0 + height - 1) / 2)
        column = in_steps((xy * from_y + xx * from_x + x0 + width - 1) / 2)
        assert (
            nearest[y, x].tolist()
            == pixel(int((row + half) // 1), int((column + half) // 1)).tolist()
        )
        top, left = int(row // 1), int(column // 1)
        corners = [
            (pixel(top + i, left + j), down, aside)
            for i, down in ((0, 1 - row + top), (1, row - top))
            for j, aside in ((0, 1 - column + left), (1, column - left))
        ]
        for c in range(channels):
            value = sum(int(corner[c]) * down * aside for corner, down, aside in corners)
            assert changed[y, x, c] == int((value + half) // 1)


@pytest.mark.parametrize("shape", [(5, 5), (4, 6), (1, 7), (7, 1), (6, 5, 3)])
def test_what_moves_whole_pixels_is_exact(shape):
    image = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    assert np.array_equal(one(image, UNCHANGED), image)
    assert np.array_equal(one(image, (UNIT, 0, 0, -UNIT, 0, 0)), image[:, ::-1])
    assert np.array_equal(one(image, (-UNIT, 0, 0, UNIT, 0, 0)), image[::-1])
    assert np.array_equal(one(image, (-UNIT, 0, 0, -UNIT, 0, 0)), image[::-1, ::-1])
    # From one row above: all move down, and what comes in is the top row or zeros.
    down = one(image, (UNIT, 0, 0, UNIT, -2 * UNIT, 0))
    assert np.array_equal(down[1:], image[:-1]) and np.array_equal(down[0], image[0])
    left = one(image, (UNIT, 0, 0, UNIT, 0, 2 * UNIT), repeat_edge=False)
    assert np.array_equal(left[:, :-1], image[:, 1:]) and not left[:, -1].any()
    if shape[0] == shape[1]:
        assert np.array_equal(one(image, (0, UNIT, -UNIT, 0, 0, 0)), np.rot90(image))


def test_halfway_between_pixels():
    between = one([[0, 100, 255]], (UNIT, 0, 0, UNIT, 0, UNIT))
    assert between.tolist() == [[50, 178, 255]]
    assert one([[0, 100, 255]], (UNIT, 0, 0, UNIT, 0, UNIT), False).tolist() == [[50, 178, 128]]


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64", "int64"])
def test_pixels_of_other_types_are_moved_as_they_are(dtype):
    rng = np.random.default_rng(0)
    image = (rng.normal(size=(2, 4, 5, 2)) * 1000).astype(dtype)
    each = np.array([(UNIT, 0, 0, -UNIT, 0, 0), (UNIT, 0, 0, UNIT, -2 * UNIT, 0)])
    changed = resample(image, each, repeat_edge=False, nearest=True)
    assert changed.dtype == image.dtype
    assert np.array_equal(changed[0], image[0, :, ::-1])
    assert np.array_equal(changed[1, 1:], image[1, :-1]) and not changed[1, 0].any()


def test_blocks_do_not_show(monkeypatch):
    rng = np.random.default_rng(2)
    many = rng.integers(0, 256, (9, 6, 7, 2), dtype=np.uint8)
    each = rng.integers(-2 * UNIT, 2 * UNIT, (9, 6))
    whole = resample(many, each, repeat_edge=True)
    monkeypatch.setattr("cotm.augmentation.resampling._BLOCK", 2 * 42)
    assert np.array_equal(resample(many, each, repeat_edge=True), whole)


def test_the_native_core_refuses_what_does_not_fit():
    image = np.zeros((2, 3, 3, 1), dtype=np.uint8)
    with pytest.raises(ValueError, match="a map for each image"):
        native(image, [UNCHANGED], True)
    with pytest.raises(ValueError, match="leads too far"):
        native(image, [UNCHANGED, (UNIT, 0, 0, UNIT, 0, 2**41)], True)
    with pytest.raises(ValueError, match="the shape of the images"):
        _native.resample(image, np.array([UNCHANGED] * 2), True, 1, image[:, :2].copy())
