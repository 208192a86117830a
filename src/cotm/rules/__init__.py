"""Clauses as rules: objects to compute with, which print as readable text."""

from .conditions import ColumnTest, Condition, column_tests
from .evidence import Firing
from .features import feature_descriptions
from .grammar import ParsedRule, ParsedTest, parse_rule, parse_tests
from .groups import ClauseTests
from .making import rules
from .rule import Evidence, MemberRule, Position, Rule
from .rule_list import RuleList

__all__ = [
    "ClauseTests",
    "ColumnTest",
    "Condition",
    "Evidence",
    "Firing",
    "MemberRule",
    "ParsedRule",
    "ParsedTest",
    "Position",
    "Rule",
    "RuleList",
    "column_tests",
    "feature_descriptions",
    "parse_rule",
    "parse_tests",
    "rules",
]
