"""The C++ core is given all of a spec, and refuses what it does not know or cannot hold."""

import dataclasses

import numpy as np
import pytest

from cotm.core.patches import PatchGrid
from cotm.core.spec import Spec

_native = pytest.importorskip("cotm._native", reason="the native extension is not built")

SPEC = Spec(n=3, m=2, grid=PatchGrid(4, 5, 1, 2, 2), T=4, q=6554, N=128)


def make(spec):
    memory = np.full((SPEC.n, SPEC.grid.n_literals), -1, np.int8)
    return _native.Machine(spec, memory, np.ones((SPEC.n, SPEC.m), np.int32), isa="")


@pytest.mark.parametrize(
    ("known", "record"), [(_native.SPEC_FIELDS, Spec), (_native.GRID_FIELDS, PatchGrid)]
)
def test_both_sides_have_the_same_fields(known, record):
    assert known == tuple(field.name for field in dataclasses.fields(record))


def test_a_field_that_only_python_has_is_refused():
    Longer = dataclasses.make_dataclass("Longer", [("drop", int, 0)], bases=(Spec,), frozen=True)
    with pytest.raises(TypeError, match=r"does not know Longer\.drop"):
        make(Longer(**vars(SPEC)))
    Wider = dataclasses.make_dataclass(
        "Wider", [("seasons", int, 1)], bases=(PatchGrid,), frozen=True
    )
    with pytest.raises(TypeError, match=r"does not know Wider\.seasons"):
        make(dataclasses.replace(SPEC, grid=Wider(**vars(SPEC.grid))))


@pytest.mark.parametrize("missing", [field.name for field in dataclasses.fields(Spec)])
def test_a_field_that_python_lacks_is_refused(missing):
    values = {name: value for name, value in vars(SPEC).items() if name != missing}
    Shorter = dataclasses.make_dataclass("Shorter", values)
    with pytest.raises(AttributeError, match=missing):
        make(Shorter(**values))


#: Beyond the limits of ``Spec::require_valid``.
BEYOND = [
    ({"n": 0}, "n and m"),
    ({"m": 0}, "n and m"),
    ({"T": 0}, "T must"),
    ({"T": 2**30 + 1}, "T must"),
    ({"q": 65537}, "q must"),
    ({"N": 0}, "N must"),
    ({"N": 129}, "N must"),
    ({"max_weight": 0}, "max_weight must"),
    ({"tolerance": 0}, "tolerance must"),
    ({"tolerance": 2**15 + 1}, "tolerance must"),
    ({"picks": -2}, "picks must"),
    ({"picks": 2**46 + 1}, "picks must"),
    ({"include_depth": -1}, "include_depth must"),
    ({"include_depth": 129}, "include_depth must"),
    ({"negatives": 3}, "negatives must"),
    ({"grid": PatchGrid(4, 5, 1, 2, 2, 1, 0)}, "must be positive"),
    ({"grid": PatchGrid(4, 5, 0, 2, 2)}, "must be positive"),
    ({"grid": PatchGrid(4, 5, 1, 5, 2)}, "must fit into the image"),
    ({"grid": PatchGrid(4, 5, 1, 2, 6)}, "must fit into the image"),
]
#: Numbers that do no harm, whatever they are, as long as their type holds them.
HARMLESS = {"max_literals", "growth_limit", "seed", "drop_clauses", "drop_literals"}


def test_every_number_of_a_spec_has_limits():
    numbers = {field.name for field in dataclasses.fields(Spec) if field.type != "bool"}
    limited = {name for change, _ in BEYOND for name in change}
    assert numbers - limited == HARMLESS, "give require_valid and BEYOND its limits"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *BEYOND,
        ({"n": -1}, r"Spec\.n=-1"),
        ({"seed": 2**64}, r"Spec\.seed=18446744073709551616"),
        ({"max_literals": 2**32}, r"Spec\.max_literals"),
        ({"sharing": "yes"}, r"Spec\.sharing='yes'"),
        ({"grid": PatchGrid(4, 2**32, 1)}, r"PatchGrid\.width"),
        ({"n": 4}, "memory and weights must fit"),
        ({"grid": PatchGrid(4, 5, 2, 2, 2)}, "memory and weights must fit"),
    ],
)
def test_values_out_of_range_are_refused(change, message):
    make(SPEC)
    with pytest.raises(ValueError, match=message):
        make(dataclasses.replace(SPEC, **change))
