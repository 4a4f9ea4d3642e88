"""`GPTBlock`: a pre-norm block with causal attention (Radford et al. 2019, section 2.3; Su et al. 2021)."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from grader.exercises.lesson_07.mistakes import (
    DROPOUT_HARD_CODED,
    DROPOUT_IN_EVAL_MODE,
    dropout_forgotten,
    dropout_on_the_input,
    dropout_on_the_sum,
)
from grader.exercises.lesson_07.shared import (
    ALL_DROPPED,
    SOME_DROPPED,
    TRAIN,
    block_state,
    drops,
    first_setup,
    parameter_names,
    silenced,
    with_setup,
)
from grader.exercises.lesson_07.variants import Layer
from grader.exercises.lesson_11.shared import LESSON, PRE_NORM, Alone, Rotary, block, two_sizes
from grader.spec import compare, parts
from grader.spec.cases import LENGTH_ONE, length_one_sizes
from grader.spec.diagnose import right
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Finding, Mistake, Output, Part, Setup, shape_of
from grader.spec.session import Session
from grader.subject import Outcome, Request
from grader.tolerance import FLOAT32


def gpt_block(setup: Setup, x: Tensor) -> Tensor:
    """What `GPTBlock` should give."""
    return block(setup.state, setup.init[1], x, 0.0 if drops(setup, 3) else 1.0)


QUIET, OTHER = "the feed-forward layers silent", "another width, float64"


def _cases(draw: Draw) -> list[Case]:
    sizes, others = two_sizes(draw)
    states = {s["E"]: block_state(draw, "", s["E"], s["F"]) for s in (sizes, others)}

    def case(name: str, sizes: dict[str, int], *dropout: float, double: bool = False) -> Case:
        state = states[sizes["E"]]
        state = silenced(state, "linear2") if name == QUIET else state
        setup = Setup((sizes["E"], sizes["H"], sizes["F"], *dropout), state, training=name == TRAIN)
        return with_setup(name, {"x": draw.normal(shape_of("B T E", sizes))}, sizes, setup, double)

    return [
        case("two sequences", sizes),
        case(QUIET, others),
        case(OTHER, others, SOME_DROPPED, double=True),
        *(case(name, one) for name, one in length_one_sizes(sizes).items()),
        case(TRAIN, sizes, ALL_DROPPED),
    ]


def _another_attention(session: Session) -> bool:
    """Whether the attention was given arguments that it doesn't have, or too few."""
    words = (
        "unexpected keyword argument 'is_causal'",
        "unexpected keyword argument 'cache'",
        "'key' and 'value'",
        "positional arguments but",
    )
    first = next(iter(session.raised), None)
    if first is None or "TypeError" not in first.types or "forward" not in first.message:
        return False
    return any(word in first.message for word in words)


def _with_empty_cache(session: Session) -> Outcome | None:
    """What a call with an empty cache gives; None from a block that takes no `cache`, or returns something else."""

    def ask() -> Outcome | None:
        x = session.cases["two sequences"].args["x"]
        session.build(first_setup(session), "cached")
        by_name = session.ask(Request("call", "@cached", (x,), keywords={"cache": {}}))
        outcome = session.ask(Request("call", "@cached", (x, {}))) if by_name.ok else by_name
        return outcome if outcome.ok and isinstance(outcome.value, Tensor) else None

    return session.once("an empty cache", ask)


def _same_with_cache(session: Session) -> Finding | None:
    """An empty cache changes nothing: nothing came before."""
    outcome, case = _with_empty_cache(session), session.cases["two sequences"]
    if outcome is None:
        return None
    finding = compare.shapes([outcome.value], session.exercise, case) or compare.values_close(
        [outcome.value], session.expected(case), session.exercise, case, FLOAT32
    )
    return replace(finding, message=f"With an empty cache, {{}}: {finding.message}") if finding is not None else None


def _not_causal_with_cache(session: Session) -> bool:
    """Whether the block is right without a cache, and sees later tokens with an empty one."""
    outcome, case = _with_empty_cache(session), session.cases["two sequences"]
    if outcome is None or not right(session, case):
        return False
    sees_all = (session.evaluate(case, _attending(causal="no", turns=turns)) for turns in (True, False))
    return any(outcome.value.shape == one.shape and FLOAT32.all_close(outcome.value, one) for one in sees_all)


