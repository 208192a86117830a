"""A union of booleanizers for images: the bits of its parts side by side, what they mean, files."""

import copy
import json
import math
import pickle
import re
import tracemalloc

import numpy as np
import pytest
from booleanize_helpers import noise, quick
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import cotm
from cotm import (
    AdaptiveGaussianThreshold,
    EdgeThermometer,
    GradientHistogram,
    ImageThermometer,
    ImageUnion,
    _native,
)
from cotm.booleanize import booleanizer_from_state, edges, histograms, image_base
from cotm.reporting.data import Options, gather
from cotm.rules import feature_descriptions

PARTS = st.one_of(
    st.builds(AdaptiveGaussianThreshold, st.sampled_from([3, 5]), st.integers(-3, 3)),
    st.builds(ImageThermometer, st.integers(1, 9)),
    st.builds(
        EdgeThermometer,
        st.sampled_from([["edge x 3 px"], ["line y 3 px", "edge y 7 px"]]),
        st.sampled_from([(), (0, 0.5)]),
        st.sampled_from([(0,), (0.25, 0.75)]),
        n_jobs=st.integers(1, 3),
    ),
    st.builds(
        GradientHistogram,
        st.sampled_from([2, (3, 4)]),
        st.integers(1, 3),
        directions=st.integers(3, 5),
        quantiles=st.sampled_from([(0,), (0.2, 0.9)]),
        colour=st.sampled_from(["strongest", "each"]),
        n_jobs=st.integers(1, 3),
    ),
)


def three(**options):
    return ImageUnion(
        [EdgeThermometer(["edge x 7 px"]), GradientHistogram(step=1), ImageThermometer(8)]
    )


def small(**options):
    settings = {"T": 10, "s": 3.0, "epochs": 2, "patch_shape": (1, 1), "random_state": 0}
    return cotm.CoTMClassifier(20, **{"booleanize": three(), **settings, **options})


def digits(count=90, side=8):
    images, y = noise((count, side, side), 1) // 8, np.arange(count) % 2
    images[y == 1, 4:, 3:7] += 200
    return images, y


@quick
@given(
    st.lists(PARTS, min_size=1, max_size=4),
    st.tuples(st.integers(0, 4), st.integers(4, 7), st.integers(4, 7), st.integers(1, 2)),
    st.integers(0, 9),
    st.sampled_from([np.uint8, np.int64, float]),
    st.integers(1, 3),
)
def test_bits_and_names_are_those_of_the_parts(parts, shape, seed, dtype, at_once):
    training = noise((3, *shape[1:]), seed).astype(dtype)
    images = noise(shape, seed + 1).astype(dtype)
    if shape[3] == 1 and seed % 2:
        training, images = training[..., 0], images[..., 0]
    union = ImageUnion(parts).fit(training)
    fitted = [clone(part).fit(training) for part in parts]
    sizes = [(part, math.prod(part.bits_shape(images.shape[1:]))) for part in fitted]
    expected = [part.transform(images).reshape(len(images), size) for part, size in sizes]
    whole = np.concatenate(expected, axis=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image_base, "_BLOCK_BITS", at_once * whole.shape[1])
        bits = union.transform(images)
    assert bits.shape == (len(images), 1, 1, union.n_bits_out_) and bits.dtype == np.uint8
    assert bits.shape[1:] == union.bits_shape(images.shape[1:])
    np.testing.assert_array_equal(bits.reshape(whole.shape), whole)
    assert len(union.describe()) == union.n_bits_out_
    # What a rule about the whole image says of each part. Grids of one row it has as sequences.
    names = []
    senses = {type(part): {p._unsaid() for p in fitted if type(p) is type(part)} for part in fitted}
    for k, part in enumerate(fitted):
        number = 1 + sum(type(p) is type(part) for p in fitted[:k])
        which = f"-{number}" if len(senses[type(part)]) > 1 else ""
        rows, columns, channels = (*part.bits_shape(images.shape[1:]), 1)[:3]
        for y, x in np.ndindex(rows, columns):
            for name in part.get_feature_names_out():
                kind, _, rest = name.partition(" ")
                place = f"{kind if kind in ('pixel', 'cell') else 'pixel'}{which}({y},{x})"
                names.append(f"{place} {rest if kind in ('pixel', 'cell') else name}")
        assert channels == part.n_bits_out_
    assert union.get_feature_names_out().tolist() == names


