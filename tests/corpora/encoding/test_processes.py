"""Worker processes."""

import os
import signal
import subprocess
import sys
from multiprocessing import resource_tracker

import pytest

from firth.corpora.common.errors import FirthError
from firth.corpora.encoding.processes import worker_processes

pytestmark = pytest.mark.process

SCRIPT = """
from firth.corpora.encoding.processes import worker_processes
with worker_processes(2) as pool:
    print(pool.submit(abs, -3).result())
"""

FAILING = """
from firth.corpora.encoding.processes import worker_processes
try:
    with worker_processes(4) as pool:
        futures = [pool.submit(TASK) for _ in range(30)]
        futures[0].result()
        raise ValueError
except ValueError:
    print("stopped")
"""


def test_workers_do_not_run_an_unguarded_script_again(root, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(root)!r})\n{SCRIPT}")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


def test_workers_import_no_module_of_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "pickle.py").write_text("open('executed', 'w')")  # beside the texts of a stranger
    monkeypatch.chdir(tmp_path)
    with worker_processes(1) as pool:
        assert pool.submit(abs, -3).result() == 3
    assert not (tmp_path / "executed").exists()


STARTED = """
import signal
from firth.corpora.encoding.processes import worker_processes
with worker_processes(1) as pool:
    mask = pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()
    print(signal.SIGINT in mask, signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
"""


def test_the_first_worker_of_a_program_gets_no_ctrl_c_while_it_starts():
    done = subprocess.run(
        [sys.executable, "-c", STARTED], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("True False\n", "")


def test_workers_ignore_ctrl_c_where_signals_cannot_be_blocked(monkeypatch):
    resource_tracker.ensure_running()  # which blocks them itself
    monkeypatch.delattr(signal, "pthread_sigmask")
    with worker_processes(1) as pool:
        assert pool.submit(signal.getsignal, signal.SIGINT).result() == signal.SIG_IGN


def test_a_worker_that_is_killed_is_an_error_of_one_line():
    with pytest.raises(FirthError) as failed, worker_processes(1) as pool:
        pool.submit(os._exit, 1).result()
    assert str(failed.value).startswith("a process that reads the text was killed, ")


@pytest.mark.parametrize("task", ["bytes, 1 << 23", "len, bytes(1 << 23)"], ids=["out", "in"])
def test_an_error_stops_workers_that_exchange_large_objects(root, tmp_path, task):
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(root)!r})\n{FAILING.replace('TASK', task)}"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "stopped\n", "")
