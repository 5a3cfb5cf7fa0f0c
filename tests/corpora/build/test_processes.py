"""Worker processes."""

import subprocess
import sys

SCRIPT = """
from corpora.build.processes import worker_processes
with worker_processes(2) as pool:
    print(pool.submit(abs, -3).result())
"""


def test_workers_do_not_run_an_unguarded_script_again(root, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(root)!r})\n{SCRIPT}")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")
