"""`greedy_decode`: the likeliest token, again and again, until every sequence has ended.

The model is a stand-in that the subject builds from a table (`grader.subject.translator`): what it says depends on all
of the source, on everything written so far and on its mode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from grader.exercises.lesson_08.shared import spoken
from grader.sentences import say
from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.spec import Spec, When
from grader.subject import Given, Request
from grader.subject.translator import Translator
from grader.subject.values import same

spec = Spec(__name__)

Ids = Callable[..., Tensor]


def reference(model: Any, src: Tensor, bos_idx: int, eos_idx: int, max_length: int) -> Tensor:
    """The right `greedy_decode`, in ids (B, max_length), for `src` (B, Ts): all sequences are written to max_length,
    then each is cut after its first eos and filled up with eos."""
    was_training = model.training
    written = torch.full((len(src), 1), bos_idx)
    with torch.no_grad():
        model.eval()
        for _ in range(max_length - 1):
            written = torch.cat([written, model(src, written)[:, -1:].argmax(-1)], dim=1)
    model.train(was_training)
    rows = [spoken(row, eos_idx) for row in written.tolist()]
    return torch.tensor([row + [eos_idx] * (max_length - len(row)) for row in rows])


def filled(value: Tensor, width: int, eos: int) -> Tensor:
    """Ids, (B, T), filled up to this width: with eos if every row holds one, with -1 if a row was cut off before its
    end."""
    missing = max(0, width - value.shape[1])
    filler = eos if bool((value == eos).any(dim=1).all()) else -1
    return torch.cat([value.long(), torch.full((len(value), missing), filler)], dim=1)


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def _given(grows: str, src: Tensor, written: Tensor) -> tuple[Tensor, Tensor]:
    """What the model gets: source (B, Ts) and written ids (B, T), put together as `grows` says (see `decoding`)."""
    bos, grown, joined = written[:, :1], torch.cat([src, written[:, 1:]], dim=1), torch.cat([src, written], dim=1)
    return {
        "target": (src, written),
        "source": (grown, bos),
        "returned source": (grown, bos),
        "both": (grown, written),
        "neither": (src, written[:, -1:]),
        "source with bos": (joined, bos),
        "source for target": (src, joined),
        "source twice": (grown, grown),
        "source with bos twice": (joined, joined),
        "target for source": (written, src),
    }[grows]


SOURCE_GROWS = (
    "source",
    "both",
    "returned source",
    "source with bos",
    "source for target",
    "source twice",
    "source with bos twice",
)


def decoding(
    position: int = -1,
    eos_kept: bool = True,
    grows: str = "target",
    training: bool = False,
    ends: str = "all",
    extra: int = 0,
    with_bos: bool = True,
) -> Ids:
    """A greedy decoder, right unless a part is changed; like `reference` it gives ids (B, max_length).

    `position`: whose logits are read. `eos_kept`: whether a sequence that has ended goes on with eos only.
    `grows`: what each new token is appended to, "target" or another key of `_given`; with "returned source" the source
    is also what is returned.
    `training`: whether the model stays in train mode if it came in it.
    `ends`: stops when "all", "any" or the "first" of the sequences have ended, when all give eos "together", or
    "never".
    `extra`: how many more tokens are written. `with_bos`: whether bos is part of the result.
    """

    def decode(model: Any, src: Tensor, bos_idx: int, eos_idx: int, max_length: int) -> Tensor:
        model.train(training and model.training)
        written = torch.full((len(src), 1), bos_idx)
        ended = torch.zeros(len(src), dtype=torch.bool)
        while written.shape[1] < max_length + extra:
            token = model(*_given(grows, src, written))[:, position].argmax(-1)
            token = torch.where(ended, eos_idx, token) if eos_kept else token
            written = torch.cat([written, token[:, None]], dim=1)
            ended |= token == eos_idx
            done = {"all": ended.all(), "any": ended.any(), "first": ended[0], "together": (token == eos_idx).all()}
            if ends != "never" and done[ends]:
                break
        if grows == "returned source":
            return filled(torch.cat([src, written[:, 1:]], dim=1), max_length, eos_idx)
        return filled(written if with_bos else written[:, 1:], max_length, eos_idx)

    return decode


def every_end(**wrong: Any) -> tuple[Ids, ...]:
    """The decoders with the parts `wrong` changed, one for each way of going on after eos, each in eval mode and in the
    model's own mode."""
    talks = ({"eos_kept": False, "ends": ends} for ends in ("never", "all", "together"))
    return tuple(decoding(training=mode, **end, **wrong) for end in ({}, *talks) for mode in (False, True))  # type: ignore[arg-type]


