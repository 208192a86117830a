"""Files that appear whole or not at all.

The data go into a temporary file beside the final one, which is then renamed. Whoever writes a
temporary file holds a lock on it: one without is left from a process that was killed, and the
next writer of the same file removes it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: no locks there, so nothing can be told to be left over
    fcntl = None  # type: ignore[assignment]

_ACL = "system.posix_acl_access"
#: What a system says where there is no room.
_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
_FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


def replace_file(path: Path, data: bytes, what: str) -> None:
    """Write a file; a crash at any point leaves the old file or the new one, never a part.

    A file that is replaced keeps its mode and, where the system allows, its owner; a new one
    gets what the umask leaves. A link stays a link, and what it points to is replaced.
    ``what`` is the data's name in errors, such as "the model".
    """
    replace_files({path: data}, what)


def replace_files(files: Mapping[Path, bytes], what: str) -> None:
    """The same for files that belong together: the first changes when all are on the disk."""
    ready = []
    with contextlib.ExitStack() as stack:
        for path, data in files.items():
            path = Path(os.path.realpath(path))
            with _errors_named(path, what):
                old = _status(path)
                _remove_left_over(path)
                temporary = stack.enter_context(_Temporary(path, private=old is not None))
                temporary.write(data)
                if old is not None:
                    temporary.become_like(path, old)
            ready.append((path, temporary))
        for path, temporary in ready:
            with _errors_named(path, what):
                temporary.take_the_place_of(path)


def check_replaceable(path: Path, what: str) -> None:
    """Raise the error that ``replace_file`` would raise now, without touching the file."""
    path = Path(os.path.realpath(path))
    with _errors_named(path, what):
        old = _status(path)
        with _Temporary(path, private=old is not None):
            pass  # the folder is there and takes files


class _Temporary:
    """A locked temporary file beside ``path``, removed on leaving unless it took its place."""

    def __init__(self, path: Path, *, private: bool) -> None:
        self._folder, self._prefix = path.parent, _prefix(path)
        # The umask is not asked for: that would set it, for all threads, for a moment.
        self._mode = 0o600 if private else 0o666
        self._name: Path | None = None
        self._descriptor = -1

    def __enter__(self) -> _Temporary:
        try:
            while not self._create():
                self._discard()
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._discard()

    def _create(self) -> bool:
        """Make and lock a file; False if another process took it for left over just then."""
        # The name is known before the file is there: an interruption in between leaves nothing.
        self._name = self._folder / f"{self._prefix}{secrets.token_hex(8)}"
        flags = _FLAGS | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(self._name, flags, self._mode)
        if not _lock(self._descriptor):
            return False
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(self._name))
        except FileNotFoundError:
            return False

    def write(self, data: bytes) -> None:
        with open(self._descriptor, "wb", closefd=False) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def become_like(self, path: Path, old: os.stat_result) -> None:
        """Take over owner and mode of the file to be replaced."""
        assert self._name is not None
        mode = stat.S_IMODE(old.st_mode) & 0o777
        if fcntl is None:
            os.chmod(self._name, mode)
            return
        mine = os.fstat(self._descriptor)
        if (mine.st_uid, mine.st_gid) != (old.st_uid, old.st_gid):
            with contextlib.suppress(OSError):
                os.fchown(self._descriptor, -1, old.st_gid)
            with contextlib.suppress(OSError):
                os.fchown(self._descriptor, old.st_uid, -1)
        if os.fstat(self._descriptor).st_gid != old.st_gid or not self._copy_acl(path):
            # What the old file's group was allowed is not for another group.
            mode = (mode & ~0o070) | ((mode & 0o007) << 3)
        os.fchmod(self._descriptor, mode)

    def _copy_acl(self, path: Path) -> bool:
        """Copy the access list, if there is one; the mode's group bits are then a part of it."""
        if not hasattr(os, "getxattr"):
            return True
        try:
            entries = os.getxattr(path, _ACL)
        except OSError:  # none, or a file system without
            return True
        try:
            os.setxattr(self._descriptor, _ACL, entries)
        except OSError:
            return False
        return True

    def take_the_place_of(self, path: Path) -> None:
        assert self._name is not None
        if fcntl is None:  # Windows renames no open file
            self._close()
        os.replace(self._name, path)
        self._name = None
        _sync_folder(self._folder)

    def _discard(self) -> None:
        if fcntl is None:  # Windows removes no open file
            self._close()
        try:
            if self._name is not None:
                with contextlib.suppress(OSError):
                    os.unlink(self._name)
        finally:  # interrupted even here: without its lock the next writer removes it
            self._close()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _prefix(path: Path) -> str:
    """How temporary files for this path are called: short, however long its name is."""
    return f".cotm-{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}-"


def _status(path: Path) -> os.stat_result | None:
    """What is at the path now, if anything; an error if it is not to be replaced."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if not status.st_mode & 0o222:
        raise PermissionError(errno.EACCES, "the file that is there is write-protected")
    return status


def _lock(descriptor: int) -> bool:
    """Whether no one else holds the file; it is locked then, where there are locks."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True


def _remove_left_over(path: Path) -> None:
    """Remove temporary files for this path that no living process holds."""
    if fcntl is None:
        return
    prefix = _prefix(path)
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.path for entry in entries if entry.name.startswith(prefix)]
    except OSError:  # a folder that cannot be listed may still take files
        return
    for name in names:
        with contextlib.suppress(OSError):  # gone meanwhile, someone else's, or no locks here
            descriptor = os.open(name, _FLAGS | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(name)
            finally:
                os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk too. The file is whole either way, so errors pass."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _errors_named(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = "choose a path you may write to"
        if error.errno in _FULL:
            remedy = "free some space, or choose another disk"
        raise type(error)(
            error.errno,
            f"{what} was not saved ({error.strerror or error}); {remedy}",
            str(path),
        ) from error
