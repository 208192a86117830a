"""Texts, sequences and series of numbers as bits."""

import json
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from cotm.booleanize import Hypervectors, NGrams, TokenWindows, booleanizer_from_state
from cotm.booleanize.sequences import read_symbols

TEXTS = ["a good film, not bad", "not good: a bad film", "good fun", "it isn't bad luck", ""] * 2
SERIES = [[0.5, 1, 2, 8], [3, np.nan, 1], [7.5], []] * 2

MADE = {
    "words": (NGrams(longest=2, min_texts=2), TEXTS),
    "characters": (NGrams("characters", 2, 3, n_features=40), TEXTS),
    "symbols": (NGrams("symbols", 1, 2, min_texts=1), [[1, "New York", 3], [3, 3], []]),
    "hypervectors": (Hypervectors(n_bits=96, longest=2), TEXTS),
    "places": (Hypervectors("characters", 60, 3, positions=True), TEXTS),
    "sets": (Hypervectors("symbols", 64, 2), [{1, 2}, {"b", "a"}, set()]),
    "levels": (Hypervectors("numbers", 64, 8, longest=2, levels=5), SERIES),
    "windows": (TokenWindows(width=2, min_texts=2), TEXTS),
    "drawn windows": (TokenWindows(codes="hypervectors", n_features=32), TEXTS),
    "tokens": (TokenWindows("characters", width=1, length=5), TEXTS),
    "values": (TokenWindows("numbers", width=2, levels=4), SERIES),
}


def dense(bits):
    return bits.toarray() if hasattr(bits, "toarray") else np.asarray(bits)


def same_words(text):
    return read_symbols([text], "words").symbols


@given(
    st.lists(st.text("ab c", max_size=12), min_size=2, max_size=12),
    st.integers(1, 3),
    st.integers(0, 2),
    st.integers(1, 3),
    st.sampled_from(["words", "characters"]),
)
@settings(max_examples=60, deadline=None)
def test_phrases_are_those_that_are_counted_one_by_one(texts, shortest, more, least, kind):
    longest = shortest + more
    options = {"ngram_range": (shortest, longest), "binary": True, "dtype": np.uint8}
    analyzer = {"token_pattern": r"\w+"} if kind == "words" else {"analyzer": "char"}
    # scikit-learn takes runs of blanks for one; here every character counts.
    texts = texts if kind == "words" else [text.replace(" ", "d") for text in texts]
    try:
        expected = CountVectorizer(min_df=least, **options, **analyzer).fit(texts)
    except ValueError:
        with pytest.raises(ValueError, match=r"no phrase of|holds no examples"):
            NGrams(kind, shortest, longest, min_texts=least).fit(texts)
        return
    made = NGrams(kind, shortest, longest, min_texts=least).fit(texts)
    assert made.names_ == sorted(expected.get_feature_names_out().tolist())
    others = [*texts[::-1], "abc abcabc d", ""]
    found = made.transform(others)
    assert found.has_canonical_format and found.dtype == np.uint8
    assert (found.toarray() == expected.transform(others).toarray()).all()


def test_the_most_frequent_or_most_telling_phrases_are_taken():
    texts, y = ["good the", "bad the", "good the so", "bad the so"] * 5, [1, 0, 1, 0] * 5
    assert NGrams(n_features=1).fit(texts).names_ == ["the"]
    assert NGrams(n_features=2, select="chi2").fit(texts, y).names_ == ["bad", "good"]
    for labels, match in ((None, "needs y"), ([1], "one label for each of the 20")):
        with pytest.raises(ValueError, match=match):
            NGrams(select="chi2").fit(texts, labels)
    with pytest.raises(ValueError, match="no phrase of 1 to 1 words is in min_texts=21 of the 20"):
        NGrams(min_texts=21).fit(texts)


def test_words_keep_their_apostrophes_and_characters_their_blanks():
    assert same_words("It ISN'T the naïve 2nd") == ["it", "isn't", "the", "naïve", "2nd"]
    names = NGrams("characters", 2, 2, min_texts=1).fit(["a b"]).get_feature_names_out()
    assert names.tolist() == ["' b'", "'a '"]
    symbols = NGrams("symbols", 2, 2, min_texts=1).fit([["New York", 1]])
    assert symbols.get_feature_names_out().tolist() == ["New York 1"]


