"""Words by the clauses that they share."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from language_models import ANIMALS, DRINKS, embedding

import cotm
from cotm.language.contexts import Documents, Windows
from cotm.language.embedding import bag_of
from cotm.language.symbols import most_frequent, numbered, words_of


def test_words_that_stand_alike_are_alike(words):
    for group in (ANIMALS, DRINKS):
        for word in group:
            found = [similar.word for similar in words.similar(word, 3)]
            assert len({*found} & {*group}) >= 2, (word, found)
    assert words.similarity("cat", "dog") > words.similarity("cat", "milk")


def test_reasons_are_clauses_that_both_words_weigh(words):
    for similar in words.similar("cat", 2):
        assert similar.shared and similar.word in str(similar)
        assert {*similar.shared} <= {*words.clauses_}
        assert "cat" in words.vocabulary_ and all(
            word in words.vocabulary_ for clause in similar.shared for word in clause
        )


def test_shapes_and_names(words, texts):
    n_words = len(words.vocabulary_)
    assert words.embedding_.shape == (n_words, 60) and words.embedding_.dtype == np.int32
    bits = words.transform(texts)
    names = words.get_feature_names_out()
    assert bits.shape == (120, 60) and len(names) == 60
    for clause, name in enumerate(names):
        holds = [name != "" and all(w in words_of(t) for w in name.split(" & ")) for t in texts]
        assert np.array_equal(bits[:, [clause]].toarray()[:, 0], holds), name


def test_no_clause_asks_for_what_is_missing_or_unread(texts):
    model = embedding(max_share=0.2).fit(texts)
    memory = model.machine_.memory_
    assert (memory[:, memory.shape[1] // 2 :] < 0).all()
    share = np.asarray(bag_of(numbered(map(words_of, texts), model.vocabulary_), len(
        model.vocabulary_)).mean(axis=0))  # fmt: skip
    common = {w for w, s in zip(model.vocabulary_, share, strict=True) if s > 0.2}
    assert common and not common & {word for clause in model.clauses_ for word in clause}


@pytest.mark.parametrize("backend", ["reference", "native"])
def test_every_backend_and_any_break_give_the_same(texts, tmp_path, backend):
    texts = texts[:30]
    part = embedding(epochs=1, examples=8, backend=backend, n_jobs=2).fit(texts)
    part.save(tmp_path / "part.cotm")
    gone_on = cotm.load(tmp_path / "part.cotm").set_params(epochs=2).fit(texts, resume=True)
    whole = embedding(examples=8, n_jobs=1).fit(texts)
    assert np.array_equal(gone_on.embedding_, whole.embedding_)
    assert [record["epoch"] for record in gone_on.history_] == [1, 2]


def test_whole_texts_and_matrices(texts):
    of_texts = embedding(window=None).fit(texts)
    vocabulary = of_texts.vocabulary_
    matrix = bag_of(numbered(map(words_of, texts), vocabulary), len(vocabulary))
    of_matrix = embedding(window=None, vocabulary=vocabulary).fit(matrix)
    assert np.array_equal(of_texts.embedding_, of_matrix.embedding_)
    assert of_matrix.similar("tea", 1)[0].word == of_texts.similar("tea", 1)[0].word
    with pytest.raises(ValueError, match="only texts have an order"):
        embedding(window=3).fit(matrix)
    with pytest.raises(ValueError, match="no text contains the word 'x'"):
        empty = scipy.sparse.csr_array((matrix.shape[0], 1))
        wider = scipy.sparse.hstack([matrix, empty], format="csr")
        embedding(window=None, vocabulary=[*vocabulary, "x"]).fit(wider)


#: The numbers of the words that are read.
READ = np.arange(2, 14)


def contexts_of(kind, texts):
    vocabulary = most_frequent(map(words_of, texts), 100, 1)
    numbers, m = numbered(map(words_of, texts), vocabulary), len(vocabulary)
    if kind is Windows:
        return vocabulary, Windows(numbers, m, READ, 2, 6, 3, seed=5)
    return vocabulary, Documents(bag_of(numbers, m), READ, 6, 3, seed=5)


@pytest.mark.parametrize("kind", [Windows, Documents])
def test_contexts_are_those_of_the_word_or_of_others(kind, texts):
    vocabulary, contexts = contexts_of(kind, texts)
    rows = np.arange(len(contexts))
    bits = contexts.of_pass(7, rows).bits.toarray()
    targets = contexts.targets()
    said = [words_of(text) for text in texts]
    for row in rows:
        word, wanted = vocabulary[targets.outputs[row]], targets.values[row]
        read = {vocabulary[READ[k]] for k in np.flatnonzero(bits[row])}
        assert word not in read, "a word is not among its own contexts"
        having = [t for t in said if word in t]
        others = [t for t in said if word not in t] if kind is Documents else said
        near = {w for t in (having if wanted else others) for w in t}
        assert read <= near
    again = contexts.of_pass(7, rows[::-1]).bits.toarray()
    assert np.array_equal(again[::-1], bits), "a row's contexts do not depend on the others"
    assert not np.array_equal(contexts.of_pass(8, rows).bits.toarray(), bits)


def test_ctrl_c_keeps_finished_epochs(texts, monkeypatch):
    model = embedding(epochs=3)
    passes = cotm.Machine.train_pass

    def stopping(machine, training, **options):
        return None if machine.step_ else passes(machine, training, **options)

    monkeypatch.setattr(cotm.Machine, "train_pass", stopping)
    model.fit(texts[:30])
    assert len(model.history_) == 1 and model.similar("cat", 1)


def test_mistakes_are_told(words, texts, tmp_path):
    with pytest.raises(ValueError, match="'unicorn' is not in the vocabulary"):
        words.similar("unicorn")
    with pytest.raises(ValueError, match="pass a sequence of texts"):
        embedding().fit("one text")
    with pytest.raises(ValueError, match="row 1 of X holds 3, which is no text"):
        embedding().fit(["a b", 3])
    with pytest.raises(ValueError, match="accumulation=0"):
        embedding(accumulation=0).fit(texts)
    with pytest.raises(ValueError, match="differ from what training began with"):
        words.fit(texts[:50], resume=True)
    with pytest.raises(ValueError, match="nothing has been fitted"):
        embedding().fit(texts, resume=True)
    with pytest.raises(ValueError, match="an embedding needs two"):
        embedding(min_texts=1000).fit(texts)
