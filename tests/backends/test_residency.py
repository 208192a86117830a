"""Room for launches on a device: every block has a place, whatever the order."""

from __future__ import annotations

import random
import threading
import time

import pytest

from cotm.backends.cuda.residency import Need, Room, are_side_by_side, side_by_side

#: Of a multiprocessor of compute capability 9.0.
EACH = Need(65536, 233472, 2048, 32)


def test_blocks_take_whole_units():
    assert Need.of_block(160, 93, 19056) == Need(5 * 3072, 20096, 160)
    assert Need.of_block(1, 1, 0) == Need(256, 1024, 32)


@pytest.mark.parametrize(("registers", "machines"), [(136, 3), (93, 4), (64, 6), (40, 10)])
def test_as_many_machines_fit_as_registers_say(registers, machines):
    """Of 500 clauses each, on 125 blocks of 160 threads, and 132 multiprocessors."""
    room, block = Room(132, EACH), Need.of_block(160, registers, 19056)
    room._taken = [(125, block)] * (machines - 1)
    assert room.fits(125, block)
    room._taken.append((125, block))
    assert not room.fits(125, block)


@pytest.mark.parametrize("seed", range(20))
def test_what_fits_is_placed_in_any_order(seed):
    draw = random.Random(seed)
    room = Room(7, EACH)
    for _ in range(30):
        block = Need.of_block(
            32 * draw.randint(1, 32), draw.choice([32, 64, 93]), draw.randint(0, 60_000)
        )
        count = draw.randint(1, 7)
        if room.fits(count, block):
            room._taken.append((count, block))
    blocks = [block for count, block in room._taken for _ in range(count)]
    draw.shuffle(blocks)
    free = [list(EACH) for _ in range(7)]
    for block in blocks:
        places = [each for each in free if all(h >= n for h, n in zip(each, block, strict=True))]
        assert places
        place = draw.choice(places)
        place[:] = [has - needs for has, needs in zip(place, block, strict=True)]


def test_launches_wait_for_room_and_come_in_order():
    room, block = Room(2, Need(2, 2, 2, 2)), Need(1, 1, 1, 1)
    most, now, order = 0, 0, []
    lock = threading.Lock()

    def launch(number: int) -> None:
        nonlocal most, now
        with room.take(2, block):
            with lock:
                order.append(number)
                now += 1
                most = max(most, now)
            time.sleep(0.002)
            with lock:
                now -= 1

    threads = [threading.Thread(target=launch, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(order) == list(range(12)) and most <= 2
    assert not room._taken and not room._waiting


def test_one_that_is_alone_always_goes():
    room = Room(1, Need(1, 1, 1, 1))
    with room.take(5, Need(3, 3, 3)):
        assert room._taken


def test_machines_are_side_by_side_in_one_thread_and_not_under_mps(monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path / "none"))
    found = []
    with side_by_side():
        other = threading.Thread(target=lambda: found.append(are_side_by_side()))
        other.start()
        other.join()
        found.append(are_side_by_side())
        monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
        found.append(are_side_by_side())
    assert found == [False, True, False]
    assert not are_side_by_side()
