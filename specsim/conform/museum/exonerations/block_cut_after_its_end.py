"""A block is verified whole, and cut afterwards."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = (
    "Positions behind an end token or a limit are verified and drawn for nothing; they are cut from the block, and "
    "what stays has its law."
)
THREAD = ""
EXPECTED = "lossless"
PROPERTY = ""


def run(p: Array, q: Array, drafts: Array, random: Any, *, end: int | None, limit: int | None) -> list[int]:
    """Test tokenwise; look for the end token and the limit in what came out."""
    out, law = [], p[-1]
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            law = residual(p[i], q[i])
            break
        out.append(int(x))
    out = [*out, draw(random, law)][:limit]
    return out[: out.index(end) + 1] if end in out else out


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("block_cut_after_its_end", "chain", run, sizes=SIZES, returns="tokens", stops=True)