def test_names_are_those_of_whole_image_machines():
    images, y = digits()
    union = small().fit(images, y)
    names = [*map(str, feature_descriptions(union))]
    assert names == union.booleanizer_.get_feature_names_out().tolist()
    expected = []
    for part in three().booleanizers:
        shape = clone(part).fit(images).bits_shape((8, 8))[:2]
        alone = small(booleanize=part, patch_shape=shape, epochs=0).fit(images, y)
        expected += map(str, feature_descriptions(alone))
    assert names == expected
    assert "pixel(2,3) edge x 7 px > median" in names
    assert "cell(2,3) gradient 45° > median" in names
    assert any(re.fullmatch(r"pixel\(2,3\) > \d+(\.5)?", name) for name in names)


def test_it_learns_what_the_parts_side_by_side_teach(tmp_path):
    images, y = digits()
    model = small().fit(images, y)
    bits = [clone(part).fit_transform(images).reshape(90, -1) for part in three().booleanizers]
    flat = np.concatenate(bits, axis=1)
    by_hand = small(booleanize=None, patch_shape=None).fit(flat, y)
    np.testing.assert_array_equal(model.memory_, by_hand.memory_)
    np.testing.assert_array_equal(model.votes(images), by_hand.votes(flat))
    model.save(tmp_path / "m.cotm")
    again = cotm.load(tmp_path / "m.cotm")
    np.testing.assert_array_equal(again.votes(images), model.votes(images))
    assert [*map(str, again.rules())] == [*map(str, model.rules())]
    for name in ("again.cotm", "once more.cotm"):
        cotm.load(tmp_path / "m.cotm").save(tmp_path / name)
    assert len({(tmp_path / name).read_bytes() for name in ("again.cotm", "once more.cotm")}) == 1
    assert again.booleanize.get_params()["imagethermometer__n_bits"] == 8
    again.partial_fit(images, y)
    # Before the model, in a pipeline, bits say what they are too.
    behind = make_pipeline(three(), small(booleanize="auto")).fit(images, y)
    assert [*map(str, behind[-1].rules())] == [*map(str, model.rules())]
    behind[-1].save(tmp_path / "behind.cotm")
    loaded = cotm.load(tmp_path / "behind.cotm")
    assert [*map(str, loaded.rules())] == [*map(str, model.rules())]


def test_images_that_change_while_training():
    images, y = digits(40)
    changes = cotm.Augmentation(shift=1, flip=True)
    model = small(augment=changes).fit(images, y)
    reader, machine = model._reader, model.machine_.fresh()
    for epoch in range(2):
        changed = changes.apply(images, random_state=0, step=40 * epoch)
        training = machine.prepare(
            reader.bits_of(changed), np.eye(2, dtype=np.uint8)[y], np.ones(1)
        )
        machine.train_pass(training, shuffle=True)
    np.testing.assert_array_equal(model.memory_, machine.memory_)
    fitted, plain = model.booleanizer_, three().fit(images)  # of images as they are
    np.testing.assert_array_equal(fitted.transform(images), plain.transform(images))


def test_without_the_native_core(monkeypatch):
    images = noise((3, 9, 7), 0)
    union = three().fit(images)
    bits = union.transform(images)
    for module in (edges, histograms):
        monkeypatch.setattr(module, "native_core", lambda: None)
    np.testing.assert_array_equal(union.transform(images), bits)


def test_no_bits_are_made_twice():
    images = noise((400, 16, 16), 0)
    union = three().fit(images)
    size = 400 * union.n_bits_out_
    tracemalloc.start()
    union.transform(images)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size < peak < 1.1 * size


def test_native_core_writes_into_slices_of_rows():
    images = noise((2, 4, 5, 1), 0)
    few, none = np.zeros(1, np.int32), np.zeros(0, np.int32)
    kernels = np.zeros((0, 7, 7), np.int8)
    room = np.full((2, 50), 9, dtype=np.uint8)
    _native.image_planes(images, kernels, few, none, none, 2, room[:, 11:31].reshape(2, 4, 5, 1))
    np.testing.assert_array_equal(room[:, 11:31].reshape(2, 4, 5), images[..., 0] > 0)
    assert (room[:, :11] == 9).all() and (room[:, 31:] == 9).all()
    wide = np.zeros((2, 4, 5, 2), dtype=np.uint8)
    apart = wide[..., :1], np.zeros((2, 5, 4, 1), np.uint8).transpose(0, 2, 1, 3)
    again = np.broadcast_to(np.zeros((1, 4, 5, 1), np.uint8), (2, 4, 5, 1))
    turned = np.zeros((2, 4, 5, 1), np.uint8)[::-1]
    again.flags.writeable = True
    for bits, message in [(bits, "side by side") for bits in apart] + [
        (bits, "must not overlap") for bits in (again, turned)
    ]:
        with pytest.raises(ValueError, match=message):
            _native.image_planes(images, kernels, few, none, none, 1, bits)


