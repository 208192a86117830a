"""Booleanizers for images against OpenCV and against thermometers of pixels."""

import cv2
import numpy as np
import pytest
from booleanize_helpers import noise, quick
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as np_arrays

from cotm.booleanize import (
    AdaptiveGaussianThreshold,
    BitFeature,
    ImageThermometer,
    Thermometer,
)
from cotm.booleanize.blur import blur, gaussian_kernel


def opencv(images, window, constant):
    return np.stack(
        [
            cv2.adaptiveThreshold(
                image, 1, cv2.ADAPTIVE_THRESH_GAUSSIAN_C, cv2.THRESH_BINARY, window, constant
            )
            for image in images
        ]
    )


def blobs(shape, seed):
    return np.stack([cv2.GaussianBlur(image, (9, 9), 3) for image in noise(shape, seed) & 0xE0])


def gradients(shape, seed):
    n, height, width = shape
    rows, columns = np.mgrid[:height, :width]
    slopes = np.random.default_rng(seed).uniform(-9, 9, (n, 2, 1, 1))
    return ((slopes[:, 0] * rows + slopes[:, 1] * columns) % 256).astype(np.uint8)


@pytest.mark.parametrize("make", [noise, blobs, gradients])
@pytest.mark.parametrize("window", [3, 5, 7, 9, 11, 13, 21, 51])
@pytest.mark.parametrize("size", [(28, 28), (17, 23), (5, 64), (9, 2)])
def test_adaptive_threshold_equals_opencv(make, window, size):
    images = make((20, *size), seed=window)
    bits = AdaptiveGaussianThreshold(window).fit_transform(images)
    assert bits.dtype == np.uint8 and bits.flags.c_contiguous
    np.testing.assert_array_equal(bits, opencv(images, window, 2))


@pytest.mark.parametrize("constant", [-300, -1.5, -1, -0.5, 0, 0.2, 1, 1.5, 2.0, 7.01, 300])
def test_adaptive_threshold_constants(constant):
    images = np.concatenate([noise((9, 13, 15), 1), noise((9, 13, 15), 2) // 64])
    bits = AdaptiveGaussianThreshold(11, constant).fit_transform(images)
    np.testing.assert_array_equal(bits, opencv(images, 11, constant))


@pytest.mark.parametrize("size", [(1, 1), (1, 30), (30, 1), (1, 7)])
def test_adaptive_threshold_on_lines(size):
    images = noise((50, *size), 3)
    bits = AdaptiveGaussianThreshold().fit_transform(images)
    np.testing.assert_array_equal(bits, opencv(images, 11, 2))


OPENCV_VERSION = tuple(map(int, cv2.__version__.split(".")[:2]))


@pytest.mark.skipif("AVX2" not in cv2.getCPUFeaturesLine(), reason="rounds as OpenCV with AVX2")
@pytest.mark.parametrize("size", [(28, 28), (17, 31), (9, 2), (1, 32), (32, 1)])
@pytest.mark.parametrize("window", [3, 11, 13, 51])
def test_means_are_those_of_opencv_to_the_last_digit(size, window):
    # Bits alone show a difference in rounding once in millions.
    if size[1] % 8 and OPENCV_VERSION < (4, 13):
        pytest.skip("older builds round the last columns in another way")
    border = cv2.BORDER_REPLICATE | cv2.BORDER_ISOLATED
    planes = noise((*size, 20), window).astype(np.float32)
    means = blur(planes, gaussian_kernel(window))
    for index in range(planes.shape[2]):
        image = np.ascontiguousarray(planes[..., index])
        expected = cv2.GaussianBlur(image, (window, window), 0, borderType=border)
        np.testing.assert_array_equal(means[..., index], expected.reshape(size))


def test_adaptive_threshold_takes_each_channel_for_itself():
    images = noise((6, 12, 14, 3), 4)
    threshold = AdaptiveGaussianThreshold()
    bits = threshold.fit_transform(images)
    for channel in range(3):
        plane = np.ascontiguousarray(images[..., channel])
        np.testing.assert_array_equal(bits[..., channel], opencv(plane, 11, 2))
    assert threshold.get_feature_names_out().tolist() == [
        f"channel {channel} > local mean - 2" for channel in range(3)
    ]
    assert threshold.describe((12, 14, 3)) == threshold.describe()
    assert threshold.describe()[1] == BitFeature("channel 1", "pixel", 2)
    with pytest.raises(ValueError, match="3 channels"):
        threshold.describe((12, 14))
    with pytest.raises(ValueError, match=r"X has 1 channels.*expecting 3"):
        threshold.transform(images[..., 0])
    assert threshold.transform(images[:0]).shape == (0, 12, 14, 3)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float16, np.float64])