@pytest.mark.parametrize("name", MADE)
def test_state_comes_back(name):
    transformer, X = MADE[name]
    made = clone(transformer).fit(X)
    bits = dense(made.transform(X))
    assert bits.dtype == np.uint8 and bits.max() == 1
    assert bits.shape == (len(X), *made.bits_shape())
    assert (dense(made.transform(X[:1])) == bits[:1]).all(), "no example depends on the others"
    assert len(made.describe()) == bits.shape[-1] == len({str(f) for f in made.describe()})
    meta, arrays = made.to_state()
    again = booleanizer_from_state(json.loads(json.dumps(meta)), arrays)
    assert again.get_params() == made.get_params()
    assert (dense(again.transform(X)) == bits).all()
    assert again.describe() == made.describe()
    pickled = pickle.loads(pickle.dumps(made))
    assert (dense(pickled.transform(X)) == bits).all()
    fresh = clone(made)
    for call in (fresh.describe, fresh.to_state, lambda: fresh.transform(X)):
        with pytest.raises(ValueError, match="not fitted"):
            call()


@pytest.mark.parametrize("name", MADE)
def test_damaged_states_are_refused(name):
    transformer, X = MADE[name]
    meta, arrays = clone(transformer).fit(X).to_state()
    changes = [
        {"names": [*meta["names"], *meta["names"], "one more", "one more"]},
        {"names": [3]},
        {"names": None},
        {"params": {**meta["params"], "kind": "films"}},
        {"params": {**meta["params"], "kind": None}},
        {"params": {}},
        {"params": {**meta["params"], "n_bits": 7, "n_features": -1}},
    ]
    for change in changes:
        with pytest.raises(ValueError):
            booleanizer_from_state({**meta, **change}, arrays)
    for damaged in ({**arrays, "more": np.zeros(1)}, {"thresholds": np.array([2.0, 1.0])}):
        with pytest.raises((ValueError, KeyError)):
            booleanizer_from_state(meta, damaged)


def test_hypervectors_are_pinned():
    """Model files go by them."""
    bits = Hypervectors(n_bits=48, longest=2, random_state=7).fit_transform(["not good", "good"])
    assert [np.flatnonzero(row).tolist() for row in bits] == PINNED["words"]
    levels = Hypervectors("numbers", n_bits=48, ones=6, positions=True, levels=4)
    assert [np.flatnonzero(row).tolist() for row in levels.fit_transform(SERIES)[:3]] == (
        PINNED["levels"]
    )


PINNED = {
    "words": [[0, 8, 10, 13, 17, 20, 28, 33, 34, 36, 42, 44], [10, 17, 34, 42]],
    "levels": [
        [4, 5, 6, 7, 13, 14, 15, 18, 19, 20, 23, 25, 26, 32, 33, 34, 39, 40, 43, 44, 47],
        [3, 5, 12, 14, 18, 20, 27, 31, 32, 34, 41],
        [3, 12, 20, 31, 36, 41],
    ],
}


def one_hypervector(made, phrase, shift):
    """The bits of a phrase, one symbol after the other."""
    params = made._parameters()
    codes, block = made._codes, params["n_bits"] // params["ones"]
    places = np.full(params["ones"], shift)
    for place, symbol in enumerate(phrase):
        places += codes.of_symbols([symbol], place, len(phrase))[0]
    bits = np.zeros(params["n_bits"], dtype=np.uint8)
    bits[places % block + np.arange(params["ones"]) * block] = 1
    return bits


@given(
    st.lists(st.lists(st.sampled_from("abcde"), max_size=9), min_size=1, max_size=6),
    st.integers(1, 3),
    st.integers(0, 2),
    st.booleans(),
    st.integers(0, 2**64 - 1),
)
@settings(max_examples=40, deadline=None)
def test_hypervectors_are_the_or_of_their_phrases(X, shortest, more, positions, seed):
    longest = shortest + more
    made = Hypervectors("symbols", 39, 3, shortest, longest, positions, random_state=seed).fit(X)
    expected = np.zeros((len(X), 39), dtype=np.uint8)
    for row, example in zip(expected, X, strict=True):
        for length in range(shortest, longest + 1):
            for start in range(len(example) - length + 1):
                phrase = example[start : start + length]
                row |= one_hypervector(made, phrase, start if positions else 0)
    assert (made.transform(X) == expected).all()


def test_order_and_place_count_where_they_are_to():
    one, other = ["good not bad"], ["bad not good"]
    bags = Hypervectors().fit(one)
    assert (bags.transform(one) == bags.transform(other)).all()
    for made in (
        Hypervectors(longest=2),
        Hypervectors(positions=True),
        NGrams(longest=2, min_texts=1),
    ):
        made.fit(one)
        assert (dense(made.transform(one)) != dense(made.transform(other))).any()