# --- models, and sources whose sequences end where a case needs it ----------------------------------------------------

ROWS = 61  # of a model's table; a prime, so that no position repeats another
LONGEST = 13
CANDIDATES = 64

ENDING, TURNED, TALKING, TRAINING, SINGLE, SHORT = (
    "sequences that end",
    "the same sequences in another order",
    "sequences that don't all end",
    "a model in train mode",
    "one sequence",
    "max_length 1",
)


class _ModelAndSources:
    """A model, as a table, and source sentences of which it is known where the model's translations end."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        vocab = draw.integer(8, 12)
        # Not 0, which a forgotten bos would be; and no id that all others are smaller than.
        self.bos, self.eos = draw.integer(1, 3), draw.integer(3, vocab - 1)
        self.table = draw.normal((ROWS, vocab))
        self.sources = draw.integers((CANDIDATES, draw.integer(4, 7)), 3, 30)
        talk = self._talk()
        self.ends = [row.index(self.eos) if self.eos in row else LONGEST for row in talk]
        # After its eos such a row goes on with other tokens if nothing stops it.
        self.goes_on = [
            any(token != self.eos for token in row[end + 1 : end + 3]) for row, end in zip(talk, self.ends, strict=True)
        ]

    def _talk(self) -> list[list[int]]:
        """The ids that the model writes for each source in eval mode, LONGEST of them, if nothing stops it."""
        model = Translator({"table": self.table, "training": False, "watched": "mode"})
        written = torch.full((CANDIDATES, 1), self.bos)
        with torch.no_grad():
            while written.shape[1] < LONGEST:
                written = torch.cat([written, model(self.sources, written)[:, -1:].argmax(-1)], dim=1)
        return written.tolist()

    def case(
        self,
        name: str,
        max_length: int,
        ending: int,
        unended: int = 0,
        training: bool = False,
        watched: str = "mode",
        earliest: int | None = None,
    ) -> Case:
        """A case with `ending` sequences that end well before max_length, at different steps where possible, and
        `unended` ones that don't end. `training`: the model's first mode; `watched`: which change of it shows, "mode"
        or "gradient". `earliest`: where in the batch the one that ends first stands, None for anywhere."""
        fit = [i for i, end in enumerate(self.ends) if 2 <= end <= max_length - 3 and self.goes_on[i]]
        first_of_step = {self.ends[i]: i for i in reversed(fit)}
        chosen = [*dict.fromkeys([*first_of_step.values(), *fit])][:ending]
        chosen += [i for i, end in enumerate(self.ends) if end >= max_length][:unended]
        order = torch.randperm(len(chosen), generator=self.draw.generator)
        rows = torch.tensor(chosen)[order].tolist()
        if earliest is not None:
            first = min(rows, key=lambda row: self.ends[row])
            at = rows.index(first)
            rows[at], rows[earliest] = rows[earliest], rows[at]
        src = self.sources[torch.tensor(rows)]
        model = Given("translator", {"table": self.table, "training": training, "watched": watched})
        args = {"model": model, "src": src, "bos_idx": self.bos, "eos_idx": self.eos, "max_length": max_length}
        return Case(name, args, {"B": len(src), "T": max_length})

    def suits(self) -> bool:
        """Whether there are enough sources of every kind: translations that end early, at different steps, and
        never."""
        ending = [end for end, goes_on in zip(self.ends, self.goes_on, strict=True) if goes_on and 2 <= end <= 7]
        early = [end for end in ending if end <= 4]
        return len(ending) >= 8 and len(set(ending)) >= 4 and len(set(early)) >= 2 and self.ends.count(LONGEST) >= 2


def cases(draw: Draw) -> list[Case]:
    """The cases of a check, with two different models."""
    make = other = _ModelAndSources(draw)
    while not make.suits():
        make = _ModelAndSources(draw)
    while not other.suits() or other.bos == make.bos or other.eos == make.eos:
        other = _ModelAndSources(draw)
    batch = draw.integer(4, 6)
    ending = make.case(ENDING, draw.integer(10, LONGEST), batch, earliest=0)
    return [
        ending,
        replace(ending, name=TURNED, args={**ending.args, "src": ending.args["src"].roll(1, 0)}),
        make.case(TALKING, draw.integer(7, 9), batch - 1, 2, watched="gradient"),
        other.case(TRAINING, draw.integer(10, LONGEST), batch, training=True, earliest=-1),
        make.case(SINGLE, 10, 1),
        make.case(SHORT, 1, 0, batch),
    ]


# --- what came back ---------------------------------------------------------------------------------------------------


def ids(session: Session, case: Case) -> Tensor | None:
    """The returned ids, filled up to (B, max_length) by `filled`; None if the result is no table of whole numbers."""
    value = session.call(case).value
    if not isinstance(value, Tensor) or value.dim() != 2 or value.is_floating_point() or value.dtype == torch.bool:
        return None
    return filled(value, case.args["max_length"], case.args["eos_idx"])


def _expected(session: Session, case: Case) -> Tensor:
    return session.once(("expected", case.name), lambda: session.evaluate(case, reference))


def is_right(session: Session, name: str) -> bool:
    """Whether a case's ids are right."""
    case = session.cases[name]
    outcome = session.call(case)
    got = ids(session, case) if outcome.ok else None
    return got is not None and torch.equal(got, _expected(session, case))


