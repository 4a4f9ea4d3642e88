"""The tales that lesson 11's models learn from: a small grammar of our own, and nobody else's text.

    python scripts/tales.py            # prints three of them

A tale has two animals, each with a name, and a thing that one of them has and the other wants. What is said once comes
back 5 to 80 words later: names, things, places, numbers, habits. No table of counts can carry that over. A name says
nothing about its owner, so it can only be known from the tale itself.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields


def _words(text: str) -> list[str]:
    return text.split()


NAMES = _words("""
    Ada Amos Arlo Basil Bella Bruno Carla Cecil Clara Cosmo Daisy Della Edgar Edith Elsa Emil Etta Felix Fergus
    Fiona Flora Frida Gilda Gus Harold Hazel Hector Hilda Homer Ida Igor Iris Ivan Jasper Kurt Leo Lotte Mabel
    Magda Marta Maud Milo Morris Myrtle Nelly Odile Olga Oscar Otto Pearl Percy Petra Quentin Rosa Rufus Stella
    Theo Tilda Ursula Victor Wanda
""")
STRANGERS = _words("Agnes Boris Conrad Dagmar Eugene Gloria Hubert Kitty Ludwig Olive Ruby Walter")
KINDS = _words("fox hare heron badger otter crow goat mouse owl toad")
THINGS = _words("kettle lantern basket ladder drum mirror bell whistle candle spoon hat map key boat umbrella trumpet")
LOOKS = _words("red blue green old golden broken heavy tiny long silver square striped")
PLACES = _words("mill river hill bridge market garden forest harbour well tower")
GOODS = _words("apples buttons eggs turnips marbles pancakes pears socks")
NUMBERS = _words("two three four five six seven eight nine")
HABITS = (
    "slept in a drawer",
    "was afraid of soup",
    "sang to the fish",
    "counted the clouds",
    "never opened a letter",
    "wore two hats",
    "read the newspaper aloud",
    "danced alone",
    "spoke to the moon",
    "ate breakfast twice",
    "collected corks",
    "walked backwards",
)
MANNERS = (
    "out of breath",
    "in the rain",
    "on tiptoe",
    "with one wet shoe",
    "whistling",
    "in a bad mood",
    "under a leaf",
)


@dataclass(frozen=True)
class Tale:
    """What a tale is about."""

    a: str  # who has the `thing`
    b: str  # who wants it
    ka: str  # what kind of animal or person `a` is
    kb: str  # and what `b` is
    thing: str
    other: str  # what `b` has
    look: str  # of the `thing`
    otherlook: str  # of `other`
    home: str  # where `a` lives
    away: str  # where `b` comes from
    goods: str  # what `b` pays with
    n: str  # how many of them `b` offers
    more: str  # how many `a` wants
    habit: str  # of `a`
    bhabit: str  # of `b`
    manner: str  # in which `b` comes


# Kinds of sentences, each with its wordings. "@x" is "a x" or "an x".
OPENING = (
    "Once there was @{ka} called {a}, who {habit}.",
    "By the {home} lived @{ka} called {a}, who {habit}.",
    "{a} was @{ka} from the {home}, and {habit}.",
    "By the {home} lived {a} the {ka}, who {habit}.",
)
POSSESSION = (
    "{a} had @{look} {thing}, and showed it to nobody.",
    "Of all things {a} loved @{look} {thing} the most.",
    "What {a} liked best was @{look} {thing}.",
    "Every morning {a} polished @{look} {thing}.",
)
ARRIVAL = (
    "One day {b} the {kb} came from the {away}.",
    "Then @{kb} called {b} came by, {manner}.",
    "Somebody knocked. It was {b}, @{kb} from the {away}.",
    "One day {b} came to see {a}, {manner}.",
)
QUESTION = (
    "“What @{look} {thing}!” said {b}. “May I have it, {a}?”",
    "“Lend me your {thing},” said {b}. “For how long?” asked {a}. “For ever,” said {b}. “Next week,” said {a}.",
    "“Is that @{look} {thing}?” asked {b}. “It is,” said {a}, “and it is mine.”",
    "“May I see your {thing}?” asked {b}. “You may look,” said {a}, “but do not breathe.”",
)
OFFER = (
    "“I will give you {n} {goods} for it,” said {b}. “For {n} {goods}?” asked {a}. “Not even for {more}.”",
    "{b} offered {n} {goods}, and {a} wanted {more}. “Nobody has {more} {goods},” said {b}. “I can wait,” said {a}.",
    "“I have @{otherlook} {other},” said {b}. “It is worth {n} {goods}.” “Your {other} is worth {more},” said {a}.",
    "“How many {goods} does it cost?” asked {b}. “It costs {n},” said {a}, “and for you it costs {more}.”",
)
MIDDLE = (
    "{b} argued until the moon stood over the {away}, and then {a} made tea.",
    "When nobody looked, {b} tried the {thing}, but {a} heard it.",
    "That night it rained, so {b} stayed, and {a} cooked {goods}.",
    "Meanwhile {b} {bhabit}, and {a} pretended not to see it.",
)
SWAPPED, KEPT, SHARED, LOST = "swapped", "kept", "shared", "lost"
OUTCOME = {
    SWAPPED: (
        "So {b} got the {look} {thing}, and {a} got @{otherlook} {other}.",
        "In the end {b} paid {n} {goods} and @{otherlook} {other}, and {a} said goodbye to the {thing}.",
    ),
    KEPT: (
        "In the end {b} went home without the {thing}, and {a} slept well.",
        "“Then keep your {thing},” said {b}, and {a} was glad.",
    ),
    SHARED: (
        "So they shared it: {b} had the {thing} at night, and {a} had it in the morning.",
        "In the end {b} stayed by the {home}, and {a} cooked {goods} for two.",
    ),
    LOST: (
        "Then {b} dropped the {thing} into the sea, and {a} cannot swim.",
        "But the {look} {thing} was gone. “It was not me,” said {b}. “Nor me,” said {a}.",
    ),
}
VISITOR = (
    "By the {away} {b} still speaks of it.",
    "As for {b}, the {kb} told everybody by the {away}.",
    "“Next time,” said {b}, “I will bring {more} {goods}.”",
    "And {b} {bhabit} ever after.",
)
ENDING = {
    SWAPPED: (
        "{a} put the {other} by the {home}, and {habit}.",
        "{a} carried the {other} to the {home}, and {habit} as before.",
    ),
    KEPT: (
        "{a} still has the {look} {thing}, and {habit} as before.",
        "If {a} has not lost it, the {thing} is still by the {home}.",
    ),
    SHARED: (
        "{a} {habit}, and {b} {bhabit}, and the {thing} did not mind.",
        "Since then {a} the {ka} and {b} the {kb} are friends.",
    ),
    LOST: (
        "“It was only @{look} {thing},” said {a}, and {habit}.",
        "Since then the {kb} has looked for it every day, and {a} {habit}.",
    ),
}


def _with_articles(text: str) -> str:
    """ "a" or "an" in place of each "@", by the letter that follows.

    >>> _with_articles("@owl with @green hat")
    'an owl with a green hat'
    """
    parts = text.split("@")
    return parts[0] + "".join(("an " if part[0] in "aeiou" else "a ") + part for part in parts[1:])


def _drawn(draw: random.Random, names: list[str]) -> Tale:
    few = draw.randrange(len(NUMBERS) - 1)
    pairs = [draw.sample(words, 2) for words in (names, KINDS, THINGS, LOOKS, PLACES)]
    habit, bhabit = draw.sample(HABITS, 2)
    numbers = (NUMBERS[few], NUMBERS[draw.randrange(few + 1, len(NUMBERS))])
    values = [word for pair in pairs for word in pair]
    values += [draw.choice(GOODS), *numbers, habit, bhabit, draw.choice(MANNERS)]
    return Tale(*values)


def tale(draw: random.Random, names: list[str]) -> str:
    """One tale, in a line: all kinds of sentences but two of OFFER, MIDDLE and VISITOR."""
    about, outcome = _drawn(draw, names), draw.choice(list(OUTCOME))
    kinds = [OPENING, POSSESSION, ARRIVAL, QUESTION, OFFER, MIDDLE, OUTCOME[outcome], VISITOR, ENDING[outcome]]
    for place in sorted(draw.sample((4, 5, 7), 2), reverse=True):
        del kinds[place]
    words = {field.name: getattr(about, field.name) for field in fields(about)}
    return _with_articles(" ".join(draw.choice(kind).format(**words) for kind in kinds))


def tales(count: int, names: list[str], seed: int) -> str:
    """So many tales, one a line, no two alike."""
    draw, made = random.Random(seed), dict.fromkeys(())
    while len(made) < count:
        made[tale(draw, names)] = None
    return "\n".join(made) + "\n"


if __name__ == "__main__":
    print(tales(3, NAMES, seed=0).replace("\n", "\n\n"))
