"""Rows of several requests, asked of a model at once: whoever comes alone waits for nobody.

Requests whose bytes have come in the same turn of the event loop are answered in one call.
Each row was read by itself before, and its votes are whole numbers that do not depend on other
rows, so that no answer depends on who else asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.examples import Examples
from .served import ServedModel

#: Rows in one call: what comes beyond waits for the next turn.
MOST_ROWS = 256

_Waiting = tuple[tuple[Examples, ...], "asyncio.Future[NDArray[np.int64]]"]


class Batcher:
    """What waits for a model's votes, in this turn of the event loop."""

    def __init__(self, model: ServedModel, told: Callable[[int], None] = lambda rows: None) -> None:
        self._model = model
        self._told = told
        self._waiting: list[_Waiting] = []

    async def votes(self, examples: tuple[Examples, ...]) -> NDArray[np.int64]:
        """The model's votes for rows that were read."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[NDArray[np.int64]] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._answer)
        self._waiting.append((examples, future))
        return await future

    def _answer(self) -> None:
        waiting, self._waiting = self._waiting, []
        waiting = [entry for entry in waiting if not entry[1].done()]  # who left is not asked for
        while waiting:
            count = taken = 0
            for examples, _ in waiting:
                if taken and count + len(examples[0]) > MOST_ROWS:
                    break
                count, taken = count + len(examples[0]), taken + 1
            part, waiting = waiting[:taken], waiting[taken:]
            self._told(count)
            try:
                found = self._model.votes(_joined([examples for examples, _ in part]))
            except Exception as error:
                self._one_by_one(part, error)
                continue
            start = 0
            for examples, future in part:
                end = start + len(examples[0])
                future.set_result(found[start:end])
                start = end

    def _one_by_one(self, part: Sequence[_Waiting], error: Exception) -> None:
        """What fails together may go well alone; what does not is the fault of that request."""
        for examples, future in part:
            if len(part) > 1:
                try:
                    future.set_result(self._model.votes(examples))
                    continue
                except Exception as own:
                    future.set_exception(own)
                    continue
            future.set_exception(error)


def _joined(parts: Sequence[tuple[Examples, ...]]) -> tuple[Examples, ...]:
    if len(parts) == 1:
        return parts[0]
    members: Sequence[Sequence[Any]] = [*zip(*parts, strict=True)]
    return tuple(
        Examples(np.concatenate([examples.bits for examples in member]), member[0].grid)
        for member in members
    )
