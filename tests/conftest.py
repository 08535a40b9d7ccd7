"""Options of the suite, and the threads it may use."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
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

SLOW = Path(__file__).with_name("slow.txt")
COLLECTED = pytest.StashKey[set[str]]()  # ids of all cases, of whatever tier
OUTCOMES = ("", "passed", "failed", "error", "skipped")  # "": before and after a test
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
    parser.addoption("--part", default="1/1", type=parts.read, help="K/N: only every N-th test, by a hash of its id")
    parser.addoption("--measure", action="store_true", help="write slow.txt anew for the cases that are run")


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the cases of slow.txt as slow; leave out GPU tests unless asked for, and tests of other parts.

    Where a GPU is asked for, its absence is a failure, not a skip.
    """
    config.stash[COLLECTED] = {item.nodeid for item in items}
    listed = set(SLOW.read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid in listed:
            item.add_marker(pytest.mark.slow)
    part, of_parts = config.getoption("--part")

    def is_wanted(item: pytest.Item) -> bool:
        if item.get_closest_marker("cuda") and config.getoption("--device") == "cpu":
            return False
        return parts.part_of(item.nodeid, of_parts) == part

    config.hook.pytest_deselected(items=[item for item in items if not is_wanted(item)])
    items[:] = [item for item in items if is_wanted(item)]


def pytest_collection_finish() -> None:
    """What has been imported and collected stays to the end, and no collection of garbage need look at it."""
    gc.collect()
    gc.freeze()


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
    every = (report for name in OUTCOMES for report in terminalreporter.stats.get(name, []))
    reports = [report for report in every if isinstance(report, pytest.TestReport)]
    part, of_parts = terminalreporter.config.getoption("--part")
    if of_parts > 1:
        terminalreporter.section(f"part {part} of {of_parts}: {len({r.nodeid for r in reports})} tests")
    if terminalreporter.config.getoption("--measure"):
        seconds: dict[str, float] = {}
        listed = SLOW.read_text(encoding="utf-8")
        killers = parts.killers((SLOW.parent / "mutants/lines.toml").read_text(encoding="utf-8"))
        for report in reports:
            if "slow" in report.keywords and report.nodeid not in listed.splitlines():
                continue  # marked in its file
            if report.nodeid in killers:
                continue  # however long it takes, the default suite has to kill the line
            seconds[report.nodeid] = seconds.get(report.nodeid, 0.0) + report.duration
        SLOW.write_text(parts.slow_cases(listed, seconds), encoding="utf-8")