def _wrong(session: Session, name: str, up_to_eos: bool = False) -> Finding | None:
    case = session.cases[name]
    outcome = session.call(case)
    finding = compare.no_value(outcome, session.exercise)
    if finding is not None:
        return finding
    value = outcome.value
    got, right = ids(session, case), _expected(session, case)
    context = {"case": say(name), "longest": case.args["max_length"], "eos": case.args["eos_idx"]}
    if got is None:
        returned = say("a list") if isinstance(value, list) else compare.with_dtype(value)
        return Finding(
            "wrong-type", say("`greedy_decode` returned {what}, expected a tensor (B, T) of token ids.", what=returned)
        )
    if got.shape != right.shape:
        shape, rows, width = tuple(value.shape), *right.shape
        message = say(
            "The result has shape {shape}, expected {rows} rows and at most {width} columns ({case}; max_length = "
            "{longest}, eos_idx = {eos}).",
            shape=shape,
            rows=rows,
            width=width,
            **context,
        )
        return Finding("wrong-shape", message)
    if up_to_eos:
        got = got.where(~_behind(right, case.args["eos_idx"]), right)
    if not torch.equal(got, right):
        row, column = (int(i) for i in (got != right).nonzero()[0])
        message = say(
            "Row {row} is wrong from column {column} onwards ({case}; max_length = {longest}, eos_idx = {eos}).",
            row=row,
            column=column,
            **context,
        )
        return Finding("wrong-values", message, got=value[row].clone(), expected=right[row])
    return None


def _behind(tokens: Tensor, eos_idx: int) -> Tensor:
    """A boolean tensor of the ids' shape, (B, T), that is True after the first eos of each row."""
    is_eos = (tokens == eos_idx).long()
    return is_eos.cumsum(-1) - is_eos > 0


