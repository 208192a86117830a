"""All that writes, where it cannot: a clear error, the old file, and nothing beside it."""

from __future__ import annotations

import contextlib
import functools
import os
import resource
import tempfile
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

import cotm
from cotm import Checkpoint, CoTMClassifier, ModelFileError, cli
from cotm.experiments.report import Report, read_kept
from cotm.experiments.runs import Curve
from cotm.experiments.unfinished import UnfinishedRun

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
TEXTS = ["the cat drinks milk", "a dog sees the cat"] * 20


@functools.cache
def model(seed):
    return CoTMClassifier(40, epochs=2, random_state=seed).fit(X, NAMES[Y])


@functools.cache
def composite(seed):
    return cotm.join([model(seed), model(seed + 5)])


@functools.cache
def texts(seed):
    return cotm.CoTMEmbedding(
        20, min_texts=1, max_share=1.0, epochs=1, random_state=seed
    ).fit(TEXTS)  # fmt: skip


def search(path, seed):
    # The seed says how many candidates there are, so that a study goes on.
    space = {"s": [2.0, 4.0, 8.0], "T": [20, 40, 80]}
    return cotm.CoTMSearchCV(
        CoTMClassifier(16, backend="native"), space, n_trials=2 + 4 * seed, max_epochs=3, cv=2,
        sampler="random", study=path, random_state=3, n_jobs=1,
    ).fit(X, Y)  # fmt: skip


@functools.cache
def searched(seed):
    return search(None, seed)


def trained(path, seed):
    CoTMClassifier(40, epochs=2, random_state=seed, callbacks=[Checkpoint(path)]).fit(X, Y)


def command(*words):
    """A command of the program; its error as an exception."""
    result = CliRunner().invoke(cli.app, [str(word) for word in words])
    if result.exit_code:
        raise OSError(result.stderr)


@functools.cache
def inputs():
    """A folder with a model and a table, for commands."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    model(0).save(folder / "m.cotm")
    frame = pl.DataFrame(X, schema=["a", "b", "c", "d"]).with_columns(
        label=pl.Series(NAMES[Y].tolist())
    )
    frame.write_csv(folder / "t.csv")
    return folder


def predicted(path, seed):
    more = ["--drop", "label", *(["--votes", "--proba"] if seed else [])]
    command("predict", inputs() / "m.cotm", inputs() / "t.csv", "--out", path, *more, "--quiet")


def kept_run(path, seed):
    """What ``cotm reproduce`` keeps of a run under way."""
    records = [{"epoch": number, "seconds": 0.5 + seed} for number in (1, 2)]
    UnfinishedRun(path).keep(model(seed), records)


def reported(path, seed):
    report = Report("a", path.parent, "cotm reproduce", lambda text: None)
    report.figure(lambda axes: axes.plot([seed, 1, 2]), path.stem)


def train_command(path, seed):
    command(
        *("train", inputs() / "t.csv", "--target", "label", "--out", path, "--seed", seed),
        *("--clauses", 40, "--epochs", 2, "--checkpoint-every", 1, "--quiet"),
    )


#: What writes, by the name of its file: called with a path, and a number for what it writes.
WRITERS = {
    "model.cotm": lambda path, seed: model(seed).save(path),
    "composite.cotm": lambda path, seed: composite(seed).save(path),
    "texts.cotm": lambda path, seed: texts(seed).save(path),
    "checkpoint.cotm": trained,
    "trained.cotm": train_command,
    "export.c": lambda path, seed: model(seed).export(path),
    "export.js": lambda path, seed: model(seed).export(path),
    "export.json": lambda path, seed: model(seed).export(path),
    "export.onnx": lambda path, seed: model(seed).export(path),
    "export.sql": lambda path, seed: model(seed).export(path),
    "export.v": lambda path, seed: model(seed).export(path, inputs="bits"),
    "report.html": lambda path, seed: model(seed).report(path, X, NAMES[Y]),
    "page.html": lambda path, seed: searched(seed).report(path),
    "search.study": search,
    "predictions.csv": predicted,
    "predictions.parquet": predicted,
    "predictions.jsonl": predicted,
    "kept.cotm": kept_run,
    "figure.svg": reported,
}


@contextlib.contextmanager
def full(folder):
    """No file may be longer than a kilobyte, and SIGXFSZ is ignored by Python."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)