# What rules say --------------------------------------------------------------------------


def test_gray_levels_and_quantiles_of_a_pixel_are_told_apart():
    """Numbers and quantiles of a pixel are no one order, so neither says more than the other."""
    images, y = digits()
    levels = EdgeThermometer([], levels=[0, 0.5])
    model = small(booleanize=ImageUnion([levels, ImageThermometer(3)])).fit(images, y)
    low, high = (
        f"pixel(5,5) > {t:g}" for t in model.booleanizer_.booleanizers_[1].thresholds_[0][[0, 2]]
    )
    votes = {0: -1, 1: 3}
    for said, expected in (
        (f"pixel(5,5) > median and {low}", f"pixel(5,5) > median and {low}"),
        (
            f"pixel(5,5) > 0 and pixel(5,5) > median and {low} and {high}",
            f"pixel(5,5) > median and {high}",
        ),
        ("pixel(5,5) <= median", "pixel(5,5) <= median"),
        ("0 < pixel(5,5) <= median", "0 < pixel(5,5) <= median"),
    ):
        added = model.add_rule(said, votes)
        assert str(added).startswith(f"if {expected}: ")
        bits = model.booleanizer_.transform(images)[:, 0, 0]
        names = model.booleanizer_.get_feature_names_out().tolist()
        conditions = [c.strip() for c in said.split(" and ")]
        holds = np.ones(len(images), dtype=bool)
        for condition in conditions:
            if condition.startswith("0 < "):
                holds &= bits[:, names.index("pixel(5,5) > 0")] == 1
                condition = condition.removeprefix("0 < ")
            above = condition.replace("<=", ">")
            holds &= bits[:, names.index(above)] == (above == condition)
        np.testing.assert_array_equal(model.clause_outputs(images)[:, added.clause], holds)
        model.undo()
    with pytest.raises(ValueError, match="not compared with 3rd quartile"):
        model.add_rule("pixel(5,5) > 3rd quartile", votes)


def test_cells_of_different_sizes_have_names_of_their_own(tmp_path):
    images, y = digits()
    parts = [ImageThermometer(1), GradientHistogram(4, 1), GradientHistogram(6, 1)]
    model = small(booleanize=ImageUnion(parts)).fit(images, y)
    text = "".join(map(str, model.rules()))
    assert "cell-1(" in text and "cell-2(" in text and "cell(" not in text and " pixel(" in text
    model.save(tmp_path / "m.cotm")
    assert "".join(map(str, cotm.load(tmp_path / "m.cotm").rules())) == text
    places = []
    for said in ("cell-1(1,1) gradient 45° > 0", "cell-2(1,1) gradient 45° > 0"):
        rule = model.add_rule(said, {1: 5})
        assert said in str(rule)
        places.append(int(np.flatnonzero(model.memory_[rule.clause] >= 0)[0]))
        model.undo()
    first = 64 + 25 * 40  # levels, and the bits of the small cells
    assert 64 <= places[0] < first <= places[1]
    names = model.explain(images[:2], images[2:9]).feature_names
    assert "cell-1(4,4)" in names and "cell-2(2,2)" in names and "pixel(0,0)" in names
    assert len(names) == len({*names}) == 64 + 25 + 9
    # Histograms of the same cells are one, as only quantiles differ; pixels are always the same.
    parts = [GradientHistogram(4, 1, quantiles=[0]), GradientHistogram(4, 1, quantiles=[0.5])]
    names = ImageUnion(parts).fit(images).get_feature_names_out()
    assert all(name.startswith("cell(") for name in names)
    means = ImageUnion([AdaptiveGaussianThreshold(3), AdaptiveGaussianThreshold(5)])
    model = small(booleanize=means, epochs=9).fit(images, y)
    text = "".join(map(str, model.rules()))
    assert "pixel-1(" in text and "pixel-2(" in text and " > local mean - 2" in text
    names = model.explain(images[:2], images[2:9]).feature_names
    assert len(names) == 64 and names[-1] == "pixel(7,7)"


