"""`GPT`: a decoder-only language model (Radford et al. 2019, section 2; tied embedding: Press and Wolf 2017)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_07 import shared as lesson_07
from grader.exercises.lesson_07.mistakes import DROPOUT_HARD_CODED, in_training
from grader.exercises.lesson_11.shared import block, blocks_of, gpt_state, two_sizes
from grader.sentences import say, together
from grader.spec import compare, parts
from grader.spec.cases import LENGTH_ONE, length_one_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, Setup
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id
from grader.subject import Opaque, Request
from grader.tolerance import FLOAT32

spec = Spec(__name__)

Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Model:
    """A `GPT`, right unless a field is changed: ids (B, T) give logits (B, T, V)."""

    # "chain" (right), "last" (each block starts from the embedding), "first" (only the first runs), "none" or "added"
    # (each block's output is added to its input).
    walk: str = "chain"
    shared: int | None = None  # the number of the block that does the work of all; None: each does its own
    # Where the last norm acts: "end" (right), "start", "both", "nowhere" or "fresh" (at the end, without parameters).
    norm: str = "end"
    scale: bool = False  # the embedding is multiplied by the root of d_model
    finish: Function = lambda logits: logits  # what becomes of the logits
    drops: tuple[bool, bool] = (True, False)  # whether dropout acts in the blocks, and on the embedding
    apart: tuple[str, str] = ("token_embedding", "head")  # whose weight embeds and whose makes logits with `tied=False`

    def __call__(self, setup: Setup, tokens: Tensor) -> Tensor:
        state, (_, width, layers, heads, *_) = setup.state, setup.init
        dropped = setup.training and setup.init[5] >= lesson_07.ALL_DROPPED
        kept, kept_of_tokens = (0.0 if dropped and drops else 1.0 for drops in self.drops)
        embeds, gives = self.apart if not all(setup.init[7:]) else ("token_embedding", "token_embedding")
        table = state[f"{embeds}.weight"]
        embedded = kept_of_tokens * F.embedding(tokens, table) * (width**0.5 if self.scale else 1)
        x = embedded = self._normed(state, embedded) if self.norm in ("start", "both") else embedded
        for i in range({"first": 1, "none": 0}.get(self.walk, layers)):
            parameters = blocks_of(state, layers)[i if self.shared is None else self.shared % layers]
            output = block(parameters, heads, embedded if self.walk == "last" else x, kept)
            x = x + output if self.walk == "added" else output
        x = self._normed(state, x) if self.norm in ("end", "both") else x
        x = F.layer_norm(x, x.shape[-1:]) if self.norm == "fresh" else x
        return self.finish(F.linear(x, state[f"{gives}.weight"]))

    @staticmethod
    def _normed(state: Any, x: Tensor) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], state["norm.weight"], state["norm.bias"])


RIGHT = Model()
QUIET, FULL, TIED, APART = (
    "blocks that add the same to every token",
    "as many tokens as max_length",
    "only the embedding's weight is loaded",
    "with tied=False",
)
SILENT = ("out_proj", "linear2")


def _cases(draw: Draw) -> list[Case]:
    two_blocks, one_block = ({**sizes, "L": layers} for sizes, layers in zip(two_sizes(draw, "V"), (2, 1), strict=True))
    states = {sizes["L"]: gpt_state(draw, sizes) for sizes in (two_blocks, one_block)}

    def case(name: str, sizes: dict[str, int], *extra: float, double: bool = False) -> Case:
        state = states[sizes["L"]]
        state = lesson_07.silenced(state, *SILENT, biases=False) if name == QUIET else state
        state = {key: tensor for key, tensor in state.items() if name != TIED or key != "head.weight"}
        if name == APART:
            state["head.weight"] = draw.normal((sizes["V"], sizes["E"]), sizes["E"] ** -0.5)
        init = (sizes["V"], sizes["E"], sizes["L"], sizes["H"], sizes["F"], *extra)
        # A head with a bias is another model, but a bias of zeros leaves the rest to be judged.
        setup = Setup(init, state, training=name == lesson_07.TRAIN, optional={"head.bias": torch.zeros(sizes["V"])})
        made = lesson_07.with_setup(
            name, {"tokens": lesson_07.tokens_of(draw, "B T", sizes, "V")}, sizes, setup, double
        )
        return replace(made, comparable=made.comparable and name != TIED)

    return [
        case("two blocks", two_blocks),
        case(QUIET, one_block),
        case(FULL, one_block, lesson_07.SOME_DROPPED, one_block["T"], double=True),
        case(TIED, two_blocks),
        case(APART, two_blocks, 0.0, 2 * two_blocks["T"], False),
        *(case(name, one) for name, one in length_one_sizes(one_block).items()),
        case(lesson_07.TRAIN, one_block, lesson_07.ALL_DROPPED, 2 * one_block["T"]),
    ]


# --- parts ------------------------------------------------------------------------------------------------------------


def _drops(session: Session) -> Finding | None:
    """Why the module is wrong where everything is dropped, None if it isn't. Then the blocks give nothing, and the
    embedding may be dropped or not."""
    case = session.cases[lesson_07.TRAIN]
    finding = parts.inspect_call(session, case, FLOAT32)
    if finding is not None and finding.kind == "wrong-values":
        also_right = session.evaluate(case, replace(RIGHT, drops=(True, True)))
        if FLOAT32.all_close(session.call(case).value, also_right):
            return None
    return finding


PIECES = (0, 3, 4)  # where the pieces of a text begin that goes through the model with a cache


def _cut(tokens: Tensor) -> list[Tensor]:
    return [tokens[:, start:end] for start, end in zip(PIECES, (*PIECES[1:], tokens.shape[1]), strict=True)]


def _with_cache(session: Session) -> list[Tensor] | Finding:
    """The logits (B, T, V) of each piece of a text, from one model and its cache; the finding that says why if there
    are none."""
    return session.once("with a cache", lambda: _cached(session))


def _cached(session: Session) -> list[Tensor] | Finding:
    """What `_with_cache` gives. An empty dict begins the text; a model that fails with it is tried with other empty
    caches."""
    starts: tuple[Any, ...] = ({}, [], [None] * lesson_07.first_setup(session).init[2])
    tries = [_through(session, start) for start in starts[:1]]
    if isinstance(tries[0], Finding):
        tries += [_through(session, start) for start in starts[1:]]
    return next((attempt for attempt in tries if not isinstance(attempt, Finding)), tries[0])


def _through(session: Session, cache: Any) -> list[Tensor] | Finding:
    case = session.cases["two blocks"]
    assert case.setup is not None
    outcome = session.build(case.setup, "cached")
    logits = []
    for piece in _cut(case.args["tokens"]):
        outcome = session.ask(Request("call", "@cached", (piece, cache))) if outcome.ok else outcome
        finding = compare.run_error(outcome, session.exercise)
        if finding is not None:
            asked = say("It was called with tokens {shape} and a cache.", shape=tuple(piece.shape))
            return replace(finding, message=together(finding.message, asked))
        pair = outcome.value
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], Tensor) or _opaque(pair[1]):
            returned = "With a cache `GPT` returned {what}, expected (logits, cache)."
            message = say(returned, what=compare.in_words(pair))
            return Finding("wrong-type", message)
        logits.append(pair[0])
        cache = pair[1]
    return logits


def _opaque(value: Any) -> bool:
    """Whether `value` is or holds something that can't be handed back to the model."""
    if isinstance(value, dict):
        return any(map(_opaque, value.values()))
    return any(map(_opaque, value)) if isinstance(value, tuple | list) else isinstance(value, Opaque)


