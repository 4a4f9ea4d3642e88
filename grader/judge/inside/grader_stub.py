"""`grader` in the sandbox. Nothing here checks anything: the judge does, from outside."""

from typing import Any


class _Silence:
    """Takes every call and attribute and does nothing: what a notebook does with a report or a view has no effect."""

    passed, score, mark, points, diagnosis, results = False, 0.0, 0.0, 0.0, None, ()

    def __call__(self, *_args: object, **_keywords: object) -> "_Silence":
        return self

    def __getattr__(self, name: str) -> "_Silence":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __repr__(self) -> str:
        return ""


BOXES = ("alder", "birch", "cedar", "elder", "hazel", "larch", "maple", "rowan")


def broken_attentions() -> dict[str, Any]:
    """Stand-ins for lesson 10's black boxes, by name: right in shape only. A learner's probes run, and find nothing
    here."""
    import torch

    def box(x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, num_heads: int) -> tuple[Any, Any]:
        return torch.zeros_like(x), x.new_zeros(*x.shape[:-2], num_heads, x.shape[-2], x.shape[-2])

    return dict.fromkeys(BOXES, box)


def __getattr__(name: str) -> _Silence:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Silence()
