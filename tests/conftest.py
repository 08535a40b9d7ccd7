"""Options of the suite, and the threads it may use."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two OpenMP threads per worker on a small machine collapse

import hypothesis
import pytest

hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default="cpu", choices=("cpu", "cuda"), help="cuda: also run the tests marked cuda")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that need a GPU run only when one is asked for; then its absence is a failure, not a skip."""
    if config.getoption("--device") == "cpu":
        needs_gpu = [item for item in items if item.get_closest_marker("cuda")]
        config.hook.pytest_deselected(items=needs_gpu)
        items[:] = [item for item in items if not item.get_closest_marker("cuda")]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests recorded as "printed": counts that a pass alone would hide."""
    passed = terminalreporter.stats.get("passed", [])
    lines = [value for report in passed for name, value in report.user_properties if name == "printed"]
    if lines:
        terminalreporter.section("one source on every array library")
        for line in sorted(lines):
            terminalreporter.write_line(str(line))
