"""The architecture: which part may import which."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import cotm
from cotm.backends import backend_names

#: From the bottom up; a module imports what stands before it. CONTRIBUTING says what each is.
LAYERS = [
    "core",
    "augmentation",
    "booleanize",
    "streaming",
    "rules",
    "backends",
    "live",
    "machine",
    "model",
    "files",
    "exporting",
    "explaining",
    "reporting",
    "plotting",
    "estimator",
    "classifier",
    "regressor",
    "composite",
    "joining",
    "pools",
    "dask",
    "detecting",
    "language",
    "imaging",
    "loading",
    "tuning",
    "serving",
    "datasets",
    "experiments",
    "cli",
    "__main__",
]
#: The table of public names, and the compiled core, which imports nothing.
OUTSIDE = {"__init__", "_native"}

SOURCE = Path(cotm.__file__).parent
ROOT = Path(__file__).parent.parent
MODULES = sorted(path for path in SOURCE.rglob("*.py"))


def imports(path: Path, *, for_types: bool = True) -> Iterator[tuple[str, ...]]:
    """The modules of the package that a file imports, wherever in it, as parts of their names."""
    package = path.relative_to(SOURCE).parent.parts
    tree = ast.parse(path.read_text())
    typed: set[ast.AST] = set()
    if not for_types:
        blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If)]
        typed = {
            inner
            for block in blocks
            if ast.unparse(block.test) == "TYPE_CHECKING"
            for inner in ast.walk(block)
        }
    for node in ast.walk(tree):
        if node in typed or not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = package[: len(package) - (node.level - 1)]
        parts = tuple(node.module.split(".")) if node.module else ()
        for name in node.names:
            whole = (*base, *parts, name.name)
            path = SOURCE.joinpath(*whole)
            is_module = path.with_suffix(".py").exists() or path.is_dir() or whole == ("_native",)
            yield whole if is_module else (*base, *parts)


def test_every_part_has_its_layer():
    parts = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in MODULES}
    assert parts - OUTSIDE == set(LAYERS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down_only(path):
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if own in OUTSIDE:
        return
    for target in imports(path):
        # What is imported from the package itself are its public names; they may go to the
        # command line and the experiments, which are users like any other.
        if not target:
            assert own in ("cli", "experiments", "exporting", "files", "reporting", "serving")
        elif target[0] not in OUTSIDE and target[0] != own:
            assert LAYERS.index(target[0]) < LAYERS.index(own), f"{own} imports {target}"


def test_no_module_imports_itself_by_way_of_others():
    """But for names that only type checkers need."""
    graph = {
        path.relative_to(SOURCE).with_suffix("").parts: set(imports(path, for_types=False))
        for path in MODULES
    }
    done: set[tuple[str, ...]] = set()

    def visit(module: tuple[str, ...], trail: tuple[tuple[str, ...], ...]) -> None:
        module = module if module in graph else (*module, "__init__")
        assert module not in trail, " -> ".join(".".join(part) for part in (*trail, module))
        if module in done or module not in graph or module == ("__init__",):
            return
        for target in sorted(graph[module]):
            visit(target, (*trail, module))
        done.add(module)

    for module in sorted(graph):
        visit(module, ())


@pytest.mark.parametrize(
    "library, home",
    [
        ("cupy", {"backends", "core"}),
        ("polars", {"cli", "rules", "streaming"}),  # tables are read; rules become one
        ("pyarrow", {"serving", "streaming"}),
        ("onnx", {"exporting"}),
        ("dask", {"dask"}),
        ("distributed", {"dask"}),
    ],
)
def test_optional_libraries_stay_where_they_belong(library, home):
    users = set()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                names = [getattr(node, "module", None) or ""]
            if any(name.split(".")[0] == library for name in names):
                users.add(path.relative_to(SOURCE).parts[0])
    assert users <= home


def test_nothing_above_the_backends_asks_for_one_by_its_name():
    names = set(backend_names()) - {"auto"}
    for path in MODULES:
        if path.relative_to(SOURCE).parts[0] == "backends":
            continue
        tree = ast.parse(path.read_text())
        asked = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        assert not names & {text.partition(":")[0] for text in asked}, path


def test_native_files_and_functions_stay_small():
    native = Path(__file__).parent.parent / "native"
    for path in sorted(path for path in native.rglob("*") if path.is_file()):
        lines = path.read_text().splitlines()
        assert len(lines) <= 450, f"{path} has {len(lines)} lines"
        open_at: list[int] = []
        for number, line in enumerate(lines):
            code = re.sub(r'"(\\.|[^"])*"|//.*', "", line)
            for brace in re.findall(r"[{}]", code):
                if brace == "{":
                    open_at.append(number)
                    continue
                first = open_at.pop()
                is_scope = re.match(r"\s*(namespace|class|struct|extern)\b", lines[first])
                assert is_scope or number - first < 80, f"{path}: too long from {first + 1} on"


def stores_parameters(node: ast.FunctionDef) -> bool:
    """Whether it is the constructor of an estimator, which takes its parameters and no more."""
    return all(isinstance(line, ast.Assign) for line in node.body) and node.name == "__init__"


def test_files_and_functions_stay_small():
    for path in MODULES:
        text = path.read_text()
        assert text.count("\n") <= 450, f"{path} has {text.count(chr(10))} lines"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and not stores_parameters(node):
                lines = (node.end_lineno or 0) - node.lineno + 1
                assert lines <= 80, f"{path}: {node.name} has {lines} lines"