# The last norm gives E numbers of size 1. With the numbers of a new `nn.Linear` the logits have a size of 0.6, with
# those of a new `nn.Embedding` the root of E, which is at least 12 here.
TOO_LARGE = 2.0


def _no_bias(session: Session) -> Finding | None:
    return Finding("head-has-bias", "`head` has a bias.") if _head_has_bias(session) else None


def _first_logits(session: Session) -> float | None:
    """The root mean square of a new model's logits, None if there are none."""

    def ask() -> float | None:
        case, setup = session.cases["two blocks"], lesson_07.first_setup(session)
        built = session.build(replace(setup, state={}, optional={}), "new")
        outcome = session.ask(Request("call", "@new", tuple(case.args.values()))) if built.ok else built
        logits = outcome.value
        real = outcome.ok and isinstance(logits, Tensor) and logits.is_floating_point() and logits.numel() > 0
        return float(logits.square().mean().sqrt()) if real else None

    return session.once("first logits", ask)


def _starts_small(session: Session) -> Finding | None:
    size = _first_logits(session)
    if size is None or size < TOO_LARGE:
        return None
    message = say(
        "The logits of a new model have a typical size of {size}, expected less than 1, so the model starts out very "
        "sure of something that it hasn't learnt, with a loss far above log V.",
        size=compare.apart(size, 1.0)[0],
    )
    return Finding("starts-too-large", message)


