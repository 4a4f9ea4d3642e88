"""`bigram_loss`: what a model that knows only the last token has to say about a text (Shannon 1948, section 3)."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from grader.exercises.lesson_08.shared import Number, close, matches_any, number, numbers
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.session import Session
from grader.spec.spec import Spec, When

spec = Spec(__name__)


def reference(train_ids: Tensor, test_ids: Tensor, vocab_size: int) -> float:
    """The right `bigram_loss`, counted pair by pair: ids (N,) and (M,) give the mean loss of the test's tokens after
    the first, in nats."""
    train, test = train_ids.tolist(), test_ids.tolist()
    pairs = Counter(pairwise(train))
    firsts = Counter(train[:-1])
    chances = [(pairs[a, b] + 1) / (firsts[a] + vocab_size) for a, b in pairwise(test)]
    return -math.fsum(map(math.log, chances)) / len(chances)


PLAIN, UNSEEN, OTHER, TWO = "a short text", "pairs that were never seen", "tokens that were never seen", "two tokens"


def _cases(draw: Draw) -> list[Case]:
    sizes = draw.sizes("V", "W")
    small, large = sizes["V"] % 4 + 5, sizes["W"] % 5 + 11

    def text(vocab: int, length: int) -> Tensor:
        """Ids (length,) below `vocab`: each has two favourites that follow it, and small ids come more often."""
        follows = torch.stack([torch.randperm(vocab, generator=draw.generator) for _ in range(vocab)]).tolist()
        tokens = [0]
        while len(tokens) < length:
            luck = draw.integer(0, 10)
            tokens.append(follows[tokens[-1]][0 if luck < 5 else 1] if luck < 8 else draw.integer(0, 1 + vocab // 2))
        return torch.tensor(tokens)

    def case(name: str, train: Tensor, test: Tensor, vocab: int) -> Case:
        return Case(name, {"train_ids": train, "test_ids": test, "vocab_size": vocab})

    long = text(small, 90 + draw.integer(0, 20))
    known = text(large, 70)

    def between(train: Tensor, test: Tensor) -> Tensor:
        """The ids `test` between the most frequent token of `train` and its rarest. Were the counts divided by the sum
        of the second token's row in place of the first one's, all other rows of the text would cancel out."""
        seen = torch.bincount(train, minlength=large)
        return torch.cat([seen.argmax().view(1), test, seen[: large - 1].argmin().view(1)])

    seen = torch.bincount(long)
    start = 11 + int(seen[long[11:21]].argmax())
    end = 45 + int(seen[long[45:65]].argmin())
    fall = int((seen[long[:-1]] - seen[long[1:]]).argmax())
    return [
        # Only pairs that were seen, so that a loss without smoothing is a number.
        case(PLAIN, long, long[start : end + 1].clone(), small),
        case(UNSEEN, known, between(known, draw.integers((19,), 0, large)), large),
        # The last token of the vocabulary is in neither text.
        case(OTHER, text(small, 31), draw.integers((23,), 0, large - 1), large),
        case(TWO, long, long[fall : fall + 2].clone(), small),
    ]


# --- wrong on purpose -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bigrams:
    """The loss, right unless a field is changed."""

    # What the counts are divided by: the sums of "rows" or "columns", of row j for column j ("across"), of "all"
    # counts, or of rows after swapping the tokens of each pair ("transposed").
    rows: str = "rows"
    added: float = 1.0  # to each count
    below: float | None = None  # added to each count in the sum; None: the same
    how: str = "counts"  # or "seen" (each pair counts once) or "floor" (1 only where nothing was seen)
    reads: str = "train"  # whose pairs are counted, or "test"

    def table(self, ids: Tensor, vocab: int) -> Tensor:
        """The probabilities, (V, V), by first and second token, from ids (N,); `vocab` is V."""
        counts = torch.bincount(ids[:-1] * vocab + ids[1:], minlength=vocab**2).view(vocab, vocab).double()
        counts = counts.clamp(max=1) if self.how == "seen" else counts
        counts = counts.mT if self.rows == "transposed" else counts
        top = counts.clamp(min=1) if self.how == "floor" else counts + self.added
        bottom = top if self.below is None else counts + self.below
        return (
            top
            / {
                "rows": bottom.sum(1, keepdim=True),
                "columns": bottom.sum(0, keepdim=True),
                "across": bottom.sum(1),  # the sum of row j divides column j
                "all": bottom.sum(),
                "transposed": bottom.sum(1, keepdim=True),
            }[self.rows]
        )

    def losses(self, train_ids: Tensor, test_ids: Tensor, vocab_size: int) -> Tensor:
        """The loss of each of the test's tokens after the first, in nats: (M - 1,) for M test tokens."""
        table = self.table(train_ids if self.reads == "train" else test_ids, vocab_size)
        return -table[test_ids[:-1], test_ids[1:]].log()

    def __call__(self, train_ids: Tensor, test_ids: Tensor, vocab_size: int) -> float:
        return float(self.losses(train_ids, test_ids, vocab_size).mean())


