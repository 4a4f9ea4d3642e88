"""What `generate` and `generate_with_cache` are judged by: a model that the subject builds from a table
(`grader.subject.writer`), runs in which only one text can come out, and one in which drawn tokens are counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from grader.exercises.lesson_11.next_token_probabilities import RIGHT as PROBABILITIES
from grader.sentences import say, together
from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exercise import Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.words import Words
from grader.subject import Given, Outcome, Request
from grader.subject.writer import Writer

mistake = Words(__file__)

ROWS = 61  # of a model's table; a prime, so that no position repeats another
MANY = 1500
SPREAD = 1.2  # of a row's logits: temperature 0.6 and the two least likely of a row both show in many draws
SURE, TRAINING, COLD, FEW, DRAWN = (
    "a model that is sure",
    "a model in train mode",
    "temperature 0",
    "top_k = 1",
    "many texts from one prompt",
)
LONG, LONGER = "a text that grows beyond max_length", "a prompt longer than max_length"
Write = Callable[..., Tensor]


@dataclass(frozen=True)
class Run:
    """A model by its table, a prompt, and how the next tokens are drawn."""

    name: str
    table: Tensor  # (K, V)
    prompt: Tensor  # (B, T)
    new_tokens: int
    max_length: int = 64
    training: bool = False  # the model's first mode
    seed: int = 5
    drawn: int = 0  # how many numbers came out of the generator before the call
    sampling: Mapping[str, Any] = field(default_factory=dict)  # the keywords, such as temperature

    @property
    def exact(self) -> bool:
        """Whether only one text can come out."""
        return self.name != DRAWN

    @property
    def data(self) -> dict[str, Any]:
        """What `Writer` is made from."""
        return {"table": self.table, "training": self.training, "max_length": self.max_length}


@dataclass(frozen=True)
class Seen:
    """What a call has left: the text, the model's mode, what the model was fed (as in `Writer`, a row for each call),
    whether gradients were recorded and whether the prompt was changed."""

    text: Any
    training: bool
    fed: list[list[int]]
    recorded: bool
    prompt_changed: bool


def runs(draw: Draw, long: bool) -> dict[str, Run]:
    """The runs of a check, by name. With `long` there are texts beyond max_length, too."""
    sizes = draw.sizes("V", "B", "T")
    words, batch, length = 7 + sizes["V"] % 5, 3 + sizes["B"] % 3, 3 + sizes["T"] % 3

    def prompt(columns: int = length) -> Tensor:
        return draw.integers((batch, columns), 0, words)

    sure, other = (_sure(draw, words) for _ in range(2))
    mild = draw.normal((ROWS, words))
    mild = SPREAD * mild / mild.std(-1, keepdim=True)
    made = [
        Run(SURE, sure, prompt(), 8),  # more than length + 1: the prompt and one token are not taken for the new ones
        Run(TRAINING, other, prompt(), 5, training=True),
        Run(COLD, mild, prompt()[:1], 5, sampling={"temperature": 0}),  # one sequence
        Run(FEW, mild, prompt(), 5, sampling={"top_k": 1, "temperature": 1.5}),
        Run(DRAWN, mild, prompt()[:1].repeat(MANY, 1), 3, sampling={"temperature": 0.6, "top_k": words - 2}),
    ]
    if long:
        made += [
            Run(LONG, sure, prompt(), 7, max_length=length + 2),
            Run(LONGER, other, prompt(length + 3), 4, max_length=length + 1),
        ]
    return {run.name: run for run in made}


def _sure(draw: Draw, words: int) -> Tensor:
    """Logits, (ROWS, words), so far apart that the largest is drawn for certain, in another order in each row."""
    order = torch.stack([torch.randperm(words, generator=draw.generator) for _ in range(ROWS)])
    return 60.0 * order


# --- right, and wrong on purpose --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Writing:
    """A way to write, right unless a field is changed: a prompt (B, T) gives (B, T + new_tokens)."""

    reads: int = -1  # the position whose logits count
    # What the model gets: "end" (the last max_length tokens), "start", "all", "last" (one token) or "prompt".
    given: str = "end"
    eval: bool = True  # whether it is in eval mode
    draws: str = "each"  # or "argmax", or "once" (one token for all rows)
    sampled: bool = True  # whether `sampling` is used
    returns: str = "all"  # or "new", or "window" (what the model got last, and the last token)

    def __call__(
        self, model: Any, prompt: Tensor, new_tokens: int, generator: torch.Generator, **sampling: Any
    ) -> Tensor:
        model.train(model.training and not self.eval)
        tokens = prompt
        for _ in range(new_tokens):
            if self.returns == "window":
                tokens = tokens[:, -model.max_length :]
            window = {
                "end": tokens[:, -model.max_length :],
                "start": tokens[:, : model.max_length],
                "all": tokens,
                "last": tokens[:, -1:],
                "prompt": prompt[:, -model.max_length :],
            }[self.given]
            logits = model(window)[:, self.reads]
            chances = PROBABILITIES(logits, **(sampling if self.sampled else {}))
            drawn = torch.multinomial(chances, 1, generator=generator)
            drawn = logits.argmax(-1, keepdim=True) if self.draws == "argmax" else drawn
            drawn = drawn[:1].expand(len(prompt), 1) if self.draws == "once" else drawn
            tokens = torch.cat([tokens, drawn], dim=1)
        return tokens[:, prompt.shape[1] :] if self.returns == "new" else tokens


RIGHT = Writing()


def written(run: Run, write: Write = RIGHT) -> Tensor | None:
    """The text (B, T + new_tokens) that `write` makes in a run; None where the model refuses it."""
    generator = torch.Generator().manual_seed(run.seed)
    try:
        with torch.no_grad():
            return write(Writer(run.data), run.prompt.clone(), run.new_tokens, generator, **run.sampling)
    except (ValueError, RuntimeError):
        return None


# --- the student's ----------------------------------------------------------------------------------------------------


def drawn_runs(session: Session) -> dict[str, Run]:
    """The runs of this check, by name."""
    return session.once("runs", lambda: runs(session.draw, long=session.exercise.name == "generate"))


def observed(session: Session, name: str) -> Seen | Finding:
    """What the student's function did in the run `name`, or the finding that says why it came to no end."""
    return session.once(("seen", name), lambda: observe(session, drawn_runs(session)[name]))


