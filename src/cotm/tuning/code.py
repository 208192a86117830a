"""A fitted model as the line of Python that makes it, and as a command."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from ..model.schedules import Schedule


def line_of(estimator: Any) -> str:
    """One line that makes and fits an estimator with the same parameters, from ``X`` and ``y``."""
    modules: set[str] = {"cotm"}
    made = expression(estimator, modules)
    return f"import {', '.join(sorted(modules))}; model = {made}.fit(X, y)"


def expression(value: Any, modules: set[str]) -> str:
    """Python for a value; ``modules`` gets what it needs."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Pipeline):
        steps = ", ".join(f"({name!r}, {expression(s, modules)})" for name, s in value.steps)
        modules.add("sklearn.pipeline")
        return f"sklearn.pipeline.Pipeline([{steps}])"
    if isinstance(value, BaseEstimator):
        home = type(value).__module__
        module = "cotm" if home.split(".")[0] == "cotm" else home
        modules.add(module)
        given = ", ".join(f"{k}={expression(v, modules)}" for k, v in changed(value).items())
        return f"{module}.{type(value).__name__}({given})"
    if isinstance(value, list | tuple):
        inner = ", ".join(expression(part, modules) for part in value)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


def changed(estimator: Any) -> dict[str, Any]:
    """The parameters that are not at their defaults."""
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(type(estimator).__init__).parameters.items()
    }
    given = estimator.get_params(deep=False)
    return {
        name: given[name]
        for name, default in defaults.items()
        if name in given and repr(given[name]) != repr(default)
    }


def command_of(words: list[str], estimator: Any, flags: Mapping[str, str]) -> str:
    """The command that trains a model with the same parameters; ``flags`` are the options that
    set them."""
    for name, value in changed(estimator).items():
        if name not in flags:
            continue
        flag = flags[name]
        if isinstance(value, bool):
            words = [*words, flag] if value else [*words, flag.replace("--", "--no-", 1)]
        else:
            words = [*words, flag, _text(value)]
    return shlex.join(words)


def _text(value: Any) -> str:
    if isinstance(value, Schedule):
        parts = [value.start, value.end, value.epochs]
        shape = [] if value.shape == "linear" else [value.shape]
        return ":".join([*map(str, parts), *shape])
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return "none" if value is None else str(value)
