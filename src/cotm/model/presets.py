"""What "auto" stands for: settings by the kind of data, and a word for each kind.

``docs/defaults.md`` lists them, ``docs/choosing.md`` says what they were weighed by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from ..core.checks import check_choice, check_integer
from ..core.examples import Examples
from ..core.limits import MAX_T
from ..core.parameters import OPTIONS
from .fitted import Fitted
from .outputs import Judge
from .schedules import Schedule, at_epoch

#: The word that leaves a parameter to the preset, and the preset to the data.
AUTO = "auto"
#: The preset of regressors, whatever X is; classifiers do not have it.
QUANTITIES = "quantities"


@dataclass(frozen=True)
class Preset:
    """The settings for one kind of data, where users give none."""

    title: str  # of the kind of data
    values: Mapping[str, Any]  # of the options that are the same whatever the data
    margin: tuple[float, float]  # T for each clause and each miss that it tolerates, at first and
    rise: int  # from this epoch on; in between it rises evenly
    e: float | None  # None: as in the paper, by the number of outputs
    epochs: int  # with few examples
    examples: int  # with more of them, presented in all those epochs, there are fewer epochs
    fewest_epochs: int


_STRICT = {
    "s": 10.0,
    "memory_depth": 128,
    "include_depth": None,
    "tolerance": 1,
    "growth_limit": None,
    "forgetting": "drawn",
    "negatives": "all",
    "average": 1,
}
_SHORT = {**_STRICT, "s": 5.5, "memory_depth": 64, "average": 20}

PRESETS = {
    "tables": Preset(
        title="a table",
        values={**_SHORT, "include_depth": 8, "average": 17},
        margin=(0.12, 1.0),
        rise=40,
        e=1.0,
        epochs=25,
        examples=400_000,
        fewest_epochs=15,
    ),
    "images": Preset(
        title="images",
        values={**_SHORT, "s": 8.0, "average": 15},
        margin=(0.3, 0.3),
        rise=1,
        e=1.0,
        epochs=30,
        examples=1_800_000,
        fewest_epochs=15,
    ),
    "text": Preset(
        title="many bits, few of them set",
        values={
            **_STRICT,
            "s": 2000.0,
            "tolerance": 10,
            "growth_limit": 100,
            "include_depth": 26,
            "forgetting": "sampled",
            "average": 5,
        },
        margin=(60.0, 60.0),
        rise=1,
        e=1.0,
        epochs=40,
        examples=300_000,
        fewest_epochs=10,
    ),
    QUANTITIES: Preset(
        title="quantities",
        values={**_SHORT, "include_depth": 8},
        margin=(2.0, 2.0),
        rise=1,
        e=1.0,
        epochs=30,
        examples=400_000,
        fewest_epochs=15,
    ),
    "paper": Preset(
        title="the paper's rules",
        values=_STRICT,
        margin=(0.4, 0.4),
        rise=1,
        e=None,
        epochs=30,
        examples=0,
        fewest_epochs=30,
    ),
}

#: From so many bits on, of which so few are set on average, X is taken for text.
_TEXT_BITS, _TEXT_SHARE = 1000, 0.1
#: Of so many examples the bits are counted.
COUNTED_ROWS = 1000


def is_left(name: str, value: Any) -> bool:
    """Whether a parameter's value is left to the preset."""
    automatic = name == "epochs" or (name in OPTIONS and OPTIONS[name].automatic)
    return automatic and isinstance(value, str) and value == AUTO


def check_preset(name: Any) -> None:
    """Raise ValueError for what is no preset."""
    check_choice("preset", name, (AUTO, *(known for known in PRESETS if known != QUANTITIES)))