def call(session: Session, run: Run, target: str, torch_seed: int = 11) -> Outcome:
    """The outcome of the student's function `target` in one run, on a fresh model under "@writer". `torch_seed`: of
    torch's own generator."""
    session.ask(Request("build", handle="writer", args=(Given("writer", run.data),)))
    generator = Given("generator", {"seed": run.seed, "drawn": run.drawn})
    args = (Given("built", {"handle": "writer"}), run.prompt, run.new_tokens, generator)
    return session.ask(Request("call", target, args, keywords=dict(run.sampling), seed=torch_seed))


def observe(session: Session, run: Run, torch_seed: int = 11) -> Seen | Finding:
    """What the exercise's function did in a run, with what was seen of the model, or the finding that says why it came
    to no end."""
    outcome = call(session, run, session.exercise.name, torch_seed)
    finding = compare.run_error(outcome, session.exercise)
    if finding is not None and finding.kind != "raised":
        return finding
    if finding is not None:
        said = say(
            "The call ({case}): prompt {shape}, new_tokens = {new}, model.max_length = {longest}.",
            case=say(run.name),
            shape=tuple(run.prompt.shape),
            new=run.new_tokens,
            longest=run.max_length,
        )
        return replace(finding, message=together(finding.message, said))
    state = session.ask(Request("state", "@writer"))
    finding = compare.run_error(state, session.exercise)
    if finding is not None:
        return finding
    fed, recorded = state.value["buffers"]["fed"].tolist(), bool(state.value["buffers"]["recorded"])
    return Seen(outcome.value, state.value["training"], fed, recorded, 1 in outcome.changed)


def ids(session: Session, name: str) -> Tensor | None:
    """The text (B, T) of a run; None if there is none, or if it is no table of whole numbers."""
    seen = observed(session, name)
    if isinstance(seen, Finding) or not isinstance(seen.text, Tensor) or seen.text.dim() != 2:
        return None
    return None if seen.text.is_floating_point() or seen.text.is_complex() else seen.text.long()


