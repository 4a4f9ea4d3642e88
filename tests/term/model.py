"""A term in plain Python: what a course has to hold after each step. It knows nothing of files, zips or databases.

People hand in; a platform shows the last thing that each of them gave it. The teacher collects from a platform, has
what is in place graded, gives more time and marks by hand, mends the check, and takes steps back. There may be several
lessons, a `Term` each, which share the free days.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType

DAY = timedelta(days=1)
DUE, GRACE, PERCENT_A_DAY = datetime(2026, 11, 20, 10), timedelta(minutes=10), 10.0
POINTS = 1.0  # of the lesson
BEST = "best"


@dataclass(frozen=True)
class HandIn:
    """Something that was handed in: who wrote it, when it truly came, and the share of the points that it is worth."""

    author: str
    time: datetime
    share: float
    data: bytes = field(repr=False)
    wrapped: bool = False  # in a zip of the student's own


@dataclass
class Record:
    """What the course has of one person."""

    place: HandIn | None = None  # what counts of all that was collected
    kept: frozenset[HandIn] = frozenset()  # all that was collected, what is in place too
    known: frozenset[str] = frozenset()  # the platforms whose number of this person is known from earlier work
    waits: frozenset[str] = frozenset()  # the platforms on which it isn't known whose work is whose
    graded: HandIn | None = None  # what the judge's points are for
    judge: float | None = None  # these points
    generous: float = 0.0  # how generous the check was of which the course says that these are its points
    by_hand: float | None = None
    look: bool = False  # whether the mark by hand was given to other work, so that a teacher has to look at it
    time: datetime | None = None  # when what is graded came, as the gradebook has it


@dataclass
class Step:
    """A step that can be taken back: by person the record before it, and after it."""

    before: dict[str, Record]
    after: dict[str, Record]
    by_judge: bool = False  # it changed the judge's points; else a mark by hand
    waited: dict[str, frozenset[str]] = field(default_factory=dict)  # who waited before it


class Term:
    """The term of one class in one lesson. `rule` says which of several hand-ins counts: "last", "last-in-time",
    "first" or "best"; `free` how many days of lateness cost nothing in all lessons together. `namesakes` are called as
    somebody of the class and not in it; the course has the class's own numbers of the platforms `numbered`."""

    def __init__(
        self,
        people: tuple[str, ...],
        rule: str,
        free: int = 0,
        namesakes: Mapping[str, str] = MappingProxyType({}),
        numbered: Collection[str] = (),
        due: datetime = DUE,
    ) -> None:
        self.people = {who: Record() for who in people}
        self.rule, self.free, self.generous = rule, free, 0.0
        self.namesakes, self.numbered = namesakes, numbered
        self.due, self.others = due, list[Term]()  # other lessons, in which free days may be used up
        self.extended: dict[str, timedelta] = {}
        self.steps: list[Step] = []
        self.collected: Step | None = None

    # --- what holds ---------------------------------------------------------------------------------------------------

    def until(self, who: str) -> datetime:
        """Until when somebody's work is in time."""
        return self.due + self.extended.get(who, timedelta()) + GRACE

    def days_late(self, who: str, time: datetime | None) -> int:
        """The days begun after that, for work that came at some time."""
        return 0 if time is None else max(math.ceil((time - self.until(who)) / DAY), 0)

    def earns(self, who: str, score: float, time: datetime | None) -> float:
        """What is left of a score in points, for work that came at some time."""
        came = [(other.people[who].time, other) for other in self.others]
        used = sum(other.days_late(who, when) for when, other in came if when and time and when < time)
        charged = max(self.days_late(who, time) - max(self.free - used, 0), 0)
        penalty = round(score * min(charged * PERCENT_A_DAY / 100, 1.0), 2)
        return round(max(score - penalty, 0.0), 2)

    def mark(self, who: str) -> float | None:
        """What somebody earns in points, lateness included; None for no mark."""
        record = self.people[who]
        score = record.by_hand if record.by_hand is not None else record.judge
        return None if score is None or record.look else self.earns(who, score, record.time)

    def state(self, who: str) -> str:
        """As an export words it."""
        record = self.people[who]
        if self.mark(who) is not None:
            return "marked"
        if record.look:
            return "waiting to be marked by hand"
        if record.place:
            return "handed in, not graded yet"
        return "not settled yet whose hand-in it is" if record.waits else "not handed in"

    def judged(self, hand_in: HandIn) -> float:
        """What the check as it is now gives for something."""
        return round(POINTS * min(hand_in.share + self.generous, 1.0), 2)

    # --- what happens -------------------------------------------------------------------------------------------------

    def doubtful(self, platform: str, shown: Collection[HandIn]) -> set[str]:
        """Of whom it isn't known which work is theirs: a platform shows two of the name, under numbers that nothing
        tells apart."""
        twins = {self.namesakes[one.author] for one in shown if one.author in self.namesakes}
        return {who for who in twins if platform not in self.people[who].known | {*self.numbered}}

    def collect(self, platform: str, shown: Collection[HandIn], told: bool = False) -> None:
        """Take in what a platform shows, at most one thing of each person; `told`: a teacher says who is who."""
        before, doubtful = deepcopy(self.people), self.doubtful(platform, shown)
        for hand_in in shown:
            if hand_in.author not in self.people:
                continue
            record = self.people[hand_in.author]
            if hand_in.author in doubtful and not told:
                record.waits |= {platform}
                continue
            record.waits, record.known = record.waits - {platform}, record.known | {platform}
            every = [hand_in, *([record.place] if record.place else [])]
            record.kept |= {hand_in}
            record.place = self.counts(hand_in.author, every)
        held = {who: (record.place, record.kept) for who, record in before.items()}
        changed = [who for who, record in self.people.items() if (record.place, record.kept) != held[who]]
        if changed:
            after = {who: deepcopy(self.people[who]) for who in changed}
            waited = {who: record.waits for who, record in before.items()}
            self.collected = Step({who: before[who] for who in changed}, after, waited=waited)

    def counts(self, who: str, hand_ins: list[HandIn]) -> HandIn:
        """Which of several hand-ins of one person counts; the last of them is in place. Which is the best is known when
        all are graded."""
        if self.rule == BEST:
            return hand_ins[-1]
        ordered = sorted(hand_ins, key=lambda one: one.time)
        if self.rule == "first":
            return ordered[0]
        in_time = [one for one in ordered if one.time <= self.until(who)]
        return (in_time if self.rule == "last-in-time" and in_time else ordered)[-1]

    def uncollect(self) -> None:
        """Take the last collecting back, of those whose place it still holds."""
        step, self.collected = self.collected, None
        assert step
        for who, was in step.before.items():
            now = self.people[who]
            if now.place != step.after[who].place:
                continue
            back = deepcopy(was)
            if was.judge is None or now.judge is None:  # a mark that was taken back since doesn't come back
                back.judge, back.by_hand, back.look = None, None, False
            elif (now.graded, now.judge) == (was.graded, was.judge):
                back.by_hand, back.look = now.by_hand, now.look
            self.people[who] = back
        for who, waits in step.waited.items():
            self.people[who].waits = waits

    def autograde(self) -> None:
        """Grade what is in place and isn't graded: what was graded by an earlier check keeps its points."""
        for who, record in self.people.items():
            if record.place is None:
                continue
            if self.rule == BEST:
                every = sorted(record.kept, key=lambda one: one.time)
                record.place = max(every, key=lambda one: (self.earns(who, self.judged(one), one.time), one.time))
            if record.graded is None or record.graded.data != record.place.data:
                record.judge, record.generous = self.judged(record.place), self.generous
                record.look = record.by_hand is not None
            record.graded, record.time = record.place, record.place.time

    def may_be_marked(self, who: str) -> bool:
        """Whether a mark may be given by hand: not for work that waits to be graded."""
        return self.people[who].judge is not None or self.people[who].place is None

    def override(self, who: str, points: float) -> None:
        """Give a mark by hand; where nothing was handed in, the judge's points are none."""
        before = deepcopy(self.people[who])
        self.people[who].by_hand, self.people[who].look = points, False
        self.people[who].judge = before.judge or 0.0
        self.steps.append(Step({who: before}, {who: deepcopy(self.people[who])}))

    def accept(self) -> list[str]:
        """Regrade what is graded and in place; nobody loses points. Returns whose judge's points change."""
        moving = {
            who: record
            for who, record in self.people.items()
            if record.place and record.graded and record.place.data == record.graded.data
            if record.by_hand is None and self.judged(record.place) > (record.judge or 0.0)
        }
        before = deepcopy(moving)
        for record in self.people.values():
            if record.place and record.graded:
                record.time = record.place.time
                if record.place.data == record.graded.data:
                    record.generous = self.generous
        for record in moving.values():
            assert record.place
            record.judge = self.judged(record.place)
        if moving:
            self.steps.append(Step(before, deepcopy(moving), by_judge=True))
        return [*moving]

    def undo(self) -> None:
        """Take the last acceptance or mark by hand back, of those who weren't graded since."""
        step = self.steps.pop()
        for who, was in step.before.items():
            now, became = self.people[who], step.after[who]
            if was.judge is None:
                if now.graded is None and now.by_hand == became.by_hand:  # they have handed in nothing
                    now.judge = now.by_hand = None
                continue
            if now.judge not in (was.judge, became.judge):
                continue
            if step.by_judge:
                if became.graded != now.graded or now.generous not in (was.generous, became.generous):
                    continue
                now.judge, now.generous = was.judge, was.generous
            now.by_hand = was.by_hand if now.by_hand == became.by_hand else now.by_hand
            now.look = was.look if now.look == became.look else now.look
