"""What "auto" stands for: chosen by the data, shown, kept, and left aside for what is given."""

import re
from functools import partial

import numpy as np
import pytest
import scipy.sparse
from command_line import run
from helpers import state
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.model_selection import cross_val_score

import cotm
from cotm import CoTMClassifier, Schedule, TMClassifier
from cotm.core.parameters import OPTIONS
from cotm.experiments.runs import Data, Options, Run, Runs
from cotm.model.presets import PRESETS, epochs_of, is_left, preset_for

RNG = np.random.default_rng(0)
X, Y = load_iris(return_X_y=True)
IMAGES = RNG.integers(0, 2, (30, 6, 6))
WORDS = scipy.sparse.random_array((40, 1500), density=0.02, rng=RNG, format="csr")
WORDS.data[:] = 1
LABELS = np.arange(40) % 2
FEW = partial(CoTMClassifier, n_clauses=20, epochs=2, random_state=0)

#: What is seen, and the preset for it.
SEEN = {
    "numbers": ("tables", {}, X, Y),
    "sparse rows": ("text", {}, WORDS, LABELS),
    "dense rows of few ones": ("text", {}, WORDS.toarray().astype(int), LABELS),
    "many bits, half of them set": ("tables", {}, RNG.integers(0, 2, (40, 1500)), LABELS),
    "few bits": ("tables", {}, WORDS[:, :900], LABELS),
    "images": ("images", {"patch_shape": (3, 3)}, IMAGES, LABELS[:30]),
    "sequences": ("images", {"patch_shape": (3,)}, IMAGES, LABELS[:30]),
}


@pytest.mark.parametrize("kind", [CoTMClassifier, TMClassifier])
@pytest.mark.parametrize("case", SEEN)
def test_the_data_choose(case, kind):
    preset, parameters, data, labels = SEEN[case]
    model = kind(20, epochs=1, random_state=0, **parameters).fit(data, labels)
    assert model.preset_ == preset
    for name, value in PRESETS[preset].values.items():
        assert getattr(model.machine_, name) == model.chosen_[name] == value
    assert model.T_ == model.chosen_["T"] == max(1, round(PRESETS[preset].margin[0] * 20 * (
        PRESETS[preset].values["tolerance"])))  # fmt: skip
    given = kind(20, epochs=1, random_state=0, preset=preset, **parameters).fit(data, labels)
    assert state(given) == state(model)


def test_every_option_that_is_left_has_a_value():
    left = {name for name, option in OPTIONS.items() if option.automatic}
    for name, preset in PRESETS.items():
        assert {*preset.values} == left - {"T", "e"}, name
        for option, value in preset.values.items():
            OPTIONS[option].check(value)
    parameters = CoTMClassifier().get_params()
    assert {name for name in parameters if is_left(name, parameters[name])} == {*left, "epochs"}


def test_what_is_given_counts():
    given = {
        "T": 17, "s": 3.0, "memory_depth": 9, "e": 0.5, "average": 2, "tolerance": 2,
        "forgetting": "sampled", "growth_limit": None, "include_depth": None, "negatives": "drawn",
    }  # fmt: skip
    model = FEW(**given).fit(X, Y)
    assert {name: getattr(model.machine_, name) for name in given} == given
    assert model.chosen_ == {}
    assert set(FEW().fit(X, Y).chosen_) == {*given}, "epochs were given"
    deep = FEW(memory_depth=9).fit(X, Y)
    assert deep.machine_.include_depth is None, "the depth that was asked for holds for both sides"
    assert [FEW(tolerance=k, epochs=1).fit(X, Y).T_ for k in (1, 3)] == [2, 7]  # 2.4 and 7.2


