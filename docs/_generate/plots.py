"""The pictures of docs/results/planning.md: `python docs/_generate/plots.py [FOLDER]` draws them anew."""

from __future__ import annotations

import sys
from pathlib import Path

from specsim.report.plots import write_all

SHOWN = Path(__file__).parents[2] / "tests" / "bench" / "plots"

if __name__ == "__main__":
    print(*write_all(Path(sys.argv[1]) if len(sys.argv) > 1 else SHOWN), sep="\n")
