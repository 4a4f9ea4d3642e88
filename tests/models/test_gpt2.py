"""GPT-2's weights from a made-up file in Hugging Face's format: in PyTorch's layers, and in lesson 11's classes."""

from __future__ import annotations

import contextlib
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from grader.authoring.model_solutions import lesson_of
from grader.models.gpt2 import published_gpt2

VOCABULARY, WIDTH, HEADS, LAYERS, PLACES = 50257, 128, 2, 3, 40  # heads of 64, as in GPT-2
LESSON = "11_small_gpt"
OPENING = torch.tensor([[7454, 2402, 257, 640], [5, 0, 50256, 9]])


def made_up() -> dict[str, Tensor]:
    """The tensors of a small GPT-2, with all names and layouts that `openai-community/gpt2` has."""
    generator = torch.Generator().manual_seed(11)

    def drawn(*shape: int, scale: float = 0.3) -> Tensor:
        return scale * torch.randn(*shape, generator=generator)

    tensors = {"wte.weight": drawn(VOCABULARY, WIDTH, scale=0.1), "wpe.weight": drawn(PLACES, WIDTH)}
    for name in [f"h.{i}.{part}" for i in range(LAYERS) for part in ("ln_1", "ln_2")] + ["ln_f"]:
        tensors |= {f"{name}.weight": 1 + drawn(WIDTH), f"{name}.bias": drawn(WIDTH)}
    for i in range(LAYERS):
        tensors[f"h.{i}.attn.bias"] = torch.ones(PLACES, PLACES).tril().view(1, 1, PLACES, PLACES)  # the mask
        for part, given, made in (
            ("attn.c_attn", WIDTH, 3 * WIDTH),
            ("attn.c_proj", WIDTH, WIDTH),
            ("mlp.c_fc", WIDTH, 4 * WIDTH),
            ("mlp.c_proj", 4 * WIDTH, WIDTH),
        ):
            tensors[f"h.{i}.{part}.weight"] = drawn(given, made, scale=0.1)
            tensors[f"h.{i}.{part}.bias"] = drawn(made)
    return tensors


def normalised(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight + bias


def by_hand(tensors: dict[str, Tensor], ids: list[int]) -> Tensor:
    """GPT-2's forward as the paper's code has it, in float64: position by position and head by head. (T, V)"""
    t = {name: tensor.double() for name, tensor in tensors.items()}
    x = t["wte.weight"][ids] + t["wpe.weight"][: len(ids)]
    for i in range(LAYERS):
        p = {name.removeprefix(f"h.{i}."): tensor for name, tensor in t.items() if name.startswith(f"h.{i}.")}
        h = normalised(x, p["ln_1.weight"], p["ln_1.bias"]) @ p["attn.c_attn.weight"] + p["attn.c_attn.bias"]
        rows = []
        for now in range(len(ids)):
            heads = []
            for head in range(HEADS):
                columns = slice(head * 64, head * 64 + 64)
                query, keys, values = h[now, :WIDTH], h[: now + 1, WIDTH : 2 * WIDTH], h[: now + 1, 2 * WIDTH :]
                scores = keys[:, columns] @ query[columns] / math.sqrt(64)
                weights = scores.exp() / scores.exp().sum()
                heads.append(weights @ values[:, columns])
            rows.append(torch.cat(heads))
        x = x + torch.stack(rows) @ p["attn.c_proj.weight"] + p["attn.c_proj.bias"]
        h = normalised(x, p["ln_2.weight"], p["ln_2.bias"]) @ p["mlp.c_fc.weight"] + p["mlp.c_fc.bias"]
        h = 0.5 * h * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)))
        x = x + h @ p["mlp.c_proj.weight"] + p["mlp.c_proj.bias"]
    return normalised(x, t["ln_f.weight"], t["ln_f.bias"]) @ t["wte.weight"].T


@pytest.fixture(scope="module")
def tensors() -> dict[str, Tensor]:
    return made_up()


@pytest.fixture(scope="module")
def expected(tensors) -> Tensor:
    return torch.stack([by_hand(tensors, ids) for ids in OPENING.tolist()])


