"""What an installed cotm consists of, as a CycloneDX bill of materials in dist/.

Usage: python packaging/sbom.py    (`make sbom`)

It lists the versions that are installed today by `pip install`, in an environment of its own.
"""

from __future__ import annotations

import json
import shutil
import sys

from version import check
from wheels import BUILD, DIST, ROOT, run


def main() -> None:
    """Write dist/cotm-VERSION.cdx.json."""
    version = check()
    folder = BUILD.parent / "sbom"
    shutil.rmtree(folder, ignore_errors=True)
    DIST.mkdir(exist_ok=True)
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    own = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", own)
    built = sorted(DIST.glob(f"cotm-{version}-cp312-abi3-*.whl"))
    usable = built if sys.version_info >= (3, 12) else []
    run(*pip, "install", "--quiet", "--no-compile", *(usable[:1] or [ROOT]))
    path = DIST / f"cotm-{version}.cdx.json"
    words = (
        "environment",
        "--mc-type",
        "library",
        "--output-reproducible",
        "--pyproject",
        ROOT / "pyproject.toml",
    )
    run(sys.executable, "-m", "cyclonedx_py", *words, "--output-file", path, own)
    bill = json.loads(path.read_text())
    bill["metadata"]["component"]["version"] = version  # which pyproject.toml leaves to the code
    path.write_text(json.dumps(bill, indent=2) + "\n")
    names = sorted(f"{part['name']} {part.get('version', '')}" for part in bill["components"])
    print(f"{path.relative_to(ROOT)}: {', '.join(names)}")


if __name__ == "__main__":
    main()
