"""What the booleanizers for tables share: every column has a code that turns it into bits."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from typing import Any, cast

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..core.checks import check_number
from ..core.decoding import expect, expect_keys, expect_type
from .compiled import CompiledCodes
from .described import Description, with_description
from .descriptions import BitFeature
from .encodings import CategoryCode, ColumnCode, NumberCode, pack_codes, unpack_codes
from .frames import (
    Table,
    default_names,
    names_message,
    read_table,
    row_text,
)
from .odd_columns import warn_of_many_texts, warn_of_odd_texts, warn_of_rounded_integer
from .packing import VERSION
from .summaries import TableSummary
from .thresholds import compare_sparse


class TableBooleanizer(TransformerMixin, BaseEstimator):
    """Base of the booleanizers for tables; a subclass says how codes are learned."""

    # The codes that a fitted transformer of this class can have.
    _codes: tuple[type[ColumnCode], ...]
    # What it makes of columns, as a TableSummary has it.
    _takes: str

    codes_: list[ColumnCode]
    sparse_: bool
    missing_: NDArray[np.bool_]
    n_features_in_: int
    n_bits_out_: int
    feature_names_in_: NDArray[np.object_]
    _compiled: CompiledCodes | None  # of dense data

    def _learn(self, table: Table) -> list[ColumnCode]:
        """The code of each column of a training table."""
        raise NotImplementedError

    def _learn_summary(self, summary: TableSummary) -> list[ColumnCode]:
        """The code of each column of a table that was summarised."""
        raise NotImplementedError

    def _checked_params(self) -> dict[str, int]:
        """The parameters as model files hold them, or a ValueError."""
        return {}

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn how each column becomes bits.

        Parameters
        ----------
        X : pandas or polars frame, array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : ignored

        Returns
        -------
        self
        """
        self._fit_table(read_table(X))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn how each column becomes bits, and turn the same data into bits.

        Parameters
        ----------
        X : pandas or polars frame, array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : ignored

        Returns
        -------
        ndarray or CSR matrix of uint8 of shape (n_samples, n_bits_out_)
            What `transform` returns.
        """
        table = read_table(X)  # once for both
        self._fit_table(table)
        return self._transform_table(table)

    def _fit_table(self, table: Table) -> None:
        _require_some(table.shape)
        codes = self._learn(table)
        columns = table.columns
        warn_of_many_texts([column.name for column in columns], codes)
        warn_of_odd_texts(
            [column.name for column in columns],
            codes,
            lambda index, text: f" ({row_text(columns[index].plain().index(text))})",
        )
        numbers = [code.type in ("number", "bit") for code in codes]
        for column, is_number in zip(columns, numbers, strict=False):
            warn_of_rounded_integer(column.name, column.rounded_integer() if is_number else None)
        self._adopt(codes, table.names, sparse=table.matrix is not None)

    def summary(self) -> TableSummary:
        """Begin a summary of a table that comes in parts, for :meth:`fit_summary`.

        Returns
        -------
        cotm.booleanize.TableSummary
            An empty one: ``update`` it with parts of the table, ``merge`` it with others.
        """
        return TableSummary(self._takes, self._checked_params().get("n_bits", 1))

    def fit_summary(self, summary: TableSummary) -> Any:
        """Learn how each column becomes bits from what a summary says of the table.

        Parameters
        ----------
        summary : cotm.booleanize.TableSummary
            Begun by :meth:`summary`. If it is exact, the result is that of :meth:`fit`.

        Returns
        -------
        self
        """
        _require_some((summary.n_rows, summary.n_columns or 1))
        codes, names = self._learn_summary(summary), summary.column_names()
        warn_of_many_texts(names, codes)
        warn_of_odd_texts(names, codes, lambda index, text: "")
        for code, seen in zip(codes, summary.columns, strict=False):
            is_number = code.type in ("number", "bit")
            warn_of_rounded_integer(seen.name, seen.rounded if is_number else None)
        self._adopt(codes, summary.names, sparse=summary.sparse)
        return self

    def fit_batches(self, batches: Any, *, rank_error: float = 0.0) -> Any:
        """Learn how each column becomes bits from a table that comes in parts.

        Memory is bounded, however many parts there are.

        Parameters
        ----------
        batches : iterable of tables, or function without arguments that returns one
            Read twice, rarely more often; a generator can be read once only.
        rank_error : float, default=0.0
            What thresholds may be off by: so large a share of a column's cells may lie between a
            threshold and its place. With 0 they are those of :meth:`fit` on all rows at once; then
            a generator will do only where columns have few different values.

        Returns
        -------
        self
        """
        check_number("rank_error", rank_error, 0.0, 1.0)
        passes = batches if callable(batches) else functools.partial(iter, batches)
        summary = self.summary()
        for part in passes():
            summary.update(part)
        while not summary.is_exact and (
            rank_error == 0 or summary.rank_errors().max() > rank_error
        ):
            if not callable(batches) and iter(batches) is batches:
                _refuse_one_pass(summary)
            recount = summary.recount()
            for part in passes():
                recount.update(part)
            summary.refine(recount)
        return self.fit_summary(summary)

    def _adopt(self, codes: list[ColumnCode], names: list[str] | None, *, sparse: bool) -> None:
        self.codes_ = codes
        self.sparse_ = sparse
        self.missing_ = np.array([code.missing for code in codes])
        self.n_features_in_ = len(codes)
        self.n_bits_out_ = sum(code.n_bits for code in codes)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._compiled = CompiledCodes(codes, names) if not sparse else None
        # Made when fitting, because transform must not change the transformer, and bits made now
        # keep their meaning when it is fitted again.
        self._description = Description(
            functools.partial(_describe_codes, codes, self._names(), sparse)
        )

    def transform(self, X: Any) -> Any:
        """Turn columns into bits.

        Parameters
        ----------
        X : pandas or polars frame, array-like or sparse matrix of shape (n_samples, n_features)
            Data with the columns of the training data.

        Returns
        -------
        ndarray or CSR matrix of uint8 of shape (n_samples, n_bits_out_)
            CSR for sparse ``X``, dense otherwise. It carries what `describe` says, for the rules
            of a classifier that learns from it.
        """
        check_is_fitted(self)
        bits = self.quick_bits(X)
        if bits is not None:
            return with_description(bits, self._description)
        table = read_table(X)
        self._check_columns(table)
        if table.matrix is not None and not self.sparse_:
            raise ValueError(
                f"X is sparse, but {type(self).__name__} was fitted on dense data, whose bits may "
                "be 1 for zeros; pass X.toarray(), or fit on sparse data"
            )
        return self._transform_table(table)

    def quick_bits(self, X: Any) -> NDArray[np.uint8] | None:
        """What `transform` gives for most X, without its description, at once; None for others."""
        return None if self._compiled is None else self._compiled.bits(X)

    def _transform_table(self, table: Table) -> Any:
        if table.matrix is not None:
            return with_description(self._encode_sparse(table.matrix), self._description)
        columns = [
            dataclasses.replace(column, name=name)
            for column, name in zip(table.columns, self._names(), strict=True)
        ]
        if self.sparse_:
            codes = cast(list[NumberCode], self.codes_)  # sparse data are numbers
            dense = np.column_stack(
                [code.numbers(column) for code, column in zip(codes, columns, strict=True)]
            )
            bits = self._encode_sparse(scipy.sparse.csr_matrix(dense)).toarray()
            return with_description(bits, self._description)
        bits = np.zeros((table.shape[0], self.n_bits_out_), dtype=np.uint8)
        end = 0
        for code, column in zip(self.codes_, columns, strict=True):
            begin, end = end, end + code.n_bits
            code.encode(column, bits[:, begin:end])
        return with_description(bits, self._description)

    def _encode_sparse(self, matrix: Any) -> Any:
        indices, indptr, width = compare_sparse(
            matrix, [code.thresholds for code in self.codes_], self.missing_
        )
        ones = np.ones(len(indices), dtype=np.uint8)
        return type(matrix)((ones, indices, indptr), shape=(matrix.shape[0], width))

    def _check_columns(self, table: Table) -> None:
        """Check names and number of columns, in the words of scikit-learn."""
        title = type(self).__name__
        fitted = [*self.feature_names_in_] if hasattr(self, "feature_names_in_") else None
        if fitted is not None and table.names is None:
            warnings.warn(
                f"X does not have valid feature names, but {title} was fitted with feature names",
                UserWarning,
                stacklevel=3,
            )
        elif fitted is None and table.names is not None:
            warnings.warn(
                f"X has feature names, but {title} was fitted without feature names",
                UserWarning,
                stacklevel=3,
            )
        elif table.names != fitted:
            raise ValueError(names_message(table.names or [], fitted or []))
        if table.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {table.shape[1]} features, but {title} is expecting "
                f"{self.n_features_in_} features as input"
            )

    def _names(self) -> list[str]:
        if hasattr(self, "feature_names_in_"):
            return [*self.feature_names_in_]
        return default_names(self.n_features_in_)

    def describe(self) -> list[BitFeature]:
        """What each output bit means, in order.

        Returns
        -------
        list of BitFeature
        """
        check_is_fitted(self)
        return list(self._description.features())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name of each output bit.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns; must be those of the training data, where it had any.

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        names = self._names() if input_features is None else [*input_features]
        if len(names) != self.n_features_in_:
            raise ValueError(
                "input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(names)}"
            )
        if hasattr(self, "feature_names_in_") and names != self._names():
            raise ValueError("input_features is not equal to feature_names_in_")
        features = _describe_codes(self.codes_, names, self.sparse_)
        return np.array([str(feature) for feature in features], dtype=object)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The fitted transformer as a JSON-serialisable dict and named numeric arrays.

        Returns
        -------
        meta : dict
        arrays : dict of str to ndarray
        """
        check_is_fitted(self)
        meta = {
            "class": type(self).__name__,
            "version": VERSION,
            "params": self._checked_params(),
            "names": self._names() if hasattr(self, "feature_names_in_") else None,
            "sparse": self.sparse_,
            "categories": [[*c.categories] for c in self.codes_ if isinstance(c, CategoryCode)],
        }
        if not self.sparse_:  # sparse data are numbers
            meta["types"] = [code.type for code in self.codes_]
        return meta, pack_codes(self.codes_)

    @classmethod
    def _from_state(cls, meta: dict[str, Any], arrays: dict[str, Any]) -> Any:
        """The transformer that ``to_state`` described; every part is checked."""
        keys = ("class", "version", "params", "names", "sparse", "categories", "types")
        expect_keys({"types": None, **meta}, keys, "meta")
        expect_keys(meta["params"], cls().get_params(), "params")
        for name, value in meta["params"].items():
            expect_type(value, int, name)
        transformer = cls(**meta["params"])
        limit = transformer._checked_params().get("n_bits", 1)
        sparse = expect_type(meta["sparse"], bool, "sparse")
        types = meta.get("types")  # the oldest files do not say
        codes = unpack_codes(meta["categories"], types, arrays, limit)
        # Sparse data are numbers.
        allowed = [code for code in cls._codes if not sparse or issubclass(code, NumberCode)]
        odd = sorted({code.kind for code in codes if type(code) not in allowed})
        expect(not odd, f"{cls.__name__} with sparse={sparse} has no columns of kind {odd}")
        if sparse:
            expect(types is None, "sparse data have no types")
            codes = [dataclasses.replace(code, type=code.kind) for code in codes]
        names = meta["names"]
        if names is not None:
            expect_type(names, list, "names")
            expect(len(names) == len(codes), f"names must be {len(codes)}, got {len(names)}")
            for name in names:
                expect_type(name, str, "a column's name")
        transformer._adopt(codes, names, sparse=sparse)
        return transformer

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = NumberCode in self._codes
        tags.input_tags.string = CategoryCode in self._codes
        tags.input_tags.categorical = CategoryCode in self._codes
        tags.transformer_tags.preserves_dtype = []
        return tags


def _describe_codes(codes: list[ColumnCode], names: list[str], sparse: bool) -> list[BitFeature]:
    return [
        feature
        for index, (code, name) in enumerate(zip(codes, names, strict=True))
        for feature in code.features(name, index, from_zero=sparse)
    ]


def _require_some(shape: tuple[int, int]) -> None:
    if 0 in shape:
        what = "sample" if shape[0] == 0 else "feature"
        # The words of scikit-learn, which its own checks look for.
        raise ValueError(
            f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
        )


def _refuse_one_pass(summary: TableSummary) -> None:
    errors = summary.rank_errors()
    worst = int(errors.argmax())
    raise ValueError(
        f"exact thresholds take a second pass, but batches can be read once only; after one, those "
        f"of column {summary.column_names()[worst]!r} may be off by {errors[worst]:.2g} of its "
        "cells; pass a list or a function that begins anew, or set rank_error to what will do"
    )
