"""Files of models of texts that lie with a right checksum are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import cotm
from cotm import ModelFileError
from cotm.files import container

LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def ends(*values):
    """The end of an array, which differences that overflow take for rising."""

    def change(array):
        array = array.copy()
        array[-len(values) :] = values
        return array

    return change


LIES = [
    ("speaker", ("extra", "context"), 3),
    ("speaker", ("extra", "bag"), 5),
    ("speaker", ("extra", "order"), 3),
    ("speaker", "extra.chances.1", lambda chances: chances * np.float32(np.nan)),
    ("speaker", "extra.left.1", ends(np.inf)),
    ("speaker", ("extra", "order"), 1),
    ("speaker", ("vocabulary", 0), "begin"),
    ("speaker", ("vocabulary", 1), "strange"),
    ("speaker", ("vocabulary",), lambda words: [*words, "more"]),
    ("speaker", ("vocabulary",), lambda words: words[:-1]),
    ("speaker", "extra.starts.1", lambda starts: np.r_[0, LOW, -1, starts[3:]]),
    ("speaker", "extra.histories.1", ends(LOW)),
    ("words", "extra.read", ends(LOW)),
    ("words", "extra.read", ends(HIGH)),
]


@pytest.mark.parametrize(("which", "path", "new"), LIES)
def test_lies_are_refused(which, path, new, request, tmp_path):
    request.getfixturevalue(which).save(tmp_path / "model.cotm")
    header, tensors = container.read_container(tmp_path / "model.cotm")
    if isinstance(path, str):
        tensors = {**tensors, path: new(tensors[path])}
    else:
        part = header
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = new(part[path[-1]]) if callable(new) else new
    (tmp_path / "lie.cotm").write_bytes(container.pack(json.dumps(header), tensors))
    with pytest.raises(ModelFileError, match="damaged"):
        cotm.load(tmp_path / "lie.cotm")


def test_whole_numbers_may_be_floats(texts):
    sizes = {"context": 3, "bag": 4, "order": 3, "others": 2}
    one, other = (
        cotm.CoTMLanguageModel(n_clauses=20, epochs=1, random_state=0, **given).fit(texts)
        for given in (sizes, {name: float(size) for name, size in sizes.items()})
    )
    assert one.next("the ") == other.next("the ")
