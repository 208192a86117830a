"""Parquet files, and what else pyarrow reads, in batches of little memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .arrow_frame import ArrowFrame
from .sizes import rows_of_batch

#: Bytes of each column that are read from a file at a time.
_BUFFER_BYTES = 1 << 18


def is_arrow(thing: Any, kind: str) -> bool:
    """Whether it is of pyarrow: a "dataset", or a "table" or batch."""
    if type(thing).__module__.partition(".")[0] != "pyarrow":
        return False
    return hasattr(thing, "get_fragments" if kind == "dataset" else "to_pylist")


def as_frame(table: Any) -> Any:
    """An Arrow table or batch as a frame of polars, or else of pandas."""
    try:
        import polars
    except ModuleNotFoundError:  # no other error: frames of pandas may become other bits
        try:
            return table.to_pandas()
        except ImportError as error:
            raise ImportError(
                "reading Arrow needs polars or pandas; install one with pip install polars"
            ) from error
    return polars.from_arrow(table)


def parquet_files(path: str | os.PathLike[str]) -> list[Path]:
    """A Parquet file, or those of a folder and the folders in it, in the order of their paths.

    Names that begin with a dot or an underscore are notes of the programs that wrote the others.
    """
    path = Path(path)
    if not path.is_dir():
        if not path.exists():
            raise FileNotFoundError(f"there is no file {str(path)!r} to make a stream of")
        return [path]
    files = []
    for found in sorted(path.rglob("*.parquet")):
        folders = found.relative_to(path).parts
        if any(name.startswith((".", "_")) for name in folders):
            continue
        if any("=" in name for name in folders[:-1]):
            raise ValueError(
                f"the folder {str(path)!r} keeps columns in the names of its folders, such as "
                f"{folders[0]!r}; pass pyarrow.dataset.dataset({str(path)!r}, "
                "partitioning='hive') as the source"
            )
        files.append(found)
    if not files:
        raise ValueError(f"the folder {str(path)!r} holds no Parquet files (*.parquet)")
    return files


def parquet_batches(path: str | os.PathLike[str], batch_rows: int | None) -> Iterator[Any]:
    """Frames of a file or folder, row after row."""
    for batch in arrow_batches(path, batch_rows):
        yield as_frame(batch)


def training_batches(path: str | os.PathLike[str], batch_rows: int | None) -> Iterator[Any]:
    """The same for a training, without a library of frames where it can do without."""
    for batch in arrow_batches(path, batch_rows):
        yield ArrowFrame(batch, as_frame) if ArrowFrame.takes(batch.schema) else as_frame(batch)


def arrow_batches(
    path: str | os.PathLike[str], batch_rows: int | None, columns: list[str] | None = None
) -> Iterator[Any]:
    """The same as Arrow has them; of some columns, if they are named."""
    first: Any = None
    for file in parquet_files(path):
        with _opened(file) as parquet:
            schema = parquet.schema_arrow.remove_metadata()
            if first is None:
                first = file, schema
            _check_same(first, (file, schema))
            rows = rows_of_batch(len(schema), batch_rows)
            yield from parquet.iter_batches(rows, columns=columns, use_threads=False)


def parquet_bytes(path: str | os.PathLike[str]) -> int:
    """About so many bytes its cells take in memory."""
    count = 0
    for file in parquet_files(path):
        with _opened(file) as parquet:
            groups = parquet.metadata
            kept = sum(groups.row_group(i).total_byte_size for i in range(groups.num_row_groups))
            count += max(kept, 8 * groups.num_rows * groups.num_columns)
    return count


def _opened(file: Path) -> Any:
    pyarrow = _library()
    from pyarrow import parquet

    if Path(file).suffix.lower() not in (".parquet", ".pq"):
        raise ValueError(
            f"{str(file)!r} is not called .parquet, and a stream reads no other files by name; "
            "pass polars.scan_csv(...) or another lazy frame or data set as the source"
        )
    try:
        # Not a group of rows as a whole, and not by mapping: both would take much memory.
        return parquet.ParquetFile(
            file, buffer_size=_BUFFER_BYTES, memory_map=False, pre_buffer=False
        )
    except pyarrow.ArrowException as error:
        raise ValueError(f"{str(file)!r} cannot be read as Parquet: {error}") from error


def _library() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            "reading Parquet in batches needs pyarrow; install it with pip install 'cotm[stream]'"
        ) from error
    return pyarrow


def _check_same(first: tuple[Path, Any], other: tuple[Path, Any]) -> None:
    """Files of a folder have the same columns."""
    (file, schema), (other_file, other_schema) = first, other
    if schema.equals(other_schema):
        return
    here, there = ({field.name: str(field.type) for field in s} for s in (schema, other_schema))
    odd = [name for name in {**here, **there} if here.get(name) != there.get(name)]
    said = (
        f"the column {odd[0]!r} is {there.get(odd[0], 'not there')} in {str(other_file)!r}, but "
        f"{here.get(odd[0], 'not there')} in {str(file)!r}"
        if odd
        else f"{str(other_file)!r} has the columns of {str(file)!r} in another order"
    )
    raise ValueError(f"{said}; the files of a folder must have the same columns")


def dataset_batches(dataset: Any, batch_rows: int | None) -> Iterator[Any]:
    """Frames of a pyarrow data set, in the order of its files and rows."""
    import pyarrow.dataset

    options = {}
    if isinstance(dataset, pyarrow.dataset.FileSystemDataset) and isinstance(
        dataset.format, pyarrow.dataset.ParquetFileFormat
    ):
        options["fragment_scan_options"] = pyarrow.dataset.ParquetFragmentScanOptions(
            use_buffered_stream=True, buffer_size=_BUFFER_BYTES, pre_buffer=False
        )
    batches = dataset.to_batches(
        batch_size=rows_of_batch(len(dataset.schema), batch_rows),
        batch_readahead=1,
        fragment_readahead=1,
        use_threads=False,
        **options,
    )
    for batch in batches:
        yield as_frame(batch)
