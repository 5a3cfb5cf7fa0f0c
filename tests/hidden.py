"""Run commands in this process as if some packages were not installed.

``hidden.py torch,gensim firth 'neighbors svd cat' 'compare svd'`` prints the exit status, the
output and the errors of each line as JSON, with all modules of ``firth`` imported again. Code
starts with ``-c``.
"""

import contextlib
import io
import json
import shlex
import sys
from importlib.machinery import PathFinder

HIDDEN, AGAIN = sys.argv[1].split(","), sys.argv[2]


class Finder:
    """Finds all other packages."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else PathFinder.find_spec(name, path)


def run(line):
    """Return what one line does."""
    from firth import cli

    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            if line.startswith("-c"):
                exec(line.removeprefix("-c"), {})
            else:
                cli.main(shlex.split(line), prog_name="firth")
        except SystemExit as end:
            return end.code or 0, output.getvalue(), errors.getvalue()
    return 0, output.getvalue(), errors.getvalue()


sys.meta_path[:] = [Finder if each is PathFinder else each for each in sys.meta_path]
for module in list(sys.modules):
    if module == "firth" or f"{module}.".startswith(tuple(f"{each}." for each in (*HIDDEN, AGAIN))):
        del sys.modules[module]
print(json.dumps([run(line) for line in sys.argv[3:]]))
