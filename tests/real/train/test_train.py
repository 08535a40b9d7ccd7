"""The recipe of the bundled pair: corpus, tokenizer, training that resumes, saved files."""

import json
import signal
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer

import real
from real.train import corpus, evaluate, pair
from real.train import step as learn
from real.train.pair import train_pair
from real.train.recipe import Recipe, Shape

TINY = Recipe(
    vocab=320,
    window=64,
    batch=2,
    target=Shape(layers=2, hidden=32, ffn=48, heads=2),
    draft=Shape(layers=1, hidden=16, ffn=32, heads=1),
    target_steps=4,
    draft_steps=3,
    distil_steps=3,
    warmup=1,
    written=40,  # two calls of the target
)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("".join(f"def f{i}(x):\n    return x + {i * i}  # é\n" for i in range(2000)))
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, text: Path) -> Path:
    """Folder of an uninterrupted run."""
    out = tmp_path_factory.mktemp("whole")
    train_pair(out, TINY, text=[text], progress=False)
    return out


def weights(out: Path, name: str) -> dict[str, torch.Tensor]:
    model = AutoModelForCausalLM.from_pretrained(out / name)
    assert model.dtype == torch.bfloat16
    return dict(model.state_dict())


def interrupt_at(monkeypatch: pytest.MonkeyPatch, name: str, call: int) -> None:
    """Press Ctrl-C inside the `call`-th call of a function of the trainer."""
    calls = 0
    original: Callable[..., Any] = getattr(pair, name)

    def pressed(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            signal.raise_signal(signal.SIGINT)
        return original(*args, **kwargs)

    monkeypatch.setattr(pair, name, pressed)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("cross_entropy", 2),
        pytest.param("cross_entropy", 3, marks=pytest.mark.slow),  # as 2, a step later
        ("cross_entropy", 6),
        ("write", 1),
        ("divergence", 2),
    ],
)
def test_interrupted_run_ends_with_the_same_weights(
    tmp_path: Path, text: Path, whole: Path, monkeypatch: pytest.MonkeyPatch, name: str, call: int
) -> None:
    once = (name, call) == ("cross_entropy", 2)  # equal weights measure the same, which takes most of the time
    if not once:
        monkeypatch.setattr(pair, "evaluate", lambda *_: {})
    with monkeypatch.context() as patch:
        interrupt_at(patch, name, call)
        with pytest.raises(KeyboardInterrupt, match="checkpoint"):
            train_pair(tmp_path, TINY, text=[text], progress=False)
    assert not (tmp_path / "recipe.json").exists()
    torch.manual_seed(99)  # the global generator plays no part
    train_pair(tmp_path, TINY, text=[text], progress=False)
    assert not (tmp_path / "checkpoint.pt").exists()
    for model in ("target", "draft"):
        expected, found = weights(whole, model), weights(tmp_path, model)
        assert all(torch.equal(expected[key], found[key]) for key in expected)
    first, second = (json.loads((out / "recipe.json").read_text()) for out in (whole, tmp_path))
    assert second["measured"] == (first["measured"] if once else {})


