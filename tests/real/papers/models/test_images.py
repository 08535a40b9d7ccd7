"""Digits, the loop that learns them, and weights that know their recipe."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import real.cli
from real.papers.models import store, train
from real.papers.models.images import data, raster
from real.papers.models.train import makers
from real.train.loop import Schedule, fit
from real.train.recipe import learning_rate

MOST_BYTES = 2_000_000  # of all weights together: they are in the wheel


def test_digits_are_those_of_the_package() -> None:
    from sklearn.datasets import load_digits

    known, found = load_digits(), data.digits()
    assert found.images.shape == (1797, data.PIXELS)
    assert (int(found.images.min()), int(found.images.max())) == (0, data.LEVELS - 1)
    theirs = sorted(map(tuple, torch.tensor(known.data).clamp(max=data.LEVELS - 1).long().tolist()))
    assert sorted(map(tuple, found.images.tolist())) == theirs
    assert torch.equal(found.labels.bincount(), torch.tensor(known.target).bincount())
    assert not torch.equal(found.labels, torch.tensor(known.target)), "in an order of their own"


def test_what_is_held_out_is_not_learned() -> None:
    whole = data.digits()
    learned, held_out = whole.learned(), whole.held_out()
    assert (len(learned.images), len(held_out.images)) == (1597, data.HELD_OUT)
    assert torch.equal(torch.cat([learned.images, held_out.images]), whole.images)
    assert torch.equal(torch.cat([learned.labels, held_out.labels]), whole.labels)


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "sklearn"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    data.digits.cache_clear()
    with pytest.raises(ImportError, match=r"^reading the digits needs sklearn: install the extra `images` \(") as told:
        data.digits()
    assert "\n" not in str(told.value)


def line(seed: int, said: Any = lambda words: None) -> tuple[nn.Module, list[float]]:
    """A small regression, learned for some steps: the model, and its losses."""
    drawn = torch.Generator().manual_seed(seed)
    x = torch.randn(64, 3, generator=drawn)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    losses: list[float] = []

    def loss(step: int) -> torch.Tensor:
        assert step == len(losses)
        value = (model(x) - y).square().mean()
        losses.append(value.item())
        return value

    fit(model, loss, Schedule(60, 0.3), show_stage=said)
    return model, losses


def test_the_loop_learns_and_repeats() -> None:
    words: list[str] = []
    threads = torch.get_num_threads()
    model, losses = line(0, words.append)
    assert losses[-1] < losses[0] / 10
    assert not model.training
    assert torch.get_num_threads() == threads
    assert (words[0].startswith("step 1 of 60: loss "), words[-1].startswith("step 60 of 60: loss ")) == (True, True)
    assert line(0)[1] == losses
    assert line(1)[1] != losses


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of weights of its own."""
    monkeypatch.setattr(store, "WEIGHTS", tmp_path)
    return tmp_path


def test_weights_come_back_rounded(folder: Path) -> None:
    made, read = nn.Linear(3, 2), nn.Linear(3, 2)
    store.save("toy", made, {"steps": 1})
    assert store.load("toy", read, {"steps": 1}) is read
    assert read.weight.dtype == torch.float32
    assert torch.equal(read.weight, made.weight.to(torch.bfloat16).float())
    assert (read.training, [path.name for path in folder.iterdir()]) == (False, ["toy.safetensors"])


def test_each_optimizer_has_its_share_of_the_rate() -> None:
    group = {"lr": 0.0, "scale": 0.25}
    learner: Any = SimpleNamespace(param_groups=[group], step=lambda: rates.append(group["lr"]), zero_grad=lambda: None)
    rates: list[float] = []
    weight = nn.Linear(1, 1)
    fit(weight, lambda step: weight.weight.sum(), Schedule(6, 0.8, warmup=2), learners=[learner])
    assert rates == [0.25 * learning_rate(step, 6, 0.8, 2) for step in range(6)]