def test_the_margin_rises_on_tables_and_training_goes_on_with_it():
    seen = []
    options = {"n_clauses": 100, "random_state": 0, "shuffle": False}
    whole = CoTMClassifier(**options, epochs=45, callbacks=[lambda m, r: seen.append(m.T_)])
    whole.fit(X, Y)
    assert seen == [round(Schedule(12, 100, epochs=40).at(epoch)) for epoch in range(1, 46)]
    assert seen[0] == 12 and seen[-1] == 100 == whole.T_
    part = CoTMClassifier(**options, epochs=5).fit(X, Y)
    assert state(part.set_params(epochs=45).fit(X, Y, resume=True)) == state(whole)
    pieces = CoTMClassifier(**options)
    for _ in range(45):
        pieces.partial_fit(X, Y, classes=[0, 1, 2])
    assert state(pieces) == state(whole)
    assert np.array_equal(pieces.votes(X), whole.votes(X))


@pytest.mark.parametrize(
    "preset, rows, epochs",
    [("tables", 10, 25), ("tables", 20_000, 20), ("tables", 10**7, 15), ("text", 25_000, 12),
     ("images", 60_000, 30), ("paper", 10**7, 30)],
)  # fmt: skip
def test_many_examples_take_fewer_epochs(preset, rows, epochs):
    assert epochs_of("auto", preset, rows) == epochs
    assert epochs_of(7, preset, rows) == 7


def test_epochs_are_planned_and_resumed():
    model = CoTMClassifier(10, random_state=0).fit(X, Y)
    assert model.epochs_ == len(model.history_) == 25
    part = CoTMClassifier(10, random_state=0, callbacks=[lambda m, r: r["epoch"] == 4]).fit(X, Y)
    assert len(part.history_) == 4 and part.epochs_ == 25
    assert state(part.set_params(callbacks=None).fit(X, Y, resume=True)) == state(model)
    assert model.set_params(warm_start=True).fit(X, Y).epochs_ == 50
    more = CoTMClassifier(10, random_state=0, callbacks=[lambda m, r: m.set_params(epochs=3)])
    assert len(more.fit(X, Y).history_) == 3


def test_a_training_that_began_with_one_preset_goes_on_with_it(tmp_path):
    model = FEW(warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="preset='paper', but training began with 'tables'"):
        model.set_params(preset="paper").fit(X, Y)
    model.set_params(preset="auto").save(tmp_path / "m.cotm")
    loaded = cotm.load(tmp_path / "m.cotm")
    assert loaded.get_params() == model.get_params() and loaded.chosen_ == model.chosen_
    assert state(loaded.fit(X, Y)) == state(model.fit(X, Y))
    model.callbacks = [lambda m, r: m.set_params(preset="text")]
    with pytest.raises(ValueError, match="a callback set preset='text'"):
        model.fit(X, Y)


@pytest.mark.parametrize("name", ["Auto", "table", None, 3, True])
def test_presets_that_do_not_exist(name):
    with pytest.raises(ValueError, match=f"preset={re.escape(repr(name))} must be one of 'auto'"):
        CoTMClassifier(preset=name).fit(X, Y)


@pytest.mark.parametrize("name", ["T", "s", "epochs", "average", "forgetting", "growth_limit"])
def test_other_words_than_auto(name):
    with pytest.raises(ValueError, match=f"{name}='automatic' must be"):
        CoTMClassifier(**{name: "automatic"}).fit(X, Y)
    if name not in ("forgetting", "epochs"):
        with pytest.raises(ValueError, match="max_literals='auto'"):
            CoTMClassifier(max_literals="auto").fit(X, Y)


def test_it_says_what_was_chosen_and_why(capsys):
    FEW(verbose=1).fit(X, Y)
    assert capsys.readouterr().err.splitlines()[0] == (
        "X is a table, so preset='tables': T=2 to 20, s=5.5, memory_depth=64, e=1, average=17, "
        "include_depth=8"
    )
    CoTMClassifier(20, preset="paper", verbose=1, random_state=0).fit(X, Y)
    told = capsys.readouterr().err.splitlines()[0]
    assert told == "preset='paper': T=8, s=10, e=0.5, epochs=30"