def test_explanations_are_of_pixels_and_cells():
    images, y = digits()
    model = small(epochs=5, tolerance=3).fit(images, y)
    why = model.explain(images[:4], images[4:20])
    np.testing.assert_allclose(why.base + why.contributions.sum(axis=1), model.votes(images[:4]))
    assert why.image_shape is None and len(why.feature_names) == 64 + 25
    assert {"pixel(7,7)", "cell(4,4)"} <= {*why.feature_names}
    # The bits of a place together, whatever part they are of: as columns of a table.
    bits = model.booleanizer_.transform(images)
    behind = small(epochs=5, tolerance=3, booleanize=None).fit(bits, y)
    again = behind.explain(bits[:4], bits[4:20])
    assert again.feature_names == why.feature_names
    np.testing.assert_allclose(again.contributions, why.contributions)
    assert model.class_importances_.shape == (64 + 25, 2)
    with pytest.raises(AttributeError, match="not known which bits ImageUnion makes"):
        model.feature_importances_  # noqa: B018
    with pytest.raises(ValueError, match="makes bits of images with ImageUnion"):
        model.counterfactual(images[0])


def test_a_report_has_the_bits(tmp_path):
    images, y = digits(60, 6)
    union = ImageUnion([ImageThermometer(1), GradientHistogram(4, 2, directions=3)])
    model = small(booleanize=union).fit(images, y)
    model.report(tmp_path / "report.html", images, y)
    found = gather(model, images, y, Options()).details
    assert found["reasons"]["names"][0] == "pixel(0,0)"
    assert found["importance"]["shape"] is None
    assert {place for place, _ in found["importance"]["outputs"][0]} & {"cell(0,1)", "cell(1,1)"}


def test_pictures_of_clauses_are_refused():
    pytest.importorskip("matplotlib")
    from cotm.plotting import ClausesDisplay, FiringDisplay

    images, y = digits()
    model = small().fit(images, y)
    with pytest.raises(ValueError, match="an ImageUnion look at several grids at once"):
        ClausesDisplay.from_estimator(model)
    clause = int(model.clause_outputs(images).sum(axis=0).argmax())
    shown = FiringDisplay.from_estimator(model, images, clause, count=2)
    assert shown.images.shape[1:] == (8, 8) and shown.boxes[0] is None


def test_exports_read_bits(tmp_path):
    images, y = digits(60)
    model = small().fit(images, y)
    for name in ("m.json", "m.c", "m.js"):
        with pytest.raises(ValueError, match="an ImageUnion reads images in several ways"):
            model.export(tmp_path / name)
        model.export(tmp_path / name, inputs="bits")


def test_images_in_parts():
    """Streams and clusters read what learns nothing from pixels; the rest is refused."""
    images, y = digits(60)
    shapes = ImageUnion([EdgeThermometer(["line x 3 px"]), GradientHistogram(step=1)])
    whole = small(booleanize=shapes).fit(images, y)
    stream = small(booleanize=shapes).fit(cotm.Stream(images, y, batch_rows=13))
    np.testing.assert_array_equal(stream.memory_, whole.memory_)
    with pytest.raises(ValueError, match="ImageUnion learns from all examples at once"):
        small().fit(cotm.Stream(images, y, batch_rows=13))
    with pytest.raises(ValueError, match="learns from all of X at once, but X comes in parts"):
        from cotm.model.input_parts import PartLooks

        PartLooks.of(small(), images[:7])


# Parameters ------------------------------------------------------------------------------


