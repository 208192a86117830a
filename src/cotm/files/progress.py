"""How far a training has come, in a model file."""

from __future__ import annotations

import math
from typing import Any

from ..core.decoding import expect, expect_integer
from ..model.fitted import Record, TrainingProgress
from ..model.resuming import DATA_TYPES
from .parameters import MAX_COUNT, plain

#: Records in a learning curve.
MAX_HISTORY = 100_000


def encode_progress(progress: TrainingProgress) -> dict[str, Any]:
    """All of it but the machine's step and the state of the best epoch."""
    return {
        "history": [_plain_record(record) for record in progress.history],
        # No training comes as far as the most that a file can say.
        "target": min(int(progress.until_epoch), MAX_COUNT),
        "patience_from": min(int(progress.patience_from), MAX_COUNT),
        "scored_from": progress.scored_from,
        "data": progress.data,
    }


def decode_progress(header: dict[str, Any]) -> TrainingProgress:
    """What ``encode_progress`` encoded; the header may be hostile."""
    return TrainingProgress(
        history=tuple(_decode_history(header["history"])),
        until_epoch=expect_integer(header, "target", 0, 2**63),
        patience_from=expect_integer(header, "patience_from", 0, 2**63),
        scored_from=expect_integer(header, "scored_from", 0, 2**63),
        data=_decode_data(header["data"]),
    )


def _plain_record(record: Record) -> dict[str, Any]:
    converted = {name: plain(value) for name, value in record.items()}
    for name, value in converted.items():
        if not isinstance(value, int | float):
            raise TypeError(
                f"the record of epoch {record.get('epoch')} in history_ holds {name}={value!r:.100}"
                ", which cannot be saved; a learning curve is made of numbers, so take it out"
            )
    return converted


def _decode_history(history: Any) -> list[Record]:
    expect(isinstance(history, list), "its learning curve is missing")
    expect(
        len(history) <= MAX_HISTORY,
        f"its learning curve has {len(history)} records; up to {MAX_HISTORY} work",
    )
    for record in history:
        expect(
            isinstance(record, dict)
            and {"epoch", "train_accuracy", "seconds"} <= record.keys()
            and type(record["epoch"]) is int
            and all(_is_finite(value) for value in record.values()),
            f"its learning curve holds {record!r:.200}",
        )
    return list(history)


def _is_finite(value: Any) -> bool:
    """Whether a value is a number that every computation can take."""
    if type(value) is int:
        return abs(value) <= MAX_COUNT
    return type(value) is float and math.isfinite(value)


def _decode_data(data: Any) -> dict[str, Any] | None:
    """The marks by which a resumed training knows its data again; None after ``partial_fit``."""
    if data is None:
        return None
    expect(
        isinstance(data, dict)
        and {name: type(value) for name, value in data.items()} == DATA_TYPES,
        "what is said of the training data cannot be read",
    )
    return dict(data)
