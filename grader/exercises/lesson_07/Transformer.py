"""`Transformer` (Vaswani et al. 2017): steps 3 and 19, from token ids to logits."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_07 import shared
from grader.exercises.lesson_07.mistakes import DROPOUT_HARD_CODED, in_training, layers_made
from grader.exercises.lesson_07.mistakes import mistake as shared_mistake
from grader.exercises.lesson_07.variants import Model, lower_triangle
from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, length_one_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, Setup, not_judged
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id
from grader.subject import Request
from grader.subject.values import same
from grader.tolerance import FLOAT32

spec = Spec(__name__, shared_mistake)


def transformer(setup: Setup, src: Tensor, trg: Tensor) -> Tensor:
    """What `Transformer` should give: ids `src` (B, Ts) and `trg` (B, Tt) give logits (B, Tt, Vt)."""
    src_vocab, trg_vocab, src_pad, trg_pad, *sizes = setup.init
    halves = [
        Setup((vocab, *sizes), shared.below(setup.state, name), setup.training)
        for vocab, name in ((src_vocab, "encoder."), (trg_vocab, "decoder."))
    ]
    visible = shared.source_mask(src, src_pad)
    memory = shared.encoder(halves[0], src, visible)
    return shared.decoder(halves[1], trg, memory, visible, shared.target_mask(trg, trg_pad))


VOCABULARIES = ("src_vocab_size", "trg_vocab_size", "src_pad_idx", "trg_pad_idx")
SIZES = ("d_model=512", "num_layers=6", "num_heads=8", "d_ff=2048", "dropout=0.1", "max_length=100")
PLAIN, SOURCE, TARGET = "two layers, no padding", "padding in the source", "padding in the target"
EQUAL = "as many tokens in the source as in the target"
MAX_LENGTH = 100  # where it isn't given


# --- cases ------------------------------------------------------------------------------------------------------------


def _words(draw: Draw, batch: int, length: int, vocab: int, without: tuple[int, ...]) -> Tensor:
    """Random token ids, (batch, length), all below `vocab` and none of those in `without`."""
    allowed = torch.tensor([word for word in range(vocab) if word not in without])
    return allowed[draw.integers((batch, length), 0, len(allowed))]


def _with_pads_of_others(tokens: Tensor, pad: int) -> Tensor:
    """Ids (B, T) whose first two columns hold the ids from 0 to 2 that are padding in other cases but ordinary tokens
    here: a fixed number in place of `pad` hides one of them."""
    tokens = tokens.clone()
    tokens[:, 0], tokens[:, 1] = (other for other in range(3) if other != pad)
    return tokens


def _padded(tokens: Tensor, pad: int) -> Tensor:
    """Ids (B, T) with padding: at the end of the first sentence, in the middle of the others. The first token of each
    stays a token, so that no row of a mask is empty."""
    tokens = _with_pads_of_others(tokens, pad)
    tokens[0, -2:] = pad
    tokens[1:, 2] = pad
    return tokens


def _cases(draw: Draw) -> list[Case]:
    two_layers, one_layer = shared.two_sizes(draw, "Ts", "Tt", "Vs", "Vt")
    lengths = {"Ts": max(one_layer["Ts"], 5), "Tt": max(one_layer["Tt"], 5)}
    lengths["Tt"] += lengths["Ts"] == lengths["Tt"]
    one_layer, two_layers = {**one_layer, **lengths, "L": 1}, {**two_layers, **lengths, "L": 2}
    # Ids of both vocabularies, which have other tokens too. In the two cases with padding each language's is another.
    one, two, three = torch.randperm(3, generator=draw.generator).tolist()
    pads_of = {SOURCE: (two, three), TARGET: (three, one)}

    def case(name: str, sizes: dict[str, int], *extra: float, double: bool = False) -> Case:
        vocabs = tuple(max(sizes[name], 5) for name in ("Vs", "Vt"))
        sizes = {**sizes, "Vs": vocabs[0], "Vt": vocabs[1] + (vocabs[0] == vocabs[1])}
        longest = int(extra[1]) if len(extra) > 1 else MAX_LENGTH
        state = shared.stack_state(draw, "encoder.", sizes, "Vs", longest, decoder=False)
        state |= shared.stack_state(draw, "decoder.", sizes, "Vt", longest, decoder=True)
        pads = pads_of.get(name, (one, two))
        init = (sizes["Vs"], sizes["Vt"], *pads, *(sizes[axis] for axis in "ELHF"), *extra)
        src, trg = (_words(draw, sizes["B"], sizes[f"T{s}"], sizes[f"V{s}"], pads) for s in "st")
        if name in (SOURCE, TARGET, shared.TRAIN, EQUAL):
            src = (_with_pads_of_others if name == TARGET else _padded)(src, pads[0])
            trg = (_with_pads_of_others if name == SOURCE else _padded)(trg, pads[1])
        setup = Setup(init, state, training=name == shared.TRAIN)
        return shared.with_setup(name, {"src": src, "trg": trg}, sizes, setup, double)

    return [
        case(PLAIN, two_layers),
        case(SOURCE, one_layer),
        case(TARGET, one_layer, double=True),
        *(case(name, one) for name, one in length_one_sizes(one_layer).items()),
        case(shared.TRAIN, one_layer, shared.ALL_DROPPED, one_layer["Ts"] + one_layer["Tt"]),
        replace(case(EQUAL, {**one_layer, "Ts": one_layer["Tt"]}), diagnostic=True),
    ]


# --- what a mistake does to the whole ---------------------------------------------------------------------------------


def _moved(session: Session, which: int, name: str = PLAIN) -> tuple[Tensor, Tensor] | None:
    """Logits (B, Tt, Vt) before and after tokens are replaced: every source token (`which` 0), or the last target token
    (1). None if a call failed or its logits have another shape."""
    case = session.cases[name]
    src, trg = case.args["src"], case.args["trg"]
    assert case.setup is not None
    words = case.setup.init[which]
    if which == 0:
        args = (_other(src, words), trg)
    else:
        args = (src, torch.cat([trg[:, :-1], _other(trg[:, -1:], words)], dim=1))
    before = session.call(case)
    after = session.build(case.setup, "moved")
    after = session.ask(Request("call", "@moved", args)) if after.ok else after
    logits = (before.value, after.value)
    if not all(isinstance(value, Tensor) and value.shape == (*trg.shape, case.sizes["Vt"]) for value in logits):
        return None
    return logits


def _other(tokens: Tensor, words: int) -> Tensor:
    """Ids of the same shape, each from 3 on another one, since 0 to 2 may be padding; `words` is the size of the
    vocabulary."""
    return torch.where(tokens < 3, tokens, 3 + (tokens - 3 + 1) % (words - 3))


def _source_ignored(session: Session) -> bool:
    """Whether other source tokens change nothing, while another target token does."""
    source, target = _moved(session, 0), _moved(session, 1)
    return source is not None and target is not None and torch.equal(*source) and not torch.equal(*target)


def _words_unread(session: Session) -> bool:
    """Whether other source words change nothing where there is padding, as if only padding were seen."""
    padded, plain = _moved(session, 0, SOURCE), _moved(session, 0)
    return padded is not None and plain is not None and torch.equal(*padded) and not torch.equal(*plain)


def _exchanged(session: Session) -> bool:
    """Whether the logits are those of the source's positions, for ids that both vocabularies have."""
    case = session.cases[PLAIN]
    assert case.setup is not None
    built = session.build(case.setup, "exchanged")
    args = tuple(3 + tokens % 2 for tokens in case.args.values())
    outcome = session.ask(Request("call", "@exchanged", args)) if built.ok else built
    return isinstance(outcome.value, Tensor) and outcome.value.shape == (*args[0].shape, case.sizes["Vt"])


