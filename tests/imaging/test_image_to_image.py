"""Images from images, by the windows around their pixels."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import fails, run

import cotm
from cotm.files.container import pack, read_container
from cotm.imaging.levels import Levels
from cotm.imaging.windows import DrawnWindows, WindowBits, blocks_of, joined


def bits(shape, seed=0):
    return (np.random.default_rng(seed).random(shape) < 0.5).astype(np.uint8)


def enlarged(images):
    """Twice the size; a pixel's lower right quarter says whether the pixel to its left is 1."""
    large = images.repeat(2, axis=1).repeat(2, axis=2)
    large[:, 1::2, 1::2] = np.pad(images, ((0, 0), (0, 0), (1, 0)))[:, :, :-1]
    return large


def learner(**parameters):
    options = {"n_clauses": 40, "window": 3, "windows": 20, "epochs": 3, "random_state": 0}
    return cotm.CoTMImageToImage(**{**options, **parameters})


SMALL = bits((60, 5, 6))
LARGE = enlarged(SMALL)


@pytest.fixture(scope="module")
def model():
    return learner().fit(SMALL, LARGE)


def test_it_learns_what_windows_say(model):
    others = bits((20, 9, 4), seed=1)  # of any size
    assert np.array_equal(model.predict(others), enlarged(others))
    assert model.score(others, enlarged(others)) == 1.0
    assert model.predict(others).dtype == np.uint8 and model.block_ == (2, 2)
    assert np.array_equal(model.votes(others)[..., 0] >= 0, enlarged(others) == 1)
    assert 0.99 < model.history_[-1]["train_accuracy"] <= 1


def test_gray_images_come_out_on_their_levels():
    gray = np.random.default_rng(0).choice([10.0, 20.0, 50.0, 90.0], (80, 4, 4))
    mirrored = np.flip(gray, axis=0)
    model = learner(output_levels=4, window=(3, 1), epochs=6).fit(gray, gray)
    assert model.score(gray, gray) > 0.95 and model.block_ == (1, 1)
    assert {*np.unique(model.predict(gray))} == {10, 20, 50, 90}
    assert model.score(gray, mirrored) < 0.5
    assert any("15 < pixel(0,0) <= 35" in words for words in model.clauses_)


def test_levels_are_values_or_of_equal_height():
    images = np.array([[0, 3, 100], [255, 3, 17]], dtype=np.uint8)
    few = Levels.of(images, 5, "X")
    assert few.values.tolist() == [0, 3, 17, 100, 255]
    assert np.array_equal(few.of_numbers(few.numbers(images)), images)
    odd = Levels.of(images, 2, "X")
    assert odd.thresholds.tolist() == [127], "which bytes are above where they are above 127.5"
    three = Levels.of(images, 3, "X")
    assert three.thresholds.tolist() == [85, 170]
    assert three.numbers(images).tolist() == [[0, 0, 1], [2, 0, 0]]
    assert three.values.tolist() == [(0 + 3 + 3 + 17) / 4, 100, 255]
    assert three.of_numbers(np.array([0])).tolist() == [6]


