"""What a study file says, which may be damaged: checked before a search goes on from it."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ..core.decoding import expect, expect_keys
from .dimensions import Code, Dimension
from .work import Done

if TYPE_CHECKING:
    from .study import Study

_DONE = ("scores", "seconds", "scoring_seconds", "error")


def read_place(values: tuple[Any, ...]) -> tuple[int, int, int]:
    """Candidate, rung and fold."""
    candidate, rung, fold = values
    expect(all(type(value) is int for value in values), f"{values!r:.100} are no numbers")
    return candidate, rung, fold


def read_codes(text: Any) -> dict[str, Code] | None:
    """A candidate; None for the estimator as it was given."""
    expect(isinstance(text, str), f"a candidate is {text!r:.100}")
    codes = json.loads(text)
    expect(
        codes is None or (isinstance(codes, dict) and all(map(_is_number, codes.values()))),
        f"a candidate is {codes!r:.100}",
    )
    return codes  # type: ignore[no-any-return]


def read_done(text: Any) -> Done:
    """A result, without its state."""
    expect(isinstance(text, str), f"a result is {text!r:.100}")
    fields = json.loads(text)
    expect_keys(fields, _DONE, "a result")
    scores, error = fields["scores"], fields["error"]
    expect(
        isinstance(scores, dict) and all(type(score) in (int, float) for score in scores.values()),
        f"scores are {scores!r:.100}",
    )
    expect(_is_number(fields["seconds"]) and _is_number(fields["scoring_seconds"]), "times are not")
    expect(error is None or isinstance(error, str), f"an error is {error!r:.100}")
    return Done(state=None, **fields)


def check_stored(
    study: Study, space: Mapping[str, Dimension], scorers: Collection[str], folds: int, rungs: int
) -> None:
    """Refuse a study that holds what a search of this kind cannot have found."""
    try:
        for number, codes in enumerate(study.candidates):
            if codes is None:
                expect(number == 0, f"candidate {number} has no settings")
                continue
            expect(codes.keys() == space.keys(), f"candidate {number} has {[*codes]!r:.100}")
            for name, code in codes.items():
                expect(space[name].allows(code), f"{name} of candidate {number} is {code!r:.100}")
        sizes = len(study.candidates), rungs, folds
        for place in (*study.results, *study.stored()):
            fits = all(0 <= value < size for value, size in zip(place, sizes, strict=True))
            expect(fits, f"there is no candidate, rung and fold {place!r:.100}")
        for place, done in study.results.items():
            expect(done.scores.keys() == {*scorers}, f"the scores of {place} are of other scorers")
    except ValueError as error:
        raise ValueError(f"{study.path} is damaged: {error}; begin another one") from error


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))
