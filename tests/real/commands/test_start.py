"""What the commands say before torch is imported: what is wrong with paths and options, or what is loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from real import TINY
from real.load_pair import load

FOLDERS = f"{TINY / 'target'} {TINY / 'draft'}"
BAD = {
    "compare /no/such/dir x": "/no/such/dir is no directory; looked for one with config.json",
    f"compare {TINY / 'target'} /no/such/dir": "/no/such/dir is no directory",
    "compare ./a ./b --tree 2,1": "./a is no directory",
    "compare tiny lm": "tiny is a pair, target and draft: leave out the draft lm",
    "compare owner/a": "owner/a needs a draft: give both models, or name a pair, tiny or smollm2",
    "compare smolm2": "there is no directory 'smolm2' here; an id of the hub is written owner/name; "
    "did you mean 'smollm2'? pairs by name: tiny, smollm2",
    "compare tinier": "there is no directory 'tinier' here; an id of the hub is written owner/name; pairs by name",
    "compare smollm2 lowrank": "there is no directory 'lowrank' here; an id of the hub is written owner/name; "
    "did you mean 'smollm2/lowrank'?",
    "compare smollm2/lowrank": "smollm2/lowrank is a draft model of smollm2: name it as the draft",
    "compare a.gguf": "a.gguf cannot be read: No such file or directory",
    "compare empty empty": "empty is no model: looked for config.json and *.safetensors, found nothing",
    "compare pickled pickled": "pickled holds pytorch_model.bin but no *.safetensors",
    "compare mute mute": "mute holds no tokenizer: looked for tokenizer.json",
    "drafts /no/such/dir x": "/no/such/dir is no directory",
    "rows /no/such/dir x --out r.safetensors": "/no/such/dir is no directory",
    f"compare {FOLDERS} --dtype float8": "dtype 'float8' is unknown; did you mean 'float64'? known: ",
    "rows --dtype int8 --out r.safetensors": "dtype 'int8' is unknown",
    "forced --dtype half": "dtype 'half' is unknown",
    "compare tiny --weights int8 --device cuda": "weights int8 are for float32 and bfloat16 on a CPU, got float32",
    "compare tiny --weights int4 --dtype float16": "weights int4 are for float32 and bfloat16 on a CPU, got float16",
    "forced --weights int4 --device cuda:1": "weights int4 are for float32 and bfloat16 on a CPU",
    "forced --weights int3": "weights 'int3' is unknown; known: int8, int4",
}
GOOD = {
    "compare tiny": "loading the bundled pair ...",
    "compare": "loading smollm2 and smollm2/lowrank ...",
    f"compare {FOLDERS} --tree 2,1": f"loading {TINY / 'target'} and {TINY / 'draft'} ...",
    "drafts": "loading the bundled pair ...",
    "rows --out r.safetensors": "loading the bundled pair ...",
    "forced": "loading torch ...",
    "trees": "loading the bundled pair ...",
}
WITHOUT_TORCH = """
import json, sys


class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in ("torch", "transformers"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Missing())
from typer.testing import CliRunner
from real.cli import app
found = {}
for words in json.loads(sys.argv[1]):
    ended = CliRunner().invoke(app, words.split())
    found[words] = (ended.exit_code, ended.stderr)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Status and standard error of every command where no torch can be imported, in one process."""
    folder = tmp_path_factory.mktemp("models")
    made = {"empty": [], "pickled": ["pytorch_model.bin"], "mute": ["config.json", "a.safetensors"]}
    for name, files in made.items():
        (folder / name).mkdir()
        for file in files:
            (folder / name / file).write_bytes(b"")
    env = os.environ | {"HF_HUB_OFFLINE": "1"}
    words = [sys.executable, "-c", WITHOUT_TORCH, json.dumps([*BAD, *GOOD])]
    run = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout))


@pytest.mark.parametrize("words", BAD)
def test_paths_and_options_are_checked_before_torch_is_imported(words: str, said: dict[str, Any]) -> None:
    status, error = said[words]
    assert status == 2
    assert error.startswith(f"error: {BAD[words]}"), error
    assert error.count("\n") == 1


@pytest.mark.parametrize("words", GOOD)
def test_what_is_loaded_is_said_before_torch_is_imported(words: str, said: dict[str, Any]) -> None:
    status, error = said[words]
    assert (status, error.splitlines()[0]) == (2, GOOD[words])
    assert "needs torch: install the extra `real`" in error.splitlines()[1]


@pytest.mark.parametrize("device", ["cuda", "cuda:3"])
def test_rounded_weights_are_refused_on_a_gpu_before_any_work(device: str) -> None:
    for kind in ("int8", "int4"):
        refusal = f"^weights {kind} are for float32 and bfloat16 on a CPU, got float32 on {device}"
        with pytest.raises(ValueError, match=refusal):
            load(TINY / "target", TINY / "draft", weights=kind, device=device)
