"""The workers: a cluster of this machine's, or any Dask cluster by its scheduler's address."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import itertools
import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import dask
from distributed import Client, Future, KilledWorker, LocalCluster, as_completed
from distributed.client import ClosedClientError

from grader.batch.worker import JudgePlugin, Outcome, Task, failure, judge, timed_out
from grader.course.release import Release
from grader.errors import CommandFailed, CourseError, SchedulerLost
from grader.interrupt import children_hear_no_interrupt, not_interrupted
from grader.judge.fingerprint import GradingSettings, version_for
from grader.subject.held_folder import held_folder

# Task lists for each worker under way: more than one, so that none waits for the command; few, because submissions lie
# in memory.
LISTS_UNDER_WAY = 3
# Several submissions make one Dask task: Dask takes as long over a task as a quarter of a submission does. Not so many
# that one worker is still busy when the others are done.
MOST_IN_A_LIST, LISTS_A_WORKER = 8, 8
CONNECT_SECONDS, DASK = 20, "attention-dask-"
KILLED = "Every worker that tried to grade this hand-in died."
SETTINGS: dict[str, Any] = {
    # A submission may keep its worker busy for minutes; that is no reason to believe the worker dead.
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.allowed-failures": 2,
    "distributed.admin.tick.limit": "60s",
    # No web pages for whoever is on this machine.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
}


@contextlib.contextmanager
def connected(scheduler: str | None, workers: int) -> Iterator[Client]:
    """A client of the scheduler at that address or, if it is None, of so many workers on this machine. `CourseError`
    where there is no scheduler, `CommandFailed` where it has no workers or none can be started."""
    for name in ("distributed", "asyncio"):  # what matters of it the command says
        logging.getLogger(name).setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", message="Sending large graph")
    with (
        # Dask takes a predictable folder in the shared temporary folder, and puts it first in sys.path. Whoever makes
        # it first could have their code run here.
        held_folder(DASK) as folder,
        dask.config.set({**SETTINGS, "temporary-directory": folder}),
        _client(scheduler, workers) as client,
    ):
        yield client


@contextlib.contextmanager
def _client(scheduler: str | None, workers: int) -> Iterator[Client]:
    if scheduler is None:
        stack = contextlib.ExitStack()
        try:
            yield stack.enter_context(Client(stack.enter_context(_local_cluster(workers))))
        finally:
            with not_interrupted():  # a client that is half closed writes a traceback at the end
                stack.close()
        return
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise CourseError(f"There is no Dask scheduler at {scheduler}: {error}") from None
    try:
        with contextlib.suppress(TimeoutError):  # one that died is on its way back
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        if not client.ncores():
            raise CommandFailed(f"The scheduler at {scheduler} has no workers.")
        yield client
    finally:
        client.close(timeout=5)


def _local_cluster(workers: int) -> LocalCluster:
    """Start processes on this machine; `CommandFailed` if they can't be. With TLS: whoever can talk to a scheduler can
    run code as its owner, and on a machine that students use too, that would be everyone."""
    try:
        with children_hear_no_interrupt():
            return LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                security=True,
                env={"OMP_NUM_THREADS": "1"},
                dashboard_address=None,
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                silence_logs=logging.CRITICAL,
                memory_limit=None,
            )
    except RuntimeError as error:
        raise CommandFailed(f"The workers can't be started: {error.__cause__ or error}") from error


@contextlib.contextmanager
def losses_told(client: Client, report: Callable[[str], object]) -> Iterator[None]:
    """Say at the end of the block, by host, how many workers went away meanwhile without being told to: their process
    ended, or their network."""
    lost: Counter[str] = Counter()

    def note(event: tuple[float, Any]) -> None:
        said = event[1]
        if isinstance(said, dict) and said.get("action") == "remove-worker" and not said["expected"]:
            lost[urlsplit(said["worker"]).hostname or said["worker"]] += 1

    client.subscribe_topic("all", note)
    try:
        yield
    finally:
        if client.status == "running":
            client.unsubscribe_topic("all")  # else a scheduler of this process complains once the client is gone
        for host, number in lost.items():
            who, whose = (f"{number} workers", "they") if number > 1 else ("1 worker", "it")
            report(f"{who} at {host} went away during the run. What {whose} had at hand went to others.")


def _plugin_names(dask_scheduler: Any) -> list[str]:
    """The names of the workers' plug-ins; runs on the scheduler, which gives itself by this parameter's name."""
    return [*dask_scheduler.worker_plugins]


class Judges:
    """The judges on a client's workers; a context manager, at whose end they are ended and the secret is forgotten.
    `CommandFailed` if one can't start."""

    def __init__(self, client: Client, lesson: str, settings: GradingSettings, release: Release) -> None:
        self._client = client
        # The same settings, the same name: after a run that was killed its judges are found again and taken over.
        # Those with other settings would stay, and the secret with them.
        whose = hmac.new(settings.secret, lesson.encode(), hashlib.sha256).hexdigest()
        released = hashlib.sha256(repr(release).encode()).hexdigest()
        of_lesson = f"attention-course-{whose[:16]}-"
        self._name = f"{of_lesson}{settings.fingerprint[:16]}-{released[:16]}"
        plugin = JudgePlugin(settings, release, version_for(settings.outline))
        try:
            for name in client.run_on_scheduler(_plugin_names):
                if name.startswith(of_lesson) and name != self._name:
                    client.unregister_worker_plugin(name)
            client.register_plugin(plugin, name=self._name)
        except Exception as error:
            self._forget()
            raise CommandFailed(f"The workers can't grade: {error}") from error

    def __enter__(self) -> Judges:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._forget()

    def _forget(self) -> None:
        if self._client.status == "running":
            with contextlib.suppress(Exception):
                self._client.unregister_worker_plugin(self._name)

    def submit(self, tasks: Sequence[Task], workers: Sequence[str] = ()) -> Future:
        """Have tasks graded, on these workers if they are there; returns what the results will be in. `SchedulerLost`
        if the connection has broken."""
        where = {"workers": list(workers), "allow_other_workers": True} if workers else {}
        try:
            return self._client.submit(judge, self._name, tasks, pure=False, **where)
        except ClosedClientError:
            raise SchedulerLost from None

    def require_connection(self) -> None:
        """Raise `SchedulerLost` if the connection has broken."""
        if self._client.status in ("closing", "closed"):
            raise SchedulerLost

    def grade(self, tasks: Iterable[Task], count: int) -> Iterator[list[tuple[Task, Outcome]]]:
        """Grade tasks, `count` in all; yields lists of (task, outcome) as they finish, some of them empty. A task whose
        workers died, or that ran out of time, is tried once more, alone. `SchedulerLost` if the connection breaks."""
        workers = max(len(self._client.ncores()), 1)  # one that died may be on its way back
        in_a_list = max(1, min(MOST_IN_A_LIST, count // (LISTS_A_WORKER * workers)))
        first = _Dispatch(self)
        late: list[Task] = []
        for batch in first.run(tasks, in_a_list, LISTS_UNDER_WAY * workers + 1):
            late += [task for task, graded in batch if workers > 1 and timed_out(graded)]
            yield [(task, graded) for task, graded in batch if workers == 1 or not timed_out(graded)]
        # A worker that died had other submissions at hand; one that ran out of time had neighbours, who may have taken
        # it. Each of these submissions gets another chance, alone.
        for task in (*first.crashed, *late):
            alone = _Dispatch(self)
            yield from alone.run([task], 1, 1)
            yield [(killer, KILLED) for killer in alone.crashed]


class _Dispatch:
    """Has each submission graded once; `crashed` are those at which workers died, again and again."""

    def __init__(self, judges: Judges) -> None:
        self._judges = judges
        self._under_way: dict[Future, list[Task]] = {}
        self._waiting = as_completed()
        self.crashed: list[Task] = []

    def run(self, tasks: Iterable[Task], in_a_list: int, most: int) -> Iterator[list[tuple[Task, Outcome]]]:
        """Grade tasks, `in_a_list` of them in one Dask task, with never more than `most` lists under way. Yields lists
        of (task, outcome) as they finish; `SchedulerLost` if the connection breaks."""
        left = iter(tasks)
        while True:
            while len(self._under_way) < most and (batch := list(itertools.islice(left, in_a_list))):
                future = self._judges.submit(batch)
                self._under_way[future] = batch
                self._waiting.add(future)
            if not self._under_way:
                return
            self._judges.require_connection()  # else its closing ends the wait
            yield [graded for future in next(self._waiting.batches()) for graded in self._collected(future)]

    def _collected(self, future: Future) -> list[tuple[Task, Outcome]]:
        if future.status in ("pending", "lost"):  # its worker died with the result: it is graded again
            self._waiting.add(future)
            return []
        batch = self._under_way.pop(future)
        try:
            return list(zip(batch, future.result(), strict=True))
        except CancelledError:
            raise SchedulerLost from None
        except KilledWorker:
            self.crashed += batch
            return []
        except Exception as error:
            return [(task, failure(error)) for task in batch]
        finally:
            future.release()
