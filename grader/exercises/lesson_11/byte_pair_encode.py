"""`byte_pair_encode`: a word in the tokens that its merges make (Sennrich et al. 2016, section 3.2)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import torch

from grader.sentences import say, together
from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.spec import Spec, When

spec = Spec(__name__)

Pair = tuple[str, str]
Merges = Sequence[Pair]


def reference(symbols: Sequence[str], merges: Merges) -> list[str]:
    """The right tokens, pair by pair: as long as neighbours are among the merges, the earliest learnt is joined."""
    word = list(symbols)
    while known := [pair for pair in itertools.pairwise(word) if pair in merges]:
        word = joined(word, min(known, key=merges.index))
    return word


def joined(word: Sequence[str], pair: Pair) -> list[str]:
    """A word with every such pair of neighbours joined, from left to right; what is joined is in no second pair.

    >>> joined(["a", "a", "a"], ("a", "a"))
    ['aa', 'a']
    """
    made: list[str] = []
    left = list(word)
    while left:
        size = 2 if tuple(left[:2]) == pair else 1
        made.append("".join(left[:size]))
        left = left[size:]
    return made


# --- the cases --------------------------------------------------------------------------------------------------------

PLAIN, TWICE, ORDER, LONGER, SAME, UNLEARNT, BACK, ONE, NONE, EMPTY = (
    "a word",
    "a pair that occurs twice",
    "a later pair that comes first in the word",
    "a later pair that makes a longer token",
    "the same letter several times",
    "merges that build on later ones",
    "a pair that an earlier merge has made again",
    "a single symbol",
    "no merge fits",
    "no merges",
)


def _cases(draw: Draw) -> list[Case]:
    letters = [chr(ord("a") + i) for i in torch.randperm(26, generator=draw.generator).tolist()]
    a, b, c, d, e, f = letters[:6]
    cases: dict[str, tuple[list[str], list[Pair]]] = {
        PLAIN: ([a, b, c, d], [(b, c), (a, b), (b + c, d)]),
        TWICE: ([a, b, c, a, b, d, a, b], [(a, b), (c, a + b)]),
        ORDER: ([a, b, c, d, e, d, e], [(d, e), (b, c), (a, b), (c, d + e)]),
        LONGER: ([a, b, e, c, d, a, b, f, e, f], [(a, b), (c, d), (d, a + b), (f + e, f)]),
        SAME: ([a] * (5 + draw.integer(0, 2)) + [b] + [a] * 3, [(a, a), (a + a, a + a)]),
        UNLEARNT: ([a, b, c, d, a, b], [(a + b + c, d), (a + b, c), (a, b), (c, d)]),
        BACK: ([a, b, a, b, c, b], [(a + b, a + b), (c, b), (a, b), (a + b + a + b, c + b)]),
        ONE: ([a], [(a, b), (b, a)]),
        NONE: ([a, b, a, c], [(b, c), (c, a), (a + b, a)]),
        EMPTY: ([c, a, b], []),
    }
    drawn = {f"drawn, {number}": _drawn(draw, letters[:3]) for number in ("one", "two", "three", "four")}
    return [
        Case(name, {"symbols": symbols, "merges": merges}, {}, comparable=name not in (ONE, NONE, EMPTY))
        for name, (symbols, merges) in {**cases, **drawn}.items()
    ]


def _drawn(draw: Draw, letters: list[str]) -> tuple[list[str], list[Pair]]:
    """A word of few letters, and merges learnt from it and from others, in an order that isn't always the one in which
    they could have been learnt."""

    def word(length: int) -> list[str]:
        return [letters[i] for i in draw.integers((length,), 0, len(letters)).tolist()]

    symbols, merges = word(9 + draw.integer(0, 5)), list[Pair]()
    texts = [symbols, word(12), word(12)]
    for _ in range(6):
        pairs = sorted({pair for text in texts for pair in itertools.pairwise(text)} - set(merges))
        if not pairs:
            break
        merges.append(pairs[draw.integer(0, len(pairs))])
        texts = [joined(text, merges[-1]) for text in texts]
    if draw.integer(0, 2):
        merges = [*merges[1:], *merges[:1]]
    return symbols, merges


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def _first_only(word: Sequence[str], pair: Pair) -> list[str]:
    """The word with the pair joined at its first place, if it has one."""
    places = [place for place, two in enumerate(itertools.pairwise(word)) if two == pair]
    return [*word[: places[0]], "".join(pair), *word[places[0] + 2 :]] if places else list(word)


def _overlapping(word: Sequence[str], pair: Pair) -> list[str]:
    """The word with every such pair joined, those that share a symbol too."""
    hits = [two == pair for two in itertools.pairwise(word)] + [False]
    made = []
    for place, symbol in enumerate(word):
        if hits[place]:
            made.append("".join(pair))
        elif not (place and hits[place - 1]):
            made.append(symbol)
    return made


def _overlapping_from_left(word: Sequence[str], pair: Pair) -> list[str]:
    """As `_overlapping`, but the symbol behind each pair stays, too."""
    hits = [two == pair for two in itertools.pairwise(word)] + [False]
    return ["".join(pair) if hit else symbol for symbol, hit in zip(word, hits, strict=True)]


Join = Callable[[Sequence[str], Pair], list[str]]
Encode = Callable[[Sequence[str], Merges], list[str]]


def _in_turn(join: Join) -> Encode:
    """Every merge once, in the order in which they were learnt."""

    def encode(symbols: Sequence[str], merges: Merges) -> list[str]:
        word = list(symbols)
        for pair in merges:
            word = join(word, pair)
        return word

    return encode


def _repeatedly(join: Join, best: Callable[[list[Pair], Merges], Pair], rounds: int = 60) -> Encode:
    """As long as neighbours are among the merges, the `best` of them is joined."""

    def encode(symbols: Sequence[str], merges: Merges) -> list[str]:
        word = list(symbols)
        for _ in range(rounds):
            known = [pair for pair in itertools.pairwise(word) if pair in merges]
            if not known:
                break
            word = join(word, best(known, merges))
        return word

    return encode


def _earliest(known: list[Pair], merges: Merges) -> Pair:
    return min(known, key=merges.index)


def _longest(known: list[Pair], _merges: Merges) -> Pair:
    return max(known, key=lambda pair: len("".join(pair)))


def _from_left(symbols: Sequence[str], merges: Merges) -> list[str]:
    """The longest token that the merges know, from the left on: what WordPiece does."""
    tokens, word, made = {"".join(pair) for pair in merges}, list(symbols), list[str]()
    while word:
        sizes = [size for size in range(len(word), 1, -1) if "".join(word[:size]) in tokens]
        size = sizes[0] if sizes else 1
        made.append("".join(word[:size]))
        word = word[size:]
    return made


def _latest(known: list[Pair], merges: Merges) -> Pair:
    return max(known, key=merges.index)


def _in_turn_backwards(symbols: Sequence[str], merges: Merges) -> list[str]:
    return _in_turn(joined)(symbols, merges[::-1])


def _restarting(symbols: Sequence[str], merges: Merges) -> list[str]:
    """The whole list of merges, again and again, until nothing changes."""
    word, before = list(symbols), list[str]()
    while word != before:
        before, word = word, _in_turn(joined)(word, merges)
    return word


def _in_text(best: Callable[[list[Pair], Merges], Pair] | None) -> Encode:
    """Each merge is joined in a text with blanks between the tokens, in turn or by `best`. There a pair is also found
    where only the end of a token and the beginning of the next are its letters."""

    def encode(symbols: Sequence[str], merges: Merges) -> list[str]:
        text, before = " ".join(symbols), ""
        while text != before:
            known = [pair for pair in merges if " ".join(pair) in text]
            before, chosen = text, merges if best is None else [best(known, merges)] if known else []
            for pair in chosen:
                text = text.replace(" ".join(pair), "".join(pair))
            if best is None:
                break
        return text.split(" ")

    return encode


# --- the parts --------------------------------------------------------------------------------------------------------


def _answer(session: Session, name: str) -> list[str] | None:
    """The tokens that the student's function gives in the case `name`; None unless they are a list of strings."""
    outcome = session.call(session.cases[name])
    value = outcome.value if outcome.ok else None
    if isinstance(value, tuple | list) and all(isinstance(token, str) for token in value):
        return list(value)
    return None


