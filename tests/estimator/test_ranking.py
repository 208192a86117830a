"""Ranking by a regressor on relevance, as the documents recommend it."""

import numpy as np
from sklearn.metrics import ndcg_score

from cotm import CoTMRegressor


def queries(count, seed):
    """Ten documents for each query, more relevant with one column and with two others together."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(count * 10, 5))
    fit = 2 * X[:, 0] + (X[:, 1] > 0.6) * (X[:, 2] > 0.4) + rng.normal(0, 0.2, len(X))
    return X, np.searchsorted([1.0, 1.6, 2.0, 2.4], fit)


def test_a_regressor_ranks_documents_of_new_queries():
    X, relevance = queries(60, 0)
    new, truth = queries(60, 1)
    model = CoTMRegressor(150, epochs=10, random_state=0).fit(X, relevance)
    scores = [np.reshape(values, (60, 10)) for values in (model.predict(new), new[:, 1])]
    ranked, chance = (ndcg_score(truth.reshape(60, 10), score, k=5) for score in scores)
    assert ranked > 0.93 > chance
