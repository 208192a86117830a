"""Small models of a small language."""

import cotm

ANIMALS = ["cat", "dog", "horse", "mouse"]
DRINKS = ["milk", "water", "tea", "juice"]


def embedding(**parameters):
    options = {"n_clauses": 60, "min_texts": 1, "max_share": 1.0, "window": 2, "accumulation": 3}
    return cotm.CoTMEmbedding(**{**options, "epochs": 2, "random_state": 0, **parameters})


def language_model(**parameters):
    options = {"n_clauses": 60, "epochs": 2, "context": 4, "order": 2, "random_state": 0}
    return cotm.CoTMLanguageModel(**{**options, **parameters})
