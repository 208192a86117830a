"""Records and composites: every line of their tables is what was trained."""

import dataclasses
import json

import numpy as np
import pytest
from test_experiments import reproduce, small_images

from cotm import (
    Augmentation,
    CoTMClassifier,
    EdgeThermometer,
    GradientHistogram,
    ImageThermometer,
    ImageUnion,
    join,
    load,
)
from cotm.experiments import composites, records, runs


def few_images():
    x, y, x_test, y_test = small_images("mnist")
    return 200 * x, y, 200 * x_test, y_test


def few_reviews():
    words = [f"word{k % 40} {'good' if k % 2 else 'bad'} film" for k in range(80)]
    y = np.arange(80) % 2
    return words[:60], y[:60], words[60:], y[60:]


def test_records(tmp_path, monkeypatch):
    small = {
        "mnist": dataclasses.replace(records.COLLECTIONS["mnist"], load=few_images),
        "imdb": dataclasses.replace(records.COLLECTIONS["imdb"], load=few_reviews),
    }
    monkeypatch.setattr(records, "COLLECTIONS", small)
    monkeypatch.setattr(records, "_WORDS", {"n_features": 20, "n_grams": 2, "min_texts": 2})
    code, output = reproduce(tmp_path, "records", "--quick")
    assert code == 0, output
    rows = json.loads((tmp_path / "records-quick" / "results.json").read_text())["rows"]
    assert [row["data"] for row in rows] == ["mnist", "imdb"]
    for row in rows:
        (path,) = (tmp_path / "runs").glob(f"{row['data']}-*.json")
        epochs = json.loads(path.read_text())["epochs"]
        assert len(epochs) == 4
        assert epochs[0]["test_accuracy"] == epochs[0]["voting_accuracy"]  # of one state
        assert row["test %"] == pytest.approx(100 * epochs[-1]["test_accuracy"])
        assert row["voting %"] == pytest.approx(100 * epochs[-1]["voting_accuracy"])
    assert "FPTM" in (tmp_path / "records-quick" / "table.md").read_text()


def test_records_of_one_data_set_and_size(tmp_path, monkeypatch):
    monkeypatch.setitem(
        records.COLLECTIONS,
        "imdb",
        dataclasses.replace(records.COLLECTIONS["imdb"], load=few_reviews),
    )
    monkeypatch.setattr(records, "_WORDS", {"n_features": 20, "n_grams": 2, "min_texts": 2})
    arguments = ("records-imdb", "--clauses", "20", "--quick")
    code, output = reproduce(tmp_path, *arguments)
    assert code == 0, output
    rows = json.loads((tmp_path / "records-imdb-quick" / "results.json").read_text())["rows"]
    assert [(row["data"], row["clauses"]) for row in rows] == [("imdb", 20)]
    code, output = reproduce(tmp_path, "records-imdb", "--clauses", "21")
    assert code != 0 and "no record with 21 clauses; there are 2, 20, 200" in output


def test_records_of_mirror_images_and_of_all_bits(tmp_path, monkeypatch):
    settings = {"T": 500, "s": 50.0, "tolerance": 20, "forgetting": "sampled"}
    chosen = tuple(
        records.Record(n, 4, settings, bits="all", mirrored=mirrored)
        for n, mirrored in ((20, True), (21, False))
    )
    collection = dataclasses.replace(records.COLLECTIONS["mnist"], load=few_images, records=chosen)
    monkeypatch.setattr(records, "COLLECTIONS", {"mnist": collection})
    trained = {}
    train = runs.Runs.train

    def watched(self, run, *, verbose):
        trained[run.parameters["n_clauses"]] = run
        return train(self, run, verbose=verbose)

    monkeypatch.setattr(runs.Runs, "train", watched)
    for n in (20, 21):  # --quick trains the first record alone
        code, output = reproduce(tmp_path, "records-mnist", "--quick", "--clauses", str(n))
        assert code == 0, output
    rows = np.random.default_rng(0).permutation(100)
    X, y, X_test, y_test = few_images()
    X, y = X[rows], y[rows]
    run = trained[20]
    np.testing.assert_array_equal(run.data[0], [*X, *np.flip(X, axis=2)])
    np.testing.assert_array_equal(run.data[1], [*y, *y])
    np.testing.assert_array_equal(run.data[2], X_test)
    assert run.data_name == "mnist, all, with mirror images"
    assert run.settings()["rows"] == [200, 20] and run.parameters["patch_shape"] == (1, 1)
    assert trained[21].data_name == "mnist, all" and len(trained[21].data[0]) == 100
    (path,) = (tmp_path / "runs").glob("mnist-20-*.json")
    found = [epoch["test_accuracy"] for epoch in json.loads(path.read_text())["epochs"]]
    by_hand = []
    CoTMClassifier(
        20,
        **settings,
        preset="paper",
        epochs=4,
        random_state=1,
        patch_shape=(1, 1),
        booleanize=ImageUnion([EdgeThermometer(), GradientHistogram(step=1), ImageThermometer(8)]),
        callbacks=[lambda model, record: by_hand.append(model.score(X_test, y_test))],
    ).fit(np.concatenate([X, X[:, :, ::-1]]), np.concatenate([y, y]))
    assert found == by_hand and len({*found}) > 1
    table = (tmp_path / "records-mnist-quick" / "table.md").read_text()
    assert "all, with mirror images" in table


def test_composites(tmp_path, monkeypatch):
    """Members are trained once; the composite is what they are joined to."""
    team = dataclasses.replace(composites.TEAMS["mnist"], load=few_images)
    monkeypatch.setattr(composites, "TEAMS", {"mnist": team})
    code, output = reproduce(tmp_path, "composites", "--quick")
    assert code == 0, output
    (row,) = json.loads((tmp_path / "composites-quick" / "results.json").read_text())["rows"]
    files = {path.name.split("-")[2]: path for path in (tmp_path / "runs").glob("*.cotm")}
    assert set(files) == {"edges", "gradients", "patches"}
    X, y, X_test, y_test = few_images()
    rows = np.random.default_rng(0).permutation(len(y))[:600]
    joined = join({name: load(files[name]) for name in team.specialists}, X[rows])
    assert row["composite %"] == pytest.approx(100 * joined.score(X_test[:600], y_test[:600]))
    times = {path: path.stat().st_mtime_ns for path in files.values()}
    assert reproduce(tmp_path, "composites", "--quick")[0] == 0
    assert {path: path.stat().st_mtime_ns for path in files.values()} == times


def test_every_record_can_be_made():
    """Settings that no classifier takes would else be found after hours."""
    for name, collection in records.COLLECTIONS.items():
        sizes = [record.n_clauses for record in collection.records]
        assert sizes == sorted(sizes), name
        for record in collection.records:
            model = CoTMClassifier(record.n_clauses, **record.settings)
            assert not (record.mirrored and collection.is_text)
            if record.augment:
                Augmentation(**record.augment).changes()
            rng = np.random.default_rng(0)
            model.set_params(n_clauses=2, epochs=1, booleanize=None)
            model.fit(rng.integers(0, 2, (4, 9)), [0, 1, 0, 1])
