"""The model does not depend on who trains it: real workers, some of which are killed."""

import os
import signal
import threading
import time

import pytest
from sklearn.datasets import load_digits

import cotm
from cotm.pools import fit_pools

distributed = pytest.importorskip("distributed", reason="distributed is not installed")
dask = pytest.importorskip("dask", reason="dask is not installed")
dask_array = pytest.importorskip("dask.array", reason="dask is not installed")
from cotm.dask import CoTMClassifier  # noqa: E402

IMAGES, DIGITS = load_digits(return_X_y=True)
PARAMETERS = {
    "n_clauses": 120,
    "image_shape": (8, 8),
    "patch_shape": (4, 4),
    "booleanize": cotm.ImageThermometer(3),
    "epochs": 6,
    "random_state": 2,
}
POOLS = {"n_pools": 4, "refine": 3}


def file_of(model, folder):
    model.save(folder / "model.cotm")
    return (folder / "model.cotm").read_bytes()


def train(client, rows):
    X = dask_array.from_array(IMAGES, chunks=(rows, 64))
    y = dask_array.from_array(DIGITS, chunks=rows)
    return CoTMClassifier(**PARAMETERS, **POOLS, client=client).fit(X, y)


def steps_done(cluster):
    """Steps of a training whose results are there, or have been used."""
    tasks = list(cluster.scheduler.tasks.values())
    steps = [task for task in tasks if str(task.key).startswith("step-")]
    waiting = [task for task in steps if task.state in ("waiting", "processing", "no-worker")]
    return len(steps) - len(waiting) if waiting else 0


def kill_one_in_the_middle(cluster, client):
    """Wait until a training is well under way, and kill the worker that holds most of it."""
    before = client.run(os.getpid)
    deadline = time.monotonic() + 300
    while steps_done(cluster) < 10 and time.monotonic() < deadline:
        time.sleep(0.005)
    busiest = max(cluster.scheduler.workers.values(), key=lambda worker: worker.nbytes)
    held = len(busiest.has_what)
    os.kill(before[busiest.address], signal.SIGKILL)
    return before[busiest.address], held


@pytest.fixture
def quick_processes():
    """Workers that need not import anything."""
    method = "distributed.worker.multiprocessing-method"
    with dask.config.set({method: "forkserver"}):
        context = distributed.utils.get_mp_context()
        context.set_forkserver_preload(["distributed", "cotm.dask.classifier"])
        yield


def test_files_are_equal_whoever_trains(tmp_path, quick_processes):
    expected = file_of(
        fit_pools(cotm.CoTMClassifier(**PARAMETERS), IMAGES, DIGITS, **POOLS), tmp_path
    )
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        for workers, rows in [(1, 500), (2, 1797), (4, 230)]:
            cluster.scale(workers)
            client.wait_for_workers(workers, timeout=600)
            assert file_of(train(client, rows), tmp_path) == expected, workers

        found, killed = [], []
        training = threading.Thread(target=lambda: found.append(train(client, 400)))
        training.start()
        killed.append(kill_one_in_the_middle(cluster, client))
        assert training.is_alive(), "it was over before anyone was killed"
        training.join(timeout=600)
        assert file_of(found[0], tmp_path) == expected
        (pid, held), *_ = killed
        assert held and pid not in client.run(os.getpid).values()
