"""Compute in one thread: the number of threads that share a sum changes its last bits."""

from threading import Lock
from typing import Any

from firth.corpora.common.errors import needed_packages


class _OneThread:
    """Limit torch and BLAS to one thread while any caller is inside; then restore."""

    def __init__(self) -> None:
        self._lock, self._inside, self._threads = Lock(), 0, 1
        self._limits: Any = None

    def __enter__(self) -> None:
        with needed_packages():
            import torch
        from threadpoolctl import threadpool_limits

        with self._lock:
            if not self._inside:
                self._threads = torch.get_num_threads()
                self._limits = threadpool_limits(1, user_api="blas")
            self._inside += 1
            torch.set_num_threads(1)

    def __exit__(self, *error: object) -> None:
        import torch

        with self._lock:
            self._inside -= 1
            if not self._inside:
                torch.set_num_threads(self._threads)
                self._limits.restore_original_limits()


ONE_THREAD = _OneThread()
