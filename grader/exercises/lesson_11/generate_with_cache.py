"""`generate_with_cache`: one new token at a time through the model (Shazeer 2019, section 2.4)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from grader.exercises.lesson_11 import writing
from grader.sentences import say, together
from grader.spec.exercise import Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id
from grader.subject import Request

spec = Spec(__name__)


def _by_generate(session: Session) -> Tensor | None:
    """The text (B, T + N) that the student's own `generate` draws from the same generator; ours, if that function
    doesn't give one. None if the model refuses ours."""
    run = writing.drawn_runs(session)[writing.DRAWN]
    outcome = writing.call(session, run, "generate")
    shape = (len(run.prompt), run.prompt.shape[1] + run.new_tokens)
    if outcome.ok and isinstance(outcome.value, Tensor) and outcome.value.shape == shape:
        return outcome.value
    return writing.written(run)


def _same_draws(session: Session) -> Finding | None:
    finding = writing.misshapen(session, writing.DRAWN)
    if finding is not None:
        return finding
    got, other = writing.ids(session, writing.DRAWN), session.once("generate", lambda: _by_generate(session))
    if got is not None and other is not None and not torch.equal(got, other):
        rows = int((got != other).any(dim=1).sum())
        message = say(
            "{rows} of {total} texts differ from those of `generate` with the same seed.", rows=rows, total=len(got)
        )
        return Finding("other-draws", message)
    return None


def _fed(session: Session) -> list[list[int]]:
    seen = writing.observed(session, writing.SURE)
    return seen.fed if isinstance(seen, writing.Seen) else []


def _one_by_one(session: Session) -> Finding | None:
    """Why the cache isn't used as it should: every token goes through the model once at most, and finds all before it
    in the cache. None if that is so."""
    seen, run = writing.observed(session, writing.SURE), writing.drawn_runs(session)[writing.SURE]
    if isinstance(seen, Finding):
        return seen
    before = 0
    for number, (tokens, cached, has_cache) in enumerate(seen.fed):
        if not has_cache or cached != before:
            held = say("Tokens in its cache: {count}.", count=cached) if has_cache else say("It got no cache.")
            got = say("Call {number} to the model, tokens given: {count}.", number=number, count=tokens)
            earlier = say("Tokens given in the calls before it: {count}.", count=before)
            return Finding("cache-not-used", together(got, held, earlier))
        before += tokens
    longest = run.prompt.shape[1] + run.new_tokens
    if not 0 < before <= longest:
        message = say("{count} tokens went through the model for a text of {longest}.", count=before, longest=longest)
        return Finding("cache-not-used", message)
    return None if writing.wrong(session, writing.SURE) is None else not_judged("values-first")


def _prompt_at_once(session: Session) -> Finding | None:
    """Why the prompt doesn't go through the model in one call, None if it does. Not judged before the cache is used as
    it should be."""
    finding = _one_by_one(session)
    if finding is not None:
        return finding if finding.kind == "raised" else not_judged("values-first")
    if _in_pieces(session):
        first, length = _fed(session)[0][0], writing.drawn_runs(session)[writing.SURE].prompt.shape[1]
        got = say(
            "Tokens given in the first call to the model: {count}, of a prompt of {length}.", count=first, length=length
        )
        return Finding("prompt-in-pieces", together(got, say("One call takes the whole prompt.")))
    return None


def _in_pieces(session: Session) -> bool:
    """Whether the cache is used as it should be, but the prompt comes in more than one call."""
    return (
        _one_by_one(session) is None and _fed(session)[0][0] < writing.drawn_runs(session)[writing.SURE].prompt.shape[1]
    )


def _last_not_fed(session: Session) -> Finding | None:
    """Why the last new token went through the model, None if it didn't. Not judged before the rest is right, since
    whatever feeds no tokens would pass."""
    finding = _one_by_one(session)
    if finding is not None:
        return finding if finding.kind == "raised" else not_judged("values-first")
    if _feeds_last(session):
        run = writing.drawn_runs(session)[writing.SURE]
        calls, prompt = len(_fed(session)), run.prompt.shape[1]
        message = say(
            "For {new} new tokens after a prompt of {prompt} the model was called {calls} times. The last new token "
            "needn't go through the model.",
            new=run.new_tokens,
            prompt=prompt,
            calls=calls,
        )
        return Finding("last-token-fed", message)
    return None


def _feeds_last(session: Session) -> bool:
    """Whether the texts are right, and all tokens went through the model, the last one too."""
    run = writing.drawn_runs(session)[writing.SURE]
    fed = sum(tokens for tokens, *_ in _fed(session))
    return _one_by_one(session) is None and fed == run.prompt.shape[1] + run.new_tokens