def _unigrams(added: float, skipped: int, last: int = 0) -> Number:
    """The loss of every token by itself, after adding `added` to each count. The test's first `skipped` tokens are left
    out, and train's last `last` ones, or its first one if `last` is negative."""

    def loss(train_ids: Tensor, test_ids: Tensor, vocab_size: int) -> float:
        train = train_ids[: len(train_ids) - last] if last >= 0 else train_ids[1:]
        counts = torch.bincount(train, minlength=vocab_size).double() + added
        return float(-(counts / counts.sum())[test_ids[skipped:]].log().mean())

    return loss


def _from_losses(end: str) -> Number:
    """A wrong number made from the right losses; `end` is its kind, such as "bits" or "sum"."""

    def loss(train_ids: Tensor, test_ids: Tensor, vocab_size: int) -> float:
        losses = Bigrams().losses(train_ids, test_ids, vocab_size)
        ends = {
            "bits": losses.mean() / math.log(2),
            "decimal": losses.mean() / math.log(10),
            "negative": -losses.mean(),
            "sum": losses.sum(),
            "negative sum": -losses.sum(),
            "all tokens": losses.sum() / len(test_ids),
            "perplexity": losses.mean().exp(),
            "of the mean": -torch.exp(-losses).mean().log(),
            "probability": torch.exp(-losses).mean(),
        }
        return float(ends[end])

    return loss


def _one_in_the_sum(train_ids: Tensor, test_ids: Tensor, vocab_size: int) -> float:
    """The loss with one added to the sum of a row, as if the row had a single count."""
    return Bigrams(below=1 / vocab_size)(train_ids, test_ids, vocab_size)


def _one_above(train_ids: Tensor, test_ids: Tensor, vocab_size: int) -> float:
    """The loss with one added to the counts only above the line; a sum of 0 becomes 1."""
    counts = torch.bincount(train_ids[:-1] * vocab_size + train_ids[1:], minlength=vocab_size**2)
    counts = counts.view(vocab_size, vocab_size).double()
    table = (counts + 1) / counts.sum(1, keepdim=True).clamp(min=1)
    return float(-table[test_ids[:-1], test_ids[1:]].log().mean())


def _largest_id(train_ids: Tensor, test_ids: Tensor, vocab_size: int) -> float:
    """The loss with a vocabulary that ends with the largest id of the two texts."""
    return Bigrams()(train_ids, test_ids, int(torch.cat([train_ids, test_ids]).max()) + 1)


def _not_smoothed(session: Session) -> bool:
    """Whether the loss of pairs that were all seen is the one without smoothing; that of others may be inf or NaN."""
    case = session.cases[PLAIN]
    return close(number(session, case), session.evaluate(case, Bigrams(added=0.0)))


def _test_pair_lost(session: Session) -> bool:
    """Whether the first or the last pair of each test text is left out. A text of two tokens has none left then, so it
    isn't compared."""
    cases = [case for name, case in session.cases.items() if name != TWO]
    losses = [session.evaluate(case, Bigrams().losses) for case in cases]
    got = [number(session, case) for case in cases]
    return any(
        all(close(n, float(each[cut].mean())) for n, each in zip(got, losses, strict=True))
        for cut in (slice(None, -1), slice(1, None))
    )


EXERCISE = spec.exercise(
    reference,
    points=3,
    cases=_cases,
    parts=(
        numbers("the loss of a short text", 3, PLAIN),
        numbers("stays finite where a pair was never seen", 2, UNSEEN),
        numbers("takes tokens that were never seen", 1, OTHER),
        numbers("takes a text of two tokens", 0.5, TWO),
    ),
    mistakes={
        "unigram-instead": When(
            matches_any(
                *(_unigrams(a, s, last) for a in (1.0, 0.0) for s in (1, 0) for last in (0, 1, -1)), where=PLAIN
            )
        ),
        "no-smoothing": When(_not_smoothed),
        "columns-normalised": When(matches_any(Bigrams(rows="columns"))),
        "sums-along-a-row": When(matches_any(Bigrams(rows="across"))),
        "pairs-swapped": When(matches_any(Bigrams(rows="transposed"))),
        "joint-probability": When(matches_any(Bigrams(rows="all"))),
        "vocabulary-from-the-texts": When(matches_any(_largest_id)),
        "base-two": When(matches_any(_from_losses("bits"), _from_losses("decimal"))),
        "smoothed-above-only": When(matches_any(Bigrams(below=0.0), _one_in_the_sum, _one_above)),
        "one-only-for-unseen": When(matches_any(Bigrams(how="floor"))),
        "repeated-pairs-lost": When(matches_any(Bigrams(how="seen"))),
        "evaluated-on-train": When(matches_any(lambda train, test, words: Bigrams()(train, train, words))),
        "counted-on-the-test": When(matches_any(Bigrams(reads="test"))),
        "mean-of-probabilities": When(matches_any(_from_losses("of the mean"), _from_losses("probability"))),
        "test-pair-lost": When(_test_pair_lost),
        "first-token-counted": When(matches_any(_from_losses("all tokens"))),
        "summed": When(matches_any(_from_losses("sum"), _from_losses("negative sum"))),
        "sign-forgotten": When(matches_any(_from_losses("negative"))),
        "perplexity": When(matches_any(_from_losses("perplexity"))),
    },
)
