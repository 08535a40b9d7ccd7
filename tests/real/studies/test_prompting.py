"""`--prompts` of the studies: a file, or shipped prompts by name, in the chat template of a target that has one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer.main
from helpers.forwards import forbid, refusal
from safetensors.numpy import load_file
from typer.testing import CliRunner

import real.cli
from real import TINY, Warping, load
from real.models.loading import load_tokenizer
from real.options import read_prompts, read_shipped, shipped_set
from real.prompts import SETS, SPLITS, TASKS, shipped_prompts
from real.prompts.chat_template import chat_ids
from real.studies.plain import plain_texts
from real.studies.prompting import chosen_prompts, complete_prompts

TEMPLATE = "{% for m in messages %}def {{ m.role }}():\n    {{ m.content }}\n{% endfor %}"
COMMANDS = ("compare", "drafts", "rows")
FEW = ("--positions", "2", "--num-drafts", "2", "--samples", "2")
GONE = "cannot be read: No such file or directory"


@pytest.fixture(scope="module")
def chatty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled target with a chat template."""
    folder = tmp_path_factory.mktemp("chatty") / "target"
    shutil.copytree(TINY / "target", folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return folder


def run(*words: object) -> Any:
    return CliRunner().invoke(real.cli.app, [str(word) for word in words])


def rows_of(out: Path, *words: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """The file that `rows` writes for two prompts at temperature 0, and what it says."""
    ended = run("rows", *words, "--count", 2, "--max-tokens", 5, "--temperature", 0, "--out", out, "--json")
    assert ended.exit_code == 0, ended.output
    return load_file(out), json.loads(ended.stdout)


def texts_after(target: Path, prompts: list[list[int]]) -> list[int]:
    pair = load(target, TINY / "draft")
    texts = plain_texts(pair, prompts, max_tokens=5, warping=Warping(0), seed=0)
    return [token for text in texts for token in text]


def test_every_set_has_its_prompts() -> None:
    assert len(SETS) == 4 * (len(TASKS) + 1) == len(set(SETS))
    for name in SETS:
        assert shipped_set(Path(name)) == name
        task, split = name.split(":")
        wanted = [one.text for part in SPLITS if split in (part, "all") for one in shipped_prompts(task, part)]
        assert sorted(read_shipped(name)) == sorted(wanted)


def test_shipped_prompts_stand_in_the_target_s_template(chatty: Path, tmp_path: Path) -> None:
    """The texts are those after the template's tokens, and it is said that they are."""
    held, said = rows_of(tmp_path / "r.safetensors", chatty, TINY / "draft", "--prompts", "chat:test")
    pair = load(chatty, TINY / "draft")
    prompts = [chat_ids(pair.tokenizer, one.text) for one in shipped_prompts("chat", "test")[:2]]
    assert pair.tokenizer.decode(prompts[0]) == f"def user():\n    {shipped_prompts('chat', 'test')[0].text}\n"
    assert held["tokens"].tolist() == texts_after(chatty, prompts)
    assert (said["prompt_set"], said["chat_template"]) == ("chat:test", True)
    assert "chat" not in said


@pytest.mark.parametrize("words", [("--prompts", "chat:test"), ("--prompts", "chat:test", "--no-chat")])
def test_they_are_plain_text_for_a_target_without_one(words: tuple[str, ...], tmp_path: Path) -> None:
    held, said = rows_of(tmp_path / "r.safetensors", *words)
    tokenizer = load(TINY / "target", TINY / "draft").tokenizer
    prompts = [list(tokenizer(one.text)["input_ids"]) for one in shipped_prompts("chat", "test")[:2]]
    assert held["tokens"].tolist() == texts_after(TINY / "target", prompts)
    assert said["chat_template"] is False


def test_a_file_is_read_as_before(chatty: Path, tmp_path: Path) -> None:
    """No template is applied to it unless it is asked for; nor is anything new said of it."""
    file = tmp_path / "p.txt"
    file.write_text("import os\nx = 1\n")
    plain, said = rows_of(tmp_path / "a.safetensors", chatty, TINY / "draft", "--prompts", file)
    assert said.keys() == {"schema", "out", "texts", "tokens", "vocab", "lengths"}
    other, said = rows_of(tmp_path / "b.safetensors", chatty, TINY / "draft", "--prompts", file, "--chat")
    assert (said["chat"], said["chat_template"]) == (True, True)
    tokenizer = load(chatty, TINY / "draft").tokenizer
    lines = ["import os", "x = 1"]
    assert plain["tokens"].tolist() == texts_after(chatty, [tokenizer(line)["input_ids"] for line in lines])
    assert other["tokens"].tolist() == texts_after(chatty, [chat_ids(tokenizer, line) for line in lines])
    assert not np.array_equal(plain["tokens"], other["tokens"])


@pytest.mark.parametrize(
    "command",
    [("compare", "--gamma", "1"), ("compare", "--tree", "1,1"), ("drafts", *FEW)],
    ids=["chains", "trees", "drafts"],
)
def test_a_record_says_which_and_is_shown_again(command: tuple[str, ...], chatty: Path, tmp_path: Path) -> None:
    out = tmp_path / "record.json"
    words = (*command, chatty, TINY / "draft", "--count", "2", "--max-tokens", "4", "--out", out)
    assert run(*words, "--prompts", "story:test").exit_code == 0
    what = json.loads(out.read_text())["provenance"]
    assert (what["prompt_set"], what["chat_template"], what["prompts"]) == ("story:test", True, 2)
    assert "holds this study" in run(*words, "--prompts", "story:test").output.replace("\n", " ")
    for other in (("--prompts", "story:test", "--no-chat"), ("--prompts", "story:validation"), ()):
        assert "holds another study" in refusal(run(*words, *other))


def test_a_record_of_plain_prompts_has_no_new_field() -> None:
    plain = chosen_prompts(None, 5)
    assert plain.texts == read_prompts(TINY / "prompts.json")[:5]
    assert plain.asked == plain.applied(load_tokenizer(TINY / "target")) == {}
    assert chosen_prompts(None, 5, chat=False).asked == {"chat": False}


BAD = {
    "chta:test": "prompts chta:test: task 'chta' is unknown; did you mean 'chat'? known: chat, explain, list, story",
    "chat:tset": "prompts chat:tset: split 'tset' is unknown; did you mean 'test'? known: train, validation, test, all",
    "chat:": "prompts chat:: split '' is unknown; known: train",
    ":test": "prompts :test: task '' is unknown; known: chat",
    "human-eval:test": "task 'human-eval' is unknown; did you mean 'humaneval'?",
    "chat-test": f"prompts chat-test {GONE}; did you mean the shipped prompts chat:test?",
    "chat/test": f"prompts chat/test {GONE}; did you mean the shipped prompts chat:test?",
    "gone.txt": f"prompts gone.txt {GONE}",
    "folder/chat:test": f"prompts folder/chat:test {GONE}",
    "story:all": "prompts story:all is a file here, and the name of shipped prompts: rename the file",
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", BAD)
def test_a_name_that_is_none_is_refused_before_any_work(
    name: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("story:all").write_text("x\n")
    forbid(monkeypatch.setattr)
    shown = refusal(run(command, "--prompts", name))
    assert BAD[name] in shown
    assert name != "gone.txt" or "did you mean" not in shown


def test_a_file_may_have_a_colon_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine:too").write_text("one\ntwo\n")
    assert chosen_prompts(Path("mine:too"), 5).every == ["one", "two"] == read_prompts(Path("mine:too"))
    assert chosen_prompts(Path("mine:too"), 1).asked == {}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_template_that_is_not_there_is_said_before_any_work(command: str, tmp_path: Path) -> None:
    out = tmp_path / ("r.safetensors" if command == "rows" else "r.json")
    ended = run(command, "tiny", "--chat", "--count", "1", "--max-tokens", "4", "--out", out)
    assert ended.exit_code == 2
    wanted = "error: chat is asked for, but the target's tokenizer has no chat template: leave chat out"
    assert wanted in ended.stderr
    assert not out.exists()


def test_a_control_token_in_a_file_is_refused_with_a_template(chatty: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.txt"
    file.write_text("stop here<|endoftext|>\n")
    words = (
        "rows",
        chatty,
        TINY / "draft",
        "--prompts",
        file,
        "--max-tokens",
        "4",
        "--out",
        tmp_path / "r.safetensors",
    )
    ended = run(*words, "--chat")
    assert ended.exit_code == 2
    assert "holds '<|endoftext|>', a control token of the tokenizer" in ended.stderr
    assert run(*words).exit_code == 0


def test_names_and_files_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chapters").mkdir()
    for name in ("chapters/one.txt", "chats.txt", "[x].txt"):
        (tmp_path / name).write_text("")
    assert complete_prompts("chat:t") == ["chat:train", "chat:test"]
    assert complete_prompts("cha")[-2:] == ["chapters/", "chats.txt"]
    assert complete_prompts("chapters/") == ["chapters/one.txt"]
    assert complete_prompts("[") == ["[x].txt"]
    assert complete_prompts("no such name") == []
    assert set(complete_prompts("")) >= set(SETS)


def test_every_command_that_reads_prompts_takes_them() -> None:
    commands = typer.main.get_command(real.cli.app).commands  # type: ignore[attr-defined]
    takes = {name: {one.name for one in command.params} & {"prompts", "chat"} for name, command in commands.items()}
    assert {name for name, options in takes.items() if options} == set(COMMANDS)
    assert all(takes[name] == {"prompts", "chat"} for name in COMMANDS)
    shown = " ".join(run("compare", "-h").output.split())
    assert "shipped prompts, TASK:SPLIT such as chat:test" in shown
