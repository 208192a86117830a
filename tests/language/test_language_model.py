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
from cotm.language.ngrams import NGramModel


def random_ngrams(order, m=7, n=400, seed=0):
    rng = np.random.default_rng(seed)
    text = (rng.integers(0, m, n) * rng.random(n)).astype(np.int32)
    before, symbols = histories([text[:150], text[150:]], order, m)
    return before[:, before.shape[1] - order + 1 :], symbols, NGramModel


def naive_lower(history, symbol, grams, m):
    history, shorter = history[1:], [gram[1:] for gram in {*grams}]
    lower = 1 / m if len(shorter[0]) == 1 else naive_lower(history[1:], symbol, shorter, m)
    return interpolated(history, symbol, shorter, lower)


def interpolated(history, symbol, grams, lower):
    counts = {gram: grams.count(gram) for gram in {*grams}}
    one, two, three, four = (sum(c == k for c in counts.values()) for k in (1, 2, 3, 4))
    y = one / (one + 2 * two) if one else 0.5
    taken = {1: y, 2: y, 3: y}
    if one and two and three and four:
        taken = {1: 1 - 2 * y * two / one, 2: 2 - 3 * y * three / two, 3: 3 - 4 * y * four / three}
    discount = {k: min(max(value, 0.05), k) for k, value in taken.items()} | {0: 0}
    following = [c for gram, c in counts.items() if gram[:-1] == history]
    if not following:
        return lower
    own = counts.get((*history, symbol), 0)
    left = sum(discount[min(c, 3)] for c in following)
    return (own - discount[min(own, 3)] + left * lower) / sum(following)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_ngrams_are_kneser_ney(order):
    before, symbols, kind = random_ngrams(order)
    model = kind.of(before, symbols, 7)
    grams = [(*map(int, h), int(s)) for h, s in zip(before, symbols, strict=True)]
    some = np.concatenate([before[:12], np.full((1, order - 1), 7, np.int32)])
    found = model.probabilities(some)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-6)
    for row, history in enumerate(some):
        for symbol in range(7):
            history_ = tuple(map(int, history))
            lower = naive_lower(history_, symbol, grams, 7) if order > 1 else 1 / 7
            expected = interpolated(history_, symbol, grams, lower)
            assert found[row, symbol] == pytest.approx(expected, rel=1e-5)
    chances = model.probabilities(before)[np.arange(len(symbols)), symbols]
    assert model.perplexity(before, symbols) == pytest.approx(np.exp(-np.log(chances).mean()))


@pytest.mark.parametrize("continuation", [True, False])
def test_ngrams_are_cut_where_least_is_lost(continuation):
    before, symbols, kind = random_ngrams(3)
    whole = kind.of(before, symbols, 7, continuation=continuation)
    before_, grams = whole.perplexity(before, symbols), {*whole._grams[2].tolist()}
    for share in (0.9, 0.6, 0.3):
        small = int(share * whole.nbytes)
        cut = kind.of(before, symbols, 7, small, continuation=continuation)
        assert 0.8 * small < cut.nbytes <= small
        np.testing.assert_allclose(cut.probabilities(before).sum(axis=1), 1.0, rtol=1e-5)
        now = cut.perplexity(before, symbols)
        assert before_ < now, "the texts that it learned from were likelier with all n-grams"
        before_ = now
    kept, shorter = {*cut._grams[-1].tolist()}, {*cut._grams[-2].tolist()}
    assert all(gram // 8 in shorter for gram in kept if gram // 8 % 8 != 7), "beginnings stay"
    assert cut.order < 3 or kept < grams
    alone = kind.of(before, symbols, 7, 1, continuation=continuation)
    assert alone.order == 1, "single symbols always stay"


def test_what_an_ngram_tells_is_the_entropy_that_is_lost_without_it():
    before, symbols, kind = random_ngrams(2)
    whole = kind.of(before, symbols, 7)
    single, pairs = whole.levels
    often = np.unique(before[:, 0] * 8 + symbols, return_counts=True)[1]
    lost = whole._lost(1, often)
    for place in range(0, len(lost), 3):
        keep = np.arange(len(lost)) != place
        without = kind((single,), 7)._with_part_of(pairs, keep)
        history = pairs.histories[pairs.rows[place]].astype(np.int32)
        p, q = (m.probabilities(np.array([[history]]))[0] for m in (whole, without))
        expected = (before[:, 0] == history).sum() * (p * np.log(p / q)).sum()
        assert lost[place] == pytest.approx(expected, abs=1e-3)


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
    learned = speaker._learned().extra
    before, symbols = learned.rows(texts[:20], speaker.vocabulary_)
    prior = learned.prior.perplexity(before[:, -1:], symbols)
    assert speaker.perplexity(texts[:20]) < 0.75 * prior
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
    part.set_params(n_clauses=50)
    with pytest.raises(ValueError, match="n_clauses=50 and training began with 60"):
        part.fit(texts, resume=True)
    part.set_params(n_clauses=60, others=3)
    with pytest.raises(ValueError, match="what training began with"):
        part.fit(texts, resume=True)
    said = part.generate(20, "the ")
    assert part.set_params(context=9, unit="word").generate(20, "the ") == said


def test_the_ngram_model_is_as_small_as_asked_for(texts):
    models = [language_model(order=3, epochs=1, ngram_bytes=n).fit(texts) for n in (None, 300)]
    large, small = (model._learned().extra.prior.nbytes for model in models)
    assert large > 300 >= small
    clauses = [model.nbytes_ - n for model, n in zip(models, (large, small), strict=True)]
    memory = [model.machine_.memory_ for model in models]
    m = len(models[0].vocabulary_)
    assert clauses == [2 * int((part >= 0).sum()) + 60 * (4 + m) for part in memory]
    assert abs(models[0].machine_.weights_).max() <= 127, "a weight takes one byte"


def test_damaged_files_are_refused(speaker, tmp_path):
    path = tmp_path / "model.cotm"
    speaker.save(path)
    header, tensors = read_container(path)
    extra = header["extra"]
    for change in ({"vocabulary": ["a", "a"]}, {"step": -1}, {"seed": "x"}, {"extra": {}},
                   {"extra": extra | {"context": 5}}, {"extra": extra | {"unit": "letter"}},
                   {"vocabulary": header["vocabulary"][::-1]},
                   {"parameters": {"unit": "letter"}}, {"machine": {}}):  # fmt: skip
        path.write_bytes(pack(json.dumps(header | change), tensors))
        with pytest.raises(cotm.ModelFileError):
            cotm.load(path)
    damages = {name: tensors[name][:3] for name in ("memory", "extra.starts.1", "extra.left.1")}
    damages |= {"extra.chances.0": -tensors["extra.chances.0"]}
    damages |= {"extra.symbols.1": tensors["extra.symbols.1"][::-1].copy()}
    for name, damaged in damages.items():
        path.write_bytes(pack(json.dumps(header), tensors | {name: damaged}))
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
