"""What each of many clauses asks of each column, with arrays.

Cases of a column are bits of an integer, see ``conditions.py``. Columns of up to 62 cases are
reckoned with as NumPy's integers, larger ones, of many categories or positions, as Python's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..booleanize import BitFeature
from .conditions import ColumnTest, Condition, columns_of

_MOST_CASES = 62


class ClauseTests:
    """The tests of each of many clauses.

    Parameters
    ----------
    features : sequence of BitFeature
        What the bits mean.
    included : bool (n, L)
        Which literals each clause includes.
    names : iterable of str, optional
        Names of all columns of X.
    apart : bool, default=False
        A test for each literal, as graded clauses count them.
    """

    def __init__(
        self,
        features: Sequence[BitFeature],
        included: NDArray[np.bool_],
        names: Iterable[str] = (),
        *,
        apart: bool = False,
    ) -> None:
        self._features = features
        self._columns, places = columns_of(features, names)
        self._places = np.array([*places, *places], dtype=np.int64)
        clause, literal = np.nonzero(included)
        column = self._places[literal]
        begins = np.ones(len(clause), dtype=bool)
        if not apart:
            order = np.lexsort((column, clause))  # stable: literals stay in their order
            clause, literal, column = clause[order], literal[order], column[order]
            begins[1:] = (clause[1:] != clause[:-1]) | (column[1:] != column[:-1])
        starts = np.flatnonzero(begins)
        self._large: list[int] = []  # sets of cases that are too large for NumPy
        clause, column = clause[starts], column[starts]
        accepted = self._accepted(literal, starts, column)
        # A number for each pair of column and cases; one-dimensional arrays are sorted faster.
        cases, case = np.unique(accepted, return_inverse=True)
        distinct, self._numbers = np.unique(column * len(cases) + case, return_inverse=True)
        of_column, of_cases = np.divmod(distinct, max(1, len(cases)))
        self._pairs = [*zip(of_column.tolist(), cases[of_cases].tolist(), strict=True)]
        self._bounds = np.searchsorted(clause, np.arange(len(included) + 1))
        # In words tests come in the order of their first literals.
        self._spoken = self._numbers[np.lexsort((literal[starts], clause))]
        self._tests: dict[int, ColumnTest] = {}
        self.possible = np.ones(len(included), dtype=bool)
        self.possible[clause[accepted == 0]] = False

    def key(self, clause: int) -> bytes:
        """What two clauses have in common that accept the same."""
        return self._numbers[self._bounds[clause] : self._bounds[clause + 1]].tobytes()

    def of(self, clause: int) -> tuple[ColumnTest, ...]:
        """The tests of a clause that is possible."""
        numbers = self._spoken[self._bounds[clause] : self._bounds[clause + 1]].tolist()
        return tuple([self._test(number) for number in numbers])

    def _test(self, number: int) -> ColumnTest:
        if number not in self._tests:
            column, accepted = self._pairs[number]
            cases = accepted if accepted >= 0 else self._large[-1 - accepted]
            self._tests[number] = self._columns[column].test(cases)
        return self._tests[number]

    def _accepted(
        self, literal: NDArray[np.intp], starts: NDArray[np.intp], column: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The cases that the literals of a group leave; negative numbers stand for large sets."""
        if not len(starts):
            return np.zeros(0, dtype=np.int64)
        used, place = np.unique(literal, return_inverse=True)
        excluded = [self._excluded(k) for k in used.tolist()]
        fits = np.array([c.n_cases <= _MOST_CASES for c in self._columns])
        small = [
            cases if fits[self._places[k]] else 0
            for k, cases in zip(used.tolist(), excluded, strict=True)
        ]
        every = [
            c.everything if fit else 0 for c, fit in zip(self._columns, fits.tolist(), strict=True)
        ]
        left = np.bitwise_or.reduceat(np.array(small, dtype=np.int64)[place], starts)
        accepted = np.array(every, dtype=np.int64)[column] & ~left
        known = {0: 0}
        ends = np.append(starts[1:], len(literal))
        for group in np.flatnonzero(~fits[column]).tolist():
            cases = self._columns[column[group]].everything
            for k in place[starts[group] : ends[group]].tolist():
                cases &= ~excluded[k]
            if cases not in known:
                self._large.append(cases)
                known[cases] = -len(self._large)
            accepted[group] = known[cases]
        return accepted

    def _excluded(self, literal: int) -> int:
        """The cases in which a literal is 0."""
        negated, bit = divmod(literal, len(self._features))
        condition = Condition(self._features[bit], bool(negated))
        return self._columns[self._places[literal]].excluded(condition)


def conditions_of(features: Sequence[BitFeature]) -> list[Condition]:
    """The literals of a patch as conditions: the bits, then their negations."""
    return [Condition(feature, negated) for negated in (False, True) for feature in features]
