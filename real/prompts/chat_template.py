"""A user's turn as the tokens that a chat model expects, by the model's own template."""

from __future__ import annotations

from collections import Counter
from typing import Any

# The day that Llama 3's templates write; it is their default. A prompt must have the same tokens
# tomorrow.
_DATE = "26 Jul 2024"
# A text without control tokens, which shows what the template writes around it.
_NEUTRAL = "a"


def has_template(tokenizer: Any) -> bool:
    """True if a tokenizer has a chat template."""
    return bool(getattr(tokenizer, "chat_template", None))


def prompt_ids(tokenizer: Any, text: str, chat: bool) -> list[int]:
    """Return the tokens of a prompt: as it stands, or with `chat` those of `chat_ids`."""
    if not isinstance(chat, bool):
        from specsim.base import check

        raise TypeError(f"chat must be True or False, got {check.shown(chat)}")
    return chat_ids(tokenizer, text) if chat else list(tokenizer(text)["input_ids"])


def chat_ids(tokenizer: Any, text: str) -> list[int]:
    """Return the tokens of a conversation: a user's text, and the opening of the model's answer.

    They are those of `tokenizer.apply_chat_template`: what the template writes is all there is, so
    that a beginning of text stands there once or not at all, as the template has it.

    Parameters
    ----------
    tokenizer : PreTrainedTokenizerBase
        One with a chat template.
    text : str
        What the user says. Templates may strip white space around it.

    Returns
    -------
    list of int
        Token ids, to be decoded after as they are.

    Raises
    ------
    ValueError
        No template, one that fails or leaves the text out, or a control token inside the text: it
        could end the user's turn and speak for the model.

    Examples
    --------
    >>> from transformers import AutoTokenizer
    >>> from real import TINY
    >>> tokenizer = AutoTokenizer.from_pretrained(TINY / "target")
    >>> tokenizer.chat_template = "{% for m in messages %}[{{ m.content }}]{% endfor %}"
    >>> tokenizer.decode(chat_ids(tokenizer, "hello"))
    '[hello]'
    """
    # Write the conversation by the template.
    if not has_template(tokenizer):
        raise ValueError("the tokenizer has no chat template: decode after plain text")
    rendered = _rendered(tokenizer, text)
    if text.strip() not in rendered:
        raise ValueError(f"the tokenizer's chat template leaves the prompt out: {text!r:.60}")

    # Refuse control tokens beyond those that the template writes around any text.
    neutral, ids = (_encoded(tokenizer, whole) for whole in (_rendered(tokenizer, _NEUTRAL), rendered))
    unexpected = Counter(ids) - Counter(neutral)
    for token_id, token in _control_tokens(tokenizer, neutral).items():
        is_unknown = token_id == tokenizer.unk_token_id and token not in text
        if unexpected[token_id] and not is_unknown:
            raise ValueError(
                f"prompt {text!r:.60} holds {token!r}, a control token of the tokenizer: write it in another way, or "
                "decode after plain text"
            )
    return ids


def _rendered(tokenizer: Any, text: str) -> str:
    """Return the conversation as the template writes it; raise ValueError if it cannot."""
    turns = [{"role": "user", "content": text}]
    # A template is somebody else's program, and may raise anything.
    try:
        written = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, date_string=_DATE)
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"the tokenizer's chat template fails: {reason:.200}") from None
    return str(written)


def _encoded(tokenizer: Any, text: str) -> list[int]:
    """Return the tokens of a template's text; it has its special tokens, so none is added."""
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _control_tokens(tokenizer: Any, template_ids: list[int]) -> dict[int, str]:
    """Return the ids and texts of tokens that steer a model.

    They are special tokens, and added ones that its template writes.
    """
    added = tokenizer.added_tokens_decoder
    used = set(template_ids)
    return {i: token.content for i, token in added.items() if token.special or (i in used and token.content.strip())}
