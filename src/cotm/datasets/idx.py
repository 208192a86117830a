"""MNIST, Fashion-MNIST, Kuzushiji-MNIST and CIFAR-10 as arrays of bytes."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .archives import find_archive, read_parts
from .fetch import DataError, RemoteFile, fetch

#: X_train, y_train, X_test, y_test.
Split = tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]

#: The four files of a data set in the IDX format, under the names that all its makers use.
_IDX_NAMES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)

_IDX_BYTES = 8  # the number that stands for unsigned bytes


def _idx_files(folder: str, *checksums: str) -> list[RemoteFile]:
    return [RemoteFile(folder + name, md5) for name, md5 in zip(_IDX_NAMES, checksums, strict=True)]


_MNIST = _idx_files(
    "https://ossci-datasets.s3.amazonaws.com/mnist/",  # a copy; the makers' site asks for a login
    "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "d53e105ee54ea40749a09fcbcd1e9432",
    "9fb629c4189551a2d022fa330f9573f3",
    "ec29112dd5afa0611ce80d1b7f02629c",
)
_FASHION_MNIST = _idx_files(
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "25c81989df183df01b3e8a0aad5dffbe",
    "bef4ecab320f06d8554ea6380940ec79",
    "bb300cfdad3c16e7a12a480ee83cd310",
)
_KMNIST = _idx_files(
    "http://codh.rois.ac.jp/kmnist/dataset/kmnist/",
    "bdb82020997e1d708af4cf47b453dcf7",
    "e144d726b3acfaa3e44228e80efcd344",
    "5c965bf0a639b31b8f53240b1b52f4d7",
    "7320c461ea6c1c855c0b718fb2a4b134",
)
_CIFAR_RECORD = 1 + 3 * 32 * 32  # bytes of an image: its class and three planes
_CIFAR10 = RemoteFile(
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"
)


def load_mnist() -> Split:
    """MNIST: X_train (60000, 28, 28), y_train, X_test (10000, 28, 28), y_test."""
    return _load_gray("mnist", ("mnist.npz",), _MNIST)


def load_fashion_mnist() -> Split:
    """Fashion-MNIST, shaped as MNIST."""
    return _load_gray("fashion_mnist", ("fashion_mnist.npz",), _FASHION_MNIST)


def load_kmnist() -> Split:
    """Kuzushiji-MNIST, shaped as MNIST.

    Where the folder ``COTM_DATA`` has no ``kmnist.npz`` but ``kmnist_partial.npz``, an archive with
    fewer training images, that is taken; ``len(X_train)`` tells.
    """
    return _load_gray("kmnist", ("kmnist.npz", "kmnist_partial.npz"), _KMNIST)


def load_cifar10() -> Split:
    """CIFAR-10: X_train (50000, 32, 32, 3), y_train, X_test (10000, 32, 32, 3), y_test.

    An archive ``cifar10_jpeg.npz`` in the folder ``COTM_DATA`` is read with Pillow; its images
    differ a little from the original, because JPEG compresses with losses.
    """
    path = find_archive("cifar10.npz")
    if path is not None:
        return _arrays(path)
    path = find_archive("cifar10_jpeg.npz")
    if path is not None:
        return _jpeg_arrays(path)
    return _read_cifar(fetch(_CIFAR10, "cifar10"))


def _load_gray(name: str, archives: tuple[str, ...], files: list[RemoteFile]) -> Split:
    for archive in archives:
        path = find_archive(archive)
        if path is not None:
            return _arrays(path)
    x_train, y_train, x_test, y_test = (_read_idx(fetch(file, name)) for file in files)
    return x_train, y_train, x_test, y_test


def _arrays(path: Path) -> Split:
    """The four arrays of an archive."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            x_train, y_train, x_test, y_test = (
                archive[name] for name in ("x_train", "y_train", "x_test", "y_test")
            )
    except (KeyError, ValueError, OSError) as error:
        raise DataError(f"{path} is not an archive of x_train, y_train, x_test, y_test") from error
    return x_train, y_train, x_test, y_test


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """An array of bytes in the IDX format: two zero bytes, the type, the shape, the values."""
    with gzip.open(path) as file:
        content = file.read()
    try:
        zero, kind, dimensions = struct.unpack_from(">HBB", content)
        shape = struct.unpack_from(f">{dimensions}I", content, 4)
        values = np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * dimensions)
        if zero != 0 or kind != _IDX_BYTES:
            raise ValueError("it does not begin as one")
        return values.reshape(shape)
    except (struct.error, ValueError) as error:
        raise DataError(f"{path} is not a file of bytes in the IDX format ({error})") from error


def _read_cifar(path: Path) -> Split:
    """The binary version: per image a byte for the class, then its red, green and blue plane."""
    parts: dict[str, NDArray[np.uint8]] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            name = Path(member.name).name
            if member.isfile() and name.endswith(".bin"):
                file: Any = archive.extractfile(member)
                parts[name] = np.frombuffer(file.read(), dtype=np.uint8).reshape(
                    -1, 1 + 3 * 32 * 32
                )
    train = [parts[name] for name in sorted(parts) if name.startswith("data_batch")]
    if not train or "test_batch.bin" not in parts:
        raise DataError(f"{path} does not hold CIFAR-10's batches")
    found = []
    for rows in (np.concatenate(train), parts["test_batch.bin"]):
        images = rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        found += [np.ascontiguousarray(images), rows[:, 0]]
    return found[0], found[1], found[2], found[3]


def _jpeg_arrays(path: Path) -> Split:
    """The same of an archive whose images are compressed."""
    try:
        from PIL import Image
    except ImportError as error:
        raise DataError(
            f'{path} holds JPEG images, which take pillow to read; pip install "cotm[data]"'
        ) from error
    found = []
    with np.load(path, allow_pickle=False) as archive:
        for split in ("train", "test"):
            images = [
                np.asarray(Image.open(io.BytesIO(image)).convert("RGB"))
                for image in read_parts(archive, split, "jpeg")
            ]
            found += [np.stack(images), archive[f"y_{split}"]]
    return found[0], found[1], found[2], found[3]