def wrong(session: Session, name: str) -> Finding | None:
    """Why a run with one right text doesn't pass, None if it does."""
    finding = misshapen(session, name)
    if finding is not None:
        return finding
    got, right = ids(session, name), written(drawn_runs(session)[name])
    assert got is not None
    assert right is not None
    if torch.equal(got, right):
        return None
    row, column = (int(i) for i in (got != right).nonzero()[0])
    message = say(
        "Row {row} is wrong from column {column} on ({case}; columns of the prompt: {columns}).",
        row=row,
        column=column,
        case=say(name),
        columns=_columns(session, name),
    )
    return Finding("wrong-values", message, got=got[row].clone(), expected=right[row])


def _columns(session: Session, name: str) -> int:
    return drawn_runs(session)[name].prompt.shape[1]


def misshapen(session: Session, name: str) -> Finding | None:
    """Why a run gave no text of the right shape, None if it did."""
    seen, run = observed(session, name), drawn_runs(session)[name]
    if isinstance(seen, Finding):
        return seen
    if seen.text is None:
        return compare.returned_none(session.exercise)
    got, shape = ids(session, name), (len(run.prompt), run.prompt.shape[1] + run.new_tokens)
    if got is None:
        returned = compare.with_dtype(seen.text)
        said = say("`{name}` returned {what}, expected a tensor of ids.", name=session.exercise.name, what=returned)
        return Finding("wrong-type", said)
    if tuple(got.shape) != shape:
        message = say(
            "The result has shape {got}, expected {expected} for the prompt and {new} new tokens ({case}).",
            got=tuple(got.shape),
            expected=shape,
            new=run.new_tokens,
            case=say(name),
        )
        return Finding("wrong-shape", message)
    return None


# --- parts ------------------------------------------------------------------------------------------------------------


def writes(title: str, weight: float, *names: str) -> Part:
    """A part that passes if the texts of the named runs, which have one right text each, are right."""
    return Part(title, weight, lambda s: next((f for name in names if (f := wrong(s, name))), None))


def _leaves(title: str, weight: float, fault: Callable[[Session, Seen, Run], Finding | None], *names: str) -> Part:
    """A part that passes if no `fault` is found in what the named runs left. It waits until the text of the plainest
    run is right, since a constant result would leave everything as it was."""

    def judge(session: Session) -> Finding | None:
        for name in names:
            seen = observed(session, name)
            finding = seen if isinstance(seen, Finding) else fault(session, seen, drawn_runs(session)[name])
            if finding is not None:
                return finding
        return None if wrong(session, SURE) is None else not_judged("values-first")

    return Part(title, weight, judge, compares_values=False)


def keeps_mode(weight: float) -> Part:
    """A part that passes if the model is in the mode that it was in."""

    def switched(_session: Session, seen: Seen, run: Run) -> Finding | None:
        if seen.training == run.training:
            return None
        left = (
            "The model was in eval mode and is left in train mode ({case})."
            if seen.training
            else "The model was in train mode and is left in eval mode ({case})."
        )
        return Finding("mode-changed", say(left, case=say(run.name)))

    return _leaves("leaves the model in the mode it was in", weight, switched, TRAINING, SURE)


def records_nothing(weight: float) -> Part:
    """A part that passes if no gradients are recorded."""

    def recorded(_session: Session, seen: Seen, _run: Run) -> Finding | None:
        message = "Gradients were recorded during generation. That costs memory, and they aren't needed here."
        return Finding("gradients-recorded", message) if seen.recorded else None

    return _leaves("records no gradients", weight, recorded, SURE)


def leaves_prompt(weight: float) -> Part:
    """A part that passes if the prompt isn't changed in place."""

    def changed(session: Session, seen: Seen, _run: Run) -> Finding | None:
        said = say("`{name}` changed `prompt` in place.", name=session.exercise.name)
        return Finding("changes-argument", said) if seen.prompt_changed else None

    return _leaves("leaves `prompt` as it was", weight, changed, SURE)


def again(session: Session, run: Run, torch_seed: int) -> Tensor | None:
    """The text of a run once more, with another seed for torch's own generator; None if there is none."""
    seen = session.once(("again", run.seed, run.drawn, torch_seed), lambda: observe(session, run, torch_seed))
    return seen.text if isinstance(seen, Seen) and isinstance(seen.text, Tensor) else None