def test_parameters_by_name():
    images = noise((2, 6, 6), 0)
    union = ImageUnion([EdgeThermometer(), ImageThermometer(2), EdgeThermometer(levels=[0])])
    names = {name for name in union.get_params() if "__" not in name}
    assert names == {"booleanizers", "edgethermometer-1", "imagethermometer", "edgethermometer-2"}
    union.set_params(**{"edgethermometer-2__levels": [0.5], "imagethermometer__n_bits": 3})
    assert union.booleanizers[2].levels == [0.5] and union.booleanizers[1].n_bits == 3
    union.set_params(imagethermometer=ImageThermometer(1))
    assert [type(part) for part in union.booleanizers] == [
        EdgeThermometer,
        ImageThermometer,
        EdgeThermometer,
    ]
    named = ImageUnion([("fine", GradientHistogram(2)), ("gray", ImageThermometer(2))])
    named.set_params(gray__n_bits=5, fine=GradientHistogram(3))
    assert named.booleanizers[1][1].n_bits == 5 and named.get_params()["fine__cell"] == 3
    assert named.booleanizers[0][0] == "fine"
    fresh = clone(named).set_params(booleanizers=[ImageThermometer(2)], imagethermometer__n_bits=4)
    assert fresh.get_params()["imagethermometer__n_bits"] == 4
    # Of a classifier, as scikit-learn's searches set them.
    model = small(booleanize=named).set_params(booleanize__gray__n_bits=7)
    assert model.booleanize.booleanizers[1][1].n_bits == 7
    long = [(f"part{k}", EdgeThermometer(levels=[0, 0.1 + k / 100])) for k in range(20)]
    assert repr(ImageUnion(long)).count("EdgeThermometer(levels=[0, 0.") == 20
    assert "\n" not in repr(ImageUnion(long))
    with pytest.raises(ValueError, match="Invalid parameter 'grey'"):
        named.set_params(grey__n_bits=1)
    # Fitting changes no parameter, and what is changed later no fitted one.
    fitted = named.fit(images)
    before = fitted.transform(images)
    named.set_params(gray__n_bits=1)
    np.testing.assert_array_equal(fitted.transform(images), before)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(images), before)
    assert again.describe() == fitted.describe()
    bits = pickle.loads(pickle.dumps(before))
    assert [*map(str, bits.bit_description.features())] == [*map(str, fitted.describe())]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "booleanizers has 0 entries; pass from 1 to 64"),
        ([ImageThermometer()] * 65, "booleanizers has 65 entries"),
        (ImageThermometer(), r"booleanizers=ImageThermometer\(\) must be a list"),
        ("edges", "booleanizers='edges' must be a list"),
        ([cotm.Thermometer()], r"booleanizers holds Thermometer\(\); each must be one of Adap"),
        ([ImageThermometer], "booleanizers holds <class .*ImageThermometer'>; each"),
        ([None], "booleanizers holds None; each"),
        ([("gray", None)], "booleanizers holds None; each"),
        ([three()], r"booleanizers holds ImageUnion\(.*\) in a union; each must be"),
        ([("a", ImageThermometer()), EdgeThermometer()], "holds EdgeThermometer.* name all of"),
        ([("a", ImageThermometer()), ("a", EdgeThermometer())], "Names provided are not unique"),
        ([("a__b", ImageThermometer())], "must not contain __"),
        ([ImageThermometer(0)], "n_bits=0 must be"),
        ([ImageThermometer(), EdgeThermometer(["edge z"])], "filters holds 'edge z'"),
        ([GradientHistogram(9)], r"cell=9 is larger than the images, which are \(6, 6\)"),
    ],
)
def test_parameters_are_checked(parts, message):
    union = ImageUnion(parts)
    repr(union), union.get_params(deep=False), clone(union)
    with pytest.raises(ValueError, match=re.compile(message, re.DOTALL)):
        union.fit(noise((2, 6, 6), 0))
    assert not hasattr(union, "booleanizers_")


def test_other_images_are_refused():
    union = three().fit(noise((2, 6, 6), 0))
    for images, message in (
        (noise((2, 6, 7), 0), r"of shape \(6, 7, 1\), but ImageUnion was fitted on \(6, 6, 1\)"),
        (noise((2, 6, 6, 3), 0), "X has 3 channels, but ImageUnion is expecting 1"),
        (np.full((1, 6, 6), 256), "from 0 to 255, but one is 256"),
        (np.full((1, 6, 6), np.nan), "from 0 to 255, but one is nan"),
        (noise((6, 6), 0), "must have the shape"),
    ):
        with pytest.raises(ValueError, match=message):
            union.transform(images)
    with pytest.raises(ValueError, match=r"from 0 to 255, but one is 0\.5"):
        three().fit(np.full((1, 6, 6), 0.5))
    floats = noise((3, 5, 5), 0) / 255  # levels alone take any numbers
    np.testing.assert_array_equal(
        ImageUnion([ImageThermometer(3)]).fit_transform(floats).ravel(),
        ImageThermometer(3).fit_transform(floats).ravel(),
    )
    volumes = noise((6, 2, 6, 6), 0)
    with pytest.raises(ValueError, match=r"reads images, but patch_shape=\(1, 1, 1\) volumes"):
        small(patch_shape=(1, 1, 1)).fit(volumes, np.arange(6) % 2)
    with pytest.raises(ValueError, match=r"larger than the image, .* \(1, 1\) as ImageUnion makes"):
        small(patch_shape=(2, 2)).fit(noise((6, 6, 6), 0), np.arange(6) % 2)


