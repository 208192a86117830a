"""A small language, and models of it."""

from __future__ import annotations

import numpy as np
import pytest
from language_models import ANIMALS, DRINKS, embedding, language_model


@pytest.fixture(scope="session")
def texts():
    """Animals drink drinks; nothing else is said of either."""
    rng = np.random.default_rng(0)
    frames = ["the {} drinks some {}", "look a {} that likes cold {}", "no {} buys any {} today"]
    return [
        frames[rng.integers(3)].format(ANIMALS[rng.integers(4)], DRINKS[rng.integers(4)])
        for _ in range(120)
    ]


@pytest.fixture(scope="session")
def words(texts):
    return embedding().fit(texts)


@pytest.fixture(scope="session")
def speaker(texts):
    return language_model().fit(texts)