def test_near_numbers_share_most_bits():
    made = Hypervectors("numbers", 640, 20, levels=11).fit([np.arange(1000.0)])
    levels = [made.transform([[value]])[0] for value in range(0, 1000, 91)]
    shared = [int((levels[0] & level).sum()) for level in levels]
    assert shared[0] == 20 and shared[-1] <= 2
    assert all(after < before for before, after in pairwise(shared[:9]))
    text = {str(feature) for feature in made.describe()}
    assert any("(up to " in name for name in text) and any("(above " in name for name in text)
    # What a bit of single numbers says is exact.
    for k, feature in enumerate(made.describe()):
        if (
            feature.column.endswith(")")
            and "above" in feature.column
            and " or " not in feature.column
        ):
            low = float(feature.column.split("above ")[1].split(" ")[0].rstrip(")"))
            assert not any(made.transform([[low]])[0][[k]])


def test_bits_say_what_they_stood_for():
    texts = ["good film"] * 3 + ["good plot"] * 2 + ["dull"]
    made = Hypervectors(n_bits=8, ones=2).fit(texts)
    named = [feature.column for feature in made.describe()]
    for word in ("good", "film", "plot", "dull"):
        bits = np.flatnonzero(made.transform([word])[0])
        assert len(bits) == 2
        assert all(word in named[b] or " more" in named[b] for b in bits)
    crowded = Hypervectors(n_bits=2, ones=2).fit(texts)
    assert [str(f) for f in crowded.describe()] == [
        "h0(good, film, plot, 1 more)",
        "h1(good, film, plot, 1 more)",
    ]


def window_bits(made, example, length, width):
    """The windows of one example, token by token."""
    count = max(1, len(example) - width + 1)
    size = 1 + len(made.names_)
    bits = np.zeros((length, width, size), dtype=np.uint8)
    for w in range(length):
        for place in range(width):
            at = min(w, count - 1) + place
            if at < len(example):
                bits[w, place, 0] = 1
                if example[at] in made.names_:
                    bits[w, place, 1 + made.names_.index(example[at])] = 1
    return bits.reshape(length, -1)


@given(
    st.lists(st.lists(st.sampled_from("abcde"), max_size=9), min_size=1, max_size=6),
    st.integers(1, 4),
    st.none() | st.integers(1, 6),
)
@settings(max_examples=60, deadline=None)
def test_windows_are_those_of_the_example(X, width, length):
    X = [["a"], *X]
    made = TokenWindows("symbols", width, length, min_texts=1, n_features=3).fit(X)
    longest = max(1, max(map(len, X)) - width + 1)
    assert made.length_ == (length or longest)
    others = [*X, ["e", "zz", "a"] * 4]
    expected = [window_bits(made, example, made.length_, width) for example in others]
    assert (made.transform(others) == np.array(expected)).all()


def test_windows_name_their_places():
    made = TokenWindows(width=2, min_texts=1).fit(["not good"])
    assert [str(f) for f in made.describe()][:4] == [
        "at(0) word",
        "at(0) word = good",
        "at(0) word = not",
        "at(1) word",
    ]
    assert made.describe()[1].negated() == "at(0) word != good"
    values = TokenWindows("numbers", width=1, levels=2).fit([[1.0, 2.0]])
    assert [str(f) for f in values.describe()] == ["value", "value > 1.5"]
    assert values.transform([[3.0, np.nan], []]).tolist() == [[[1, 1], [0, 0]], [[0, 0], [0, 0]]]


@pytest.mark.parametrize(
    "make, X, match",
    [
        (NGrams(), "one text", "X='one text' is one text; pass a list"),
        (NGrams(), [], "holds no examples"),
        (NGrams(), [3], "row 0, counted from 0, is 3, but kind='words' takes texts"),
        (NGrams("symbols"), ["text"], "kind='symbols' takes sequences of symbols; for texts"),
        (NGrams("numbers"), [[1.0]], "kind='numbers' must be one of"),
        (NGrams(longest=0), ["a"], "longest=0 must be an integer from 1"),
        (NGrams(select="best"), ["a"], "select='best' must be one of"),
        (NGrams("symbols"), [["a\x1f"]], "U\\+001F; replace it"),
        (Hypervectors(n_bits=10), ["a"], "n_bits=10 must be a multiple of ones=4; set it to 8 or"),
        (Hypervectors("numbers"), [["a"]], "row 0, counted from 0, is .* takes series of numbers"),
        (Hypervectors("numbers"), [[1], [np.inf]], "row 1, .* and an infinite one"),
        (Hypervectors(positions=1), ["a"], "positions=1 must be True or False"),
        (TokenWindows(), ["a"], "no symbol is in min_texts=3 of the 1 examples"),
        (TokenWindows(codes="drawn"), ["a"], "codes='drawn' must be one of"),
        (TokenWindows("numbers"), [[1.0, 1.0]], "all numbers of X are the same"),
        (
            TokenWindows(codes="hypervectors", n_features=9),
            ["a"],
            "n_features=9 must be a multiple",
        ),
    ],
)
def test_errors_name_the_problem(make, X, match):
    with pytest.raises(ValueError, match=match):
        make.fit(X)
