"""Texts of bits: short, exact, and different for different bits."""

import numpy as np
import pytest
from booleanize_helpers import quick
from hypothesis import given
from hypothesis import strategies as st

from cotm.booleanize import (
    BitFeature,
)
from cotm.booleanize.descriptions import number_texts


@pytest.mark.parametrize(
    ("feature", "text", "negated"),
    [
        (BitFeature("age", ">", 37.5), "age > 37.5", "age <= 37.5"),
        (BitFeature("debt", "<=", -2.0), "debt <= -2", "debt > -2"),
        (BitFeature("colour", "=", "red"), "colour = red", "colour != red"),
        (BitFeature("colour", "=", ""), "colour = ''", "colour != ''"),
        (BitFeature("colour", "missing"), "colour is missing", "colour is not missing"),
        (BitFeature("smoker", "bit"), "smoker", "not smoker"),
        (BitFeature("{0}", "=", "{column}"), "{0} = {column}", "{0} != {column}"),
        (BitFeature("pixel", "pixel", 2), "pixel > local mean - 2", "pixel <= local mean - 2"),
    ],
)
def test_bit_feature_texts(feature, text, negated):
    assert (str(feature), feature.negated()) == (text, negated)


def test_bit_feature_is_frozen_and_checked():
    assert BitFeature("a", ">", 1.0, "1") == BitFeature("a", ">", 1.0, "one")
    with pytest.raises(AttributeError):
        BitFeature("a", "bit").column = "b"
    with pytest.raises(ValueError, match="op='!=' must be one of 'bit', '>'"):
        BitFeature("a", "!=")


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.123456789], ["0.123457"]),
        ([0.123456789, 0.223456789], ["0.123", "0.223"]),
        ([0.12345678, 0.12345679], ["0.12345678", "0.12345679"]),
        ([4.95, 5.05], ["4.95", "5.05"]),
        ([37.5, 1000.0], ["37.5", "1000"]),
        ([123456.5, 123457.5], ["123456.5", "123457.5"]),
        ([0.0, 1e-7, 1e20], ["0", "1e-07", "1e+20"]),
    ],
)
def test_numbers_are_short_but_distinct(values, texts):
    assert number_texts(np.array(values)) == texts


@quick
@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=12, unique=True))
def test_number_texts_tell_neighbours_apart(values):
    values = np.unique(values)
    texts = number_texts(values)
    assert len(set(texts)) == len(values)
    read = np.array([float(text) for text in texts])
    assert (np.diff(read) > 0).all()