def _wrong(session: Session, name: str) -> Finding | None:
    case = session.cases[name]
    outcome = session.call(case)
    finding = compare.no_value(outcome, session.exercise)
    if finding is not None:
        return finding
    got = _answer(session, name)
    symbols, merges = case.args["symbols"], case.args["merges"]
    if got is None:
        found = compare.in_words(outcome.value)
        said = say("`{name}` returned {what}, but should return a list of strings.", name=spec.name, what=found)
        return Finding("wrong-type", said)
    expected = session.evaluate(case, reference)
    if got == expected:
        return None
    given = {"name": spec.name, "got": got, "symbols": symbols, "merges": merges}
    joined, whole = repr("".join(got)), repr("".join(symbols))
    if joined != whole:
        returned = say("`{name}` returned {got} for the symbols {symbols} and the merges {merges}.", **given)
        word = say("Joined, these tokens are {joined}, not {whole}.", joined=joined, whole=whole)
        return Finding("another-word", together(returned, word))
    message = say(
        "`{name}` returned {got} for the symbols {symbols} and the merges {merges}, expected {expected}.",
        **given,
        expected=expected,
    )
    return Finding("wrong-values", message)


def _encodes(title: str, weight: float, *names: str) -> Part:
    """A part that passes if the named cases are right. It waits until the plain word is."""

    def judge(session: Session) -> Finding | None:
        first = None if PLAIN in names else _wrong(session, PLAIN)
        if first is not None:
            return first if first.kind == "raised" else not_judged("values-first")
        wanted = [one for name in names for one in session.cases if one == name or one.startswith(f"{name},")]
        return next((found for name in wanted if (found := _wrong(session, name)) is not None), None)

    return Part(title, weight, judge)