def _leaks(session: Session) -> bool:
    """Whether another last target token changes earlier logits. NaN doesn't count: with one layer an empty row spoils
    no other row."""
    for name in (PLAIN, SOURCE):
        moved = _moved(session, 1, name)
        if moved is not None:
            before, after = (logits[:, :-1] for logits in moved)
            numbers = torch.isfinite(before) & torch.isfinite(after)
            if ((before - after).abs()[numbers] > 1e-4).any():
                return True
    return False


def _pads_ignored(session: Session) -> bool:
    """Whether a model that is told other paddings gives the same logits where there is padding."""
    case = session.cases[EQUAL]
    assert case.setup is not None
    src_vocab, trg_vocab, src_pad, trg_pad, *sizes = case.setup.init
    others = [next(word for word in range(3) if word not in (src_pad, trg_pad)), 3]
    built = session.build(replace(case.setup, init=(src_vocab, trg_vocab, *others, *sizes)), "other pads")
    after = session.ask(Request("call", "@other pads", tuple(case.args.values()))) if built.ok else built
    before = session.call(case)
    if not before.ok or not after.ok or parts.inspect_call(session, case, None) is not None:
        return False
    # A wrong mask may leave nothing but NaN, whatever the paddings are, and constant logits are always the same.
    numbers = before.value[torch.isfinite(before.value)]
    return bool((numbers != numbers[:1]).any()) and same(before.value, after.value)


