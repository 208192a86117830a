"""Put together what the site is made of, in build/docs/source.

Usage: python docs/site/assemble.py    (`make docs` does, and then runs Sphinx)

Every docs/*.md is a page as it is, with the pages of docs/site (tutorials, guides, pictures)
around it, and the documents beside README. The reference of the API and of the command line is
written from the package. Links to files that are no pages become downloads.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path

SITE = Path(__file__).parent
ROOT = SITE.parents[1]
SOURCE = ROOT / "build" / "docs" / "source"

#: Documents outside of docs/ that are pages, and their names there.
BESIDE = {
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
    "README.md": "index.md",
}
#: The groups of docs/*.md in the menu, by the page that lists them. What is in none of them is
#: listed last by "More": nothing in docs/ is left out.
GROUPS = {
    "using": [
        "installing",
        "defaults",
        "choosing",
        "tuning",
        "images",
        "images-from-images",
        "sequences",
        "language",
        "regression",
        "tasks",
        "composites",
        "dask",
        "out-of-core",
    ],
    "understanding": ["rules", "explaining", "report", "pictures"],
    "deploying": [
        "files",
        "exports",
        "serving",
        "compression",
        "logging",
        "platforms",
        "releasing",
    ],
    "knowing": ["algorithm", "state", "performance", "reproduction", "names"],
    "project": ["contributing", "security", "benchmarks"],
}
#: Public things beside those of cotm.__all__, by module.
MORE_NAMES = {
    "cotm.booleanize": ["SetOfWords"],
    "cotm.dask": ["CoTMClassifier"],
    "cotm.pools": ["fit_pools"],
    "cotm.tuning": ["Share"],
    "cotm.datasets": [
        *("load_mnist", "load_fashion_mnist", "load_kmnist", "load_cifar10", "load_imdb"),
        "make_noisy_xor_2d",
    ],
}


def pages() -> dict[Path, str]:
    """Where every page of prose comes from, and its name in the site."""
    found = {path: path.name for path in sorted((ROOT / "docs").glob("*.md"))}
    found |= {ROOT / name: page for name, page in BESIDE.items() if (ROOT / name).exists()}
    return found


def linked(text: str, origin: Path, known: dict[Path, str], used: set[Path]) -> str:
    """The text with links that work in the site; ``used`` collects the files they lead to."""

    def change(match: re.Match[str]) -> str:
        words, whole = match.groups()
        address, hash_, anchor = whole.partition("#")
        target = (origin.parent / address).resolve() if address else origin
        if "://" in address or not target.exists():
            return match[0]
        if target in known:
            return f"[{words}]({known[target] if address else ''}{hash_}{anchor})"
        if (ROOT / "docs" / "images") in target.parents:
            return f"[{words}](images/{target.name})"
        if target.is_dir():  # nothing to open: say where it lies
            return f"{words} (`{target.relative_to(ROOT)}`)"
        used.add(target)
        return f"[{words}](files/{target.relative_to(ROOT).as_posix().replace('/', '-')})"

    return re.sub(r"\[([^\[\]]*)\]\(([^)\s]+)\)", change, text)


def title_of(page: Path) -> str:
    """A page's first heading."""
    return next(line[2:] for line in page.read_text().splitlines() if line.startswith("# "))


def toctree(names: list[str], caption: str = "", hidden: bool = False) -> str:
    """A list of pages as MyST has it."""
    options = [f":caption: {caption}"] * bool(caption) + [":hidden:"] * hidden
    return "\n".join(["```{toctree}", ":maxdepth: 1", *options, "", *names, "```", ""])


def copy_documents() -> None:
    """Every document, with its links, and the files and pictures that it shows."""
    known, used = pages(), set[Path]()
    for path, name in known.items():
        if name != "index.md":
            (SOURCE / name).write_text(linked(path.read_text(), path, known, used))
    shutil.copytree(ROOT / "docs" / "images", SOURCE / "images")
    (SOURCE / "files").mkdir()
    for path in used:
        shutil.copy2(path, SOURCE / "files" / path.relative_to(ROOT).as_posix().replace("/", "-"))


