"""What is kept of a run that is not finished, so that it goes on where it was interrupted."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from ..loading import load
from .report import read_kept, write_whole

#: Seconds between two times at which the state of a run is kept.
_SECONDS = 60.0

#: One record per epoch.
Records = list[dict[str, float]]


class UnfinishedRun:
    """The records and the model of a run, beside the file that it will have when it is finished."""

    def __init__(self, path: Path) -> None:
        self._records = path.with_suffix(".records")
        self._model = path.with_suffix(".cotm")
        self._kept_at = time.monotonic()

    def keep_now_and_then(self, model: Any, records: Records) -> None:
        """Keep the state if it was not kept for a while."""
        if time.monotonic() - self._kept_at >= _SECONDS:
            self.keep(model, records)
            self._kept_at = time.monotonic()

    def keep(self, model: Any, records: Records) -> None:
        """Keep the state after an epoch; records first, so that none is missing for the model."""
        write_whole(self._records, json.dumps(records) + "\n")
        model.save(self._model)

    def find(self) -> tuple[Any, Records] | None:
        """The model that was kept, with the records of its epochs."""
        if not (self._records.exists() and self._model.exists()):
            return None
        model = load(self._model)
        records: Records = read_kept(self._records, json.loads)
        epochs = len(model.history_)
        return (model, records[:epochs]) if len(records) >= epochs else None

    def remove(self) -> None:
        """Remove what was kept."""
        self._model.unlink(missing_ok=True)
        self._records.unlink(missing_ok=True)