def test_the_command_line_says_and_takes_it(tmp_path):
    np.savez(tmp_path / "d.npz", X=X, y=Y)
    out = tmp_path / "m.cotm"
    told = run("train", tmp_path / "d.npz", "--clauses", 20, "--seed", 0, "--out", out)
    assert "X is a table, so preset='tables': T=2 to 20, s=5.5" in told.stderr
    run("train", tmp_path / "d.npz", "--clauses", 20, "--seed", 0, "--epochs", 1, "--out", out,
        "--preset", "text", "--growth-limit", "none", "--s", "auto", code=2)  # fmt: skip
    run("train", tmp_path / "d.npz", "--clauses", 20, "--seed", 0, "--epochs", "auto", "--out", out,
        "--preset", "text", "--growth-limit", "none", "--specificity", "auto")  # fmt: skip
    model = cotm.load(out)
    assert model.growth_limit is None and model.s == "auto" and model.preset_ == "text"
    assert "text" in run("info", out).stdout


def test_experiments_take_the_paper(tmp_path, monkeypatch):
    bits = RNG.integers(0, 2, (20, 9))
    data: Data = (bits, LABELS[:20], bits, LABELS[:20])
    run_ = Run(label="a", kind="coalesced", data=data, data_name="d", parameters={"n_clauses": 5},
               epochs=1, seed=1)  # fmt: skip
    seen = []

    def fit(self, *data, **options):
        seen.append(self.preset)
        return original(self, *data, **options)

    original = CoTMClassifier.fit
    monkeypatch.setattr(CoTMClassifier, "fit", fit)
    Runs(Options(folder=tmp_path)).train(run_, verbose=0)
    assert seen == ["paper"]


def test_sparse_and_dense_rows_choose_alike():
    for data in (WORDS, RNG.integers(0, 2, (40, 1500))):
        model = FEW().fit(data, LABELS)
        assert preset_for(FEW(), model._reader.read(data)) == model.preset_


def test_defaults_beat_the_paper_on_data_they_were_not_chosen_on():
    for load in (load_digits, load_breast_cancer):
        data, labels = load(return_X_y=True)
        rows = RNG.permutation(len(labels))[:400]
        ours, paper = (
            cross_val_score(
                CoTMClassifier(150, preset=preset, random_state=0), data[rows], labels[rows], cv=3
            ).mean()
            for preset in ("auto", "paper")
        )
        assert ours > paper - 0.005, load.__name__


def generated_texts(n_texts, n_words=8000, length=60):
    """Words by how frequent they are, some more so in one of two classes."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, n_texts)
    frequency, tilt = 1 / np.arange(2, n_words + 2), np.exp(rng.normal(0, 0.3, n_words))
    chances = [each / each.sum() for each in (frequency * tilt, frequency / tilt)]
    words = [np.unique(rng.choice(n_words, length, p=chances[label])) for label in labels]
    ends = np.cumsum([0, *map(len, words)])
    ones = np.ones(ends[-1], np.uint8)
    return scipy.sparse.csr_matrix((ones, np.concatenate(words), ends), (n_texts, n_words)), labels


def test_probabilities_of_text_wait_until_the_second_machine_has_learned():
    data, labels = generated_texts(13_000)
    model = CoTMClassifier(30, random_state=0).fit(data[:12_000], labels[:12_000])
    assert model.preset_ == "text"
    votes = model.votes(data[12_000:]) / (model.T_ * model.machine_.n_states_)
    right = np.where(labels[12_000:], 1, -1) * (votes[:, 1] - votes[:, 0])
    assert np.mean(right > 0) > 0.93
    best = min(np.logaddexp(0, -factor * right).mean() for factor in np.geomspace(0.1, 10, 50))
    said = model.predict_proba(data[12_000:])[np.arange(1000), labels[12_000:]]
    assert -np.log(said).mean() < best + 0.03
