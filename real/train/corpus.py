"""The text that the bundled pair learns from: the standard library, split, tokenised and cut.

Every Python installation carries about ten megabytes of edited English and code under one licence,
so the bundled pair can be made again anywhere without a download.
"""

import hashlib
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

END = "<|endoftext|>"
# Characters of a user's file that stay on one side of the split.
PIECE = 16_384

# Folders that are left out: tests and tables are a third of the library by size, and are neither
# prose nor ordinary code. The last three are not the library's.
_LEFT_OUT = {"test", "tests", "idle_test", "encodings", "pydoc_data"}
_LEFT_OUT |= {"site-packages", "dist-packages", "__pycache__"}


@dataclass(frozen=True)
class Corpus:
    """Documents, split into text to learn from and text held out.

    Parameters
    ----------
    train, held_out : mapping
        Name -> text.
    sha256 : str
        Hash of all names and texts.
    """

    train: Mapping[str, str]
    held_out: Mapping[str, str]
    sha256: str


def stdlib_files() -> dict[str, Path]:
    """Find the running Python's standard-library sources.

    Returns
    -------
    dict
        POSIX path relative to the library's folder -> absolute path, sorted by the relative path.
        Tests, encodings and build-time configuration (it names machine paths) are left out.
    """
    root = Path(sysconfig.get_path("stdlib"))
    files = {path.relative_to(root): path for path in root.rglob("*.py")}
    return {
        name.as_posix(): files[name]
        for name in sorted(files)
        if not _LEFT_OUT.intersection(name.parts)
        and not any(part.startswith(("config-", "_sysconfigdata")) for part in name.parts)
    }


def stdlib_documents() -> dict[str, str]:
    """Read the standard library, one document per file.

    Returns
    -------
    dict
        Relative path -> text.
    """
    return {name: path.read_text(encoding="utf-8") for name, path in stdlib_files().items()}


def text_documents(paths: Sequence[Path]) -> dict[str, str]:
    """Read a user's text files, cut at line ends into documents of about 16 thousand characters.

    Parameters
    ----------
    paths : sequence of Path
        UTF-8 text files. They are cut so that even a single file leaves something to hold out.

    Returns
    -------
    dict
        ``"<number of the file>/<number of the piece>"`` -> text: independent of where the files
        lie.

    Raises
    ------
    ValueError
        If a file is missing or is not UTF-8.
    """
    documents = {}
    for number, path in enumerate(paths):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"text: cannot read {str(path)!r} as UTF-8 text ({error})") from error
        start = piece = 0
        while start < len(text):
            end = text.find("\n", start + PIECE) + 1 or len(text)
            documents[f"{number}/{piece}"] = text[start:end]
            start, piece = end, piece + 1
    return documents


def split(documents: Mapping[str, str], share: float = 0.06) -> Corpus:
    """Hold out the documents whose names hash lowest, until they make up `share` of the text.

    Parameters
    ----------
    documents : mapping
        Name -> text.
    share : float
        Share of the characters to hold out, in (0, 1).

    Returns
    -------
    Corpus
        A document is wholly on one side, and the side hardly depends on which others are there.
    """
    # Hold documents out in the order of their names' hashes, until their characters suffice.
    room = share * sum(map(len, documents.values()))
    held_out = set()
    for name in sorted(documents, key=lambda name: hashlib.sha256(name.encode()).digest()):
        if room <= 0:
            break
        held_out.add(name)
        room -= len(documents[name])

    # A hash of all; lengths keep names and texts apart.
    digest = hashlib.sha256()
    for name in sorted(documents):
        for part in (name.encode(), documents[name].encode()):
            digest.update(len(part).to_bytes(8, "big") + part)
    return Corpus(
        {name: text for name, text in documents.items() if name not in held_out},
        {name: text for name, text in documents.items() if name in held_out},
        digest.hexdigest(),
    )


def train_tokenizer(documents: Mapping[str, str], vocab: int = 2048, window: int = 512) -> Any:
    """Train a byte-level BPE tokenizer, which round-trips every UTF-8 text.

    Parameters
    ----------
    documents : mapping
        Name -> text to learn the merges from.
    vocab : int
        Entries, the 256 bytes and the end-of-text token included.
    window : int
        Longest sequence the models take, recorded with the tokenizer.

    Returns
    -------
    transformers.PreTrainedTokenizerFast
        Save it with ``save_pretrained``; ``AutoTokenizer.from_pretrained`` reads it back.
    """
    # Merges of bytes, as GPT-2's; one token begins and ends texts.
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents.values(), trainer)

    # In the form that transformers saves and loads.
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=END,
        eos_token=END,
        clean_up_tokenization_spaces=False,
        model_max_length=window,
    )


def token_stream(tokenizer: Any, documents: Mapping[str, str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Tokenise documents into one stream, each opened by the end-of-text token.

    Parameters
    ----------
    tokenizer : transformers tokenizer
        Its ``bos_token`` opens a document.
    documents : mapping
        Name -> text.

    Returns
    -------
    ndarray
        Token ids, int64.
    """
    if not documents:
        return np.empty(0, dtype=np.int64)
    texts = list(documents.values())
    ids = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
    stream = [token for row in ids for token in (tokenizer.bos_token_id, *row)]
    return np.array(stream, dtype=np.int64)


def cut_prompts(
    tokenizer: Any,
    documents: Mapping[str, str],
    count: int = 128,
    tokens: int = 32,
    seed: int = 0,
) -> list[tuple[str, str]]:
    """Cut short prompts at line starts, one document after the other so that they spread.

    Parameters
    ----------
    tokenizer : transformers tokenizer
        Counts the tokens; a prompt has three quarters to five quarters of `tokens` of them.
    documents : mapping
        Name -> text, held out.
    count, tokens, seed : int
        How many prompts, about how long, and the seed of the places.

    Returns
    -------
    list of (name, prompt)
        Fewer than `count` where the documents are too small.
    """
    # The lines at which a prompt may start, in random order: all that have more than three characters.
    rng = np.random.default_rng(seed)
    lines = {name: text.split("\n") for name, text in documents.items()}
    starts: dict[str, list[int]] = {}
    for name, document_lines in lines.items():
        starts[name] = [i for i, line in enumerate(document_lines) if len(line.strip()) > 3]
        rng.shuffle(starts[name])

    # One prompt of each document in turn, until there are enough.
    order = [name for name in rng.permutation(sorted(starts)) if starts[name]]
    prompts: list[tuple[str, str]] = []
    while order and len(prompts) < count:
        for name in list(order):
            start = starts[name].pop()
            if not starts[name]:
                order.remove(name)
            # Cut that many tokens from the lines that follow.
            following = "\n".join(lines[name][start : start + tokens])
            ids = tokenizer.encode(following, add_special_tokens=False, verbose=False)
            text = tokenizer.decode(ids[:tokens])
            # The cut may be inside a character, and the text that is left may have other tokens.
            size = len(tokenizer.encode(text, add_special_tokens=False))
            is_whole = "\ufffd" not in text and 3 * tokens <= 4 * size <= 5 * tokens
            if is_whole and len(prompts) < count:
                prompts.append((str(name), text))
    return prompts
