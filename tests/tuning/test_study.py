"""Study files: what was stopped or killed goes on, to the same result."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save
from searched import iris, same_search, search

from cotm.tuning import study as studies
from cotm.tuning.searching import Search

KILLED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from searched import iris, search
from cotm.tuning import study
add, left = study.Study.add_result, [int(sys.argv[3])]
def dies(self, *given, **named):
    add(self, *given, **named)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), 9)
study.Study.add_result = dies
search(study=sys.argv[2]).fit(*iris())
"""


def rows(path: Path, table: str) -> int:
    with sqlite3.connect(path) as file:
        (count,) = file.execute(f"SELECT count(*) FROM {table}").fetchone()
    file.close()
    return int(count)


@pytest.fixture(scope="module")
def whole():
    return search().fit(*iris())


def test_a_killed_search_goes_on_to_the_same_result(tmp_path, whole):
    path = tmp_path / "search.study"
    for left in (7, 21):
        run = subprocess.run(
            [sys.executable, "-c", KILLED, Path(__file__).parent, path, str(left)],
            capture_output=True,
        )
        assert run.returncode == -signal.SIGKILL, run.stderr.decode()
    before = rows(path, "results")
    assert before == 28 and rows(path, "states")
    assert same_search(search(study=path, n_jobs=3).fit(*iris()), whole)
    assert rows(path, "states") == 0


def stop_after(count, monkeypatch):
    """Have searches stop after so many results."""
    take, left = Search._take, [count]

    def taking(self, place, result):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        take(self, place, result)

    monkeypatch.setattr(Search, "_take", taking)


@pytest.mark.parametrize("count", [2, 18, 22, 30])
def test_it_resumes_trainings_and_repeats_none(tmp_path, whole, count, monkeypatch):
    path = tmp_path / "search.study"
    with monkeypatch.context() as patch:
        stop_after(count, patch)
        with pytest.raises(KeyboardInterrupt):
            search(study=path, n_jobs=1).fit(*iris())
    works = []
    work = Search._work

    def noting(self, place, backend):
        found = work(self, place, backend)
        works.append((place, found[0]))
        return found

    monkeypatch.setattr(Search, "_work", noting)
    assert same_search(search(study=path).fit(*iris()), whole)
    assert len(works) == len(whole._search.study.results) - count
    for (_, rung, _), todo in works:
        assert todo.done == (whole._search.problem.halving.rungs[rung - 1] if rung else 0)
        assert (todo.state is None) == (rung == 0)


def test_states_that_are_lost_are_trained_again_to_the_same_bits(tmp_path, whole, monkeypatch):
    path = tmp_path / "search.study"
    with monkeypatch.context() as patch:
        stop_after(18, patch)
        with pytest.raises(KeyboardInterrupt):
            search(study=path, n_jobs=1).fit(*iris())
    with sqlite3.connect(path) as file:
        file.execute("UPDATE states SET state = x'00'")
    file.close()
    assert same_search(search(study=path).fit(*iris()), whole)


def test_a_finished_search_is_told_again_and_a_longer_one_goes_on(tmp_path, whole, monkeypatch):
    path = tmp_path / "search.study"
    search(study=path, n_trials=5).fit(*iris())
    assert same_search(search(study=path).fit(*iris()), whole)  # from 5 to 11
    monkeypatch.setattr(Search, "_work", None)
    again = search(study=path, n_trials=3).fit(*iris())  # nothing left to train
    assert same_search(again, whole)


def test_without_a_seed_that_of_the_study_is_taken(tmp_path):
    path = tmp_path / "search.study"
    one = search(study=path, random_state=None, n_trials=3).fit(*iris())
    two = search(study=path, random_state=None, n_trials=3).fit(*iris())
    assert one.seed_ == two.seed_ and same_search(one, two)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"param_distributions": {"s": [2.0, 3.0]}}, "the space was s: 2.0 or 4.0 or 8.0; T: "),
        ({"random_state": 4}, "the estimator was"),
        ({"cv": 3}, "X, y, the weights or the folds are others"),
        ({"scoring": "balanced_accuracy"}, "scoring was score of"),
        ({"batch_size": 5}, "the halving was rungs"),
    ],
)
def test_the_study_of_another_search_is_refused(tmp_path, options, message):
    path = tmp_path / "search.study"
    search(study=path, n_trials=1).fit(*iris())
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"another search: {message}"):
        search(study=path, n_trials=1, **options).fit(*iris())
    assert path.read_bytes() == before


