"""Class labels in a model file: a list of texts, numbers or booleans, and their type's name.

Of several columns of labels there is such a list for each.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.decoding import expect, expect_keys
from ..model.label_columns import LabelColumns

#: Characters of a class name. Arrays of texts are as wide as the longest one in every row.
MAX_CLASS_NAME = 10_000
#: Characters of all class names, each as wide as the longest.
MAX_CLASS_TEXT = 25_000_000

_TYPES = {"str", "object", "bool", "float16", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_TIME_TYPE = re.compile(r"(datetime64|timedelta64)(\[\d{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?")


def check_class_names(classes: NDArray[Any]) -> None:
    """Refuse labels that are far too long for names; predictions repeat them in every row."""
    lengths = [len(value) for value in classes.tolist() if isinstance(value, str)]
    longest = max(lengths, default=0)
    if longest > MAX_CLASS_NAME:
        name = next(v for v in classes.tolist() if isinstance(v, str) and len(v) == longest)
        raise ValueError(
            f"the class {name[:40]!r}... has {longest} characters; up to {MAX_CLASS_NAME} work, "
            "so give it a shorter name"
        )
    if classes.dtype.kind == "U" and longest * len(lengths) > MAX_CLASS_TEXT:
        raise ValueError(
            f"{len(lengths)} classes with names of up to {longest} characters take too much "
            "memory; give them shorter names"
        )


def encode_classes(classes: NDArray[Any]) -> tuple[list[Any], str]:
    """Labels as a list that JSON can hold, dates as integers, and the name of their type."""
    if _TIME_TYPE.fullmatch(classes.dtype.name):
        return list(classes.astype(np.int64).tolist()), classes.dtype.name
    values = [v.item() if isinstance(v, np.generic) else v for v in classes.tolist()]
    for value in values:
        if not isinstance(value, str | int | float | bool):
            raise TypeError(
                f"a model with the class label {value!r} cannot be saved: labels in a model file "
                "are text, numbers, booleans or NumPy's dates; convert them to text first"
            )
    name = {"U": "str", "T": "str", "O": "object"}.get(classes.dtype.kind, classes.dtype.name)
    if name not in _TYPES:
        raise TypeError(
            f"a model with class labels of type {classes.dtype} cannot be saved; convert them to "
            "text, integers or float64 first"
        )
    return values, name


def decode_classes(values: Any, type_name: Any, multilabel: bool) -> NDArray[Any]:
    """What ``encode_classes`` encoded; both may be hostile."""
    expect(isinstance(values, list) and len(values) >= 2, "it names fewer than two classes")
    expect(all(isinstance(v, str | int | float) for v in values), "classes are of a strange type")
    expect(isinstance(type_name, str), f"classes are of the type {type_name!r:.100}")
    if _TIME_TYPE.fullmatch(type_name):
        expect(all(type(v) is int for v in values), "dates are not integers")
        classes = np.array(values, dtype=np.int64).astype(type_name)
        expect(not np.isnat(classes).any(), "a class is not a date (NaT)")
    else:
        expect(type_name in _TYPES, f"classes are of the type {type_name!r:.100}")
        texts = [value for value in values if isinstance(value, str)]
        longest = max(map(len, texts), default=0)
        expect(longest <= MAX_CLASS_NAME, f"a class has a name of {longest} characters")
        if type_name == "str":
            expect(len(texts) == len(values), "classes do not fit their type")
            expect(longest * len(texts) <= MAX_CLASS_TEXT, "class names are too long")
        classes = np.array(values, dtype=None if type_name == "str" else type_name)
        expect(classes.tolist() == values, "classes do not fit their type")
    if multilabel:
        expect(len(set(values)) == len(values), "two labels have one name")
    else:
        expect(bool((classes[:-1] < classes[1:]).all()), "classes are not in order")
    return classes


def encode_columns(columns: LabelColumns | None) -> list[dict[str, Any]] | None:
    """The columns of labels: their names, and the labels of each. None: there are no columns."""
    if columns is None:
        return None
    found = []
    for name, classes in zip(columns.names, columns.classes, strict=True):
        labels, type_name = encode_classes(classes)
        called = name if columns.named else None
        found.append({"name": called, "classes": labels, "classes_type": type_name})
    return found


def decode_columns(encoded: Any, outputs: Any, outputs_type: Any) -> LabelColumns | None:
    """What ``encode_columns`` encoded, for the outputs of these names; all may be hostile."""
    if encoded is None:
        return None
    expect(isinstance(encoded, list) and len(encoded) >= 2, "it has fewer than two label columns")
    names, classes = [], []
    for column in encoded:
        expect_keys(column, ("name", "classes", "classes_type"), "a column of labels")
        name = column["name"]
        expect(
            name is None or (isinstance(name, str) and len(name) <= MAX_CLASS_NAME),
            f"a column of labels has the name {name!r:.100}",
        )
        names.append(name)
        classes.append(decode_classes(column["classes"], column["classes_type"], multilabel=False))
    expect(len({name is None for name in names}) == 1, "some columns of labels have no name")
    count = sum(map(len, classes))
    longest = max(len(str(label)) for part in classes for label in (part[0], *part.tolist()))
    longest += max(len(name or "") for name in names) + 1
    expect(count * longest <= MAX_CLASS_TEXT, "names of outputs are too long")
    columns = LabelColumns.of(None if names[0] is None else names, classes)
    expect(
        outputs_type == "str" and columns.outputs.tolist() == outputs,
        "its outputs are not the labels of its columns",
    )
    return columns
