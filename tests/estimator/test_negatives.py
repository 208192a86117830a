"""One of the classes that an example is not of gives feedback: what that means for a classifier."""

from functools import partial

import numpy as np
import pytest
from helpers import classifier
from sklearn.datasets import load_iris

from cotm import CoTMClassifier, TMClassifier

X, Y = load_iris(return_X_y=True)
small = partial(classifier, n_clauses=20, epochs=3, random_state=0)


@pytest.mark.parametrize("kind", [CoTMClassifier, TMClassifier])
@pytest.mark.parametrize("negatives, e", [("all", 0.5), ("drawn", 1.0), ("focused", 1.0)])
def test_the_automatic_e(kind, negatives, e):
    model = small(kind, negatives=negatives).fit(X, Y)
    assert model.machine_.e == e
    assert small(kind, negatives=negatives, e=0.3).fit(X, Y).machine_.e == 0.3


@pytest.mark.parametrize("kind", [CoTMClassifier, TMClassifier])
def test_of_two_classes_there_is_one_to_draw(kind):
    every, drawn = (small(kind, negatives=name).fit(X, Y > 0) for name in ("all", "drawn"))
    assert np.array_equal(every.memory_, drawn.memory_)
    assert np.array_equal(every.weights_, drawn.weights_)
    other = small(kind, negatives="drawn").fit(X, Y)
    assert not np.array_equal(small(kind).fit(X, Y).memory_, other.memory_)


def test_a_callback_may_change_it_and_e_follows():
    seen = []

    def change(model, record):
        seen.append(model.machine_.e)
        model.negatives = "focused"

    model = small(callbacks=[change]).fit(X, Y)
    assert seen == [0.5, 1.0, 1.0]
    assert model.machine_.negatives == "focused"


def test_several_labels_learn_from_one_of_those_an_example_lacks():
    targets = np.column_stack([Y == 0, Y != 1, Y == 2]).astype(int)
    model = small(negatives="focused", epochs=30).fit(X, targets)
    assert (model.predict(X) == targets).mean() > 0.85
