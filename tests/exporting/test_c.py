"""C exports: compiled without a warning, and the same votes as the model."""

import os
import subprocess
from dataclasses import replace

import export_models
import numpy as np
import pandas as pd
import pytest
from c_exports import COMPILERS, EACH_SANITIZER, SANITIZED, Export, compiled

import cotm
from cotm.exporting import CannotExportError, export
from cotm.exporting.c_tables import Bits, _gap_low, _pair, _unsigned, literal

pytestmark = pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
FORMS = ["small", "fast"]
TEXTS = {"table", "table, graded", "preset"}


def read_by(name, X):
    numbers, texts = export_models.cells(X)
    return (numbers, texts) if name in TEXTS else (numbers,)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", export_models.MODELS)
def test_votes_and_labels_are_the_models(name, form, tmp_path):
    model, X = export_models.model(name)
    compiler = COMPILERS[len(name) % len(COMPILERS)]
    model.export(tmp_path / "m.c", form=form)
    c = Export.of(tmp_path / "m.c", compiler=compiler)
    cells = read_by(name, X)
    assert np.array_equal(c.votes(*cells), model.votes(X))
    if name == "several labels":
        assert np.array_equal(c.labels(*cells), model.predict(X))
    else:
        assert np.array_equal(model.classes_[c.classes(*cells)], model.predict(X))
    one = [part[:1] for part in cells]
    assert np.array_equal(c.votes(*one), model.votes(X[:1]))


@pytest.mark.parametrize("seed", range(16))
def test_odd_shapes(seed, tmp_path):
    description, bits, votes = export_models.odd(seed)
    for form in FORMS:
        export(description, tmp_path / f"{form}.c", form=form)
        found = Export.of(tmp_path / f"{form}.c", compiler=COMPILERS[seed % len(COMPILERS)])
        assert np.array_equal(found.votes(bits), votes), form
        many = np.concatenate([bits] * 90)[: 517 + seed]  # more than a block, and not whole ones
        expected = np.concatenate([votes] * 90)[: 517 + seed]
        if form == "fast":
            assert np.array_equal(found.votes(many), expected)


def escaped(label):
    """As the program prints it: a line stays a line, and a terminal is told nothing."""
    return "".join(f"\\x{ord(c):02x}" if c < " " or c in "\\\x7f" else c for c in label)


@pytest.mark.parametrize("compiler", EACH_SANITIZER)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["table", "adaptive, colour", "edges", "gradients, colour"])
def test_program_and_sanitizers(name, form, compiler, tmp_path):
    model, X = export_models.model(name)
    X = X[:5]
    model.export(tmp_path / "m.c", form=form, name="Some_Name")
    flags = ["-DSOME_NAME_MAIN", *SANITIZED]
    program = compiled(tmp_path / "m.c", *flags, compiler=compiler)
    numbers, texts = export_models.cells(X)
    kept = [row for row, cells in enumerate(texts) if not any("\n" in (t or "") for t in cells)]
    X = X.iloc[kept] if isinstance(X, pd.DataFrame) else X
    lines = [
        "\t".join(
            t if t is not None else "" if np.isnan(x) else repr(float(x))
            for x, t in zip(numbers[row], texts[row], strict=True)
        )
        for row in kept
    ]
    env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    run = subprocess.run(
        [program], input="\n".join(lines) + "\n", capture_output=True, text=True, env=env
    )
    assert run.returncode == 0, run.stderr
    expected = [
        "\t".join([*map(str, votes), escaped(str(label))]) + "\n"
        for votes, label in zip(model.votes(X).tolist(), model.predict(X), strict=True)
    ]
    assert run.stdout == "".join(expected)


def test_integers_of_any_type_may_be_values(tmp_path):
    model, X = export_models.model("levels")
    model.export(tmp_path / "m.c")
    c = Export.of(tmp_path / "m.c", "-DM_VALUE=int16_t")
    c.value = np.int16
    assert np.array_equal(c.votes(X), model.votes(X))


