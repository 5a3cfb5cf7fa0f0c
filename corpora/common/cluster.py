"""Executors of tasks: any of ``concurrent.futures``, or the workers of a Dask cluster."""

import contextlib
import logging
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from typing import Any

from firth.corpora.common.errors import FirthError, SettingError, imported
from firth.corpora.common.interrupts import interrupts_blocked, main_hidden, safe_path

_LOCAL = re.compile(r"local:([1-9]\d*)")
_ADDRESS = re.compile(r"(tcp|tls|ucx|ws|wss)://\S+")
_SECONDS = 5  # to wait for a scheduler, and for its first worker
_RETRIES = 2  # of a task that failed for another reason than its input, such as a full disk


def cluster_option(command: Any) -> Any:
    """Add ``--cluster`` to a command."""
    from firth.corpora.common.command import MACHINE, option

    return option(
        "--cluster",
        group=MACHINE,
        rare=True,
        excludes=["--dry-run"],  # which tells what this machine takes
        metavar="ADDRESS",
        help="Run on the workers of Dask: the address of a scheduler, such as tcp://HOST:8786, or "
        "local:N for N processes of this machine. All machines must share the disk.",
    )(command)


@contextlib.contextmanager
def open_executor(
    cluster: str | Executor | None, seconds: float = _SECONDS
) -> Iterator[Executor | None]:
    """Yield an executor for an address or ``local:N``, else what is passed; raise if it fails."""
    if not isinstance(cluster, str):
        yield cluster
        return
    check_cluster(cluster)
    from distributed import Client, LocalCluster, Security  # lazy: takes half a second
    from distributed.scheduler import KilledWorker

    with contextlib.ExitStack() as stack:
        stack.enter_context(_quiet())
        if local := _LOCAL.fullmatch(cluster):
            stack.enter_context(safe_path())  # workers may be started again at any time
            with interrupts_blocked(), main_hidden():  # as for worker processes without Dask
                started = LocalCluster(
                    n_workers=int(local[1]),
                    threads_per_worker=1,
                    memory_limit=0,  # it would count the pages of mapped files
                    # who can connect can run code, as other users of the machine could
                    security=Security.temporary(),
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    worker_dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.CRITICAL,
                )
            place: Any = stack.enter_context(started)
        else:
            place = cluster
        try:
            client = stack.enter_context(Client(place, timeout=seconds, set_as_default=False))
        except OSError:
            raise FirthError(
                f"`cluster={cluster}`: no scheduler answers; start one with `dask scheduler`, or "
                "pass `cluster=local:N`"
            ) from None
        try:
            client.wait_for_workers(1, timeout=None if local else seconds)
        except TimeoutError:
            raise FirthError(
                f"`cluster={cluster}`: the scheduler has no workers; start some with "
                f"`dask worker {cluster}`"
            ) from None
        try:
            yield _DaskExecutor(client)
        except KilledWorker as error:
            name = str(error.task).rpartition("-")[0]
            raise FirthError(
                f"{name}: killed {error.allowed_failures + 1} workers; give workers more memory, "
                "then run the same command to resume"
            ) from None
        except (CancelledError, TimeoutError):
            raise FirthError(
                f"`cluster={cluster}`: lost the connection to the scheduler; run the same command "
                "to resume"
            ) from None


def check_cluster(cluster: str) -> None:
    """Raise if an address is malformed, or Dask is not installed."""
    if not (_LOCAL.fullmatch(cluster) or _ADDRESS.fullmatch(cluster)):
        raise SettingError(
            f"`cluster` must be the address of a scheduler, such as tcp://HOST:8786, or local:N, "
            f"got {cluster!r}"
        )
    remedy = "needs Dask; pip install 'firth[dask]' here and on the workers"
    imported("distributed", FirthError(f"`cluster={cluster}` {remedy}"))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from logging tracebacks of what an error says in one line."""
    logger = logging.getLogger("distributed.client")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


class _DaskExecutor(Executor):
    """Dask's own executor, with the names of tasks in its dashboard."""

    def __init__(self, client: Any) -> None:
        self._tasks = client.get_executor(pure=False, retries=_RETRIES)
        self._ours = os.urandom(4).hex()  # or two builds at once would share tasks of one name
        self._n_submitted = 0

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Run a task, whose ``name`` is shown; a mangled one of the function if it has none."""
        name = getattr(function, "name", None) or getattr(function, "__name__", "task")
        self._n_submitted += 1
        key = f"{name}-{self._ours}.{self._n_submitted}"
        future: Future[Any] = self._tasks.submit(function, *args, **kwargs, key=key)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Forget the tasks; the client is closed by whoever opened it."""
        self._tasks.shutdown(wait)
