"""Changes of images on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import FAST, fails, run

import cotm
from cotm import Augmentation


@pytest.fixture
def data(tmp_path: Path) -> Path:
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 90)
    X = random.integers(0, 100, (90, 8, 8), dtype=np.uint8)
    X[y == 1, 2:5, 2:5] = 255
    np.savez(tmp_path / "images.npz", X=X, y=y)
    return tmp_path / "images.npz"


def test_images_are_changed_while_training(data: Path, tmp_path: Path) -> None:
    out, shape = tmp_path / "m.cotm", ["--patch-shape", "4,4"]
    changes = ["--augment", "shift=1, flip,flip-vertical,rotate=7.5,zoom=1e-1"]
    run("train", data, *shape, *changes, "--out", out, *FAST)
    model = cotm.load(out)
    wanted = Augmentation(1, flip=True, flip_vertical=True, rotate=7.5, zoom=0.1)
    assert model.augment == wanted
    images = np.load(data)
    expected = cotm.CoTMClassifier(
        40, epochs=4, random_state=1, patch_shape=(4, 4), augment=wanted
    ).fit(images["X"], images["y"])
    assert np.array_equal(model.memory_, expected.memory_)
    run("train", data, *changes, "--resume", "--epochs", 6, "--out", out)
    assert len(cotm.load(out).history_) == 6
    error = fails("train", data, "--augment", "shift=2", "--resume", "--epochs", 9, "--out", out)
    assert "begun with other settings: --augment Augmentation(shift=2) (was Augm" in error
    error = fails("train", data, "--augment", "shift=2", "--image-shape", "8,8", "--out", out)
    assert "set --patch-shape too" in error
    assert "parameter augment" in run("info", out).stdout


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ("", "'' is not one of border, flip,"),
        ("shift=1,turn=3", "'turn=3' is not one of border"),
        ("shift", "shift needs a value, as shift=2 has"),
        ("flip=1", "flip takes no value"),
        ("zoom=a", "'a' is not a number"),
        ("zoom=5", "zoom=5 must be from 0 to 0.9"),
        ("border=wrap", "must be one of 'edge', 'zero'"),
    ],
)
def test_wrong_changes_are_wrong_usage(changes: str, message: str, data: Path) -> None:
    result = run("train", data, "--augment", changes, code=2)
    assert message in " ".join(result.stderr.replace("│", " ").split())