def test_literals_hold_any_bytes():
    data = bytes(range(1, 256))
    text = literal(data)
    assert eval("b" + text) == data and text.isascii() and text.isprintable()


@pytest.mark.parametrize("bad", ["1x", "a b", "", "ü", 3])
def test_odd_names_are_refused(bad, tmp_path):
    model, _ = export_models.model("flat")
    with pytest.raises(ValueError, match="must be a letter, then letters"):
        model.export(tmp_path / "m.c", name=bad)
    assert not [*tmp_path.iterdir()]


def test_what_c_cannot_say_is_refused(tmp_path):
    y = [0, 1] * 20
    nul = cotm.CoTMClassifier(4, epochs=1).fit(pd.DataFrame({"a": ["x\0", "y"] * 20}), y)
    both = pd.DataFrame({"a": pd.Series([True, 1, "z", 0] * 10, dtype=object)})
    apart = cotm.CoTMClassifier(4, epochs=1).fit(both, y)
    large = pd.DataFrame({"a": pd.Series([2**60 + 1, "z"] * 20, dtype=object)})
    exact = cotm.CoTMClassifier(4, epochs=1, booleanize=cotm.Categories()).fit(large, y)
    for model, what in ((nul, "NUL"), (apart, "booleans"), (exact, "53 bits")):
        with pytest.raises(CannotExportError, match=what):
            model.export(tmp_path / "m.c")
    assert not [*tmp_path.iterdir()]


def test_tables_of_texts_alone(tmp_path):
    X = pd.DataFrame({"a": ["x", "y", None] * 20, "b": ["v", "w"] * 30})
    model = cotm.CoTMClassifier(8, epochs=1).fit(X, ["x", "y"] * 30)
    model.export(tmp_path / "m.c")
    found = Export.of(tmp_path / "m.c").votes(*export_models.cells(X))
    assert np.array_equal(found, model.votes(X))


def test_of_two_files_both_are_written_or_none(tmp_path):
    model, _ = export_models.model("flat")
    (tmp_path / "m.h").mkdir()
    with pytest.raises(OSError, match="not a regular file"):
        model.export(tmp_path / "m.c")
    assert [path.name for path in tmp_path.iterdir()] == ["m.h"]


@pytest.mark.parametrize("seed, outputs", [(0, 33), (18, 40)])
def test_votes_for_many_outputs(seed, outputs, tmp_path):
    """With many outputs votes are added where clauses fire, in another way than with few."""
    description, bits, votes = export_models.odd(seed)
    (member,) = description.members
    times = -(-outputs // votes.shape[1])
    clauses = tuple(replace(c, weights=(c.weights * times)[:outputs]) for c in member.clauses)
    wide = replace(
        description,
        members=(replace(member, clauses=clauses),),
        classes=tuple(f"c{k}" for k in range(outputs)),
        multilabel=False,
    )
    export(wide, tmp_path / "m.c", form="fast")
    found = Export.of(tmp_path / "m.c").votes(np.concatenate([bits] * 40))
    expected = np.concatenate([np.tile(votes, times)[:, :outputs]] * 40)
    assert expected.any() and np.array_equal(found, expected)
    assert "_lowest(uint64_t" in (tmp_path / "m.c").read_text()


def test_the_code_of_weights():
    bits = Bits()
    for value, low in ((0, 0), (5, 0), (5, 2), (70, 3)):
        bits.put_rice(value, low)
    text = "".join(f"{byte:08b}"[::-1] for byte in bits.data())
    assert text.startswith("0" + "111110" + "1010" + "111111110011")
    assert [_unsigned(w) for w in (0, -1, 1, -(2**40))] == [0, 1, 2, 2**41 - 1]
    assert sorted(_pair(a, b, 5) for a in range(5) for b in range(a, 5)) == [*range(15)]
    assert [_gap_low(n, 200) for n in (0, 1, 34, 100, 200)] == [0, 7, 1, 0, 0]