def _decodes(title: str, weight: float, *names: str, up_to_eos: bool = False) -> Part:
    return Part(title, weight, lambda s: next((f for name in names if (f := _wrong(s, name, up_to_eos))), None))


def _leaves(title: str, weight: float, message: str, argument: str, *names: str) -> Part:
    """A part that passes if `argument` is unchanged in the named cases. It waits until the ids are right, since a
    constant result would leave everything unchanged. `message` is the finding's, with {name} for the case's."""

    def judge(session: Session) -> Finding | None:
        for name in names:
            case = session.cases[name]
            if list(case.args).index(argument) in session.call(case).changed:
                return Finding("changes-argument", say(message, name=say(name)))
        if not all(is_right(session, name) for name in names):
            return not_judged("values-first")
        return None

    return Part(title, weight, judge, compares_values=False)


def matches_any(*variants: Ids) -> Callable[[Session], bool]:
    """A recogniser that says whether all ids are those of one variant, except for cases whose ids are right, and at
    least one case's ids are wrong."""

    def recognise(session: Session) -> bool:
        wrong = [case for name, case in session.cases.items() if not is_right(session, name)]
        got = {case.name: ids(session, case) for case in wrong}
        if not wrong or any(value is None for value in got.values()):
            return False

        def explains(variant: Ids) -> bool:
            with torch.no_grad():
                return all(torch.equal(got[case.name], session.evaluate(case, variant)) for case in wrong)  # type: ignore[arg-type]

        return any(explains(variant) for variant in variants)

    return recognise


def _after_eos(session: Session, mode_kept: bool = False) -> tuple[bool, set[int]]:
    """Whether all rows are right up to their eos, and which other ids follow it; False and none if a row isn't.
    `mode_kept`: right are those of a decoder that leaves the model in its own mode."""
    fillers: set[int] = set()
    for case in session.cases.values():
        got, right = ids(session, case), _expected(session, case)
        if mode_kept:
            right = session.evaluate(case, decoding(training=True))
        if got is None or got.shape != right.shape:
            return False, set()
        eos = case.args["eos_idx"]
        behind = _behind(right, eos)
        if not torch.equal(got[~behind], right[~behind]):
            return False, set()
        fillers |= set(got[behind].tolist()) - {eos}
    return True, fillers


def _goes_on(session: Session) -> bool:
    return any(
        right_so_far and len(fillers) > 1 for right_so_far, fillers in map(partial(_after_eos, session), (False, True))
    )


def _filled_with_another(session: Session) -> bool:
    right_so_far, fillers = _after_eos(session)
    return right_so_far and len(fillers) == 1


def _one_number(session: Session) -> bool:
    raised = [session.call(case).raised for case in session.cases.values()]
    words = ("cannot be converted to Scalar", "more than one value is ambiguous", "only one element tensors")
    return any(error is not None and any(word in error.message for word in words) for error in raised)


def _eos_lost(session: Session) -> bool:
    """Whether a single sequence is right but for its eos, which is missing."""
    case = session.cases[SINGLE]
    got, right = session.call(case).value, _expected(session, case)
    end = spoken(right[0].tolist(), case.args["eos_idx"])[:-1]
    return isinstance(got, Tensor) and got.dim() == 2 and got[0].tolist() == end


def _other_start(session: Session) -> bool:
    """Whether all sequences start with eos, or all with one other token, and none with bos."""
    starts: set[object] = set()
    for case in session.cases.values():
        got = ids(session, case)
        if got is None or bool((got[:, 0] == case.args["bos_idx"]).any()):
            return False
        starts |= {"eos"} if bool((got[:, 0] == case.args["eos_idx"]).all()) else set(got[:, 0].tolist())
    return len(starts) == 1


def _mode(name: str) -> Callable[[Session], bool]:
    """Whether all ids are right, but the model is in another mode after the case `name` than before it."""

    def recognise(session: Session) -> bool:
        switched = 0 in session.call(session.cases[name]).changed
        return switched and all(is_right(session, other) for other in session.cases)

    return recognise