def _hands_on(session: Session) -> Finding | None:
    """An empty cache isn't empty after the call."""
    outcome = _with_empty_cache(session)
    if outcome is None or 1 in outcome.changed:
        return None
    return Finding("cache-unused", "It was called with an empty cache, and the cache was still empty after the call.")


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def _but(**changes: object) -> Alone:
    return Alone(replace(PRE_NORM, **changes))  # type: ignore[arg-type]


def _norms(first: str, second: str) -> Alone:
    return _but(first=Layer(first, "pre"), second=Layer(second, "pre"))


def _ordered(order: str) -> tuple[Alone, ...]:
    """Another order of norm and addition in both sub-layers, or in one of them."""
    first, second = Layer("norm1", order), Layer("norm2", order)
    return _but(first=first, second=second), _but(second=second), _but(first=first)


def _dropped(first: str, second: str) -> Alone:
    """Dropout at other places of the two sub-layers."""
    return _but(first=Layer("norm1", "pre", first), second=Layer("norm2", "pre", second))  # type: ignore[arg-type]


def _one_norm(session: Session) -> bool:
    """Whether the module has a single LayerNorm."""
    names = parameter_names(session, first_setup(session))
    return "norm1.weight" in names and sum("norm" in name for name in names) == 2


def _attending(**changes: object) -> Alone:
    return _but(attention=Rotary(**changes))  # type: ignore[arg-type]