def copy_site() -> None:
    """The pages made for the site, and the menu of the documents in each group."""
    for path in SITE.rglob("*"):
        if path.suffix in (".md", ".py", ".rst") and path.parent.name != "site":
            (SOURCE / path.relative_to(SITE)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, SOURCE / path.relative_to(SITE))
    there = {Path(name).stem for name in pages().values()} - {"index"}
    grouped = {name for names in GROUPS.values() for name in names} | {"changes"}
    groups = {**GROUPS, "more": sorted(there - grouped)}
    for page in ("index", "using", "reference"):
        text = (SITE / f"{page}.md").read_text()
        for group, names in groups.items():
            listed = toctree([name for name in names if name in there])
            text = text.replace(f"<!-- {group} -->", listed if there & {*names} else "")
        (SOURCE / f"{page}.md").write_text(text)


def public_names() -> list[tuple[str, str]]:
    """Module and name of everything public."""
    import cotm

    return [("cotm", name) for name in cotm.__all__] + [
        (module, name) for module, names in MORE_NAMES.items() for name in names
    ]


def write_api() -> None:
    """A page for every public name, from its docstring; of members, those that cotm defines."""
    folder = SOURCE / "api"
    folder.mkdir()
    listed: dict[str, list[str]] = {}
    for module, name in public_names():
        value = getattr(__import__(module, fromlist=[name]), name)
        full = f"{module}.{name}"
        kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
        lines = [f"# {full}", "", "```{eval-rst}", f".. auto{kind}:: {full}"]
        if kind == "class":
            for member in own_members(value):
                is_method = callable(getattr(value, member))
                lines += ["", f"   .. auto{'method' if is_method else 'property'}:: {member}"]
        (folder / f"{full}.md").write_text("\n".join([*lines, "```", ""]))
        said = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
        listed.setdefault(module, []).append(f"| [`{name}`]({full}.md) | {_plain(said)} |")
    text = "# API reference\n\n"
    for module, rows in listed.items():
        text += f"## {module}\n\n| | |\n| --- | --- |\n" + "\n".join(rows) + "\n\n"
    names = [f"{module}.{name}" for module, name in public_names()]
    (folder / "index.md").write_text(text + toctree(names, hidden=True))


def own_members(kind: type) -> list[str]:
    """The methods and properties that cotm defines and describes, not those of scikit-learn."""
    found = []
    for name in dir(kind):
        home = next(base for base in kind.__mro__ if name in vars(base))
        member = vars(home)[name]
        is_ours = home.__module__.startswith("cotm") and name[0] != "_"
        is_kind = inspect.isroutine(member) or isinstance(member, property | cached_property)
        if is_ours and is_kind and type(member).__module__.partition(".")[0] != "sklearn":
            found += [name] * bool(inspect.getdoc(member))
    return found


def _plain(text: str) -> str:
    """A docstring's first sentence in Markdown, in a table."""
    return re.sub(r"``(.+?)``", r"`\1`", text).replace("|", "\\|")


def write_commands() -> None:
    """What every command says of itself."""
    from cotm.cli import app

    environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "96"}
    text = '# The command line\n\nWith `pip install "cotm[tables]"`; without tables, `cotm[cli]`.\n'
    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    for words in ([], *([name] for name in names)):
        help_ = subprocess.run(
            [sys.executable, "-m", "cotm", *words, "--help"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        said = "\n".join(line.rstrip() for line in help_.strip().splitlines())
        text += f"\n## {' '.join(['cotm', *words])}\n\n```text\n{said}\n```\n"
    (SOURCE / "commands.md").write_text(text)


def write_migrations() -> None:
    """What the cotm side of every pair prints, beside it."""
    for path in sorted((SITE / "migrating").glob("*_cotm.py")):
        done = subprocess.run(
            [sys.executable, path], capture_output=True, text=True, check=True, cwd=SOURCE
        )
        (SOURCE / "migrating" / f"{path.stem}.txt").write_text(done.stdout)


def main() -> None:
    """Make everything anew."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    copy_documents()
    copy_site()
    write_api()
    write_commands()
    write_migrations()


if __name__ == "__main__":
    main()