@pytest.mark.parametrize("shape", [(3, 5), (5, 1), (1, 1)])
def test_windows_are_what_lies_around(shape):
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 4, (3, 4, 3, 2)).astype(np.uint8)
    window = WindowBits(*shape, channels=2, thresholds=3)
    places = np.stack(np.meshgrid(*map(np.arange, levels.shape[:3]), indexing="ij"))
    found = window.of(window.padded(levels), *places.reshape(3, -1)).bits
    assert found.shape == (36, 1, 1, window.n_bits)
    for row, (image, y, x) in enumerate(places.reshape(3, -1).T):
        expected, outside = [], {}
        for dy in range(-(shape[0] // 2), shape[0] // 2 + 1):
            for dx in range(-(shape[1] // 2), shape[1] // 2 + 1):
                outside["row", dy], outside["column", dx] = not 0 <= y + dy < 4, not 0 <= x + dx < 3
                inside = not (outside["row", dy] or outside["column", dx])
                for channel in range(2):
                    level = levels[image, y + dy, x + dx, channel] if inside else 0
                    expected += [level > t for t in range(3)]
        expected += [value for (_, place), value in sorted(outside.items(), key=lambda o: (
            o[0][0] == "column", o[0][1])) if place]  # fmt: skip
        assert found[row, 0, 0].tolist() == [int(bit) for bit in expected]


def test_blocks_come_apart_and_together():
    images = np.arange(2 * 6 * 4 * 3).reshape(2, 6, 4, 3)
    blocks = blocks_of(images, (3, 2))
    assert np.array_equal(blocks[1, 2, 1], images[1, 4:6, 2:4])
    assert np.array_equal(joined(blocks), images)


def test_each_pass_draws_windows_and_their_targets():
    window = WindowBits(3, 3, 1, 1)
    drawn = DrawnWindows(window, SMALL[..., None], LARGE[..., None], 1, per_image=7, seed=3)
    rows = np.arange(len(drawn))
    image, row, column = drawn.places(5, rows)
    assert np.array_equal(image, rows // 7) and len({*zip(row, column, strict=True)}) == 30
    wanted = drawn.targets_of_pass(5, rows, drawn.targets())
    assert wanted.shape == (420, 4)
    for k in range(20):
        block = LARGE[image[k], 2 * row[k] : 2 * row[k] + 2, 2 * column[k] : 2 * column[k] + 2]
        assert wanted[k].tolist() == block.ravel().tolist()
    found = drawn.of_pass(5, rows).bits
    assert np.array_equal(found[:, 0, 0, 4], SMALL[image, row, column]), "the middle of 3 x 3"
    assert np.array_equal(drawn.of_pass(5, rows[::-1]).bits[::-1], found)
    assert not np.array_equal(drawn.of_pass(6, rows).bits, found)


@pytest.mark.parametrize("backend", ["reference", "native"])
def test_every_backend_and_any_break_give_the_same(tmp_path, backend):
    images, wanted = SMALL[:12], LARGE[:12]
    part = learner(epochs=1, backend=backend, n_jobs=2).fit(images, wanted)
    part.save(tmp_path / "part.cotm")
    gone_on = cotm.load(tmp_path / "part.cotm").set_params(epochs=2)
    gone_on.fit(images, wanted, resume=True)
    whole = learner(epochs=2, n_jobs=1).fit(images, wanted)
    assert np.array_equal(gone_on.machine_.weights_, whole.machine_.weights_)
    assert np.array_equal(gone_on.machine_.memory_, whole.machine_.memory_)
    assert gone_on.clauses_ == whole.clauses_
    with pytest.raises(ValueError, match="differ from what training began with"):
        whole.set_params(windows=3).fit(images, wanted, resume=True)
    with pytest.raises(ValueError, match=r"s=3.0 and training began with 10.0"):
        whole.set_params(windows=20, s=3.0).fit(images, wanted, resume=True)


def test_training_in_parts():
    whole = learner(epochs=1).fit(SMALL, LARGE)
    part = learner(epochs=7).partial_fit(SMALL, LARGE)
    assert np.array_equal(part.machine_.weights_, whole.machine_.weights_)
    part.partial_fit(SMALL[:9], LARGE[:9])
    assert [record["epoch"] for record in part.history_] == [1, 2]
    with pytest.raises(ValueError, match="1 x 1 times as large as X, but was 2 x 2"):
        part.partial_fit(SMALL, SMALL)
    with pytest.raises(ValueError, match=r"Y has images of shape .* no channels"):
        part.partial_fit(SMALL, LARGE[..., None])


def test_colours_and_other_types(tmp_path):
    colours = np.random.default_rng(0).random((40, 4, 4, 2))
    wanted = (colours[..., :1] > colours[..., 1:]) | (colours[..., :1] > 0.8)
    model = learner(levels=4, epochs=8).fit(colours, wanted)
    found = model.predict(colours)
    assert found.dtype == np.bool_ and found.shape == (40, 4, 4, 1)
    assert (found == wanted).mean() > 0.8
    assert any("channel 1" in words for words in model.clauses_)
    model.save(tmp_path / "model.cotm")
    loaded = cotm.load(tmp_path / "model.cotm")
    assert np.array_equal(loaded.votes(colours), model.votes(colours))
    with pytest.raises(ValueError, match=r"X has images of shape \(4, 4\), .* 2 channels"):
        model.predict(colours[..., 0])


def test_words_and_bounds_say_what_fires(model):
    window = model._learned().extra.window
    above, up_to = model.clause_bounds()
    assert above.shape == up_to.shape == (40, 3, 3)
    rng = np.random.default_rng(4)
    images = rng.integers(0, 2, (50, 5, 5)).astype(np.uint8)  # the middle's window is all inside
    middle = np.full(50, 2)
    examples = window.of(window.padded(images[..., None]), np.arange(50), middle, middle)
    fires = model.machine_.clause_outputs(examples)
    for clause, words in enumerate(model.clauses_):
        if not words:
            continue
        seen = images[:, 1:4, 1:4]
        holds = ((seen > above[clause]) & (seen <= up_to[clause])).all(axis=(1, 2))
        if " outside" in words.replace("not row", "").replace("not column", ""):
            needs = [part for part in words.split(" and ") if "outside" in part]
            holds &= all(part.startswith("not ") for part in needs)
        assert np.array_equal(fires[:, clause], holds), words


def test_ctrl_c_keeps_finished_epochs(monkeypatch):
    passes = cotm.Machine.train_pass

    def stopping(machine, training, **options):
        return None if machine.step_ else passes(machine, training, **options)

    monkeypatch.setattr(cotm.Machine, "train_pass", stopping)
    model = learner().fit(SMALL, LARGE)
    assert len(model.history_) == 1 and model.predict(SMALL).shape == LARGE.shape


@pytest.mark.parametrize(
    "X, Y, message",
    [
        (SMALL[0], LARGE, r"X has shape \(5, 6\)"),
        (SMALL, LARGE[:9], "X has 60 images, but Y has 9"),
        (SMALL, LARGE[:, :9], "a whole number of times as high"),
        (SMALL, SMALL[:, :2], "a whole number of times as high"),
        (SMALL[:, :0], LARGE, "holds no pixels"),
        (SMALL * np.nan, LARGE, "X holds nan"),
        (SMALL.astype(str), LARGE, "pixels must be numbers"),
        (SMALL * 0, LARGE, "all pixels of X are 0"),
    ],
)
def test_bad_images_are_told(X, Y, message):
    with pytest.raises(ValueError, match=message):
        learner().fit(X, Y)


def test_mistakes_are_told(model):
    with pytest.raises(ValueError, match=r"window=4 must be odd"):
        learner(window=4).fit(SMALL, LARGE)
    with pytest.raises(ValueError, match="levels=1"):
        learner(levels=1).fit(SMALL, LARGE)
    with pytest.raises(ValueError, match="but X becomes"):
        model.score(SMALL, SMALL)
    with pytest.raises(ValueError, match="nothing has been fitted"):
        learner().fit(SMALL, LARGE, resume=True)


def test_damaged_files_are_refused(model, tmp_path):
    path = tmp_path / "model.cotm"
    model.save(path)
    header, tensors = read_container(path)
    extra = header["extra"]
    for change in ({"block": [2, 2, 2]}, {"window": [3, 4, 1]}, {"types": ["|u1", "|S3"]},
                   {"flat": [True, 1]}, {"window": [3, 3]}, {"types": ["|u1"]}):  # fmt: skip
        damaged = {**header, "extra": extra | change}
        path.write_bytes(pack(json.dumps(damaged), tensors))
        with pytest.raises(cotm.ModelFileError):
            cotm.load(path)
    for name in ("memory", "extra.given.thresholds", "extra.made.values"):
        path.write_bytes(pack(json.dumps(header), tensors | {name: tensors[name][:0]}))
        with pytest.raises(cotm.ModelFileError):
            cotm.load(path)


def test_the_command_line_describes_it(model, tmp_path):
    path = tmp_path / "model.cotm"
    model.save(path)
    assert "becomes 2 x 2, by 13 bits" in run("info", path).stdout
    assert "predicts no labels" in fails("rules", path)


def test_the_command_line_makes_images(model, tmp_path):
    path, small, large = (tmp_path / name for name in ("model.cotm", "small.npz", "large.npz"))
    model.save(path)
    np.savez(small, X=SMALL[:4], other=SMALL[:1])
    run("images", path, small, "--out", large)
    assert np.array_equal(np.load(large)["X"], model.predict(SMALL[:4]))
    run("images", path, small, "--out", large, "--x", "other", "--jobs", "1")
    assert len(np.load(large)["X"]) == 1
    assert "must end in .npz" in fails("images", path, small, "--out", tmp_path / "large.png")
    assert "is the file that is read" in fails("images", path, small, "--out", small)
    learned = cotm.CoTMClassifier(5, epochs=1).fit(SMALL.reshape(60, -1), [0, 1] * 30)
    learned.save(path)
    assert "images come from a CoTMImageToImage" in fails("images", path, small, "--out", large)