# States ----------------------------------------------------------------------------------


def state():
    images = noise((3, 6, 6, 2), 0)
    parts = [
        ("fine", GradientHistogram(2)),
        ("gray", ImageThermometer(3)),
        ("more", ImageThermometer(1)),
    ]
    union = ImageUnion(parts).fit(images)
    return union, images, *union.to_state()


def test_state_round_trip():
    union, images, meta, arrays = state()
    for named in (True, False):
        if not named:
            union = ImageUnion([part for _, part in union.booleanizers]).fit(images)
            meta, arrays = union.to_state()
        again = booleanizer_from_state(json.loads(json.dumps(meta, allow_nan=False)), arrays)
        np.testing.assert_array_equal(again.transform(images), union.transform(images))
        assert again.describe() == union.describe()
        assert [n for n in again.get_params() if "__" not in n] == [
            n for n in union.get_params() if "__" not in n
        ]
        second, more = again.to_state()
        assert second == meta and more.keys() == arrays.keys()
        clone(again).fit(images)


def nested(meta, arrays):
    arrays.clear()
    for _ in range(50):
        meta["parts"] = [{**meta}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, a: m.update(parts=[]), "there are 0 parts"),
        (lambda m, a: m.update(parts=m["parts"] * 40), "there are 120 parts"),
        (lambda m, a: m.update(parts={}), "parts must be of type list"),
        (lambda m, a: m.update(parts=[1]), "a part must be of type dict|is of no part"),
        (nested, "a part's class must be one of .* got 'ImageUnion'"),
        (lambda m, a: m["parts"][0].update({"class": "NGrams"}), "a part's class must be one"),
        (lambda m, a: m["parts"][0].update({"class": []}), "a part's class must be one"),
        (lambda m, a: m["parts"][0].update(version=2), "a part's version is 2"),
        (lambda m, a: m["parts"][1].update(n_channels=1), "offsets"),
        (lambda m, a: m["parts"][0].update(n_channels=1), "channels of parts do not fit"),
        (lambda m, a: m["parts"][0]["params"].update(cell=[7, 1]), "cell=.* is larger than the"),
        (lambda m, a: m.update(shape=[6, 6]), "shape is"),
        (lambda m, a: m.update(shape=[6, 6, True]), "shape is"),
        (lambda m, a: m.update(shape=[6, 6, 3]), "channels of parts"),
        (lambda m, a: m.update(shape=[2**20, 2**20, 2]), "shape is"),
        (lambda m, a: m.update(shape=[2**13, 2**13, 2]), "an image has .* bits"),
        (lambda m, a: m.update(names=["a"]), "names must be 3"),
        (lambda m, a: m.update(names=["a", "b", 3]), "a part's name must be of type str"),
        (lambda m, a: m.update(names=["a", "b", "a"]), "not unique"),
        (lambda m, a: m.update(names="abc"), "names must be of type list"),
        (lambda m, a: a.update({"3.thresholds": a["1.thresholds"]}), "'3.thresholds' is of no"),
        (lambda m, a: a.update({"x": a["1.thresholds"]}), "'x' is of no part"),
        (lambda m, a: a.update({"01.offsets": a["1.offsets"]}), "'01.offsets' is of no part"),
        (lambda m, a: a.update({"²": a["1.offsets"]}), "'²' is of no part"),
        (lambda m, a: a.pop("1.thresholds"), "arrays must have the keys"),
        (lambda m, a: a.update({"0.x": a["1.thresholds"]}), "arrays must have the keys"),
    ],
)
def test_damaged_states_are_refused(change, message):
    _, _, meta, arrays = state()
    meta, arrays = copy.deepcopy(meta), dict(arrays)
    change(meta, arrays)
    with pytest.raises(ValueError, match=message):
        booleanizer_from_state(meta, arrays)
