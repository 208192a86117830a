"""Fitted models as files for other programs: the format is told by the ending of the name."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .describing import describe
from .description import CannotExportError, Description
from .writing import write_files

__all__ = ["ENDINGS", "CannotExportError", "Description", "describe", "export"]

#: The module of each format, by the ending of the file's name. Each has a function ``files``,
#: which says what is to be written, by the names of files.
ENDINGS = {
    ".json": "json_format",
    ".c": "c_format",
    ".onnx": "onnx_format",
    ".js": "js_format",
    ".sql": "sql_format",
    ".v": "verilog_format",
}


def export(description: Description, path: str | os.PathLike[str], **options: Any) -> None:
    """Write a model's description in the format that the name's ending says, or nothing."""
    path = Path(path)
    if path.suffix == ".pmml":
        raise CannotExportError(
            "PMML",
            "whoever reads PMML may count in single precision and go through rules in his own way",
            "export ONNX, JSON or SQL",
        )
    if path.suffix not in ENDINGS:
        raise ValueError(
            f"path={str(path)!r} ends in {path.suffix!r}, which is no format of exports; known "
            f"are {', '.join(ENDINGS)}"
        )
    if description.label_columns is not None and path.suffix != ".json":
        raise CannotExportError(
            f"a {path.suffix} file",
            f"the model predicts a label for each of {len(description.label_columns)} columns",
            "export JSON, or train a model for each column",
        )
    module = importlib.import_module(f".{ENDINGS[path.suffix]}", __name__)
    unknown = sorted({*options} - {*module.OPTIONS})
    if unknown:
        takes = f"takes only {', '.join(module.OPTIONS)}" if module.OPTIONS else "takes none"
        raise TypeError(f"{path.suffix} got the option {unknown[0]!r}, but {takes}")
    make: Callable[..., dict[Path, bytes]] = module.files
    write_files(make(description, path, **options))
