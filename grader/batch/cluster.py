"""The workers: a cluster of this machine's, or any Dask cluster by its scheduler's address."""

from __future__ import annotations

import contextlib
import itertools
import logging
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

import dask
from distributed import Client, Future, KilledWorker, LocalCluster, as_completed
from distributed.client import ClosedClientError

from grader.batch.finish import Finished, Release
from grader.batch.forkserver import ForkedWorker, ForkServer
from grader.batch.key import GradingSettings, specifications
from grader.batch.worker import Judge, Judged, Task, failure, judge
from grader.errors import CommandFailed, CourseError
from grader.judge.result import SubmissionResult
from grader.judge.sandbox import HandedOver

# More than a worker has at once, so that none waits for the command; few, because submissions lie in memory.
AHEAD = 3
# A task has several submissions: Dask takes as long over a task as a quarter of a submission does. Not so many that the
# workers are not done at the same time.
MOST_AT_ONCE, TASKS_A_WORKER = 8, 8
CONNECT_SECONDS, POLL_SECONDS = 20, 0.005
SETTINGS: dict[str, Any] = {
    # A submission may keep its worker busy for minutes; that is no reason to believe the worker dead.
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.allowed-failures": 2,
    "distributed.admin.tick.limit": "60s",
    # Nobody looks at a profile of the workers; to look at what they do a hundred times a second is work they'd do.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    # No pages for whoever is on this machine.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
}


class SchedulerLost(RuntimeError):
    """The scheduler is gone, and with it what was under way."""


@dataclass(frozen=True)
class Graded:
    """What came back for one submission: a result, or why there is none."""

    task: Task
    result: SubmissionResult | None = None
    finished: Finished | None = None
    failed: str = ""


@contextlib.contextmanager
def connected(scheduler: str) -> Iterator[Client]:
    """A client of the scheduler at that address."""
    with _settings():
        try:
            client = Client(scheduler, timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            raise CourseError(f"There is no Dask scheduler at {scheduler}: {error}") from None
        try:
            if not client.scheduler_info()["workers"]:
                raise CommandFailed(f"The scheduler at {scheduler} has no workers.")
            yield client
        finally:
            client.close(timeout=5)


@contextlib.contextmanager
def own_cluster(workers: int, server: ForkServer) -> Iterator[Client]:
    """A client of a cluster on this machine, whose workers come from `server`. They end first."""
    # Not `with Client(...)`, which would have to end in the thread in which it began.
    with _settings(), _local(workers, server) as cluster, contextlib.closing(Client(cluster)) as client:
        server.tell(client.close)
        try:
            while len(cluster.scheduler.workers) < workers:
                if server.ended():
                    raise CommandFailed("The workers can't be started; why is above.")
                time.sleep(POLL_SECONDS)
            yield client
        finally:
            server.close()


@contextlib.contextmanager
def _settings() -> Iterator[None]:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", message="Sending large graph")
    with dask.config.set(SETTINGS):
        yield


def _local(workers: int, server: ForkServer) -> LocalCluster:
    """Processes on this machine. With TLS: whoever can talk to a scheduler can run code as its owner, and on a machine
    that students use too, that would be everyone."""
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        worker_class=ForkedWorker,
        server=server,
        security=True,
        dashboard_address=None,
        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        silence_logs=logging.CRITICAL,
        memory_limit=None,
    )


class Judges:
    """The judges on a client's workers; a context manager. They are ended with it, and the secret is forgotten."""

    def __init__(self, client: Client, terms: GradingSettings, sandboxes: Mapping[int, HandedOver]) -> None:
        self._client = client
        # The same terms, the same name: after a run that was killed its judges are found again and taken over.
        self._name = f"attention-course-{terms.name[:16]}"
        try:
            client.register_plugin(Judge(terms, specifications(), sandboxes), name=self._name)
        except Exception as error:
            self._forget()
            raise CommandFailed(f"The workers can't grade: {error}") from error

    def __enter__(self) -> Judges:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._client.cluster is None:  # workers of this run's own end with it anyway
            self._forget()

    def _forget(self) -> None:
        if self._client.status == "running":
            with contextlib.suppress(Exception):
                self._client.unregister_worker_plugin(self._name)

    def grade(self, tasks: Iterable[Task], count: int, release: Release) -> Iterator[list[Graded]]:
        """Grade so many; what has come in, as it comes in. `SchedulerLost` if the connection breaks."""
        workers = max(len(self._client.scheduler_info()["workers"]), 1)  # one that died may be on its way back
        at_once = max(1, min(MOST_AT_ONCE, count // (TASKS_A_WORKER * workers)))
        first = _Pass(self._client, self._name, release)
        yield from first.run(tasks, at_once, AHEAD * workers + 1)
        # A worker that died had other submissions at hand: each of them gets another chance, alone.
        for task in first.killers:
            alone = _Pass(self._client, self._name, release)
            yield from alone.run([task], 1, 1)
            yield [Graded(one, failed="Every worker that graded it died.") for one in alone.killers]


class _Pass:
    """Grades submissions once; `killers` are those at which workers died, again and again."""

    def __init__(self, client: Client, name: str, release: Release) -> None:
        self._client, self._name, self._release = client, name, release
        self._under_way: dict[Future, list[Task]] = {}
        self._waiting = as_completed()
        self.killers: list[Task] = []

    def run(self, tasks: Iterable[Task], at_once: int, ahead: int) -> Iterator[list[Graded]]:
        """So many at once, and never more than `ahead` times as many under way."""
        left = iter(tasks)
        while True:
            while len(self._under_way) < ahead and (some := list(itertools.islice(left, at_once))):
                future = self._submitted(some)
                self._under_way[future] = some
                self._waiting.add(future)
            if not self._under_way:
                return
            if self._client.status in ("closing", "closed"):  # else its closing ends the wait
                raise SchedulerLost
            yield [graded for future in next(self._waiting.batches()) for graded in self._collected(future)]

    def _submitted(self, tasks: list[Task]) -> Future:
        try:
            return self._client.submit(judge, self._name, tasks, self._release, pure=False)
        except ClosedClientError:
            raise SchedulerLost from None

    def _collected(self, future: Future) -> list[Graded]:
        if future.status in ("pending", "lost"):  # its worker died with the result: it is graded again
            self._waiting.add(future)
            return []
        tasks = self._under_way.pop(future)
        try:
            return list(map(_graded, tasks, future.result()))
        except CancelledError:
            raise SchedulerLost from None
        except KilledWorker:
            self.killers += tasks
            return []
        except Exception as error:
            return [Graded(task, failed=failure(error)) for task in tasks]
        finally:
            future.release()


def _graded(task: Task, judged: Judged) -> Graded:
    if isinstance(judged, str):
        return Graded(task, failed=judged)
    plain, finished = judged
    return Graded(task, SubmissionResult.from_plain(plain), finished)
