"""Every kernel of every instruction set does what a few plain lines of NumPy say.

The kernels are built here from native/kernels, with the flags of CMakeLists.txt, and called one by
one: a test that fails names the kernel. All instruction sets are compared with the same plain
lines, the baseline among them, so they equal one another too. "standard" is the baseline as
compilers get it that know nothing but the C++ standard.
"""

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cotm.core.randomness import hash32

CXX = os.environ.get("CXX", "g++")
if not sys.platform.startswith("linux") or not shutil.which(CXX):
    pytest.skip("the kernels are built with g++, on Linux", allow_module_level=True)

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "native" / "kernels"
X86 = platform.machine() == "x86_64"
WIDE = ("avx2", "avx512") if X86 else ("neon",) if platform.machine() == "aarch64" else ()
CASES = 60
GUARD = 5  # entries behind a result that must stay as they are

INTEGERS = {
    "N": ctypes.c_int32,
    "boost": ctypes.c_bool,
    "columns": ctypes.c_uint32,
    "count": ctypes.c_uint32,
    "example": ctypes.c_uint,
    "first": ctypes.c_uint32,
    "largest": ctypes.c_int64,
    "length": ctypes.c_uint32,
    "owed": ctypes.c_uint32,
    "q": ctypes.c_uint32,
    "size": ctypes.c_size_t,
    "types": ctypes.c_uint32,
    "word": ctypes.c_uint64,
}
ARRAY = ctypes.c_void_p
#: The arguments after the table of kernels: an array, or a kind of integer.
ARGUMENTS = {
    "select": "array first count word array",
    "match_flat": "array length array array array",
    "match_window": "array length array array size word array",
    "find_patches": "array length array array size columns example array",
    "grade_flat": "array length array array count count array",
    "grade_window": "array length array array array array size word count count array",
    "find_graded": "array length array array array array size columns example count count count"
    " array",
    "add_votes": "array size array size largest array",
    "sum_votes": "array size size size array size array",
    "sum_grades": "array size count size size array size array",
    "transpose64": "array",
    "count_misses": "array length array array",
    "count_row_misses": "array array count array count",
    "move_counts": "array size size N array",
    "grade_counts": "array size array size array array",
    "add_grades": "array array size array size largest array",
    "feedback": "array owed array array types types q N N boost boost boost array array size"
    " array array array array",
    "plain_feedback": "array N N N N array size array array array array",
    "pick": "array first count count array",
    "include_bits": "array size array",
    "interleave": "array array size array",
    "forget_watched": "array q count array",
}
RESULTS = {
    "match_flat": ctypes.c_uint32,
    "match_window": ctypes.c_uint64,
    "find_patches": ctypes.c_size_t,
    "grade_flat": ctypes.c_uint32,
    "count_row_misses": ctypes.c_uint32,
    "find_graded": ctypes.c_size_t,
    "feedback": ctypes.c_bool,
    "plain_feedback": ctypes.c_uint32,
    "forget_watched": ctypes.c_bool,
}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """The kernels as they are here, and "standard", of what every compiler takes."""
    folder = tmp_path_factory.mktemp("kernels")
    build = (ROOT / "CMakeLists.txt").read_text()
    common = ["-std=c++20", "-O2", "-fPIC", f"-I{ROOT / 'native'}", "-Wno-psabi"]
    common += ["-DCOTM_X86"] if X86 else ["-DCOTM_NEON"] if WIDE else []
    plain, wide = {}, {}
    for name in ("baseline", "dispatch"):
        plain[name] = [KERNELS / f"{name}.cpp"]
        plain[f"{name}-standard"] = [*plain[name], "-DCOTM_STANDARD", "-pedantic-errors"]
    wide["calls"] = [Path(__file__).with_name("kernel_calls.cpp")]
    for name in WIDE:
        options = re.search(rf'kernels/{name}\.cpp PROPERTIES[^"/]*"([^"]+)"', build)
        wide[name] = [KERNELS / f"{name}.cpp", *(options[1].split(";") if options else [])]
    compilers = [
        subprocess.Popen([CXX, *common, *source, "-c", "-o", folder / f"{name}.o"])
        for name, source in (plain | wide).items()
    ]
    assert all([compiler.wait() == 0 for compiler in compilers])
    found = {}
    for kind in ("", "-standard"):
        names = [f"baseline{kind}", f"dispatch{kind}", *wide]
        path = folder / f"kernels{kind}.so"
        objects = [folder / f"{name}.o" for name in names]
        subprocess.run([CXX, "-shared", "-o", path, *objects], check=True)
        found[kind] = load(path)
    return found