def draws_by_generator(weight: float) -> Part:
    """A part that passes if the text follows from `generator`, and torch's own generator makes no difference."""

    def judge(session: Session) -> Finding | None:
        finding = misshapen(session, DRAWN)
        message = _not_by_generator(session) if finding is None else None
        return Finding("generator-not-used", message) if message else finding

    return Part("draws with the generator", weight, judge)


def _not_by_generator(session: Session) -> str | None:
    """Why the draws don't come from `generator`, or not from it alone, in words; None if they do."""
    run, first = drawn_runs(session)[DRAWN], ids(session, DRAWN)
    assert first is not None
    same, other, used = (
        again(session, replace(run, **how), torch_seed)  # type: ignore[arg-type]
        for how, torch_seed in (({}, 12), ({"seed": run.seed + 1}, 11), ({"drawn": 7}, 11))
    )
    if same is None or not torch.equal(first, same):
        return "Two generators with the same seed gave different texts, so not all draws come from `generator`."
    if other is not None and torch.equal(first, other):
        return "Generators with different seeds gave the same texts."
    if used is not None and torch.equal(first, used):
        return "A generator that was used before gave the same texts as a fresh one, so only its seed is used."
    return None


def draws_by_chance(weight: float) -> Part:
    """A part that passes if the drawn tokens are as frequent as they are probable."""

    def judge(session: Session) -> Finding | None:
        finding = misshapen(session, DRAWN)
        return finding or _unlikely(drawn_runs(session)[DRAWN], ids(session, DRAWN))

    return Part("draws each token as often as it is probable", weight, judge)


MOST = 6.0  # standard deviations: a right answer is further off once in 10 million checks


def _unlikely(run: Run, text: Tensor | None) -> Finding | None:
    assert text is not None
    columns, words = run.prompt.shape[1], run.table.shape[1]
    if not torch.equal(text[:, :columns], run.prompt):
        return Finding("wrong-values", say("The result doesn't begin with the prompt ({case}).", case=say(run.name)))
    if bool((text < 0).any() or (text >= words).any()):
        strange = say("The result holds ids that the vocabulary doesn't have ({case}).", case=say(run.name))
        return Finding("wrong-values", strange)
    with torch.no_grad():
        logits = Writer({**run.data, "training": False})(text[:, :-1])[:, columns - 1 :]
    chances = PROBABILITIES(logits, **run.sampling).double()  # (B, new, V)
    drawn = torch.nn.functional.one_hot(text[:, columns:], words)
    counted, expected = drawn.sum(0), chances.sum(0)
    deviation = (chances * (1 - chances)).sum(0).sqrt()
    far = (counted - expected).abs() > MOST * deviation + 1e-6
    if not far.any():
        return None
    step, word = (int(i) for i in far.nonzero()[0])
    times, wanted = int(counted[step, word]), float(expected[step, word])
    message = say(
        "In {draws} draws of new token {step} the id {id} came {times} times, expected about {wanted} ({sampling}).",
        draws=len(text),
        step=step,
        id=word,
        times=times,
        wanted=f"{wanted:.0f}",
        sampling=", ".join(f"{name} = {value:g}" for name, value in run.sampling.items()),
    )
    return Finding("wrong-values", message)


# --- mistakes that both can make --------------------------------------------------------------------------------------


def fits(*ways: Write, where: str | None = None) -> Callable[[Session], bool]:
    """A recogniser that says whether in every run with one right text the text is that or that of one way, and in one
    at least the way's. `where`: the run in which it has to show. Runs that raised don't count."""

    def recognise(session: Session) -> bool:
        return any(_is(session, way, where) for way in ways)

    return recognise


def _is(session: Session, way: Write, where: str | None) -> bool:
    shows: set[str] = set()
    for name, run in drawn_runs(session).items():
        if not run.exact or isinstance(observed(session, name), Finding):
            continue
        got, right, other = ids(session, name), written(run), written(run, way)
        if got is None or (other is None and not torch.equal(got, right)):  # type: ignore[arg-type]
            return False
        if right is not None and torch.equal(got, right):
            continue
        if other is None or not torch.equal(got, other):
            return False
        shows.add(name)
    return bool(shows) if where is None else where in shows