def test_other_settings_refuse_the_checkpoint(tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_at(monkeypatch, "cross_entropy", 1)
    with pytest.raises(KeyboardInterrupt):
        train_pair(tmp_path, TINY, text=[text], progress=False)
    with pytest.raises(ValueError, match=r"distil_steps=7, but the unfinished run .* has distil_steps=3"):
        train_pair(tmp_path, replace(TINY, distil_steps=7), text=[text], progress=False)
    with pytest.raises(ValueError, match=r"target\.hidden=64"):
        train_pair(tmp_path, replace(TINY, target=Shape(2, 64, 48, 2)), text=[text], progress=False)
    with pytest.raises(ValueError, match="corpus_sha256"):
        train_pair(tmp_path, TINY, text=[text, text], progress=False)
    (tmp_path / "checkpoint.pt").write_bytes(b"cut short")
    with pytest.raises(ValueError, match=r"out: .*checkpoint\.pt' is not a checkpoint"):
        train_pair(tmp_path, TINY, text=[text], progress=False)


def test_a_loss_that_is_not_finite_ends_the_run(tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "cross_entropy", lambda model, ids: learn.cross_entropy(model, ids) * float("nan"))
    with pytest.raises(ValueError, match=r"^the loss of step 0 is nan: training has stopped there$"):
        train_pair(tmp_path, TINY, text=[text], progress=False)
    assert not (tmp_path / "recipe.json").exists()


def test_saved_pair_loads_and_records_its_recipe(whole: Path, text: Path) -> None:
    record = json.loads((whole / "recipe.json").read_text())
    assert record["recipe"]["target"]["hidden"] == 32
    assert 0 < record["measured"]["acceptance_t1.0"] <= 1
    assert record["measured"]["kl_written"] > 0
    for name in ("target", "draft"):
        tokenizer = AutoTokenizer.from_pretrained(whole / name)
        assert tokenizer.decode(tokenizer.encode("a  b\n\té", add_special_tokens=False)) == "a  b\n\té"
        assert len(tokenizer) == AutoModelForCausalLM.from_pretrained(whole / name).config.vocab_size
        assert tokenizer.convert_tokens_to_ids(corpus.END) == tokenizer.bos_token_id == tokenizer.eos_token_id == 0
    prompts = json.loads((whole / "prompts.json").read_text())
    held = corpus.split(corpus.text_documents([text])).held_out
    assert prompts["prompts"]
    for file, prompt in zip(prompts["files"], prompts["prompts"], strict=True):
        assert ("\n" + held[file]).find("\n" + prompt) >= 0  # from a line start of a held-out piece
        assert 24 <= len(tokenizer.encode(prompt, add_special_tokens=False)) <= 40


@pytest.mark.parametrize(("steps", "loss"), [(24, 3.5), pytest.param(60, 3.0, marks=pytest.mark.slow)])
def test_training_learns(tmp_path: Path, text: Path, steps: int, loss: float) -> None:
    recipe = replace(TINY, target_steps=steps, draft_steps=steps // 2, distil_steps=steps // 2, batch=8)
    measured = train_pair(tmp_path, recipe, text=[text], progress=False)["measured"]
    assert measured["target_loss"] < loss  # untrained: log 320 = 5.8
    assert measured["kl_held_out"] < measured["draft_loss"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target_steps": 0}, "target_steps must be at least 1, got 0"),
        ({"written": -3}, "written must be at least 1, got -3"),
        ({"draft_rate": float("nan")}, "draft_rate must be positive and finite, got nan"),
        ({"written_share": 1.5}, "written_share must be between 0 and 1, got 1.5"),
        ({"draft": Shape(1, 33, 8, 3)}, "draft needs positive sizes"),
    ],
)
def test_bad_recipe(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Recipe(**arguments)


def test_bad_arguments(tmp_path: Path, text: Path) -> None:
    def call(**changed: Any) -> None:
        arguments: dict[str, Any] = {"out": tmp_path, "recipe": TINY, "text": [text], "progress": False}
        train_pair(**(arguments | changed))

    with pytest.raises(ValueError, match="threads must be at least 1, got 0"):
        call(threads=0)
    with pytest.raises(ValueError, match=r"out: cannot write to .*text\.txt"):
        call(out=text)
    with pytest.raises(ValueError, match=r"text: cannot read .*missing\.txt"):
        call(text=[tmp_path / "missing.txt"])
    (binary := tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"text: cannot read .*binary.* as UTF-8"):
        call(text=[binary])
    for content in ("", "one line\n"):
        (small := tmp_path / "small.txt").write_text(content)
        with pytest.raises(ValueError, match=r"text: \d+ tokens .* do not fill one window of 64"):
            call(text=[small])


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return corpus.train_tokenizer({"a": "def f(x):\n    return x\n" * 9}, vocab=300)


@given(text=st.text(st.characters(codec="utf-8")))
def test_tokenizer_round_trips(tokenizer: Any, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_tokenizer_is_deterministic() -> None:
    documents = dict(list(corpus.stdlib_documents().items())[:30])
    first, second = (corpus.train_tokenizer(documents, vocab=600).backend_tokenizer.to_str() for _ in range(2))
    assert first == second


@given(
    documents=st.dictionaries(st.text(max_size=5), st.text(st.characters(codec="utf-8")), min_size=1),
    share=st.floats(0.01, 0.9),
)
def test_split_keeps_documents_whole(documents: dict[str, str], share: float) -> None:
    parts = corpus.split(documents, share)
    assert not parts.train.keys() & parts.held_out.keys()
    assert {**parts.train, **parts.held_out} == documents
    held = sum(map(len, parts.held_out.values()))
    longest = max(map(len, documents.values()))
    total = sum(map(len, documents.values()))
    assert share * total - 1e-6 <= held <= share * total + longest


def test_split_hardly_moves_when_documents_change() -> None:
    documents = {f"{i}.py": "x" * (50 + i % 7) for i in range(1000)}
    before = corpus.split(documents)
    after = corpus.split({name: text for name, text in documents.items() if int(name[:-3]) % 10})
    assert before.sha256 != after.sha256
    assert len(after.held_out.keys() - before.held_out.keys()) < 15


def test_standard_library_is_found_without_tests() -> None:
    files = corpus.stdlib_files()
    assert {"ast.py", "json/decoder.py"} <= files.keys()
    assert list(files) == sorted(files, key=lambda name: Path(name))
    assert not any("/test" in name or "encodings/" in name or "_sysconfigdata" in name for name in files)


def test_an_epoch_holds_every_window_once() -> None:
    stream = torch.arange(1000)
    seen = torch.cat([learn.batch_at(stream, step, 3, 64, seed=5)[:, 0] for step in range(4)])
    assert len(set(seen.tolist())) == 12
    assert len({int(start) % 64 for start in seen}) == 1  # windows of one pass share their offset
    assert torch.equal(learn.batch_at(stream, 7, 3, 64, 5), learn.batch_at(stream, 7, 3, 64, 5))
    assert learn.batch_at(stream[:64], 3, 2, 64, seed=0).shape == (2, 64)


def test_compare_is_exact_on_identical_models() -> None:
    model = learn.build(Shape(1, 16, 32, 1), vocab=300, window=64, seed=0).eval()
    ids = evaluate.write(model, torch.zeros(4, 1, dtype=torch.long), 20, seed=3)
    found = evaluate.compare(model, model, ids)
    assert found == pytest.approx({"kl": 0.0, "acceptance": 1.0, "greedy_match": 1.0}, abs=1e-6)
    greedy = evaluate.write(model, ids[:, :5], 12, temperature=0.0)
    with torch.no_grad():
        again = model(greedy[:, :-1]).logits.argmax(-1)
    assert torch.equal(again[:, 4:], greedy[:, 5:])


def test_bundled_pair_is_what_its_recipe_says() -> None:
    folder = real.TINY
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 16 * 2**20
    record = json.loads((folder / "recipe.json").read_text(encoding="utf-8"))
    assert record["recipe"] == asdict(Recipe())
    target, draft = (
        AutoModelForCausalLM.from_pretrained(folder / name, dtype=torch.float32) for name in ("target", "draft")
    )
    tokenizer = AutoTokenizer.from_pretrained(folder / "target")
    assert tokenizer.get_vocab() == AutoTokenizer.from_pretrained(folder / "draft").get_vocab()
    prompts = json.loads((folder / "prompts.json").read_text(encoding="utf-8"))["prompts"]
    ids = [tokenizer.encode(prompt, add_special_tokens=False) for prompt in prompts]
    assert len(ids) == 128
    assert all(24 <= len(row) <= 40 for row in ids)
    # Other prompts than the record's, so only about what it says.
    text = evaluate.write(target, torch.tensor([row[:24] for row in ids[:32]]), 64)
    found = evaluate.compare(target, draft, text, start=24)
    assert found["acceptance"] == pytest.approx(record["measured"]["acceptance_t1.0"], abs=0.05)
    assert found["kl"] == pytest.approx(record["measured"]["kl_written"], abs=0.15)
