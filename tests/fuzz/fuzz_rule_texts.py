"""Texts of rules: what they say, or a ValueError; and rules that are added to a model."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from targets import CrashError, Target, quietly, refusing

import cotm
from cotm.rules import ParsedRule, parse_rule

_WORDS = [
    *(" and ", " or missing", "not ", " is missing", " is not missing", " in {", "}", " not in {"),
    *(" > ", " <= ", " < ", " >= ", " = ", " != ", "'", '"', "\\", ", ", ": ", "; ", "if ", "[0]"),
    *(
        "[99999999999999999999]",
        "more than 2 of 3 hold (",
        ")",
        " for each above 1",
        "nan",
        "1e999",
    ),
    *(
        "\0",
        "\n",
        "é",
        "'\\N{x}'",
        "'\\x",
        "{",
        "9" * 5000,
        "((((",
        "1_0",
        "-",
        "+1",
        " ",
        "\u2028",
    ),
]


class RuleTexts(Target):
    """``cotm.rules.parse_rule`` and ``add_rule``."""

    led_by = ("cotm.rules",)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        rng = np.random.default_rng(0)
        names = ["age", "a and b", "x[1]", "é 'q'", "if more than 1", "1", "", "size"]
        columns = [rng.normal(size=60) for _ in names]
        columns[1] = rng.choice(np.array(["Oslo", "in {", "2", None], dtype=object), 60)
        columns[5] = np.where(rng.random(60) < 0.2, np.nan, columns[5])
        table = pd.DataFrame(dict(zip(names, columns, strict=True)))
        y = np.array(["old", "x: +1", "3"])[rng.integers(0, 3, 60)]
        few = {"n_clauses": 30, "epochs": 3, "random_state": 0, "preset": "paper"}
        with quietly():
            self.models = [
                cotm.CoTMClassifier(**few).fit(table, y),
                cotm.CoTMClassifier(**few, tolerance=3).fit(table, y),
            ]

    def seeds(self) -> list[bytes]:
        """Rules of models."""
        return [str(rule).encode() for model in self.models for rule in model.rules()]

    def changed(self, data: bytes, dice: random.Random) -> bytes:
        """Words of the grammar put in, cut out, or doubled."""
        text, draw = data.decode("utf-8", "replace"), dice.random()
        at = dice.randrange(len(text) + 1)
        end = min(len(text), at + dice.choice((1, 1, 5, 30)))
        if draw < 0.4:
            return (text[:at] + dice.choice(_WORDS) + text[at:]).encode()
        if draw < 0.6:
            return (text[:at] + text[end:]).encode()
        if draw < 0.7:
            return (text[:at] + text[at:end] * dice.choice((2, 40)) + text[end:]).encode()
        if draw < 0.9:
            return (text[:at] + chr(dice.randrange(1, 400)) + text[at + 1 :]).encode()
        other = dice.choice(self.seeds()).decode()
        return (text[:at] + other[dice.randrange(len(other)) :]).encode()

    def tried(self, data: bytes) -> str:
        """A rule, or a ValueError that says why not; it means the same when written again."""
        text = data.decode("utf-8", "surrogatepass" if b"\xed" in data else "replace")
        with refusing(ValueError) as told:
            parsed = parse_rule(text)
            if not isinstance(parsed, ParsedRule) or not isinstance(parsed.votes, dict):
                raise CrashError("no rule came of it")
        conditions = text.partition(": ")[0]
        with refusing(ValueError) as not_added, quietly():
            model: Any = self.models[len(data) % 2]
            rule = model.add_rule(conditions, {"old": 3})
        if not not_added:
            if rule.weights is None:
                raise CrashError("the rule says nothing")
            model.undo()
        return ("refused" if told else "parsed") + ("" if not_added else ", added")


TARGET = RuleTexts