def test_weights_of_another_recipe_are_refused(folder: Path) -> None:
    store.save("toy", nn.Linear(3, 2), {"steps": 1, "rate": 0.1})
    assert store.load("toy", nn.Linear(3, 2), {"rate": 0.1, "steps": 1}), "the order of names says nothing"
    with pytest.raises(ValueError, match=r"^weights of toy were made by recipe \w{16}, not \w{16}: .*train-images toy"):
        store.load("toy", nn.Linear(3, 2), {"steps": 2, "rate": 0.1})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "weights of toy are not there: `specsim-real train-images toy` makes them anew"),
        (b"no weights", "weights of toy cannot be read, the file is broken: "),
    ],
)
def test_weights_that_cannot_be_read(folder: Path, content: bytes | None, words: str) -> None:
    if content is not None:
        (folder / "toy.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=f"^{words}"):
        store.load("toy", nn.Linear(3, 2), {})


def test_weights_of_another_shape(folder: Path) -> None:
    store.save("toy", nn.Linear(3, 2), {})
    with pytest.raises(ValueError, match=r"^weights of toy do not fit the model that its recipe makes"):
        store.load("toy", nn.Linear(2, 2), {})


def test_what_is_shipped_is_what_recipes_make() -> None:
    """Every model has its weights, made by the recipe in its file; nothing else lies there; all of it is small."""
    known = makers()
    assert {"raster_target", "raster_draft"} <= known.keys()
    assert {path.stem for path in store.WEIGHTS.iterdir()} == set(known)
    for name, maker in known.items():
        assert not maker.model(name).training, name
    assert sum(path.stat().st_size for path in store.WEIGHTS.iterdir()) < MOST_BYTES


@pytest.mark.parametrize(("name", "most"), [("raster_target", 1.14), ("raster_draft", 1.46)])
def test_the_raster_models_know_digits(name: str, most: float) -> None:
    model = raster.model(name)
    told = raster.held_out(name, model)
    assert 1 < told < most
    texts = raster.texts(data.digits().held_out())[:20]
    laws = raster.laws(model, texts[:, :-1])
    assert laws.shape == (20, 64, data.LEVELS)
    torch.testing.assert_close(laws.sum(-1), torch.ones(20, 64))
    every = raster.energy(model, raster.texts(data.digits().held_out()))
    assert every.mean().item() == pytest.approx(told, abs=1e-5)
    sharp = raster.laws(model, texts[:, :-1], temperature=0.5)
    assert (sharp.max(-1).values >= laws.max(-1).values - 1e-6).all()


def test_bad_input_of_the_raster_models() -> None:
    with pytest.raises(ValueError, match=r"^labels are digits from 0 to 9, got 3 to 10$"):
        raster.opening(torch.tensor([3, 10]))
    with pytest.raises(ValueError, match=r"^name 'nonsense' is no raster model; known: raster_target, raster_draft$"):
        raster.train("nonsense")


@pytest.mark.slow  # five seconds of training
def test_training_again_gives_the_same_model() -> None:
    """As far as another processor adds in the same order; rounding to bfloat16 takes nothing that is seen."""
    trained = raster.held_out("raster_draft", raster.train("raster_draft"))
    assert trained == pytest.approx(raster.held_out("raster_draft", raster.model("raster_draft")), abs=0.01)


def toy(name: str, train: Any = lambda name, said: nn.Linear(3, 2)) -> Any:
    """A file that trains one model."""
    return SimpleNamespace(
        RECIPES={name: {"of": name}},
        train=train,
        model=lambda name: store.load(name, nn.Linear(3, 2), {"of": name}),
        held_out=lambda name, module: 0.5,
        UNIT="nats",
    )


def told(*words: str) -> Any:
    return CliRunner().invoke(real.cli.app, ["train-images", *words])


def test_the_command_trains_saves_and_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "makers", lambda: {"one": toy("one"), "two": toy("two")})
    ended = told("two", "--markdown")
    assert ended.exit_code == 0, ended.output
    assert ended.stdout.splitlines()[-1] == "| two | 8 | 0 | 0.500 | nats |"
    assert [path.name for path in folder.iterdir()] == ["two.safetensors"]


def test_an_interrupted_training_keeps_what_was_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(name: str, said: Any) -> nn.Module:
        said("step 1 of 2")
        raise KeyboardInterrupt

    monkeypatch.setattr(train, "makers", lambda: {"one": toy("one"), "two": toy("two", stopped)})
    ended = told("--json")
    assert ended.exit_code == 130
    assert "interrupted: 1 of 2 models are saved" in ended.stderr
    assert [path.name for path in folder.iterdir()] == ["one.safetensors"]


def test_an_unknown_model_is_one_line() -> None:
    ended = told("nonsense")
    assert (ended.exit_code, ended.stderr.count("\n")) == (2, 1)
    assert ended.stderr.startswith("error: model 'nonsense' is unknown; known: ")
    assert "raster_target" in ended.stderr


def test_a_file_is_all_that_a_model_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import real.papers.models.images

    (tmp_path / "own.py").write_text('"""Own."""\nRECIPES = {"own": {}}\n')
    monkeypatch.setattr(real.papers.models.images, "__path__", [*real.papers.models.images.__path__, str(tmp_path)])
    assert makers()["own"].__name__ == "real.papers.models.images.own"
    (tmp_path / "twice.py").write_text('"""The same name."""\nRECIPES = {"own": {}}\n')
    with pytest.raises(ValueError, match=r"^model 'own' is made by two files, real\.\S+\.own and real\.\S+\.twice"):
        makers()
    for name in ("own", "twice"):
        sys.modules.pop(f"real.papers.models.images.{name}", None)