def test_adaptive_threshold_takes_integers_of_any_type(dtype):
    images = noise((3, 9, 9), 5) // 2
    bits = AdaptiveGaussianThreshold().fit_transform(images.astype(dtype))
    np.testing.assert_array_equal(bits, opencv(images, 11, 2))


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.full((1, 3, 3), 256), "from 0 to 255, but one is 256"),
        (np.full((1, 3, 3), -1), "from 0 to 255, but one is -1"),
        (np.full((1, 3, 3), 0.5), r"from 0 to 255, but one is 0.5.*\(255 \* X\)"),
        (np.full((1, 3, 3), np.nan), "from 0 to 255, but one is nan"),
        (np.full((1, 3, 3), np.inf), "from 0 to 255, but one is inf"),
        (np.full((1, 3, 3), "a"), "must hold numbers"),
        (np.zeros((3, 3)), r"images of shape \(3, 3\) must"),
        (np.zeros((1, 0, 3)), r"images of shape \(1, 0, 3\) must"),
        (np.zeros((0, 3, 3)), r"images of shape \(0, 3, 3\) must"),
    ],
)
def test_adaptive_threshold_refuses_other_images(images, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveGaussianThreshold().fit(images)


@pytest.mark.parametrize(
    "parameters",
    [
        *({"window": window} for window in (1, 4, -3, 11.5, True, 10_001, "11")),
        *({"constant": constant} for constant in (np.nan, np.inf, "2", None, True)),
    ],
)
def test_adaptive_threshold_checks_parameters(parameters):
    with pytest.raises(ValueError, match=f"{next(iter(parameters))}=.* must be"):
        AdaptiveGaussianThreshold(**parameters).fit(np.zeros((1, 3, 3)))


@quick
@given(
    np_arrays(
        st.sampled_from([np.float32, np.uint8, np.bool_]),
        st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3)),
    ).filter(lambda images: np.isfinite(images).all())
)
def test_image_thermometer_is_a_thermometer_of_pixels(images):
    thermometer = ImageThermometer(2).fit(images)
    bits = thermometer.transform(images)
    pixels = images.reshape(-1, images.shape[3])
    twin = Thermometer(2).fit(pixels)
    for ours, theirs in zip(thermometer.thresholds_, twin.thresholds_, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert bits.shape == (*images.shape[:3], thermometer.n_bits_out_)
    np.testing.assert_array_equal(bits.reshape(len(pixels), -1), twin.transform(pixels))


def test_image_thermometer_on_many_images():
    images = noise((900, 20, 20), 6)
    thermometer = ImageThermometer().fit(images)
    assert thermometer.thresholds_[0].tolist() == pytest.approx([51, 102, 153, 204], abs=1.5)
    expected = images[..., None] > thermometer.thresholds_[0]
    np.testing.assert_array_equal(thermometer.transform(images), expected)
    assert thermometer.transform(images[:0]).shape == (0, 20, 20, 4)
    texts = [f"pixel > {t:g}" for t in thermometer.thresholds_[0]]
    assert thermometer.get_feature_names_out().tolist() == texts


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_image_thermometer_refuses_what_is_not_finite(value):
    images = np.zeros((3, 2, 2))
    thermometer = ImageThermometer().fit(images)
    images[1, 0, 0] = value
    for method in (thermometer.fit, thermometer.transform):
        with pytest.raises(ValueError, match="image 1 holds NaN or infinity"):
            method(images)
