"""Rows that do not belong: a classifier tells real rows from made-up ones."""