@contextlib.contextmanager
def read_only(folder):
    """A folder of somebody else's, with files of somebody else's."""
    is_root = os.geteuid() == 0
    for path in folder.iterdir():
        path.chmod(0o644)
    folder.chmod(0o555)
    if is_root:
        os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        if is_root:
            os.setresuid(0, 0, 0)
        folder.chmod(0o755)


@pytest.fixture
def folder():
    """One that everybody may come to."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o755)
        inner = Path(path) / "files"
        inner.mkdir()
        yield inner


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("fault", [full, read_only])
@pytest.mark.parametrize("name", WRITERS)
def test_the_old_file_stays(name, fault, folder):
    write = WRITERS[name]
    write(folder / name, 0)
    before = contents(folder)
    write_again = folder / name
    if name != "search.study":
        with tempfile.TemporaryDirectory() as other:  # with all that is needed only once
            write(Path(other) / name, 1)
            assert contents(Path(other))[name] != before[name]
    with pytest.raises((OSError, ValueError)) as caught, fault(folder):
        write(write_again, 1)
    message = str(caught.value)
    assert str(folder) in message, message
    assert any(said in message for said in ("too large", "denied", "readonly", "I/O", "full"))
    after = contents(folder)
    if name == "search.study":  # a database: what was written of it is taken back when it is read
        assert {path for path in after if "journal" not in path} == {*before}
        search(folder / name, 1)
        return
    after.pop("kept.records", None)  # may have more epochs than the model: they are left out
    assert after.items() <= before.items() and name in after
    write(write_again, 1)
    assert contents(folder)[name] != before[name]


#: But for what is of one thread: commands of the program, pictures, and studies, which are of one
#: search at a time. `test_whole_files.py` has processes.
_OF_ONE = ("search", "figure", "predictions", "trained")
AT_ONCE = [name for name in WRITERS if not name.startswith(_OF_ONE)]


@pytest.mark.parametrize("name", AT_ONCE)
def test_two_writers_at_once(name, folder):
    """The file is one of both."""
    write, whole = WRITERS[name], []
    for seed in (0, 1):
        write(folder / name, seed)
        whole.append(contents(folder)[name])
    errors = []

    def again(seed):
        try:
            for _ in range(3):
                write(folder / name, seed)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=again, args=(seed,)) for seed in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    left = contents(folder)
    assert not [path for path in left if path.startswith(".")]
    if name.endswith(".cotm"):
        cotm.load(folder / name)
    elif name not in ("report.html", "page.html"):  # which say when they were made
        assert left[name] in whole


def cut(path):
    """A file without its end."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    return path.read_bytes()


def test_truncated_checkpoints(folder):
    path = folder / "run.cotm"
    train_command(path, 0)
    left = cut(path)
    with pytest.raises(ModelFileError, match=r"run\.cotm: the model file is damaged or truncated"):
        cotm.load(path)
    with pytest.raises(OSError, match="damaged or truncated"):
        command("train", inputs() / "t.csv", "--target", "label", "--out", path, "--resume")
    assert contents(folder) == {"run.cotm": left}


def test_truncated_studies(folder):
    path = folder / "search.study"
    search(path, 0)
    left = cut(path)
    with pytest.raises((ValueError, OSError), match=r"search\.study"):
        search(path, 1)
    assert contents(folder) == {"search.study": left}


def test_truncated_runs(folder):
    path = folder / "kept.json"
    kept_run(path, 0)
    cut(folder / "kept.records")
    with pytest.raises(ValueError, match=r"kept\.records is damaged .* delete it"):
        UnfinishedRun(path).find()
    kept_run(path, 0)
    cut(folder / "kept.cotm")
    with pytest.raises(ModelFileError, match=r"kept\.cotm: the model file is damaged"):
        UnfinishedRun(path).find()
    path.write_text(Curve({}, [{"epoch": 1}], {}).to_json())
    assert read_kept(path, Curve.from_json).epochs == [{"epoch": 1}]
    for text in ("", "{}", '{"settings": {', "[]"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"kept\.json is damaged .* delete it"):
            read_kept(path, Curve.from_json)
