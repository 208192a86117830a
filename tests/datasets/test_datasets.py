"""Loaders read archives, caches and downloads, and say what is wrong with them."""

import gzip
import hashlib
import http.server
import io
import struct
import tarfile
import threading

import numpy as np
import pytest

from cotm.datasets import fetch as fetching
from cotm.datasets import idx as images
from cotm.datasets import (
    load_cifar10,
    load_fashion_mnist,
    load_imdb,
    load_kmnist,
    load_mnist,
    reviews,
)
from cotm.datasets.fetch import DataError, RemoteFile, fetch

RNG = np.random.default_rng(0)
X, X_TEST = (RNG.integers(0, 256, (n, 28, 28), dtype=np.uint8) for n in (30, 10))
Y, Y_TEST = (RNG.integers(0, 10, n, dtype=np.uint8) for n in (30, 10))


def idx(array):
    head = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    return gzip.compress(head + array.tobytes())


def tar(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


class Server:
    """Files at an address of this computer; understands ranges, and can break off."""

    def __init__(self):
        self.files, self.requests, self.break_after = {}, [], None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *arguments):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, handler):
        name = handler.path.rsplit("/", 1)[1]
        wanted = handler.headers.get("Range")
        self.requests.append((name, wanted))
        if name not in self.files:
            handler.send_error(404)
            return
        content = self.files[name]
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        handler.send_response(206 if wanted else 200)
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        end = len(content) if self.break_after is None else start + self.break_after
        handler.wfile.write(content[start:end])

    def publish(self, name, content):
        self.files[name] = content
        address = f"http://127.0.0.1:{self.http.server_port}/{name}"
        return RemoteFile(address, hashlib.md5(content).hexdigest())


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.delenv("COTM_DATA", raising=False)
    monkeypatch.setenv("COTM_CACHE", str(tmp_path / "cache"))
    server = Server()
    yield server
    server.http.shutdown()


@pytest.mark.parametrize("name, load", [("_MNIST", load_mnist), ("_KMNIST", load_kmnist),
                                        ("_FASHION_MNIST", load_fashion_mnist)])  # fmt: skip
def test_gray_images_are_downloaded_once(server, monkeypatch, name, load):
    arrays = (X, Y, X_TEST, Y_TEST)
    files = [
        server.publish(file, idx(array))
        for file, array in zip(images._IDX_NAMES, arrays, strict=True)
    ]
    monkeypatch.setattr(images, name, files)
    for _ in range(2):
        for found, expected in zip(load(), arrays, strict=True):
            assert np.array_equal(found, expected)
    assert len(server.requests) == 4


def test_cifar10_is_downloaded(server, monkeypatch):
    pixels = RNG.integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)
    labels = np.array([3, 1, 4, 1, 5, 9], dtype=np.uint8)
    rows = np.column_stack([labels, pixels.transpose(0, 3, 1, 2).reshape(6, -1)])
    batches = {"data_batch_1.bin": rows[:2], "data_batch_2.bin": rows[2:4],
               "test_batch.bin": rows[4:]}  # fmt: skip
    content = tar({f"cifar-10-batches-bin/{k}": v.tobytes() for k, v in batches.items()})
    monkeypatch.setattr(images, "_CIFAR10", server.publish("cifar-10-binary.tar.gz", content))
    x, y, x_test, y_test = load_cifar10()
    assert np.array_equal(x, pixels[:4]) and np.array_equal(x_test, pixels[4:])
    assert y.tolist() == [3, 1, 4, 1] and y_test.tolist() == [5, 9]


def test_imdb_is_downloaded(server, monkeypatch):
    texts = {"train/pos/0_9.txt": "good", "train/neg/1_2.txt": "bad", "train/unsup/2_0.txt": "?",
             "test/pos/0_8.txt": "fine", "test/neg/0_1.txt": "poor"}  # fmt: skip
    content = tar({f"aclImdb/{name}": text.encode() for name, text in texts.items()})
    monkeypatch.setattr(reviews, "_IMDB", server.publish("aclImdb_v1.tar.gz", content))
    train, y, test, y_test = load_imdb()
    assert train == ["bad", "good"] and y.tolist() == [0, 1]
    assert test == ["poor", "fine"] and y_test.tolist() == [0, 1]


