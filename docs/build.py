"""Build the site: `python docs/build.py [OUT]` (by default docs/_build). Warnings are errors; nothing is fetched."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.cmd.build import main

HERE = Path(__file__).parent

if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "_build"
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--jobs=2", "--builder=html"]
    sys.exit(main([*options, f"--doctree-dir={out}.doctrees", str(HERE), str(out)]))
