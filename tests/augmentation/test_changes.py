"""Which change an image gets: keyed, within its limits, as likely as it should be."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from cotm import Augmentation
from cotm.augmentation import changes
from cotm.augmentation.changes import as_pixels
from cotm.augmentation.resampling import UNCHANGED, UNIT

MANY = np.arange(20_000)
PINNED = [
    [72281, -10333, -10333, -72281, -123896, 165228],
    [-53547, -5949, 5949, -53547, 226086, 83298],
    [-56369, -7810, 7810, -56369, 338214, -46860],
]
ALL = Augmentation((3, 1), flip=True, flip_vertical=True, rotate=20, zoom=0.25)


def maps_of(augmentation, seed=5, step=700, rows=MANY):
    return augmentation.changes().maps(seed, step, rows)


def test_maps_are_pinned():
    """Part of the random numbers that are frozen with the format of model files."""
    assert maps_of(ALL, rows=np.array([0, 1, 59_999])).tolist() == PINNED


def test_defaults_change_nothing():
    assert (maps_of(Augmentation()) == UNCHANGED).all()
    assert (maps_of(Augmentation(9, flip=True, rotate=9, probability=0)) == UNCHANGED).all()


def test_a_change_depends_on_seed_step_and_row_alone():
    maps = maps_of(ALL)
    rows = np.array([7, 19_999, 0])
    assert np.array_equal(maps_of(ALL, rows=rows), maps[rows])
    for other in (maps_of(ALL, seed=6), maps_of(ALL, step=701), maps_of(ALL, rows=MANY + 1)):
        assert (other != maps).any(axis=1).mean() > 0.999


def shifts(maps):
    """Rows and columns by which images move that are not turned or zoomed."""
    assert (maps[:, [0, 3]] == UNIT).all() and not maps[:, [1, 2]].any()
    pixels, rest = np.divmod(-maps[:, 4:], 2 * UNIT)
    assert not rest.any()
    return pixels.T


def test_shifts_are_whole_and_equally_likely():
    down, right = shifts(maps_of(Augmentation((3, 1))))
    assert {*down.tolist()} == {*range(-3, 4)} and {*right.tolist()} == {-1, 0, 1}
    for values, kinds in ((down, 7), (right, 3)):
        counts = np.unique(values, return_counts=True)[1]
        assert (abs(counts - len(MANY) / kinds) < 4.5 * np.sqrt(len(MANY) / kinds)).all()
    assert abs(np.corrcoef(down, right)[0, 1]) < 0.03
    assert abs(np.corrcoef(down[1:], down[:-1])[0, 1]) < 0.03
    assert np.array_equal(maps_of(Augmentation((2, 2))), maps_of(Augmentation(2)))


def test_half_of_the_images_are_mirrored():
    maps = maps_of(Augmentation(flip=True, flip_vertical=True))
    assert (abs(maps[:, [0, 3]]) == UNIT).all() and not maps[:, [1, 2, 4, 5]].any()
    up, left = (maps[:, [0, 3]] < 0).T
    for share in (up.mean(), left.mean(), (up ^ left).mean()):
        assert abs(share - 0.5) < 0.016
    assert (maps_of(Augmentation(flip=True))[:, 0] == UNIT).all()
    assert (maps_of(Augmentation(flip_vertical=True))[:, 3] == UNIT).all()


def test_angles_and_factors_fill_their_ranges():
    yy, yx, xy, xx, *_ = maps_of(Augmentation(rotate=20)).T / UNIT
    assert (yy == xx).all() and (yx == -xy).all()
    angles = np.degrees(np.arctan2(yx, yy))
    assert abs(np.hypot(yy, yx) - 1).max() < 1e-4
    assert -20.001 < angles.min() < -19.9 and 19.9 < angles.max() < 20.001
    assert abs(np.histogram(angles, 10)[0] - 2000).max() < 210
    factors = 1 / (maps_of(Augmentation(zoom=0.25))[:, 0] / UNIT)
    assert 0.75 <= factors.min() < 0.752 and 1.248 < factors.max() < 1.2501
    assert abs(np.histogram(factors, 10)[0] - 2000).max() < 210


def test_a_share_of_the_images_stays_as_it_is():
    whole, some = maps_of(ALL), maps_of(Augmentation(**{**ALL.get_params(), "probability": 0.3}))
    same = (some == whole).all(axis=1)
    assert abs(same.mean() - 0.3) < 0.015, "the others are changed as ever"
    assert (some[~same] == UNCHANGED).all()


def test_each_draw_has_its_place():
    """One more kind of change leaves the others as they were."""
    plain = shifts(maps_of(Augmentation(2)))
    mirrored = maps_of(Augmentation(2, flip=True))
    assert np.array_equal(np.where(mirrored[:, 3] < 0, 1, -1) * mirrored[:, 5] / 2 / UNIT, plain[1])


def test_mirrored_then_turned_and_zoomed_then_shifted():
    """Where a map says that a pixel comes from is taken back to where it is by hand."""
    changes, height, width = ALL.changes(), 9, 14
    maps = changes.maps(3, 40, np.arange(200))
    parts = {
        name: changes_of.changes().maps(3, 40, np.arange(200))
        for name, changes_of in {
            "shift": Augmentation((3, 1)),
            "flips": Augmentation(flip=True, flip_vertical=True),
            "turn": Augmentation(rotate=20),
            "zoom": Augmentation(zoom=0.25),
        }.items()
    }
    down, right = shifts(parts["shift"])
    for n, values in enumerate(maps / UNIT):
        # A place in the image, in pixels from its middle.
        source = np.array([2.5 - height / 2, 3.25 - width / 2])
        flips, turn, zoom = (parts[name][n] / UNIT for name in ("flips", "turn", "zoom"))
        mirrored = source * [flips[0], flips[3]]
        # Maps lead back, so the way there is their inverse.
        turned = np.linalg.inv(turn[:4].reshape(2, 2)) @ mirrored
        there = turned / zoom[0] + [down[n], right[n]]
        back = values[:4].reshape(2, 2) @ there + values[4:] / 2
        assert abs(back - source).max() < 1e-3


# Images ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5, 6, 7), (5, 7, 4, 3), (4, 1, 1), (0, 3, 3)])
@pytest.mark.parametrize("border", ["edge", "zero"])
def test_numpy_and_threads_give_the_same(shape, border, monkeypatch):
    images = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    augmentation = Augmentation(**{**ALL.get_params(), "border": border})
    before = images.copy()
    expected = augmentation.apply(images, random_state=1, step=9, n_jobs=1)
    assert expected.shape == shape and expected.dtype == np.uint8
    assert np.array_equal(images, before)
    assert np.array_equal(augmentation.apply(images, random_state=1, step=9, n_jobs=3), expected)
    monkeypatch.setattr(changes, "native_core", lambda: None)
    assert np.array_equal(augmentation.apply(images, random_state=1, step=9), expected)


def test_types_stay_and_bytes_are_known_in_any_of_them():
    images = np.random.default_rng(0).integers(0, 256, (4, 6, 6), dtype=np.uint8)
    expected = ALL.apply(images, random_state=2)
    for dtype in ("int16", "int64", "float32", "float64"):
        changed = ALL.apply(images.astype(dtype), random_state=2)
        assert changed.dtype == dtype and np.array_equal(changed, expected)
    bits = images > 127
    changed = ALL.apply(bits, random_state=2)
    assert changed.dtype == bool
    assert np.array_equal(changed, ALL.apply(bits.astype(np.uint8), random_state=2))
    for other in (images + 0.5, images.astype(int) - 1, images * 1000.0):
        assert as_pixels(other) is other
        assert np.isin(ALL.apply(other, random_state=2), [*other.ravel(), 0]).all()


def test_a_list_of_images_and_a_seed_of_any_kind():
    image = np.arange(9).reshape(3, 3)
    assert Augmentation(1).apply([image], random_state=np.random.RandomState(3)).shape == (1, 3, 3)
    assert Augmentation(1).apply([image]).shape == (1, 3, 3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"shift": -1}, "shift=-1 must be an integer from 0"),
        ({"shift": 1.5}, "shift=1.5 must be an integer"),
        ({"shift": (1, 2, 3)}, r"shift=\(1, 2, 3\) must be one number or two"),
        ({"shift": "2"}, "shift='2' must be an integer"),
        ({"shift": 10**9}, "shift=1000000000 must be"),
        ({"flip": 1}, "flip=1 must be True or False"),
        ({"flip_vertical": "yes"}, "flip_vertical='yes' must be True or False"),
        ({"rotate": 181}, "rotate=181 must be from 0 to 180"),
        ({"rotate": -10}, "rotate=-10 must be from 0 to 180"),
        ({"rotate": np.nan}, "rotate=nan must be from 0 to 180"),
        ({"zoom": 1}, "zoom=1 must be from 0 to 0.9"),
        ({"zoom": True}, "zoom=True must be from 0 to 0.9"),
        ({"border": "wrap"}, "border='wrap' must be one of 'edge', 'zero'"),
        ({"probability": 1.1}, "probability=1.1 must be from 0 to 1"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        Augmentation(**parameters).apply(np.zeros((1, 3, 3)))


@pytest.mark.parametrize("X", [np.zeros((3, 3)), np.zeros((1, 0, 3)), np.full((1, 2, 2), "a")])
def test_what_are_no_images_is_refused(X):
    with pytest.raises(ValueError, match=r"X has shape .* images must be numbers of shape"):
        Augmentation(1).apply(X)
    with pytest.raises(ValueError, match="step=-1"):
        Augmentation(1).apply(np.zeros((1, 3, 3)), step=-1)


def test_equality_copies_and_texts():
    one = Augmentation(2, flip=True, rotate=10)
    assert one == clone(one) == pickle.loads(pickle.dumps(one)) != Augmentation(2)
    assert one != "Augmentation(2)"
    assert repr(one) == "Augmentation(flip=True, rotate=10, shift=2)"
    again = Augmentation((2.0, np.int8(2)), flip=np.True_, rotate=np.float64(10))
    assert one.changes() == again.changes() != Augmentation(2, flip=True, rotate=10.1).changes()
    assert ALL.changes().text == (
        "shift 3, 1; flip; flip_vertical; rotate 20; zoom 0.25; border edge; probability 1"
    )