def test_other_data_are_refused(tmp_path):
    path = tmp_path / "search.study"
    X, y = iris()
    search(study=path, n_trials=1).fit(X, y)
    other = X.copy()
    other[3, 1] += 2
    for data, weight in ((other, None), (X, np.linspace(0, 1, 150))):
        with pytest.raises(ValueError, match="X, y, the weights or the folds are others"):
            search(study=path, n_trials=1).fit(data, y, sample_weight=weight)
    with pytest.raises(ValueError, match="X, y, the weights or the folds are others"):
        search(study=path, n_trials=1).fit(X, y[np.r_[50:100, 0:50, 100:150]])


def test_what_is_no_study_is_said_and_left_as_it_is(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n" * 200)
    with pytest.raises(ValueError, match=r"table.csv is no study file .*name another one"):
        search(study=path, n_trials=1).fit(*iris())
    assert path.read_text() == "a,b\n1,2\n" * 200
    with sqlite3.connect(path := tmp_path / "other.db") as file:
        file.execute("CREATE TABLE things (x)")
    file.close()
    with pytest.raises(ValueError, match=r"other\.db is no study file"):
        search(study=path, n_trials=1).fit(*iris())
    with pytest.raises((ValueError, OSError), match="nowhere"):
        search(study=tmp_path / "nowhere" / "a.study", n_trials=1).fit(*iris())


def test_a_damaged_study_is_said(tmp_path):
    path = tmp_path / "search.study"
    search(study=path, n_trials=2).fit(*iris())
    with sqlite3.connect(path) as file:
        file.execute("UPDATE results SET result = '{'")
    file.close()
    with pytest.raises(ValueError, match=r"search\.study is damaged"):
        search(study=path, n_trials=2).fit(*iris())


#: A finished study of two candidates, changed by hand.
LIES = [
    "UPDATE candidates SET codes = '5' WHERE number = 1",
    "UPDATE candidates SET codes = '{\"s\": 0}' WHERE number = 1",
    "UPDATE candidates SET codes = replace(codes, '\"T\": ', '\"T\": 9') WHERE number = 1",
    "UPDATE candidates SET codes = replace(codes, '\"T\": ', '\"T\": -9') WHERE number = 1",
    "UPDATE candidates SET codes = 'null' WHERE number = 1",
    "UPDATE candidates SET number = 7 WHERE number = 1",
    "UPDATE results SET result = '[]'",
    "UPDATE results SET result = x'00'",
    "UPDATE results SET result = replace(result, '\"score\"', '\"other\"')",
    'UPDATE results SET result = replace(result, \'"seconds": \', \'"seconds": "x", "y": \')',
    "UPDATE results SET result = replace(result, '\"error\": null', '\"error\": 5')",
    "UPDATE results SET fold = 5 WHERE fold = 1",
    "UPDATE results SET rung = 'x' WHERE rung = 1",
    "UPDATE results SET candidate = -1 WHERE candidate = 1",
]


@pytest.mark.parametrize("change", LIES)
def test_a_study_that_lies_is_refused(tmp_path, study_of_two, change):
    path = tmp_path / "search.study"
    path.write_bytes(study_of_two)
    with sqlite3.connect(path) as file:
        assert file.execute(change).rowcount
    file.close()
    with pytest.raises(ValueError, match=r"search\.study is damaged: .*; begin another one"):
        search(study=path, n_trials=2).fit(*iris())


@pytest.fixture(scope="module")
def study_of_two(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "search.study"
    search(study=path, n_trials=2).fit(*iris())
    return path.read_bytes()


def test_states_that_no_training_comes_to_are_trained_again(tmp_path, whole, monkeypatch):
    path = tmp_path / "search.study"
    with monkeypatch.context() as patch:
        stop_after(18, patch)
        with pytest.raises(KeyboardInterrupt):
            search(study=path, n_jobs=1).fit(*iris())
    lies = [
        {"memory": np.full((24, 5), 100, np.int8), "weights": np.zeros((24, 3), np.int32)},
        {"memory": np.zeros(3, np.int8), "weights": np.zeros(3, np.float32)},
    ]
    with sqlite3.connect(path) as file:
        for number, (row,) in enumerate(file.execute("SELECT rowid FROM states").fetchall()):
            state = save(lies[number % 2])
            file.execute("UPDATE states SET state = ? WHERE rowid = ?", (state, row))
    file.close()
    assert same_search(search(study=path).fit(*iris()), whole)


def test_a_study_is_of_one_search_at_a_time(tmp_path):
    path = tmp_path / "search.study"
    with studies.Study(path) as first:
        first.open({part: "" for part in studies._PARTS} | {"seed": "1"})
        with pytest.raises(ValueError, match="is in use by another search"):
            search(study=path, n_trials=1).fit(*iris())
    assert os.path.exists(path)