def _none_first(session: Session) -> bool:
    """Whether the function raises after a first call of the model without a cache."""
    if not isinstance(writing.observed(session, writing.SURE), Finding):
        return False
    outcome = writing.call(session, writing.drawn_runs(session)[writing.SURE], session.exercise.name)
    state = session.ask(Request("state", "@writer"))
    fed = state.value["buffers"]["fed"].tolist() if outcome.raised is not None and state.ok else []
    return len(fed) == 1 and not fed[0][2]


def _repeats(session: Session) -> bool:
    """Whether each call gets the whole text: without a cache, or with an empty one."""
    fed = _fed(session)
    first = writing.drawn_runs(session)[writing.SURE].prompt.shape[1]
    growing = [first + i for i in range(len(fed))]
    return len(fed) > 1 and [tokens for tokens, *_ in fed] == growing and all(cached == 0 for _, cached, _ in fed)


def _alone(session: Session) -> bool:
    """Whether new tokens come one at a time and find nothing in the cache."""
    later = _fed(session)[1:]
    return bool(later) and all(tokens == 1 and cached == 0 for tokens, cached, _ in later)


def _twice(session: Session) -> bool:
    """Whether tokens go through the model that are in the cache already."""
    run, fed = writing.drawn_runs(session)[writing.SURE], _fed(session)
    longest = run.prompt.shape[1]
    return any(cached and cached + tokens > longest + i for i, (tokens, cached, _) in enumerate(fed))


def _first_position(model: Any, prompt: Tensor, new_tokens: int, generator: torch.Generator, **sampling: Any) -> Tensor:
    """Like `generate`, (B, T) to (B, T + new_tokens), but the first new token is drawn from the logits of the prompt's
    first position. The calls after it have one position only."""
    tokens = torch.cat([prompt, _next(model, prompt[:, :1], generator, sampling)], dim=1)
    return writing.RIGHT(model, tokens, new_tokens - 1, generator, **sampling)


def _next(model: Any, tokens: Tensor, generator: torch.Generator, sampling: dict[str, Any]) -> Tensor:
    return writing.RIGHT(model, tokens, 1, generator, **sampling)[:, -1:]


def _last_again(model: Any, prompt: Tensor, new_tokens: int, generator: torch.Generator, **sampling: Any) -> Tensor:
    """Like `generate`, (B, T) to (B, T + new_tokens), but the prompt's last token is fed once more."""
    text = writing.RIGHT(model, torch.cat([prompt, prompt[:, -1:]], dim=1), new_tokens, generator, **sampling)
    return torch.cat([prompt, text[:, prompt.shape[1] + 1 :]], dim=1)


_LAST_TWICE = writing.fits(_last_again)

EXERCISE = spec.exercise(
    points=4,
    signature=("model", "prompt", "new_tokens", "generator", "**sampling"),
    parts=(
        writing.writes("writes new tokens after the prompt", 3, writing.SURE),
        Part("one new token at a time through the model", 3, _one_by_one),
        Part("the whole prompt in one call", 1.5, _prompt_at_once, compares_values=False),
        Part("the last new token isn't fed", 0.5, _last_not_fed, compares_values=False),
        writing.writes("passes `sampling` on to `next_token_probabilities`", 1, writing.COLD, writing.FEW),
        writing.draws_by_chance(1),
        writing.draws_by_generator(0.5),
        Part("draws the same tokens as `generate`", 1.5, _same_draws),
        writing.writes("writes in eval mode", 1, writing.TRAINING),
        writing.keeps_mode(0.5),
        writing.records_nothing(0.5),
        writing.leaves_prompt(0.5),
    ),
    mistakes={
        "none-for-an-empty-cache": When(_none_first),
        "pair-not-unpacked": When(writing.raises("tuple indices", "'tuple' object has no attribute")),
        "cache-not-used": When(_repeats),
        "positions-from-zero": When(_alone),
        "prompt-fed-twice": When(lambda session: _twice(session) or _LAST_TWICE(session)),
        "prompt-token-by-token": When(_in_pieces),
        "last-token-fed": When(_feeds_last),
        **by_id(*writing.MODES),
        "prompt-lost": When(writing.only_new),
        **by_id(*writing.SLIPS),
        "reads-first-position": When(writing.fits(_first_position)),
        **by_id(*writing.DRAWS),
    },
    builds_on=("next_token_probabilities", "generate"),
)