def _heads_and_layers_swapped(session: Session) -> bool:
    """Whether encoder or decoder has as many layers as there should be heads."""
    for case in session.real_cases():
        setup = case.setup
        if setup is None or setup.init[5] == setup.init[6]:
            continue
        made = [layers_made(session, setup, part) for part in ("encoder.", "decoder.")]
        return setup.init[6] in made
    return False


def _mask_of_numbers(session: Session) -> bool:
    raised = [session.call(case).raised for case in session.real_cases()]
    messages = [error.message for error in raised if error is not None]
    return any("Boolean-type" in message or "boolean mask" in message for message in messages)


def _causal_source(src: Tensor, trg: Tensor, src_pad: int, trg_pad: int) -> Tensor:
    """The source's mask with later source tokens hidden as well, (B, 1, Ts, Ts)."""
    return shared.source_mask(src, src_pad) & lower_triangle(src.shape[1])


def _on_queries(src: Tensor, trg: Tensor, src_pad: int, trg_pad: int) -> Tensor:
    """The source's mask with its padding on the axis of the queries, (B, 1, Ts, 1)."""
    return shared.source_mask(src, src_pad).mT


def _future_hidden(src: Tensor, trg: Tensor, *_: int) -> Tensor:
    """The target's mask that hides later tokens and forgets the padding, (B, 1, Tt, Tt)."""
    return lower_triangle(trg.shape[1]).expand(trg.shape[0], 1, -1, -1)


def _rows_hidden(src: Tensor, trg: Tensor, src_pad: int, trg_pad: int) -> Tensor:
    """The target's mask with its padding on the axis of the queries, (B, 1, Tt, Tt)."""
    return shared.source_mask(trg, trg_pad).mT & lower_triangle(trg.shape[1])


def _other_pad(src: Tensor, trg: Tensor, src_pad: int, trg_pad: int) -> Tensor:
    """The source's mask, (B, 1, 1, Ts), made with the target's padding id."""
    return shared.source_mask(src, trg_pad)


def _own_pad(src: Tensor, trg: Tensor, src_pad: int, trg_pad: int) -> Tensor:
    return shared.source_mask(src, src_pad)


def _own_target(src: Tensor, trg: Tensor, src_pad: int, trg_pad: int) -> Tensor:
    return shared.target_mask(trg, trg_pad)


def _all_of(tokens: Tensor) -> Tensor:
    return torch.ones(tokens.shape[0], 1, 1, tokens.shape[1], dtype=torch.bool)


def _below_diagonal(src: Tensor, trg: Tensor, src_pad: int, trg_pad: int) -> Tensor:
    """The target's mask, (B, 1, Tt, Tt), that hides each token from itself."""
    return shared.target_mask(trg, trg_pad).tril(-1)


def _inverted_source(src: Tensor, trg: Tensor, src_pad: int, trg_pad: int) -> Tensor:
    return ~shared.source_mask(src, src_pad)


def _inverted_target(src: Tensor, trg: Tensor, src_pad: int, trg_pad: int) -> Tensor:
    """A target's mask, (B, 1, Tt, Tt), that shows padding in place of words, and still hides later tokens."""
    return ~shared.source_mask(trg, trg_pad) & lower_triangle(trg.shape[1])


INVERTED = ((_inverted_source, _own_target), (_own_pad, _inverted_target), (_inverted_source, _inverted_target))


def _with_pads(first: int, second: int) -> Model:
    """A model whose masks are made with chosen padding ids. `first` is for the source's mask and `second` for the
    target's: 0 chooses `src_pad_idx`, 1 chooses `trg_pad_idx`."""
    return Model(
        source=lambda src, trg, *pads: shared.source_mask(src, pads[first]),
        target=lambda src, trg, *pads: shared.source_mask(trg, pads[second]) & lower_triangle(trg.shape[1]),
    )


def _next_batch(session: Session) -> Case:
    """The case with padding in source and target, with its sentences in reverse order: other masks of the same
    shape."""
    case = session.cases[EQUAL]
    return replace(case, name="a second batch", args={name: tokens.flip(0) for name, tokens in case.args.items()})


def _second_batch(session: Session) -> list[Tensor] | None:
    """The logits of two batches, one after the other, from one model; None if a call failed or returned no tensor."""
    first, second = session.cases[EQUAL], _next_batch(session)
    assert first.setup is not None
    outcome = session.build(first.setup, "two batches")
    logits = []
    for case in (first, second):
        request = Request("call", "@two batches", tuple(case.args.values()))
        outcome = session.ask(request) if outcome.ok else outcome
        logits.append(outcome.value)
    return logits if outcome.ok and all(isinstance(value, Tensor) for value in logits) else None


