# %% right: the lowest rank again and again
from itertools import pairwise


def byte_pair_encode(symbols, merges):
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    word = list(symbols)
    while True:
        known = [pair for pair in pairwise(word) if pair in ranks]
        if not known:
            return word
        first, second = min(known, key=ranks.get)
        joined = []
        for symbol in word:
            if joined and joined[-1] == first and symbol == second:
                joined[-1] = first + second
            else:
                joined.append(symbol)
        word = joined


# %% right: an index that goes two further
def byte_pair_encode(symbols, merges):
    word = tuple(symbols)
    while len(word) > 1:
        pairs = set(zip(word, word[1:]))
        pair = next((merge for merge in merges if tuple(merge) in pairs), None)
        if pair is None:
            break
        made, i = [], 0
        while i < len(word):
            if word[i : i + 2] == tuple(pair):
                made.append(word[i] + word[i + 1])
                i += 2
            else:
                made.append(word[i])
                i += 1
        word = tuple(made)
    return word


# %% right: back to the first merge after each that fits
def byte_pair_encode(symbols, merges):
    word = list(symbols)
    rank = 0
    while rank < len(merges):
        a, b = merges[rank]
        out = []
        rest = list(word)
        while rest:
            if len(rest) > 1 and rest[0] == a and rest[1] == b:
                out.append(a + b)
                rest = rest[2:]
            else:
                out.append(rest.pop(0))
        rank = 0 if out != word else rank + 1
        word = out
    return word


# %% right: by recursion
def byte_pair_encode(symbols, merges):
    for a, b in merges:
        for i in range(len(symbols) - 1):
            if symbols[i] == a and symbols[i + 1] == b:
                made, j = list(symbols[:i]), i
                while j < len(symbols):
                    both = j + 1 < len(symbols) and symbols[j] == a and symbols[j + 1] == b
                    made.append(a + b if both else symbols[j])
                    j += 2 if both else 1
                return byte_pair_encode(made, merges)
    return list(symbols)


# %% wrong one-string: joined at the end
def byte_pair_encode(symbols, merges):
    word = list(symbols)
    while True:
        known = [pair for pair in zip(word, word[1:]) if pair in merges]
        if not known:
            return "".join(word)
        a, b = min(known, key=merges.index)
        made, i = [], 0
        while i < len(word):
            both = word[i : i + 2] == [a, b]
            made.append(a + b if both else word[i])
            i += 2 if both else 1
        word = made


# %% wrong one-string: with blanks between the tokens
def byte_pair_encode(symbols, merges):
    word = list(symbols)
    while any(pair in merges for pair in zip(word, word[1:])):
        pair = next(merge for merge in merges if merge in list(zip(word, word[1:])))
        made = []
        while word:
            if tuple(word[:2]) == pair:
                made.append(word.pop(0) + word.pop(0))
            else:
                made.append(word.pop(0))
        word = made
    return " ".join(word)


# %% wrong overlapping-joined: the index goes one further
def byte_pair_encode(symbols, merges):
    word = list(symbols)
    for _ in range(50):
        known = [pair for pair in zip(word, word[1:]) if pair in merges]
        if not known:
            break
        a, b = min(known, key=merges.index)
        made = []
        for i, symbol in enumerate(word):
            made.append(a + b if word[i : i + 2] == [a, b] else symbol)
        word = made
    return word


# %% wrong overlapping-joined: both pairs, without what they share
def byte_pair_encode(symbols, merges):
    word = list(symbols)
    for _ in range(50):
        ranked = [merges.index(pair) for pair in zip(word, word[1:]) if pair in merges]
        if not ranked:
            return word
        pair = merges[min(ranked)]
        starts = [i for i in range(len(word) - 1) if (word[i], word[i + 1]) == pair]
        ends = [i + 1 for i in starts]
        word = [
            pair[0] + pair[1] if i in starts else symbol
            for i, symbol in enumerate(word)
            if i in starts or i not in ends
        ]
    return word


# %% wrong first-occurrence-only: index
def byte_pair_encode(symbols, merges):
    word = list(symbols)
    for a, b in merges:
        pairs = list(zip(word, word[1:]))
        if (a, b) in pairs:
            i = pairs.index((a, b))
            word = word[:i] + [a + b] + word[i + 2 :]
    return word


# %% wrong first-occurrence-only: a break
def byte_pair_encode(symbols, merges):
    word = list(symbols)
    for pair in merges:
        for i in range(len(word) - 1):
            if (word[i], word[i + 1]) == pair:
                word[i : i + 2] = [word[i] + word[i + 1]]
                break
    return word


# %% wrong one-pass-only: one walk over the merges
def byte_pair_encode(symbols, merges):
    word = list(symbols)
    for pair in merges:
        made, i = [], 0
        while i < len(word):
            if tuple(word[i : i + 2]) == pair:
                made.append(word[i] + word[i + 1])
                i += 2
            else:
                made.append(word[i])
                i += 1
        word = made
    return word