def _same_with_cache(session: Session) -> Finding | None:
    logits = _with_cache(session)
    if isinstance(logits, Finding):
        return logits
    right = session.expected(session.cases["two blocks"])[0]
    for got, start, piece in zip(logits, PIECES, _cut(session.cases["two blocks"].args["tokens"]), strict=True):
        end = start + piece.shape[1]
        where = say("token {token} alone", token=start)
        if piece.shape[1] > 1:
            where = say("tokens {first} to {last}", first=start, last=end - 1)
        expected = right[:, start:end]
        if got.shape != expected.shape:
            shapes = (
                "With a cache the logits of {tokens} have shape {got}, expected {expected} for the new tokens alone."
            )
            message = say(shapes, tokens=where, got=tuple(got.shape), expected=tuple(expected.shape))
            return Finding("wrong-shape", message)
        if not FLOAT32.all_close(got, expected):
            message = say("With a cache the logits of {tokens} differ from those without a cache.", tokens=where)
            return Finding("wrong-values", message, got=got[0].clone(), expected=expected[0].to(got.dtype))
    return None


# --- recognised by more than one call ---------------------------------------------------------------------------------


def _gives(session: Session, variant: Callable[[Setup, Tensor], Tensor]) -> bool:
    """Whether each piece of a text with a cache gives what `variant` makes of the piece alone."""
    logits, case = _with_cache(session), session.cases["two blocks"]
    if isinstance(logits, Finding) or case.setup is None:
        return False
    expected = [variant(case.setup, piece) for piece in _cut(case.args["tokens"])]
    return all(g.shape == e.shape and FLOAT32.all_close(g, e) for g, e in zip(logits, expected, strict=True))


def _forgets(session: Session) -> bool:
    """Whether each piece gives what it gives alone, with positions from zero."""
    return _gives(session, RIGHT)


def _empty_means_none(session: Session) -> bool:
    """Whether an empty dict counts as no cache: the result is a tensor."""
    case = session.cases["two blocks"]
    assert case.setup is not None
    outcome = session.build(case.setup, "empty")
    outcome = session.ask(Request("call", "@empty", (case.args["tokens"], {}))) if outcome.ok else outcome
    return outcome.ok and isinstance(outcome.value, Tensor)


def _not_tied(session: Session) -> bool:
    """Whether head and embedding are two parameters: other numbers in one don't show in the other, or their gradients
    differ."""
    case = session.cases[TIED]
    outcome = session.call(case, gradients=True)
    if not outcome.ok or case.setup is None or not session.build(case.setup, "tied").ok:
        return False
    state = session.ask(Request("state", "@tied"))
    if not state.ok:
        return False
    table, head = (state.value["parameters"].get(f"{name}.weight") for name in ("token_embedding", "head"))
    if not isinstance(table, Tensor) or not isinstance(head, Tensor):
        return False
    gradients = outcome.gradients or {}
    mine, other = gradients.get("token_embedding.weight"), gradients.get("head.weight")
    apart = mine is not None and other is not None and not torch.equal(mine, other)
    return apart or not torch.equal(table, head)


def _in_python_list(session: Session) -> bool:
    """Whether a new module has parameters, but none of a block."""
    names = lesson_07.parameter_names(session, lesson_07.first_setup(session))
    return bool(names) and not any("attention" in name for name in names)


def _blocks_made(session: Session, layers: int) -> int:
    """How many blocks have parameters of their own in a new model that is asked for `layers` of them; 0 if it can't be
    made."""
    setup = lesson_07.first_setup(session)
    names = lesson_07.parameter_names(session, replace(setup, init=(*setup.init[:2], layers, *setup.init[3:])))
    return sum(name.endswith("feed_forward.linear1.weight") for name in names)