def load(path):
    loaded = ctypes.CDLL(str(path))
    loaded.find_kernels.restype = ctypes.c_void_p
    for name, kinds in ARGUMENTS.items():
        function = getattr(loaded, f"call_{name}")
        kinds = [INTEGERS.get(kind, ARRAY) for kind in kinds.split()]
        function.argtypes = [ctypes.c_void_p, *kinds]
        function.restype = RESULTS.get(name)
    return loaded


class Kernels:
    """The kernels of an instruction set; arrays are passed by their address."""

    def __init__(self, library, isa):
        self.library, self.isa = library, isa
        self.table = library.find_kernels(isa.encode())

    def __getattr__(self, name):
        def call(*arguments):
            plain = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments]
            return getattr(self.library, f"call_{name}")(self.table, *plain)

        return call


@pytest.fixture(params=["baseline", "standard", *WIDE])
def kernels(request, libraries):
    if request.param == "standard":
        return Kernels(libraries["-standard"], "baseline")
    found = Kernels(libraries[""], request.param)
    if found.table is None:
        pytest.skip(f"this processor does not run {request.param}")
    return found


def test_the_processor_is_asked_rightly(libraries):
    known = ["baseline"]
    if X86:
        said = set(re.search(r"flags\s*:(.*)", Path("/proc/cpuinfo").read_text())[1].split())
        known += ["avx2"] * (said >= {"avx2", "bmi1"})
        known += ["avx512"] * (said >= {"avx512f", "avx512bw", "avx512dq", "avx512vl"})
    elif platform.machine() == "aarch64":
        known += ["neon"]
    for library in libraries.values():
        isas = ("baseline", "avx2", "avx512", "neon")
        assert [isa for isa in isas if library.find_kernels(isa.encode())] == known


def test_every_kernel_is_checked():
    """Here, and between processors by `make test-aarch64`."""
    names = re.findall(r"\(\*(\w+)\)\(", (KERNELS / "kernels.hpp").read_text())
    assert sorted(names) == sorted(ARGUMENTS)
    checksums = (ROOT / "tests" / "platforms" / "checksums.cpp").read_text()
    assert not [name for name in names if f"k.{name}(" not in checksums]


def cases(name):
    """A generator of random numbers for each case, other ones for every kernel."""
    for case in range(CASES):
        yield np.random.default_rng([case, *name.encode()])


def random_words(rng, shape, density=0.5):
    """Words in which each bit is set with a probability."""
    shape = (*np.atleast_1d(shape), 64)
    return bits_to_words(rng.random(shape) < density)


def bits_to_words(bits):
    """Words of the bits in the last axis, of a length that 64 divides."""
    packed = np.packbits(np.ascontiguousarray(bits, np.uint8), axis=-1, bitorder="little")
    words = packed.view("<u8").astype(np.uint64)
    return words[..., 0] if bits.shape[-1] == 64 else words


def words_to_bits(words):
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")


def random_key(rng):
    """A key as 64 bits, which are also the two words of a C++ Key."""
    return rng.integers(0, 2**64, dtype=np.uint64) | np.uint64(1 << 32)