def test_a_broken_download_goes_on_where_it_broke_off(server):
    content = RNG.integers(0, 256, 300_000, dtype=np.uint8).tobytes()
    file = server.publish("large.gz", content)
    server.break_after = 100_000
    with pytest.raises(DataError, match="what has come is kept, so try again"):
        fetch(file, "test")
    server.break_after = None
    assert fetch(file, "test").read_bytes() == content
    start = int(server.requests[1][1].removeprefix("bytes=").rstrip("-"))
    assert 80_000 < start <= 100_000


def test_another_file_than_expected_is_refused_and_not_kept(server):
    file = server.publish("data.gz", b"right")
    server.files["data.gz"] = b"wrong"
    with pytest.raises(DataError, match="not the file it should be"):
        fetch(file, "test")
    server.files["data.gz"] = b"right"
    assert fetch(file, "test").read_bytes() == b"right"


def test_offline_the_error_says_what_to_do(server):
    server.http.shutdown()
    server.http.server_close()
    with pytest.raises(DataError, match=r"could not be downloaded .* COTM_DATA"):
        fetch(RemoteFile(f"http://127.0.0.1:{server.http.server_port}/a.gz", "0" * 32), "test")
    with pytest.raises(DataError, match="could not be downloaded"):
        fetch(RemoteFile("http://nowhere.invalid/a.gz", "0" * 32), "test")


def test_missing_files_are_told(server):
    with pytest.raises(DataError, match="404"):
        fetch(RemoteFile(f"http://127.0.0.1:{server.http.server_port}/none.gz", "0" * 32), "test")


def test_without_pooch_the_error_says_what_to_install(server, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    with pytest.raises(DataError, match=r"pip install \"cotm\[data\]\""):
        load_mnist()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COTM_DATA", str(tmp_path))
    monkeypatch.setattr(fetching, "fetch", lambda *arguments: pytest.fail("went to the net"))
    return tmp_path


def test_archives_in_the_folder_come_first(folder):
    arrays = {"x_train": X, "y_train": Y, "x_test": X_TEST, "y_test": Y_TEST}
    for name, load in (("mnist", load_mnist), ("fashion_mnist", load_fashion_mnist),
                       ("kmnist_partial", load_kmnist), ("cifar10", load_cifar10)):  # fmt: skip
        np.savez(folder / f"{name}.npz", **arrays)
        for found, expected in zip(load(), arrays.values(), strict=True):
            assert np.array_equal(found, expected)


def test_jpeg_archives_are_decoded(folder):
    Image = pytest.importorskip("PIL.Image")
    arrays = {}
    for split in ("train", "test"):
        files = []
        for shade in (10, 200):
            buffer = io.BytesIO()
            Image.fromarray(np.full((32, 32, 3), shade, np.uint8)).save(buffer, "JPEG")
            files.append(buffer.getvalue())
        arrays[f"{split}_jpeg"] = np.frombuffer(b"".join(files), np.uint8)
        arrays[f"{split}_end"] = np.cumsum([len(file) for file in files])
        arrays[f"y_{split}"] = np.array([0, 1], np.uint8)
    np.savez(folder / "cifar10_jpeg.npz", **arrays)
    x, y, x_test, _ = load_cifar10()
    assert x.shape == x_test.shape == (2, 32, 32, 3) and y.tolist() == [0, 1]
    assert abs(int(x[1].mean()) - 200) < 3


def test_reviews_in_the_folder(folder):
    texts = ["schön", "bad"]
    content = np.frombuffer("".join(texts).encode(), np.uint8)
    ends = np.cumsum([len(text.encode()) for text in texts])
    split = {"text": content, "end": ends}
    arrays = {f"{part}_{key}": value for part in ("train", "test") for key, value in split.items()}
    np.savez(folder / "imdb.npz", **arrays, y_train=[1, 0], y_test=[1, 0])
    train, y, test, _ = load_imdb()
    assert train == test == texts and y.tolist() == [1, 0]


def test_wrong_archives_and_folders_are_told(folder, monkeypatch):
    np.savez(folder / "mnist.npz", other=X)
    with pytest.raises(DataError, match=r"mnist\.npz is not an archive of x_train"):
        load_mnist()
    (folder / "mnist.npz").write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"mnist\.npz is not an archive"):
        load_mnist()
    monkeypatch.setenv("COTM_DATA", str(folder / "nowhere"))
    with pytest.raises(DataError, match="nowhere' is not a folder"):
        load_mnist()
