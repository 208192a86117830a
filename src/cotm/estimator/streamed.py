"""Reading a stream for a training: examples, answers and weights, in a few passes over it."""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..booleanize.base import TableBooleanizer
from ..core.examples import Examples
from ..core.system import available_memory, returning_memory
from ..core.temporary_files import RowFile
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
        with returning_memory():
            if fitting:
                examples = fit_batches(reader, passes, stream.folder)
            else:
                examples = read_batches(reader, passes(), stream.folder)
        return StreamedData(examples, passes.answers(), passes.weight())
    except (ValueError, MemoryError) as error:
        if passes.place is None:
            raise
        kind = MemoryError if isinstance(error, MemoryError) else ValueError
        raise kind(f"{error} ({passes.place})") from error


@contextmanager
def telling_memory(source: Any) -> Iterator[None]:
    """Say what to do where memory does not suffice for a training from a stream, or a file."""
    try:
        yield
    except (MemoryError, OSError, RuntimeError) as error:
        if not isinstance(source, Stream | str) or not _is_of_memory(error):
            raise
        raise MemoryError(
            f"the training from {source} needs more memory than it gets: {error}; raise the limit "
            "(ulimit -v, ulimit -d, or the container's), read fewer rows at a time "
            "(Stream(..., batch_rows=...)), or use fewer clauses, bits or threads (n_jobs)"
        ) from error


def _is_of_memory(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or "start new thread" in str(error)


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
        self._answers: Any = None
        self._weights: RowFile | None = None
        #: Where in the stream the reading stands, in words.
        self.place: str | None = None

    def __call__(self) -> Iterator[Any]:
        self._count += 1
        rows, told = 0, time.perf_counter()
        answers = self._task.stored(self._stream.folder)
        weights: RowFile | None = None
        for number, batch in enumerate(self._stream.for_training(), start=1):
            count = count_rows(batch.X)
            self.place = f"in batch {number} of the stream, from row {rows:,} on"
            if self._rows is None:
                answers.append(self._read(batch, first=rows == 0))
                weights = self._weighed(weights, batch, first=rows == 0)
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
        if first:
            self._check_first(answers)
        return answers

    def _weighed(self, weights: RowFile | None, batch: Batch, *, first: bool) -> RowFile | None:
        """With the weights of a batch, where there are any."""
        if (batch.weight is None) != (weights is None) and not first:
            raise ValueError("some batches of the stream have weights and others have none")
        if batch.weight is not None:
            if weights is None:
                weights = RowFile(8, "the weights", self._stream.folder)
            weights.append(np.ascontiguousarray(batch.weight, dtype=np.float64).view(np.uint8))
        return weights

    def answers(self) -> Any:
        """Those of all rows."""
        return self._answers.whole()

    def weight(self) -> NDArray[np.float64] | None:
        """Those of all rows, where there are any."""
        return None if self._weights is None else self._weights.array(np.float64)[:, 0]
