"""Byte-pair encoding's first half, the merges that a text teaches (Sennrich et al. 2016, algorithm 1). The other half,
encoding a word with them, is an exercise of lesson 11."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

Pair = tuple[str, str]


def learn_merges(often: Mapping[str, int], rounds: int) -> list[Pair]:
    """The pairs of neighbours that become one token each, in order: in every round the commonest. `often` has how often
    each word occurs; of pairs that are equally common, the one that was met first is taken.

    >>> learn_merges({"hat": 3, "that": 2, "heat": 1}, 2)
    [('a', 't'), ('h', 'at')]
    """
    merges: list[Pair] = []
    words = {word: " ".join(word) for word in often}
    for _ in range(rounds):
        pairs: Counter[Pair] = Counter()
        for word, symbols in words.items():
            for pair in pairwise(symbols.split()):
                pairs[pair] += often[word]
        if not pairs:
            break
        merges.append(pairs.most_common(1)[0][0])
        both = re.compile(rf"(?<!\S){re.escape(' '.join(merges[-1]))}(?!\S)")
        words = {word: both.sub("".join(merges[-1]), symbols) for word, symbols in words.items()}
    return merges