def preset_for(estimator: Any, examples: Examples | None) -> str:
    """The preset that was set, or the one for such data; None are images that change."""
    if estimator._task.preset is not None:
        return str(estimator._task.preset)
    if estimator.preset != AUTO:
        return str(estimator.preset)
    if estimator.patch_shape is not None or examples is None:
        return "images"
    many = examples.grid.n_features >= _TEXT_BITS
    return "text" if many and _share_set(examples) <= _TEXT_SHARE else "tables"


def _share_set(examples: Examples) -> float:
    """The share of bits that are set, in some of the examples."""
    rows = np.linspace(0, len(examples) - 1, min(len(examples), COUNTED_ROWS)).astype(np.int64)
    bits = examples[rows].on_host().bits
    ones = bits.nnz if scipy.sparse.issparse(bits) else np.count_nonzero(bits)
    return float(ones / (len(rows) * examples.grid.n_features))


def epochs_of(value: Any, preset: str, n_examples: int) -> int:
    """The parameter ``epochs`` as a number."""
    if not is_left("epochs", value):
        return check_integer("epochs", value, 0)
    known = PRESETS[preset]
    return min(known.epochs, max(known.fewest_epochs, known.examples // max(1, n_examples)))


def changes_margin(preset: str) -> bool:
    """Whether a margin that is left to the preset changes from epoch to epoch."""
    return PRESETS[preset].rise > 1


def settle(
    given: Mapping[str, Any],
    preset: str,
    *,
    epoch: int,
    n_outputs: int,
    judge: Judge,
) -> dict[str, Any]:
    """The learning options in an epoch, with values for those that are left to the preset."""
    known = PRESETS[preset]
    settled = {
        name: known.values.get(name, AUTO) if is_left(name, value) else value
        for name, value in given.items()
    }
    if is_left("include_depth", given["include_depth"]) and not is_left(
        "memory_depth", given["memory_depth"]
    ):
        settled["include_depth"] = None  # as the depth that was asked for
    if is_left("T", settled["T"]):
        # A graded clause has up to the tolerance times its weight to say, so that T grows with it.
        most = settled["n_clauses"] * settled["tolerance"]
        settled["T"] = _margin_at(known, most, epoch)
    if is_left("e", settled["e"]):
        paper = judge.default_e(n_outputs) if settled["negatives"] == "all" else 1.0
        settled["e"] = paper if known.e is None else known.e
    return settled


def _margin_at(preset: Preset, most: int, epoch: int) -> int:
    """T in an epoch, where all clauses together can say so much with weights of 1."""
    first, last = _margins(preset, most)
    if first == last:
        return last
    return int(at_epoch(OPTIONS["T"], Schedule(first, last, epochs=preset.rise), epoch))


def _margins(preset: Preset, most: int) -> tuple[int, int]:
    """T at first and in the end."""
    first, last = (min(MAX_T, max(1, round(share * most))) for share in preset.margin)
    return first, last


def chosen(estimator: Any, fitted: Fitted) -> dict[str, Any]:
    """What each parameter that was left to the preset came to be."""
    machine = fitted.machine.parameters
    settings = {
        name: getattr(machine, name)
        for name in OPTIONS
        if is_left(name, getattr(estimator, name, None))
    }
    if is_left("epochs", estimator.epochs):
        settings["epochs"] = fitted.progress.until_epoch
    return settings


def describe_choice(estimator: Any, fitted: Fitted) -> str:
    """What was chosen and why, in a line; nothing where users gave all."""
    settings = chosen(estimator, fitted)
    machine = fitted.machine.parameters
    first, last = _margins(PRESETS[fitted.preset], machine.n_clauses * machine.tolerance)
    if "T" in settings and first != last:
        settings["T"] = f"{first} to {last}"
    told = [
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in settings.items()
        if name in ("T", "s", "e", "epochs") or value != OPTIONS[name].default
    ]
    if not told:
        return ""
    known = PRESETS[fitted.preset]
    seen = f"X is {known.title}, so " if estimator.preset == AUTO else ""
    return f"{seen}preset={fitted.preset!r}: {', '.join(told)}"
