"""The table of learning options reaches everything: what is forgotten somewhere fails here."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from configurations import random_configuration

import cotm
from cotm.backends import make_backend
from cotm.cli.options import PARAMETER_OPTIONS
from cotm.core.examples import Examples
from cotm.core.parameters import OPTIONS, Choice, Flag, MachineParameters, Real, Whole
from cotm.core.patches import PatchGrid
from cotm.core.spec import Spec, selection_scale

SET_BY_USERS = [name for name, option in OPTIONS.items() if not option.is_kind]
#: Options that are no part of what backends are given, and what they are used for instead.
NOT_IN_SPEC = {"e": "selection_scale", "average": "states that vote"}


def another(name):
    """A value of an option that is not its default."""
    option = OPTIONS[name]
    values, default = option.values, option.default
    if isinstance(values, Whole):
        return 7 if default is None else max(values.low, default // 2) + (default < 3) * 3
    if isinstance(values, Real):
        return default * 0.7 or 0.3
    if isinstance(values, Choice):
        return next(value for value in values.values if value != default)
    assert isinstance(values, Flag)
    return not default


def data():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 8), dtype=np.uint8)
    return X, X[:, 0] + X[:, 1]


def options_of(kind):
    signature = inspect.signature(kind)
    return {name: parameter.default for name, parameter in signature.parameters.items()}


def test_the_classifiers_have_every_option_with_its_default():
    for kind in (cotm.CoTMClassifier, cotm.TMClassifier):
        have = options_of(kind)
        expected = {name: OPTIONS[name].classifier_default for name in SET_BY_USERS}
        assert {name: have.get(name, "missing") for name in expected} == expected


def test_the_classifiers_differ_in_weighted_only():
    coalesced, own = options_of(cotm.CoTMClassifier), options_of(cotm.TMClassifier)
    assert own.pop("weighted") is True
    assert own == coalesced


def test_the_machine_has_every_option_with_its_default():
    have = options_of(cotm.Machine)
    for name, option in OPTIONS.items():
        assert name in have
        assert have[name] in (option.default, inspect.Parameter.empty)


def test_the_machine_refuses_what_is_no_option():
    with pytest.raises(TypeError, match=r"'depth'.*memory_depth"):
        cotm.Machine(4, T=2, depth=3)


def test_an_option_stands_in_few_files():
    """It is declared once; whatever goes over the table need not name it.

    Experiments and models of texts are users of it: each names the options that it sets.
    """
    root = Path(__file__).parents[2]
    sources = [*(root / "native").rglob("*"), *(root / "src").rglob("*")]
    texts = {
        p: p.read_text()
        for p in sources
        if p.suffix in (".py", ".cuh", ".cu", ".hpp", ".cpp")
        and not {"experiments", "language"} & {*p.parts}
    }
    named = [path.name for path, text in texts.items() if "max_weight" in text]
    assert len(named) <= 7, sorted(named)  # two of them are signatures of estimators


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_is_checked_and_its_error_names_it(name):
    with pytest.raises(ValueError, match=rf"{name}=\[\]"):
        MachineParameters(**{name: []})


@pytest.mark.parametrize("name", SET_BY_USERS)
def test_an_option_reaches_the_machine(name):
    X, y = data()
    model = cotm.CoTMClassifier(n_clauses=20, T=10, epochs=1).set_params(**{name: another(name)})
    machine = model.fit(X, y).machine_
    assert getattr(machine.parameters, name) == another(name) == getattr(machine, name)


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_reaches_the_backends(name):
    grid = PatchGrid.flat(3)
    plain = MachineParameters(sharing=name != "weighted")
    changed = dataclasses.replace(plain, **{name: another(name)})
    same = Spec.of(plain, grid, 2, seed=0) == Spec.of(changed, grid, 2, seed=0)
    assert same == (name in NOT_IN_SPEC), f"what do backends get of {name}? see core/spec.py"
    if name == "e":
        ones = np.ones(1)
        assert (selection_scale(plain.e, ones) != selection_scale(changed.e, ones)).any()


SPEC_FIELDS = [field.name for field in dataclasses.fields(Spec) if field.name != "grid"]


@pytest.mark.parametrize("name", SPEC_FIELDS)
def test_every_part_of_a_spec_is_drawn_for_comparisons_of_backends(name):
    drawn = {getattr(random_configuration(seed, rows=1).spec, name) for seed in range(60)}
    assert len(drawn) > 1, f"let tests/configurations.py draw {name}"


def trained(spec):
    """What the reference learns from random examples with random targets."""
    rng = np.random.default_rng(1)
    rows, weights = 200, np.ones((spec.n, spec.m), np.int32)
    if not spec.sharing:
        weights[spec.owners()[:, None] != np.arange(spec.m)] = 0
    memory = np.full((spec.n, spec.grid.n_literals), -1, np.int8)
    backend = make_backend("reference", spec, memory, weights, 1)
    bits = rng.integers(0, 2, (rows, *spec.grid.image_shape), dtype=np.uint8)
    kind = np.int32 if spec.regression else np.uint8
    targets = rng.integers(0, 2, (rows, spec.m), dtype=kind)
    scales = selection_scale(0.5, np.ones(1))
    backend.train(Examples(bits, spec.grid), targets, scales, np.arange(rows), 0)
    return backend.state()


@pytest.mark.parametrize("name", [name for name in SPEC_FIELDS if name not in ("n", "m")])
def test_the_reference_uses_every_part_of_a_spec(name):
    """A field that changes nothing is one that the definition has forgotten."""
    change = {"T": 3, "q": 40000, "N": 3, "max_literals": 1, "max_weight": 1, "seed": 99}
    change |= {"tolerance": 3, "picks": 100_000, "growth_limit": 1, "include_depth": 1}
    change |= {"negatives": 1, "drop_clauses": 2**31, "drop_literals": 2**31}
    # Only outputs that own their clauses know weights that are not learned.
    base = Spec(
        n=9, m=3, grid=PatchGrid.flat(5), T=9, q=6554, N=20, sharing=name != "learn_weights"
    )
    is_flag = isinstance(getattr(base, name), bool)
    assert is_flag or name in change, f"say here which value of {name} must change what is learned"
    value = not getattr(base, name) if is_flag else change[name]
    changed = dataclasses.replace(base, **{name: value})
    before, after = trained(base), trained(changed)
    differ = any((one != other).any() for one, other in zip(before, after, strict=True))
    assert differ, f"{name}={value} changes nothing that backends/reference.py learns"


@pytest.mark.parametrize("name", SET_BY_USERS)
def test_an_option_is_in_model_files(name, tmp_path):
    X, y = data()
    model = cotm.CoTMClassifier(n_clauses=20, T=10, epochs=2, random_state=0)
    model.set_params(**{name: another(name)}).fit(X, y).save(tmp_path / "model.cotm")
    loaded = cotm.load(tmp_path / "model.cotm")
    assert getattr(loaded, name) == another(name)
    assert loaded.machine_.parameters == model.machine_.parameters


@pytest.mark.parametrize("name", SET_BY_USERS)
def test_an_option_is_on_the_command_line(name, tmp_path):
    X, y = data()
    np.savez(tmp_path / "data.npz", X=X, y=y)
    flag, value = PARAMETER_OPTIONS[name], another(name)
    if isinstance(value, bool):
        words = [flag] if value else [f"--no-{flag.removeprefix('--')}"]
    else:
        words = [flag, str(value)]
    out = tmp_path / "model.cotm"
    command = ["train", tmp_path / "data.npz", "--epochs", "1", "--seed", "0", "-o", out]
    run(*command, *words)
    assert getattr(cotm.load(out), name) == value


@pytest.mark.parametrize("kind", [cotm.CoTMClassifier, cotm.TMClassifier])
def test_the_documentation_has_every_parameter_with_its_default(kind):
    for name, default in options_of(kind).items():
        shown = {"str": f'"{default}"'}.get(type(default).__name__, str(default))
        entry = re.search(rf"^{name} : (.*)$", inspect.getdoc(kind), re.MULTILINE)
        assert entry is not None, f"{name} is not documented"
        assert f"default={shown}" in entry[1] or (default is None and "optional" in entry[1])


def documented(kind):
    """The entries of the docstring's parameters and attributes, by name."""
    text = inspect.getdoc(kind).split("Parameters\n----------\n")[1].split("See Also")[0]
    parts = re.split(r"^(\w+) : ", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_classifiers_have_the_same_documentation_but_for_weighted():
    coalesced, own = documented(cotm.CoTMClassifier), documented(cotm.TMClassifier)
    assert own.pop("weighted").endswith("the plain Tsetlin machine).\n")
    assert own == coalesced and "machine_" in own
    shown = [name for name in documented(cotm.TMClassifier) if not name.endswith("_")]
    assert shown == [*options_of(cotm.TMClassifier)], "the order is that of the signature"
    for section in ("Parameters", "Attributes", "See Also", "Examples"):
        assert inspect.getdoc(cotm.TMClassifier).count(f"\n\n{section}\n----") == 1