def draws(key, literals):
    """A 16-bit draw for each literal: half of the hash of its feature."""
    words = hash32(key, (literals // 2).astype(np.uint32))
    return np.where(literals % 2, words >> 16, words & 0xFFFF).astype(np.int64)


def test_select(kernels):
    for rng in cases("select"):
        key, first, count = random_key(rng), int(rng.integers(0, 2**20)), int(rng.integers(1, 300))
        hashes = hash32(key, first + np.arange(count, dtype=np.uint32)).astype(np.int64)
        one = int(rng.choice(hashes))  # not below itself, below the next number
        threshold = int(rng.choice([0, 1, 2**31, 2**32 - 1, 2**32, one, one + 1]))
        words = (count + 63) // 64
        out = random_words(rng, words + GUARD)
        behind = out[words:].copy()
        kernels.select(np.array([key]), first, count, threshold, out)
        expected = np.zeros(words * 64, bool)
        expected[:count] = hashes < threshold
        np.testing.assert_array_equal(words_to_bits(out[:words]), expected)
        np.testing.assert_array_equal(out[words:], behind)


def test_match_flat(kernels):
    chunk = kernels.library.chunk()
    for rng in cases("match_flat"):
        literals, length = 40, int(rng.integers(0, 30))
        words = random_words(rng, (literals, 8), rng.choice([0.5, 0.8, 0.97]))
        examples = random_words(rng, 8, rng.choice([0.1, 1.0]))
        chosen = rng.permutation(literals)[:length]
        found = random_words(rng, 8 + GUARD)
        behind = found[8:].copy()
        ended = kernels.match_flat((8 * chosen).astype(np.uint32), length, words, examples, found)
        left, expected_end = examples.copy(), 0
        for i, literal in enumerate(chosen, start=1):
            left &= words[literal]
            if i % chunk == 0 and not expected_end and not left.any():
                expected_end = i
        np.testing.assert_array_equal(found[:8], left)
        np.testing.assert_array_equal(found[8:], behind)
        assert ended == expected_end


def random_window(rng):
    """Words of a block of images, and a clause with a window: all that matching takes."""
    rows, columns = (int(size) for size in rng.integers(1, 21, 2))
    row_step, length = columns + int(rng.integers(0, 9)), int(rng.integers(0, 14))
    offsets = rng.integers(0, 50, length).astype(np.uint32)
    # Vectors may read past the last patch.
    words = random_words(rng, rows * row_step + 50 + 8, rng.choice([0.5, 0.8, 0.97]))
    top, left = int(rng.integers(0, rows)), int(rng.integers(0, columns))
    bottom, right = int(rng.integers(top, rows)), int(rng.integers(left, columns))
    if rng.random() < 0.1:
        bottom = top - 1 if top else bottom  # an empty window
    window = np.array([top, bottom, left, right], np.uint32)
    patches = [
        (row, column, np.bitwise_and.reduce(words[row * row_step + column + offsets.astype(int)]))
        for row in range(top, bottom + 1)
        for column in range(left, right + 1)
    ]
    return words, row_step, columns, offsets, window, patches


def test_match_window(kernels):
    chunk = kernels.library.chunk()
    for rng in cases("match_window"):
        words, row_step, _, offsets, window, patches = random_window(rng)
        examples = int(random_words(rng, 1, rng.choice([0.1, 1.0]))[0])
        ended = np.array([77], np.uint32)
        found = kernels.match_window(
            offsets, len(offsets), window, words, row_step, examples, ended
        )
        expected = 0
        for _, _, images in patches:
            expected |= int(images) & examples
        assert found == expected
        # Which groups of patches are tested differs, so only what every group allows is known.
        assert ended[0] % chunk == 0 and ended[0] <= len(offsets)


def test_find_patches(kernels):
    for rng in cases("find_patches"):
        words, row_step, columns, offsets, window, patches = random_window(rng)
        example = int(rng.integers(64))
        expected = [
            row * columns + column for row, column, images in patches if int(images) >> example & 1
        ]
        found = np.full(len(patches) + GUARD, 2**32 - 1, np.uint32)
        count = kernels.find_patches(
            offsets, len(offsets), window, words, row_step, columns, example, found
        )
        assert found[:count].tolist() == expected
        assert (found[len(patches) :] == 2**32 - 1).all()


def planes_to_numbers(planes):
    """Bit planes (planes, examples) as a number per example."""
    return (planes.astype(np.int64) << np.arange(len(planes))[:, None]).sum(axis=0)


def test_grade_flat(kernels):
    for rng in cases("grade_flat"):
        literals, length = int(rng.integers(1, 60)), int(rng.integers(0, 50))
        words = random_words(rng, (literals, 8), rng.choice([0.3, 0.8, 0.97]))
        chosen = rng.integers(0, literals, length).astype(np.uint32)
        examples = random_words(rng, 8, 0.8)
        most = int(rng.choice([1, 2, 3, 4, 7, 20]))
        planes = most.bit_length() + int(rng.integers(2))
        found = random_words(rng, 8 * planes + GUARD)
        behind = found[8 * planes :].copy()
        kernels.grade_flat(
            chosen * np.uint32(8), length, words.ravel(), examples, most, planes, found
        )
        misses = (words_to_bits(words).reshape(literals, 512)[chosen] == 0).sum(axis=0)
        expected = np.maximum(0, most - misses) * words_to_bits(examples)
        numbers = planes_to_numbers(words_to_bits(found[: 8 * planes]).reshape(planes, 512))
        np.testing.assert_array_equal(numbers, expected)
        np.testing.assert_array_equal(found[8 * planes :], behind)


def test_grades_of_patches(kernels):
    for rng in cases("grades_of_patches"):
        rows, columns = int(rng.integers(1, 7)), int(rng.integers(1, 21))
        row_step, length = columns + int(rng.integers(3)), int(rng.integers(0, 20))
        size = rows * row_step + 40
        words = random_words(rng, size + 8, rng.choice([0.5, 0.9]))
        offsets = rng.integers(0, 40, length).astype(np.uint32)
        window = np.array([0, rows - 1, 0, columns - 1], np.uint32)
        of_row, of_column = (rng.integers(0, 3, k).astype(np.uint32) for k in (rows, columns))
        examples = int(random_words(rng, 1, 0.8)[0])
        most = int(rng.choice([1, 2, 3, 5, 12]))
        planes = most.bit_length()
        bits = words_to_bits(words).reshape(-1, 64)
        graded = np.empty((rows * columns, 64), np.int64)
        for p in range(rows * columns):
            row, column = divmod(p, columns)
            misses = (bits[offsets.astype(int) + row * row_step + column] == 0).sum(axis=0)
            graded[p] = np.maximum(0, most - misses - int(of_row[row] + of_column[column]))
        place = (window, of_row, of_column, words, row_step)
        found = np.zeros(planes, np.uint64)
        kernels.grade_window(offsets, length, *place, examples, most, planes, found)
        numbers = planes_to_numbers(words_to_bits(found).reshape(planes, 64))
        shown = words_to_bits(np.array([examples], np.uint64)).ravel()
        np.testing.assert_array_equal(numbers, graded.max(axis=0) * shown)
        example = int(rng.integers(64))
        grade = int(graded[:, example].max())
        if grade:
            patches = np.zeros(rows * columns, np.uint32)
            count = kernels.find_graded(
                offsets, length, *place, columns, example, most, planes, grade, patches
            )
            expected = np.flatnonzero(graded[:, example] == grade)
            np.testing.assert_array_equal(patches[:count], expected)


def test_count_misses(kernels):
    for rng in cases("count_misses"):
        literals = int(rng.integers(1, 60))
        length = int(rng.integers(0, rng.choice([9, 90, 900])))
        if rng.random() < 0.1:
            length = 2**16 + int(rng.integers(99))  # counts are modulo 2^16
        words = random_words(rng, (literals, 8), rng.choice([0.0, 0.3, 0.9]))
        chosen = rng.integers(0, literals, length).astype(np.uint32)
        counts = np.full(512 + GUARD, 77, np.uint16)
        kernels.count_misses(chosen * np.uint32(8), length, words.ravel(), counts)
        times = np.bincount(chosen, minlength=literals)
        misses = times @ (1 - words_to_bits(words).reshape(literals, 512).astype(np.int64))
        np.testing.assert_array_equal(counts[:512], misses % 2**16)
        assert (counts[512:] == 77).all()


def test_move_counts(kernels):
    for rng in cases("move_counts"):
        examples = random_words(rng, 8)
        first, end = sorted(int(k) for k in rng.integers(0, 513, 2))
        amount = int(rng.choice([1, -1]))
        counts = rng.choice(np.array([0, 1, 7, 2**16 - 1], np.uint16), 512 + GUARD)
        before = counts.copy()
        kernels.move_counts(examples, first, end, amount, counts)
        moved = before[:512] + np.uint16(amount % 2**16) * words_to_bits(examples)
        np.testing.assert_array_equal(counts[first:end], moved[first:end])
        assert ((counts[:512] == before[:512]) | (counts[:512] == moved)).all()
        np.testing.assert_array_equal(counts[512:], before[512:])


def test_grade_counts(kernels):
    for rng in cases("grade_counts"):
        clauses, step = int(rng.integers(1, 200)), int(rng.integers(1, 5))
        room = (clauses + 63) // 64 * 64
        counts = rng.choice(np.array([0, 3, 9, 2**15, 2**16 - 1], np.uint16), clauses * step)
        most = np.zeros(room, np.uint16)
        most[:clauses] = rng.choice([1, 3, 10, 2**15], clauses)
        grades, fires = np.full(room + GUARD, 7, np.uint16), random_words(rng, room // 64 + GUARD)
        behind = fires[room // 64 :].copy()
        kernels.grade_counts(counts, step, most, clauses, grades, fires)
        expected = np.zeros(room, np.int64)
        expected[:clauses] = np.maximum(
            0, most[:clauses].astype(np.int64) - counts.reshape(clauses, step)[:, 0]
        )
        np.testing.assert_array_equal(grades[:room], expected)
        np.testing.assert_array_equal(words_to_bits(fires[: room // 64]), expected > 0)
        assert (grades[room:] == 7).all() and (fires[room // 64 :] == behind).all()


def test_add_grades(kernels):
    for rng in cases("add_grades"):
        m, count = int(rng.integers(1, 40)), int(rng.integers(1, 400))
        most, heaviest = int(rng.choice([1, 20, 2**15])), int(rng.choice([1, 511, 2**31 - 1]))
        weights = rng.integers(-heaviest, heaviest, (count, m), endpoint=True).astype(np.int32)
        grades = rng.integers(0, most, count, endpoint=True).astype(np.uint16)
        if rng.random() < 0.3:  # the sums that overflow first
            weights[:], grades[:] = heaviest, most
        fires = np.zeros((count + 63) // 64 * 64, bool)
        fires[:count] = grades > 0
        votes = rng.integers(-(2**40), 2**40, m + GUARD)
        expected = votes.copy()
        expected[:m] += grades.astype(np.int64) @ weights.astype(np.int64)
        bits = np.atleast_1d(bits_to_words(fires))
        kernels.add_grades(bits, grades, count, weights, m, most * heaviest, votes)
        np.testing.assert_array_equal(votes, expected)


def test_add_votes(kernels):
    for rng in cases("add_votes"):
        m, count = int(rng.integers(1, 40)), int(rng.integers(1, 400))
        largest = int(rng.choice([1, 100, 2**24 - 1, 2**24, 2**31 - 1]))
        weights = rng.integers(-largest, largest, (count, m), endpoint=True).astype(np.int32)
        if rng.random() < 0.3:
            weights[:] = largest  # the sums that overflow first
        bits = np.zeros((count + 63) // 64 * 64, bool)
        bits[:count] = rng.random(count) < rng.choice([0.1, 0.9, 1.0])
        votes = rng.integers(-(2**40), 2**40, m + GUARD)
        expected = votes.copy()
        expected[:m] += weights[bits[:count]].sum(axis=0, dtype=np.int64)
        kernels.add_votes(np.atleast_1d(bits_to_words(bits)), count, weights, m, largest, votes)
        np.testing.assert_array_equal(votes, expected)


def test_sum_votes(kernels):
    for rng in cases("sum_votes"):
        groups, clauses, m = (
            int(rng.choice([1, 8])),
            int(rng.integers(0, 80)),
            int(rng.integers(1, 33)),
        )
        examples = int(rng.integers(1, 64 * groups, endpoint=True))
        found = random_words(rng, (clauses, groups), rng.choice([0.1, 0.9]))
        weights = rng.integers(-300, 300, (clauses, m)).astype(np.int16)
        size = m * 64 * groups
        votes = rng.integers(-1000, 1000, size + GUARD).astype(np.int16)
        expected = votes.copy()
        fires = words_to_bits(found).reshape(clauses, 64 * groups).astype(np.int64)
        sums = expected[:size].reshape(m, -1) + weights.astype(np.int64).T @ fires
        kernels.sum_votes(found, groups, examples, clauses, weights, m, votes)
        np.testing.assert_array_equal(votes[:size].reshape(m, -1)[:, :examples], sums[:, :examples])
        np.testing.assert_array_equal(votes[size:], expected[size:])


def test_sum_grades(kernels):
    for rng in cases("sum_grades"):
        groups, clauses, m, planes = (
            int(rng.choice([1, 8])),
            int(rng.integers(0, 80)),
            int(rng.integers(1, 33)),
            int(rng.integers(1, 14, endpoint=True)),
        )
        examples = int(rng.integers(1, 64 * groups, endpoint=True))
        found = random_words(rng, (clauses, planes, groups), rng.choice([0.1, 0.9]))
        most = 2**31 // (2**planes * max(1, clauses) * 2)  # so that no sum leaves 32 bits
        weights = rng.integers(-min(most, 32767), min(most, 32767), (clauses, m), endpoint=True)
        size = m * 64 * groups
        sums = rng.integers(-1000, 1000, size + GUARD).astype(np.int32)
        bits = words_to_bits(found).reshape(clauses, planes, 64 * groups).astype(np.int64)
        grades = (bits << np.arange(planes)[:, None]).sum(axis=1)
        expected = sums[:size].reshape(m, -1) + weights.T @ grades
        behind = sums[size:].copy()
        kernels.sum_grades(
            found, groups, planes, examples, clauses, weights.astype(np.int16), m, sums
        )
        found_sums = sums[:size].reshape(m, -1)[:, :examples]
        np.testing.assert_array_equal(found_sums, expected[:, :examples])
        np.testing.assert_array_equal(sums[size:], behind)


def test_transpose64(kernels):
    for rng in cases("transpose64"):
        words = random_words(rng, 64 + GUARD)
        expected = words.copy()
        expected[:64] = bits_to_words(words_to_bits(words[:64]).reshape(64, 64).T)
        kernels.transpose64(words)
        np.testing.assert_array_equal(words, expected)


def forgotten(keys, literals, q):
    """How often each literal is forgotten, of one draw per key."""
    return sum(((draws(key, literals) < q).astype(np.int64) for key in keys), np.int64(0))


def awake_literals(rng, words):
    """Flags of the literals that are no padding, and of which some may sleep."""
    valid = np.arange(64 * words) < 64 * words - int(rng.integers(64))
    return valid & (rng.random(64 * words) < rng.choice([0.5, 1.0]))


def test_feedback(kernels):
    most_owed = kernels.library.most_owed()
    for rng in cases("feedback"):
        words, N = int(rng.integers(1, 6)), int(rng.choice([1, 2, 12, 127, 128]))
        top = N - 1 if rng.random() < 0.5 else int(rng.choice([0, 5, 127]))
        grows, graded = (bool(rng.integers(2)) for _ in range(2))
        q, boost = int(rng.choice([0, 1, 6554, 32768, 65535, 65536])), bool(rng.integers(2))
        type1, type2 = (int(rng.choice([0, 1, 2, 127])) for _ in range(2))
        owed, fires = int(rng.choice([0, 1, most_owed])), bool(rng.integers(2))
        type2 *= fires
        literals = np.arange(64 * words)
        valid = awake_literals(rng, words)
        truth = rng.random(64 * words) < 0.5
        row = np.full(64 * words + GUARD, 99, np.int8)
        row[: 64 * words] = rng.integers(-N, top, 64 * words, endpoint=True)
        owed_keys = np.array([random_key(rng) for _ in range(owed)], np.uint64)
        keys = np.array([random_key(rng) for _ in range(type1)], np.uint64)
        with np.errstate(over="ignore"):
            spread = np.arange(32 * words, dtype=np.uint32) * np.uint32(0x9E3779B9)
        spread ^= spread >> np.uint32(16)

        def clip(entries, N=N, top=top):
            return np.clip(entries, -N, top)

        owes = valid * forgotten(owed_keys, literals, q)
        before = clip(row[: 64 * words].astype(np.int64) - owes)
        forgets = forgotten(keys, literals, q)
        if fires:
            # A strict clause that fires includes nothing that is false, or the kernel is not asked.
            open_ = valid & ((before < 0) | (not graded))
            memorized = grows * (type1 if boost else type1 - forgets)
            delta = np.where(truth, memorized, type2 * open_ - forgets)
        else:
            delta = -forgets
        after = clip(before + valid * delta)

        outputs = [random_words(rng, words + GUARD) for _ in range(3)]
        behind = [out[words:].copy() for out in outputs]
        changed = kernels.feedback(
            owed_keys, owed, np.atleast_1d(bits_to_words(truth)) if fires else None, keys, type1,
            type2, q, N, top, boost, grows, graded, spread,
            np.atleast_1d(bits_to_words(valid)), words, row, *outputs,
        )  # fmt: skip
        np.testing.assert_array_equal(row[: 64 * words], after)
        assert (row[64 * words :] == 99).all()
        include, flips = after >= 0, (after >= 0) != (before >= 0)
        near_edge = include & (after < most_owed)
        for out, bits, rest in zip(outputs, (include, flips, near_edge), behind, strict=True):
            np.testing.assert_array_equal(words_to_bits(out[:words]), bits)
            np.testing.assert_array_equal(out[words:], rest)
        assert changed == flips.any()


def test_plain_feedback(kernels):
    for rng in cases("plain_feedback"):
        words, N = int(rng.integers(1, 6)), int(rng.choice([1, 2, 12, 127, 128]))
        top = N - 1 if rng.random() < 0.5 else int(rng.choice([0, 5, 127]))
        to_true = int(rng.choice([0, 1, 2, 127]))
        to_open = int(rng.choice([-127, -1, 0, 1, 3, 127]))
        valid = awake_literals(rng, words)
        truth = rng.random(64 * words) < 0.5
        row = np.full(64 * words + GUARD, 99, np.int8)
        row[: 64 * words] = rng.integers(-N, top, 64 * words, endpoint=True)
        before = row[: 64 * words].astype(np.int64)
        delta = valid * np.where(truth, to_true, to_open * (before < 0))
        after = np.clip(before + delta, -N, top)
        flips = ((before >= 0) != (after >= 0)).reshape(words, 64)
        outputs = [random_words(rng, words) for _ in range(2)]
        untouched = [out.copy() for out in outputs]
        changed = np.full(words + GUARD, 2**32 - 1, np.uint32)
        count = kernels.plain_feedback(
            np.atleast_1d(bits_to_words(truth)), to_true, to_open, N, top,
            np.atleast_1d(bits_to_words(valid)), words, row, *outputs, changed,
        )  # fmt: skip
        np.testing.assert_array_equal(row[: 64 * words], after)
        assert (row[64 * words :] == 99).all() and (changed[words:] == 2**32 - 1).all()
        assert changed[:count].tolist() == np.flatnonzero(flips.any(axis=1)).tolist()
        included = (after >= 0).reshape(words, 64)
        for out, old, bits in zip(outputs, untouched, (included, flips), strict=True):
            expected = np.where(flips.any(axis=1), np.atleast_1d(bits_to_words(bits)), old)
            np.testing.assert_array_equal(out, expected)


def test_pick(kernels):
    lanes = kernels.library.pick_lanes()
    for rng in cases("pick"):
        key, first = random_key(rng), int(rng.choice([0, 256, 2**31]))
        features, count = int(rng.choice([1, 2, 784, 2**28])), int(rng.integers(0, 60))
        room = (count + lanes - 1) // lanes * lanes
        literals = np.full(room + GUARD, 2**32 - 1, np.uint32)
        kernels.pick(np.array([key]), first, count, features, literals)
        hashes = hash32(key, first + np.arange(room, dtype=np.uint32)).astype(np.uint64)
        outer = (hashes * np.uint64(2 * features) >> np.uint64(32)).astype(np.int64)
        inner = np.where(outer < features, 2 * outer, 2 * (outer - features) + 1)
        np.testing.assert_array_equal(literals[:room], inner)
        assert (literals[room:] == 2**32 - 1).all()


def test_include_bits(kernels):
    for rng in cases("include_bits"):
        words = int(rng.integers(1, 6))
        row = rng.integers(-128, 128, 64 * words).astype(np.int8)
        include = np.zeros(words + GUARD, np.uint64)
        kernels.include_bits(row, words, include)
        np.testing.assert_array_equal(words_to_bits(include[:words]), row >= 0)
        assert not include[words:].any()


def test_interleave(kernels):
    for rng in cases("interleave"):
        words = int(rng.integers(1, 40))
        features = random_words(rng, (words + 1) // 2)
        valid = random_words(rng, words, 0.9)
        truth = np.zeros(words + GUARD, np.uint64)
        kernels.interleave(features, valid, words, truth)
        bits = words_to_bits(features)[: 32 * words]
        expected = np.stack([bits, 1 - bits], axis=1).ravel() & words_to_bits(valid)
        np.testing.assert_array_equal(words_to_bits(truth[:words]), expected)
        assert not truth[words:].any()


def test_count_row_misses(kernels):
    for rng in cases("count_row_misses"):
        words, count = int(rng.integers(1, 30)), int(rng.integers(0, 20))
        truth = random_words(rng, words, rng.choice([0.5, 0.95]))
        masks = random_words(rng, count, 0.1)
        places = rng.integers(0, words, count).astype(np.uint32)
        limit = int(rng.choice([1, 4, 500]))
        misses = int(words_to_bits(masks & ~truth[places]).sum())
        found = kernels.count_row_misses(places, masks, count, truth, limit)
        assert found == misses if misses < limit else limit <= found <= misses


def test_forget_watched(kernels):
    lanes, most_owed = kernels.library.watch_lanes(), kernels.library.most_owed()
    for rng in cases("forget_watched"):
        key, q = random_key(rng), int(rng.choice([0, 1, 6554, 40000, 65536]))
        count = int(rng.integers(0, 40))
        padded = (count + lanes - 1) // lanes * lanes
        literals = rng.integers(0, rng.choice([200, 2**24]), padded)
        entries = rng.integers(0, most_owed, padded)
        entries[count:] = 2 * most_owed
        watch = np.full(padded + GUARD, 2**32 - 1, np.uint32)
        watch[:padded] = literals << 8 | entries
        forgets = draws(key, literals) < q
        crosses = forgets & (entries == 0)
        expected = watch.copy()
        expected[:padded] = literals << 8 | np.where(crosses, 0xFF, entries - forgets)
        assert kernels.forget_watched(np.array([key]), q, count, watch) == crosses.any()
        np.testing.assert_array_equal(watch, expected)
