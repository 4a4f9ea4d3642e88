"""`next_token_probabilities`: temperature, top-k (Fan et al. 2018, 5.4) and top-p (Holtzman et al. 2020, 3.1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from grader.sentences import say
from grader.spec import parts
from grader.spec.cases import BATCH_OF_ONE
from grader.spec.diagnose import right
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part
from grader.spec.session import Session
from grader.spec.spec import Spec, When

spec = Spec(__name__)


def reference(logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None) -> Tensor:
    """The right `next_token_probabilities`, row by row and token by token: logits (..., V) give probabilities (..., V)
    of their dtype. None leaves out top-k or top-p."""
    rows = [_row(row, temperature, top_k, top_p) for row in logits.reshape(-1, logits.shape[-1])]
    return torch.stack(rows).reshape(logits.shape)


def _row(logits: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> Tensor:
    if temperature == 0:
        largest = int(logits.argmax())
        return torch.tensor([float(token == largest) for token in range(len(logits))], dtype=logits.dtype)
    chances = torch.softmax(logits / temperature, 0)
    order = chances.detach().argsort(descending=True).tolist()
    if top_k is not None:
        chances = _kept(chances, order[:top_k])
    if top_p is not None:
        stay: list[int] = []
        while not stay or (sum(chances[stay].tolist()) < top_p and len(stay) < len(order)):
            stay.append(order[len(stay)])
        chances = _kept(chances, stay)
    return chances


def _kept(chances: Tensor, stay: list[int]) -> Tensor:
    kept = chances * torch.tensor([float(token in stay) for token in range(len(chances))], dtype=chances.dtype)
    return kept / kept.sum()


# --- wrong on purpose -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sampler:
    """The distribution (..., V), right unless a field is changed."""

    # What temperature does: "divides", "multiplies", "nothing", "probabilities" (they are divided) or "twice" (they are
    # divided and go through a softmax again).
    heat: str = "divides"
    cold: bool = True  # whether temperature 0 is treated on its own
    descending: bool = True  # the order in which tokens stay
    more_k: int = 0  # how many more than top-k stay
    more_p: int = 0  # and than top-p
    at_least: int = 1  # the fewest that top-p keeps
    threshold: bool = False  # top-p is compared with each probability
    together: bool = False  # top-p doesn't know of top-k
    # What becomes of the rest after top-k and after top-p: "divided" (by their sum), "left" or "zero logit".
    ends: tuple[str, str] = ("divided", "divided")
    back: str = "right"  # how the order of the vocabulary comes back, or "never", or "gather"
    back_from: str = "any"  # after which steps it is lost, or "k", "p" or "always"
    result: Callable[[Tensor], Tensor] = lambda chances: chances  # what is made of the result

    def __call__(
        self, logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
    ) -> Tensor:
        if temperature == 0 and self.cold:
            return self.result(torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype))
        chances, order = self._heated(logits, temperature).sort(-1, descending=self.descending)
        whole = chances
        if top_k is not None:
            chances = self._end(chances, torch.arange(logits.shape[-1]) < top_k + self.more_k, self.ends[0])
        if top_p is not None:
            counted = whole if self.together else chances
            chances = self._end(chances, self._nucleus(counted, top_p), self.ends[1])
        return self.result(self._back(chances, order, top_k is not None, top_p is not None))

    def _heated(self, logits: Tensor, temperature: float) -> Tensor:
        if self.heat in ("probabilities", "twice"):
            chances = logits.softmax(-1) / temperature
            return chances.softmax(-1) if self.heat == "twice" else chances
        factor = {"divides": 1 / temperature if temperature else math.inf, "multiplies": temperature}
        return (logits * factor.get(self.heat, 1.0)).softmax(-1)

    def _nucleus(self, chances: Tensor, top_p: float) -> Tensor:
        if self.threshold:
            stay = chances >= top_p
        else:
            stay = chances.cumsum(-1) - chances < top_p
            rank = stay.long().sum(-1, keepdim=True) + self.more_p
            stay = torch.arange(chances.shape[-1]) < rank
        return stay | (torch.arange(chances.shape[-1]) < self.at_least)

    @staticmethod
    def _end(chances: Tensor, stay: Tensor, end: str) -> Tensor:
        if end == "zero logit":
            return (chances.log() * stay).softmax(-1)
        chances = chances * stay
        return chances / chances.sum(-1, keepdim=True) if end == "divided" else chances

    def _back(self, chances: Tensor, order: Tensor, by_k: bool, by_p: bool) -> Tensor:
        lost = {"any": by_k or by_p, "k": by_k, "p": by_p, "always": True}[self.back_from]
        if self.back == "right" or not lost:
            return torch.zeros_like(chances).scatter(-1, order, chances)
        return chances.gather(-1, order) if self.back == "gather" else chances


RIGHT = Sampler()
TOGETHER = replace(RIGHT, together=True)


def _zero_logits(by_k: bool, by_p: bool) -> Callable[..., Tensor]:
    """A wrong distribution, (..., V), whose excluded tokens get the logit 0 in place of -inf, after top-k if `by_k` and
    after top-p if `by_p`. The logits are those after the temperature, not the log of the probabilities."""

    def variant(
        logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
    ) -> Tensor:
        if temperature == 0:
            return RIGHT(logits, 0)
        logits = logits / temperature
        for step, zero in ((top_k, by_k), (top_p, by_p)):
            if step is not None:
                stays = (RIGHT(logits, 1.0, top_k) if step is top_k else RIGHT(logits, 1.0, None, top_p)) > 0
                logits = logits.masked_fill(~stays, 0.0 if zero else -math.inf)
        return logits.softmax(-1)

    return variant


def _left_by_top_k_alone(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """A wrong distribution, (..., V): what top-k leaves is divided by its sum at the beginning of top-p only."""
    return replace(RIGHT, ends=("left" if top_p is None else "divided", "divided"))(logits, temperature, top_k, top_p)


def _times_stays(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """A wrong distribution, (..., V), made of logits that are multiplied by True or False, for which of them stay."""
    stays = RIGHT(logits, temperature, top_k, top_p)
    return stays if temperature == 0 else (logits / temperature * (stays > 0)).softmax(-1)


# --- cases ------------------------------------------------------------------------------------------------------------

PLAIN, WARM, ALL = "one row", "a temperature", "all three steps for a batch of heads"
COLD, COLD_SINGLE = "temperature 0 in float64", "temperature 0"
TOP_K, WIDE, TOP_P, ONE, WHOLE = "top-k", "top-k above V", "top-p", "a small top-p", "a large top-p"
LITTLE, NEARLY_ALL = 0.02, 0.997  # reached by every token alone, only by all together
HIDDEN, DOUBLE, LARGE = "logits of -inf", "float64", "entries up to 50"


def _cases(draw: Draw) -> list[Case]:
    sizes = draw.sizes("B", "V", H=3)
    words, batch = 9 + sizes["V"] % 5, 2 + sizes["B"] % 2 * 3
    cold, hot = 0.01 * draw.integer(40, 80), 0.01 * draw.integer(130, 190)

    def case(name: str, leading: tuple[int, ...], *how: float | None, **made: Tensor) -> Case:
        logits = made.get("logits")
        logits = _clear(draw, (*leading, words), *how) if logits is None else logits
        args = dict(zip(("logits", "temperature", "top_k", "top_p"), (logits, *how), strict=False))
        return Case(name, args, {"V": words}, leading, comparable=name not in (LARGE, HIDDEN, BATCH_OF_ONE))

    few = draw.integer(3, 6)
    hidden = _clear(draw, (batch, words), 1.0, words - 2).masked_fill(_some(draw, batch, words), -math.inf)
    fifty = draw.uniform((batch, words), -50, 50)
    return [
        case(PLAIN, ()),
        case(WARM, (batch,), cold),
        case(COLD_SINGLE, (batch,), 0),
        case(COLD, (batch, 3), 0, logits=_clear(draw, (batch, 3, words), 0).double()),
        case(TOP_K, (batch,), hot, few),
        case(WIDE, (batch,), 1.0, words + draw.integer(2, 6)),
        case(TOP_P, (batch,), 1.0, None, 0.01 * draw.integer(55, 75)),
        case(ONE, (batch,), 1.0, None, LITTLE),
        case(WHOLE, (batch,), hot, None, NEARLY_ALL),
        case(ALL, (batch, 3), hot, few + 1, 0.01 * draw.integer(60, 75)),
        case(BATCH_OF_ONE, (1,), cold, few),
        case(HIDDEN, (batch,), 1.0, words - 2, logits=hidden),
        case(DOUBLE, (batch,), cold, few + 2, 0.85, logits=_clear(draw, (batch, words), cold, few + 2, 0.85).double()),
        case(LARGE, (batch,), 0.5, few, 0.9, logits=fifty),
    ]


def _some(draw: Draw, batch: int, words: int) -> Tensor:
    """A boolean table, (batch, words), that is True at three or four places of every row, the last among them."""
    some = torch.stack([torch.randperm(words, generator=draw.generator) < 3 for _ in range(batch)])
    some[:, -1] = True
    return some


def _clear(draw: Draw, shape: tuple[int, ...], *how: float | None) -> Tensor:
    """Logits of this shape without close calls: no two alike, and no sum of probabilities near top-p. Where there is
    both a top-k and a top-p, their order makes a difference in every row. `how`: temperature, top_k, top_p."""
    temperature, top_k, top_p = (*how, *(1.0, None, None)[len(how) :])
    rows: list[Tensor] = []
    while len(rows) < math.prod(shape[:-1]):
        row = draw.normal(shape[-1:], 1.5)
        if row.sort().values.diff().min() > 0.01 and _decided(row, temperature, top_k, top_p):
            rows.append(row)
    return torch.stack(rows).reshape(shape)


def _decided(row: Tensor, temperature: float | None, top_k: float | None, top_p: float | None) -> bool:
    if not temperature or top_p is None or top_p == LITTLE:
        return True
    if top_p == NEARLY_ALL:
        return bool(RIGHT(row, temperature).min() > 2 * (1 - NEARLY_ALL))
    limit = None if top_k is None else int(top_k)
    sums = RIGHT(row, temperature, limit).sort(descending=True).values.cumsum(-1)
    stay = int((RIGHT(row, temperature, limit, top_p) > 0).sum())
    if (sums - top_p).abs().min() < 0.01 or not 2 <= stay < len(row) - 1:
        return False
    return limit is None or stay != int((TOGETHER(row, temperature, limit, top_p) > 0).sum())


# --- a part; what is recognised by one case ---------------------------------------------------------------------------


def _cold(weight: float) -> Part:
    """A part for temperature 0 in both dtypes: the smallest numbers of float64 are zero in float32."""
    single, double = parts.values("", weight, COLD_SINGLE), parts.float64(COLD, COLD_SINGLE, weight)
    return Part("temperature 0: all on the largest logit", weight, lambda s: single.judge(s) or double.judge(s))


def _gradients(weight: float) -> Part:
    """A part for gradients, through the softmax, through top-k alone and through all three steps: what is divided by
    later hides what came before."""
    warm = parts.gradients(WARM)
    steps = {"With top-k: {message}": parts.gradients(TOP_K), "With all three steps: {message}": parts.gradients(ALL)}

    def judge(session: Session) -> Finding | None:
        if finding := warm.judge(session):
            return finding
        for template, part in steps.items():
            if finding := part.judge(session):
                return replace(finding, message=say(template, message=finding.message))
        return None

    return Part(warm.name, weight, judge)


def _nothing_where_plain(session: Session) -> bool:
    """Whether None comes back from logits alone, and a tensor with top-k."""
    plain, other = (session.call(session.cases[name]) for name in (PLAIN, TOP_K))
    return plain.ok and plain.value is None and isinstance(other.value, Tensor)


def _only(*names: str) -> Callable[[Session], bool]:
    """A recogniser that says whether the named cases raise or give NaN, and all others are right."""

    def recognise(session: Session) -> bool:
        others = [case for case in session.real_cases() if case.comparable and case.name not in names]
        spoilt = [session.call(session.cases[name]) for name in names]
        failed = all(
            not outcome.ok or (isinstance(outcome.value, Tensor) and bool(outcome.value.isnan().any()))
            for outcome in spoilt
        )
        return failed and all(right(session, case) for case in others)

    return recognise


EXERCISE = spec.exercise(
    reference,
    points=4,
    outputs={"probabilities": "... V"},
    cases=_cases,
    parts=(
        parts.shape(PLAIN),
        parts.values("a softmax of the logits", 0.5, PLAIN),
        parts.values("divides the logits by the temperature", 1, WARM),
        _cold(1),
        parts.values("top-k: only the most probable stay", 2, TOP_K, WIDE),
        parts.values("top-p: the fewest tokens that reach it stay", 3, TOP_P, ONE, WHOLE),
        parts.values("temperature, then top-k, then top-p; takes any leading axes", 1.5, ALL, BATCH_OF_ONE),
        parts.after_values(parts.values("leaves hidden tokens at 0", 0.5, HIDDEN), TOP_K),
        parts.finite("stays finite with large entries", 0.5, LARGE, PLAIN),
        parts.float64(DOUBLE, PLAIN, weight=0.5),
        parts.unchanged(TOP_K, 0.5),
        _gradients(0.5),
    ),
    mistakes={
        "nothing-without-top-k-and-top-p": When(_nothing_where_plain),
        "divides-by-zero": When(_only(COLD, COLD_SINGLE)),
        "divides-by-nearly-zero": When(_only(COLD_SINGLE)),
        "temperature-multiplied": (replace(RIGHT, heat="multiplies"), replace(RIGHT, heat="multiplies", cold=False)),
        "temperature-forgotten": (replace(RIGHT, heat="nothing"), replace(RIGHT, heat="nothing", cold=False)),
        "temperature-on-probabilities": tuple(
            replace(RIGHT, heat=heat, cold=cold) for heat in ("probabilities", "twice") for cold in (True, False)
        ),
        "top-k-above-vocabulary": When(_only(WIDE)),
        "top-p-before-top-k": TOGETHER,
        "not-renormalised": (
            _left_by_top_k_alone,
            *(
                replace(RIGHT, ends=ends, together=together)
                for ends in (("left", "left"), ("left", "divided"), ("divided", "left"))
                for together in (False, True)
                if ends != ("left", "divided") or not together
            ),
        ),
        "top-p-one-too-few": (
            replace(RIGHT, more_p=-1),
            replace(RIGHT, more_p=-1, at_least=0),
            lambda *args: replace(RIGHT, more_p=-1, at_least=0)(*args).nan_to_num(0.0),
        ),
        "top-p-one-too-many": replace(RIGHT, more_p=1),
        "top-p-as-threshold": (
            replace(RIGHT, threshold=True),
            replace(RIGHT, threshold=True, at_least=0),
            lambda *args: replace(RIGHT, threshold=True, at_least=0)(*args).nan_to_num(0.0),
        ),
        "sorted-order-returned": (
            *(replace(RIGHT, back="never", back_from=when) for when in ("always", "any", "p", "k")),
            replace(RIGHT, result=lambda chances: chances.sort(-1, descending=True).values),
        ),
        "order-applied-twice": tuple(
            replace(RIGHT, back="gather", back_from=when) for when in ("always", "any", "p", "k")
        ),
        "filtered-to-zero-logit": (
            *(_zero_logits(*which) for which in ((True, True), (True, False), (False, True))),
            _times_stays,
            *(replace(RIGHT, ends=ends) for ends in (("zero logit",) * 2, ("zero logit", "divided"))),
            replace(RIGHT, ends=("divided", "zero logit")),
        ),
        "smallest-kept": replace(RIGHT, descending=False),
        "top-k-off-by-one": (replace(RIGHT, more_k=1), replace(RIGHT, more_k=-1)),
        "log-probabilities": replace(RIGHT, result=torch.log),
    },
)
