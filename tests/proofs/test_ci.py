"""CI checks the proofs where Coq is or can be installed, and says so elsewhere. The programs it calls are stand-ins."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "proofs"
MADE = "made -C proofs all lint audit oracle"
SAYS = "the tests of the oracle will be skipped"
MAKE = 'echo "made $*"'
UPDATES = 'for last in "$@"; do :; done; test "$last" = update'  # and installs nothing


def run(folder: Path, user: int = 0, **programs: str) -> subprocess.CompletedProcess[str]:
    """The script with no programs but these, each a line of shell."""
    for name in {"bash", "dirname", "timeout"} - programs.keys():
        (folder / name).symlink_to(str(shutil.which(name)))
    for name, line in {"id": f"echo {user}", **programs}.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    return subprocess.run([SCRIPT], env={"PATH": str(folder)}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("apt", [{}, {"apt-get": "exit 100"}, {"apt-get": UPDATES}])
def test_without_coq_it_says_so_and_goes_on(tmp_path: Path, apt: dict[str, str]) -> None:
    done = run(tmp_path, make=MAKE, **apt)
    assert done.returncode == 0
    assert SAYS in done.stdout
    assert MADE not in done.stdout


def test_with_coq_nothing_is_installed(tmp_path: Path) -> None:
    done = run(tmp_path, coqc="exit", make=MAKE, **{"apt-get": f"echo called >> {tmp_path}/log"})
    assert done.returncode == 0
    assert MADE in done.stdout
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize("user", [0, 1000])
def test_what_it_installs(tmp_path: Path, user: int) -> None:
    log = tmp_path / "log"
    programs = {"apt-get": f'echo "apt-get $*" >> {log}', "sudo": f'echo "sudo $*" >> {log}; shift; "$@"'}
    done = run(tmp_path, user, make=MAKE, **programs)
    assert done.returncode == 0
    assert MADE in done.stdout
    updated, installed = [line for line in log.read_text().splitlines() if line.startswith("apt-get")]
    assert updated.endswith(" update")
    assert " install -y --no-install-recommends make coq=8.16* libcoq-mathcomp-algebra " in installed
    assert ("sudo -n timeout -k 10 60 apt-get" in log.read_text()) == (user != 0)


def test_lists_that_cannot_be_updated_may_still_do(tmp_path: Path) -> None:
    done = run(tmp_path, make=MAKE, **{"apt-get": f"! {{ {UPDATES}; }}"})
    assert done.returncode == 0
    assert MADE in done.stdout


def test_an_apt_that_hangs_is_stopped(tmp_path: Path) -> None:
    """The limit is read from the call, so the test need not wait for it."""
    done = run(tmp_path, make=MAKE, timeout=f'echo "$*" >> {tmp_path}/log; exit 124', **{"apt-get": "exit 1"})
    assert done.returncode == 0
    assert SAYS in done.stdout
    assert [line.split()[:3] for line in (tmp_path / "log").read_text().splitlines()] == [
        ["-k", "10", "60"], ["-k", "10", "240"],
    ]  # fmt: skip


def test_a_proof_that_fails_is_a_failure(tmp_path: Path) -> None:
    assert run(tmp_path, coqc="exit", make="exit 2").returncode == 2
