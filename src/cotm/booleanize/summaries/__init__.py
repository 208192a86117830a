"""What booleanizers learn from tables that come in parts."""

from .table import Recount, TableSummary

__all__ = ["Recount", "TableSummary"]
