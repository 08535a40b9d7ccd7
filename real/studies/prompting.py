"""The prompts of a study: those that the options name, and their tokens for a target."""

from __future__ import annotations

from dataclasses import dataclass
from glob import escape, glob
from pathlib import Path
from typing import Annotated, Any

import typer

from real import TINY
from real.options import positive, read_prompts, read_shipped, shipped_set
from real.prompts import SETS
from real.prompts.chat_template import has_template, prompt_ids
from real.studies.settings import PROMPTS

_HELP = (
    "Text file, one prompt a line; JSON with a list `prompts`; or shipped prompts, TASK:SPLIT such as chat:test or "
    "humaneval:test. [default: chat:test for smollm2, else those of the bundled pair]"
)


def complete_prompts(incomplete: str) -> list[str]:
    """Return the names of shipped prompts, and the files and folders here, that begin so."""
    names = [name for name in SETS if name.startswith(incomplete)]
    paths = sorted(glob(f"{escape(incomplete)}*"))
    return names + [f"{path}/" if Path(path).is_dir() else path for path in paths]


PromptsOption = Annotated[
    Path | None,
    typer.Option("--prompts", help=_HELP, autocompletion=complete_prompts, show_default=False, rich_help_panel=PROMPTS),
]
ChatOption = Annotated[
    bool | None,
    typer.Option(
        "--chat/--no-chat",
        help="Whether the target's chat template is written around each prompt. [default: around shipped prompts, if "
        "the target has one]",
        show_default=False,
        rich_help_panel=PROMPTS,
    ),
]


@dataclass(frozen=True)
class Prompts:
    """Prompts that a study decodes after.

    Parameters
    ----------
    every : list of str
        All of them.
    count : int
        How many the study decodes after, from the first.
    name : str or None
        Their name if they are shipped (see `real.prompts.SETS`); None for a file.
    chat : bool or None
        Whether the target's chat template is applied; None: as `uses_template` says.
    """

    every: list[str]
    count: int
    name: str | None = None
    chat: bool | None = None

    @property
    def texts(self) -> list[str]:
        """Return the prompts that the study decodes after."""
        return self.every[: self.count]

    @property
    def asked(self) -> dict[str, Any]:
        """Return the entries of a provenance that are known before a target is loaded.

        The number of prompts and their digest stand beside them in the provenance.
        """
        entries = {"prompt_set": self.name, "chat": self.chat}
        return {key: value for key, value in entries.items() if value is not None}

    def applied(self, tokenizer: Any) -> dict[str, bool]:
        """Return the entries of a provenance that are known once the target is loaded.

        They say whether its template is applied, where prompts were shipped or chat was named.
        """
        return {"chat_template": self.uses_template(tokenizer)} if self.asked else {}

    def uses_template(self, tokenizer: Any) -> bool:
        """Return whether the target's chat template is applied.

        By default it is applied to shipped prompts, if the target has one.
        """
        if self.chat and not has_template(tokenizer):
            raise ValueError("chat is asked for, but the target's tokenizer has no chat template: leave chat out")
        if self.chat is None:
            return self.name is not None and has_template(tokenizer)
        return self.chat

    def encoded(self, tokenizer: Any, texts: list[str] | None = None) -> list[list[int]]:
        """Return the tokens of the texts that are decoded after, or of other prompts of these."""
        chosen = self.texts if texts is None else texts
        is_chat = self.uses_template(tokenizer)
        return [prompt_ids(tokenizer, text, is_chat) for text in chosen]


def chosen_prompts(path: Path | None, count: int, chat: bool | None = None) -> Prompts:
    """Return the prompts that the options name; those of the bundled pair without a name.

    Parameters
    ----------
    path : Path or None
        A file, or the name of shipped prompts.
    count : int
        How many are decoded after, from the first.
    chat : bool, optional
        Whether to apply the target's chat template.

    Raises
    ------
    ValueError
        A file that holds no prompts, an unknown name, or a count below 1.
    """
    name = None if path is None else shipped_set(path)
    all_prompts = read_prompts(path or TINY / "prompts.json") if name is None else read_shipped(name)
    return Prompts(all_prompts, positive(count, "count"), name, chat)
