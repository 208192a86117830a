"""Clauses as rules: objects to compute with, which print as readable text."""

from .conditions import ColumnTest, Condition, column_tests
from .evidence import Firing
from .features import feature_descriptions
from .grammar import ParsedRule, ParsedTest, parse_rule, parse_tests
from .groups import ClauseTests
from .making import rules
from .overlap import RuleOverlap, RulePair, rule_overlap
from .reading import literals_of
from .rule import Evidence, MemberRule, Position, Rule, VolumePosition
from .rule_list import RuleList
from .sharing import ClauseSharing, clause_sharing

__all__ = [
    "ClauseSharing",
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
    "RuleOverlap",
    "RulePair",
    "VolumePosition",
    "clause_sharing",
    "column_tests",
    "feature_descriptions",
    "literals_of",
    "parse_rule",
    "parse_tests",
    "rule_overlap",
    "rules",
]
