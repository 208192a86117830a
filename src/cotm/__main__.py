"""The program ``cotm``, also ``python -m cotm``: the command line, or what to install for it."""

from __future__ import annotations

import sys


def main() -> None:
    """Start the command line."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        sys.exit(f'error: the command line needs {error.name}; pip install "cotm[cli]"')
    from .core.system import set_little_aside

    set_little_aside(threads=False)
    from .cli import main as run

    run()


if __name__ == "__main__":
    main()