def _takes_next_batch(session: Session) -> Finding | None:
    """Why a second batch isn't right, None if it is. Not judged before the first batch is right."""
    logits, second = session.once("two batches", lambda: _second_batch(session)), _next_batch(session)
    if logits is None:
        return not_judged("runs-first")
    if parts.inspect_call(session, session.cases[EQUAL], FLOAT32) is not None:
        return not_judged("values-first")
    if logits[1].shape == logits[0].shape and FLOAT32.all_close(logits[1], session.expected(second)[0]):
        return None
    message = (
        "A second batch, with padding in other places, gets wrong logits from a model that was right on the first."
    )
    return Finding("first-batch-remembered", message)


def _remembers(session: Session) -> bool:
    finding = _takes_next_batch(session)
    return finding is not None and finding.kind == "first-batch-remembered"


EXERCISE = spec.exercise(
    transformer,
    points=5,
    signature=(*VOCABULARIES, *SIZES),
    outputs={"logits": "B Tt Vt"},
    cases=_cases,
    parts=(
        shared.named("step 19: logits for every position of the target", parts.shape(PLAIN)),
        parts.values("step 19: from token ids to logits", 3, PLAIN, *LENGTH_ONE),
        parts.values("step 3: padding in the source is hidden, in encoder and decoder", 2, SOURCE),
        parts.values("step 3: padding in the target is hidden, and so is the future", 2, TARGET),
        Part("step 3: makes the masks anew for each batch", 0.5, _takes_next_batch),
        parts.values("step 19: passes `dropout` and `max_length` on", 0.5, shared.TRAIN),
        parts.float64(TARGET, PLAIN, weight=0.5),
        parts.unchanged(TARGET, weight=0.5),
        parts.gradients(SOURCE, weight=0.5),
        parts.defaults(PLAIN),
    ),
    mistakes={
        "source-and-target-exchanged": When(_exchanged),
        "source-ignored": When(_source_ignored),
        "target-leaks-future": When(_leaks),
        "source-padding-attended": (
            Model(source=lambda src, *_: _all_of(src)),
            Model(cross=lambda src, *_: _all_of(src)),
            Model(source=lambda src, *_: _all_of(src), cross=_own_pad),
        ),
        "target-padding-attended": (
            Model(target=_future_hidden),
            Model(target=_rows_hidden),
            Model(source=lambda src, *_: _all_of(src), target=_future_hidden),
        ),
        "pad-indices-ignored": When(_pads_ignored),
        "pad-indices-swapped": (
            *(_with_pads(*order) for order in ((1, 0), (0, 0), (1, 1))),
            Model(cross=_other_pad),
            Model(source=_other_pad, cross=_own_pad),
        ),
        "mask-inverted": When(
            _words_unread,
            (
                *(Model(source=source, target=target) for source, target in INVERTED),
                Model(target=lambda src, trg, src_pad, trg_pad: ~shared.target_mask(trg, trg_pad)),
            ),
        ),
        "diagonal-hidden": (
            Model(target=_below_diagonal),
            Model(target=lambda s, t, *_: lower_triangle(t.shape[1]).tril(-1)),
        ),
        "source-causal": (
            Model(source=_causal_source),
            Model(source=_causal_source, cross=_own_pad),
            Model(source=lambda src, *_: lower_triangle(src.shape[1])),
            Model(source=lambda src, *_: lower_triangle(src.shape[1]), cross=_own_pad),
        ),
        "mask-on-query-axis": (
            Model(source=_on_queries),
            Model(source=_on_queries, cross=_own_pad),
            Model(cross=_on_queries),
        ),
        "masks-swapped": (Model(cross=_own_target, target=_own_pad), Model(target=_own_pad), Model(cross=_own_target)),
        "mask-not-bool": When(_mask_of_numbers),
        "softmax-applied": tuple(
            Model(finish=finish) for finish in (lambda x: F.softmax(x, -1), lambda x: F.log_softmax(x, -1))
        ),
        "layers-and-heads-swapped": When(_heads_and_layers_swapped),
        "mask-kept": When(_remembers),
        "dropout-not-passed-on": When(
            in_training(*(Model(drops=drops) for drops in ((False, False), (False, True), (True, False))))
        ),
        **by_id(DROPOUT_HARD_CODED),
    },
    excluded=shared.EXCLUDED,
    builds_on=("Encoder", "Decoder"),
)
