"""Requests to a server's application: ``tests/serving/fuzz_requests.py``, some at a time."""

from __future__ import annotations

import random

from fuzz_requests import fuzz
from targets import Target

#: Requests of one case; a case is the number of the first dice.
MANY = 200


class ServedRequests(Target):
    """Whatever a client sends."""

    limit = 600.0

    def seeds(self) -> list[bytes]:
        return [b"0"]

    def changed(self, data: bytes, dice: random.Random) -> bytes:
        return str(dice.randrange(10**9)).encode()

    def tried(self, data: bytes) -> str:
        told = fuzz(MANY, int(data))
        return f"{sum(told['statuses'].values())} requests"


TARGET = ServedRequests