def _over_the_batch(session: Session) -> bool:
    """Whether the largest logit is searched along the batch, which gives token 0 for a single sequence, or one token
    for each word of the vocabulary."""
    case = session.cases[SINGLE]
    outcome = session.call(case)
    if outcome.raised is not None:
        words = case.args["model"].data["table"].shape[1]
        return "must match" in outcome.raised.message and f"got size {words} " in outcome.raised.message
    value = outcome.value
    return isinstance(value, Tensor) and value.dim() == 2 and value.shape[1] > 1 and not bool(value[:, 1:].any())


def _drawn(session: Session) -> bool:
    """Whether other random numbers give other ids."""
    case = session.cases[ENDING]
    asked = Request("call", session.exercise.name, tuple(case.args.values()))
    first, second = (session.ask(replace(asked, seed=seed)) for seed in (1, 2))
    return all(isinstance(outcome.value, Tensor) for outcome in (first, second)) and not same(first.value, second.value)


def _gradients(session: Session) -> bool:
    """Whether all ids are right, and gradients were recorded."""
    tracked = 0 in session.call(session.cases[TALKING]).changed
    return tracked and all(is_right(session, name) for name in session.cases)


def _one_column_more(session: Session) -> bool:
    """Whether max_length columns follow bos where not all sequences end."""
    case = session.cases[TALKING]
    value = session.call(case).value
    return isinstance(value, Tensor) and value.dim() == 2 and value.shape[1] == case.args["max_length"] + 1


MODE = "In the case «{name}» the model's mode (`model.training`) was not the same after the call as before it."
TRACKED = "Gradients were recorded during decoding ({name}). That costs memory, and they aren't needed here."

EXERCISE = spec.exercise(
    points=4,
    signature=("model", "src", "bos_idx", "eos_idx", "max_length"),
    cases=cases,
    parts=(
        _decodes("writes one sequence to its end", 2, SINGLE, up_to_eos=True),
        _decodes("writes a batch; after eos comes only eos", 3, ENDING, TURNED),
        _decodes("stops at max_length, bos counted", 2, TALKING, SHORT),
        _decodes("decodes in eval mode", 2, TRAINING),
        _leaves("leaves the model in the mode it was in", 1.5, MODE, "model", TRAINING, ENDING),
        _leaves("records no gradients", 0.5, TRACKED, "model", TALKING),
        _leaves("leaves `src` as it was", 0.5, "`src` was changed in place ({name}).", "src", ENDING, SINGLE),
    ),
    mistakes={
        "left-in-eval-mode": When(_mode(TRAINING)),
        "always-back-to-train-mode": When(_mode(ENDING)),
        "stays-in-train-mode": When(matches_any(decoding(training=True))),
        "gradients-recorded": When(_gradients),
        "largest-over-the-batch": When(_over_the_batch),
        "drawn-at-random": When(_drawn),
        "reads-first-position": When(matches_any(*every_end(position=0))),
        "appends-to-source": When(matches_any(*(way for grows in SOURCE_GROWS for way in every_end(grows=grows)))),
        "forgets-what-it-wrote": When(matches_any(*every_end(grows="neither"))),
        "arguments-swapped": When(matches_any(*every_end(grows="target for source"))),
        "one-number-for-a-batch": When(_one_number),
        "eos-lost": When(_eos_lost),
        "starts-with-another-token": When(_other_start),
        "never-stops": When(_goes_on),
        "another-filler": When(_filled_with_another),
        "stops-with-the-first": When(
            matches_any(*(decoding(ends=e, eos_kept=kept) for e in ("any", "first") for kept in (True, False)))
        ),
        "bos-left-out": When(matches_any(decoding(with_bos=False), decoding(with_bos=False, extra=1))),
        "one-token-too-many": When(
            lambda session: _one_column_more(session) or matches_any(decoding(extra=1))(session)
        ),
    },
)
