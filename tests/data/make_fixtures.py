"""Makes the model file that later versions of cotm must be able to read for ever.

    python tests/data/make_fixtures.py [FOLDER]

writes ``formatN-new.cotm`` of the current format N, and ``formatN-new.json`` with what a reader
must find in it. When a new format is released, both are committed without the ``-new``, and never
change again; tests/test_file_versions.py reads them.

``format1.cotm`` was written in this way by the first version of cotm that had format 1, which did
not have LATER yet: some fields, options and notes of the booleanizer came later.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_iris

from cotm import Booleanizer, CoTMClassifier
from cotm.booleanize import thresholds
from cotm.files.encode import encode
from cotm.files.upgrade import FORMAT, LATER_FIELDS, LATER_OPTIONS

#: What format1.cotm does not have, although it is of format 1: paths into the header.
LATER = {
    *((name,) for name in LATER_FIELDS),
    *(("parameters", name) for name in LATER_OPTIONS),
    ("booleanizer", "types"),
}

#: The defaults of cotm before there were presets, beside T and e, which were "auto".
BEFORE_PRESETS = {
    "preset": "paper",
    "s": 10.0,
    "memory_depth": 128,
    "average": 1,
    "tolerance": 1,
    "forgetting": "drawn",
    "growth_limit": None,
    "include_depth": None,
    "negatives": "all",
}

X, NUMBERS = load_iris(return_X_y=True)
Y = np.array(["setosa", "versicolor", "virginica"])[NUMBERS]


def trained() -> CoTMClassifier:
    """The model: two epochs on iris, whose records say that each took a hundredth of a second."""
    with (
        patch.object(Booleanizer.__init__, "__defaults__", (10,)),  # the bits per number then
        patch.object(thresholds, "_as_written", lambda middle, low, high: middle),
    ):
        model = CoTMClassifier(12, epochs=2, random_state=7, **BEFORE_PRESETS).fit(X, Y)
    fitted = model._fitted
    history = tuple({**record, "seconds": 0.01} for record in fitted.progress.history)
    model._fitted = replace(fitted, progress=replace(fitted.progress, history=history))
    return model


def findings(model: CoTMClassifier) -> dict:
    """What a reader must find: votes, predictions, and where two more epochs lead."""
    votes, predictions = model.votes(X[::10]).tolist(), model.predict(X[::10]).tolist()
    model.set_params(epochs=4).fit(X, Y, resume=True)
    memory_sum = int(model.memory_.astype(np.int64).sum())
    return {
        "votes": votes,
        "predictions": predictions,
        "memory_sum_after_4_epochs": memory_sum,
    }


def first_of_format_1() -> tuple[dict, dict]:
    """Header and tensors of format1.cotm."""
    header, tensors = encode(trained()._saved_model())
    header = json.loads(json.dumps(header))
    for *parents, name in LATER:
        place = header
        for parent in parents:
            place = place[parent]
        del place[name]
    return {**header, "cotm": "0.1.0"}, tensors


def write(folder: Path) -> Path:
    """Write the fixture of the current format and what is to be found in it."""
    path = folder / f"format{FORMAT}-new.cotm"
    trained().save(path)
    path.with_suffix(".json").write_text(json.dumps(findings(trained())))
    return path


if __name__ == "__main__":
    print(write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent))
