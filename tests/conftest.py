"""Options of the suite, and the threads it may use."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
from collections.abc import Generator
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import TypeVar

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two OpenMP threads per worker on a small machine collapse
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # which take longer than a test runs; see tests/verify

import hypothesis
import pytest
from helpers import parts, quick_fractions

MINUTES = Path(__file__).parent / "helpers" / "minutes.txt"
COLLECTED = pytest.StashKey[set[str]]()  # ids of all cases, of whatever tier
BEGUN = pytest.StashKey[float]()  # when this process began, by a clock that only goes forward
LATE = "not begun: the time is over"
Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci")
if sys.version_info < (3, 12):
    for name, method in quick_fractions.methods().items():
        setattr(Fraction, name, method)
gc.set_threshold(200_000, 50, 1_000)  # what is imported is looked through again and again otherwise


def pytest_configure(config: pytest.Config) -> None:
    """Where nothing is slow, XLA compiles in half the time, and what one worker has compiled the other need not.

    The flag is one of the JAX in constraints.txt; another might not know it, and would end the process.
    """
    if "not slow" not in config.getoption("markexpr") or not _is_jax("0.10"):
        return
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        kept = tempfile.TemporaryDirectory(prefix="specsim-jax-")
        config.add_cleanup(kept.cleanup)
        os.environ["JAX_COMPILATION_CACHE_DIR"] = kept.name
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


def _is_jax(release: str) -> bool:
    try:
        return metadata.version("jax").startswith(f"{release}.")
    except metadata.PackageNotFoundError:
        return False


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default="cpu", choices=("cpu", "cuda"), help="cuda: also run the tests marked cuda")
    parser.addoption("--part", default="1/1", type=parts.read, help="K/N: of the slow tests only every N-th, by a hash")
    parser.addoption("--seconds", type=int, help="a test that has not begun after so many is skipped, and counted")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """In the quick tier a file without a quick test is not imported, which each worker would do by itself."""
    quick = _is_quick(config) and collection_path.name.startswith("test_")
    return True if quick and "mark.fast" not in collection_path.read_text(encoding="utf-8") else None


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Cases named in helpers/minutes.txt are slow; GPU tests run where one is asked for, `later` ones if not quick.

    Each of those cases takes a second or more and has quicker ones beside it; `pytest -m slow` runs them. Where a
    GPU is asked for, its absence is a failure, not a skip.
    """
    config.stash[COLLECTED] = {item.nodeid for item in items}
    quick = _is_quick(config)
    long = set(MINUTES.read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid in long:
            item.add_marker(pytest.mark.slow)
    part, of_parts = config.getoption("--part")
    unwanted = {"cuda": config.getoption("--device") == "cpu", "later": quick}
    names = [name for name, here in unwanted.items() if here]
    out = {item for item in items if any(item.get_closest_marker(name) for name in names)}
    slow = (item for item in items if item.get_closest_marker("slow"))
    out |= {item for item in slow if parts.part_of(item.nodeid, of_parts) != part}
    config.hook.pytest_deselected(items=[item for item in items if item in out])
    items[:] = [item for item in items if item not in out]


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[BEGUN] = time.monotonic()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Where the time of all is limited, as in CI, a test that begins too late is said to be left out."""
    seconds = item.config.getoption("--seconds")
    if seconds is not None and time.monotonic() - item.config.stash[BEGUN] > seconds:
        pytest.skip(LATE)


def pytest_collection_finish() -> None:
    """What has been imported and collected stays to the end, and no collection of garbage need look at it."""
    gc.collect()
    gc.freeze()


def _is_quick(config: pytest.Config) -> bool:
    return "fast" in config.getoption("markexpr").split(" and ")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    return refuse_skip(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    return refuse_skip(report)


def refuse_skip(report: Report) -> Report:
    """In CI (CI=true) a test that is skipped because a package is missing has failed: the installation is broken.

    CI_WITHOUT names, as a,b, the packages that a job leaves out on purpose.
    """
    reason = str(report.longrepr[-1]) if report.skipped and isinstance(report.longrepr, tuple) else ""
    missing = "could not import" in reason or "not installed" in reason or "is installed" in reason
    left_out = any(name and name in reason for name in os.environ.get("CI_WITHOUT", "").split(","))
    if missing and not left_out and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {reason}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests recorded as "printed", counts that a pass alone would hide, and a part of the slow tier."""
    passed = terminalreporter.stats.get("passed", [])
    lines = [value for report in passed for name, value in report.user_properties if name == "printed"]
    if lines:
        terminalreporter.section("one source on every array library")
        for line in sorted(lines):
            terminalreporter.write_line(str(line))
    part, of_parts = terminalreporter.config.getoption("--part")
    if of_parts > 1:
        outcomes = ("passed", "failed", "error", "skipped")
        reports = [report for name in outcomes for report in terminalreporter.stats.get(name, [])]
        count = len({report.nodeid for report in reports})
        late = sum(report.skipped and LATE in str(report.longrepr) for report in reports)
        said = f"slow tier: part {part} of {of_parts}, {count} tests"
        terminalreporter.section(f"{said}, {late} of them not begun for want of time" if late else said)
