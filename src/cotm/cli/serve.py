"""``cotm serve``: models over HTTP."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from .logs import LogFrom, LogTo, chosen, set_up
from .options import real, whole

Background = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]FILE",
        help="Rows that columns take other values from in reasons, at most 100 of them; of the "
        "only model, or of a named one. May be repeated.",
    ),
]


Models = Annotated[
    list[str],
    typer.Argument(
        metavar="[NAME=]MODEL...",
        help="Model files; one is called by its file's name, or by NAME.",
        show_default=False,
    ),
]
Host = Annotated[str, typer.Option(help="Address to listen at.")]
Port = Annotated[
    int, typer.Option(parser=whole(0, 65535), metavar="N", help="Port; 0 for any that is free.")
]
Workers = Annotated[int, typer.Option(parser=whole(1, 256), metavar="N", help="Processes.")]
Threads = Annotated[
    int,
    typer.Option(parser=whole(1, 256), metavar="N", help="Threads of each, for large requests."),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File of bearer tokens, one a line.",
        show_default="the variable COTM_SERVE_TOKEN",
    ),
]
NoToken = Annotated[
    bool,
    typer.Option(
        "--no-token", help="Let everybody ask who reaches HOST, also from other machines."
    ),
]
Certificate = Annotated[
    Path | None, typer.Option("--tls-certificate", metavar="FILE", help="Speak TLS.")
]
Key = Annotated[
    Path | None, typer.Option("--tls-key", metavar="FILE", help="Key of the certificate.")
]
MaxBody = Annotated[
    int, typer.Option(parser=whole(1), metavar="BYTES", help="Most bytes of a request.")
]
MaxRows = Annotated[int, typer.Option(parser=whole(1), metavar="N", help="Most rows of a request.")]
MaxExplained = Annotated[
    int, typer.Option(parser=whole(1), metavar="N", help="Most rows of one with reasons.")
]
MaxRequests = Annotated[
    int, typer.Option(parser=whole(1), metavar="N", help="Most requests of a worker at a time.")
]
Rate = Annotated[
    float | None,
    typer.Option(
        parser=real(1e-3, 1e9),
        metavar="N",
        help="Requests a second of a client, by each worker.",
        show_default="no limit",
    ),
]
Timeout = Annotated[
    float,
    typer.Option(
        parser=real(0.1, 86400),
        metavar="SECONDS",
        help="For a request to come in, and to be answered.",
    ),
]
Grace = Annotated[
    float,
    typer.Option(
        parser=real(1, 86400), metavar="SECONDS", help="For requests to end when stopped."
    ),
]
Watch = Annotated[
    float,
    typer.Option(
        parser=real(0, 86400),
        metavar="SECONDS",
        help="Between looks whether model files have changed; 0: only by SIGHUP.",
    ),
]


def serve(
    models: Models,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Workers = 1,
    threads: Threads = 2,
    token_file: TokenFile = None,
    no_token: NoToken = False,
    certificate: Certificate = None,
    key: Key = None,
    background: Background = None,
    max_body: MaxBody = 16 << 20,
    max_rows: MaxRows = 10_000,
    max_explained: MaxExplained = 100,
    max_requests: MaxRequests = 1_000,
    rate: Rate = None,
    timeout: Timeout = 30.0,
    grace: Grace = 30.0,
    watch: Watch = 1.0,
    log: LogTo = None,
    log_level: LogFrom = None,
) -> None:
    """Answer requests for predictions over HTTP, until Ctrl-C or SIGTERM.

    JSON and Arrow in; labels, votes, probabilities and reasons out. /docs
    says how to ask. Changed model files are read while requests go on, and a
    broken one changes nothing. Only this machine is listened to unless --host
    says else, and then only with a token.

    \b
    Examples:
      cotm serve flowers.cotm
      COTM_SERVE_TOKEN=... cotm serve flowers.cotm spam=mail-3.cotm --host 0.0.0.0
      cotm serve flowers.cotm --workers 4 --log json
    """
    begin = partial(set_up, *chosen(log, log_level))
    begin()
    try:
        from ..serving.server import serve as start
    except ImportError as error:
        raise ValueError(f'cotm serve needs {error.name}; pip install "cotm[serve]"') from error
    from ..serving.settings import Limits, Settings, named_models, read_tokens

    named = named_models(models)
    start(
        Settings(
            models=named,
            host=host,
            port=port,
            workers=workers,
            threads=threads,
            watch=watch,
            grace=grace,
            tokens=read_tokens(token_file),
            allow_no_token=no_token,
            certificate=certificate,
            key=key,
            limits=Limits(
                body_bytes=max_body,
                rows=max_rows,
                explained_rows=max_explained,
                seconds=timeout,
                in_flight=max_requests,
                rate=rate,
            ),
            backgrounds=_backgrounds(background or [], [*named]),
            read_background=read_background,
            begin=begin,
        )
    )


def _backgrounds(given: list[str], names: list[str]) -> dict[str, Path]:
    found = {}
    for text in given:
        name, sign, path = text.partition("=")
        if not sign or name not in names:
            if len(names) > 1:
                raise ValueError(
                    f"--background {text!r} must name its model: {', '.join(names)}; write "
                    f"{names[0]}={text}"
                )
            name, path = names[0], text
        found[name] = Path(path)
    return found


def read_background(model: Any, path: Path) -> Any:
    """Some rows of a file, as the model reads them."""
    from .data.loading import read_for
    from .data.source import Source
    from .explain import sample_rows

    source = Source.given(path, drop=None, x="X", separator=None, missing=None, form=None)
    X = read_for(model, source, with_labels=False, quiet=True).X
    return sample_rows(X)
