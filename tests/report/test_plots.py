"""Plots show what the library says: what is handed to matplotlib is compared, and the files are made."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest
from helpers.pictures import faults
from typer.testing import CliRunner

from specsim import block_efficiency, context_boundary, estimate_hazards, latency, plan, roofline
from specsim import sweep as swept
from specsim.claims import rows as published
from specsim.claims.score import validate
from specsim.cli import app
from specsim.report import figure, heat_maps, plots

TIMES = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm", overhead_s=2e-4)
SHOWN = Path(__file__).parents[1] / "bench" / "plots"
NAMES = ("plan.png", "validation.png", "lengths.png")


def shown(draw: MagicMock, method: str, call: int = 0) -> list[np.ndarray]:
    return [np.asarray(v, dtype=float) for v in getattr(draw, method).call_args_list[call].args[:3]]


def test_the_surface_is_the_sweep() -> None:
    axis = MagicMock()
    heat_maps.by_cost(axis, TIMES, 0.7, 8, 500, 6)
    gammas, ratios, speed = shown(axis, "pcolormesh")
    assert gammas.tolist() == [1, 2, 3, 4, 5, 6]
    found = swept(TIMES, 0.7, gammas=range(1, 7), cost_ratios=ratios, batches=[8], contexts=[500])
    assert speed == pytest.approx(found[0, :, :, 0, 0].T)
    best, at = axis.plot.call_args_list[0].args[:2]
    assert (np.asarray(best), at.tolist()) == (pytest.approx(1 + speed.argmax(axis=1)), ratios.tolist())
    own = TIMES.draft(8, 500).value / TIMES.target(1, 8, 500).value
    assert axis.axhline.call_args.args[0] == pytest.approx(own)


def test_the_surface_of_a_log_ends_where_it_ends() -> None:
    axis = MagicMock()
    heat_maps.by_cost(axis, latency.constant(0.1), estimate_hazards([0, 1, 2], 2, counts=[5, 5, 10]), 1, 0, 16)
    assert shown(axis, "pcolormesh")[0].tolist() == [1, 2]


def test_the_plane_is_the_plan_with_its_boundary() -> None:
    axis = MagicMock()
    heat_maps.by_context(axis, TIMES, 0.7, 512, 4096, 8)
    batches, contexts, speed = shown(axis, "pcolormesh")
    points = [
        (int(b), int(s)) for b, s in [(batches[0], contexts[3]), (batches[-1], contexts[0]), (batches[9], contexts[-1])]
    ]
    for b, s in points:
        one = plan(TIMES, 0.7, batches=[b], contexts=[s], max_gamma=8)[0]
        assert speed[contexts.tolist().index(s), batches.tolist().index(b)] == one.speedup.value
    where, edge = (list(v) for v in axis.plot.call_args_list[0].args[:2])
    assert len(where) > 3
    for b, s in zip(where, edge, strict=True):
        assert s == context_boundary(TIMES, 0.7, batch=b, max_gamma=8, max_context=4096)


def test_the_map_of_lengths_and_batches_is_the_sweep() -> None:
    """Every cell holds its number, the best of each batch is framed, and 'off' is plain decoding."""
    axis, batches = MagicMock(), [1, 8, 64, 512]
    heat_maps.by_batch(axis, TIMES, 0.7, batches, 500, 5)
    columns, lengths, speed = shown(axis, "pcolormesh")
    assert (columns.tolist(), lengths.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3, 4, 5])
    found = swept(TIMES, 0.7, gammas=range(6), batches=batches, contexts=[500])
    assert speed == pytest.approx(found[0, :, 0, :, 0])
    written = {call.args[:2]: call.args[2] for call in axis.text.call_args_list}
    assert written == {(x, y): f"{speed[y, x]:.2f}" for x in range(4) for y in range(6)}
    frames = [call.args[0].get_xy() for call in axis.add_patch.call_args_list]
    best = [found.gamma or 0 for found in plan(TIMES, 0.7, batches=batches, contexts=[500], max_gamma=5)]
    assert frames == [(column - 0.5, length - 0.5) for column, length in enumerate(best)]
    assert len(set(best)) > 2
    assert axis.set_xticks.call_args.args[1] == ["1", "8", "64", "512"]
    assert axis.set_yticks.call_args.args[1] == ["off", "1", "2", "3", "4", "5"]


def test_many_batches_have_a_line_in_place_of_numbers() -> None:
    axis = MagicMock()
    heat_maps.by_batch(axis, TIMES, 0.7, range(1, 41), 500, 5)
    speed = shown(axis, "pcolormesh")[2]
    assert axis.text.call_count == axis.add_patch.call_count == 0
    assert axis.plot.call_args.args[1].tolist() == speed.argmax(axis=0).tolist()
    assert len(axis.set_xticks.call_args.args[0]) <= heat_maps.TICKS


def test_as_much_faster_is_as_far_from_white_as_slower() -> None:
    """White is plain decoding: on a straight scale 0.84 once had the darkest red."""
    axis = MagicMock()
    norm = heat_maps._cells(axis, [1, 2], [1], np.array([[0.8, 2.0]]))
    assert (norm(1.0), norm(2.0)) == (pytest.approx(0.5), 1.0)
    assert norm(0.8) - 0.5 == pytest.approx(0.5 - norm(1.25))
    bar = axis.figure.colorbar.return_value
    assert bar.ax.set_ylim.call_args.args == (0.8, 2.0)


def test_several_batches_are_drawn_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    for name in ("by_batch", "by_cost", "by_context"):
        monkeypatch.setattr(heat_maps, name, lambda *args, name=name, **more: drawn.append(name))
    monkeypatch.setattr(plots, "_figure", lambda draws, title: [draw(None) for draw in draws])
    plots.plan(TIMES, 0.7, [1], [500], max_gamma=4)
    plots.plan(TIMES, 0.7, [1, 8], [500], max_gamma=4)
    plots.plan(latency.constant(0.1), 0.7, [1], [500], max_gamma=4)
    assert drawn == ["by_cost", "by_context", "by_batch", "by_context", "by_cost"]


def test_the_scatter_has_every_predicted_row() -> None:
    found = validate(published.shipped(), fit=plots.FIT)
    axis = MagicMock()
    axis.get_xlim.return_value = (0, 4)
    plots.scatter(axis, found)
    dots = {
        (x, y) for call in axis.scatter.call_args_list for x, y in zip(*call.args[:2], strict=True)
    }  # fmt: skip
    assert dots == {(s.measured, s.predicted) for s in found.scores if s.predicted is not None}
    rings = [call for call in axis.scatter.call_args_list if call.kwargs["facecolors"] == "none"]
    assert sum(len(call.args[0]) for call in rings) == len(plots.FIT)


def test_three_laws_have_one_tau_and_are_not_one_law() -> None:
    mixed, alike, forced = plots.laws_of_one_tau().values()
    kept = np.arange(9)
    for law in (mixed, alike, forced):
        assert law.sum() == pytest.approx(1)
        assert kept @ law == pytest.approx(kept @ mixed)
    spread = [float(kept**2 @ law) for law in (mixed, alike, forced)]
    assert spread[0] > 1.1 * spread[1] > 1.1 * spread[2]
    mean = float(block_efficiency((0.3 + 0.97) / 2, gamma=8)) - 1
    assert kept @ mixed > mean + 1  # the mean acceptance underrates the mixture


def test_one_call_makes_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And each can be read: of `validation.png` neither axis counts anything."""
    made, as_png = [], figure.as_png
    monkeypatch.setattr(figure, "as_png", lambda one: made.append(one) or as_png(one))
    plots.write_all(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(NAMES)
    assert [faults(one, whole=name != "validation.png") for one, name in zip(made, NAMES, strict=True)] == [[], [], []]
    words = "plan --target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm 0.7 --plot mine.png"
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, shlex.split(words)).exit_code == 0
    assert (
        CliRunner().invoke(app, ["plan", "0.7", "--cost-ratio", "0", "--plot", str(tmp_path / "flat.png")]).exit_code
        == 0
    )
    for path in [*tmp_path.iterdir(), *(SHOWN / name for name in NAMES)]:
        data = path.read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert 5_000 < len(data) < 150_000


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"file is no folder$"):
        plots.write_all(tmp_path / "file")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    none = CliRunner().invoke(app, ["plan", "0.7", "--cost-ratio", "0", "--plot", str(tmp_path / "x.png")])
    assert (none.exit_code, none.stderr) == (
        2,
        "error: a plot needs matplotlib: install the extra `plot` (specsim-llm[plot])\n",
    )
