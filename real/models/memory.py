"""Memory asked for before it is taken, and errors that name what did not fit and what would."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

_MEMINFO, _GROUP_LIMIT = Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max")
# What errors of the CPU allocator say, which has no error type of its own.
_CPU_REFUSALS = ("can't allocate memory", "not enough memory")


def available_bytes(device: torch.device | str) -> int | None:
    """Return the bytes that can still be allocated.

    Parameters
    ----------
    device : torch.device or str
        Where.

    Returns
    -------
    int or None
        On a GPU what is free or cached by torch, on a CPU what the system can give without
        swapping, at most the container's limit; None where that is unknown.

    Examples
    --------
    >>> available_bytes("meta") is None
    True
    """
    device = torch.device(device)
    if device.type == "cuda":
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        free, _total = torch.cuda.mem_get_info(device)
        return free + cached
    limits = [_system_bytes(), _group_bytes()] if device.type == "cpu" else []
    return min((limit for limit in limits if limit is not None), default=None)


def _system_bytes() -> int | None:
    """Return the bytes that the system can give, None if it does not say.

    On Linux this is MemAvailable, which counts the page cache as free; elsewhere the free pages.
    """
    try:
        for line in _MEMINFO.read_text().splitlines():
            # The line is as "MemAvailable:   12345 kB".
            if line.startswith("MemAvailable:"):
                _, kilobytes, _ = line.split()
                return int(kilobytes) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _group_bytes() -> int | None:
    """Return the bytes that are left of the container's limit; None without a limit."""
    try:
        used = int(_GROUP_LIMIT.with_name("memory.current").read_text())
        return int(_GROUP_LIMIT.read_text()) - used
    # There is no such file, or the limit is "max".
    except (OSError, ValueError):
        return None


def check_memory(
    needed: dict[str, int], device: torch.device | str, fit: Callable[[int], str] = lambda free: ""
) -> None:
    """Refuse tensors that cannot fit, before any is made.

    Parameters
    ----------
    needed : dict of str to int
        Bytes of each tensor, by name.
    device : torch.device or str
        Where they shall be.
    fit : callable, optional
        From the bytes available to words: the smallest change that fits.

    Raises
    ------
    ValueError
        Naming the largest tensor, the bytes needed and available, and what `fit` says.

    Examples
    --------
    >>> check_memory({"head": 8}, "cpu")
    """
    free, total = available_bytes(device), sum(needed.values())
    if free is None or total <= free:
        return
    largest = max(needed, key=needed.__getitem__)
    remedy = fit(free)
    raise ValueError(
        f"{total:,} bytes are needed on {device}, {free:,} are available; the largest tensor is {largest} of "
        f"{needed[largest]:,} bytes" + (f"; {remedy}" if remedy else "")
    )


@contextmanager
def explain_oom(what: str, remedy: str) -> Iterator[None]:
    """Turn a failed allocation of torch into a MemoryError that says what to do.

    Parameters
    ----------
    what : str
        What was being made, for example "keys and values of 8 texts".
    remedy : str
        What would fit, for example "a batch of 4".

    Raises
    ------
    MemoryError
        If torch runs out of memory inside, on a GPU or on the CPU; other errors pass.

    Examples
    --------
    >>> with explain_oom("a vector", "a shorter one"):
    ...     torch.zeros(3).sum().item()
    0.0
    """
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, torch.OutOfMemoryError) and not any(s in str(error) for s in _CPU_REFUSALS):
            raise
        reason = str(error).partition("\n")[0]
        raise MemoryError(f"{what} did not fit into memory; try {remedy} ({reason})") from error