EXERCISE = Exercise(
    name="GPTBlock",
    lesson=LESSON,
    points=4,
    kind="module",
    signature=("d_model", "num_heads", "d_ff", "dropout=0.0"),
    outputs=(Output("output", "B T E"),),
    cases=_cases,
    reference=gpt_block,
    parts=(
        parts.shape("two sequences"),
        parts.values("normalises, attends to what came before, adds", 2, QUIET),
        parts.values("normalises, feed-forward layers, adds", 2, "two sequences", *LENGTH_ONE),
        parts.after_values(
            parts.values("drops each sub-layer's output before it is added, in train mode", 1, TRAIN), "two sequences"
        ),
        parts.float64(OTHER, "two sequences", weight=0.5),
        parts.unchanged("two sequences", weight=0.5),
        parts.gradients("two sequences"),
        parts.defaults("two sequences"),
        parts.after_values(Part("gives the same with an empty cache", 1, _same_with_cache), "two sequences"),
        parts.after_values(Part("hands its cache on", 0.5, _hands_on, compares_values=False), "two sequences"),
    ),
    mistakes=(
        Mistake(
            "another-attention",
            "the attention is called as another class takes it: lesson 03's wants query, key and value, this lesson's "
            "x alone, `is_causal` and a cache.",
            (
                "Which class do you make `self.attention` from? Print `type(block.attention)`.",
                "Compare your call with the first line of that class's `forward`.",
            ),
            recognise=_another_attention,
        ),
        Mistake(
            "post-norm-instead",
            "the norm acts on the sum; in this block it acts on what goes into the sub-layer.",
            (
                "Lesson 05 had both orders. Which one is x + sublayer(LayerNorm(x))?",
                "If a sub-layer gives only zeros, x should come out as it went in. Does it?",
            ),
            _ordered("post"),
        ),
        Mistake(
            "residual-forgotten",
            "a sub-layer's output goes on alone: what went into the sub-layer isn't added.",
            (
                "Count the additions in `forward`: each sub-layer has one.",
                "If a sub-layer gives only zeros, what should be left of x?",
            ),
            tuple(_but(adds=adds) for adds in (("", "x"), ("query", ""), ("", ""))),
        ),
        Mistake(
            "same-norm-twice",
            "one norm does the work of both; each has parameters of its own, which training moves apart.",
            (
                "Both start with ones and zeros, so a new module hides it. Where is each of the two used?",
                "Search `forward` for `norm1` and for `norm2`.",
            ),
            (_norms("norm1", "norm1"), _norms("norm2", "norm2")),
            recognise=_one_norm,
        ),
        Mistake(
            "norms-swapped",
            "`norm2` comes before the attention and `norm1` before the feed-forward layers.",
            (
                "Which of your two norms is called first?",
                "Which norm belongs to the first sub-layer, and which one to the second?",
            ),
            (_norms("norm2", "norm1"),),
        ),
        Mistake(
            "not-causal",
            "a token's result depends on later tokens: a model that learns could read the answer.",
            (
                "Change the last token of x and call it again. Which rows of the result may change?",
                "The attention hides later tokens only where it is told to. Which of its arguments says so?",
            ),
            (_attending(causal="no"), _attending(causal="no", turns=False)),
        ),
        Mistake(
            "sees-too-little",
            "a token can't see itself; it may look at all tokens up to here, its own included.",
            (
                "Print the mask for three tokens. How many entries of its first row are True?",
                "What is the first token's result made of, if it may look at nothing?",
            ),
            (_attending(causal="too much"),),
        ),
        Mistake(
            "positions-forgotten",
            "queries and keys are not rotated by their positions, so the order of earlier tokens makes no difference.",
            (
                "Exchange the first two tokens of x. Should the last row of the result stay the same?",
                "Which attention do you make in `__init__`? Only one of the two knows positions.",
            ),
            (_attending(turns=False),),
        ),
        Mistake(
            "normalised-input-added",
            "what is added is the normalised input; x itself should go past the sub-layer untouched.",
            (
                "If both sub-layers give only zeros, x should come out as it went in. Does it?",
                "Does a line of your `forward` overwrite x with its norm?",
            ),
            _ordered("first"),
        ),
        Mistake(
            "norm-of-the-output",
            "the sub-layer's output is normalised; the norm belongs to what goes in.",
            (
                "Read your line from the inside out: which is called first, the norm or the sub-layer?",
                "x + sublayer(norm(x)), or x + norm(sublayer(x))?",
            ),
            _ordered("before"),
        ),
        Mistake(
            "norm-forgotten",
            "a sub-layer gets x as it is, without a norm.",
            (
                "Which three things surround each sub-layer? Count them in your `forward`.",
                "Search `forward` for `norm1` and for `norm2`.",
            ),
            _ordered("none"),
        ),
        Mistake(
            "second-residual-from-input",
            "the feed-forward layers' output is added to the block's input, not to what the attention left.",
            (
                "What goes into the second norm, and what is the feed-forward layers' output added to?",
                "The second sub-layer begins where the first one ended.",
            ),
            (_but(adds=("query", "query")),),
        ),
        Mistake(
            "feed-forward-from-input",
            "the feed-forward layers get the block's input, not what the first sub-layer left.",
            (
                "What goes into the second norm, and what is the feed-forward layers' output added to?",
                "The second sub-layer begins where the first one ended.",
            ),
            (_but(feeds="query"), _but(feeds="query", adds=("query", "query"))),
        ),
        dropout_on_the_sum(_dropped("sum", "sum"), _dropped("sum", "output"), _dropped("output", "sum")),
        dropout_on_the_input(_dropped("output", "input"), _dropped("input", "output"), _dropped("input", "input")),
        dropout_forgotten(_dropped("nowhere", "nowhere"), _dropped("output", "nowhere"), _dropped("nowhere", "output")),
        DROPOUT_IN_EVAL_MODE,
        DROPOUT_HARD_CODED,
        Mistake(
            "not-causal-with-a-cache",
            "with a cache a token's result depends on later tokens; without one it doesn't.",
            (
                "Call the block with x, and with x and `cache = {}`. Nothing came before: should the results differ?",
                "A prompt goes through the model as a whole, with a cache. What may its first token see?",
            ),
            recognise=_not_causal_with_cache,
        ),
        Mistake(
            "cache-not-handed-on",
            "the block takes a cache and makes no use of it: the attention keeps no keys and values.",
            (
                "Call the block with `cache = {}`, and print `len(cache)` after the call.",
                "Who keeps the keys and values, and how does it get the cache? An empty dict is a cache too.",
            ),
            recognise=lambda session: _hands_on(session) is not None,
        ),
    ),
)
