"""Models and drafters by name: a name of the table, a hub id, a config.json, a kind of drafter."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from specsim.base.unknown import unknown
from specsim.commands.plan.share import LOOKED_UP
from specsim.latency import ModelShape
from specsim.latency.drafters import DRAFTERS, of_target
from specsim.latency.gguf_header import is_gguf
from specsim.latency.shape import as_eagle

# Kinds of drafters that are asked for by name, and have no shape of their own here.
UNKNOWN = ("medusa", "hydra", "lookahead", "dflash", "pard", "peagle", "p-eagle", "dspark", "mlp_speculator", "eagle2")

# Those of them that make a whole block in one pass.
IN_ONE_PASS = ("medusa", "dflash", "pard", "peagle", "p-eagle", "dspark")

# Drafters by their kind, as an error calls them.
DESCRIBED = {
    **{"eagle": "EAGLE head", "eagle3": "EAGLE-3 head", "peagle": "P-EAGLE head", "dflash": "DFlash head"},
    **{"parallel": "it fills masks in one pass, as PARD does", "mtp": "multi-token prediction module"},
}
# Width from which a model of one layer is taken for an EAGLE head: models that decode alone are narrower or deeper.
LEAST_HEAD = 1024


class Drafter(NamedTuple):
    """A drafter: its shape (None: n-grams are looked up), its method, and notes for the reader."""

    shape: ModelShape | None
    method: str
    notes: tuple[str, ...] = ()


def shape(name: str) -> ModelShape:
    """Return the shape of a model of the table, of a config.json (or its folder), or of a GGUF file."""
    path = Path(name)
    if path.suffix == ".json" or is_gguf(path) or (path / "config.json").is_file():
        return ModelShape.from_config(path)
    return ModelShape.named(name)


def target(name: str) -> ModelShape:
    """Return the shape of a target; ValueError for a drafter, which no engine decodes with alone."""
    model = shape(name)
    is_head = model.layers == 1 and model.hidden >= LEAST_HEAD
    if not model.drafter and not is_head:
        return model
    kind = DESCRIBED.get(model.drafter, f"EAGLE head, by its one layer, {model.hidden} wide")
    raise ValueError(
        f"--target {name} is a drafter ({kind}) and does not decode alone; give it as --draft, and as --target the "
        "model that it drafts for, by its name or the path of its config.json"
    )


def config_notes(model: ModelShape) -> list[str]:
    """Return notes on what a config does not say, and on what of it is not understood."""
    notes = [f"its config {note}" for note in model.notes]
    if model.unread:
        fields = ", ".join(model.unread)
        notes.append(f"these fields of its config are not understood, and nothing is counted for them: {fields}")
    if model.assumed:
        fields = ", ".join(model.assumed)
        notes.append(f"its config leaves out, and its model_type's own code takes: {fields}")
    return [f"{model.name}: {note}" for note in notes]


def drafter(name: str, target: ModelShape, scored: int | None) -> Drafter:
    """Return the drafter of a name: a model, or eagle, eagle3, mtp, ngram, suffix, or the hub id of an EAGLE head."""
    # A drafter that is looked up, or that has the shape of a layer of the target.
    kind = name.lower()
    if kind in LOOKED_UP:
        return Drafter(None, kind, ("drafts are looked up: no pass drafts, and what the look-up costs is --overhead",))
    if kind not in DRAFTERS and "/" in name and "eagle" in kind and not Path(name).exists():
        kind = "eagle3" if "eagle3" in kind or "eagle-3" in kind else "eagle"
    if kind in DRAFTERS:
        draft_shape = of_target(target, kind, scored=scored or 0)
        heads = f"its head scores {draft_shape.scored or draft_shape.vocab} tokens"
        origin = f"the shape is that of one layer of {target.name}, and {heads}"
        note = f"{name}: {origin}; give the head's config.json for its own"
        return Drafter(draft_shape, kind, (note,))
    if kind in UNKNOWN and not Path(name).exists():
        way = "--cost-ratio, its draft step over a target step"
        if kind in IN_ONE_PASS:
            way = "--cost-ratio, its pass over a target step, and --one-pass"
        raise ValueError(
            f"--draft {name}: a drafter of this kind has no shape here (those that have: {', '.join(DRAFTERS)}; "
            f"DFlash, PARD and P-EAGLE by their config.json); plan it by {way}"
        )

    # A model of its own.
    try:
        draft_shape = shape(name)
    except ValueError:
        if not Path(name).exists() and get_close_matches(kind, DRAFTERS, 1, 0.75):
            raise unknown("--draft", kind, DRAFTERS, "kinds of drafters") from None
        raise
    notes = [*named_after(name, draft_shape)]
    if (
        draft_shape.layers == 1
        and not draft_shape.drafter
        and draft_shape.hidden == target.hidden
        and target.layers > 1
    ):
        # EAGLE heads of the first kind are configs of plain decoders with one layer.
        draft_shape = as_eagle(draft_shape, "eagle")
        notes.append(
            f"{draft_shape.name}: one layer as wide as the target's is taken for an EAGLE head, by its shape alone"
        )
    if scored is not None:
        if scored > draft_shape.vocab:
            raise ValueError(f"draft_vocab is {scored}, more than the draft's vocabulary of {draft_shape.vocab}")
        draft_shape = draft_shape._replace(scored=scored)
    return Drafter(draft_shape, draft_shape.drafter or "model", tuple(notes))


def named_after(name: str, model: ModelShape) -> tuple[str, ...]:
    """Return a note on which shape of the table a hub id is taken to have."""
    if Path(name).exists() or "/" not in name:
        return ()
    return (f"{name} is taken to have the shape of {model.name}",)
