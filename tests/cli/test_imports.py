"""What is imported, and when."""

from __future__ import annotations

import ast
from pathlib import Path

import cotm


def test_public_names_are_typed_and_resolve() -> None:
    """Type checkers read the imports, Python the table of homes: they name the same things."""
    tree = ast.parse(Path(cotm.__file__).read_text())
    (typed,) = (node for node in tree.body if isinstance(node, ast.If))
    homes = {
        name.asname: node.module
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    assert homes == cotm._HOMES
    assert set(cotm.__all__) == set(homes)
    assert all(hasattr(cotm, name) for name in homes)