def only_new(session: Session) -> bool:
    """Whether the new tokens come back without the prompt."""
    got, run = ids(session, SURE), drawn_runs(session)[SURE]
    return got is not None and got.shape == (len(run.prompt), run.new_tokens)


def only_one(session: Session) -> bool:
    """Whether the prompt comes back with one new token, though several are asked for."""
    got, run = ids(session, SURE), drawn_runs(session)[SURE]
    return got is not None and got.shape == (len(run.prompt), run.prompt.shape[1] + 1)


def _one_off(session: Session) -> bool:
    """Whether the text has one new token too few or too many."""
    got, run = ids(session, SURE), drawn_runs(session)[SURE]
    return got is not None and abs(got.shape[1] - run.prompt.shape[1] - run.new_tokens) == 1


def raises(*words: str) -> Callable[[Session], bool]:
    """A recogniser that says whether the first error that was raised has one of these words in its message."""

    def recognise(session: Session) -> bool:
        return any(word in error.message for error in session.raised[:1] for word in words)

    return recognise


def _mode(name: str) -> Callable[[Session], bool]:
    """A recogniser that says whether the texts are right, but the model is in another mode after the run `name` than
    before it."""

    def recognise(session: Session) -> bool:
        seen, run = observed(session, name), drawn_runs(session)[name]
        switched = isinstance(seen, Seen) and seen.training != run.training
        return switched and wrong(session, SURE) is None and wrong(session, TRAINING) is None

    return recognise


def _with_other_seeds(session: Session) -> list[Tensor | None]:
    run = drawn_runs(session)[DRAWN]
    return [again(session, replace(run, seed=run.seed + more), 11) for more in range(1, 7)]


def _argmax(session: Session) -> bool:
    """Whether the likeliest token is always taken, with any seed."""
    text, expected = ids(session, DRAWN), written(drawn_runs(session)[DRAWN], replace(RIGHT, draws="argmax"))
    texts = [text, *_with_other_seeds(session)] if text is not None else []
    return bool(texts) and all(text is not None and torch.equal(text, expected) for text in texts)  # type: ignore[arg-type]


def _one_for_all(session: Session) -> bool:
    """Whether one token is drawn for all texts: they are alike, and others with another seed."""
    text, run = ids(session, DRAWN), drawn_runs(session)[DRAWN]
    if text is None or len(text) != len(run.prompt) or not bool((text == text[:1]).all()):
        return False
    return any(other is not None and not torch.equal(text, other) for other in _with_other_seeds(session))


def _own_seed(session: Session) -> bool:
    """Whether the draws don't follow from `generator`, though all else is right."""
    if wrong(session, SURE) is not None or misshapen(session, DRAWN) is not None:
        return False
    return _not_by_generator(session) is not None


def _not_sampled(session: Session) -> bool:
    """Whether `sampling` makes no difference: runs without it are right, and others are drawn as if there were none."""
    if wrong(session, SURE) is not None or misshapen(session, DRAWN) is not None or wrong(session, FEW) is None:
        return False
    return _unlikely(replace(drawn_runs(session)[DRAWN], sampling={}), ids(session, DRAWN)) is None


MODES = (
    mistake("left-in-eval-mode", recognise=_mode(TRAINING)),
    mistake("always-back-to-train-mode", recognise=_mode(SURE)),
    mistake("stays-in-train-mode", recognise=fits(replace(RIGHT, eval=False))),
)

ONLY_ONE = mistake("only-one-token", recognise=only_one)

SLIPS = (
    ONLY_ONE,
    mistake("one-token-off", recognise=_one_off),
    mistake("token-without-its-axis", recognise=raises("same number of dimensions")),
    mistake("sampling-as-one-argument", recognise=raises("and 'dict'", "'dict' and")),
)

DRAWS = (
    mistake("always-argmax", recognise=_argmax),
    mistake("one-draw-for-all", recognise=_one_for_all),
    mistake("sampling-ignored", recognise=_not_sampled),
    mistake("generator-ignored", recognise=_own_seed),
)