def _one_for_all(session: Session) -> bool:
    """Whether there is one block, or several names of one: what is loaded into the last is in the first."""
    if (_blocks_made(session, 2), _blocks_made(session, 3)) == (1, 1):
        return True
    case = session.cases["two blocks"]
    if case.setup is None or not session.build(case.setup, "shared").ok:
        return False
    state = session.ask(Request("state", "@shared"))
    held = state.value["parameters"] if state.ok else {}
    first, last = (held.get(f"blocks.{i}.feed_forward.linear1.weight") for i in (0, 1))
    return isinstance(first, Tensor) and isinstance(last, Tensor) and torch.equal(first, last)


def _full_length_refused(session: Session) -> bool:
    raised = session.call(session.cases[FULL]).raised
    return raised is not None and "ValueError" in raised.types


def _head_has_bias(session: Session) -> bool:
    return "head.bias" in lesson_07.parameter_names(session, lesson_07.first_setup(session))


TITLE = "raises ValueError for more tokens than max_length"

EXERCISE = spec.exercise(
    RIGHT,
    points=5,
    signature=(
        "vocab_size",
        "d_model",
        "num_layers",
        "num_heads",
        "d_ff",
        "dropout=0.0",
        "max_length=256",
        "tied=True",
    ),
    outputs={"logits": "B T V"},
    cases=_cases,
    parts=(
        parts.shape("two blocks"),
        parts.values("embedding, last norm and head", 2, QUIET),
        parts.values("each block works on what the one before it gave", 3, "two blocks", *LENGTH_ONE),
        parts.values("head and embedding share one weight", 1.5, TIED),
        parts.values("keeps two weights with `tied=False`", 0.5, TIED, APART),
        parts.after_values(Part("starts with small logits", 0.5, _starts_small, compares_values=False), TIED),
        parts.after_values(Part("the head has no bias", 0.5, _no_bias, compares_values=False), QUIET),
        Part("passes `dropout` on to the blocks", 0.5, _drops),
        parts.after_values(Part("with a cache: the same logits, piece by piece", 1, _same_with_cache), "two blocks"),
        lesson_07.named(
            TITLE, lesson_07.refuses_long(FULL, lambda case: (lesson_07.one_more(case.args["tokens"]),)), 0.5
        ),
        parts.float64(FULL, "two blocks", weight=0.5),
        parts.unchanged("two blocks", weight=0.5),
        parts.gradients(TIED),
        parts.defaults("two blocks"),
    ),
    mistakes={
        "blocks-in-python-list": When(_in_python_list),
        "layers-shared": When(_one_for_all, tuple(replace(RIGHT, shared=i) for i in (-1, 0))),
        "head-has-bias": When(_head_has_bias),
        "final-norm-forgotten": replace(RIGHT, norm="nowhere"),
        "norm-at-the-start": (replace(RIGHT, norm="start"), replace(RIGHT, norm="both")),
        "softmax-applied": tuple(
            replace(RIGHT, finish=finish) for finish in (lambda x: F.softmax(x, -1), lambda x: F.log_softmax(x, -1))
        ),
        "only-last-block": replace(RIGHT, walk="last"),
        "only-first-block": replace(RIGHT, walk="first"),
        "blocks-lost": replace(RIGHT, walk="none"),
        "residual-around-blocks": replace(RIGHT, walk="added"),
        "embedding-scaled": replace(RIGHT, scale=True),
        "full-length-refused": When(_full_length_refused),
        "weights-not-tied": When(_not_tied),
        "always-tied": tuple(replace(RIGHT, apart=(both, both)) for both in RIGHT.apart),
        "starts-too-large": When(lambda session: _not_tied(session) is False and _starts_small(session) is not None),
        "dropout-not-passed-on": When(
            in_training(replace(RIGHT, drops=(False, False)), replace(RIGHT, drops=(False, True)))
        ),
        **by_id(DROPOUT_HARD_CODED),
        "empty-cache-ignored": When(_empty_means_none),
        "cache-not-passed-on": When(_forgets),
    },
    builds_on=("GPTBlock",),
)
