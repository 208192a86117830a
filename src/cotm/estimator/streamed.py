"""Reading a stream for a training: examples, answers and weights, in a few passes over it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..booleanize.base import TableBooleanizer
from ..core.examples import Examples
from ..core.system import available_memory
from ..model.inputs import InputReader
from ..model.stored_inputs import fit_batches, read_batches
from ..streaming import Batch, Stream
from ..streaming.sizes import count_rows
from .progress import Messages
from .tasks import Task

if TYPE_CHECKING:
    from .base import TsetlinEstimator

_logger = logging.getLogger(__name__)

#: Learning from a table in memory takes about so many times the table.
_TIMES_IN_MEMORY = 12
#: Seconds between two messages while rows are read.
_MESSAGE_SECONDS = 10.0


class StreamedData(NamedTuple):
    """What a stream held; the examples lie in a file."""

    examples: Examples
    answers: Any  # as the task reads them
    weight: NDArray[np.float64] | None


def read_stream(
    stream: Stream,
    task: Task,
    reader: InputReader,
    *,
    fitting: bool,
    check_first: Callable[[Any], None] = lambda answers: None,
    verbose: int = 0,
) -> StreamedData:
    """All that a stream holds; ``check_first`` looks at the answers of its first batch."""
    again = stream.again() if fitting else stream
    passes = _Passes(again, task, check_first, verbose)
    try:
        if fitting:
            examples = fit_batches(reader, passes, stream.folder)
        else:
            examples = read_batches(reader, passes(), stream.folder)
        return StreamedData(examples, passes.answers(), passes.weight())
    except ValueError as error:
        if passes.place is None:
            raise
        raise ValueError(f"{error} ({passes.place})") from error


def check_streamable(estimator: TsetlinEstimator, y: Any, sample_weight: Any) -> None:
    """Raise ValueError for what cannot be done with a stream, before any of it is read."""
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None:
            part = "target" if name == "y" else "weight"
            raise ValueError(
                f"X is a Stream and {name} was passed too; name it in Stream(..., {part}=...)"
            )
    if estimator.augment is not None:
        raise ValueError(
            f"augment={estimator.augment!r} changes pixels in every pass, but of a stream only "
            "bits are kept; set augment=None, or pass images in memory"
        )


def check_scored(estimator: TsetlinEstimator, X: Any, eval_set: Any) -> None:
    """The same for scorers, which want examples as they were."""
    judges = X if eval_set is None and estimator.early_stopping else eval_set
    if estimator.scoring is not None and isinstance(judges, Stream):
        raise ValueError(
            f"scoring={estimator.scoring!r:.200} looks at examples as they were, but of a stream "
            "only bits are kept; pass eval_set=(X, y) in memory, or set scoring=None"
        )


def streamed_if_large(
    estimator: TsetlinEstimator, X: Any, y: Any, sample_weight: ArrayLike | None
) -> Any:
    """A stream of an array that lies on disk and would not fit into memory as bits; else None."""
    if not isinstance(X, np.memmap) or X.ndim != 2 or estimator.patch_shape is not None:
        return None
    wanted, available = estimator.booleanize, available_memory()
    if not (wanted is None or isinstance(wanted, str | TableBooleanizer)):
        return None
    if y is None or hasattr(y, "columns") or not is_too_large(X.nbytes, available):
        return None
    return Stream(X, y, weight=sample_weight)


def is_too_large(size: int, available: int | None) -> bool:
    """Whether a table of so many bytes is better not held in so much memory."""
    return available is not None and _TIMES_IN_MEMORY * size > available


class _Passes:
    """Passes over a stream: the first that comes to its end also collects answers."""

    def __init__(
        self, stream: Stream, task: Task, check_first: Callable[[Any], None], verbose: int
    ) -> None:
        self._stream, self._task, self._check_first = stream, task, check_first
        self._messages = Messages() if verbose else None
        self._rows: int | None = None  # after the first pass
        self._count = 0
        self._answers: list[Any] = []
        self._shared: dict[Any, Any] = {}
        self._weights: list[Any] = []
        #: Where in the stream the reading stands, in words.
        self.place: str | None = None

    def __call__(self) -> Iterator[Any]:
        self._count += 1
        rows, told = 0, time.perf_counter()
        answers: list[Any] = []
        weights: list[Any] = []
        for number, batch in enumerate(self._stream, start=1):
            count = count_rows(batch.X)
            self.place = f"in batch {number} of the stream, from row {rows:,} on"
            if self._rows is None:
                answers.append(self._read(batch, first=not answers))
                weights.append(batch.weight)
            yield batch.X
            rows += count
            self.place = None
            if time.perf_counter() - told > _MESSAGE_SECONDS:
                told = time.perf_counter()
                self._say(f"reading, pass {self._count}: {rows:,} rows so far")
        if self._rows is None:
            self._rows, self._answers, self._weights = rows, answers, weights
        elif rows != self._rows:
            raise ValueError(
                f"the stream had {self._rows:,} rows when it was read first, and now {rows:,}; it "
                "must give the same rows whenever it is read"
            )
        self._say(f"read {rows:,} rows, pass {self._count}")

    def _say(self, text: str) -> None:
        _logger.info(text)
        if self._messages is not None:
            print(text, file=self._messages)

    def _read(self, batch: Batch, *, first: bool) -> Any:
        if batch.y is None:
            raise ValueError(
                "the stream has no answers; name their column as target=..., or let it give "
                "pairs (X, y)"
            )
        answers = self._task.read(batch.y)
        if (
            answers.values.dtype == object and answers.values.ndim == 1
        ):  # many are one and the same text
            values = np.empty(len(answers.values), dtype=object)
            values[:] = [self._shared.setdefault((type(y), y), y) for y in answers.values.tolist()]
            answers = answers._replace(values=values)
        if first:
            self._check_first(answers)
        return answers

    def answers(self) -> Any:
        """Those of all rows."""
        return self._task.joined(self._answers)

    def weight(self) -> NDArray[np.float64] | None:
        """Those of all rows, where there are any."""
        without = [weight is None for weight in self._weights]
        if all(without):
            return None
        if any(without):
            raise ValueError("some batches of the stream have weights and others have none")
        return _joined(self._weights)


def _joined(weights: Iterable[Any]) -> NDArray[np.float64]:
    return np.concatenate([np.asarray(weight, dtype=np.float64) for weight in weights])
