"""Who may ask, how often, and how much: checks before anything is read."""

from __future__ import annotations

import hashlib
import hmac
import math
import time
from collections import OrderedDict

from .problems import Problem
from .settings import Settings

#: So many clients are remembered; who asks most often stays.
_MOST_CLIENTS = 10_000
#: The names under which a browser may know a server on this machine.
_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})

Headers = dict[bytes, bytes]


class Guards:
    """The checks of one worker."""

    def __init__(self, settings: Settings) -> None:
        self._digests = [hashlib.sha256(token.encode()).digest() for token in settings.tokens]
        self._rate = settings.limits.rate
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._checks_host = not settings.tokens and settings.is_loopback

    def check_host(self, headers: Headers) -> None:
        """Without a token only the names of this machine are answered to.

        A page from anywhere can make a browser ask a name that leads here, but not under these.
        """
        if not self._checks_host:
            return
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name not in _LOCAL:
            raise Problem(
                421,
                "the server is called by a name that is not its own",
                "ask for 127.0.0.1 or localhost, or start the server with a token",
                host,
            )

    def check_token(self, headers: Headers) -> None:
        """The bearer token, if there is one, in a time that does not depend on how near it is."""
        if not self._digests:
            return
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        given = hashlib.sha256(token.strip()).digest()
        matches = [hmac.compare_digest(given, digest) for digest in self._digests]
        if kind.lower() != b"bearer" or not any(matches):
            raise Problem(
                401,
                "the bearer token is missing or wrong",
                "send it as the header Authorization: Bearer TOKEN",
                headers={"www-authenticate": "Bearer"},
            )

    def check_rate(self, client: str) -> None:
        """A bucket for each client, that holds a second's requests."""
        rate = self._rate
        if rate is None:
            return
        most, now = max(1.0, rate), time.monotonic()
        tokens, then = self._buckets.get(client, (most, now))
        tokens = min(most, tokens + (now - then) * rate)
        allowed = tokens >= 1
        self._buckets[client] = (tokens - 1 if allowed else tokens), now
        self._buckets.move_to_end(client)
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        if not allowed:
            wait = max(1, math.ceil((1 - tokens) / rate))
            raise Problem(
                429,
                "too many requests",
                f"send at most {rate:g} a second, and wait {wait} s now",
                headers={"retry-after": str(wait)},
            )
