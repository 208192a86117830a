"""All that a server is told to do, checked: what worker processes are started with."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: What models may be called: part of a path of the server, and of its metrics.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
#: A token that can be guessed guards nothing.
FEWEST_LETTERS = 16
TOKEN_VARIABLE = "COTM_SERVE_TOKEN"


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Limits:
    """What a client may ask for."""

    body_bytes: int = 16 << 20
    rows: int = 10_000
    explained_rows: int = 100
    background_rows: int = 100
    seconds: float = 30.0  # for a request: to come in, and to be answered
    in_flight: int = 1_000  # requests at a time, of each worker
    connections: int = 2_000  # of each worker
    rate: float | None = None  # requests a second by each client and worker


@dataclass(frozen=True)
class Settings:
    """A server."""

    models: dict[str, Path]
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    threads: int = 2  # of each worker, for what takes long
    watch: float = 1.0  # seconds between looks at the model files; 0: none
    grace: float = 30.0  # seconds for requests to end when the server is stopped
    tokens: tuple[str, ...] = field(default=(), repr=False)
    allow_no_token: bool = False
    certificate: Path | None = None
    key: Path | None = None
    limits: Limits = Limits()
    #: Rows that columns take other values from in explanations, by the model's name, and what
    #: reads them for a model.
    backgrounds: dict[str, Path] = field(default_factory=dict)
    read_background: Callable[[Any, Path], Any] | None = None
    #: Called first in every worker: it sets up what is logged, and where.
    begin: Callable[[], None] = _nothing

    def __post_init__(self) -> None:
        for name in self.models:
            if not NAME.fullmatch(name):
                raise ValueError(
                    f"the model name {name!r} must be letters, digits, '.', '_' and '-', and begin "
                    "with one of the first two; name it, as in NAME=model.cotm"
                )
        unknown = [name for name in self.backgrounds if name not in self.models]
        if unknown:
            raise ValueError(
                f"there is no model {unknown[0]!r} for the background; there are "
                f"{', '.join(self.models)}"
            )
        if (self.certificate is None) != (self.key is None):
            raise ValueError("a certificate needs its key, and a key its certificate; pass both")
        if not self.is_loopback and not self.tokens and not self.allow_no_token:
            raise ValueError(
                f"host {self.host!r} can be reached from other machines, and there is no token; "
                f"set {TOKEN_VARIABLE} or pass --token-file, or say --no-token if everybody may "
                "ask"
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def read_tokens(path: Path | None) -> tuple[str, ...]:
    """Bearer tokens from a file, one a line, or from the environment; none where neither is."""
    if path is not None:
        lines = path.read_text(encoding="utf-8").split("\n")
        tokens = tuple(line.strip() for line in lines if line.strip())
        where = str(path)
        if not tokens:
            raise ValueError(f"{path} holds no token; write one into it, a line each")
    else:
        token = os.environ.get(TOKEN_VARIABLE, "").strip()
        tokens, where = (token,) if token else (), TOKEN_VARIABLE
    for token in tokens:
        if len(token) < FEWEST_LETTERS or not token.isascii() or not token.isprintable():
            raise ValueError(
                f"{where} holds a token of {len(token)} letters; it must be {FEWEST_LETTERS} or "
                'more of ASCII, as python -c "import secrets; print(secrets.token_urlsafe())" makes'
            )
        if " " in token:
            raise ValueError(f"{where} holds a token with a space in it; leave it out")
    return tokens


def named_models(given: list[str]) -> dict[str, Path]:
    """Models by their names, from texts such as ``model.cotm`` and ``name=model.cotm``."""
    found: dict[str, Path] = {}
    for text in given:
        name, sign, path = text.partition("=")
        if not sign or not NAME.fullmatch(name):
            path, name = text, Path(text).name.removesuffix(".cotm")
        if name in found:
            raise ValueError(
                f"two models are called {name!r}, {found[name]} and {path}; name one of them, as "
                f"in other={path}"
            )
        found[name] = Path(path)
    return found
