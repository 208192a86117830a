"""Each kind of training is killed once; ``kills.py`` kills as many as one likes."""

import os

import pytest
from kills import kill


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")
@pytest.mark.parametrize("name", ["early stopping", "language model", "cotm tune"])
def test_killed_trainings_come_to_the_same_model(name):
    assert kill(name, 2)["kills"] == 2