def _unchanged(session: Session) -> Finding | None:
    if any(session.call(case).changed for case in session.cases.values()):
        message = say(
            "`{name}` changed one of its arguments in place. Begin with a copy, such as `list(symbols)`.",
            name=spec.name,
        )
        return Finding("changes-argument", message)
    return not_judged("values-first") if _wrong(session, PLAIN) is not None else None


def _as(*ways: Encode) -> Callable[[Session], bool]:
    """A recogniser that says whether every answer is right or that of one way, and one at least is only the way's."""

    def recognise(session: Session) -> bool:
        cases = [case for case in session.real_cases() if case.comparable]
        got = [_answer(session, case.name) for case in cases]
        right = [session.evaluate(case, reference) for case in cases]
        if None in got or got == right:
            return False
        return any(got == [session.evaluate(case, way) for case in cases] for way in ways)

    return recognise


def _as_one_string(session: Session) -> bool:
    """Whether the word comes back as a single string, with or without blanks between the tokens."""
    outcome = session.call(session.cases[PLAIN])
    expected = session.evaluate(session.cases[PLAIN], reference)
    return outcome.ok and outcome.value in [blank.join(expected) for blank in ("", " ")]


EXERCISE = spec.exercise(
    points=3,
    signature=("symbols", "merges"),
    cases=_cases,
    parts=(
        _encodes("joins pairs in the order in which they were learnt", 3, PLAIN, ORDER, LONGER),
        _encodes("joins a pair wherever it occurs, from left to right", 1.5, TWICE, SAME),
        _encodes("goes on as long as a pair is among the merges", 1.5, UNLEARNT, BACK, "drawn"),
        _encodes("takes a single symbol, merges that don't fit, and none at all", 0.5, ONE, NONE, EMPTY),
        Part("leaves its arguments as they were", 0.5, _unchanged, compares_values=False),
    ),
    mistakes={
        "one-string": When(_as_one_string),
        "overlapping-joined": When(
            _as(*(_repeatedly(join, _earliest) for join in (_overlapping, _overlapping_from_left)))
        ),
        "first-occurrence-only": When(_as(_in_turn(_first_only))),
        "one-pass-only": When(_as(_in_turn(joined), _repeatedly(joined, _earliest, rounds=1))),
        "in-order-of-text": When(
            _as(
                _repeatedly(joined, lambda known, _merges: known[0]),
                _repeatedly(_first_only, lambda known, _merges: known[0]),
            )
        ),
        "longest-first": When(_as(_repeatedly(joined, _longest), _repeatedly(_first_only, _longest), _from_left)),
        "latest-first": When(_as(_repeatedly(joined, _latest), _in_turn_backwards)),
        "not-from-the-earliest-again": When(_as(_restarting)),
        "borders-ignored": When(_as(_in_text(None), _in_text(_earliest))),
    },
)
