"""What this process can have of the computer: processors, threads and memory."""

from __future__ import annotations

import contextlib
import numbers
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: Options in <malloc.h> of the GNU C library, and what comes of asking others for them.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_NOT_THERE = ImportError, AttributeError, OSError, TypeError


def resolve_n_jobs(n_jobs: int | None, useful: float = 1) -> int:
    """Threads for ``n_jobs`` and work that keeps ``useful`` of them busy.

    None and -1 take as many as are useful and there, -2 leaves one processor out, and so on;
    None takes one inside a joblib worker, where others are at work already. A positive number
    is taken as it is. The result does not depend on it.
    """
    if n_jobs is None and useful < 2:
        return 1  # whatever there is; a prediction of one example waits for nothing
    if n_jobs is None:
        n_jobs = 1 if _inside_worker() else -1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(
            f"n_jobs={n_jobs!r} must be None or -1 (as many threads as help), or a positive number"
        )
    processors = available_processors()
    if n_jobs > 0:
        # More threads than this only wait for each other.
        return min(int(n_jobs), max(16, 4 * processors))
    return max(1, min(processors + 1 + int(n_jobs), int(useful)))


def _inside_worker() -> bool:
    # Where nobody has imported joblib or multiprocessing, there are no workers of theirs.
    if "joblib" in sys.modules:
        import joblib

        backend, _ = joblib.parallel.get_active_backend()
        if backend.nesting_level:
            return True
    if "multiprocessing" in sys.modules:
        import multiprocessing

        return multiprocessing.parent_process() is not None
    return False


def available_processors() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory() -> int | None:
    """Bytes that this process can have without swapping, or None where no one tells.

    The least of what the computer has free and what limits of the process (``ulimit -v``) and
    of its container leave.
    """
    limits = [_free_memory(), _left_by_ulimit(), *_left_by_cgroups()]
    return min((max(0, limit) for limit in limits if limit is not None), default=None)


def _free_memory() -> int | None:
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _left_by_ulimit() -> int | None:
    """What the limits on this process's addresses (``ulimit -v``) and data (-d) leave."""
    try:
        import resource

        sizes = Path("/proc/self/statm").read_text().split()
        page = os.sysconf("SC_PAGE_SIZE")
        left = [
            resource.getrlimit(kind)[0] - int(size) * page
            for kind, size in ((resource.RLIMIT_AS, sizes[0]), (resource.RLIMIT_DATA, sizes[5]))
            if resource.getrlimit(kind)[0] != resource.RLIM_INFINITY
        ]
        return min(left, default=None)
    except (ImportError, AttributeError, OSError, ValueError, IndexError):
        return None


def set_little_aside(*, threads: bool = True) -> None:
    """Where a limit of the process counts memory that is set aside and never touched, have
    libraries that are imported later do without, and without ``threads`` have few of these."""
    if _is_limited():
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # the usual one takes 1 GB
        for name in () if threads else ("OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
            os.environ.setdefault(name, "1")


@contextlib.contextmanager
def returning_memory() -> Iterator[None]:
    """As long as this lasts, what is freed goes back to the system.

    The GNU C library keeps it otherwise, and while batches are read one after the other, that
    comes to more than what is in use. It also sets 64 MB of addresses aside for each thread, which
    count where there is a limit.
    """
    limited = _is_limited()
    if limited:
        _set_allocator({_ARENA_MAX: 1})
    _set_allocator({_MMAP_THRESHOLD: 1 << 17, _TRIM_THRESHOLD: 1 << 17})
    try:
        yield
    finally:
        if not limited:  # as the library does it by itself in a process that uses much
            _set_allocator({_MMAP_THRESHOLD: 1 << 25, _TRIM_THRESHOLD: 1 << 26})
        with contextlib.suppress(*_NOT_THERE):
            _c_library().malloc_trim(0)


def _set_allocator(options: dict[int, int]) -> None:
    with contextlib.suppress(*_NOT_THERE):
        for option, value in options.items():
            _c_library().mallopt(option, value)


def _c_library() -> Any:
    import ctypes

    return ctypes.CDLL(None)


def _is_limited() -> bool:
    """Whether there is a limit on this process's addresses or data."""
    try:
        import resource

        kinds = resource.RLIMIT_AS, resource.RLIMIT_DATA
        return any(resource.getrlimit(kind)[0] != resource.RLIM_INFINITY for kind in kinds)
    except (ImportError, AttributeError, OSError, ValueError):
        return False


def _left_by_cgroups(
    membership: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> list[int]:
    """What the groups that this process is in, and those around them, may still take."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return []
    left = []
    for line in lines:
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0" and not controllers:  # version 2
            base, names = root, ("memory.max", "memory.current", "")
        elif "memory" in controllers.split(","):  # version 1
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
            base = root / "memory"
        else:
            continue
        # In a container the path may be that of the outside; its own group is the root then.
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for depth in range(len(parts), -1, -1):
            found = _left_in_cgroup(base.joinpath(*parts[:depth]), *names)
            left += [] if found is None else [found]
    return left


def _left_in_cgroup(folder: Path, limit: str, usage: str, prefix: str) -> int | None:
    """A group's limit less its usage, in which cached files do not count: they give way."""
    try:
        most = int((folder / limit).read_text())  # "max" is no number, and no limit
        used = int((folder / usage).read_text())
    except (OSError, ValueError):
        return None
    try:
        pairs = [line.split() for line in (folder / "memory.stat").read_text().splitlines()]
        cached = {f"{prefix}active_file", f"{prefix}inactive_file"}
        used -= sum(int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] in cached)
    except (OSError, ValueError):
        pass
    return most - max(0, used)


def format_bytes(count: float) -> str:
    """A human-readable size.

    >>> format_bytes(23_400_000)
    '23 MB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if count >= 10 or unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
