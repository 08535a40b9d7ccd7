"""How long a person waits for the first words: `python tests/bench/bench_start.py > tests/bench/start.txt`.

Each command in turn, after one warm-up of all, beside a Python that does nothing; outside the checkout, so that it is
the package that is installed. Recorded in an environment of the wheel alone: what was just edited has no bytecode.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile

from timing import machine, medians  # isort: skip (sets the number of threads)

ROUNDS = 11
PLAN = "-m specsim plan 0.8 --target llama-3.1-70b --draft llama-3.2-1b --hardware h100-sxm --tp 4"
GOALS: dict[str, tuple[str, float | None]] = {
    "Python alone": ("-c pass", None),
    "import specsim": ("-c 'import specsim'", 0.15),
    "specsim --help": ("-m specsim --help", 0.4),
    "specsim plan, a 70B/1B pair": (PLAN, 0.6),
    "specsim claims": ("-m specsim claims", 3.0),
    "specsim-real --help": ("-m real --help", 0.6),
}


def start(code: str) -> None:
    command = [sys.executable, *shlex.split(code)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=tempfile.gettempdir())


def main() -> None:
    print(f"{machine().split(', one thread')[0]}, Python {sys.version.split()[0]}, median of {ROUNDS}, in seconds\n")
    print(f"{'':<28} {'goal':>6} {'taken':>6}")
    taken = medians(*(lambda code=code: start(code) for code, _ in GOALS.values()), rounds=ROUNDS)
    for (name, (_, goal)), milliseconds in zip(GOALS.items(), taken, strict=True):
        print(f"{name:<28} {'' if goal is None else format(goal, '.2f'):>6} {milliseconds / 1e3:>6.2f}")


if __name__ == "__main__":
    main()
