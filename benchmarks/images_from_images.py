"""Images of twice the size and images without noise, beside what needs no learning.

Usage: python benchmarks/images_from_images.py [--tasks double denoise] [--data mnist fashion-mnist]

Images of the training set are made smaller by the means of 2 x 2 pixels, or of their bits one in
ten is flipped; `cotm.CoTMImageToImage` learns the images they came from, as bits: is a pixel 128 or
more? Printed are the wrong bits of an image (of 784), as the mean over test images, for it, for
interpolation, cut at 128 and where it is best on training images, and for a median filter.
`--tune` measures on training images that are held out, with the settings given as JSON.
`--models FOLDER` keeps the models, and takes those that are there; `--pictures FOLDER` draws.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import scipy.ndimage
from numpy.typing import NDArray

import cotm
from cotm.datasets import load_fashion_mnist, load_mnist

LOADERS = {"mnist": load_mnist, "fashion-mnist": load_fashion_mnist}
FLIPPED = 0.1  # of the bits
#: Beside the defaults.
SETTINGS: dict[str, dict[str, int]] = {"double": {}, "denoise": {"window": 7}}
HELD_OUT = 1000
Images = NDArray[np.uint8]


def halved(images: Images) -> Images:
    """Half as many rows and columns: means of 2 x 2 pixels."""
    count, height, width = images.shape
    blocks = images.reshape(count, height // 2, 2, width // 2, 2).astype(np.uint32)
    return ((blocks.sum(axis=(2, 4)) + 2) // 4).astype(np.uint8)


def noisy(bits: Images, seed: int) -> Images:
    """The bits with one in ten flipped."""
    return bits ^ (np.random.default_rng(seed).random(bits.shape) < FLIPPED)


def cubic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Keys' kernel, with a = -1/2."""
    x = np.abs(x)
    near = 1.5 * x**3 - 2.5 * x**2 + 1
    far = -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


KERNELS = {
    "nearest neighbour": lambda x: (np.abs(x) < 0.5).astype(float),
    "bilinear": lambda x: np.maximum(0.0, 1 - np.abs(x)),
    "bicubic": cubic,
    "Lanczos": lambda x: np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0.0),
}


def doubled(images: Images, kernel: str) -> NDArray[np.float64]:
    """Twice as many rows and columns, by a kernel; beyond the border there is nothing."""
    found = images.astype(np.float64)
    for axis in (1, 2):
        size = found.shape[axis]
        places = (np.arange(2 * size) + 0.5) / 2 - 0.5
        weights = KERNELS[kernel](places[:, None] - np.arange(size))
        weights /= weights.sum(axis=1, keepdims=True)
        found = np.moveaxis(np.tensordot(found, weights, axes=(axis, 1)), -1, axis)
    return found


def wrong(found: NDArray[np.bool_], bits: Images) -> float:
    """Wrong bits of an image."""
    return float((found != bits).sum() / len(bits))


def interpolations(train: tuple[Images, Images], test: tuple[Images, Images]) -> dict[str, float]:
    """Of each kernel, cut at 128, and where it is best on training images."""
    found, some = {}, slice(10_000)  # enough to find a cut
    for kernel in KERNELS:
        known, new = doubled(train[0][some], kernel), doubled(test[0], kernel)
        found[kernel] = wrong(new >= 128, test[1])
        best = min(range(90, 170, 2), key=lambda cut: wrong(known >= cut, train[1][some]))
        found[f"{kernel}, cut at {best}"] = wrong(new >= best, test[1])
    return found


def medians(train: tuple[Images, Images], test: tuple[Images, Images]) -> dict[str, float]:
    """What median filters leave, and what is there without one."""
    found = {"as it is": wrong(test[0] > 0, test[1])}
    for size in (3, 5):
        cleaned = scipy.ndimage.median_filter(test[0], size=(1, size, size))
        found[f"median of {size} x {size}"] = wrong(cleaned > 0, test[1])
    return found


def pairs(task: str, images: Images, seed: int) -> tuple[Images, Images]:
    """What is given and what is wanted."""
    bits = (images >= 128).astype(np.uint8)
    return (halved(images), bits) if task == "double" else (noisy(bits, seed), bits)


def measure(name: str, task: str, options: argparse.Namespace) -> None:
    """Print a table."""
    x_train, _, x_test, _ = LOADERS[name]()
    train, test = pairs(task, x_train, 1), pairs(task, x_test, 2)
    if options.tune is not None:
        test = train[0][-HELD_OUT:], train[1][-HELD_OUT:]
        train = train[0][:-HELD_OUT][: options.rows], train[1][:-HELD_OUT][: options.rows]
    found = {} if options.tune else (interpolations if task == "double" else medians)(train, test)
    for change in options.tune or [{}]:
        settings = {**SETTINGS[task], **change}
        path = options.models and Path(options.models, f"{task}-{name}.cotm")
        if path and path.exists():
            model = cotm.load(path)
        else:
            began = time.process_time()
            model = cotm.CoTMImageToImage(**settings, n_jobs=options.jobs, random_state=0)
            model.fit(*train)
            spent = time.process_time() - began
            print(f"# {task} {name}: trained in {spent:.0f} s of processors", flush=True)
        if path:
            model.save(path)
        made = model.predict(test[0])
        found[f"cotm {json.dumps(settings)}"] = wrong(made > 0, test[1])
        if options.pictures:
            draw(Path(options.pictures, f"images-{task}-{name}.png"), task, test, made)
    for method, bits in found.items():
        print(f"{task:8} {name:14} {bits:7.2f}  {method}", flush=True)


def draw(path: Path, task: str, test: tuple[Images, Images], made: Images, count: int = 10) -> None:
    """What is given, what comes out by the usual way and by cotm, and what was wanted."""
    from matplotlib import pyplot as plt

    given, wanted = test[0][:count], test[1][:count]
    if task == "double":
        usual = "bicubic, cut at 128", doubled(given, "bicubic") >= 128
    else:
        usual = "median of 3 x 3", scipy.ndimage.median_filter(given, size=(1, 3, 3))
    rows = [("given", given), usual, ("cotm", made[:count]), ("wanted", wanted)]
    figure, axes = plt.subplots(len(rows), count, figsize=(count * 0.8, len(rows) * 0.85))
    for (title, images), line in zip(rows, axes, strict=True):
        for image, ax in zip(images, line, strict=True):
            ax.imshow(image, cmap="gray_r", interpolation="nearest")
            ax.set_xticks([])
            ax.set_yticks([])
        line[0].set_ylabel(title, rotation=0, ha="right", va="center", fontsize=8)
    figure.tight_layout(pad=0.2)
    figure.savefig(path, dpi=70)
    plt.close(figure)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="+", choices=[*SETTINGS], default=[*SETTINGS])
    parser.add_argument("--data", nargs="+", choices=[*LOADERS], default=[*LOADERS])
    parser.add_argument("--tune", nargs="+", type=json.loads)
    parser.add_argument("--rows", type=int, default=10_000, help="training images, with --tune")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--models", help="folder of models")
    parser.add_argument("--pictures", help="folder of pictures")
    options = parser.parse_args(arguments)
    for task in options.tasks:
        for name in options.data:
            measure(name, task, options)


if __name__ == "__main__":
    main(sys.argv[1:])