@pytest.fixture
def file(tensors, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save_file(tensors, tmp_path / "gpt2.safetensors")
    return tmp_path / "gpt2.safetensors"


def lesson_space(**own: Any) -> dict[str, Any]:
    """What the lesson has when its last part begins: given cells, solutions, and `own` in their place."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec("import copy, math\nimport torch\nimport torch.nn.functional as F\nfrom torch import Tensor, nn", space)
    for cell in lesson_of(LESSON).cells:
        if cell.role == "given" or (cell.role == "solution" and cell.exercise in ("GPT", "GPTBlock")):
            exec(cell.source, space)
    return space | own


def last_part(space: dict[str, Any]) -> str:
    """What the cells of the part on GPT-2 print."""
    cells = lesson_of(LESSON).cells
    start = next(i for i, cell in enumerate(cells) if "### GPT-2 in your classes" in cell.source)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for cell in cells[start:]:
            if cell.is_code:
                exec(cell.source, space)
    return printed.getvalue()


def test_pytorchs_layers_give_gpt2s_logits(file, expected):
    model = published_gpt2()
    assert model is not None
    assert model.sizes == {
        "vocab_size": VOCABULARY,
        "d_model": WIDTH,
        "num_layers": LAYERS,
        "num_heads": HEADS,
        "d_ff": 4 * WIDTH,
        "max_length": PLACES,
    }
    torch.testing.assert_close(model(OPENING).double(), expected, atol=2e-4, rtol=1e-4)


def test_the_lessons_classes_give_gpt2s_logits(file, expected):
    space = lesson_space()
    printed = last_part(space)
    model = space["my_gpt2"]
    assert type(model) is space["GPT"]
    torch.testing.assert_close(model(OPENING).detach().double(), expected, atol=2e-4, rtol=1e-4)
    assert "largest difference of the logits: 0.00" in printed
    ids = [int(word) for word in printed.splitlines()[-1].split()]
    assert len(ids) == 24
    assert ids[:4] == OPENING[0].tolist()
    assert model(torch.tensor([ids[:-1]]))[0, -1].argmax() == ids[-1]


@pytest.mark.parametrize(
    "part", ["attn.c_attn.weight", "attn.c_proj.bias", "mlp.c_fc.weight", "ln_2.bias", "wpe", "ln_f"]
)
def test_every_tensor_counts(part, file, tensors, expected):
    """A part that is left out, or isn't where it belongs, moves the logits: the comparison above notices it."""
    changed = {name: tensor.flip(0) if part in name else tensor for name, tensor in tensors.items()}
    save_file({name: tensor.contiguous() for name, tensor in changed.items()}, file)
    space = lesson_space()
    last_part(space)
    assert (space["my_gpt2"](OPENING).double() - expected).abs().max() > 0.01


def test_pytorchs_layers_speak_where_the_learners_are_not_written(file):
    def unwritten(**_sizes: int) -> None:
        raise NotImplementedError

    space = lesson_space(GPT=unwritten)
    printed = last_part(space)
    assert printed.startswith("PyTorch's layers speak, yours don't yet: NotImplementedError()\n7454 2402 257 640 ")
    assert space["my_gpt2"] is space["published"]


def test_the_words_are_shown_where_they_are_known(file):
    words = {f"Ġw{i}": i for i in range(VOCABULARY)}
    file.with_name("vocab.json").write_text(json.dumps(words))
    assert last_part(lesson_space()).splitlines()[-1].startswith(" w7454 w2402 w257 w640 w")


def test_without_the_file_one_line_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = last_part(lesson_space())
    assert printed.count("\n") == 1
    assert printed.startswith("There is no gpt2.safetensors beside this notebook, and it isn't downloaded for you.")


@pytest.mark.parametrize("data", [b"", b"no safetensors", b"\xff" * 64])
def test_another_file_is_said_to_be_none(data, tmp_path, capsys):
    (tmp_path / "gpt2.safetensors").write_bytes(data)
    assert published_gpt2(tmp_path / "gpt2.safetensors") is None
    assert capsys.readouterr().out.startswith("gpt2.safetensors isn't GPT-2: ")


def test_a_missing_tensor_is_named(tensors, tmp_path, capsys):
    kept = {name: tensor for name, tensor in tensors.items() if name != "h.1.mlp.c_fc.bias"}
    save_file(kept, tmp_path / "gpt2.safetensors")
    assert published_gpt2(tmp_path / "gpt2.safetensors") is None
    assert capsys.readouterr().out == "gpt2.safetensors isn't GPT-2, since it has no tensor 'h.1.mlp.c_fc.bias'.\n"


def test_names_with_a_prefix_are_the_same(tensors, tmp_path, expected):
    file = tmp_path / "gpt2.safetensors"
    save_file({f"transformer.{name}": tensor.half() for name, tensor in tensors.items()}, file)
    model = published_gpt2(file)
    assert model is not None
    torch.testing.assert_close(model(OPENING).double(), expected, atol=0.1, rtol=0.1)
