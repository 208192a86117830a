"""Writing files whole: modes, left-overs of killed writers, many writers at once."""

import os
import signal
import stat
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cotm.core.whole_files import check_replaceable, replace_file

WRITER = """
import sys, random
from pathlib import Path
from cotm.core.whole_files import replace_file
path, number = Path(sys.argv[1]), int(sys.argv[2])
rng = random.Random(number)
print("ready", flush=True)
while True:
    byte = bytes([rng.randrange(256)])
    replace_file(path, byte * rng.choice([1, 5000, 3_000_000]), "the test")
"""


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("bits", [0o600, 0o640, 0o644, 0o666, 0o200, 0o755])
def test_a_replaced_file_keeps_its_mode(bits, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(bits)
    replace_file(path, b"new", "the test")
    assert mode(path) == bits
    path.chmod(0o600)
    assert path.read_bytes() == b"new"


def test_a_private_file_is_private_at_every_moment(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o600)
    seen = []
    fsync = os.fsync

    def look(descriptor):
        seen.extend(mode(entry) for entry in tmp_path.iterdir())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    replace_file(path, b"new", "the test")
    assert len(seen) >= 2 and set(seen) == {0o600}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_is_kept(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)
    os.chown(path, 12345, 23456)
    replace_file(path, b"new", "the test")
    assert (path.stat().st_uid, path.stat().st_gid, mode(path)) == (12345, 23456, 0o640)


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_follows_the_umask_which_is_never_set(umask, tmp_path, monkeypatch):
    before = os.umask(umask)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", lambda value: pytest.fail("the umask belongs to everyone"))
            replace_file(tmp_path / "file", b"new", "the test")
        assert mode(tmp_path / "file") == 0o666 & ~umask
    finally:
        os.umask(before)


def test_a_write_protected_file_is_not_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o444)
    for call in (
        lambda: replace_file(path, b"new", "the test"),
        lambda: check_replaceable(path, "x"),
    ):
        with pytest.raises(PermissionError, match=r"not saved .*write-protected.*choose a path"):
            call()
    assert path.read_bytes() == b"old" and mode(path) == 0o444
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("length", [1, 200, 247, 254, 255])
@pytest.mark.parametrize("letter", ["x", "é"])
def test_long_names(length, letter, tmp_path):
    name = letter * (length // len(letter.encode())) or "x"
    replace_file(tmp_path / name, b"data", "the test")
    replace_file(tmp_path / name, b"more", "the test")
    assert (tmp_path / name).read_bytes() == b"more"
    assert os.listdir(tmp_path) == [name]


def test_names_that_are_too_long_say_so(tmp_path):
    with pytest.raises(OSError, match=r"the test was not saved .*too long"):
        replace_file(tmp_path / ("x" * 256), b"data", "the test")


@pytest.mark.parametrize("problem", [KeyboardInterrupt, SystemExit, MemoryError, OSError(5, "I/O")])
@pytest.mark.parametrize("call", ["fsync", "replace", "fchmod"])
def test_nothing_is_left_behind_by_exceptions(problem, call, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*arguments):
        raise problem

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(problem if isinstance(problem, type) else OSError):
            replace_file(path, b"new", "the test")
    assert os.listdir(tmp_path) == ["file"] and path.read_bytes() == b"old"
    descriptors = os.listdir("/proc/self/fd") if Path("/proc/self/fd").exists() else []
    assert not any(
        "cotm-" in os.readlink(f"/proc/self/fd/{number}")
        for number in descriptors
        if os.path.lexists(f"/proc/self/fd/{number}")
    )


def test_left_overs_of_killed_writers_go_with_the_next_save(tmp_path):
    path = tmp_path / "file"
    script = (
        "import os, signal, sys; from pathlib import Path; from cotm.core import whole_files\n"
        "os.fsync = lambda fd: os.kill(os.getpid(), signal.SIGKILL)\n"
        "whole_files.replace_file(Path(sys.argv[1]), b'data', 'the test')"
    )
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", script, path], check=False)
        assert done.returncode == -signal.SIGKILL
    (tmp_path / ".file.other").write_bytes(b"someone else's")
    assert len(os.listdir(tmp_path)) == 2, "each run removes what the one before left"
    replace_file(tmp_path / "another", b"data", "the test")
    assert len(os.listdir(tmp_path)) == 3, "left-overs are found by the file's name"
    replace_file(path, b"data", "the test")
    assert sorted(os.listdir(tmp_path)) == [".file.other", "another", "file"]


def test_the_temporary_file_of_a_living_writer_stays(tmp_path, monkeypatch):
    path, fsync = tmp_path / "file", os.fsync
    nested = []

    def meanwhile(descriptor):
        if not nested:
            nested.append(True)
            replace_file(path, b"second", "the test")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", meanwhile)
    replace_file(path, b"first", "the test")
    assert path.read_bytes() == b"first" and os.listdir(tmp_path) == ["file"]


def test_a_temporary_file_that_is_removed_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    create, removed = os.open, []

    def open_(name, flags, *rest):
        descriptor = create(name, flags, *rest)
        if flags & os.O_EXCL and len(removed) < 3:
            removed.append(name)
            os.unlink(name)
        return descriptor

    monkeypatch.setattr(os, "open", open_)
    replace_file(tmp_path / "file", b"data", "the test")
    assert len(removed) == 3
    assert (tmp_path / "file").read_bytes() == b"data" and os.listdir(tmp_path) == ["file"]


def test_without_locks(tmp_path, monkeypatch):
    """As on Windows: the file is whole all the same."""
    monkeypatch.setattr("cotm.core.whole_files.fcntl", None)
    for data in (b"one", b"two"):
        replace_file(tmp_path / "file", data, "the test")
        assert (tmp_path / "file").read_bytes() == data
    monkeypatch.setattr(os, "replace", lambda *names: (_ for _ in ()).throw(OSError(5, "I/O")))
    with pytest.raises(OSError, match="I/O"):
        replace_file(tmp_path / "file", b"three", "the test")
    assert os.listdir(tmp_path) == ["file"]


def whole(data):
    return len(data) in (1, 5000, 3_000_000) and data == data[:1] * len(data)


def test_many_processes_kills_and_a_reader(tmp_path):
    path = tmp_path / ("m" * 255)
    replace_file(path, b"x", "the test")

    def start(number):
        command = [sys.executable, "-c", WRITER, path, str(number)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    writers = [start(number) for number in range(3)]
    try:
        for writer in writers:
            assert writer.stdout.readline() == b"ready\n"
        versions, kills, end = set(), 0, time.monotonic() + 6
        while time.monotonic() < end:
            data = path.read_bytes()
            assert whole(data)
            versions.add((len(data), data[:1]))
            if time.monotonic() > end - 5 + kills * 0.5:
                victim = writers[kills % 3]
                assert victim.poll() is None, victim.stderr.read()
                victim.kill()
                victim.wait()
                kills += 1
                writers[(kills - 1) % 3] = start(100 + kills)
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
            writer.stdout.close()
            writer.stderr.close()
    assert len(versions) > 10 and kills >= 5
    replace_file(path, b"x", "the test")
    assert os.listdir(tmp_path) == [path.name]


def test_many_threads(tmp_path):
    path, errors, stop = tmp_path / "file", [], threading.Event()
    replace_file(path, b"x", "the test")

    def write(number):
        try:
            while not stop.is_set():
                replace_file(path, bytes([number]) * 5000, "the test")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        assert whole(path.read_bytes())
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors and os.listdir(tmp_path) == ["file"]


def test_check_replaceable_leaves_nothing(tmp_path):
    check_replaceable(tmp_path / "file", "the test")
    assert not os.listdir(tmp_path)
    (tmp_path / "file").write_bytes(b"old")
    check_replaceable(tmp_path / "file", "the test")
    assert (tmp_path / "file").read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]
    for path in (tmp_path, tmp_path / "no" / "file", tmp_path / "file" / "below", Path("/proc/x")):
        with pytest.raises(OSError, match=r"the test was not saved .*choose a path"):
            check_replaceable(path, "the test")


def test_an_access_list_is_kept(tmp_path):
    """Without it, what the mode allows a list's mask would go to the group."""
    undefined = 2**32 - 1
    entries = [(1, 6, undefined), (2, 6, 12345), (4, 0, undefined), (16, 6, undefined)]
    entries.append((32, 0, undefined))
    name = "system.posix_acl_access"
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    path = tmp_path / "file"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, name, acl)
    except (OSError, AttributeError):
        pytest.skip("no access lists here")
    assert mode(path) == 0o660
    replace_file(path, b"new", "the test")
    assert mode(path) == 0o660 and os.getxattr(path, name) == acl