# %% wrong one-pass-only: returns after the first join
def byte_pair_encode(symbols, merges):
    word = list(symbols)
    known = [pair for pair in zip(word, word[1:]) if pair in merges]
    if known:
        a, b = min(known, key=merges.index)
        made = []
        while word:
            if word[:2] == [a, b]:
                made.append(a + b)
                del word[:2]
            else:
                made.append(word.pop(0))
        word = made
    return word


# %% wrong in-order-of-text: the first pair that is known
def byte_pair_encode(symbols, merges):
    word, i = list(symbols), 0
    while i < len(word) - 1:
        if (word[i], word[i + 1]) in merges:
            word[i : i + 2] = [word[i] + word[i + 1]]
            i = 0
        else:
            i += 1
    return word


# %% wrong in-order-of-text: all places of that pair
def byte_pair_encode(symbols, merges):
    word = list(symbols)
    while True:
        pair = next((pair for pair in zip(word, word[1:]) if pair in merges), None)
        if pair is None:
            return word
        made, i = [], 0
        while i < len(word):
            both = tuple(word[i : i + 2]) == pair
            made.append("".join(word[i : i + 1 + both]))
            i += 1 + both
        word = made


# %% wrong longest-first: the longest pair
def byte_pair_encode(symbols, merges):
    word = list(symbols)
    while True:
        known = [pair for pair in zip(word, word[1:]) if pair in merges]
        if not known:
            return word
        pair = max(known, key=lambda two: len(two[0] + two[1]))
        made, i = [], 0
        while i < len(word):
            both = tuple(word[i : i + 2]) == pair
            made.append("".join(word[i : i + 1 + both]))
            i += 1 + both
        word = made


# %% wrong longest-first: the longest token that fits
def byte_pair_encode(symbols, merges):
    tokens = {a + b for a, b in merges}
    word, made = "".join(symbols), []
    while word:
        for size in range(len(word), 0, -1):
            if word[:size] in tokens or size == 1:
                made.append(word[:size])
                word = word[size:]
                break
    return made


# %% wrong latest-first: max for min
def byte_pair_encode(symbols, merges):
    word = list(symbols)
    while True:
        known = [pair for pair in zip(word, word[1:]) if pair in merges]
        if not known:
            return word
        pair = max(known, key=merges.index)
        made, i = [], 0
        while i < len(word):
            both = tuple(word[i : i + 2]) == pair
            made.append("".join(word[i : i + 1 + both]))
            i += 1 + both
        word = made


# %% wrong latest-first: the list from its end
def byte_pair_encode(symbols, merges):
    word = list(symbols)
    while True:
        pairs = list(zip(word, word[1:]))
        pair = next((merge for merge in reversed(merges) if merge in pairs), None)
        if pair is None:
            return word
        made, i = [], 0
        while i < len(word):
            both = tuple(word[i : i + 2]) == pair
            made.append("".join(word[i : i + 1 + both]))
            i += 1 + both
        word = made


# %% wrong not-from-the-earliest-again: the whole list until nothing changes
def byte_pair_encode(symbols, merges):
    word, before = list(symbols), None
    while word != before:
        before = word
        for pair in merges:
            made, i = [], 0
            while i < len(word):
                both = tuple(word[i : i + 2]) == pair
                made.append("".join(word[i : i + 1 + both]))
                i += 1 + both
            word = made
    return word


# %% wrong not-from-the-earliest-again: a flag
def byte_pair_encode(symbols, merges):
    word = list(symbols)
    changed = True
    while changed:
        changed = False
        for a, b in merges:
            i = 0
            while i < len(word) - 1:
                if word[i] == a and word[i + 1] == b:
                    word[i : i + 2] = [a + b]
                    changed = True
                i += 1
    return word


# %% wrong -: the last token lost
def byte_pair_encode(symbols, merges):
    word = list(symbols)
    while True:
        known = [pair for pair in zip(word, word[1:]) if pair in merges]
        if not known:
            return word
        first = min(known, key=merges.index)
        made, i = [], 0
        while i < len(word) - 1:
            if (word[i], word[i + 1]) == first:
                made.append(word[i] + word[i + 1])
                i += 2
            else:
                made.append(word[i])
                i += 1
        word = made


# %% wrong borders-ignored: replaced in a text with blanks
def byte_pair_encode(symbols, merges):
    text = " ".join(symbols)
    for a, b in merges:
        text = text.replace(f"{a} {b}", a + b)
    return text.split()


# %% wrong borders-ignored: the earliest that is in the text
def byte_pair_encode(symbols, merges):
    text = " ".join(symbols)
    while True:
        pair = next((pair for pair in merges if " ".join(pair) in text), None)
        if pair is None:
            return text.split(" ")
        text = text.replace(" ".join(pair), "".join(pair))
