"""`python -m specsim`, and what the command `specsim` starts."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; imported here, so that Ctrl-C during the import is no traceback either."""
    try:
        from specsim.commands.errors import run
    except KeyboardInterrupt:
        sys.exit(130)
    run("specsim.cli")


if __name__ == "__main__":
    main()
