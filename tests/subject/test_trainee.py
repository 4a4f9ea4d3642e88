"""The small model that `train_step` is graded on: its optimiser is torch's SGD, and it notices what happens to it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.subject import Given, Request
from grader.subject.local import LocalSubject
from grader.subject.translator import BACKWARD, FORWARD, STEP, STEP_WITHOUT_GRADIENTS, Trainee


def data(training: bool = True) -> dict[str, object]:
    made = torch.Generator().manual_seed(5)
    shapes = {"source": (9, 6), "target": (7, 6), "output": (7, 6)}
    drawn: dict[str, object] = {name: torch.randn(shape, generator=made) for name, shape in shapes.items()}
    return drawn | {"pad_idx": 0, "training": training, "rate": 0.3, "momentum": 0.6}


SRC, TRG = torch.tensor([[3, 4, 5], [6, 7, 0]]), torch.tensor([[1, 4, 5, 2], [1, 6, 2, 0]])


def loss_of(model: Trainee) -> Tensor:
    return model(SRC, TRG).log_softmax(-1)[..., 3].mean()


def test_its_optimiser_moves_parameters_as_torchs_does():
    ours, theirs = Trainee(data()), Trainee(data())
    sgd = torch.optim.SGD(theirs.parameters(), lr=0.3, momentum=0.6)
    for _ in range(3):
        for model, optimizer in ((ours, ours.optimizer), (theirs, sgd)):
            optimizer.zero_grad()
            loss_of(model).backward()
            optimizer.step()
    for mine, right in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, right)


def test_its_optimiser_takes_a_closure_and_empties_gradients_in_both_ways():
    model = Trainee(data())

    def closure() -> Tensor:
        loss = loss_of(model)
        loss.backward()
        return loss

    assert model.optimizer.step(closure).requires_grad
    model.optimizer.zero_grad(set_to_none=False)
    assert all(p.grad is not None and not p.grad.any() for p in model.parameters())
    model.optimizer.zero_grad()
    assert all(p.grad is None for p in model.parameters())


def test_it_may_begin_with_gradients():
    model = Trainee({**data(), "source.grad": torch.full((9, 6), 2.0)})
    assert model.source.grad is not None
    assert bool((model.source.grad == 2).all())
    assert model.target.grad is None


def test_torch_func_differentiates_it_and_is_noticed():
    ours, theirs = Trainee(data()), Trainee(data())

    def loss(parameters: dict[str, Tensor]) -> Tensor:
        return torch.func.functional_call(ours, parameters, (SRC, TRG)).log_softmax(-1)[..., 3].mean()

    gradients = torch.func.grad(loss)({name: p.detach() for name, p in ours.named_parameters()})
    loss_of(theirs).backward()
    for name, parameter in theirs.named_parameters():
        torch.testing.assert_close(gradients[name], parameter.grad)
    assert ours.events.tolist() == [FORWARD, BACKWARD]


def test_a_source_read_backwards_gives_other_logits():
    model = Trainee(data())
    assert not torch.allclose(model(SRC, TRG), model(SRC.flip(1), TRG))


def test_it_notes_the_order_of_events():
    model = Trainee(data())
    model.optimizer.step()
    loss_of(model).backward()
    model.optimizer.step()
    assert model.events.tolist() == [STEP_WITHOUT_GRADIENTS, FORWARD, BACKWARD, STEP]


def test_padding_of_the_source_and_later_tokens_of_the_target_change_nothing():
    model = Trainee(data())
    wider = torch.cat([SRC, torch.zeros(2, 2, dtype=torch.long)], dim=1)
    torch.testing.assert_close(model(wider, TRG), model(SRC, TRG))
    torch.testing.assert_close(model(SRC, TRG[:, :2]), model(SRC, TRG)[:, :2])


def test_its_mode_changes_what_it_says():
    model = Trainee(data())
    assert not torch.equal(model(SRC, TRG), model.eval()(SRC, TRG))


@pytest.mark.parametrize("kept", [True, False])
def test_whether_the_graph_is_held_after_a_call_is_seen_while_the_result_lives(kept):
    returned = "loss" if kept else "loss.item()"
    step = f"def step(model, optimizer, src, trg):\n    loss = model(src, trg).mean()\n    return {returned}"
    subject = LocalSubject({})
    subject.ask(Request("run", source=step))
    assert subject.ask(Request("build", handle="a", args=(Given("trainee", data()),))).ok
    here = {"handle": "a"}
    outcome = subject.ask(Request("call", "step", (Given("built", here), Given("optimizer", here), SRC, TRG)))
    assert outcome.changed == ((0,) if kept else ())
    assert subject.ask(Request("state", "@a")).value["training"]
