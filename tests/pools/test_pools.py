"""Machines that learn apart, and become one."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_digits

import cotm
from cotm.core.randomness import pool_seed, share_of_rows
from cotm.pools import fit_pools
from cotm.pools.course import Course, PoolOptions
from cotm.pools.shares import RowBits

X, Y = load_breast_cancer(return_X_y=True)


def small(**parameters):
    return cotm.CoTMClassifier(**{"n_clauses": 42, "epochs": 3, "random_state": 5} | parameters)


def test_one_pool_is_one_machine():
    one = small().fit(X, Y)
    pool = fit_pools(small(), X, Y, n_pools=1, refine=0)
    for name in ("memory_", "weights_", "seed_", "T_", "step_"):
        assert np.array_equal(getattr(one, name), getattr(pool, name)), name
    assert [r["train_accuracy"] for r in one.history_] == [
        r["train_accuracy"] for r in pool.history_
    ]
    longer = fit_pools(small(), X, Y, n_pools=1, refine=2)
    assert np.array_equal(longer.memory_, small(epochs=5).fit(X, Y).memory_)


@pytest.mark.parametrize("pool_rows", ["turns", "share", "all"])
def test_pools_are_machines_that_learn_from_shares(pool_rows):
    """The rule once more, with nothing but plain machines."""
    model = small(preset="paper", s=4.0)
    found = fit_pools(model, X, Y, n_pools=3, pool_rows=pool_rows, refine=1)
    reader_bits = cotm.Booleanizer().fit_transform(X)
    targets = np.eye(2, dtype=np.uint8)[Y]
    share = share_of_rows(5, 0, len(X), 3)
    margin = round(0.4 * 42)
    margins = [margin // 3, 2 * margin // 3 - margin // 3, margin - 2 * margin // 3]
    options = {"s": 4.0, "e": 1.0}
    pools = []
    for pool in range(3):
        machine = cotm.Machine(14, margins[pool], random_state=pool_seed(5, pool), **options)
        machine.start(machine.grid_for(reader_bits), 2)
        for epoch in range(3):
            turns = {"turns": [epoch + pool], "share": [pool], "all": range(pool, pool + 3)}
            for turn in turns[pool_rows]:
                learn(machine, reader_bits, targets, share == turn % 3)
        pools.append(machine.snapshot())
    whole = cotm.Machine(42, margin, random_state=5, **options)
    whole.load_state(
        machine.spec.grid,
        cotm.Snapshot(
            np.concatenate([pool.memory for pool in pools]),
            np.concatenate([pool.weights for pool in pools]),
            sum(pool.step for pool in pools),
        ),
    )
    for turn in range(4, 7):
        learn(whole, reader_bits, targets, share == turn % 3)
    assert np.array_equal(found.memory_, whole.memory_)
    assert np.array_equal(found.weights_, whole.weights_)
    assert found.step_ == whole.step_
    assert len(found.history_) == 4 and found.history_[-1]["epoch"] == 4


def learn(machine, bits, targets, rows):
    examples, some, weight = machine._check_training(bits[rows], targets[rows], None, None)
    machine.train_pass(machine.prepare(examples, some, weight))


def test_states_that_vote_are_those_after_passes_of_all_clauses():
    model = fit_pools(small(average=4), X, Y, n_pools=2, refine=6)
    assert len(model.machine_.snapshot().earlier) == 3
    assert len(fit_pools(small(average=4), X, Y, n_pools=2, refine=2).weights_) == 2 * 42
    assert len(fit_pools(small(average=4), X, Y, n_pools=2, refine=0).weights_) == 42


def test_shares_are_even_and_do_not_depend_on_other_rows():
    share = share_of_rows(7, 0, 40_000, 4)
    assert np.bincount(share, minlength=4).min() > 9_700
    assert np.array_equal(share[1_000:1_100], share_of_rows(7, 1_000, 100, 4))
    assert not np.array_equal(share, share_of_rows(8, 0, 40_000, 4))
    assert len({pool_seed(7, pool) for pool in range(100)}) == 100


def test_margins_and_clauses_of_pools_add_up():
    learner = small(n_clauses=50, T=31)
    fitted = small(n_clauses=50, T=31).fit(X[:50], Y[:50])._fitted
    course = Course.of(learner, PoolOptions.checked(learner, 7, "turns", 0), fitted, 50)
    pools = [course.machine(pool, 1).parameters for pool in range(7)]
    assert sum(pool.n_clauses for pool in pools) == 50
    assert sum(pool.T for pool in pools) == 31


def test_bits_travel_packed():
    images, labels = load_digits(return_X_y=True)
    bits = (images > 7).astype(np.uint8)
    for given in (bits, scipy.sparse.csr_array(bits)):
        examples = cotm.Machine(5, 5)._check_training(given, labels % 2, None, None)[0]
        stored = RowBits.of(examples)
        parts = RowBits.join([stored[:100], stored[100:]])
        assert parts.is_sparse == scipy.sparse.issparse(given) and len(parts) == len(bits)
        unpacked = parts.examples.bits
        dense = unpacked.toarray() if parts.is_sparse else unpacked.reshape(bits.shape)
        assert np.array_equal(dense, bits)


def test_everything_that_a_classifier_takes(tmp_path):
    weight = np.linspace(0, 2, len(X))
    model = small(
        class_weight="balanced",
        constraints=cotm.Constraints(forbid={0: [1]}),
        s=cotm.Schedule(9, 3, epochs=4),
    )  # fmt: skip
    found = fit_pools(model, X, Y, weight, n_pools=2, refine=1)
    assert found.check() == [] and found.s_ == 3.0
    found.save(tmp_path / "model.cotm")
    loaded = cotm.load(tmp_path / "model.cotm")
    assert np.array_equal(loaded.predict_proba(X), found.predict_proba(X))
    assert not hasattr(model, "_fitted")
    labels = np.column_stack([Y, X[:, 0] > 15])
    several = fit_pools(small(), X, labels, n_pools=2)
    assert several.predict(X).shape == labels.shape
    images, digits = load_digits(return_X_y=True)
    seen = fit_pools(
        small(image_shape=(8, 8), patch_shape=(4, 4)), images, digits, n_pools=2, refine=1
    )
    assert seen.score(images, digits) > 0.5


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"n_pools": 0}, "n_pools=0"),
        ({"n_pools": 43}, "n_clauses=42 are all there are to share"),
        ({"pool_rows": "some"}, "pool_rows='some'"),
        ({"refine": -1}, "refine=-1"),
        ({"early_stopping": True}, "set early_stopping=False"),
        ({"warm_start": True}, "set warm_start=False"),
        ({"callbacks": [print]}, "set callbacks=None"),
        ({"augment": cotm.Augmentation(shift=1)}, "set augment=None"),
    ],
)
def test_what_pools_cannot_do_is_refused(parameters, message):
    options = {n: parameters.pop(n) for n in ("n_pools", "pool_rows", "refine") if n in parameters}
    with pytest.raises(ValueError, match=message):
        fit_pools(small(**parameters), X, Y, **options)


def test_pools_without_rows_are_refused():
    with pytest.raises(ValueError, match="n_pools=40 leaves a pool without any of the 20 rows"):
        fit_pools(small(), X[:20], Y[:20], n_pools=40)


def test_columns_of_labels_are_refused():
    columns = np.column_stack([Y, Y]).astype(object)
    columns[:, 1] = np.array(["no", "yes"])[Y]
    with pytest.raises(ValueError, match="several columns of labels, which pools do not learn"):
        fit_pools(small(), X, columns)


def test_progress_is_shown(capsys):
    fit_pools(small(verbose=2), X, Y, n_pools=2, refine=1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("42 clauses in 2 pools, 569 examples, 3 epochs apart and 1 as one")
    assert len(lines) == 5 and "epoch 4/4" in lines[4]
