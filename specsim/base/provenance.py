"""How a result was made: date, machine, versions of packages, and the command."""

from __future__ import annotations

import datetime
import os
import platform
import shlex
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import specsim

# Packages that every result depends on, by their names on the index.
PACKAGES = ("numpy", "scipy")


def provenance(packages: Sequence[str] = PACKAGES, **settings: Any) -> dict[str, Any]:
    """Return date, machine and versions of a run, and then its settings.

    >>> list(provenance(command="specsim plan 0.8"))
    ['date', 'machine', 'versions', 'command']
    """
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": {"processor": processor(), "cores": os.cpu_count(), "system": platform.system()},
        "versions": {"python": platform.python_version(), "specsim-llm": specsim.__version__}
        | {name: _version(name) for name in packages},
        **settings,
    }


def command_line(program: str) -> str:
    """Return the command that was given, ready to be pasted into a shell."""
    return shlex.join([program, *sys.argv[1:]])


def _version(package: str) -> str:
    """Return the installed version of a package, or "not installed"."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def processor() -> str:
    """Return the name of the processor, as Linux tells it; elsewhere what Python knows."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
