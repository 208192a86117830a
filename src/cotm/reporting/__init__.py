"""A fitted model as a page to read, search and try out: one file that needs nothing else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.whole_files import check_replaceable, replace_file
from .data import Options, gather
from .page import page

__all__ = ["Reporting", "write_report"]


def write_report(model: Any, path: Path, X: Any, y: Any, options: Options) -> None:
    """Write the report of a model that does not change any more, whole or not at all."""
    check_replaceable(path, "the report")
    replace_file(path, page(gather(model, X, y, options)), "the report")


class Reporting:
    """The method ``report`` of classifiers, composites and regressors."""

    def _unchanging(self) -> Any:
        """The model at one moment."""
        raise NotImplementedError

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        y: Any = None,
        *,
        title: str | None = None,
        n_examples: int = 200,
        n_background: int = 50,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        """Write a page about the model: one file that any browser opens, without a network.

        It has the model card, the accuracy and calibration on X, the learning curve, all rules in
        a table to search, and an explorer in which an example is chosen or made and its votes,
        rules and reasons are seen. ``docs/report.md`` says what is in it.

        Parameters
        ----------
        path : str or path
            The file to write, as ``report.html``.
        X : array, sparse matrix, or frame, optional
            Examples as in ``fit``, best such that the model has not seen.
        y : array, optional
            Their labels, or quantities.
        title : str, optional
            The page's heading.
        n_examples : int, default=200
            How many rows of X are put into the file, to be looked at. Scores are of all rows.
        n_background : int, default=50
            With how many of these an example is compared to say which columns its votes are due
            to.
        feature_names : sequence of str, optional
            What to call the bits of X where the model has not seen names.
        """
        options = Options(title, n_examples, n_background, feature_names)
        write_report(self._unchanging(), Path(path), X, y, options)
