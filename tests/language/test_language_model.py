"""What comes next, from clauses."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import fails, run
from language_models import language_model

import cotm
from cotm.files.container import pack, read_container
from cotm.language.next_symbols import as_bits, asked, histories
from cotm.language.ngrams import NGrams


def random_ngrams(order, m=7, n=400, seed=0):
    rng = np.random.default_rng(seed)
    text = (rng.integers(0, m, n) * rng.random(n)).astype(np.int32)
    before, symbols = histories([text[:150], text[150:]], order, m)
    return before[:, before.shape[1] - order + 1 :], symbols, NGrams


def naive_lower(history, symbol, grams, m):
    history, shorter = history[1:], [gram[1:] for gram in {*grams}]
    lower = 1 / m if len(shorter[0]) == 1 else naive_lower(history[1:], symbol, shorter, m)
    return interpolated(history, symbol, shorter, lower)


def interpolated(history, symbol, grams, lower):
    counts = {gram: grams.count(gram) for gram in {*grams}}
    once, twice = (sum(c == k for c in counts.values()) for k in (1, 2))
    discount = once / (once + 2 * twice) if once else 0.5
    following = [c for gram, c in counts.items() if gram[:-1] == history]
    if not following:
        return lower
    own = max(counts.get((*history, symbol), 0) - discount, 0)
    return (own + discount * len(following) * lower) / sum(following)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_ngrams_are_kneser_ney(order):
    before, symbols, kind = random_ngrams(order)
    model = kind.of(before, symbols, 7)
    grams = [(*map(int, h), int(s)) for h, s in zip(before, symbols, strict=True)]
    some = np.concatenate([before[:12], np.full((1, order - 1), 7, np.int32)])
    found = model.probabilities(some)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    for row, history in enumerate(some):
        for symbol in range(7):
            history_ = tuple(map(int, history))
            lower = naive_lower(history_, symbol, grams, 7) if order > 1 else 1 / 7
            expected = interpolated(history_, symbol, grams, lower)
            assert found[row, symbol] == pytest.approx(expected)


def test_ngrams_draw_by_their_probabilities():
    before, symbols, kind = random_ngrams(3)
    model = kind.of(before, symbols, 7)
    rng = np.random.default_rng(1)
    history = np.repeat(before[20:21], 40_000, axis=0)
    draws = rng.integers(0, 2**32, (len(history), 6), dtype=np.uint32)
    share = np.bincount(model.draw(history, draws), minlength=7) / len(history)
    np.testing.assert_allclose(share, model.probabilities(before[20:21])[0], atol=0.015)


def test_bits_say_what_came_before():
    before, symbols = histories([np.array([2, 0, 1, 2], np.int32)], 3, 3)
    assert symbols.tolist() == [2, 0, 1, 2] and before[0].tolist() == [3, 3, 3]
    bits = as_bits(before, 3, context=2, bag=3).toarray()
    assert bits[0].sum() == 0
    assert np.flatnonzero(bits[3]).tolist() == [1, 3 + 0, 6 + 0, 6 + 1, 6 + 2]
    assert as_bits(before, 3, 2, 3).has_canonical_format


def test_each_row_asks_its_symbol_and_others():
    before, symbols, kind = random_ngrams(2)
    targets = asked(kind.of(before, symbols, 7), before, symbols, 5, seed=1)
    for row, symbol in enumerate(symbols):
        first, last = targets.starts[row : row + 2]
        outputs, values = targets.outputs[first:last], targets.values[first:last]
        assert (np.diff(outputs) > 0).all(), "each once, in ascending order"
        assert outputs[values == 1].tolist() == [symbol]


def test_it_learns_what_the_prior_does_not_know(speaker, texts):
    assert speaker.perplexity(texts[:20]) < 0.75 * speaker._learned().extra.prior.perplexity(
        *(lambda before, symbols: (before[:, -1:], symbols))(
            *speaker._rows([list(t) for t in texts[:20]], speaker.vocabulary_, 4)
        )
    )
    assert speaker.next("the ca", 1)[0][0] == "t"
    assert sum(p for _, p in speaker.next("the", 100)) == pytest.approx(1.0)
    assert any("-1: " in clause for clause in speaker.clauses_)


def test_words_and_bags(texts):
    model = language_model(unit="word", bag=5, context=2).fit(texts)
    likely = dict(model.next("the cat", 3))
    assert likely["drinks"] > 0.3
    assert model.generate(3, "the cat", temperature=0).startswith("the cat ")
    assert any("among: " in clause for clause in model.clauses_)


def test_generation_is_reproducible(speaker):
    one, other = (speaker.generate(40, "the ", seed=seed) for seed in (1, 2))
    assert one == speaker.generate(40, "the ", seed=1) != other
    assert one.startswith("the ") and "\n" not in one and "\ufffd" not in one
    assert speaker.generate(40, "the ", temperature=0, seed=1) == speaker.generate(
        40, "the ", temperature=0, seed=2
    )
    assert speaker.generate(0, "The  cat") == "the cat"


def test_files_and_breaks(speaker, texts, tmp_path):
    part = language_model(epochs=1, n_jobs=1).fit(texts)
    part.save(tmp_path / "part.cotm")
    gone_on = cotm.load(tmp_path / "part.cotm").set_params(epochs=2).fit(texts, resume=True)
    assert np.array_equal(gone_on.machine_.weights_, speaker.machine_.weights_)
    assert gone_on.perplexity(texts[:5]) == speaker.perplexity(texts[:5])
    assert gone_on.nbytes_ == speaker.nbytes_


def test_damaged_files_are_refused(speaker, tmp_path):
    path = tmp_path / "model.cotm"
    speaker.save(path)
    header, tensors = read_container(path)
    for change in ({"vocabulary": ["a", "a"]}, {"step": -1}, {"seed": "x"}, {"extra": {}},
                   {"parameters": {"unit": "letter"}}, {"machine": {}}):  # fmt: skip
        path.write_bytes(pack(json.dumps(header | change), tensors))
        with pytest.raises(cotm.ModelFileError):
            cotm.load(path)
    for name in ("memory", "extra.starts.1"):
        path.write_bytes(pack(json.dumps(header), tensors | {name: tensors[name][:3]}))
        with pytest.raises(cotm.ModelFileError):
            cotm.load(path)


def test_the_command_line_generates(speaker, words, tmp_path):
    path, other = tmp_path / "model.cotm", tmp_path / "words.cotm"
    speaker.save(path)
    words.save(other)
    said = run("generate", path, "--prompt", "the ", "--length", "30", "--seed", "1").stdout
    assert said == speaker.generate(30, "the ", seed=1) + "\n"
    assert "holds a CoTMEmbedding" in fails("generate", other)
    assert "predicts no labels" in fails("rules", other)
    assert "CoTMLanguageModel" in run("info", path).stdout
    assert json.loads(run("info", other, "--json").stdout)["class"] == "CoTMEmbedding"


def test_mistakes_are_told(speaker, texts):
    with pytest.raises(ValueError, match="unit='letter'"):
        language_model(unit="letter").fit(texts)
    with pytest.raises(ValueError, match="pass more text"):
        language_model(held_out=0.0).fit(texts)
    with pytest.raises(ValueError, match=r"temperature=-1"):
        speaker.generate(3, temperature=-1)
    with pytest.raises(ValueError, match="must be a text"):
        speaker.generate(3, 17)
